"""A compressed file may expand in proportion to its size, and no further."""

import gzip

import pytest

from fuzz.bombs import gzip_bomb
from intensor.data.readers import read_table
from intensor.storage.limits import (
    BYTES_FOR_ANY_FILE,
    BYTES_PER_BYTE,
    largest_decompressed_size,
    open_gzip,
)


def test_the_limit_grows_with_the_file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(1000))
    assert largest_decompressed_size(path) == BYTES_FOR_ANY_FILE + 1000 * BYTES_PER_BYTE


def test_an_honest_file_is_read(tmp_path):
    path = tmp_path / "data.csv.gz"
    text = b"a,value\n" + b"x,1\n" * 30_000
    path.write_bytes(gzip.compress(text))
    with open_gzip(path) as file:
        assert file.read() == text
    assert len(read_table(path)) == 30_000


@pytest.mark.parametrize(
    ("name", "start", "line"),
    [("data.csv.gz", b"a,value\n", b"x,1\n"), ("data.tns.gz", b"", b"1 1 1\n")],
)
def test_readers_name_the_file_that_expands_too_far(tmp_path, name, start, line):
    path = tmp_path / name
    path.write_bytes(gzip_bomb(start, line, 30_000_000))
    with (
        open_gzip(path) as file,
        pytest.raises(OSError, match=r"holds more than \d+ bytes.*unpack it first"),
    ):
        file.read()
    with pytest.raises(ValueError, match=rf"{name}: cannot be unpacked \(it holds more"):
        read_table(path)
