"""``intensor.fit``: the fit of ``complete``, and nothing else."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
import sparse
import xarray as xr

import intensor
from intensor import errors

QUICK = {"radius": 1.0, "exact": "off"}


@pytest.fixture(scope="module")
def array():
    data = intensor.planted((4, 3, 3), 20, noise=0.1)
    array = np.full(data.shape, np.nan)
    array[tuple(data.coords.T)] = data.values
    return array


def columns(array):
    cells = np.stack(np.unravel_index(np.arange(array.size), array.shape), axis=1)
    named = {f"mode_{mode}": cells[:, mode] for mode in range(array.ndim)}
    return {**named, "value": array.reshape(-1)}


CONTAINERS = {
    "array": lambda array: array,
    "masked": np.ma.masked_invalid,
    "pandas": lambda array: pd.DataFrame(columns(array)),
    "polars": lambda array: pl.DataFrame(columns(array)),
    "pyarrow": lambda array: pa.table(columns(array)),
    "xarray": xr.DataArray,
    "sparse": lambda array: sparse.COO(
        np.argwhere(~np.isnan(array)).T, array[~np.isnan(array)], shape=array.shape
    ),
}


@pytest.mark.parametrize("kind", CONTAINERS)
def test_it_is_the_fit_of_complete(array, kind):
    given = CONTAINERS[kind](array)
    found = intensor.fit(given, **QUICK)
    _, other = intensor.complete(given, cells="all", **QUICK)
    assert isinstance(found, intensor.Fit)
    assert found.objective == other.objective
    assert found.labels.modes == other.labels.modes
    cells = np.argwhere(np.isfinite(array))
    np.testing.assert_array_equal(found.predict(cells), other.predict(cells))


def test_a_scipy_array_is_fitted_where_it_is_stored():
    found = intensor.fit(scipy.sparse.coo_array([[1.0, 0.0], [0.0, 2.0]]), **QUICK | {"radius": 2})
    assert (found.n, found.shape) == (2, (2, 2))


def test_nothing_missing_is_no_reason_to_warn(array):
    full = np.nan_to_num(array, nan=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = intensor.fit(full, **QUICK)
    assert found.n == full.size
    with pytest.warns(errors.NothingToFillWarning, match=r"intensor\.fit returns the fit alone"):
        intensor.complete(full, **QUICK)


@pytest.mark.filterwarnings("ignore::intensor.errors.ValidationWarning")  # of one cell
def test_columns_of_a_table_are_chosen():
    table = pd.DataFrame(
        {"shop": ["a", "a", "b"], "day": [1, 2, 1], "sold": [2.0, 2.0, None], "n": [1, 0, 2]}
    )
    found = intensor.fit(table, value="sold", modes=["day", "shop"], weight="n", radius=2.0)
    assert found.labels.modes == ("day", "shop")
    assert found.n == 1  # of the three rows, one has no value and one no weight
    assert found.predictor.counts.tolist() == [1.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize("face", [intensor.fit, intensor.complete])
def test_warnings_point_at_the_caller(face):
    numbers = np.arange(30)
    table = pd.DataFrame({"index": numbers, "a": numbers % 3, "b": numbers % 5, "value": 1.0})
    table.loc[0, "value"] = np.nan
    with pytest.warns(errors.ModeWarning, match="row numbers") as caught:
        face(table, **QUICK)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"cells": "all"}, errors.SettingError, "no option 'cells'"),
        ({"raduis": 1.0}, errors.SettingError, "did you mean 'radius'"),
        ({"callback": 3}, errors.SettingError, "callback is 3"),
        ({"value": "rating"}, errors.SettingError, "value is 'rating'"),
        ({"clip": (3, 1)}, errors.SettingError, "low end below"),
    ],
)
def test_bad_options_are_refused(array, options, error, message):
    with pytest.raises(error, match=message):
        intensor.fit(array, **options)
    with pytest.raises(errors.ValuesError, match="data is a list"):
        intensor.fit([1.0, 2.0])
