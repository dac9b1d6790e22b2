"""The tree search against all patterns of slabs and rows, in both integer types."""

import threading

import numpy as np
import pytest

import naive_exact as naive
import zoo
from intensor.oracles.exact.nodes import bound_of, root_node, stack_slabs
from intensor.oracles.exact.pool import empty_pool, flags_of_number, found_boxes
from intensor.oracles.exact.search import NOWHERE
from intensor.oracles.exact.tree import UNLIMITED, search_tree

FAR = 1 << 40
both_kinds = pytest.mark.parametrize("kind", [np.int32, np.int64])


class Tree:
    """Slabs with their tables and everything else that a search wants."""

    def __init__(self, costs, firsts, kind, n_open=None):
        firsts = np.array(firsts)
        self.costs = costs
        self.slabs = stack_slabs(costs.astype(kind), firsts)
        self.root = root_node(self.slabs, firsts, len(costs) - 1 if n_open is None else n_open)
        self.stop = np.zeros(1, dtype=np.uint8)

    def pool(self, target=FAR, size=64, per_pattern=False):
        _, n_rows, n_columns = self.costs.shape
        return empty_pool(size, n_rows, n_columns, target=target, per_pattern=per_pattern)

    def search(self, pool, rest=0):
        """Search to the end; return the least bound left open."""
        left = search_tree(self.root, self.slabs, rest, pool, self.stop, UNLIMITED)
        return min(map(bound_of, left), default=NOWHERE)

    def check(self, pool):
        """Assert that every box costs what the pool says; return pairs of slabs and cost."""
        _, n_rows, _ = self.costs.shape
        n_slabs = len(self.costs) - 1
        found = []
        for box in found_boxes(pool, n_rows, lambda rest, on: flags_of_number(on, n_slabs)):
            columns, rows, slabs = (flags.astype(np.int64) for flags in box.chosen)
            matrix = self.costs[0] + np.tensordot(slabs, self.costs[1:], axes=1)
            assert rows @ matrix @ columns == box.cost
            found.append((naive.number_of(slabs), box.cost))
        return found

    def costs_of(self, pool):
        return [cost for _, cost in self.check(pool)]


def problems(slabs=(0, 1, 3), seeds=2, **options):
    """Return (cut, costs) of small searches."""
    for cut in zoo.CUTS:
        for count in slabs:
            for seed in range(seeds):
                yield zoo.CUTS[cut], zoo.integer_stack(cut, slabs=count, seed=seed, **options)[0]


