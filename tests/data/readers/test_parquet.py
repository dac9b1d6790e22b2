import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from intensor.data.labels import Labels
from intensor.data.readers import parquet as reader
from intensor.data.readers import read_cells, read_table
from intensor.data.readers.files import Request
from intensor.data.writers import write_table
from intensor.errors import (
    EmptyDataError,
    FileFormatError,
    InputError,
    LabelError,
    NegativeValueError,
)


@pytest.fixture
def put(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(**columns):
        parquet.write_table(pa.table(columns), "data.parquet", row_group_size=100)
        return "data.parquet"

    return write


def columns(table):
    return [labels.tolist() for labels in table.labels.decode(table.coords())]


def test_batches_make_one_table(put):
    rng = np.random.default_rng(2)
    ids, texts = rng.integers(0, 400, 1000), [f"w{n}" for n in rng.integers(0, 300, 1000)]
    values = rng.random(1000)
    values[::7] = np.nan
    path = put(id=ids, word=texts, value=values, unused=[[1]] * 1000)
    table = reader.read(path, Request(modes=["word", "id"]), batch_rows=64)
    assert columns(table) == [texts, ids.tolist()]
    assert np.array_equal(table.values, values, equal_nan=True)
    assert [codes.dtype for codes in table.codes] == [np.uint16, np.uint16]


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [
        (pa.array(["b", "a"]).dictionary_encode(), object),
        (pa.array(["b", "a"], pa.large_string()), object),
        (pa.array([5, 3]).dictionary_encode(), np.int64),
        (pa.array([5, 3], pa.uint16()), np.uint16),
        (pa.array([5, 2**64 - 1], pa.uint64()), np.uint64),
        (pa.array([2.5, 1.5], pa.float32()), np.float32),
        (pa.array([5, 3], pa.date32()), "M8[D]"),
        (pa.array([5, 3], pa.timestamp("us")), "M8[us]"),
        (pa.array([5, 3], pa.timestamp("us", "UTC")), object),
        (pa.array([5, 3], pa.duration("s")), "m8[s]"),
        (pa.array([True, False]), bool),
    ],
)
def test_kinds_of_labels(put, labels, dtype):
    table = read_table(put(a=labels, value=pa.array([1, None], pa.int32())))
    assert table.labels.indices[0].dtype == np.dtype(dtype)
    assert len(table.labels.indices[0]) == 2
    assert table.values[0] == 1.0
    assert np.isnan(table.values[1])
    if dtype is object and pa.types.is_dictionary(labels.type):
        assert columns(table) == [["b", "a"]]


@pytest.mark.parametrize(
    ("column", "error", "message"),
    [
        ({"value": [1.0, -2.0]}, NegativeValueError, "row 2: 'value' is -2.0"),
        ({"value": [1.0, np.inf]}, FileFormatError, "row 2: 'value' is inf"),
        ({"value": ["1", "2"]}, FileFormatError, "'value' is of type string; expected numbers"),
        ({"value": pa.array([None, None], pa.float64())}, EmptyDataError, "no value at all"),
        ({"value": pa.nulls(2)}, EmptyDataError, "no value at all"),
        ({"Value": [1.0, 2.0]}, FileFormatError, "did you mean value='Value'"),
        ({"value": [1, 2], "b": ["x", None]}, LabelError, "row 2: has no label in column 'b'"),
        ({"value": [1, 2], "b": ["x", ""]}, LabelError, "row 2: has no label in column 'b'"),
        ({"value": [1, 2], "b": [1, None]}, LabelError, "row 2: has no label in column 'b'"),
        ({"value": [1, 2], "b": ["x", "x "]}, LabelError, "column 'b' has the labels"),
        ({"value": [1, 2], "b": [[1], [2]]}, LabelError, "column 'b' is of type list"),
        ({"value": [1, 2], "a ": [1, 2]}, LabelError, "both called 'a'"),
    ],
)
def test_what_is_wrong(put, column, error, message):
    with pytest.raises(error, match=message) as caught:
        read_table(put(a=["x", "y"], **column))
    assert str(caught.value).startswith("data.parquet")


