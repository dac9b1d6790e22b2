"""New observations are read by the modes of an earlier fit."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr

from intensor.containers.like import read_like
from intensor.data.labels import Labels, number_labels
from intensor.errors import (
    CoordinateError,
    EmptyDataError,
    LabelError,
    SettingError,
    ShapeError,
    ValuesError,
)

SHOPS = Labels(
    modes=("shop", "day"),
    indices=(np.array(["a", "b"], dtype=object), np.array([1, 2, 3])),
    value="sold",
)
COLUMNS = {
    "n": [1.0, 2.0, 3.0],
    "sold": [5.0, np.nan, 7.0],
    "day": [4, 1, 4],
    "shop": ["c", "new", "a"],
}
STRUCTURED = np.array(
    list(zip(*COLUMNS.values(), strict=True)),
    dtype=[("n", float), ("sold", float), ("day", int), ("shop", "U3")],
)


@pytest.mark.parametrize(
    "table",
    [COLUMNS, STRUCTURED, pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS), pa.table(COLUMNS)],
    ids=["mapping", "structured", "pandas", "polars", "pyarrow"],
)
def test_a_table_has_labels_of_its_own(table):
    found = read_like(table, None, SHOPS, sample_weight="n")
    assert found.labels.modes == ("shop", "day")
    assert found.labels.value == "sold"
    assert [labels.tolist() for labels in found.labels.indices] == [["a", "c", "new"], [1, 4]]
    assert found.coords.tolist() == [[1, 1], [0, 1]]
    assert found.values.tolist() == [5.0, 7.0]
    assert found.weights.tolist() == [1.0, 3.0]


def test_values_and_weights_may_be_arrays():
    found = read_like(COLUMNS, [1.0, 2.0, 3.0], SHOPS, sample_weight=[0.0, 1.0, 2.0])
    assert found.values.tolist() == [1.0, 2.0, 3.0]
    assert found.weights[0] == 0.0
    assert read_like(COLUMNS, "n", SHOPS).labels.value == "n"


def test_positions_keep_the_labels():
    found = read_like(np.array([[0, 2]]), [1.0], SHOPS)
    assert found.labels is SHOPS
    numbers = number_labels((2, 3), value="sold")
    grown = read_like([[4, 0]], [1.0], numbers).labels
    assert grown.shape == (5, 3)
    assert grown.plain
    assert grown.value == "sold"


def test_positions_without_a_label_are_refused():
    with pytest.raises(CoordinateError, match="position 4 of mode 'shop' has no label"):
        read_like([[4, 0]], [1.0], SHOPS)


def test_arrays_keep_the_shape_at_least():
    array = np.array([[1.0, np.nan]])
    found = read_like(array, None, SHOPS)
    assert found.labels is SHOPS
    assert found.coords.tolist() == [[0, 0]]
    assert read_like(np.ones((4, 2)), None, number_labels((2, 3))).labels.shape == (4, 3)
    masked = np.ma.masked_array([[1.0, 2.0]], mask=[[True, False]])
    assert read_like(masked, None, SHOPS).coords.tolist() == [[0, 1]]


def test_labelled_arrays_and_wide_tables_have_their_own_labels():
    wide = pd.DataFrame(
        [[1.0, 2.0]], index=pd.Index(["x"], name="shop"), columns=pd.Index([8, 9], name="day")
    )
    grid = xr.DataArray([[1.0, 2.0]], dims=("shop", "day"), coords={"shop": ["x"], "day": [8, 9]})
    for data in (wide, grid):
        found = read_like(data, None, SHOPS)
        assert [labels.tolist() for labels in found.labels.indices] == [["x"], [8, 9]]
    with pytest.raises(LabelError, match="in the same order: 'shop', 'day'"):
        read_like(grid.T, None, SHOPS)


@pytest.mark.parametrize(
    ("data", "values", "weight", "error", "message"),
    [
        ({"shop": ["a"], "sold": [1.0]}, None, None, LabelError, "'day'"),
        ({"shop": [], "day": [], "sold": []}, None, None, EmptyDataError, "no row"),
        (COLUMNS | {"sold": [np.nan] * 3}, None, None, EmptyDataError, "no row with a value"),
        (COLUMNS, "price", None, LabelError, "'price'"),
        (COLUMNS, None, [1.0], ValuesError, "1"),
        (COLUMNS | {"shop": ["a", None, "b"]}, None, None, LabelError, "shop"),
        (np.ones((2, 2, 2)), None, None, ShapeError, "3 modes; expected the 2"),
        (np.ones((2, 3)), None, np.ones(6), SettingError, "sample_weight goes with"),
        (np.ones((2, 3)), "sold", None, SettingError, "no table"),
        ([[1.0, 2.0]], None, None, SettingError, "without values"),
    ],
)
def test_other_data_is_refused(data, values, weight, error, message):
    with pytest.raises(error, match=message):
        read_like(data, values, SHOPS, sample_weight=weight)
