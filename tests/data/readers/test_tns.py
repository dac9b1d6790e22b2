import gzip

import numpy as np
import pytest

from intensor.data.readers import read_cells, read_table, tns
from intensor.data.readers.files import Request
from intensor.errors import (
    CoordinateError,
    EmptyDataError,
    FileFormatError,
    NegativeValueError,
)

COORDS = [[0, 4, 1], [2, 0, 0], [2, 0, 0]]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(content, name="data.tns"):
    with open(name, "wb") as file:
        file.write(content)
    return name


def labels_of(table):
    """Return the labels of every row."""
    return np.stack([table.mode_labels(mode) for mode in range(len(table.codes))], 1).tolist()


def test_tns_with_comments_blanks_and_repeated_cells():
    table = read_table(
        put(b"# FROSTT\n\n1 5 2 1.5\n% more\r\n  3\t1  1 2 \r\n3 1 1 0.5 # again"), value="x"
    )
    assert table.coords().tolist() == COORDS
    assert table.values.tolist() == [1.5, 2.0, 0.5]
    assert table.shape == (3, 5, 2)
    assert table.labels.plain
    assert table.labels.modes == ("mode_0", "mode_1", "mode_2")
    assert table.labels.value == "x"
    assert [codes.dtype for codes in table.codes] == [np.uint8] * 3


def test_tns_from_0_or_1():
    zero, one = put(b"0 1 3\n2 1 4\n", "zero.tns"), put(b"1 2 3\n3 2 4\n", "one.tns")
    assert read_table(zero).coords().tolist() == [[0, 1], [2, 1]]
    assert read_table(one).coords().tolist() == [[0, 1], [2, 1]]
    assert read_table(one, one_based=False).coords().tolist() == [[1, 2], [3, 2]]
    assert read_table(one, one_based=False).shape == (4, 3)
    with pytest.raises(CoordinateError, match=r"zero.tns, line 1: the index 0 is out of range"):
        read_table(zero, one_based=True)


def test_a_zero_far_down_counts_for_all():
    lines = [b"%d 300 1" % number for number in range(1, 400)]
    path = put(b"\n".join([*lines, b"7 0 1", *lines]))
    table = tns.read(path, Request(), chunk_bytes=100)
    assert table.coords()[0].tolist() == [1, 300]
    assert table.coords()[399].tolist() == [7, 0]
    assert table.coords()[-1].tolist() == [399, 300]
    assert len(table) == 799


@pytest.mark.parametrize(
    ("line", "error", "message"),
    [
        (b"1 1", FileFormatError, "has 2 numbers; expected 3, as in the first line"),
        (b"1 1 1 1", FileFormatError, "has 4 numbers"),
        (b"1 1.5 1", FileFormatError, "the index '1.5'; expected a whole number"),
        (b"1 x 1", FileFormatError, "the index 'x'"),
        (b"1 \xff 1", FileFormatError, "the index"),
        (b"1 1 x", FileFormatError, "the value 'x'; expected a number"),
        (b"1 1 -1", NegativeValueError, "'value' is -1.0"),
        (b"1 1 inf", FileFormatError, "'value' is inf"),
        (b"1 -1 1", CoordinateError, "the index -1 is out of range"),
        (b"1 3000000000 1", CoordinateError, "the index 3000000000 is out of range"),
        (b"1 99999999999999999999 1", FileFormatError, "the index '9999"),
        (b"1,1,1", FileFormatError, "has 1 numbers"),
        (b'1 "1" 1', FileFormatError, "the index '\"1\"'"),
    ],
)
def test_a_bad_line_is_named(line, error, message):
    good = b"1 1 1\n" * 50
    with pytest.raises(error, match=f"^data.tns, line 53: .*{message}"):
        tns.read(put(b"# c\n" + good + b"\n" + line + b"\n" + good), Request(), chunk_bytes=64)


def test_tns_with_nothing_in_it():
    for content in (b"", b"# c\n\n"):
        with pytest.raises(EmptyDataError, match=r"^data\.tns: "):
            read_table(put(content))
    with pytest.raises(EmptyDataError, match="no value at all"):
        read_table(put(b"1 1 nan\n"))
    with pytest.raises(FileFormatError, match="lines of 1 numbers"):
        read_table(put(b"1\n2\n"))
    with pytest.raises(FileFormatError, match="no weights"):
        read_table(put(b"1 1\n"), weight="w")


def test_tns_lines_and_indices_without_bound_are_not_believed():
    with pytest.raises(FileFormatError, match=r"2 cells but 2000000\d\d\d indices"):
        read_table(put(b"1 1 1\n1 2000000000 1\n"))
    with pytest.raises(FileFormatError, match="far too long"):
        read_table(put(b"1 1 1\n" + b"1" * (tns.CHUNK_BYTES + 2 * tns.MAX_LINE_BYTES)))


def test_gzipped_tns():
    assert read_table(put(gzip.compress(b"1 2 3\n"), "a.tns.gz")).coords().tolist() == [[0, 1]]
    with pytest.raises(FileFormatError, match=r"^a\.tns\.gz: cannot be unpacked"):
        read_table(put(gzip.compress(b"1 2 3\n" * 99)[:-9], "a.tns.gz"))


def test_cells_of_tns_with_and_without_values():
    for content in (b"1 5\n3 1\n", b"1 5 9\n3 1 9\n"):
        table = read_cells(put(content), modes=["a", "b"])
        assert labels_of(table) == [[0, 4], [2, 0]]
    table = read_cells("data.tns", modes=["a", "b"], one_based=False)
    assert labels_of(table) == [[1, 5], [3, 1]]
    with pytest.raises(FileFormatError, match="lines of 3 numbers; expected 4 indices"):
        read_cells("data.tns", modes=["a", "b", "c", "d"])


@pytest.mark.parametrize("word", [b"nan", b"NA", b"null"])
def test_an_index_that_is_missing_is_named(word):
    with pytest.raises(FileFormatError, match=r"data\.tns, line 2: has the index '(nan|NA|null)'"):
        read_table(put(b"1 1 1\n1 " + word + b" 2\n"))


def test_a_line_of_very_many_numbers_is_not_cut_up():
    with pytest.raises(FileFormatError, match="lines of more than 4096 numbers"):
        read_table(put(b"1 " * 1_000_000 + b"\n"))
    with pytest.raises(FileFormatError, match=r"line 2: has 4097 numbers; expected 3"):
        read_table(put(b"1 1 1\n" + b"1 " * 1_000_000 + b"\n"))
