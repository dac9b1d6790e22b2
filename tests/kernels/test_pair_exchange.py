"""Exchanges between pairs against their plain twin and the exact optimum."""

import numpy as np
import pytest

import naive_master
from intensor.kernels.pair_exchange import exchange


class Small:
    """Columns and a target: ``|Aw - t|^2`` over ``w >= 0, sum w <= 1``."""

    def __init__(self, columns, target, weights=None):
        self.columns, self.target = columns, target
        self.gram = columns.T @ columns
        self.weights = np.zeros(columns.shape[1]) if weights is None else weights
        self.slope = self.half_gradient()

    @property
    def count(self):
        return len(self.gram)

    @property
    def value(self):
        return float(np.sum((self.columns @ self.weights - self.target) ** 2))

    def half_gradient(self):
        return self.columns.T @ (self.columns @ self.weights - self.target)

    def run(self, tolerance, most=10**5):
        return exchange(self.gram, self.count, tolerance, most, self.slope, self.weights)

    def exact(self):
        """Return the least value."""
        weights = naive_master.best_weights(self.columns, self.target)
        return float(np.sum((self.columns @ weights - self.target) ** 2))

    def check(self):
        assert np.all(self.weights >= 0.0)
        assert self.weights.sum() <= 1.0 + 1e-12
        np.testing.assert_allclose(self.slope, self.half_gradient(), rtol=0.0, atol=1e-10)


def small(rows, count, seed, *, scale=1.0, start="zero"):
    rng = np.random.default_rng([seed, rows, count])
    columns = (rng.uniform(size=(rows, count)) < 0.5).astype(float)
    target = scale * rng.uniform(size=rows)
    weights = np.zeros(count)
    if start == "uniform":
        weights[:] = 1.0 / count
    elif start == "some":
        weights[::2] = rng.uniform(size=weights[::2].size)
        weights *= 0.7 / weights.sum()
    return Small(columns, target, weights)


# From zero, the first step leaves a tie that rounding decides; the steps may differ after it.
@pytest.mark.parametrize(
    ("start", "steps"),
    [("zero", 0), ("zero", 1), *((start, n) for start in ("uniform", "some") for n in (1, 5, 60))],
)
def test_steps_are_those_of_the_twin(steps, start):
    problem = small(40, 20, 0, start=start)
    wanted = naive_master.exchange(problem.gram, 0.0, steps, problem.slope, problem.weights)
    taken, apart = problem.run(0.0, steps)
    assert taken == wanted[0] == steps
    assert apart == pytest.approx(wanted[1], abs=1e-10)
    np.testing.assert_allclose(problem.slope, wanted[2], atol=1e-10)
    np.testing.assert_allclose(problem.weights, wanted[3], atol=1e-10)


