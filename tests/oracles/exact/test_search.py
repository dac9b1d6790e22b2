"""The tree search and the scan against all patterns of slabs and rows, in both integer types."""

import functools
import itertools
import threading

import numpy as np
import pytest

from intensor.oracles.exact.decomposition import fill_tables
from intensor.oracles.exact.search import (
    NOWHERE,
    bound_of,
    empty_pool,
    expand,
    root_node,
    scan,
    search,
)

KINDS = [np.int32, np.int64]
CUTS = [(0, 4), (0, 3, 6), (0, 2, 4, 6), (0, 1, 3, 4, 7), (0, 5, 10, 15)]
"""The blocks of the last have too many pairs of choices to be merged at once."""
FAR = 1 << 40


@functools.cache
def patterns_of(length):
    return np.array(list(itertools.product((0, 1), repeat=length)), dtype=np.int64)


def code(flags):
    """Return flags as a number, lowest digit first."""
    return sum(int(flag) << digit for digit, flag in enumerate(flags))


def best_of_slabs(slabs):
    """Return the least cost under every pattern of the slabs but the first, by all rows."""
    rows = patterns_of(slabs.shape[1])
    best = {}
    for outer in patterns_of(len(slabs) - 1):
        matrix = slabs[0] + np.tensordot(outer, slabs[1:], axes=1)
        best[code(outer)] = int(np.minimum(rows @ matrix, 0).sum(axis=1).min())
    return best


def best_of_all(costs):
    """Return the least cost under every pattern of both stacks but their first."""
    best = {}
    for rest in patterns_of(len(costs) - 1):
        slabs = costs[0] + np.tensordot(rest, costs[1:], axes=1)
        best |= {(code(rest), outer): cost for outer, cost in best_of_slabs(slabs).items()}
    return best


def stack(rng, firsts, outer, columns=5, largest=30):
    slabs = rng.integers(-largest, largest + 1, (1 + outer, firsts[-1], columns))
    if rng.integers(2):
        slabs[0] = 0
    return slabs


