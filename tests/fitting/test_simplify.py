"""A simplified fit has few components, a certificate that holds, and its error beside the full."""

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest

import intensor
from fitting_cases import plain_options
from graded_cases import graded_model_in
from intensor.data.labels import number_labels
from intensor.errors import CoordinateError, NegativeValueError, SettingError, ValuesError
from intensor.fitting.fit import fit
from intensor.fitting.kriging import MAX_MODE_LENGTH
from report.cases import make_fit


@pytest.mark.parametrize("n", [1, 3, 8])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"transform": "sqrt", "radius": 20.0},
        {"baseline": "additive", "radius": 60.0, "max_iterations": 50},
        {"remainder": "kriging", "n_solutions": 2},
    ],
    ids=["plain", "sqrt", "additive", "kriging"],
)
def test_few_components_with_a_certificate(n, options):
    made, coords, values = make_fit(**options)
    found = made.simplify(n, coords, values, validation=0.1)
    small = found.fit
    assert 1 <= len(small.model) <= n
    assert small.radius == made.radius
    assert small.predictor.transform is made.predictor.transform
    assert (small.predictor.baseline is None) == (made.predictor.baseline is None)
    assert small.predictor.remainder is None
    assert small.validation is None
    assert small.bound >= made.bound
    assert small.verify(coords, values).ok
    assert found.metric == "rmse"
    assert found.held_out == 5
    assert 0.0 < found.error < math.inf
    assert 0.0 < found.error_of_full < math.inf
    assert f"rmse {found.error:.6g} on 5 held-out" in repr(found)


def test_more_components_fit_better():
    made, coords, values = make_fit()
    objectives = [made.simplify(n, coords, values).fit.objective for n in (1, 2, 4, 8)]
    assert objectives == sorted(objectives, reverse=True)
    assert objectives[0] > 2.0 * objectives[-1]


@pytest.mark.filterwarnings("ignore::intensor.errors.RadiusWarning")
def test_the_bound_of_the_full_fit_is_taken():
    made, coords, values = make_fit((4, 4, 4), 50, radius=90.0, exact="enumeration", tol=1e-6)
    assert made.bound > 0.0
    found = made.simplify(3, coords, values).fit
    assert found.bound == made.bound
    assert found.result.bound_source == made.result.bound_source
    checked = found.verify(coords, values)
    assert checked.ok
    assert checked.complete
    other = made.simplify(3, coords, values + 1.0).fit  # other data, where it need not hold
    assert other.result.bound_source != made.result.bound_source
    assert other.verify(coords, values + 1.0).ok


@pytest.mark.filterwarnings("ignore::intensor.errors.RadiusWarning")
def test_an_exact_oracle_may_prove_a_bound():
    made, coords, values = make_fit((4, 4, 4), 50, radius=90.0)
    free = made.simplify(3, coords, values).fit
    proven = made.simplify(3, coords, values, exact="enumeration").fit
    assert proven.bound > free.bound
    assert proven.verify(coords, values).ok


def test_a_simplified_fit_is_not_worse_than_the_fit_it_starts_from():
    made, coords, values = make_fit()
    found = made.simplify(len(made.model), coords, values)
    assert found.fit.objective <= made.objective * (1.0 + 1e-9)
    again = found.fit.simplify(len(found.fit.model), coords, values)
    assert again.fit.objective <= found.fit.objective * (1.0 + 1e-9)


def test_errors_are_those_of_models_that_have_not_seen_the_cells():
    """Changing the model of the full fit changes nothing about the errors."""
    made, coords, values = make_fit()
    forged = graded_model_in(made, boxes=len(made.model), graded=0)
    here, there = made.simplify(2, coords, values), forged.simplify(2, coords, values)
    assert here.error == there.error
    assert here.error_of_full == there.error_of_full


def test_the_same_seed_gives_the_same():
    made, coords, values = make_fit()
    order = np.random.default_rng(0).permutation(len(values))
    first = made.simplify(3, coords, values, threads=1)
    second = made.simplify(3, coords[order], values[order], threads=2)
    assert first.fit.model == second.fit.model
    assert first.error == second.error
    assert first.error != made.simplify(3, coords, values, seed=1).error


def test_tables_weights_and_folds():
    made, coords, values = make_fit()
    columns = made.labels.decode(coords)
    table = pd.DataFrame(dict(zip(made.labels.modes, columns, strict=True)))
    table["passengers"] = values
    by_table, by_array = made.simplify(2, table), made.simplify(2, coords, values)
    assert by_table.fit.model == by_array.fit.model
    folds = made.simplify(2, coords, values, validation=4)
    assert folds.held_out == len(values)
    weights = np.arange(len(values)) % 3
    weighted = made.simplify(2, coords, values, sample_weight=weights)
    assert weighted.fit.n == np.count_nonzero(weights)
    assert weighted.fit.verify(coords, values, sample_weight=weights).ok


def test_indices_without_observations():
    rng = np.random.default_rng(0)
    shape = (MAX_MODE_LENGTH + 100, 5)
    coords = np.stack((rng.integers(0, 30, 100) * 7, rng.integers(0, 5, 100)), axis=1)
    values = rng.random(100) + 0.5
    made = fit(coords, values, plain_options(radius=5.0, exact="off"), labels=number_labels(shape))
    found = made.simplify(2, coords, values)
    assert found.fit.shape == shape
    assert found.fit.verify(coords, values).ok
    assert found.error is not None


@pytest.mark.filterwarnings("ignore::intensor.errors.ValidationWarning")
def test_there_may_be_nothing_to_hold_out():
    made, coords, values = make_fit((3, 4), 1)
    found = made.simplify(1, coords, values)
    assert (found.error, found.error_of_full, found.held_out) == (None, None, 0)
    assert "not known" in repr(found)


def test_without_time_there_is_still_a_fit():
    made, coords, values = make_fit()
    found = made.simplify(3, coords, values, time_limit=1e-9)
    assert found.error is None
    assert 1 <= len(found.fit.model) <= 3
    assert found.fit.verify(coords, values).ok


def test_the_fit_can_be_saved(tmp_path):
    made, coords, values = make_fit()
    found = made.simplify(3, coords, values).fit
    found.save(tmp_path / "small.npz")
    loaded = intensor.load(tmp_path / "small.npz")
    assert loaded.model == found.model
    assert loaded.verify(coords, values).ok


def test_the_metric_is_that_of_the_validation():
    made, coords, values = make_fit(radius="auto", scoring="mae")
    assert made.simplify(2, coords, values).metric == "mae"
    validation = dataclasses.replace(made.validation, metric="of another version")
    odd = dataclasses.replace(made, validation=validation)
    assert odd.simplify(2, coords, values).metric == "rmse"


def test_bad_input_is_refused():
    made, coords, values = make_fit()
    for n in (0, -1, 2.5, True, "3"):
        with pytest.raises(SettingError, match="n is"):
            made.simplify(n, coords, values)
    with pytest.raises(SettingError, match="n is 81, more than the 80 observations"):
        made.simplify(81, coords, values)
    with pytest.raises(ValuesError, match="no values"):
        made.simplify(2, coords)
    with pytest.raises(NegativeValueError):
        made.simplify(2, coords, -values)
    with pytest.raises(CoordinateError):
        made.simplify(2, coords[:, :2], values)
    with pytest.raises(SettingError, match="validation"):
        made.simplify(2, coords, values, validation=7.5)
    with pytest.raises(SettingError, match="exact"):
        made.simplify(2, coords, values, exact="perhaps")
    with pytest.raises(SettingError, match="time_limit"):
        made.simplify(2, coords, values, time_limit=-1.0)
