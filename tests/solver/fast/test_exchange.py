"""Exchanges against the exact optimum, and the master that goes on from where they stop."""

import numpy as np
import pytest
from scipy.optimize import minimize

from intensor.solver.fast import master as master_module
from intensor.solver.fast.exchange import exchange
from intensor.solver.fast.master import Master


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
        """Return the least value, by the master's active set."""
        master = Master(self.count)
        for _ in range(4):
            slope = self.columns.T @ (self.columns @ master.weights - self.target)
            master.solve(self.gram, self.count, slope, tolerance=1e-13)
        return float(np.sum((self.columns @ master.weights - self.target) ** 2))

    def check(self):
        assert np.all(self.weights >= 0.0)
        assert self.weights.sum() <= 1.0 + 1e-12
        np.testing.assert_allclose(self.slope, self.half_gradient(), rtol=0.0, atol=1e-10)


def small(rows, count, seed, *, scale=1.0, start="zero"):
    rng = np.random.default_rng([seed, rows, count])
    columns = (rng.uniform(size=(rows, count)) < 0.5).astype(float)
    target = scale * rng.uniform(size=rows)
    weights = np.zeros(count)
    if start == "spread":
        weights[:] = 1.0 / count
    elif start == "some":
        weights[::2] = rng.uniform(size=weights[::2].size)
        weights *= 0.7 / weights.sum()
    return Small(columns, target, weights)