@both_kinds
def test_a_search_finds_the_minimum_of_its_twin(kind):
    for firsts, costs in problems():
        best = naive.search_tree(costs)
        for n_open in {0, (len(costs) - 1) // 2, len(costs) - 1}:
            tree = Tree(costs, firsts, kind, n_open)
            least = min(cost for on, cost in best.items() if on < 1 << n_open)
            pool = tree.pool()
            assert tree.search(pool, rest=7) == NOWHERE
            assert set(pool.rests[: pool.n_boxes[0]].tolist()) <= {7}
            values = tree.costs_of(pool)
            assert min(values) == least
            assert values == sorted(set(values), reverse=True)


@both_kinds
def test_a_search_finds_the_last_unit_below_the_target_and_nothing_at_it(kind):
    for firsts, costs in problems(slabs=(0, 3)):
        least = min(naive.search_tree(costs).values())
        for per_pattern in (False, True):
            tree = Tree(costs, firsts, kind)
            pool = tree.pool(least + 1, per_pattern=per_pattern)
            assert tree.search(pool) == NOWHERE
            assert set(tree.costs_of(pool)) == {least}
            tree = Tree(costs, firsts, kind)
            pool = tree.pool(least, per_pattern=per_pattern)
            assert tree.search(pool) == NOWHERE
            assert tree.costs_of(pool) == []


@both_kinds
@pytest.mark.parametrize("size", zoo.mostly_slow([1, 3, 64], telling=[3, 64]))
def test_a_search_per_pattern_has_the_best_box_of_every_pattern(kind, size):
    full = 0
    for firsts, costs in problems(slabs=(1, 4), seeds=1):
        best = naive.search_tree(costs)
        target = sorted(best.values())[2 * len(best) // 3]
        below = {on: cost for on, cost in best.items() if cost < target}
        tree = Tree(costs, firsts, kind)
        pool = tree.pool(target, size, per_pattern=True)
        assert tree.search(pool) == NOWHERE
        found = tree.check(pool)
        assert sorted(cost for _, cost in found) == sorted(below.values())[:size]
        assert all(below[on] == cost for on, cost in found)
        assert len({on for on, _ in found}) == len(found)
        full += len(below) > size
    assert size == 64 or full > 3


@both_kinds
def test_a_full_pool_keeps_the_best(kind):
    for firsts, costs in problems(slabs=(3,)):
        tree = Tree(costs, firsts, kind)
        pool = tree.pool(size=2)
        assert tree.search(pool) == NOWHERE
        values = tree.costs_of(pool)
        assert len(values) <= 2
        assert min(values) == min(naive.search_tree(costs).values())


@both_kinds
def test_open_nodes_and_finds_never_lose_the_minimum(kind):
    steps = []
    for firsts, costs in problems(slabs=(0, 3), seeds=1, columns=7):
        tree = Tree(costs, firsts, kind)
        least = min(naive.search_tree(costs).values())
        target, nodes, count = 0, [tree.root], 0
        while nodes:
            assert min([target, *map(bound_of, nodes)]) <= least
            pool = tree.pool(target)
            nodes += search_tree(nodes.pop(0), tree.slabs, 0, pool, tree.stop, 1)
            target = min([target, *tree.costs_of(pool)])
            count += 1
        assert target == least
        steps.append(count)
    assert max(steps) > 10


def test_more_rows_than_a_word_has_bits():
    # few columns: the minimum is found by trying these instead of the rows
    rng = np.random.default_rng(5)
    for n_slabs in (0, 2):
        costs = rng.integers(-30, 31, (1 + n_slabs, 70, 4))
        least = min(naive.search_tree(costs.transpose(0, 2, 1)).values())
        tree = Tree(costs, range(0, 71, 10), np.int64)
        pool = tree.pool()
        assert tree.search(pool) == NOWHERE
        assert min(tree.costs_of(pool)) == least


def test_a_search_that_is_stopped_at_once_has_the_bound_of_its_root():
    tree = Tree(zoo.integer_stack("three blocks", slabs=2)[0], zoo.CUTS["three blocks"], np.int64)
    tree.stop[0] = 1
    pool = tree.pool()
    assert tree.search(pool) == bound_of(tree.root) < NOWHERE
    assert pool.n_boxes[0] == 0


@pytest.mark.needs_jit
def test_a_search_that_is_stopped_on_its_way_has_a_bound():
    # Many rows make it long; the columns are few enough to try them all.
    costs = np.random.default_rng(7).integers(-1000, 1001, (1, 200, 14))
    least = naive.least_of(costs[0].T)
    lowest = []
    for seconds in (0.0, 0.01, 0.05):
        tree = Tree(costs, range(0, 201, 4), np.int32)
        timer = threading.Timer(seconds, tree.stop.fill, (1,))
        timer.start()
        pool = tree.pool()
        lowest.append(tree.search(pool))
        timer.join()
        found = min(tree.costs_of(pool), default=0)
        assert min(lowest[-1], found) <= least <= found
    assert lowest[0] < NOWHERE, "the first call should have been stopped"
    tree = Tree(costs, range(0, 201, 4), np.int32)
    pool = tree.pool()
    assert tree.search(pool) == NOWHERE
    assert min(tree.costs_of(pool)) == least
