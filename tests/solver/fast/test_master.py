"""The master against an independent solve and against its optimality conditions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_master
from intensor.runtime.threads import one_blas_thread
from intensor.solver.fast import master as master_module
from intensor.solver.fast.master import Master
from intensor.solver.fast.tuning import TUNING, Tuning


def least(columns, target):
    """Return the least |Aw - t|^2 over w >= 0, sum w <= 1."""
    weights = naive_master.best_weights(columns, target)
    return float(np.sum((columns @ weights - target) ** 2))


class Problem:
    """Columns and a target, with a master whose half-gradient is computed from them."""

    def __init__(self, columns, target, capacity=None):
        self.columns, self.target = columns, target
        self.master = Master(capacity or columns.shape[1])

    @property
    def weights(self):
        return self.master.weights[: self.columns.shape[1]]

    @property
    def residual(self):
        return self.columns @ self.weights - self.target

    @property
    def value(self):
        return float(self.residual @ self.residual)

    def half_gradient(self):
        return self.columns.T @ self.residual

    def solve(self, tolerance, calls=1):
        gram = self.columns.T @ self.columns
        for _ in range(calls):
            half_gradient = self.half_gradient()
            self.master.solve(gram, len(gram), half_gradient, tolerance=tolerance)
        np.testing.assert_allclose(half_gradient, self.half_gradient(), rtol=0, atol=1e-9)

    def check(self, tolerance):
        """Assert that the master is in order and its weights are optimal."""
        master, weights = self.master, self.weights
        support = master.support[: master.size]
        assert len(set(support.tolist())) == master.size <= self.columns.shape[1]
        assert np.all(master.weights >= 0.0)
        assert set(np.flatnonzero(master.weights)) <= set(support.tolist())
        assert weights.sum() <= 1.0 + 1e-12
        factor = np.triu(master._factor[: master.size, : master.size])
        used = self.columns[:, support]
        np.testing.assert_allclose(factor.T @ factor, used.T @ used, rtol=0, atol=1e-9)
        slope = self.half_gradient()
        price = max(0.0, -slope.min(initial=0.0)) if master.full else 0.0
        if master.full:
            assert weights.sum() >= 1.0 - 1e-12
        assert np.all(slope + price >= -tolerance)
        assert np.all(np.abs(slope + price)[weights > 0.0] <= tolerance)


def random_problem(rows, count, seed, *, scale=1.0):
    rng = np.random.default_rng([seed, rows, count])
    columns = rng.integers(0, 2, (rows, count)).astype(float)
    return Problem(columns, scale * rng.uniform(size=rows))


def assert_optimal(problem, tolerance=1e-10):
    problem.solve(tolerance / 100, calls=4)
    problem.check(tolerance)
    wanted = least(problem.columns, problem.target)
    assert problem.value == pytest.approx(wanted, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("scale", [0.05, 1.0, 30.0])
@pytest.mark.parametrize(("rows", "count"), [(1, 1), (30, 80), (100, 40)])
def test_random_columns(rows, count, scale):
    assert_optimal(random_problem(rows, count, 0, scale=scale), 1e-9 * max(scale, 1.0))


def test_the_sum_is_full_exactly_when_the_target_is_far():
    near, far = random_problem(20, 15, 0, scale=0.01), random_problem(20, 15, 0, scale=10.0)
    for problem in (near, far):
        assert_optimal(problem)
    assert not near.master.full
    assert near.weights.sum() < 0.9
    assert far.master.full
    assert far.weights.sum() == pytest.approx(1.0, abs=1e-12)


def test_the_sum_may_be_full_at_a_price_of_zero():
    # The target is a mixture with weights that sum to exactly 1: both ways are right.
    problem = random_problem(40, 12, 5)
    weights = np.zeros(12)
    weights[[1, 4, 7]] = 0.5, 0.25, 0.25
    problem.target = problem.columns @ weights
    assert_optimal(problem)
    np.testing.assert_allclose(problem.weights, weights, atol=1e-9)


@pytest.mark.parametrize(
    "columns",
    [
        np.repeat(np.eye(6), 4, axis=1),
        np.ones((8, 5)),
        np.zeros((5, 4)),
        np.tril(np.ones((10, 10)))[:, ::-1],
        np.column_stack((np.zeros(6), np.eye(6), np.ones(6), np.zeros(6))),
        np.column_stack((np.eye(7), np.ones((7, 1)) - np.eye(7), np.ones((7, 2)))),
        np.indices((2,) * 7).reshape(7, -1).astype(float),
    ],
    ids=["repeated", "all equal", "zero", "nested", "with zeros", "dependent", "all of them"],
)
def test_degenerate_columns(columns):
    rng = np.random.default_rng(7)
    for target in (rng.uniform(size=len(columns)), np.ones(len(columns)), np.zeros(len(columns))):
        for scale in (0.3, 5.0):
            assert_optimal(Problem(columns, scale * target))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.integers(1, 12),
    st.integers(1, 30),
    st.integers(0, 10**6),
    st.sampled_from([0.1, 1.0, 4.0]),
    st.booleans(),
)
def test_small_integers_with_ties(rows, count, seed, scale, halves):
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, 2, (rows, count)).astype(float)
    columns[:, rng.integers(0, count, count // 3)] = columns[:, rng.integers(0, count, count // 3)]
    target = rng.integers(0, 3, rows) / 2.0 if halves else rng.uniform(size=rows)
    assert_optimal(Problem(columns, scale * target))


@pytest.mark.parametrize("total", [0.7, 1.0])
@pytest.mark.parametrize(("rows", "count"), [(40, 15), (60, 200), (300, 120)])
def test_a_perfect_fit_is_reached_exactly(rows, count, total):
    problem = random_problem(rows, count, 0)
    rng = np.random.default_rng(0)
    weights = np.zeros(count)
    weights[rng.choice(count, 6, replace=False)] = rng.uniform(size=6)
    problem.target = problem.columns @ (total * weights / weights.sum())
    values = []
    for _ in range(8):
        problem.solve(max(problem.value, 1e-34) / 1000)
        values.append(problem.value)
        support = problem.master.support[: problem.master.size]
        assert len(set(support.tolist())) == problem.master.size
    assert values[-1] <= 1e-28


def test_a_vertex_enters_only_once():
    # Near a perfect fit the half-gradient of vertices in use is rounding, and may be as far
    # below zero as that of the others.
    for seed in range(20):
        rng = np.random.default_rng(seed)
        columns = (rng.uniform(size=(20, 60)) < 0.5).astype(float)
        weights = rng.uniform(size=60) * (rng.uniform(size=60) < 0.3)
        problem = Problem(columns, columns @ (weights / weights.sum()), capacity=200)
        for tolerance in (0.0, 1e-14, 1e-18, 0.0):
            problem.solve(tolerance)
            problem.check(1e-12)


@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_columns_that_come_in_rounds(scale):
    rng = np.random.default_rng(0)
    columns = (rng.uniform(size=(80, 90)) < 0.4).astype(float)
    columns[:, 40:50] = columns[:, :10]
    target = scale * rng.uniform(size=80)
    problem = Problem(columns[:, :1], target, capacity=4)
    for count in (3, 4, 20, 64, 90):
        problem.columns = columns[:, :count]
        if count > problem.master.weights.size:
            problem.master.grow(2 * count)
        before = problem.value
        assert_optimal(problem)
        assert problem.value <= before * (1 + 1e-12)
    assert problem.master.rounds > 5


def test_the_sum_gives_way_when_a_better_vertex_comes():
    # Two unit columns want 0.9 each, more than there is; the column of ones does it all.
    columns = np.column_stack((np.eye(4)[:, :2], np.ones(4)))
    problem = Problem(columns[:, :2], np.full(4, 0.9), capacity=3)
    assert_optimal(problem)
    assert problem.master.full
    problem.columns = columns
    assert_optimal(problem)
    assert not problem.master.full
    np.testing.assert_allclose(problem.weights, [0.0, 0.0, 0.9], atol=1e-10)


def test_a_warm_start_is_left_alone_when_nothing_changed():
    problem = random_problem(50, 30, 1)
    assert_optimal(problem)
    before, rounds = problem.weights.copy(), problem.master.rounds
    problem.solve(1e-9)
    assert problem.master.rounds == rounds + 1
    np.testing.assert_allclose(problem.weights, before, rtol=0, atol=1e-10)


@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_vertices_that_move_keep_their_weights(scale):
    problem = random_problem(60, 40, 2, scale=scale)
    assert_optimal(problem)
    used = problem.weights > 0.0
    rng = np.random.default_rng(0)
    keep = np.flatnonzero(used | (rng.uniform(size=40) < 0.3))
    keep = rng.permutation(keep)
    positions = np.full(40, -1)
    positions[keep] = np.arange(keep.size)
    before, residual = problem.weights[keep].copy(), problem.residual
    problem.master.renumber(positions)
    more = (rng.uniform(size=(60, 10)) < 0.5).astype(float)
    problem.columns = problem.columns[:, keep]
    assert problem.weights.tolist() == before.tolist()
    np.testing.assert_allclose(problem.residual, residual, atol=1e-14)
    assert not problem.master.weights[keep.size :].any()
    problem.columns = np.column_stack((problem.columns, more))
    problem.master.grow(problem.columns.shape[1] + 40)
    assert_optimal(problem)


def test_the_tolerance_says_when_to_stop():
    rounds = []
    for tolerance in (1e6, 1e-1, 1e-9):
        problem = random_problem(100, 200, 3)
        problem.solve(tolerance)
        problem.check(tolerance + 1e-9)
        rounds.append(problem.master.rounds)
    assert rounds[0] == 1
    assert rounds[0] < rounds[1] < rounds[2]


def test_what_lies_beyond_the_count_is_ignored():
    problem = random_problem(30, 10, 4)
    gram = np.full((16, 16), np.nan)
    gram[:10, :10] = problem.columns.T @ problem.columns
    half_gradient = np.full(16, -1e9)
    half_gradient[:10] = problem.half_gradient()
    problem.master.grow(16)
    problem.master.solve(gram, 10, half_gradient, tolerance=1e-11)
    problem.check(1e-9)
    assert np.all(half_gradient[10:] == -1e9)


def test_no_vertex_at_all():
    master = Master(4)
    master.solve(np.zeros((4, 4)), 0, np.zeros(4), tolerance=0.0)
    assert master.size == 0
    assert not master.weights.any()


# --- numbers that no honest caller would pass: nothing may be written past the arrays


@pytest.mark.parametrize("tolerance", [-1e-3, -1.0, -np.inf, np.nan, np.inf])
def test_no_tolerance_lets_a_vertex_in_twice(tolerance):
    problem = random_problem(6, 10, 0, scale=3.0)
    gram = problem.columns.T @ problem.columns
    for _ in range(3):
        problem.master.solve(gram, 10, problem.half_gradient(), tolerance=tolerance)
    support = problem.master.support[: problem.master.size].tolist()
    assert len(set(support)) == len(support) <= 10
    assert set(np.flatnonzero(problem.master.weights)) <= set(support)


@pytest.mark.parametrize("what", ["gram", "half_gradient"])
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 1e308])
def test_numbers_that_are_none_stay_within_the_arrays(what, number):
    problem = random_problem(6, 10, 0)
    arrays = {
        "gram": problem.columns.T @ problem.columns,
        "half_gradient": problem.half_gradient(),
    }
    arrays[what][..., 3] = number
    for _ in range(3):
        problem.master.solve(arrays["gram"], 10, arrays["half_gradient"].copy(), tolerance=1e-9)
    support = problem.master.support[: problem.master.size].tolist()
    assert len(set(support)) == len(support) <= 10
    assert set(support) <= set(range(10))


# --- exchanges between pairs


class Crowded:
    """A master that exchanges from the first vertex, unless it is told otherwise."""

    def __init__(self, columns, target, **tuning):
        self.columns, self.target = columns, target
        self.gram = columns.T @ columns
        self.master = Master(columns.shape[1], Tuning(**{"exchange_support": 0, **tuning}))

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
def exchanges(monkeypatch):
    """Return a list that grows by steps and difference with every call of the exchange."""
    calls = []
    plain = master_module.exchange

    def spy(*arguments):
        calls.append(plain(*arguments))
        return calls[-1]

    monkeypatch.setattr(master_module, "exchange", spy)
    return calls


@pytest.mark.parametrize("scale", [0.2, 5.0])
def test_exchanges_that_are_enough_leave_the_factor_for_later(scale):
    problem = Crowded(*drawn(50, 30, 0, scale))
    problem.solve(1e-2)
    problem.check()
    assert not problem.master._factored
    assert problem.master.rounds == 1
    problem.master._tuning = Tuning(exchange_support=10**9)
    for _ in range(3):
        problem.solve(1e-12)
    problem.check()
    assert problem.master._factored
    exact = least(problem.columns, problem.target)
    assert problem.value == pytest.approx(exact, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("repeat", [0, 12])
@pytest.mark.parametrize("scale", [0.2, 1.0])
def test_exchanges_that_are_not_enough_are_followed_by_the_exact_method(exchanges, scale, repeat):
    problem = Crowded(*drawn(50, 30, 1, scale, repeat), exchanges_per_vertex=1, exchange_pause=1)
    problem.solve(1e-12)
    ((steps, apart),) = exchanges
    assert steps == 30
    assert apart > TUNING.accepted_exchange_gap * 1e-12
    assert problem.master._factored
    problem.solve(1e-12)
    exact = least(problem.columns, problem.target)
    assert problem.value == pytest.approx(exact, rel=1e-9, abs=1e-12)


def test_after_a_failure_exchanges_pause(exchanges):
    problem = Crowded(*drawn(50, 30, 2, 1.0), exchanges_per_vertex=0, exchange_pause=3)
    tried = []
    for _ in range(4):
        problem.solve(1e-13)
        tried.append(len(exchanges))
    assert tried == [1, 1, 1, 2]


def test_factors_are_computed_on_one_blas_thread(monkeypatch):
    # The bits of LAPACK depend on its threads.
    counted = []

    def counting():
        counted.append(1)
        return one_blas_thread()

    monkeypatch.setattr(master_module, "one_blas_thread", counting)
    problem = Crowded(*drawn(50, 30, 1, 1.0), exchanges_per_vertex=1)
    problem.solve(1e-12)
    assert problem.master._factored
    assert counted == [1]


def test_few_vertices_are_never_exchanged(exchanges):
    problem = Crowded(*drawn(50, 30, 2, 1.0), exchange_support=TUNING.exchange_support)
    problem.solve(1e-9)
    assert exchanges == []


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


def test_a_crowd_grows_without_its_factor():
    columns, target = drawn(50, 60, 4, 0.5)
    problem = Crowded(columns[:, :20], target, exchange_support=3)
    problem.solve(1e-12)
    assert problem.master.size >= 3
    problem.columns, problem.gram = columns, columns.T @ columns
    problem.master.grow(60)
    for _ in range(12):
        problem.solve(1e-12)
    problem.check()
    exact = least(columns, target)
    assert problem.value == pytest.approx(exact, rel=1e-8, abs=1e-10)


def test_a_crowd_that_shrank_can_grow_again():
    columns, target = drawn(50, 20, 4, 0.5)
    problem = Crowded(columns, target, exchange_support=3)
    problem.solve(1e-12)
    problem.master.grow(30)
    problem.master._tuning = TUNING  # as if exchanges had left fewer in use
    problem.master.grow(40)
    assert problem.master.weights.size == 40


def test_without_time_weights_are_exchanged_and_never_get_worse():
    tuning = {"exchange_support": 3, "accepted_exchange_gap": 0.0}  # exchanges alone never do
    problem = Crowded(*drawn(60, 80, 0, 1.0), **tuning)
    master = problem.master
    master.solve(problem.gram, 40, problem.half_gradient(), tolerance=1e-10)
    master.solve(problem.gram, 40, problem.half_gradient(), tolerance=1e-10)
    assert master._seconds_per_square > 0.0
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
