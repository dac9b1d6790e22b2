"""Multipliers: the naive twin agrees, bounds rise and hold, decided columns are right."""

import numpy as np
import pytest

import naive_exact as naive
import zoo
from intensor.oracles.exact.blocks import add_table
from intensor.oracles.exact.merging import merge_blocks
from intensor.oracles.exact.multipliers import FREE, OFF, ON, ascend

EVERYTHING = 1 << 40
KINDS = [np.int32, np.int64]
both_kinds = pytest.mark.parametrize("kind", zoo.mostly_slow(KINDS, telling=[np.int64]))
"""Scans and tree searches call these kernels with small integers by default as well."""
SEEDS = range(4)


def problems(kind, columns=5):
    """Return matrices with their blocks, some for every named cut."""
    for cut in zoo.CUTS:
        for seed in SEEDS:
            matrix = zoo.integer_stack(cut, seed=2 * seed, columns=columns, largest=20)[0, 0]
            yield matrix, naive.blocks_of(matrix, zoo.CUTS[cut], kind)


def improve(blocks, cutoff=EVERYTHING, fix=False, status=None):
    """Return what the kernel says, and the status and lean of the columns."""
    if status is None:
        status = np.full(len(blocks.table), FREE, dtype=np.uint8)
    lean = np.zeros(len(blocks.table), dtype=np.int64)
    return ascend(blocks, cutoff, fix, status, lean), status, lean


def bound(blocks):
    return naive.least_sum(blocks.sums, blocks.ends)


@both_kinds
@pytest.mark.parametrize("fix", [False, True])
def test_the_kernel_and_its_twin_agree(kind, fix):
    for matrix, blocks in problems(kind):
        least = naive.least_of(matrix)
        for cutoff in (least - 3, least + 1, least + 30, EVERYTHING):
            ours, status = naive.copy_of(blocks), np.full(len(blocks.table), FREE, dtype=np.uint8)
            for _ in range(2):
                done, theirs, their_status, their_lean = naive.ascend(ours, cutoff, fix, status)
                ours = naive.copy_of(ours)
                reached, status, lean = improve(ours, cutoff, fix, status)
                assert reached == done
                if done:
                    break
                assert status.tolist() == their_status.tolist()
                assert lean.tolist() == their_lean.tolist()
                for one, two in zip(ours, theirs, strict=True):
                    np.testing.assert_array_equal(one, two)


@both_kinds
def test_the_bound_never_falls_and_never_passes_the_minimum(kind):
    rose = 0
    for matrix, blocks in problems(kind):
        least = naive.least_of(matrix)
        before = first = bound(blocks)
        for _ in range(6):
            done, _, _ = improve(blocks)
            assert not done
            assert before <= bound(blocks) <= least
            before = bound(blocks)
        rose += before > first
    assert rose > 10


def columns_of(blocks, firsts, rows):
    """Return the sum over blocks of the table entries of every column under some rows."""
    entries = [
        blocks.table[:, start + naive.number_of(rows[firsts[b] : firsts[b + 1]])]
        for b, (start, _) in enumerate(naive.spans(blocks.ends))
    ]
    return np.sum(entries, axis=0)


@pytest.mark.parametrize("cut", zoo.CUTS)
def test_multipliers_cancel(cut):
    matrix = zoo.integer_stack(cut)[0, 0]
    blocks = naive.blocks_of(matrix, zoo.CUTS[cut])
    plain = blocks.table.copy()
    for _ in range(4):
        improve(blocks)
    for rows in np.random.default_rng(0).integers(0, 2, (20, len(matrix))):
        np.testing.assert_array_equal(columns_of(blocks, zoo.CUTS[cut], rows), rows @ matrix)
    assert blocks.ends.size == 1 or np.any(blocks.table != plain)


@both_kinds
def test_one_column_is_settled_in_one_pass(kind):
    for matrix, blocks in problems(kind, columns=1):
        _, _, lean = improve(blocks)
        assert bound(blocks) == min(0, lean[0]) == naive.least_of(matrix)


def least_with(matrix, column, on):
    """Return the least sum when one column is decided."""
    sums = naive.patterns_of(len(matrix)) @ matrix
    others = np.minimum(np.delete(sums, column, axis=1), 0).sum(axis=1)
    return int((others + on * sums[:, column]).min())


@both_kinds
def test_decided_columns_are_right_for_everything_below_the_cutoff(kind):
    seen = {ON: 0, OFF: 0, FREE: 0}
    for matrix, blocks in problems(kind):
        for above in (1, 10, 40):
            fresh = naive.copy_of(blocks)
            cutoff, status = naive.least_of(matrix) + above, None
            for _ in range(4):
                done, status, _ = improve(fresh, cutoff, True, status)
                assert not done
            for column, decided in enumerate(status):
                seen[int(decided)] += 1
                if decided != FREE:
                    assert least_with(matrix, column, int(decided == OFF)) >= cutoff
            assert bound(fresh) <= naive.least_of(matrix)
    assert min(seen.values()) > 20


@both_kinds
@pytest.mark.parametrize("fix", [False, True])
def test_a_cutoff_counts_as_reached_only_when_nothing_is_below_it(kind, fix):
    reached = 0
    for matrix, blocks in problems(kind):
        least = naive.least_of(matrix)
        for below in (0, 1, 15):
            reached += improve(naive.copy_of(blocks), least - below, fix)[0]
        assert not improve(blocks, least + 1, fix)[0]
    assert reached > 10


def test_without_fixing_nothing_is_decided():
    for matrix, blocks in problems(np.int64):
        _, status, _ = improve(blocks, naive.least_of(matrix) + 1, False)
        assert set(status.tolist()) == {FREE}
        assert not np.any(blocks.base)


@pytest.mark.parametrize("cut", list(zoo.CUTS)[1:])
def test_entries_stay_within_four_times_the_absolute_costs(cut):
    # Slabs go on and off between passes, and in the end blocks are merged, as in a search.
    rng = np.random.default_rng(3)
    firsts = zoo.CUTS[cut]
    sizes = 10.0 ** rng.uniform(0, 5, (4, firsts[-1], 5))  # some blocks outweigh the others
    slabs = np.rint(rng.normal(size=sizes.shape) * sizes).astype(np.int64)
    weights = np.abs(slabs).sum(axis=(0, 1))
    blocks = naive.blocks_of(slabs[0], firsts)
    tables = [naive.blocks_of(slab, firsts).table for slab in slabs]
    on = np.zeros(4, dtype=bool)
    worst = 0.0
    for _ in range(40):
        i = rng.integers(1, 4)
        add_table(blocks.table, tables[i], -1 if on[i] else 1, blocks.sums)
        on[i] = not on[i]
        worst = max(worst, (np.abs(blocks.table).max(axis=1) / weights).max())
        improve(blocks)
        worst = max(worst, (np.abs(blocks.table).max(axis=1) / weights).max())
    for max_pairs in (8, 64, 1 << 20) if firsts[-1] < 10 else (64,):
        _, merged = merge_blocks(blocks, EVERYTHING, max_pairs)
        worst = max(worst, (np.abs(merged.table).max(axis=1) / weights).max())
        assert np.abs(merged.sums).max() <= 4 * weights.sum()
    assert 0.5 < worst <= 4.0
