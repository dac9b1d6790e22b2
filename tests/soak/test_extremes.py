"""Bounds, objectives and `verify` on problems of extreme magnitudes, against exact optima."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

import zoo
from intensor.data.checks import MAX_WEIGHT_RATIO

from .exact import exact_objective, exact_optimum
from .extremes import check, draw
from .nearest import optimum


@pytest.mark.parametrize("first", zoo.mostly_slow([0, 20], telling=[0]))
def test_nothing_is_wrong(first):
    for number in range(first, first + 20):
        problem = draw(number)
        assert check(problem, problem.solve()) == [], number


@pytest.mark.parametrize("number", [22, 416, 1627, 2148, 3927, 7031])
def test_what_was_wrong_once(number):
    """Squares and quotients that underflowed, iterates and costs that only rounding made."""
    problem = draw(number)
    assert check(problem, problem.solve()) == []


@pytest.mark.slow
def test_nothing_is_wrong_with_thousands():
    wrong = {}
    for number in range(40, 3200):
        problem = draw(number)
        found = check(problem, problem.solve())
        if found:
            wrong[number] = found
    assert not wrong


def test_the_problems_go_to_the_ends():
    problems = [draw(number) for number in range(400)]
    heavy = [problem.weights for problem in problems if problem.weights is not None]
    assert max(weights.max() / weights.min() for weights in heavy) > MAX_WEIGHT_RATIO / 10.0
    radii = [problem.radius for problem in problems]
    assert min(radii) < 1e-60
    assert max(radii) > 1e60
    sizes = [float(np.abs(problem.values).max()) for problem in problems]
    assert min(sizes) < 1e-60
    assert max(sizes) > 1e60
    assert any(problem.signed for problem in problems)


def test_findings_are_made():
    """The check can fail: a bound that is raised and an objective that is lowered are found."""
    problem = next(p for p in map(draw, range(100)) if p.options["rtol"] == 1e-12)
    result = problem.solve()
    for claim in ({"bound": 2.0 * result.objective + 1e-3}, {"objective": -1.0}):
        assert check(problem, dataclasses.replace(result, **claim))


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_exact_optimum_is_that_of_floating_point_where_both_can_tell(seed, signed):
    rng = np.random.default_rng(seed)
    shape = ((3, 2), (2, 2, 2), (4, 2), (2, 2, 2, 2))[seed]
    coords = np.stack([rng.integers(0, length, 7) for length in shape], axis=1)
    values = rng.uniform(0.0, 2.0, 7) * (rng.choice((-1.0, 1.0), 7) if signed else 1.0)
    weights = rng.uniform(0.1, 3.0, 7)
    best, square = exact_optimum(shape, coords, values, 0.9, weights=weights, signed=signed)
    known = optimum(shape, coords, values, 0.9, weights=weights, signed=signed)
    assert isinstance(best, Fraction)
    assert float(best) == pytest.approx(known.upper, rel=1e-10)
    assert float(square) == pytest.approx(known.square, rel=1e-12)


def test_the_exact_objective_is_that_of_the_model():
    problem = next(p for p in map(draw, range(100)) if p.weights is None)
    result = problem.solve()
    error, sizes = exact_objective(result.model, problem.coords, problem.values)
    residual = result.model.predict(problem.coords) - problem.values
    assert float(error) == pytest.approx(float(np.mean(residual**2)), rel=1e-9)
    assert float(sizes) >= float(np.mean(result.model.predict(problem.coords) ** 2)) * (1 - 1e-9)
