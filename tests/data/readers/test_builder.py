"""Batches of Arrow columns become one table."""

import numpy as np
import pyarrow as pa
import pytest

from intensor.data.checks import BadRow
from intensor.data.columns import Choice
from intensor.data.readers.builder import TableBuilder
from intensor.errors import EmptyDataError, LabelError, NegativeValueError, ValuesError


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
