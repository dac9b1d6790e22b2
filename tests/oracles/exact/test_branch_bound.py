"""Branch and bound: subtrees, what is left open when it stops, long modes, goals for one vertex."""

import functools

import numpy as np
import pytest

from intensor.oracles.base import Goal
from intensor.oracles.exact.branch_bound import BranchOracle, TreeSearch
from intensor.oracles.exact.nodes import bound_of, root_node
from intensor.oracles.trivial import sum_of_negative, vertex_cost
from intensor.runtime.budget import Budget
from small_pieces import small_branch
from zoo import full_tensor, least_cost, mostly_slow

full = functools.partial(full_tensor, integers=True)


@functools.cache
def least_of(shape, seed):
    """Return the least cost of a full tensor, by brute force, once."""
    return least_cost(full(shape, seed=seed)[1], shape)


def nothing(observations, costs, incumbent):
    """Stand in for the heuristic, so that there is something to find."""
    return np.zeros(sum(observations.shape), dtype=np.uint8), 0.0


def small_oracle(cells, threads=1, wave=2):
    """Return an oracle that hands even easy searches over to subtrees."""
    oracle = small_branch(blocks={"longest_block": 6}, subtrees=6, wave=wave)
    return oracle(cells, threads=threads, heuristic=nothing)


@pytest.fixture
def searched(monkeypatch):
    """Return a list of the bounds of the subtrees that are searched."""
    bounds, search_subtrees = [], TreeSearch.search_subtrees

    def noting(self, nodes):
        bounds.extend(int(bound_of(node)) for node in nodes)  # now: a search changes its node
        return search_subtrees(self, nodes)

    monkeypatch.setattr(TreeSearch, "search_subtrees", noting)
    return bounds


# --- subtrees


@pytest.mark.parametrize("shape", mostly_slow([(17, 18), (18, 30), (40, 16)], telling=[(17, 18)]))
def test_subtrees_together_have_the_minimum(shape, searched):
    for seed in range(3):
        cells, costs = full(shape, seed=seed)
        answer = small_oracle(cells, threads=2).minimise(costs)
        assert answer.value == least_of(shape, seed)
        assert answer.value - 1e-9 <= answer.bound <= answer.value
    assert len(searched) > 2


def stop_before(monkeypatch, number):
    """Stop every search before the wave of subtrees of this number has looked at anything."""
    waves, search_subtrees = [], TreeSearch.search_subtrees

    def stopping(self, nodes):
        if len(waves) >= number:
            self._search.stop[0] = 1
        waves.append(nodes)
        return search_subtrees(self, nodes)

    monkeypatch.setattr(TreeSearch, "search_subtrees", stopping)
    return waves


@pytest.mark.parametrize("number", mostly_slow(range(4), telling=[0, 2]))
def test_a_search_that_is_stopped_under_way_has_a_bound(number, monkeypatch):
    waves = stop_before(monkeypatch, number)
    stopped = 0
    for seed in range(4):
        cells, costs = full((18, 30), seed=seed)
        waves.clear()
        answer = small_oracle(cells, wave=1).minimise(costs)
        assert answer.bound <= least_of((18, 30), seed)
        assert answer.value == vertex_cost(answer.flags, costs, cells)
        stopped += len(waves) > number
    assert stopped > 0


def test_subtrees_that_were_stopped_earlier_count_in_the_bound(monkeypatch):
    # The first subtree is the full problem and is stopped; a second one promises little.
    def two(self):
        plan = self._search.plan
        root = root_node(self._slabs, plan.firsts, plan.open_slabs)
        blocks = root.blocks._replace(sums=root.blocks.sums + (1 << 58))
        return [root, root._replace(blocks=blocks)]

    monkeypatch.setattr(TreeSearch, "open_nodes", two)
    stop_before(monkeypatch, 0)
    cells, costs = full((17, 18))
    answer = small_oracle(cells, wave=1).minimise(costs)
    assert answer.bound <= least_cost(costs, (17, 18))


def test_the_most_promising_subtrees_come_first(searched):
    handed_over = 0
    for seed in range(4):
        cells, costs = full((18, 30), seed=seed)
        searched.clear()
        small_oracle(cells).minimise(costs)
        assert searched == sorted(searched)
        handed_over += len(set(searched)) > 1
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


def test_more_rows_than_a_word_has_bits():
    # All negative costs are in one box, which must then be the answer.
    rng = np.random.default_rng(1)
    cells, noise = full((100, 80))
    chosen = rng.integers(0, 2, 180).astype(np.uint8)
    box = np.outer(chosen[:100], chosen[100:]).ravel()
    costs = np.where(box, -1.0, 1.0) + 0.005 * noise
    costs[noise == -100.0] = 1.0  # holes, so that not all of the negative costs are there
    answer = BranchOracle(cells, heuristic=nothing).minimise(costs, budget=Budget(20.0))
    assert answer.flags.tolist() == chosen.tolist()
    assert answer.value == vertex_cost(chosen, costs, cells)
    assert answer.value - answer.bound < 1e-9 * abs(answer.value)


@pytest.mark.parametrize(
    "shape", mostly_slow([(300, 6), (5, 200), (1, 90), (90, 1)], telling=[(5, 200), (90, 1)])
)
def test_a_short_mode_beside_a_long_one(shape):
    cells, costs = full(shape)
    assert BranchOracle(cells).minimise(costs).value == least_cost(costs, shape)


def test_three_modes_of_which_two_are_short():
    cells, costs = full((100, 3, 2))
    assert BranchOracle(cells).minimise(costs).value == least_cost(costs, (100, 3, 2))


# --- goals


def test_a_goal_for_one_vertex_saves_the_rest_of_the_search(searched):
    saved = 0
    for seed in range(4):
        cells, costs = full((18, 30), seed=seed)
        least = least_of((18, 30), seed)
        counts = []
        for goal in (None, Goal(product=0.0, phi=-0.5 * least)):
            searched.clear()
            answer = small_oracle(cells).minimise(costs, goal=goal)
            counts.append(len(searched))
            assert answer.bound <= least
        assert -answer.value > goal.phi
        saved += counts[0] - counts[1]
    assert saved > 0


def test_a_goal_out_of_reach_takes_the_whole_search(searched):
    for seed in range(4):
        cells, costs = full((18, 30), seed=seed)
        least = least_of((18, 30), seed)
        answer = small_oracle(cells).minimise(costs, goal=Goal(product=least - 10.0))
        assert answer.value == least
        assert least - 1e-9 <= answer.bound <= least
    assert len(searched) > 5
