"""The signed polytope against brute force over all vertices and both signs."""

import dataclasses

import numpy as np
import pytest

import brute
import intensor
from intensor import Status
from intensor.errors import NegativeValueError, RadiusWarning, SettingError


def drawn(shape, n, seed=0):
    """Return cells, some of them twice, with values of both signs."""
    rng = np.random.default_rng([seed, n, *shape])
    coords = np.stack([rng.integers(0, length, n) for length in shape], axis=1)
    return coords, rng.normal(0.0, 0.3, n)


def solve(coords, values, shape, *, radius=1.5, **options):
    options = {"tol": 1e-9, "rtol": 0.0, "signed": True, **options}
    return intensor.solve(coords, values, shape=shape, radius=radius, **options)


TINY = [((4,), 9), ((3, 4), 14), ((3, 3, 2), 25), ((2, 2, 2, 2), 20), ((1, 5), 6)]


@pytest.mark.parametrize(("shape", "n"), TINY)
@pytest.mark.filterwarnings("ignore::intensor.errors.RadiusWarning")
def test_against_every_vertex_and_sign(shape, n):
    coords, values = drawn(shape, n)
    for radius in (0.3, 1.5, 8.0):
        check_against_every_vertex(shape, coords, values, radius)


def check_against_every_vertex(shape, coords, values, radius):
    least = brute.optimum(shape, coords, values, radius, signed=True)
    result = solve(coords, values, shape, radius=radius)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(least, abs=1.1e-9)
    assert result.bound <= least + 1e-13
    assert result.model.signed
    assert np.abs(result.model.weights).sum() <= radius * (1.0 + 1e-12)
    report = intensor.verify(result, coords, values)
    assert report.ok, report
    assert report.complete


def test_both_signs_are_in_use_and_gain():
    coords, values = drawn((4, 3, 3), 40)
    result = solve(coords, values, (4, 3, 3))
    assert result.model.weights.min() < 0.0 < result.model.weights.max()
    plain = solve(coords, values, (4, 3, 3), signed=False, allow_negative=True)
    assert result.objective < plain.objective - 1e-3
    assert not plain.model.signed
    assert np.all(plain.model.weights >= 0.0)


def test_the_opposite_values_have_the_opposite_model():
    coords, values = drawn((4, 3, 3), 40)
    result, opposite = (solve(coords, sign * values, (4, 3, 3)) for sign in (1.0, -1.0))
    assert result.objective == pytest.approx(opposite.objective, abs=2e-9)
    np.testing.assert_allclose(
        result.model.predict(coords), -opposite.model.predict(coords), atol=1e-3
    )


@pytest.mark.filterwarnings("ignore::intensor.errors.RadiusWarning")
def test_weights_and_signs_together():
    coords, values = drawn((3, 3, 2), 25)
    weights = np.random.default_rng(4).uniform(0.1, 3.0, 25)
    least = brute.optimum((3, 3, 2), coords, values, 0.5, weights=weights, signed=True)
    result = solve(coords, values, (3, 3, 2), radius=0.5, sample_weight=weights)
    assert result.objective == pytest.approx(least, abs=1.1e-9)
    assert result.bound <= least + 1e-13
    assert intensor.verify(result, coords, values, sample_weight=weights).ok


def test_nonnegative_values_may_be_signed_too():
    data = intensor.planted((4, 4, 3), 60, noise=0.1)
    least = brute.optimum(data.shape, data.coords, data.values, 0.6, signed=True)
    result = solve(data.coords, data.values, data.shape, radius=0.6)
    assert result.objective == pytest.approx(least, abs=1.1e-9)
    plain = brute.optimum(data.shape, data.coords, data.values, 0.6)
    assert plain == pytest.approx(
        solve(data.coords, data.values, data.shape, radius=0.6, signed=False).objective, abs=1.1e-9
    )
    assert least < plain - 1e-6


def test_the_warning_looks_at_sizes():
    coords = [[0, 0], [1, 1], [0, 1]]
    with pytest.warns(RadiusWarning, match="1 of 3 values"):
        solve(coords, [-2.0, 0.5, 0.1], (2, 2), radius=1.0)