def test_texts_that_no_row_has_are_no_labels(put):
    texts = pa.DictionaryArray.from_arrays(pa.array([3, 1, 3]), pa.array(["", "b", "x", "a"]))
    table = read_table(put(a=texts, value=[1, 2, 3]))
    assert table.labels.indices[0].tolist() == ["a", "b"]
    assert columns(table) == [["a", "b", "a"]]


def test_no_rows(put):
    with pytest.raises(EmptyDataError, match="no rows"):
        read_table(put(a=pa.array([], pa.string()), value=pa.array([], pa.float64())))


def test_damaged_files(put, tmp_path):
    path = tmp_path / put(a=list(range(1000)), value=np.random.default_rng(0).random(1000))
    content = path.read_bytes()
    for damaged in (b"a,value\n1,2\n", content[: len(content) // 2], content[:4]):
        path.write_bytes(damaged)
        with pytest.raises(FileFormatError, match=r"^data\.parquet: cannot be read as a Parquet"):
            read_table("data.parquet")


@pytest.mark.parametrize("times", [100, pytest.param(400, marks=pytest.mark.slow)])
def test_flipped_bytes_are_an_error_of_ours_or_harmless(put, tmp_path, times):
    path = tmp_path / put(a=list("abcde" * 40), value=np.random.default_rng(0).random(200))
    content, rng = path.read_bytes(), np.random.default_rng(4)
    rejected = []
    for position in rng.integers(0, len(content), times).tolist():
        broken = bytearray(content)
        broken[position] ^= int(rng.integers(1, 256))
        path.write_bytes(bytes(broken))
        try:
            read_table("data.parquet")
        except InputError as problem:
            rejected.append(str(problem))
    assert len(rejected) > times / 4
    assert all(message.startswith("data.parquet") for message in rejected)


def test_the_index_of_pandas_is_no_mode(put):
    table = read_table(put(a=["x"], value=[1.0], __index_level_0__=[7]))
    assert table.labels.modes == ("a",)


def test_cells_and_known_kinds(put):
    name = put(b=[5, 3], a=["x", "y"])
    b, a = map(read_cells(name, modes=["b", "a"]).mode_labels, range(2))
    assert (b.tolist(), a.tolist()) == ([5, 3], ["x", "y"])
    known = Labels(modes=("b",), indices=(np.array(["3", "x"], dtype=object),))
    assert read_cells(name, modes=["b"], like=known).mode_labels(0).tolist() == ["5", "3"]


def test_writing_and_reading_again(put):
    put(a=[1])
    days = np.array(["2024-01-01", "2024-01-03"], dtype="M8[s]")
    write_table(
        "out.parquet", {"a": np.array(["x", "y"], dtype=object), "d": days, "value": [1, 2.5]}
    )
    table = read_table("out.parquet")
    assert columns(table) == [["x", "y"], days.tolist()]
    assert table.values.tolist() == [1.0, 2.5]


def test_more_rows_than_a_file_is_worth_are_refused(put, monkeypatch):
    name = put(a=[1] * 1000, value=[1.0] * 1000)
    assert len(read_table(name)) == 1000
    monkeypatch.setattr(reader, "largest_decompressed_size", lambda path: 7999)
    with pytest.raises(FileFormatError, match=r"data\.parquet: claims 1000 rows; expected at most"):
        read_table(name)


@pytest.mark.parametrize("kind", [pa.timestamp("us"), pa.duration("us")])
def test_a_time_that_is_none_is_a_missing_label(put, kind):
    column = pa.array([7, -(2**63)]).cast(kind)
    with pytest.raises(LabelError, match=r"row 2: has no label in column 'a'"):
        read_table(put(a=column, value=[1.0, 2.0]))


def test_a_name_that_is_not_utf_8_is_damage(put, tmp_path):
    parquet.write_table(pa.table({"abcdef": [1], "value": [1.0]}), "x.parquet", store_schema=False)
    content = (tmp_path / "x.parquet").read_bytes()
    (tmp_path / "x.parquet").write_bytes(content.replace(b"abcdef", b"ab\xffdef"))
    with pytest.raises(FileFormatError, match=r"x\.parquet: cannot be read as a Parquet file"):
        read_table("x.parquet")
