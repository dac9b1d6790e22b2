"""AltMin: what it says is so, it cannot improve what it returns, and seeds decide."""

import itertools
import math

import numpy as np
import pytest

from intensor.data.observations import observe
from intensor.oracles.alternating import AlternatingOracle
from intensor.oracles.base import Goal
from intensor.oracles.contraction import PerCell, PerIndexRemembered
from intensor.problem.vertex import membership, mode_slices
from intensor.runtime.budget import Budget
from zoo import ORACLE_SHAPES, all_vertices, mostly_slow

WAYS = [PerCell, PerIndexRemembered]


def problem(shape, seed=0, n=60):
    rng = np.random.default_rng([seed, *shape])
    coords = np.stack([rng.integers(0, length, n) for length in shape], axis=1)
    cells = observe(coords, np.ones(n), shape=shape)
    return cells, rng.standard_normal(cells.n_cells)


def oracle_for(cells, seed=0, way=PerIndexRemembered, **options):
    rng = np.random.default_rng(seed)
    return AlternatingOracle(way(cells), cells.shape, rng=rng, **options)


def cost(flags, costs, cells):
    return float(costs @ membership(flags, cells.coords, cells.shape))


def best_of_all(costs, cells):
    return min(cost(flags, costs, cells) for flags in all_vertices(cells.shape))


