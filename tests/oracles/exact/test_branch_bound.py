"""Branch and bound: subtrees, what is left open when it stops, long modes, goals for one vertex."""

import numpy as np
import pytest

from intensor.data.observations import observe
from intensor.oracles.base import Goal
from intensor.oracles.exact import branch_bound, decomposed, plan
from intensor.oracles.exact.branch_bound import BranchOracle
from intensor.oracles.exact.search import bound_of, root_node, search
from intensor.oracles.trivial import sum_of_negative, vertex_cost
from intensor.runtime.budget import Budget


def full(shape, seed=0):
    """Return all cells of a tensor and whole costs."""
    coords = np.indices(shape).reshape(len(shape), -1).T
    cells = observe(coords, np.ones(len(coords)), shape=shape)
    rng = np.random.default_rng([seed, *shape])
    return cells, rng.integers(-100, 101, cells.n_cells).astype(float)


def least_of_matrix(costs, shape):
    """Return the least cost by trying all patterns of the shorter mode."""
    matrix = costs.reshape(shape)
    matrix = matrix if shape[0] <= shape[1] else matrix.T
    patterns = (np.arange(1 << len(matrix))[:, np.newaxis] >> np.arange(len(matrix))) & 1
    return float(np.minimum(patterns @ matrix, 0.0).sum(axis=1).min())


def nothing(observations, costs, incumbent=None):
    """Stand in for the heuristic, so that there is something to find."""
    return np.zeros(sum(observations.shape), dtype=np.uint8), 0.0


@pytest.fixture
def subtrees(monkeypatch):
    """Make even easy searches hand over to subtrees; return a list of those that were searched."""
    nodes = []

    def counting(*args):
        nodes.append(args[0])
        return search(*args)

    monkeypatch.setattr(plan, "LONG_BLOCK", 6)
    monkeypatch.setattr(branch_bound, "SUBTREES", 6)
    monkeypatch.setattr(branch_bound, "WAVE", 2)
    monkeypatch.setattr(branch_bound, "search", counting)
    monkeypatch.setattr(decomposed, "best_of_many", nothing)
    return nodes


# --- subtrees


@pytest.mark.parametrize("shape", [(17, 18), (18, 30), (40, 16)])
def test_subtrees_together_have_the_minimum(shape, subtrees):
    for seed in range(6):
        cells, costs = full(shape, seed)
        answer = BranchOracle(cells, threads=2).minimise(costs)
        assert answer.value == least_of_matrix(costs, shape)
        assert answer.value - 1e-9 <= answer.bound <= answer.value
    assert len(subtrees) > 5


@pytest.mark.parametrize("at", range(5))
def test_a_search_that_is_stopped_under_way_has_a_bound(at, subtrees, monkeypatch):
    # From some subtree on every search is stopped before it has looked at anything.
    def stopping(node, *args):
        if len(subtrees) >= at:
            args[-2][0] = 1
        subtrees.append(node)
        return search(node, *args)

    monkeypatch.setattr(branch_bound, "search", stopping)
    stopped = 0
    for seed in range(6):
        cells, costs = full((18, 30), seed)
        subtrees.clear()
        answer = BranchOracle(cells, threads=1).minimise(costs)
        assert answer.bound <= least_of_matrix(costs, (18, 30))
        assert answer.value == vertex_cost(answer.flags, costs, cells)
        stopped += len(subtrees) > at
    assert stopped > 0


def test_subtrees_that_were_stopped_earlier_count_in_the_bound(subtrees, monkeypatch):
    # The first subtree is the whole problem and is stopped; a second one promises little.
    def two(self):
        hunt = self._hunt
        root = root_node(self._slabs, self._tables, hunt.plan.firsts, hunt.plan.bits)
        return [root, (*root[:2], root[2] + (1 << 58), *root[3:])]

    def stopping(node, *args):
        args[-2][0] = 1
        return search(node, *args)

    monkeypatch.setattr(branch_bound._Tree, "_subtrees", two)
    monkeypatch.setattr(branch_bound, "search", stopping)
    monkeypatch.setattr(branch_bound, "WAVE", 1)
    cells, costs = full((17, 18))
    answer = BranchOracle(cells, threads=1).minimise(costs)
    assert answer.bound <= least_of_matrix(costs, (17, 18))


