"""The front door for containers: options, warnings, and one answer whatever the container."""

import doctest
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sparse
import xarray as xr

import intensor
import zoo
from intensor import errors
from intensor._complete import _predict, complete
from intensor.containers import open_container
from intensor.fitting.options import check_options, fit_options

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def data():
    return intensor.planted((4, 3, 3), 20, noise=0.1)


@pytest.fixture(scope="module")
def array(data):
    cells, first = np.unique(data.coords, axis=0, return_index=True)
    array = np.full(data.shape, np.nan)
    array[tuple(cells.T)] = data.values[first]
    return array


def test_every_container_gives_the_same_numbers(array):
    expected, fit = complete(array, radius=1.0, exact="off")
    gone = np.isnan(array)
    cells = np.stack(np.unravel_index(np.arange(array.size), array.shape), axis=1)
    columns = {f"mode_{mode}": cells[:, mode] for mode in range(3)}
    columns["value"] = array.reshape(-1)

    def filled(container, **options):
        completed, other = complete(container, radius=1.0, exact="off", **options)
        assert other.objective == fit.objective
        assert other.bound == fit.bound
        return completed

    there = np.argwhere(~gone)
    coo = sparse.COO(there.T, array[~gone], shape=array.shape)
    listed = {name: column[~gone.reshape(-1)] for name, column in columns.items()}
    for answer in (
        filled(np.ma.masked_invalid(array)).data,
        filled(xr.DataArray(array)).values,
        filled(coo, cells="all").todense(),
        filled(pd.DataFrame(columns))["value"].to_numpy().reshape(array.shape),
        filled(pl.DataFrame(columns))["value"].to_numpy().reshape(array.shape),
        filled(pa.table(columns))["value"].to_numpy().reshape(array.shape),
        filled(pl.DataFrame(listed), cells="all")["value"].to_numpy().reshape(array.shape),
    ):
        np.testing.assert_array_equal(answer, expected)


def test_indices_without_observations_warn_or_raise(array):
    gap = array.copy()
    gap[2] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quiet, _ = complete(gap, radius=1.0, exact="off")
    with pytest.warns(errors.UnseenIndexWarning) as caught:
        warned, _ = complete(gap, radius=1.0, exact="off", unseen="warn")
    np.testing.assert_array_equal(warned, quiet)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    n_missing = int(np.isnan(gap).sum())
    message = f"no observation has the label 2 in mode 'mode_0'; 9 of {n_missing} cells"
    assert message in str(caught[0].message)
    with pytest.raises(errors.UnseenIndexError, match=message):
        complete(gap, radius=1.0, exact="off", unseen="error")


def test_the_certificate_holds(array):
    _, fit = complete(array, radius=1.0, rtol=1e-6)
    coords = np.argwhere(~np.isnan(array))
    values = array[tuple(coords.T)]
    best = zoo.optimum(array.shape, coords, values, 1.0)
    assert fit.status is intensor.Status.OPTIMAL
    assert fit.bound <= best * (1 + 1e-9) + 1e-12
    assert fit.objective >= best * (1 - 1e-9) - 1e-12
    assert fit.verify(coords, values).ok


def test_cells_are_predicted_in_parts(array):
    completed, fit = complete(array, radius=1.0, exact="off")
    parts = _predict(fit, open_container(array), at_once=5)
    np.testing.assert_array_equal(parts, completed[np.isnan(array)])


def test_options_reach_the_fit(array):
    stages = []
    _, fit = complete(
        array,
        radius="auto",
        n_radii=2,
        transform="sqrt",
        baseline="additive",
        components="boxes",
        n_solutions=2,
        rtol=1e-6,
        exact="off",
        random_state=np.random.RandomState(1),
        callback=lambda progress: stages.append(progress.stage),
    )
    assert fit.predictor.transform.name == "sqrt"
    assert fit.predictor.baseline is not None
    assert fit.n_solutions == 2
    assert len(fit.path) <= 2
    assert any(stage.startswith("radius") for stage in stages)
    assert "fit 2 of 2" in stages


def test_strings_become_options():
    assert fit_options({}).solver == check_options().solver
    assert fit_options({"random_state": 5}).solver.seed == 5
    assert fit_options({"random_state": np.int64(5), "rtol": 0.5}).solver.rtol == 0.5
    drawn = {fit_options({"random_state": None}).solver.seed for _ in range(3)}
    assert len(drawn) > 1
    with pytest.raises(errors.SettingError, match="random_state is True"):
        fit_options({"random_state": True})


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"cells": "some"}, errors.SettingError, "cells is 'some'"),
        ({"unseen": "zero"}, errors.SettingError, "unseen is 'zero'"),
        ({"raduis": 1.0}, errors.SettingError, "'raduis'; did you mean 'radius'"),
        ({"seed": 1, "random_state": 1}, errors.SettingError, "the same option; give one"),
        ({"radius": 0.0}, errors.RadiusError, "radius is 0.0"),
        ({"value": "rating"}, errors.SettingError, "value is 'rating'"),
    ],
)
def test_bad_options_are_refused(array, options, error, message):
    with pytest.raises(error, match=message):
        complete(array, **options)


def test_the_documentation_runs():
    text = (DOCS / "containers.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    found = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "containers.md", None, 0)
    assert len(found.examples) >= 15
    runner = doctest.DocTestRunner()
    runner.run(found)
    assert runner.summarize(verbose=False).failed == 0
