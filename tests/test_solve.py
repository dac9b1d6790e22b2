"""Sample weights in ``solve``, in every version, and the kinds of terms of its models."""

import functools
import warnings

import numpy as np
import pytest

import brute
import intensor
import zoo
from intensor import Status
from intensor.errors import EmptyDataError, SettingError, ValuesError

DATA = zoo.noisy((4, 4, 3), 50, rep=6)
INTEGERS = np.random.default_rng(2).integers(0, 4, 50)
REALS = np.random.default_rng(3).uniform(0.05, 4.0, 50)
RADIUS = 0.5


pytestmark = pytest.mark.filterwarnings("ignore::intensor.errors.RadiusWarning")


def solve(weights=None, *, rows=slice(None), values=DATA.values, **options):
    options = {"radius": RADIUS, "tol": 1e-8, "rtol": 0.0, "shape": DATA.shape, **options}
    return intensor.solve(DATA.coords[rows], values[rows], sample_weight=weights, **options)


@functools.cache
def plain_optimum():
    return optimum(None)


@pytest.fixture(scope="module")
def plain():
    return solve()


def optimum(weights):
    return brute.optimum(DATA.shape, DATA.coords, DATA.values, RADIUS, weights=weights)


def test_integer_weights_are_repeats():
    weighted = solve(INTEGERS)
    repeated = solve(rows=np.repeat(np.arange(50), INTEGERS))
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-9)
    assert weighted.bound == pytest.approx(repeated.bound, rel=1e-9)
    assert weighted.counters == repeated.counters
    np.testing.assert_allclose(
        weighted.model.predict(DATA.coords), repeated.model.predict(DATA.coords), atol=1e-9
    )


@pytest.mark.parametrize(
    ("version", "weights"),
    [
        *(("fast", weights) for weights in (INTEGERS, REALS, REALS * (INTEGERS > 0), 1e-9 * REALS)),
        *((version, REALS * (INTEGERS > 0)) for version in (0, 6, 8, 10)),
        pytest.param(4, REALS * (INTEGERS > 0), marks=pytest.mark.slow),
    ],
)
def test_every_version_reaches_the_weighted_optimum(version, weights):
    least = optimum(weights)
    tolerance = 1e-8 if version == "fast" else 1e-5
    result = solve(weights, version=version, tol=tolerance)
    assert result.status is Status.OPTIMAL
    assert least - 1e-13 <= result.objective <= least + 1.1 * tolerance
    assert result.bound <= least + 1e-13
    residual = result.model.predict(DATA.coords) - DATA.values
    assert result.objective == pytest.approx(np.average(residual**2, weights=weights), rel=1e-10)
    report = intensor.verify(result, DATA.coords, DATA.values, sample_weight=weights)
    assert report.ok, report
    assert report.complete
    assert abs(least - plain_optimum()) > 1e-6  # weights make a difference here


@pytest.mark.parametrize(
    ("weights", "factor"),
    [
        pytest.param(INTEGERS, 1e-30, id="integers, tiny"),
        pytest.param(REALS, 3.0, id="reals, larger"),
        pytest.param(INTEGERS, 3.0, id="integers, larger", marks=pytest.mark.slow),
        pytest.param(REALS, 1e-30, id="reals, tiny", marks=pytest.mark.slow),
    ],
)
def test_only_the_proportions_count(weights, factor):
    plain, scaled = solve(weights), solve(factor * weights)
    assert scaled.objective == pytest.approx(plain.objective, abs=2e-8)
    assert scaled.tolerance == plain.tolerance
    assert scaled.status is Status.OPTIMAL


@pytest.mark.parametrize("weight", [1, 7, 0.3, 1e-60, True])
def test_equal_weights_are_none_at_all(weight, plain):
    equal = solve(np.full(50, weight))
    assert plain.model.weights.tolist() == equal.model.weights.tolist()
    assert plain.objective == equal.objective
    assert plain.bound == equal.bound


def test_no_weight_is_no_observation():
    weights = (INTEGERS > 0).astype(float)
    assert 0 < weights.sum() < 50
    without = solve(rows=np.flatnonzero(weights))
    left_out = solve(weights)
    assert without.model.weights.tolist() == left_out.model.weights.tolist()
    wild = DATA.values.copy()
    wild[weights == 0.0] = 1e9
    assert solve(weights, values=wild).objective == without.objective


def test_the_relative_tolerance_is_weighted():
    mean_square = np.average(DATA.values**2, weights=REALS)
    assert solve(REALS, tol=0.0, rtol=1e-3).tolerance == pytest.approx(1e-3 * mean_square)


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        (np.ones(49), ValuesError, r"sample_weight has shape \(49,\); expected \(50,\)"),
        (np.full(50, np.nan), ValuesError, r"sample_weight\[0\] is nan"),
        (np.zeros(50), EmptyDataError, "every sample_weight is zero"),
    ],
)
def test_bad_weights_are_refused(weights, error, message):
    with pytest.raises(error, match=message):
        solve(weights)


def test_weights_are_left_alone():
    weights = REALS.copy()
    weights.flags.writeable = False
    solve(weights)
    assert np.array_equal(weights, REALS)


def test_values_of_no_weight_are_not_warned_about():
    values = DATA.values.copy()
    values[0] = 50.0
    weights = np.append(0.0, np.ones(49))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solve(weights, values=values, radius=2.0, rtol=1e-6, exact="off")


# --- kinds of terms


@pytest.mark.parametrize("exact", ["off", "enumeration"])
def test_boxes_and_graded_components_describe_the_same_tensors(exact):
    boxes = solve(tol=1e-9)
    graded = solve(components="graded", exact=exact, tol=0.0, rtol=1e-5)
    assert graded.bound <= boxes.objective
    assert boxes.bound <= graded.objective <= 1.01 * boxes.objective
    assert graded.version == "graded"
    assert intensor.verify(graded, DATA.coords, DATA.values).ok
    assert len(graded.model) <= 32


def test_boxes_are_the_default():
    assert solve().model == solve(components="boxes").model


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_components": 0}, "max_components is 0; expected"),
        ({"max_components": -1}, "max_components is -1; expected"),
        ({"max_components": 1.5}, "max_components is 1.5; expected"),
        ({"max_components": "x"}, "max_components is 'x'; expected"),
        ({"max_components": True}, "max_components is True; expected"),
        ({"max_components": 51}, "max_components is 51, more than the 50 observations"),
        ({"components": "boxes", "max_components": 5}, 'needs components="graded"'),
        ({"version": 3}, 'components="graded" needs version="fast"; got version=3'),
        ({"version": 10, "max_components": 3}, "got version=10"),
        ({"components": "round"}, "components is 'round'; expected"),
        ({"components": None}, "components is None; expected"),
        ({"components": 3}, "components is 3; expected"),
    ],
)
def test_bad_kinds_and_numbers_are_refused(options, message):
    with pytest.raises(SettingError, match=message):
        solve(**{"components": "graded", **options})


def test_as_many_components_as_observations_are_allowed():
    assert len(solve(components="graded", max_components=50, tol=1e-4, exact="off").model) <= 50