@pytest.mark.parametrize(
    ("rows", "count", "scale", "start"),
    [(6, 1, 1.0, "zero"), (8, 5, 0.05, "uniform"), (40, 20, 20.0, "some"), (60, 60, 1.0, "zero")],
)
def test_enough_steps_reach_the_optimum(rows, count, scale, start):
    problem = small(rows, count, 0, scale=scale, start=start)
    steps, apart = problem.run(1e-9)
    assert steps < 10**5
    assert apart <= 1e-9
    problem.check()
    assert problem.value == pytest.approx(problem.exact(), rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("start", ["zero", "uniform", "some"])
def test_there_are_no_more_steps_than_allowed(start):
    for most in (0, 1, 2, 7, 30):
        problem = small(40, 30, 1, start=start)
        before = problem.value
        steps, apart = problem.run(0.0, most)
        assert steps == most
        assert apart > 0.0
        problem.check()
        assert problem.value < before if most else problem.value == before
        longer = small(40, 30, 1, start=start)
        longer.run(0.0, most + 5)
        assert longer.value < problem.value


@pytest.mark.parametrize("tolerance", [1e2, 1e-1, 1e-3, 1e-6])
def test_giver_and_taker_end_up_within_the_tolerance(tolerance):
    problem = small(40, 30, 2, start="uniform")
    steps, apart = problem.run(tolerance)
    assert apart <= tolerance
    slope = problem.half_gradient()
    rest = 1.0 - problem.weights.sum()
    highest = max(slope[problem.weights > 0.0].max(), 0.0 if rest > 1e-12 else -np.inf)
    lowest = min(0.0, slope.min())
    assert highest - lowest <= tolerance + 1e-9
    assert highest - lowest == pytest.approx(apart, abs=1e-9)
    assert (steps == 0) == (tolerance == 1e2)


def test_each_step_is_the_best_for_its_pair():
    problem = small(40, 30, 3, start="some")
    first = problem.value
    for _ in range(20):
        before = problem.value
        slope, weights = problem.slope.copy(), problem.weights.copy()
        steps, _ = problem.run(0.0, 1)
        assert steps == 1
        moved = problem.weights - weights
        changed = np.flatnonzero(moved)
        assert 1 <= changed.size <= 2
        assert changed.size == 1 or moved.sum() == pytest.approx(0.0, abs=1e-15)
        for length in (0.5, 0.99, 1.01, 1.5):
            other = weights + length * moved
            if other.min() >= 0.0 and other.sum() <= 1.0:
                value = np.sum((problem.columns @ other - problem.target) ** 2)
                assert value >= problem.value - 1e-12
        assert problem.value <= before  # the gain of a step may be less than rounding shows
        assert slope[np.argmax(moved)] == pytest.approx(min(slope.min(), 0.0)) or moved.max() <= 0.0
    assert problem.value < first


def test_the_zero_vertex_can_give():
    problem = Small(np.eye(3), np.array([0.2, 0.3, 0.1]))
    problem.run(1e-12)
    np.testing.assert_allclose(problem.weights, [0.2, 0.3, 0.1], atol=1e-12)


def test_the_zero_vertex_can_take():
    # All weight is on a vertex with a positive half-gradient.
    problem = Small(np.ones((3, 1)), np.zeros(3), np.array([1.0]))
    steps, apart = problem.run(1e-12)
    assert (steps, apart) == (1, 0.0)
    assert problem.weights.tolist() == [0.0]
    problem = Small(np.eye(2), np.array([0.25, 0.0]), np.array([0.5, 0.5]))
    problem.run(1e-12)
    np.testing.assert_allclose(problem.weights, [0.25, 0.0], atol=1e-12)


def test_the_zero_vertex_gives_nothing_when_it_has_no_weight():
    problem = Small(np.eye(2), np.array([3.0, 3.0]), np.array([0.9, 0.1]))
    problem.run(1e-12)
    np.testing.assert_allclose(problem.weights, [0.5, 0.5], atol=1e-12)
    assert problem.weights.sum() <= 1.0 + 1e-15


def test_equal_and_empty_columns_do_no_harm():
    columns = np.column_stack((np.ones(4), np.ones(4), np.zeros(4), np.eye(4)[:, 0]))
    for weights in (np.zeros(4), np.array([0.5, 0.1, 0.4, 0.0]), np.full(4, 0.25)):
        problem = Small(columns, np.array([0.9, 0.4, 0.4, 0.4]), weights.copy())
        problem.run(1e-10)
        problem.check()
        assert problem.value == pytest.approx(problem.exact(), abs=1e-10)


def test_numbers_beyond_the_count_are_left_alone():
    problem = small(30, 10, 4)
    gram = np.full((16, 16), np.nan)
    gram[:10, :10] = problem.gram
    slope, weights = np.full(16, -1e9), np.full(16, 7.0)
    slope[:10], weights[:10] = problem.slope, 0.0
    exchange(gram, 10, 1e-9, 1000, slope, weights)
    problem.run(1e-9, 1000)
    assert np.array_equal(weights[:10], problem.weights)
    assert np.all(weights[10:] == 7.0)
    assert np.all(slope[10:] == -1e9)


def test_there_may_be_no_vertex():
    assert exchange(np.zeros((2, 2)), 0, 0.0, 10, np.zeros(2), np.zeros(2)) == (0, 0.0)
