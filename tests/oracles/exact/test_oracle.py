"""What enumeration and branch and bound have in common: goals, pools, threads, time, stopping."""

import math
import threading
from fractions import Fraction

import numpy as np
import pytest

from intensor.data.observations import observe
from intensor.errors import SettingError
from intensor.oracles.alternating import best_of_many
from intensor.oracles.base import Goal
from intensor.oracles.exact.arrangement import arrange
from intensor.oracles.exact.branch_bound import BranchOracle
from intensor.oracles.exact.enumeration import EnumerationOracle
from intensor.oracles.exact.fixed_point import unit_of
from intensor.oracles.exact.search import ExactSearch
from intensor.oracles.trivial import sum_of_negative, vertex_cost
from intensor.runtime.budget import Budget
from small_pieces import small_branch, small_enumeration
from zoo import ORACLE_SHAPES, all_vertices, distinct_rows, full_tensor, mostly_slow

ORACLES = [EnumerationOracle, BranchOracle]
both = pytest.mark.parametrize("oracle", ORACLES)
shapes = pytest.mark.parametrize("shape", ORACLE_SHAPES)
two_shapes = pytest.mark.parametrize(
    "shape", mostly_slow(ORACLE_SHAPES, telling=[(4, 5), (2, 3, 2, 3)])
)


def all_costs(costs, cells):
    """Return the costs of all vertices that differ on the cells, least first."""
    where = np.stack(cells.coords, axis=1).astype(int)
    return np.sort(distinct_rows(cells.shape, where) @ costs)


def exact_minimum(costs, cells):
    where = np.stack(cells.coords, axis=1).astype(int)
    numbers = np.array([Fraction(cost) for cost in costs.tolist()], dtype=object)
    return min(distinct_rows(cells.shape, where).astype(object) @ numbers)


def same(one, two):
    """Assert that two answers do not differ in a single bit."""
    assert one.flags.tobytes() == two.flags.tobytes()
    assert (one.value.hex(), one.bound.hex()) == (two.value.hex(), two.bound.hex())
    assert (one.pool is None) == (two.pool is None)
    assert one.pool is None or one.pool.tobytes() == two.pool.tobytes()


# --- answers


@both
@shapes
def test_an_oracle_answers_again_and_again(oracle, shape):
    cells, costs = full_tensor(shape)
    exact = oracle(cells, threads=1)
    first = exact.minimise(costs)
    assert first.source == exact.name
    assert exact.minimise(-costs).value == pytest.approx(all_costs(-costs, cells)[0], rel=1e-12)
    same(exact.minimise(costs), first)


@both
@two_shapes
def test_incumbents_good_and_bad_do_not_change_the_minimum(oracle, shape):
    cells, costs = full_tensor(shape)
    exact = oracle(cells, threads=1)
    plain = exact.minimise(costs)
    for incumbent in (plain.flags, 1 - plain.flags, np.ones(sum(shape), dtype=np.uint8)):
        answer = exact.minimise(costs, incumbent=incumbent)
        assert (answer.value, answer.bound) == (plain.value, plain.bound)
        assert not np.shares_memory(answer.flags, incumbent)


