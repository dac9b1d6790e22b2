"""Scans through patterns against all patterns and rows, in both integer types."""

import itertools
import threading

import numpy as np
import pytest

import naive_exact as naive
import zoo
from intensor.oracles.exact.pool import empty_pool, flags_of_number, found_boxes
from intensor.oracles.exact.scan import scan, scan_listed

FAR = 1 << 40
both_kinds = pytest.mark.parametrize("kind", [np.int32, np.int64])
GO = np.zeros(1, dtype=np.uint8)


def problems(seeds=1, rests=(0, 2)):
    for cut, rest, seed in itertools.product(zoo.CUTS, rests, range(seeds)):
        yield zoo.CUTS[cut], zoo.integer_stack(cut, rest=rest, slabs=3, seed=seed)


def scanned(costs, firsts, kind, *, n_open=0, target=FAR, size=64, cuts=((), ()), **options):
    """Scan all patterns, in ranges that are cut at the numbers given for both stacks."""
    ends = (1 << (len(costs) - 1), 1 << (costs.shape[1] - 1 - n_open))
    ranges = [list(itertools.pairwise([0, *cut, end])) for cut, end in zip(cuts, ends, strict=True)]
    pools = []
    for rest_range, slab_range in itertools.product(*ranges):
        pool = empty_pool(size, *costs.shape[2:], target=target, **options)
        arguments = (costs.astype(kind), np.array(firsts), n_open, rest_range, slab_range)
        assert scan(*arguments, pool, GO)
        pools.append(pool)
    return pools


def check(pool, costs):
    """Assert that every box costs what the pool says; return pairs of pattern and cost."""
    n_rest, n_slabs, n_rows, _ = costs.shape
    found = []
    for box in found_boxes(
        pool,
        n_rows,
        lambda rest, on: [*flags_of_number(rest, n_rest - 1), *flags_of_number(on, n_slabs - 1)],
    ):
        columns, rows, rest, on = (flags.astype(np.int64) for flags in box.chosen)
        slabs = costs[0] + np.tensordot(rest, costs[1:], axes=1)
        matrix = slabs[0] + np.tensordot(on, slabs[1:], axes=1)
        assert rows @ matrix @ columns == box.cost
        found.append(((naive.number_of(rest), naive.number_of(on)), box.cost))
    return found


@both_kinds
@pytest.mark.parametrize("n_open", [0, pytest.param(1, marks=pytest.mark.slow), 3])
def test_a_scan_finds_the_minimum_of_its_twin(kind, n_open):
    for firsts, costs in problems():
        least = min(naive.scan(costs).values())
        for target, expected in ((FAR, [least]), (least + 1, [least]), (least, [])):
            (pool,) = scanned(costs, firsts, kind, n_open=n_open, target=target, size=1)
            assert [cost for _, cost in check(pool, costs)] == expected


@both_kinds
@pytest.mark.parametrize(
    ("n_open", "size"),
    [(0, 2), (2, 64), *(pytest.param(*case, marks=pytest.mark.slow) for case in [(0, 64), (2, 2)])],
)
def test_a_scan_per_pattern_has_the_best_box_of_every_pattern(kind, n_open, size):
    for firsts, costs in problems(rests=(2,)):
        best = naive.scan(costs)
        target = sorted(best.values())[len(best) // 2]
        below = {pattern: cost for pattern, cost in best.items() if cost < target}
        options = {"n_open": n_open, "target": target, "size": size, "per_pattern": True}
        (pool,) = scanned(costs, firsts, kind, **options)
        found = check(pool, costs)
        assert sorted(cost for _, cost in found) == sorted(below.values())[:size]
        assert all(below[pattern] == cost for pattern, cost in found)
        assert len({pattern for pattern, _ in found}) == len(found)


@pytest.mark.parametrize("n_open", [0, 1])
def test_ranges_of_patterns_add_up(n_open):
    for firsts, costs in problems():
        cuts = ((1,) if len(costs) > 1 else (), (1, 3))
        pools = scanned(costs, firsts, np.int64, n_open=n_open, per_pattern=True, cuts=cuts)
        found = [pair for pool in pools for pair in check(pool, costs)]
        best = naive.scan(costs)
        assert dict(found) == best
        assert len(found) == len(best)


@pytest.mark.parametrize("kind", [pytest.param(np.int32, marks=pytest.mark.slow), np.int64])
@pytest.mark.parametrize("leading", [(), (2,), (1, 2)])
def test_a_list_of_patterns_has_the_least_cost_of_each(kind, leading):
    rng = np.random.default_rng(len(leading))
    shape = (*leading, 3, 6, 5)
    costs = rng.integers(-30, 31, shape).astype(kind)
    listed = rng.permutation(1 << sum(shape[:-2]))[:12]
    pool = empty_pool(64, 6, 5, target=0, per_pattern=True)
    lengths = np.array(leading, dtype=np.int64)
    stacked = costs.reshape(-1, 3, 6, 5)
    assert scan_listed(stacked, lengths, np.array([0, 3, 6]), listed, pool, GO)
    found = dict(zip(pool.rests.tolist(), pool.costs[: pool.n_boxes[0]].tolist(), strict=False))
    expected = naive.scan_listed(costs, listed)
    assert found == {position: cost for position, cost in enumerate(expected) if cost < 0}
    one = empty_pool(1, 6, 5, target=0)
    assert scan_listed(stacked, lengths, np.array([0, 3, 6]), listed, one, GO)
    assert one.costs[0] == min(expected)


@pytest.mark.needs_jit
def test_a_scan_that_is_stopped_says_so():
    costs = np.random.default_rng(8).integers(-30, 31, (1, 23, 8, 8))
    pool = empty_pool(1, 8, 8, target=0)
    stop = np.ones(1, dtype=np.uint8)
    arguments = (costs, np.array([0, 4, 8]), 0, (0, 1), (0, 1 << 22), pool, stop)
    assert not scan(*arguments)
    assert pool.n_boxes[0] == 0
    stop[0] = 0
    timer = threading.Timer(0.05, stop.fill, (1,))
    timer.start()
    assert not scan(*arguments)
    timer.join()
    assert pool.n_boxes[0] == 1


@pytest.mark.parametrize("cut", ["two blocks", "uneven blocks"])
def test_costs_that_fill_their_type_do_not_overflow(cut):
    # Absolute costs that add up to almost 2^28: the same search in 64 bits must agree.
    rng = np.random.default_rng(2)
    firsts = zoo.CUTS[cut]
    costs = rng.normal(size=(3, 4, firsts[-1], 6)) * 10.0 ** rng.uniform(0, 4, (3, 4, 1, 6))
    costs = np.floor(costs * ((2.0**28 - 1e4) / np.abs(costs).sum())).astype(np.int64)
    assert 2**28 - 2e4 < np.abs(costs).sum() < 2**28
    for n_open, per_pattern in itertools.product((0, 2, 3), (False, True)):
        pools = [
            scanned(costs, firsts, kind, n_open=n_open, per_pattern=per_pattern)[0]
            for kind in (np.int32, np.int64)
        ]
        for ours, theirs in zip(*pools, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        assert min(cost for _, cost in check(pools[0], costs)) == min(naive.scan(costs).values())
