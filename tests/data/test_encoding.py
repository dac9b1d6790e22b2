"""Batches of Arrow columns become tables, and labels the indices that they become all at once."""

import numpy as np
import pyarrow as pa
import pytest

from intensor.data.checks import BadRow
from intensor.data.columns import Choice
from intensor.data.encoding import (
    BATCHES_PER_MERGE,
    LabelEncoder,
    TableBuilder,
    drop_unused,
    encode_integers,
    label_type,
)
from intensor.data.labels import factorise
from intensor.errors import EmptyDataError, LabelError, NegativeValueError, ValuesError
from naming import naming

RNG = np.random.default_rng(3)
COLUMNS = {
    "few integers": RNG.integers(-4, 9, 300),
    "wide integers": RNG.integers(-(2**62), 2**62, 300),
    "all of a range": np.arange(300)[::-1] % 256,
    "unsigned": (2**64 - 1 - RNG.integers(0, 5, 300).astype(np.uint64)),
    "floats": RNG.integers(0, 9, 300) / 4,
    "truth": RNG.integers(0, 2, 300).astype(bool),
    "days": RNG.integers(-9, 9, 300).astype("M8[D]"),
    "spans": RNG.integers(-9, 9, 300).astype("m8[s]"),
    "text": np.array([f"t{number}" for number in RNG.integers(0, 99, 300)], dtype=object),
}


@pytest.mark.parametrize("n_batches", [1, 3, 2 * BATCHES_PER_MERGE + 1])
def test_batches_are_encoded_like_the_whole(n_batches):
    for name, column in COLUMNS.items():
        encoder = LabelEncoder("a")
        for part in np.array_split(column, n_batches):
            encoder.add(pa.array(part))
        codes, labels = encoder.finish()
        expected = factorise(column)
        with naming(name):
            assert labels.dtype == expected.labels.dtype
            assert labels.tolist() == expected.labels.tolist()
            assert codes.tolist() == expected.codes.tolist()
            assert codes.dtype == np.min_scalar_type(labels.size - 1)


def test_dictionaries_of_batches_may_differ():
    encoder = LabelEncoder("a")
    for texts in (["b", "a"], ["c", "a"], ["a", "unused"]):
        encoder.add(pa.DictionaryArray.from_arrays(pa.array([0, 0]), pa.array(texts)))
    codes, labels = encoder.finish()
    assert labels[codes].tolist() == ["b", "b", "c", "c", "a", "a"]
    assert labels.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    "batch",
    [
        pa.array([1, None]),
        pa.array([1.0, float("nan")]),
        pa.array(["x", None]),
        pa.array(["x", " "]),
        pa.array([0, -(2**63)]).cast(pa.timestamp("s")),
    ],
    ids=str,
)
def test_a_missing_label_is_named_by_its_row(batch):
    encoder = LabelEncoder("a")
    encoder.add(batch.slice(0, 1))
    with pytest.raises(BadRow, match="has no label in column 'a'; expected one in every") as caught:
        encoder.add(batch)
    assert caught.value.row == 2
    assert caught.value.error is LabelError


def test_blanks_may_matter():
    texts = pa.array(["", "x", "x ", " "])
    encoder = LabelEncoder("a", blanks_matter=True)
    encoder.add(texts)
    assert encoder.finish().labels.tolist() == ["", " ", "x", "x "]
    encoder = LabelEncoder("a")
    encoder.add(texts.slice(1, 2))
    with pytest.raises(LabelError, match="'x' and 'x ', which differ only in blanks"):
        encoder.finish()


def test_types_of_labels():
    assert label_type(pa.timestamp("s", "UTC")) == pa.string()
    assert label_type(pa.dictionary(pa.int8(), pa.date64())) == pa.date32()
    assert label_type(pa.decimal128(5, 2)) == pa.float64()
    assert label_type(pa.list_(pa.int8())) is None
    with pytest.raises(BadRow, match="column 'a' is of type list"):
        LabelEncoder("a").add(pa.array([[1]]))


def test_no_rows_have_no_labels():
    assert LabelEncoder("a").finish().labels.size == 0
    assert encode_integers(np.empty(0, dtype=np.int64)).codes.size == 0


def test_unused_labels_are_dropped():
    codes, labels = drop_unused(np.array([3, 1, 3]), np.array(["a", "b", "c", "d"], dtype=object))
    assert (codes.tolist(), labels.tolist()) == ([1, 0, 1], ["b", "d"])


def test_batches_make_one_table():
    builder = TableBuilder(Choice(("a",), "v", "w"))
    assert builder.names == ["a", "v", "w"]
    builder.add([pa.array(["y", "x"]), pa.array([1, None]), pa.array([1.0, 2.0])])
    builder.add([pa.array(["x"]), pa.array([3]), pa.array([0])])
    table = builder.finish("f.csv", ["w", "a", "other", "v"])
    assert table.mode_labels(0).tolist() == ["y", "x", "x"]
    np.testing.assert_array_equal(table.values, [1.0, np.nan, 3.0])
    assert table.weights.tolist() == [1.0, 2.0, 0.0]
    assert list(table.columns()) == ["w", "a", "v"]
    assert table.source.path == "f.csv"


def test_cells_have_no_values():
    builder = TableBuilder(Choice(("a", "b")))
    builder.add([pa.array([5, 3]), pa.array(["p", "p"])])
    table = builder.finish("f.csv", ["a", "b"])
    assert np.isnan(table.values).all()
    assert table.weights is None
    assert table.shape == (2, 1)


@pytest.mark.parametrize(
    ("columns", "error", "text"),
    [
        (["x", -1.0, 1.0], NegativeValueError, "'v' is -1.0"),
        (["x", np.inf, 1.0], ValuesError, "'v' is inf"),
        (["x", 1.0, None], ValuesError, "the weight in column 'w' is nan"),
        ([None, 1.0, 1.0], LabelError, "has no label in column 'a'"),
    ],
)
def test_a_bad_row_is_numbered_over_all_batches(columns, error, text):
    builder = TableBuilder(Choice(("a",), "v", "w"))
    builder.add([pa.array(["x"] * 3), pa.array([1.0] * 3), pa.array([1.0] * 3)])
    kinds = [pa.string(), pa.float64(), pa.float64()]
    with pytest.raises(BadRow, match=text) as caught:
        builder.add([pa.array([x], kind) for x, kind in zip(columns, kinds, strict=True)])
    assert caught.value.row == 3
    assert caught.value.error is error


def test_tables_with_nothing_in_them():
    with pytest.raises(EmptyDataError, match=r"f\.csv: has columns but no rows"):
        TableBuilder(Choice(("a",), "v")).finish("f.csv", [])
    builder = TableBuilder(Choice(("a",), "v"))
    builder.add([pa.array(["x"]), pa.nulls(1)])
    with pytest.raises(EmptyDataError, match="column 'v' has no value at all"):
        builder.finish("f.csv", [])