@both
@pytest.mark.parametrize("frozen", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_arguments_are_left_alone(oracle, frozen):
    # Kernels are compiled once more for arrays that nobody may write to.
    cells, costs = full_tensor((3, 4, 3))
    incumbent = np.ones(10, dtype=np.uint8)
    before = costs.copy()
    costs.flags.writeable = incumbent.flags.writeable = not frozen
    for goal in (None, Goal(product=0.0, phi=0.5, pool=4)):
        oracle(cells).minimise(costs, incumbent=incumbent, goal=goal)
        np.testing.assert_array_equal(costs, before)
        assert incumbent.all()


@both
@pytest.mark.parametrize(("sign", "flag"), [(1.0, 0), (-1.0, 1)])
def test_costs_of_one_sign_need_no_search(oracle, sign, flag):
    cells, costs = full_tensor((3, 4, 2))
    answer = oracle(cells).minimise(sign * np.abs(costs))
    assert answer.flags.tolist() == [flag] * 9
    assert answer.source == "trivial"


@both
def test_a_tensor_that_is_too_large_is_refused(oracle):
    cells = observe(np.stack([np.arange(100)] * 3, axis=1), np.ones(100), shape=(100, 100, 100))
    exact = oracle(cells)
    assert exact.expected_seconds() == math.inf
    with pytest.raises(SettingError, match=rf"{exact.name}.*\(100, 100, 100\).*auto"):
        exact.minimise(np.where(np.arange(100) < 99, -1.0, 1.0))


@both
def test_indices_without_a_negative_cost_make_a_large_tensor_small(oracle):
    rng = np.random.default_rng(0)
    coords = np.concatenate((rng.integers(0, 4, (30, 3)), np.stack([np.arange(100)] * 3, axis=1)))
    cells = observe(coords, np.ones(130), shape=(100, 100, 100))
    small = np.all([column < 4 for column in cells.coords], axis=0)
    costs = np.where(small, rng.normal(size=cells.n_cells), 1.0)
    answer = oracle(cells).minimise(costs)
    few, _ = full_tensor((4, 4, 4))
    dense = np.zeros((4, 4, 4))
    dense[tuple(column[small] for column in cells.coords)] = costs[small]
    least = oracle(few).minimise(dense.ravel())
    assert answer.value == pytest.approx(least.value, rel=1e-12)
    assert answer.bound <= answer.value <= answer.bound + 1e-9


# --- goals


def goal_at(cutoff, phi, pool=64):
    """Return a goal that is reached below the cutoff."""
    return Goal(product=cutoff + phi, phi=phi, pool=pool)


def rounding(costs, phi):
    """Return by how much a vertex's cost may be off in the integers of a call."""
    lost = costs.size * unit_of(costs, np.int32)
    return lost if lost <= 2.0 * phi else costs.size * unit_of(costs, np.int64)


@both
@two_shapes
@pytest.mark.parametrize(("phi", "quantile"), [(1e-9, 0.3), (1e-3, 0.05), (10.0, 0.003)])
def test_a_pool_has_vertices_below_the_cutoff_best_first(oracle, shape, phi, quantile):
    cells, costs = full_tensor(shape, seed=1)
    costs_of_all = all_costs(costs, cells)
    rank = 1 + int(quantile * np.sum(costs_of_all < 0.0))
    goal = goal_at((costs_of_all[rank] + costs_of_all[rank - 1]) / 2.0, phi)
    answer = oracle(cells, threads=1).minimise(costs, goal=goal)
    values = [vertex_cost(flags, costs, cells) for flags in answer.pool]
    assert answer.pool.dtype == np.uint8
    assert answer.pool.shape[1] == sum(shape)
    assert len({flags.tobytes() for flags in answer.pool}) == len(values) <= 64
    assert values == sorted(values)
    assert values[-1] < goal.product - goal.phi + rounding(costs, phi)
    assert answer.value == values[0] == pytest.approx(costs_of_all[0], rel=1e-12)
    assert answer.bound <= costs_of_all[0]
    assert answer.bound >= costs_of_all[0] - rounding(costs, phi) - 1e-12


@both
@two_shapes
@pytest.mark.parametrize("phi", [1e-9, 1e-3, 10.0])
def test_a_goal_out_of_reach_is_proven_to_be(oracle, shape, phi):
    cells, costs = full_tensor(shape, seed=2)
    least = all_costs(costs, cells)[0]
    slack = rounding(costs, phi) + 1e-12 * abs(least)
    for margin in (slack, 0.5):
        cutoff = least - margin
        answer = oracle(cells, threads=1).minimise(costs, goal=goal_at(cutoff, phi))
        assert answer.pool is None
        assert cutoff - slack <= answer.bound <= least
        assert answer.value == vertex_cost(answer.flags, costs, cells)


@both
def test_a_pool_holds_as_many_as_it_may_and_keeps_the_best(oracle):
    cells, costs = full_tensor((3, 4, 4), seed=3)
    cutoff = 0.2 * all_costs(costs, cells)[0]
    values = {}
    for size in (2, 5, 64):
        answer = oracle(cells, threads=1).minimise(costs, goal=goal_at(cutoff, 1e-9, size))
        values[size] = [vertex_cost(flags, costs, cells) for flags in answer.pool]
        assert len(values[size]) <= size
        assert values[size][0] == values[2][0]
    if oracle is EnumerationOracle:
        assert values[2] == values[64][:2]
        assert values[5] == values[64][:5]
        assert len(values[64]) > 5


@both
def test_a_goal_nobody_could_reach_leaves_the_free_bound(oracle):
    # As when the tolerance is much larger than what is left of the gradient.
    cells, costs = full_tensor((4, 5))
    for phi in (1e3, 1e9, 1e12, 1e30):
        answer = oracle(cells).minimise(costs, goal=Goal(product=0.0, phi=phi, pool=8))
        assert answer.pool is None
        assert sum_of_negative(costs) <= answer.bound <= all_costs(costs, cells)[0]


@both
def test_a_pool_without_a_goal_is_a_search_for_the_minimum(oracle):
    cells, costs = full_tensor((4, 5))
    answer = oracle(cells).minimise(costs, goal=Goal(product=0.0, pool=8))
    least = all_costs(costs, cells)[0]
    assert answer.value == pytest.approx(least, rel=1e-12)
    assert least - 1e-9 <= answer.bound <= least


@both
@two_shapes
def test_a_goal_for_one_vertex_is_reached_or_refuted(oracle, shape):
    cells, costs = full_tensor(shape, seed=4)
    least = all_costs(costs, cells)[0]
    for product in (0.0, 0.5 * least, 2.0 * least):
        for phi in (math.inf, -2.0 * least, -0.5 * least, 1e-9):
            goal = Goal(product=product, phi=phi)
            answer = oracle(cells, threads=1).minimise(costs, goal=goal)
            assert answer.bound <= least + 1e-12
            reached = product - answer.value > goal.phi
            assert reached or answer.value - answer.bound <= 1e-9


def test_small_integers_are_used_only_where_they_lose_little_beside_phi():
    # Each cell of the box loses almost a unit when it is rounded down. If that may add up to phi
    # and more, there seems to be a vertex below the cutoff where there is none.
    cells, _ = full_tensor((23, 23))
    tensor = np.full((23, 23), -1.0)
    tensor[0], tensor[:, 0] = 1.0, 1.0
    tensor[0, 0] = -10.0  # does not pay, and keeps the free bound away
    unit = unit_of(tensor.ravel(), np.int32)
    tensor[1:, 1:] += 0.99 * unit
    costs = tensor.ravel()
    phi = 0.5 * costs.size * unit
    assert unit_of(costs, np.int32) == unit
    least = EnumerationOracle(cells).minimise(costs).value
    answer = EnumerationOracle(cells).minimise(costs, goal=goal_at(least, phi))
    assert answer.bound >= least - 0.25 * phi


# --- threads


PIECES = {"piece_entries": 1 << 12}
SMALL = {
    EnumerationOracle: small_enumeration(**PIECES),
    BranchOracle: small_branch(pieces=PIECES, subtrees=6, wave=3),
}
"""Oracles whose quick calls consist of many pieces too."""


@pytest.mark.parametrize(
    ("oracle", "shape"),
    [
        pytest.param(EnumerationOracle, (12, 12, 12), marks=pytest.mark.slow),
        (EnumerationOracle, (7, 7, 6, 6)),
        (BranchOracle, (45, 45)),
        (BranchOracle, (34, 34, 4)),
        pytest.param(BranchOracle, (7, 7, 6, 6), marks=pytest.mark.slow),
    ],
)
@pytest.mark.needs_jit
def test_threads_do_not_change_a_bit(oracle, shape, monkeypatch):
    counts, run = [], ExactSearch.run
    monkeypatch.setattr(
        ExactSearch, "run", lambda self, calls: (counts.append(len(calls)), run(self, calls))[1]
    )
    cells, costs = full_tensor(shape, seed=5)
    small = SMALL[oracle]
    value = small(cells, threads=2).minimise(costs).value
    goals = [
        lambda: None,
        lambda: Goal(product=0.0, phi=-0.9 * value),
        lambda: goal_at(0.9 * value, 1e-9, 16),
        lambda: goal_at(0.9 * value, 5.0, 16),
        lambda: goal_at(1.1 * value, 5.0, 16),
    ]
    for goal in goals:
        one, two = (small(cells, threads=n).minimise(costs, goal=goal()) for n in (1, 2))
        same(one, two)
    assert max(counts, default=0) > 1, "there should be something to share"


# --- time


def no_head_start(observations, costs, incumbent):
    """Stand in for the heuristic, so that a search has something to find."""
    return np.zeros(sum(observations.shape), dtype=np.uint8), 0.0


@both
@two_shapes
@pytest.mark.parametrize("pool", [1, 8])
def test_a_spent_budget_leaves_a_valid_answer(oracle, shape, pool):
    cells, costs = full_tensor(shape, seed=6)
    least = exact_minimum(costs, cells)
    interrupted = Budget()
    interrupted.interrupted = True
    for budget in (Budget(0.0), interrupted):
        for phi in (math.inf,) if pool == 1 else (1e-9, 10.0):
            goal = Goal(product=0.5 * float(least) + phi, phi=phi, pool=pool)
            for aim in (None, goal):
                answer = oracle(cells, heuristic=no_head_start).minimise(
                    costs, goal=aim, budget=budget
                )
                assert Fraction(answer.bound) <= least
                assert sum_of_negative(costs) <= answer.bound <= answer.value
                assert answer.value == vertex_cost(answer.flags, costs, cells)


class Countdown(Budget):
    """A budget that is spent after a number of questions."""

    __slots__ = ("left",)

    def __init__(self, questions):
        super().__init__()
        self.left = questions

    @property
    def spent(self):
        self.left -= 1
        return self.left < 0


ONE_BY_ONE = {"piece_entries": 1, "wave": 1}


@pytest.mark.parametrize(
    "oracle", [small_enumeration(**ONE_BY_ONE), small_branch(pieces=ONE_BY_ONE, wave=1)]
)
@pytest.mark.parametrize(
    "shape", [(16, 17), pytest.param((5, 5, 5), marks=pytest.mark.slow), (3, 3, 3, 3)]
)
def test_wherever_a_call_is_stopped_its_bound_holds(oracle, shape):
    cells, costs = full_tensor(shape, seed=7)
    exact = oracle(cells, threads=1, heuristic=no_head_start)
    complete = exact.minimise(costs)
    bounds = []
    for questions in range(0, 60, 3):
        answer = exact.minimise(costs, budget=Countdown(questions))
        assert answer.bound <= complete.value <= answer.value
        bounds.append(answer.bound)
    assert bounds[0] < complete.bound, "the first call should not have got to its end"


def test_huge_costs_survive_a_spent_budget():
    cells, costs = full_tensor((4, 5))
    costs *= 1e300
    goal = Goal(product=0.0, phi=float(np.abs(costs).sum()) * 1e-3, pool=4)
    for aim in (None, goal):
        answer = EnumerationOracle(cells).minimise(costs, goal=aim, budget=Budget(0.0))
        assert sum_of_negative(costs) <= answer.bound <= answer.value


LONG = [(BranchOracle, (70, 70)), (EnumerationOracle, (26, 26, 26)), (EnumerationOracle, (90, 90))]


@pytest.mark.parametrize(("oracle", "shape"), LONG)
@pytest.mark.needs_jit
def test_a_time_limit_ends_a_long_search(oracle, shape):
    cells, costs = full_tensor(shape)
    budget = Budget(0.3)
    answer = oracle(cells).minimise(costs, budget=budget)
    assert budget.spent
    known = best_of_many(cells, costs)[1]
    assert sum_of_negative(costs) <= answer.bound <= known
    assert answer.bound < known - 1.0, "it should not have got to its end"


@pytest.mark.parametrize(("oracle", "shape"), LONG[:2])
@pytest.mark.needs_jit
def test_an_interrupt_from_another_thread_stops_a_call(oracle, shape):
    cells, costs = full_tensor(shape)
    budget = Budget(600.0)
    exact = oracle(cells)
    exact.minimise(costs, budget=Budget(0.0))  # compiles
    timer = threading.Timer(0.2, setattr, (budget, "interrupted", True))
    timer.start()
    answer = exact.minimise(costs, budget=budget)
    assert budget.interrupted, "it should not have got to its end"
    timer.join()
    assert budget.remaining > 0.0
    assert sum_of_negative(costs) <= answer.bound <= best_of_many(cells, costs)[1]


def test_branch_and_bound_has_something_to_show_for_its_time():
    cells, costs = full_tensor((70, 70))
    answer = BranchOracle(cells).minimise(costs, budget=Budget(0.3))
    assert answer.bound > 0.7 * sum_of_negative(costs)


# --- pools of an enumeration


@pytest.mark.parametrize("shape", [(4, 4, 3), (3, 3, 2, 3), (5, 4)])
@pytest.mark.parametrize("phi", [1e-9, 10.0])
def test_an_enumeration_has_the_best_vertex_of_every_pattern(shape, phi):
    cells, costs = full_tensor(shape, seed=8)
    parts = arrange(cells, costs)
    others = np.concatenate([np.zeros(0, dtype=np.int64), *parts.kept[2:]]).astype(int)
    best = {}
    vertices = all_vertices(shape)
    inside = np.ones((len(vertices), cells.n_cells), dtype=np.uint8)
    start = 0
    for length, column in zip(shape, cells.coords, strict=True):
        inside &= vertices[:, start : start + length][:, column]
        start += length
    for flags, cost in zip(vertices, inside @ costs, strict=True):
        pattern = flags[others].tobytes()
        best[pattern] = min(best.get(pattern, 0.0), float(cost))
    ranked = sorted(best.values())
    cutoff = (ranked[len(ranked) // 2] + ranked[len(ranked) // 2 - 1]) / 2.0
    cutoff = ranked[0] / 2.0 if len(ranked) == 1 else cutoff
    goal = goal_at(cutoff, phi, 256)
    answer = EnumerationOracle(cells, threads=1).minimise(costs, goal=goal)
    values = [vertex_cost(flags, costs, cells) for flags in answer.pool]
    patterns = [flags[others].tobytes() for flags in answer.pool]
    assert len(set(patterns)) == len(patterns)
    for value, pattern in zip(values, patterns, strict=True):
        assert value <= best[pattern] + rounding(costs, phi) + 1e-12
    assert len(values) == sum(cost < cutoff for cost in ranked)