def test_the_most_promising_subtrees_come_first(subtrees, monkeypatch):
    bounds = []

    def noting(node, *args):
        bounds.append(int(bound_of(node)))  # now: a search changes its node
        return search(node, *args)

    monkeypatch.setattr(branch_bound, "search", noting)
    handed_over = 0
    for seed in range(6):
        cells, costs = full((18, 30), seed)
        bounds.clear()
        BranchOracle(cells, threads=1).minimise(costs)
        assert bounds == sorted(bounds)
        handed_over += len(set(bounds)) > 1
    assert handed_over > 0


# --- time and long modes


@pytest.mark.needs_jit
def test_more_time_proves_more():
    cells, costs = full((70, 70))
    bounds = []
    for seconds in (0.0, 0.3):
        answer = BranchOracle(cells).minimise(costs, budget=Budget(seconds))
        bounds.append(answer.bound)
        assert sum_of_negative(costs) <= answer.bound <= answer.value
    assert bounds[0] < bounds[1]


def test_more_rows_than_a_word_has_bits(monkeypatch):
    # All negative costs are in one box, which must then be the answer.
    monkeypatch.setattr(decomposed, "best_of_many", nothing)
    rng = np.random.default_rng(1)
    cells, noise = full((100, 80))
    chosen = rng.integers(0, 2, 180).astype(np.uint8)
    box = np.outer(chosen[:100], chosen[100:]).ravel()
    costs = np.where(box, -1.0, 1.0) + 0.005 * noise
    costs[noise == -100.0] = 1.0  # holes, so that not all of the negative costs are there
    answer = BranchOracle(cells).minimise(costs, budget=Budget(20.0))
    assert answer.flags.tolist() == chosen.tolist()
    assert answer.value == vertex_cost(chosen, costs, cells)
    assert answer.value - answer.bound < 1e-9 * abs(answer.value)


@pytest.mark.parametrize("shape", [(300, 6), (5, 200), (1, 90), (90, 1)])
def test_a_short_mode_beside_a_long_one(shape):
    cells, costs = full(shape)
    assert BranchOracle(cells).minimise(costs).value == least_of_matrix(costs, shape)


def test_three_modes_of_which_two_are_short():
    cells, costs = full((100, 3, 2))
    three = (np.arange(8)[:, np.newaxis] >> np.arange(3)) & 1
    two = (np.arange(4)[:, np.newaxis] >> np.arange(2)) & 1
    sums = np.einsum("ijk,pj,qk->pqi", costs.reshape(100, 3, 2), three, two)
    assert BranchOracle(cells).minimise(costs).value == np.minimum(sums, 0.0).sum(axis=2).min()


# --- goals


def test_a_goal_for_one_vertex_saves_the_rest_of_the_search(subtrees):
    saved = 0
    for seed in range(6):
        cells, costs = full((18, 30), seed)
        least = least_of_matrix(costs, (18, 30))
        counts = []
        for goal in (None, Goal(product=0.0, phi=-0.5 * least)):
            subtrees.clear()
            answer = BranchOracle(cells, threads=1).minimise(costs, goal=goal)
            counts.append(len(subtrees))
            assert answer.bound <= least
        assert -answer.value > goal.phi
        saved += counts[0] - counts[1]
    assert saved > 0


def test_a_goal_out_of_reach_takes_the_whole_search(subtrees):
    for seed in range(6):
        cells, costs = full((18, 30), seed)
        least = least_of_matrix(costs, (18, 30))
        answer = BranchOracle(cells, threads=1).minimise(costs, goal=Goal(product=least - 10.0))
        assert answer.value == least
        assert least - 1e-9 <= answer.bound <= least
    assert len(subtrees) > 5
