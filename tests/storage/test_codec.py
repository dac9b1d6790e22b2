"""Trees in files: what goes in comes out, and a stranger's file is a typed error at most."""

import io
import json
import math
import zipfile

import numpy as np
import pytest

from intensor.errors import CheckpointError, FileFormatError
from intensor.storage.codec import read_entries, read_tree, write_entries, write_tree
from intensor.storage.reader import FileKind

TEST = FileKind(format="test", noun="test file", error=FileFormatError)
TREE = {
    "format": "intensor checkpoint",
    "text": "a",
    "flag": True,
    "none": None,
    "count": 2**100,
    "number": 0.1 + 0.2,
    "numpy": np.int64(7),
    "inf": math.inf,
    "parts": [{"a": np.arange(3)}, {"a": np.eye(2)}],
    "inner": {
        "flags": np.array([[0, 1]], dtype=np.uint8),
        "odd": np.array([1.0, math.nan]),
        "big": np.array([1.0, 2.0], dtype=">f8"),
    },
}


@pytest.fixture
def path(tmp_path):
    write_tree(tmp_path / "tree.npz", TREE)
    return tmp_path / "tree.npz"


def rewrite(path, **changes):
    """Write the entries of an archive again, some of them changed."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    entries.update({f"{name}.npy": content for name, content in changes.items()})
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)


def as_entry(array, **options):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, **options)
    return file.getvalue()


def header(tree):
    return as_entry(np.frombuffer(json.dumps(tree).encode(), dtype=np.uint8))


def test_a_tree_comes_back(path):
    reader = read_tree(path)
    assert reader.tree["text"] == "a"
    assert reader.tree["flag"] is True
    assert reader.tree["none"] is None
    assert reader.tree["count"] == 2**100
    assert reader.tree["number"] == 0.1 + 0.2
    assert reader.tree["numpy"] == 7
    assert reader.number("inf") == math.inf
    assert reader.tree["parts"][0]["a"].tolist() == [0, 1, 2]
    assert reader.tree["inner"]["flags"].tolist() == [[0, 1]]
    assert reader.branch("inner").array("big", "<f8", (2,)).tolist() == [1.0, 2.0]
    assert np.load(path)["inner.odd"][0] == 1.0


def test_entries_come_back_under_their_own_names(tmp_path):
    path = tmp_path / "entries.npz"
    write_entries(path, {"format": "test", "nan": math.nan}, {"a": np.arange(3, dtype=">i8")})
    header, arrays = read_entries(path, TEST)
    assert header == {"format": "test", "nan": "nan"}
    assert {name: array.tolist() for name, array in arrays.items()} == {"a": [0, 1, 2]}
    with np.load(path) as file:
        assert file["a"].dtype == np.dtype("<i8")


def test_half_a_character_cannot_be_written(tmp_path):
    with pytest.raises(UnicodeEncodeError):
        write_entries(tmp_path / "entries.npz", {"format": "\ud800"}, {})
    assert list(tmp_path.iterdir()) == []


def test_every_truncation_is_an_error(path):
    content = path.read_bytes()
    for length in range(0, len(content), 37):
        path.write_bytes(content[:length])
        with pytest.raises(CheckpointError, match="remove it to start anew"):
            read_tree(path)


@pytest.mark.parametrize(
    "tree",
    [
        [],
        {"format": "another"},
        {"format": "intensor checkpoint", "a": {"@": "nowhere"}},
        {"format": "intensor checkpoint", "a": {"@": []}},
        {"format": "intensor checkpoint", "a": {"@": 1}},
    ],
)
def test_headers_of_strangers(path, tree):
    rewrite(path, header=header(tree))
    with pytest.raises(CheckpointError):
        read_tree(path)


def test_headers_that_are_none(path):
    for content in (b"{", b"[" * 100_000, b"\xff", b"1" * 10_000, b'"\\ud800"'):
        rewrite(path, header=as_entry(np.frombuffer(content, dtype=np.uint8)))
        with pytest.raises(CheckpointError, match="is not JSON"):
            read_tree(path)
    rewrite(path, header=as_entry(np.eye(2)))
    with pytest.raises(CheckpointError, match="no header"):
        read_tree(path)


def test_pickles_are_not_opened(path):
    rewrite(path, text=as_entry(np.array([{}], dtype=object), allow_pickle=True))
    with pytest.raises(CheckpointError, match="Python objects"):
        read_tree(path)


def test_what_is_compressed_or_claims_too_much_is_not_read(path, tmp_path):
    squeezed = tmp_path / "squeezed.npz"
    np.savez_compressed(squeezed, header=np.zeros(10**6, dtype=np.uint8))
    with pytest.raises(CheckpointError, match="compressed"):
        read_tree(squeezed)
    content = bytearray(path.read_bytes())
    start = content.rindex(b"PK\x01\x02")  # the last entry of the directory says it is larger
    content[start + 20 : start + 28] = (2**31).to_bytes(4, "little") * 2
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="more than it has"):
        read_tree(path)


def test_other_files(tmp_path):
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(CheckpointError):
        read_tree(tmp_path / "text.npz")
    np.savez(tmp_path / "plain.npz", a=np.eye(2))
    with pytest.raises(CheckpointError, match="no header"):
        read_tree(tmp_path / "plain.npz")
    with pytest.raises(FileFormatError):
        write_tree(tmp_path / "nowhere" / "tree.npz", TREE)
