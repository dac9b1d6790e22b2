"""The checker can fail: whatever of a sound result is broken, it is caught by name."""

import dataclasses

import numpy as np
import pytest

import brute
import intensor
import zoo
from intensor.problem.vertex import pack_vertices
from soak.checker import best_of, check
from soak.nearest import optimum
from soak.problems import Problem


@pytest.fixture(scope="module")
def case():
    data = zoo.noisy((4, 3, 3), 50, rep=2)
    problem = Problem(
        number=-1,
        kinds=(),
        shape=data.shape,
        coords=data.coords,
        values=data.values,
        weights=np.linspace(0.5, 2.0, 50),
        radius=0.8,
        options={"tol": 1e-9, "rtol": 0.0},
    )
    result, best = problem.solve(), best_of(problem)
    assert check(problem, result, best) == []
    assert result.status is intensor.Status.OPTIMAL
    assert result.bound > 0.0
    return problem, result, best


def names(case, **changes):
    problem, result, best = case
    return {
        finding.name for finding in check(problem, dataclasses.replace(result, **changes), best)
    }


def with_model(case, **changes):
    return names(case, model=dataclasses.replace(case[1].model, **changes))


@pytest.mark.parametrize("share", [1e-12, 1e-6, 1.0])
def test_a_bound_above_the_optimum(case, share):
    best = case[2]
    bound = best.upper + share * best.square
    found = names(case, bound=bound, objective=max(bound, case[1].objective))
    assert {"bound", "verify"} <= found


def test_a_bound_on_the_way_that_was_too_high(case):
    rows = case[1].trace
    high = rows[-1]._replace(bound=case[2].upper + 1e-6)
    assert names(case, trace=(*rows[:-1], high)) == {"climb"}


def test_a_bound_that_is_not_proven(case):
    assert "verify" in names(case, witness=None)


def test_an_objective_below_the_optimum(case):
    found = names(case, objective=case[2].lower - 1e-12)
    assert "objective" in found
    assert "verify" in names(case, objective=case[2].lower - 1e-6)


def test_weights_that_sum_to_too_much(case):
    weights = case[1].model.weights * (1.0 + 1e-6)
    assert "verify" in with_model(case, weights=weights)


def test_a_flipped_bit(case):
    problem, result, _ = case
    flags = result.model.vertices.flags()
    flags[0, problem.coords[0, 0]] ^= 1
    vertices = pack_vertices(flags, problem.shape)
    assert "verify" in with_model(case, vertices=vertices)


def test_another_radius(case):
    assert "problem" in with_model(case, radius=0.81)


def test_optimal_with_a_gap(case):
    problem, _, best = case
    early = dataclasses.replace(problem, options={**problem.options, "max_iterations": 2}).solve()
    assert check(problem, early, best) == []
    for status in (intensor.Status.OPTIMAL, intensor.Status.WITHIN_TOLERANCE):
        claimed = dataclasses.replace(early, status=status)
        found = {finding.name for finding in check(problem, claimed, best)}
        assert {"optimal", "gap", "verify"} <= found


def test_a_number_that_is_none(case):
    assert "finite" in names(case, bound=-np.inf)


def test_an_optimum_that_is_not_known(case):
    problem, result, best = case
    vague = dataclasses.replace(best, lower=0.9 * best.upper)
    assert {finding.name for finding in check(problem, result, vague)} == {"optimum"}


# --- the optimum


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("shape", "n"), [((4, 5), 15), ((3, 3, 3), 40), ((2, 2, 2, 2), 30)])
def test_the_nearest_point_is_that_of_least_squares(shape, n, signed):
    data = zoo.noisy(shape, n, rep=7)
    weights = np.random.default_rng(n).uniform(0.1, 2.0, n)
    for radius in (0.05, 0.7, 3.0):
        given = (shape, data.coords, data.values, radius)
        best = optimum(*given, weights=weights, signed=signed)
        wanted = brute.optimum(*given, weights=weights, signed=signed)
        assert best.lower <= best.upper
        assert best.upper - best.lower <= 1e-12
        assert best.upper == pytest.approx(wanted, rel=1e-9, abs=1e-13)
        assert best.square == pytest.approx(np.average(data.values**2, weights=weights))


def test_rows_without_weight_and_repeated_rows_are_what_they_say():
    data = zoo.noisy((3, 4), 10, rep=1)
    plain = optimum((3, 4), data.coords, data.values, 0.5)
    twice = optimum((3, 4), np.tile(data.coords, (2, 1)), np.tile(data.values, 2), 0.5)
    weights = np.append(np.ones(10), 0.0)
    more = optimum(
        (3, 4),
        np.vstack((data.coords, data.coords[:1])),
        np.append(data.values, 99.0),
        0.5,
        weights=weights,
    )
    assert plain.upper == pytest.approx(twice.upper, rel=1e-13)
    assert plain.upper == pytest.approx(more.upper, rel=1e-13)
    assert plain.upper > 0.0
