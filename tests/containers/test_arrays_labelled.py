"""xarray's DataArray."""

import numpy as np
import pandas as pd
import pytest
import sparse
import xarray as xr

from intensor import complete, errors

QUICK = {"radius": 9.0, "exact": "off", "unseen": "mean"}


@pytest.fixture
def trips():
    values = np.outer([1.0, 2.0, 3.0], [3.0, 1.0])
    values[1, 1] = np.nan
    return xr.DataArray(
        values,
        dims=("city", "day"),
        coords={
            "city": ["Oslo", "Rome", "Bonn"],
            "day": pd.date_range("2024-01-01", periods=2),
            "weekend": ("day", [False, True]),
            "run": 7,
        },
        name="trips",
        attrs={"unit": "1000"},
    )


def test_all_but_the_missing_value_stays(trips):
    completed, fit = complete(trips, **QUICK)
    assert np.isnan(trips.values[1, 1])
    xr.testing.assert_identical(completed.where(trips.notnull()), trips.where(trips.notnull()))
    assert completed.attrs == {"unit": "1000"}
    assert completed.name == "trips"
    assert set(completed.coords) == {"city", "day", "weekend", "run"}
    assert completed.values[1, 1] == fit.predict([[1, 1]])[0]
    plain, _ = complete(trips.values, **QUICK)
    np.testing.assert_array_equal(completed.values, plain)


def test_labels(trips):
    _, fit = complete(trips, **QUICK)
    assert fit.labels.modes == ("city", "day")
    assert fit.labels.value == "trips"
    assert fit.labels.indices[0].tolist() == ["Oslo", "Rome", "Bonn"]
    assert fit.labels.indices[1].dtype.kind == "M"
    days = np.array(["2024-01-02"], dtype="M8[D]")
    assert fit.labels.encode([["Bonn"], days]).tolist() == [[2, 1]]


def test_dimensions_without_labels(trips):
    _, fit = complete(trips.drop_vars(["city", "day"]).rename(None), **QUICK)
    assert fit.labels.modes == ("city", "day")
    assert fit.labels.plain
    assert fit.labels.value == "value"


def test_float32(trips):
    completed, _ = complete(trips.astype(np.float32), **QUICK)
    assert completed.dtype == np.float32


def test_stacked_dimensions(trips):
    stacked = trips.expand_dims(year=[1, 2]).stack(when=("year", "day"))
    completed, fit = complete(stacked, **QUICK)
    assert fit.labels.indices[1][0] == "1 | 2024-01-01 00:00:00"
    assert not completed.isnull().any()
    assert completed.indexes["when"].equals(stacked.indexes["when"])


def test_sparse_inside(trips):
    values = sparse.COO([[0, 1, 2], [0, 1, 0]], [3.0, np.nan, 1.0], shape=(3, 2))
    completed, fit = complete(trips.copy(data=values), **QUICK)
    assert isinstance(completed.data, sparse.COO)
    assert completed.data.nnz == 3
    assert fit.labels.modes == ("city", "day")
    every, _ = complete(trips.copy(data=values), cells="all", **QUICK)
    assert every.data.nnz == 6


def test_nothing_to_fill(trips):
    full = trips.fillna(2.0)
    with pytest.warns(errors.NothingToFillWarning):
        completed, _ = complete(full, **QUICK)
    assert completed is full


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", "b", "a"], "dimension 'city' has the label 'a' more than once"),
        ([1.0, np.nan, 2.0], "dimension 'city': row 1 has no label"),
        (["a", None, "b"], "dimension 'city': row 1 has no label"),
    ],
)
def test_bad_labels(trips, labels, message):
    with pytest.raises(errors.LabelError, match=message):
        complete(trips.assign_coords(city=labels), **QUICK)


def test_not_a_single_array(trips):
    with pytest.raises(errors.ValuesError, match=r"Dataset of xarray .*choose one variable"):
        complete(trips.to_dataset(), **QUICK)
    with pytest.raises(errors.NegativeValueError, match=r"at \(0, 0\) is -3.0"):
        complete(-trips, **QUICK)
    with pytest.raises(errors.SettingError, match="value is 'trips'"):
        complete(trips, value="trips", **QUICK)