@pytest.mark.parametrize("start", ["zero", "spread", "some"])
@pytest.mark.parametrize("scale", [0.05, 1.0, 20.0])
@pytest.mark.parametrize(("rows", "count"), [(6, 1), (8, 5), (40, 20), (60, 60)])
def test_the_optimum_is_reached(rows, count, scale, start):
    problem = small(rows, count, 0, scale=scale, start=start)
    steps, apart = problem.run(1e-9)
    assert steps < 10**5
    assert apart <= 1e-9
    problem.check()
    assert problem.value == pytest.approx(problem.exact(), rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_against_a_general_solver(seed):
    problem = small(12, 6, seed, start="some")
    found = minimize(
        lambda w: np.sum((problem.columns @ w - problem.target) ** 2),
        np.full(6, 0.1),
        jac=lambda w: 2.0 * problem.columns.T @ (problem.columns @ w - problem.target),
        bounds=[(0.0, 1.0)] * 6,
        constraints={"type": "ineq", "fun": lambda w: 1.0 - w.sum()},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    problem.run(1e-10)
    assert problem.value == pytest.approx(found.fun, abs=1e-8)


@pytest.mark.parametrize("most", [0, 1, 2, 7, 30])
@pytest.mark.parametrize("start", ["zero", "spread", "some"])
def test_there_are_no_more_steps_than_allowed(most, start):
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
    problem = small(40, 30, 2, start="spread")
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


def test_the_zero_vertex_gives():
    problem = Small(np.eye(3), np.array([0.2, 0.3, 0.1]))
    problem.run(1e-12)
    np.testing.assert_allclose(problem.weights, [0.2, 0.3, 0.1], atol=1e-12)


def test_the_zero_vertex_takes():
    # All weight is on a vertex that nobody wants.
    problem = Small(np.ones((3, 1)), np.zeros(3), np.array([1.0]))
    steps, apart = problem.run(1e-12)
    assert (steps, apart) == (1, 0.0)
    assert problem.weights.tolist() == [0.0]
    problem = Small(np.eye(2), np.array([0.25, 0.0]), np.array([0.5, 0.5]))
    problem.run(1e-12)
    np.testing.assert_allclose(problem.weights, [0.25, 0.0], atol=1e-12)


def test_without_rest_the_zero_vertex_gives_nothing():
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


def test_what_lies_beyond_the_count_is_left_alone():
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


def test_no_vertex_at_all():
    assert exchange(np.zeros((2, 2)), 0, 0.0, 10, np.zeros(2), np.zeros(2)) == (0, 0.0)


# --- in the master


class Crowded:
    """A master that exchanges from the first vertex on."""

    def __init__(self, columns, target):
        self.columns, self.target = columns, target
        self.gram = columns.T @ columns
        self.master = Master(columns.shape[1])

    def solve(self, tolerance):
        slope = self.half_gradient()
        self.master.solve(self.gram, len(self.gram), slope, tolerance=tolerance)
        np.testing.assert_allclose(slope, self.half_gradient(), rtol=0.0, atol=1e-9)

    def half_gradient(self):
        return self.columns.T @ (self.columns @ self.master.weights - self.target)

    @property
    def value(self):
        return float(np.sum((self.columns @ self.master.weights - self.target) ** 2))

    def check(self):
        master = self.master
        used = master.support[: master.size].tolist()
        assert sorted(used) == np.flatnonzero(master.weights).tolist()
        assert np.all(master.weights >= 0.0)
        assert master.weights.sum() <= 1.0 + 1e-12
        assert not master.full or master.weights.sum() >= 1.0 - 1e-12


def drawn(rows, count, seed, scale, repeat=0):
    rng = np.random.default_rng([seed, rows, count])
    columns = (rng.uniform(size=(rows, count)) < 0.5).astype(float)
    if repeat:
        columns[:, -repeat:] = columns[:, :repeat]
    return columns, scale * rng.uniform(size=rows)


@pytest.fixture
def always(monkeypatch):
    """Exchange whatever the number of vertices, and never pause."""
    monkeypatch.setattr(master_module, "CROWD", 0)
    monkeypatch.setattr(master_module, "PAUSE", 0)
    calls = []
    plain = master_module.exchange

    def spy(*arguments):
        calls.append(plain(*arguments))
        return calls[-1]

    monkeypatch.setattr(master_module, "exchange", spy)
    return calls


@pytest.mark.parametrize("scale", [0.2, 5.0])
def test_exchanges_that_are_enough_leave_the_factor_for_later(monkeypatch, scale):
    monkeypatch.setattr(master_module, "CROWD", 0)
    problem = Crowded(*drawn(50, 30, 0, scale))
    problem.solve(1e-2)
    problem.check()
    assert not problem.master._factored
    assert problem.master.rounds == 1
    monkeypatch.setattr(master_module, "CROWD", 10**9)
    for _ in range(3):
        problem.solve(1e-12)
    problem.check()
    assert problem.master._factored
    exact = Small(problem.columns, problem.target).exact()
    assert problem.value == pytest.approx(exact, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("repeat", [0, 12])
@pytest.mark.parametrize("scale", [0.2, 1.0])
def test_exchanges_that_are_not_enough_are_followed_by_the_exact_method(
    monkeypatch, always, scale, repeat
):
    monkeypatch.setattr(master_module, "EXCHANGES", 1)
    monkeypatch.setattr(master_module, "PAUSE", 1)
    problem = Crowded(*drawn(50, 30, 1, scale, repeat))
    problem.solve(1e-12)
    assert len(always) == 1
    assert always[0][0] == 30
    assert always[0][1] > master_module.ENOUGH * 1e-12
    assert problem.master._factored
    problem.solve(1e-12)
    exact = Small(problem.columns, problem.target).exact()
    assert problem.value == pytest.approx(exact, rel=1e-9, abs=1e-12)


def test_after_a_failure_exchanges_pause(monkeypatch, always):
    monkeypatch.setattr(master_module, "PAUSE", 3)
    monkeypatch.setattr(master_module, "EXCHANGES", 0)
    problem = Crowded(*drawn(50, 30, 2, 1.0))
    tried = []
    for _ in range(4):
        problem.solve(1e-13)
        tried.append(len(always))
    assert tried == [1, 1, 1, 2]


def test_few_vertices_are_never_exchanged(monkeypatch, always):
    monkeypatch.setattr(master_module, "CROWD", 1000)
    problem = Crowded(*drawn(50, 30, 2, 1.0))
    problem.solve(1e-9)
    assert always == []


@pytest.mark.parametrize("columns", [np.ones((6, 5)), np.repeat(np.eye(4), 5, axis=1)])
def test_dependent_vertices_do_not_break_the_factor(columns):
    problem = Crowded(columns, np.full(len(columns), 0.1))
    master = problem.master
    count = columns.shape[1]
    master.weights[:] = 0.9 / count
    master.support[:] = np.arange(count)
    master.size, master._factored = count, False
    master._refactor(problem.gram, 1e-30)
    factor = np.triu(master._factor[:count, :count])
    np.testing.assert_allclose(factor.T @ factor, problem.gram, atol=1e-6)
    assert master._factored
    for _ in range(4):
        problem.solve(1e-13)
    assert problem.value == pytest.approx(0.0, abs=1e-16)


def test_the_factor_is_that_of_the_support():
    problem = Crowded(*drawn(60, 20, 3, 1.0))
    master = problem.master
    used = np.array([7, 2, 11, 0])
    master.weights[used] = 0.1
    master.support[:4] = used
    master.size = 4
    master._refactor(problem.gram, 1e-12)
    factor = master._factor[:4, :4]
    assert np.array_equal(factor, np.triu(factor))
    np.testing.assert_allclose(factor.T @ factor, problem.gram[np.ix_(used, used)], atol=1e-9)


def test_a_crowd_grows_without_its_factor(monkeypatch):
    monkeypatch.setattr(master_module, "CROWD", 3)
    columns, target = drawn(50, 60, 4, 0.5)
    problem = Crowded(columns[:, :20], target)
    problem.solve(1e-12)
    assert problem.master.size >= 3
    problem.columns, problem.gram = columns, columns.T @ columns
    problem.master.grow(60)
    for _ in range(12):
        problem.solve(1e-12)
    problem.check()
    exact = Small(columns, target).exact()
    assert problem.value == pytest.approx(exact, rel=1e-8, abs=1e-10)


def test_a_crowd_that_shrank_can_grow_again(monkeypatch):
    monkeypatch.setattr(master_module, "CROWD", 3)
    columns, target = drawn(50, 20, 4, 0.5)
    problem = Crowded(columns, target)
    problem.solve(1e-12)
    problem.master.grow(30)
    monkeypatch.setattr(master_module, "CROWD", 1000)  # as if exchanges had left fewer in use
    problem.master.grow(40)
    assert problem.master.weights.size == 40


@pytest.mark.parametrize("seed", range(3))
def test_without_time_weights_are_exchanged_and_never_get_worse(seed, monkeypatch):
    monkeypatch.setattr(master_module, "CROWD", 3)
    monkeypatch.setattr(master_module, "ENOUGH", 0.0)  # so that exchanges alone never do
    problem = Crowded(*drawn(60, 80, seed, 1.0))
    master = problem.master
    master.solve(problem.gram, 40, problem.half_gradient(), tolerance=1e-10)
    master.solve(problem.gram, 40, problem.half_gradient(), tolerance=1e-10)
    assert master._pace > 0.0
    before = problem.value
    factored = master._factored
    master.solve(problem.gram, 80, problem.half_gradient(), tolerance=1e-10, seconds=0.0)
    assert factored
    assert not master._factored  # there was no time for an exact solve
    problem.check()
    assert problem.value < before
    hurried = problem.value
    master.solve(problem.gram, 80, problem.half_gradient(), tolerance=1e-10, seconds=1e9)
    assert master._factored
    assert problem.value <= hurried + 1e-12