@pytest.mark.parametrize("shape", ORACLE_SHAPES)
@pytest.mark.parametrize("seed", mostly_slow(range(2), telling=[1]))
def test_the_value_is_the_cost_of_the_vertex(shape, seed):
    cells, costs = problem(shape, seed)
    answer = oracle_for(cells, seed).minimise(costs)
    assert set(answer.flags.tolist()) <= {0, 1}
    assert answer.flags.dtype == np.uint8
    assert answer.value < 0.0
    assert answer.value == pytest.approx(cost(answer.flags, costs, cells), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("shape", ORACLE_SHAPES)
@pytest.mark.parametrize("seed", mostly_slow(range(2), telling=[1]))
def test_no_single_mode_can_be_improved(shape, seed):
    cells, costs = problem(shape, seed)
    oracle = oracle_for(cells, seed)
    starts = np.random.default_rng(seed).integers(0, 2, (10, sum(shape)), dtype=np.uint8)
    for start in starts:
        answer = oracle.descend(start, costs)
        assert answer.value <= cost(start, costs, cells) + 1e-12
        for part in mode_slices(shape):
            for pattern in itertools.product((0, 1), repeat=part.stop - part.start):
                other = answer.flags.copy()
                other[part] = pattern
                assert cost(other, costs, cells) >= answer.value - 1e-12
        again = oracle.descend(answer.flags, costs)
        np.testing.assert_array_equal(again.flags, answer.flags)
        assert again.value == answer.value


@pytest.mark.parametrize("seed", mostly_slow(range(2), telling=[1]))
def test_one_mode_is_solved_outright(seed):
    cells, costs = problem((6,), seed)
    answer = oracle_for(cells).minimise(costs)
    assert answer.value == pytest.approx(float(costs[costs < 0.0].sum()), rel=1e-12)


@pytest.mark.parametrize("shape", [(4, 5), (3, 4, 3), (2, 3, 2, 3)])
@pytest.mark.parametrize("seed", mostly_slow(range(3), telling=[0]))
def test_many_starts_find_the_minimum_of_small_problems(shape, seed):
    cells, costs = problem(shape, seed)
    answer = oracle_for(cells, seed).minimise(costs)
    best = best_of_all(costs, cells)
    assert answer.value >= best - 1e-12
    assert answer.value == pytest.approx(best, rel=1e-12)


def test_nothing_is_proven():
    cells, costs = problem((4, 5))
    answer = oracle_for(cells).minimise(costs)
    assert answer.bound == -math.inf
    assert not answer.proven
    assert answer.source == "altmin"


@pytest.mark.parametrize("shape", ORACLE_SHAPES)
def test_positive_costs_leave_the_zero_vertex(shape):
    cells, costs = problem(shape)
    answer = oracle_for(cells).minimise(np.abs(costs))
    assert answer.value == 0.0
    assert cost(answer.flags, costs, cells) == 0.0


@pytest.mark.parametrize("shape", ORACLE_SHAPES)
def test_all_contractions_give_the_same_answers(shape):
    cells, costs = problem(shape)
    answers = [oracle_for(cells, 3, way).minimise(costs) for way in WAYS]
    for answer in answers[1:]:
        np.testing.assert_array_equal(answer.flags, answers[0].flags)
        assert answer.value == answers[0].value


class Recorder(PerIndexRemembered):
    """Remembers the starts of all descents: the flags at the first question of each."""

    def __init__(self, observations):
        super().__init__(observations)
        self.asked = []

    def index_costs(self, mode, flags, costs):
        if mode == 0:
            self.asked.append(flags.tolist())
        return super().index_costs(mode, flags, costs)


def starts_of(seed, max_runs=6, incumbent=None):
    """Return the first flags of each descent, with costs that leave nothing to do."""
    cells, costs = problem((3, 4))
    recorder = Recorder(cells)
    oracle = AlternatingOracle(
        recorder, cells.shape, rng=np.random.default_rng(seed), max_runs=max_runs
    )
    oracle.anchor = np.array([1, 0, 0, 1, 1, 0, 0], dtype=np.uint8)
    # All costs positive: each descent asks twice, from its start and from the zero vertex.
    oracle.minimise(np.abs(costs), incumbent=incumbent)
    assert oracle.runs == max_runs
    return recorder.asked[::2]


def test_starts_are_anchor_complement_and_random():
    starts = starts_of(0)
    assert starts[0] == [1, 0, 0, 1, 1, 0, 0]
    assert starts[1] == [0, 1, 1, 0, 0, 1, 1]
    assert len({tuple(start) for start in starts}) > 3


def test_an_incumbent_takes_the_place_of_the_anchor():
    incumbent = np.array([0, 0, 1, 0, 0, 0, 1], dtype=np.uint8)
    starts = starts_of(0, incumbent=incumbent)
    assert starts[0] == [0, 0, 1, 0, 0, 0, 1]
    assert starts[1] == [1, 1, 0, 1, 1, 1, 0]


def test_the_seed_decides():
    assert starts_of(4) == starts_of(4)
    assert starts_of(4) != starts_of(5)


def test_calls_go_on_with_the_random_stream():
    cells, costs = problem((3, 4))
    recorder = Recorder(cells)
    oracle = AlternatingOracle(recorder, cells.shape, rng=np.random.default_rng(0), max_runs=6)
    oracle.minimise(np.abs(costs))
    oracle.minimise(np.abs(costs))
    starts = recorder.asked[::2]
    assert oracle.runs == 12
    assert starts[:2] == starts[6:8]
    assert starts[2:6] != starts[8:]


def test_a_goal_stops_the_search():
    cells, costs = problem((3, 4, 3))
    everything = oracle_for(cells, max_runs=50)
    best = everything.minimise(costs).value
    assert everything.runs == 50
    easy = oracle_for(cells, max_runs=50)
    answer = easy.minimise(costs, goal=Goal(product=0.0, phi=-best / 2.0))
    assert answer.value < best / 2.0
    assert easy.runs < 50
    impossible = oracle_for(cells, max_runs=50)
    goal = Goal(product=0.0, phi=-2.0 * best)
    assert impossible.minimise(costs, goal=goal).value == best
    assert impossible.runs == 50
    assert goal.phi == -2.0 * best


def test_a_spent_budget_stops_after_one_descent():
    cells, costs = problem((3, 4, 3))
    oracle = oracle_for(cells)
    answer = oracle.minimise(costs, budget=Budget(0.0))
    assert oracle.runs == 1
    assert answer.value == pytest.approx(cost(answer.flags, costs, cells), abs=1e-12)


@pytest.mark.parametrize("frozen", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_arguments_and_anchor_are_left_alone(frozen):
    # Kernels are compiled once more for arrays that nobody may write to.
    cells, costs = problem((3, 4))
    oracle = oracle_for(cells)
    anchor, incumbent = np.ones(7, dtype=np.uint8), np.ones(7, dtype=np.uint8)
    oracle.anchor = anchor
    arrays = anchor, incumbent, costs
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = not frozen
    answer = oracle.minimise(costs, incumbent=incumbent)
    for array, old in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, old)
    assert oracle.anchor is anchor
    assert not np.shares_memory(answer.flags, anchor)
    assert not np.shares_memory(answer.flags, incumbent)