class Tree:
    """Slabs with their tables and everything else that a search wants."""

    def __init__(self, slabs, firsts, kind, bits=None, room=64):
        self.slabs = slabs.astype(kind)
        self.bits = len(slabs) - 1 if bits is None else bits
        n_choices = sum(1 << size for size in np.diff(firsts))
        self.tables = np.empty((len(slabs) - 1, slabs.shape[2], n_choices), dtype=kind)
        for slab, table in zip(self.slabs[1:], self.tables, strict=True):
            fill_tables(slab, np.array(firsts), table)
        self.root = root_node(self.slabs, self.tables, np.array(firsts), self.bits)
        self.pool = empty_pool(room, -(-slabs.shape[1] // 64), slabs.shape[2])
        self.stop = np.zeros(1, dtype=np.uint8)
        self.counts = np.zeros(2, dtype=np.int64)

    def search(self, target=FAR, spread=False, rest=0):
        return search(
            self.root,
            self.slabs,
            self.tables,
            np.uint64(rest),
            np.int64(target),
            spread,
            self.pool,
            self.stop,
            self.counts,
        )


def boxes_of(pool, n_rows):
    """Return what is in a pool as (value, rest, outer, rows, columns)."""
    values, rests, outers, words, columns, (count, _) = pool
    for slot in range(count):
        bits = np.unpackbits(words[slot].view(np.uint8), bitorder="little")[:n_rows]
        yield int(values[slot]), int(rests[slot]), int(outers[slot]), bits, columns[slot]


def digits(number, length):
    return np.array([(number >> digit) & 1 for digit in range(length)])


def check_boxes(pool, costs):
    """Assert that every box costs what the pool says; return the costs."""
    values = []
    for value, rest, outer, rows, columns in boxes_of(pool, costs.shape[2]):
        slabs = costs[0] + np.tensordot(digits(rest, len(costs) - 1), costs[1:], axes=1)
        matrix = slabs[0] + np.tensordot(digits(outer, len(slabs) - 1), slabs[1:], axes=1)
        assert rows.astype(np.int64) @ matrix @ columns.astype(np.int64) == value
        values.append(value)
    return values


def problems(count, outers=(0, 1, 3), **options):
    for seed, firsts, outer in itertools.product(range(count), CUTS, outers):
        rng = np.random.default_rng([seed, outer, *firsts])
        yield firsts, stack(rng, firsts, outer, **options)


# --- the tree


@pytest.mark.parametrize("kind", KINDS)
def test_the_root_is_the_sum_of_slabs_with_open_ones_at_their_cheapest(kind):
    firsts = (0, 2, 5)
    slabs = stack(np.random.default_rng(1), firsts, 3)
    tree = Tree(slabs, firsts, kind, bits=2)
    table, base, sums, patterns, places, ends, columns, bits, outer = tree.root
    first = np.empty_like(tree.tables[0])
    fill_tables(tree.slabs[0], np.array(firsts), first)
    np.testing.assert_array_equal(table, first + np.minimum(tree.tables[:2], 0).sum(axis=0))
    np.testing.assert_array_equal(sums, np.minimum(table, 0).sum(axis=0))
    assert not np.any(base)
    assert patterns.tolist() == [[0, 1, 2, 3, 0, 4, 8, 12, 16, 20, 24, 28]]
    assert places.tolist() == list(range(12))
    assert (ends.tolist(), columns.tolist()) == ([4, 12], [0, 1, 2, 3, 4])
    assert (bits, outer) == (2, 0)
    assert bound_of(tree.root) == sums[:4].min() + sums[4:].min()


@pytest.mark.parametrize("kind", KINDS)
def test_a_search_finds_the_minimum(kind):
    for firsts, slabs in problems(6):
        for bits in {0, (len(slabs) - 1) // 2, len(slabs) - 1}:
            tree = Tree(slabs, firsts, kind, bits)
            least = min(cost for outer, cost in best_of_slabs(slabs).items() if outer < 1 << bits)
            assert bound_of(tree.root) <= least
            assert tree.search(rest=7) == NOWHERE
            assert tree.counts[0] > 0
            assert tree.counts[1] >= tree.tables[:1].size
            pool = tree.pool
            assert set(pool[1][: pool[5][0]].tolist()) == {7}
            pool[1][:] = 0
            values = check_boxes(pool, slabs[np.newaxis])
            assert min(values) == least
            assert values == sorted(set(values), reverse=True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_search_finds_the_last_unit_below_the_target_and_nothing_at_it(kind):
    for firsts, slabs in problems(4):
        least = min(best_of_slabs(slabs).values())
        for spread in (False, True):
            tree = Tree(slabs, firsts, kind)
            assert tree.search(least + 1, spread) == NOWHERE
            assert set(check_boxes(tree.pool, slabs[np.newaxis])) == {least}
            tree = Tree(slabs, firsts, kind)
            assert tree.search(least, spread) == NOWHERE
            assert tree.pool[5][0] == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("room", [1, 3, 64])
def test_a_spread_search_has_the_best_box_of_every_pattern(kind, room):
    full = 0
    for firsts, slabs in problems(4, outers=(1, 3, 4)):
        best = best_of_slabs(slabs)
        target = sorted(best.values())[2 * len(best) // 3]
        below = {outer: cost for outer, cost in best.items() if cost < target}
        tree = Tree(slabs, firsts, kind, room=room)
        assert tree.search(target, spread=True) == NOWHERE
        values = check_boxes(tree.pool, slabs[np.newaxis])
        assert sorted(values) == sorted(below.values())[:room]
        outers = [outer for _, _, outer, _, _ in boxes_of(tree.pool, slabs.shape[1])]
        assert [below[outer] for outer in outers] == values
        assert len(set(outers)) == len(outers)
        full += len(below) > room
    assert room == 64 or full > 10


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_pool_keeps_the_best(kind):
    for firsts, slabs in problems(3):
        least = min(best_of_slabs(slabs).values())
        tree = Tree(slabs, firsts, kind, room=2)
        assert tree.search() == NOWHERE
        values = check_boxes(tree.pool, slabs[np.newaxis])
        assert len(values) <= 2
        assert min(values) == least


@pytest.mark.parametrize("kind", KINDS)
def test_open_nodes_and_finds_never_lose_the_minimum(kind):
    steps = []
    for firsts, slabs in problems(4, columns=7):
        tree = Tree(slabs, firsts, kind)
        least = min(best_of_slabs(slabs).values())
        target, nodes = 0, [tree.root]
        for _ in range(1000):
            assert min([target, *map(bound_of, nodes)]) <= least
            if not nodes:
                break
            pool = empty_pool(64, 1, slabs.shape[2])
            count, *children = expand(
                nodes.pop(0), tree.slabs, tree.tables, np.uint64(0), np.int64(target), pool,
                tree.counts,
            )  # fmt: skip
            nodes += children[:count]
            target = min([target, *check_boxes(pool, slabs[np.newaxis])])
        assert not nodes
        assert target == least
        steps.append(tree.counts[0])
    assert max(steps) > 10


@pytest.mark.parametrize("kind", KINDS)
def test_more_rows_than_a_word_has_bits(kind):
    # few columns: the minimum is found by trying these instead of the rows
    rng = np.random.default_rng(5)
    firsts = tuple(range(0, 71, 10))
    for outer in (0, 2):
        slabs = rng.integers(-30, 31, (1 + outer, 70, 4))
        least = min(
            int(np.minimum(matrix @ columns, 0).sum())
            for flags in patterns_of(outer)
            for matrix in [slabs[0] + np.tensordot(flags, slabs[1:], axes=1)]
            for columns in patterns_of(4)
        )
        tree = Tree(slabs, firsts, kind)
        assert tree.search() == NOWHERE
        assert min(check_boxes(tree.pool, slabs[np.newaxis])) == least


# --- stopping


def test_a_search_that_is_stopped_at_once_has_the_bound_of_its_root():
    slabs = stack(np.random.default_rng(6), CUTS[2], 2)
    tree = Tree(slabs, CUTS[2], np.int64)
    tree.stop[0] = 1
    assert tree.search() == bound_of(tree.root) < NOWHERE
    assert tree.pool[5][0] == 0


@pytest.mark.needs_jit
def test_a_search_that_is_stopped_on_its_way_has_a_bound():
    # Many rows make it long; the columns are few enough to try them all.
    slabs = np.random.default_rng(7).integers(-1000, 1001, (1, 200, 16))
    sums = slabs[0].astype(float) @ patterns_of(16).T.astype(float)
    least = int(np.minimum(sums, 0.0).sum(axis=0).min())
    firsts = tuple(range(0, 201, 4))
    lowest = []
    for seconds in (0.0, 0.01, 0.05):
        tree = Tree(slabs, firsts, np.int32)
        timer = threading.Timer(seconds, tree.stop.fill, (1,))
        timer.start()
        lowest.append(tree.search())
        timer.join()
        found = min(check_boxes(tree.pool, slabs[np.newaxis]), default=0)
        assert min(lowest[-1], found) <= least <= found
    assert lowest[0] < NOWHERE, "the first call should have been stopped"
    tree = Tree(slabs, firsts, np.int32)
    assert tree.search() == NOWHERE
    assert min(check_boxes(tree.pool, slabs[np.newaxis])) == least


def test_a_scan_that_is_stopped_says_so():
    rng = np.random.default_rng(8)
    costs = rng.integers(-30, 31, (1, 23, 8, 8))
    pool = empty_pool(1, 1, 8)
    counts = np.zeros(2, dtype=np.int64)
    stop = np.ones(1, dtype=np.uint8)
    args = (costs, np.array([0, 4, 8]), 0, (0, 1), (0, 1 << 22), np.int64(0), False)
    assert not scan(*args, pool, stop, counts)
    assert counts[0] == pool[5][0] == 0
    stop[0] = 0
    timer = threading.Timer(0.1, stop.fill, (1,))
    timer.start()
    assert not scan(*args, pool, stop, counts)
    timer.join()
    assert 0 < counts[0] < 1 << 22


# --- the scan


def scanned(costs, firsts, kind, *, bits=0, target=FAR, spread=False, room=64, pieces=((), ())):
    """Scan all patterns, in the ranges given for both stacks; return the pools."""
    whole = (1 << (len(costs) - 1), 1 << (costs.shape[1] - 1 - bits))
    ranges = [
        list(itertools.pairwise([0, *cuts, end])) for cuts, end in zip(pieces, whole, strict=True)
    ]
    pools = []
    for rest_range, high_range in itertools.product(*ranges):
        pool = empty_pool(room, 1, costs.shape[3])
        assert scan(
            costs.astype(kind), np.array(firsts), bits, rest_range, high_range, np.int64(target),
            spread, pool, np.zeros(1, dtype=np.uint8), np.zeros(2, dtype=np.int64),
        )  # fmt: skip
        pools.append(pool)
    return pools


def stacks(count, **options):
    for seed, firsts, rest in itertools.product(range(count), CUTS, (0, 2)):
        rng = np.random.default_rng([seed, rest, *firsts])
        costs = np.stack([stack(rng, firsts, 3, **options) for _ in range(1 + rest)])
        if rng.integers(2):
            costs[:, 0] = 0
        yield firsts, costs


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bits", [0, 1, 3])
def test_a_scan_finds_the_minimum(kind, bits):
    for firsts, costs in stacks(4):
        best = best_of_all(costs)
        least = min(best.values())
        for target in (FAR, least + 1):
            (pool,) = scanned(costs, firsts, kind, bits=bits, target=target, room=1)
            assert check_boxes(pool, costs) == [least]
        (pool,) = scanned(costs, firsts, kind, bits=bits, target=least, room=1)
        assert check_boxes(pool, costs) == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bits", [0, 2])
@pytest.mark.parametrize("room", [2, 64])
def test_a_spread_scan_has_the_best_box_of_every_pattern(kind, bits, room):
    for firsts, costs in stacks(2):
        best = best_of_all(costs)
        target = sorted(best.values())[len(best) // 2]
        below = {pattern: cost for pattern, cost in best.items() if cost < target}
        (pool,) = scanned(costs, firsts, kind, bits=bits, target=target, spread=True, room=room)
        values = check_boxes(pool, costs)
        assert sorted(values) == sorted(below.values())[:room]
        places = [(rest, outer) for _, rest, outer, _, _ in boxes_of(pool, costs.shape[2])]
        assert [below[place] for place in places] == values
        assert len(set(places)) == len(places)


@pytest.mark.parametrize("bits", [0, 1])
def test_ranges_of_patterns_add_up(bits):
    for firsts, costs in stacks(2):
        best = best_of_all(costs)
        pieces = ((1,) if len(costs) > 1 else (), (1, 3))
        pools = scanned(costs, firsts, np.int64, bits=bits, spread=True, pieces=pieces)
        found = {
            (rest, outer): value
            for pool in pools
            for value, rest, outer, _, _ in boxes_of(pool, costs.shape[2])
        }
        assert found == best
        assert sum(pool[5][0] for pool in pools) == len(best)


@pytest.mark.parametrize("seed", range(6))
def test_costs_that_fill_their_type_do_not_overflow(seed):
    # Absolute costs that add up to almost 2^28: the same search in 64 bits must agree.
    rng = np.random.default_rng(seed)
    firsts = CUTS[1 + seed % 3]
    costs = rng.normal(size=(3, 4, firsts[-1], 6)) * 10.0 ** rng.uniform(0, 4, (3, 4, 1, 6))
    costs = np.floor(costs * ((2.0**28 - 1e4) / np.abs(costs).sum())).astype(np.int64)
    assert 2**28 - 2e4 < np.abs(costs).sum() < 2**28
    for bits, spread in itertools.product((0, 2, 3), (False, True)):
        (narrow,) = scanned(costs, firsts, np.int32, bits=bits, spread=spread)
        (wide,) = scanned(costs, firsts, np.int64, bits=bits, spread=spread)
        for ours, theirs in zip(narrow, wide, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        assert min(check_boxes(narrow, costs)) == min(best_of_all(costs).values())
