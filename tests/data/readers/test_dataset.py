"""Parquet datasets: what is in them, and what is said of bad ones."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from intensor.data.readers import read_table
from intensor.data.readers.dataset import open_dataset
from intensor.errors import (
    CoordinateError,
    EmptyDataError,
    FileFormatError,
    InputError,
    LabelError,
    NegativeValueError,
    ValuesError,
)


def write(path, **columns):
    parquet.write_table(pa.table(columns), path)
    return path


GOOD = {"user": [0, 3, 1], "item": [2, 0, 2], "rating": [1.0, 2.5, 0.0]}


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_rows_come_in_batches(tmp_path, rows):
    write(tmp_path / "a.parquet", **GOOD)
    dataset = open_dataset(tmp_path / "a.parquet", "rating")
    assert (dataset.modes, dataset.value, dataset.n_rows) == (("user", "item"), "rating", 3)
    batches = list(dataset.batches(dataset.files[0], rows=rows))
    assert all(len(batch.values) <= rows for batch in batches)
    coords = np.concatenate([batch.coords for batch in batches])
    assert coords.tolist() == [[0, 2], [3, 0], [1, 2]]
    assert coords.dtype == np.int64
    assert np.concatenate([batch.values for batch in batches]).tolist() == GOOD["rating"]


def test_a_folder_is_all_its_files(tmp_path):
    for name in ("b", "a"):
        write(tmp_path / f"{name}.parquet", **GOOD)
    (tmp_path / "notes.txt").write_text("not a table")
    dataset = open_dataset(tmp_path, "rating")
    assert [file.name for file in dataset.files] == ["a.parquet", "b.parquet"]
    assert dataset.n_rows == 6


def test_columns_may_be_in_another_order(tmp_path):
    write(tmp_path / "a.parquet", **GOOD)
    write(tmp_path / "b.parquet", **dict(reversed(GOOD.items())))
    dataset = open_dataset(tmp_path, "rating")
    first, second = (next(dataset.batches(file)) for file in dataset.files)
    assert np.array_equal(first.coords, second.coords)


def changed(**columns):
    return {**GOOD, **columns}


BAD_FILES = [
    (changed(rating=["a", "b", "c"]), FileFormatError, "column 'rating' is string; expected num"),
    (changed(user=[0.5, 1.0, 2.0]), FileFormatError, "'user' is double; expected whole numbers"),
    (changed(user=["x", "y", "z"]), FileFormatError, "'user' is string.*number labels first"),
    ({"user": [1], "value": [1.0]}, FileFormatError, "no column 'rating'.* user, value"),
    ({"rating": [1.0]}, FileFormatError, "no column of coordinates beside 'rating'"),
    ({"user": pa.array([], pa.int64()), "rating": []}, FileFormatError, "'rating' is null"),
]


@pytest.mark.parametrize(("columns", "error", "message"), BAD_FILES)
def test_bad_columns_are_refused(tmp_path, columns, error, message):
    path = write(tmp_path / "a.parquet", **columns)
    with pytest.raises(error, match=rf"a\.parquet.*{message}"):
        open_dataset(path, "rating")


BAD_ROWS = [
    (
        changed(user=[0, -1, 2]),
        None,
        CoordinateError,
        "row 2: 'user' is -1; .*from 0 to 2147",
    ),
    (changed(item=[0, 1, 9]), (4, 4), CoordinateError, "row 3: 'item' is 9; .*from 0 to 3"),
    (changed(item=[0, 2**32 + 1, 1]), None, CoordinateError, "row 2: 'item' is 4294967297"),
    (changed(item=[0, None, 1]), None, CoordinateError, "row 2: 'item' is empty"),
    (changed(rating=[1.0, None, 2.0]), None, ValuesError, "row 2: 'rating' is nan"),
    (changed(rating=[1.0, 2.0, np.inf]), None, ValuesError, "row 3: 'rating' is inf"),
    (changed(rating=[1.0, -2.0, 2.0]), None, NegativeValueError, "row 2: 'rating' is -2.0"),
]


@pytest.mark.parametrize(("columns", "shape", "error", "message"), BAD_ROWS)
def test_bad_rows_are_named(tmp_path, columns, shape, error, message):
    write(tmp_path / "a.parquet", **columns)
    dataset = open_dataset(tmp_path, "rating")
    with pytest.raises(error, match=rf"a\.parquet, {message}"):
        list(dataset.batches(dataset.files[0], shape=shape, rows=2))


def test_negative_values_may_be_wanted(tmp_path):
    write(tmp_path / "a.parquet", **changed(rating=[1.0, -2.0, 2.0]))
    dataset = open_dataset(tmp_path, "rating")
    (batch,) = dataset.batches(dataset.files[0], allow_negative=True)
    assert batch.values.tolist() == [1.0, -2.0, 2.0]


def test_a_file_with_other_columns_is_named(tmp_path):
    write(tmp_path / "a.parquet", **GOOD)
    write(tmp_path / "b.parquet", **GOOD, week=[1, 2, 3])
    with pytest.raises(FileFormatError, match=r"b\.parquet: has the columns .*week, but .*a\.parq"):
        open_dataset(tmp_path, "rating")


def test_nothing_at_all(tmp_path):
    with pytest.raises(EmptyDataError, match=r"no \*\.parquet file"):
        open_dataset(tmp_path, "rating")
    types = {"user": pa.int64(), "rating": pa.float64()}
    write(tmp_path / "a.parquet", **{name: pa.array([], kind) for name, kind in types.items()})
    with pytest.raises(EmptyDataError, match="no rows"):
        open_dataset(tmp_path, "rating")


def test_what_is_no_parquet_file_is_named(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 this is not one PAR1")
    with pytest.raises(FileFormatError, match=r"a\.parquet: cannot be read as a Parquet file"):
        open_dataset(tmp_path, "rating")
    with pytest.raises(FileFormatError, match=r"missing\.parquet: there is no such file"):
        open_dataset(tmp_path / "missing.parquet", "rating")


def test_rows_that_a_damaged_page_swallows_are_missed(tmp_path):
    path = tmp_path / "a.parquet"
    table = pa.table({"c": pa.array(range(40), pa.uint8()), "value": [1.0, 2.0] * 20})
    parquet.write_table(table, path, compression="none", use_dictionary=False)
    content = path.read_bytes()
    swallowed = 0
    for position in range(4, 140):
        path.write_bytes(
            content[:position] + bytes([content[position] ^ 8]) + content[position + 1 :]
        )
        try:
            batches = list(open_dataset(path, "value").batches(path))
        except InputError as problem:
            swallowed += "rows where 40 were expected" in str(problem)
        else:
            assert sum(len(batch.values) for batch in batches) == 40
        try:
            assert len(read_table(path)) == 40
        except InputError as problem:
            assert str(path) in str(problem)  # noqa: PT017
    assert swallowed


def test_columns_of_one_name_are_refused(tmp_path):
    path = tmp_path / "a.parquet"
    table = pa.table([[0, 1], [0, 1], [1.0, 2.0]], names=["c", "c", "value"])
    parquet.write_table(table, path)
    with pytest.raises(LabelError, match="columns 1 and 2 are both called 'c'"):
        open_dataset(path, "value")
    with pytest.raises(LabelError, match="columns 1 and 2 are both called 'c'"):
        read_table(path)


def test_folders_and_devices_are_refused(tmp_path):
    (tmp_path / "a.parquet").mkdir()
    with pytest.raises(FileFormatError, match=r"a\.parquet: is a folder"):
        open_dataset(tmp_path, "value")
    with pytest.raises(FileFormatError, match="not a regular file"):
        open_dataset("/dev/null", "value")
    with pytest.raises(FileFormatError, match="File name too long"):
        open_dataset(tmp_path / ("n" * 300), "value")


def test_large_unsigned_numbers_are_shown_as_they_are(tmp_path):
    """And not as what they would be if they had a sign."""
    large = np.array([2**63, 2**63 + 2], dtype=np.uint64)
    path = write(tmp_path / "a.parquet", c=large, value=[1.0, 2.0])
    with pytest.raises(CoordinateError, match="'c' is 9223372036854775808; expected"):
        list(open_dataset(path, "value").batches(path))
    found = read_table(path)
    np.testing.assert_array_equal(found.labels.indices[0], large)
    assert found.codes[0].tolist() == [0, 1]
