"""Merging: the naive twin agrees, nothing below the cutoff is dropped, one block is exact."""

import numpy as np
import pytest

import naive_exact as naive
import zoo
from intensor.oracles.exact.merging import merge_blocks
from intensor.oracles.exact.multipliers import FREE, ascend

EVERYTHING = 1 << 40
KINDS = [np.int32, np.int64]
both_kinds = pytest.mark.parametrize("kind", zoo.mostly_slow(KINDS, telling=[np.int64]))
"""Scans and tree searches call these kernels with small integers by default as well."""
SMALL = [cut for cut, firsts in zoo.CUTS.items() if firsts[-1] < 10]
"""Cuts of so few rows that all of them fit into one block."""


def problems(kind, seeds=3):
    for cut in SMALL:
        for seed in range(seeds):
            matrix = zoo.integer_stack(cut, seed=2 * seed, largest=20)[0, 0]
            yield matrix, naive.blocks_of(matrix, zoo.CUTS[cut], kind)


def decide(blocks, cutoff, fix):
    """Improve the multipliers once; return the blocks without the columns that were decided."""
    status = np.full(len(blocks.table), FREE, dtype=np.uint8)
    ascend(blocks, cutoff, fix, status, np.zeros(len(blocks.table), dtype=np.int64))
    return blocks._replace(table=blocks.table[status == FREE])


@both_kinds
@pytest.mark.parametrize("fix", [False, True])
def test_the_kernel_and_its_twin_agree(kind, fix):
    for matrix, plain in problems(kind):
        cutoff = naive.least_of(matrix) + 6
        blocks = decide(plain, cutoff, fix)
        for limit, max_pairs in ((cutoff, 16), (cutoff, 1 << 20), (cutoff - 6, 1 << 20)):
            dead, ours = merge_blocks(blocks, limit, max_pairs)
            died, theirs = naive.merge_blocks(blocks, limit, max_pairs)
            assert dead == died
            for one, two in zip(ours, theirs, strict=True):
                assert dead or one.tolist() == two.tolist()


@both_kinds
def test_the_two_smallest_blocks_are_merged_and_come_last(kind):
    firsts = (0, 2, 3, 6)
    matrix = np.random.default_rng(3).integers(-20, 21, (6, 5))
    blocks = naive.blocks_of(matrix, firsts, kind)
    rows = naive.choices_of(firsts)[0]
    dead, merged = merge_blocks(blocks, EVERYTHING, 8)
    assert not dead
    assert merged.ends.tolist() == [8, 16]
    pairs = np.array([one + two for one in rows[:4] for two in rows[4:6]])
    expected = np.concatenate((rows[6:], pairs))
    np.testing.assert_array_equal(merged.rows, naive.words_of(expected))
    np.testing.assert_array_equal(merged.table, (expected @ matrix).T)
    np.testing.assert_array_equal(merged.sums, np.minimum(merged.table, 0).sum(axis=0))
    dead, same = merge_blocks(blocks, EVERYTHING, 7)
    assert (dead, same.ends.tolist()) == (False, [4, 6, 14])
    np.testing.assert_array_equal(same.sums, blocks.sums)


@both_kinds
@pytest.mark.parametrize("fix", [False, True])
def test_merging_drops_nothing_below_the_cutoff(kind, fix):
    dropped = 0
    for matrix, plain in problems(kind):
        least = naive.least_of(matrix)
        cutoff = least + 6
        blocks = decide(plain, cutoff, fix)
        for max_pairs in (16, 1 << 20):
            dead, merged = merge_blocks(blocks, cutoff, max_pairs)
            sums, ends, words = merged.sums, merged.ends, merged.rows[0]
            assert not dead
            assert max_pairs == 16 or ends.size == 1
            dropped += blocks.sums.size - sums.size
            before = naive.least_sum(blocks.sums, blocks.ends)
            assert before <= naive.least_sum(sums, ends) <= least
            patterns = naive.patterns_of(len(matrix))
            costs = np.minimum(patterns @ matrix, 0).sum(axis=1)
            for rows, cost in zip(patterns[costs < cutoff], costs[costs < cutoff], strict=True):
                total = 0
                for start, end in naive.spans(ends):
                    own = np.bitwise_or.reduce(words[start:end])
                    match = words[start:end] == naive.words_of(rows[np.newaxis])[0, 0] & own
                    assert match.sum() == 1
                    total += int(sums[start:end][match][0])
                # what the blocks say of these rows is a bound, and exact in one block
                assert total <= cost
                assert ends.size > 1 or fix or total == cost
            if ends.size == 1:
                assert sums.min() == least
    assert dropped > 50


@both_kinds
def test_merging_finds_out_that_nothing_is_left(kind):
    for matrix, blocks in problems(kind):
        if blocks.ends.size > 1:
            assert merge_blocks(blocks, naive.least_of(matrix), 1 << 20)[0]
