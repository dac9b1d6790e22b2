"""Trees in files: what goes in comes out, and strangers get nothing but typed errors."""

import io
import json
import math
import zipfile

import numpy as np
import pytest

from intensor.errors import CheckpointError, FileFormatError
from intensor.storage.codec import Branch, read_tree, write_tree

TREE = {
    "format": "test",
    "word": "a",
    "flag": True,
    "none": None,
    "count": 2**100,
    "number": 0.1 + 0.2,
    "inf": math.inf,
    "parts": [{"a": np.arange(3)}, {"a": np.eye(2)}],
    "inner": {"flags": np.array([[0, 1]], dtype=np.uint8), "odd": np.array([1.0, math.nan])},
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


def as_entry(array, **words):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, **words)
    return file.getvalue()


def header(tree):
    return as_entry(np.frombuffer(json.dumps(tree).encode(), dtype=np.uint8))


def test_a_tree_comes_back(path):
    branch = read_tree(path, "test")
    assert branch.word("word", ["a", "b"]) == "a"
    assert branch.flag("flag") is True
    assert "none" not in branch
    assert "word" in branch
    assert branch.count("count", most=2**101) == 2**100
    assert branch.finite("number") == 0.1 + 0.2
    assert branch.number("inf") == math.inf
    first, second = branch.branches("parts")
    assert first.array("a", "<i8", (None,)).tolist() == [0, 1, 2]
    assert second.finite_array("a", (2, 2)).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    array = branch.branch("inner").vertices("flags", 2)
    array[0, 0] = 1  # a copy that may be written to
    assert branch.branch("inner").vertices("flags", 2).tolist() == [[0, 1]]
    assert np.load(path)["inner.odd"][0] == 1.0


@pytest.mark.parametrize(
    "ask",
    [
        lambda branch: branch.word("flag"),
        lambda branch: branch.word("word", ["b"]),
        lambda branch: branch.count("word"),
        lambda branch: branch.count("flag"),
        lambda branch: branch.count("count"),
        lambda branch: branch.number("word"),
        lambda branch: branch.finite("inf"),
        lambda branch: branch.flag("number"),
        lambda branch: branch.branch("parts"),
        lambda branch: branch.branches("inner"),
        lambda branch: branch.branch("inner").array("flags", "<f8", (None, 2)),
        lambda branch: branch.branch("inner").array("flags", "|u1", (None, 3)),
        lambda branch: branch.branch("inner").array("flags", "|u1", (None,)),
        lambda branch: branch.branch("inner").finite_array("odd", (2,)),
        lambda branch: branch.array("missing", "<f8", (None,)),
    ],
)
def test_what_is_not_there_is_damage(path, ask):
    with pytest.raises(CheckpointError, match=r"tree\.npz: is a damaged checkpoint"):
        ask(read_tree(path, "test"))


def test_numbers_and_flags_out_of_range_are_damage():
    branch = Branch({"huge": 10**400, "flags": np.array([[2]], dtype=np.uint8)}, "file")
    with pytest.raises(CheckpointError, match="out of range"):
        branch.number("huge")
    with pytest.raises(CheckpointError, match="other than 0 and 1"):
        branch.vertices("flags", 1)


def test_every_truncation_is_an_error(path):
    content = path.read_bytes()
    for length in range(0, len(content), 37):
        path.write_bytes(content[:length])
        with pytest.raises(CheckpointError, match="remove it to start anew"):
            read_tree(path, "test")


@pytest.mark.parametrize(
    "tree",
    [
        [],
        {"format": "another"},
        {"format": "test", "a": {"@": "nowhere"}},
        {"format": "test", "a": {"@": []}},
        {"format": "test", "a": {"@": 1}},
    ],
)
def test_headers_of_strangers(path, tree):
    rewrite(path, header=header(tree))
    with pytest.raises(CheckpointError):
        read_tree(path, "test")


def test_headers_that_are_none(path):
    for content in (b"{", b"[" * 100_000, b"\xff", b"1" * 10_000):
        rewrite(path, header=as_entry(np.frombuffer(content, dtype=np.uint8)))
        with pytest.raises(CheckpointError, match="makes no sense"):
            read_tree(path, "test")
    rewrite(path, header=as_entry(np.eye(2)))
    with pytest.raises(CheckpointError, match="no header"):
        read_tree(path, "test")


def test_pickles_are_not_opened(path):
    rewrite(path, word=as_entry(np.array([{}], dtype=object), allow_pickle=True))
    with pytest.raises(CheckpointError, match="Python objects"):
        read_tree(path, "test")


def test_what_is_compressed_or_claims_too_much_is_not_read(path, tmp_path):
    squeezed = tmp_path / "squeezed.npz"
    np.savez_compressed(squeezed, header=np.zeros(10**6, dtype=np.uint8))
    with pytest.raises(CheckpointError, match="compressed"):
        read_tree(squeezed, "test")
    content = bytearray(path.read_bytes())
    place = content.rindex(b"PK\x01\x02")  # the last entry of the directory says it is larger
    content[place + 20 : place + 28] = (2**31).to_bytes(4, "little") * 2
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="more than it has"):
        read_tree(path, "test")


def test_other_files(tmp_path):
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(CheckpointError):
        read_tree(tmp_path / "text.npz", "test")
    np.savez(tmp_path / "plain.npz", a=np.eye(2))
    with pytest.raises(CheckpointError, match="no header"):
        read_tree(tmp_path / "plain.npz", "test")
    with pytest.raises(FileFormatError):
        write_tree(tmp_path / "nowhere" / "tree.npz", TREE)