def test_negative_values_need_a_word():
    with pytest.raises(NegativeValueError):
        solve([[0, 0]], [-1.0], (1, 1), signed=False)


@pytest.mark.parametrize("version", [0, 10])
def test_only_fast_can(version):
    with pytest.raises(SettingError, match=f'signed boxes need version="fast"; got.*{version}'):
        solve([[0, 0], [1, 1]], [0.5, -0.5], (2, 2), version=version)


@pytest.mark.parametrize("exact", ["enumeration", "branch", "highs"])
def test_every_oracle_proves_both_signs(exact):
    coords, values = drawn((4, 3, 3), 40)
    least = brute.optimum((4, 3, 3), coords, values, 0.9, signed=True)
    result = solve(coords, values, (4, 3, 3), radius=0.9, exact=exact, tol=1e-6)
    assert result.status is Status.OPTIMAL
    assert least - 1e-6 <= result.bound <= least + 1e-13
    assert result.counters.exact_calls % 2 == 0


@pytest.mark.parametrize("exact", ["highs", "scip", "gurobi", "enumeration", "branch"])
@pytest.mark.filterwarnings("ignore::intensor.errors.RadiusWarning")
def test_a_vertex_that_gains_nothing_never_enters(exact):
    """Each sign has a goal of its own: the first answer must not move what the second must beat.

    With one goal for both, a vertex of gain -7e-16 entered and the master wrote past its arrays.
    """
    coords, values = [[0, 0], [0, 1], [1, 0], [1, 1]], [3.0, 3.0, -2.0, 2.0]
    for radius in (1.0, 2.0, 3.0):
        result = solve(coords, values, (2, 2), radius=radius, exact=exact, tol=0.0, rtol=1e-9)
        least = brute.optimum((2, 2), coords, values, radius, signed=True)
        assert result.objective == pytest.approx(least, rel=1e-7)
        assert result.bound <= least * (1.0 + 1e-12)
        assert len(result.model) <= 18  # nine boxes in a matrix of two by two, with two signs
        assert intensor.verify(result, coords, values).ok


def test_without_an_oracle_nothing_is_claimed():
    coords, values = drawn((4, 3, 3), 40)
    result = solve(coords, values, (4, 3, 3), radius=0.9, exact="off")
    assert result.status is Status.STALLED
    least = brute.optimum((4, 3, 3), coords, values, 0.9, signed=True)
    assert result.bound <= least <= result.objective + 1e-12 <= least + 1e-5


# --- a broken certificate


def broken_in(result, coords, values, **options):
    report = intensor.verify(result, coords, values, **options)
    return {check.name for check in report.checks if check.passed is False}


def test_what_is_broken_is_found():
    coords, values = drawn((4, 3, 3), 40)
    result = solve(coords, values, (4, 3, 3), radius=0.9, tol=1e-7)
    model = result.model
    assert broken_in(result, coords, values) == set()

    def with_model(**changes):
        return dataclasses.replace(result, model=dataclasses.replace(model, **changes))

    assert "model weights" in broken_in(with_model(signed=False), coords, values)
    negated = broken_in(with_model(weights=-model.weights), coords, values)
    assert negated == {"objective", "status"}
    assert "model radius" in broken_in(with_model(weights=1.01 * model.weights), coords, values)
    raised = dataclasses.replace(result, bound=result.objective + 1e-7)
    assert "bound" in broken_in(raised, coords, values)
    assert "objective" in broken_in(result, coords, values, sample_weight=np.linspace(1.0, 2.0, 40))


def test_a_bound_of_the_nonnegative_polytope_does_not_hold_for_the_signed_one():
    coords, values = drawn((4, 3, 3), 40)
    plain = solve(coords, values, (4, 3, 3), radius=0.9, signed=False, allow_negative=True)
    assert intensor.verify(plain, coords, values).ok
    claimed = dataclasses.replace(plain, model=dataclasses.replace(plain.model, signed=True))
    assert "bound" in broken_in(claimed, coords, values)
