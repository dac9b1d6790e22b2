"""The active-set method against dense linear algebra and nonnegative least squares."""

import numpy as np
import pytest

import naive_master
from intensor.kernels.simplex_weights import best_change, improve_weights, longest_step, settle

COUNT = 9


def problem(size, seed=0, *, scale=1.0):
    """Return columns, a target, and a support with weights and its factor."""
    rng = np.random.default_rng([seed, size])
    columns = (rng.uniform(size=(30, COUNT)) < 0.5).astype(float)
    target = scale * rng.uniform(size=30)
    support = np.zeros(COUNT, dtype=np.int64)
    support[:size] = rng.permutation(COUNT)[:size]
    weights = np.zeros(COUNT)
    weights[support[:size]] = rng.dirichlet(np.ones(size + 1))[:size] if size else 0.0
    factor = np.zeros((COUNT, COUNT))
    used = columns[:, support[:size]]
    if size:
        factor[:size, :size] = naive_master.upper_factor(used.T @ used)
    return columns, target, support, weights, factor


def half_gradient(columns, target, weights):
    return columns.T @ (columns @ weights - target)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("size", [1, 4, 8])
def test_the_best_change_solves_the_conditions_of_optimality(size, full):
    columns, target, support, weights, factor = problem(size)
    slope = half_gradient(columns, target, weights)[support]
    change, price = naive_master.best_change(factor, size, full, slope)
    out = np.empty(COUNT)
    found = best_change(factor, size, full, slope, np.empty(COUNT), out)
    assert found == pytest.approx(price, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(out[:size], change, rtol=1e-8, atol=1e-10)
    assert not full or out[:size].sum() == pytest.approx(0.0, abs=1e-10)


@pytest.mark.parametrize(
    ("weights", "full", "change", "wanted"),
    [
        ([0.2, 0.3], False, [0.1, 0.1], (1.0, -1)),
        ([0.2, 0.3], False, [-0.4, 0.1], (0.5, 0)),
        ([0.2, 0.3], False, [-0.4, -1.2], (0.25, 1)),
        ([0.2, 0.3], False, [1.0, 1.0], (0.25, -2)),
        ([0.2, 0.8], True, [1.0, -1.0], (0.8, 1)),
        ([0.5, 0.5], False, [0.5, 0.5], (0.0, -2)),
        ([0.0, 0.1], False, [-1.0, 0.1], (0.0, 0)),
    ],
)
def test_a_step_ends_where_it_is_blocked_first(weights, full, change, wanted):
    arguments = np.array(weights), np.arange(2), 2, full, np.array(change)
    assert longest_step(*arguments) == pytest.approx(wanted)
    assert naive_master.longest_step(weights, full, change) == pytest.approx(wanted)


@pytest.mark.parametrize("scale", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("size", [1, 4, 8])
def test_settling_reaches_the_best_weights_of_the_support_left(size, scale):
    columns, target, support, weights, factor = problem(size, scale=scale)
    start = weights.copy()
    slope = np.zeros(COUNT)
    slope[:size] = half_gradient(columns, target, weights)[support[:size]]
    used, moved = np.zeros(COUNT, dtype=np.uint8), np.zeros(COUNT)
    used[support[:size]] = 1
    scratch = np.empty(COUNT), np.empty(COUNT)
    left, full, price = settle(False, size, factor, support, weights, used, slope, *scratch, moved)
    kept = support[:left]
    assert left <= size
    assert sorted(np.flatnonzero(used)) == sorted(kept)
    np.testing.assert_allclose(start + moved, weights, atol=1e-12)
    assert weights.min() >= 0.0
    assert weights.sum() <= 1.0 + 1e-12
    assert full == (weights.sum() >= 1.0 - 1e-12)
    found = half_gradient(columns, target, weights)[kept]
    np.testing.assert_allclose(found + price, 0.0, atol=1e-9 * max(scale, 1.0))
    np.testing.assert_allclose(slope[:left], found, atol=1e-9 * max(scale, 1.0))


@pytest.mark.parametrize("scale", [0.05, 1.0, 30.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_optimum_is_that_of_nonnegative_least_squares(seed, scale):
    columns, target, support, weights, factor = problem(0, seed, scale=scale)
    gram, slope = columns.T @ columns, half_gradient(columns, target, weights)
    size, full, rounds = improve_weights(
        gram, COUNT, 1e-12, 1e-12, 1000, 0, False, slope, factor, support, weights
    )
    wanted = naive_master.best_weights(columns, target)
    np.testing.assert_allclose(weights, wanted, atol=1e-6)
    np.testing.assert_allclose(slope, half_gradient(columns, target, weights), atol=1e-9 * scale)
    assert set(np.flatnonzero(weights)) <= set(support[:size].tolist())
    assert full == (weights.sum() >= 1.0 - 1e-12)
    assert 1 <= rounds < 1000


def test_rounds_are_limited():
    columns, target, support, weights, factor = problem(0)
    slope = half_gradient(columns, target, weights)
    found = improve_weights(
        columns.T @ columns, COUNT, 1e-12, 0.0, 1, 0, False, slope, factor, support, weights
    )
    assert found[2] == 1
    assert found[0] > 0
    assert not weights.any()  # they have entered, and nothing has moved yet
