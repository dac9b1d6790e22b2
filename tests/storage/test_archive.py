"""Archives from strangers: no claim about a size is believed."""

import zipfile

import numpy as np
import pytest

from fuzz.archives import archive, bomb, header_of, npy
from fuzz.bombs import BLOCK, zip_bomb
from intensor.errors import FileFormatError
from intensor.storage.archive import list_entries, read_archive


@pytest.fixture
def put(tmp_path):
    def write(content):
        path = tmp_path / "data.npz"
        path.write_bytes(content)
        return path

    return write


def one(header, data=b"", **options):
    return archive([("x.npy", npy(header, data))], **options)


def test_an_archive_may_not_unpack_to_far_more_than_its_size(put):
    with pytest.raises(FileFormatError, match=r"claims to unpack to 1992\d{5} bytes; expected at"):
        read_archive(put(bomb(200_000_000)))


def test_many_entries_count_together(put):
    start = npy(header_of("'|u1'", "False", f"({30 * BLOCK},)"), b"")
    path = put(zip_bomb([(f"{i}.npy", start, 30) for i in range(4)]))
    with pytest.raises(FileFormatError, match=r"claims to unpack to 1258\d{5} bytes"):
        read_archive(path)
    assert list(read_archive(path, ["3"])) == ["3"]
    assert list_entries(path) == ["0", "1", "2", "3"]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_that_numpy_does_not_write_are_refused(put, method):
    content = one(header_of("'|u1'", "False", "(9,)"), bytes(9), method=method)
    with pytest.raises(FileFormatError, match=f"compressed by method {method}"):
        read_archive(put(content))


def test_compression_may_be_unwanted(put):
    content = one(header_of("'|u1'", "False", "(9,)"), bytes(9), method=zipfile.ZIP_DEFLATED)
    assert read_archive(put(content))["x"].tolist() == [0] * 9
    with pytest.raises(FileFormatError, match="compressed by method 8"):
        read_archive(put(content), compressed=False)


def test_headers_of_python_2_are_read_without_a_warning(put):
    content = one(header_of("'<f8'", "False", "(2L,)"), np.ones(2).tobytes())
    assert read_archive(put(content))["x"].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("descr", ["'\\d'", "1if 1else 2", "(((", "'<f8', # (", "__import__('os')"])
def test_odd_headers_are_an_error_and_never_a_warning(put, descr):
    with pytest.raises(FileFormatError, match="cannot be read as a NumPy archive"):
        read_archive(put(one(header_of(descr, "False", "(2,)"), bytes(16))))
