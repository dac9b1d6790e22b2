"""Blocks of rows against their naive twins, on every named cut, in both integer types."""

import numpy as np
import pytest

import naive_exact as naive
import zoo
from intensor.oracles.exact import blocks as kernels

KINDS = [np.int32, np.int64]
both_kinds = pytest.mark.parametrize("kind", zoo.mostly_slow(KINDS, telling=[np.int64]))
"""Scans and tree searches call these kernels with small integers by default as well."""
cuts = pytest.mark.parametrize("cut", zoo.CUTS)


def problem(cut, kind, seed=0):
    """Return a matrix and its blocks, with multipliers that are not all zero."""
    matrix = zoo.integer_stack(cut, seed=seed)[0, 0].astype(kind)
    blocks = naive.blocks_of(matrix, zoo.CUTS[cut], kind)
    rng = np.random.default_rng(seed)
    blocks.table[:] += rng.integers(-9, 10, (len(blocks.table), 1)).astype(kind)
    blocks.base[:] = rng.integers(-9, 10, blocks.base.size)
    blocks.sums[:] = naive.sum_of_columns(blocks.table, blocks.base)
    return matrix, blocks


@cuts
@both_kinds
def test_a_table_has_the_sum_of_every_column_under_every_choice(cut, kind):
    matrix = zoo.integer_stack(cut)[0, 0].astype(kind)
    firsts = np.array(zoo.CUTS[cut])
    assert kernels.count_choices(firsts) == naive.count_choices(firsts)
    table = np.full((matrix.shape[1], naive.count_choices(firsts)), 99, dtype=kind)
    kernels.fill_tables(matrix, firsts, table)
    np.testing.assert_array_equal(table, naive.fill_tables(matrix, firsts))


@both_kinds
def test_a_choice_costs_its_base_and_its_negative_columns(kind):
    _, blocks = problem("uneven blocks", kind)
    sums = np.full_like(blocks.sums, 99)
    kernels.sum_of_columns(blocks.table, blocks.base, sums)
    np.testing.assert_array_equal(sums, naive.sum_of_columns(blocks.table, blocks.base))


@both_kinds
def test_a_table_can_be_added_and_taken_away(kind):
    _, blocks = problem("two blocks", kind)
    _, other = problem("two blocks", kind, seed=1)
    ours, sums = blocks.table.copy(), np.full_like(blocks.sums, 99)
    for sign in (1, -1):
        table, expected = naive.add_table(ours, other.table, sign)
        kernels.add_table(ours, other.table, sign, sums)
        np.testing.assert_array_equal(ours, table)
        np.testing.assert_array_equal(sums, expected)
    np.testing.assert_array_equal(ours, blocks.table)


@cuts
@both_kinds
def test_the_bound_is_the_sum_of_the_cheapest_choices(cut, kind):
    _, blocks = problem(cut, kind)
    least = np.zeros(blocks.ends.size, dtype=np.int64)
    bound, each = naive.least_sums(blocks.sums, blocks.ends)
    assert kernels.least_sums(blocks.sums, blocks.ends, least) == bound
    assert kernels.least_sum(blocks.sums, blocks.ends) == bound
    assert least.tolist() == each


@pytest.mark.parametrize("kind", zoo.mostly_slow(KINDS, telling=[np.int32]))
def test_a_bound_may_need_more_bits_than_its_sums(kind):
    big, ends = np.full(4, -(2**30), dtype=kind), np.array([1, 2, 3, 4])
    assert kernels.least_sums(big, ends, np.zeros(4, dtype=np.int64)) == -(2**32)
    assert kernels.least_sum(big, ends) == -(2**32)


@cuts
@both_kinds
def test_promising_choices_are_those_below_the_cutoff_with_the_best_of_the_others(cut, kind):
    dropped = 0
    for seed in range(3):
        _, blocks = problem(cut, kind, seed)
        cutoff = naive.least_sum(blocks.sums, blocks.ends) + 20
        which, ends = kernels.promising(blocks.sums, blocks.ends, cutoff)
        assert (which.tolist(), ends.tolist()) == naive.promising(blocks.sums, blocks.ends, cutoff)
        np.testing.assert_array_equal(
            kernels.gather(blocks.table, which), naive.gather(blocks.table, which)
        )
        np.testing.assert_array_equal(
            kernels.gather(blocks.rows, which), naive.gather(blocks.rows, which)
        )
        dropped += blocks.sums.size - which.size
    assert dropped > 0


@cuts
@both_kinds
def test_nothing_below_the_cutoff_needs_a_choice_that_was_dropped(cut, kind):
    firsts = zoo.CUTS[cut]
    matrix = zoo.integer_stack(cut)[0, 0]
    blocks = naive.blocks_of(matrix, firsts, kind)
    cutoff = naive.least_of(matrix) + 5
    which, ends = kernels.promising(blocks.sums, blocks.ends, cutoff)
    rows = naive.patterns_of(len(matrix))
    flags = naive.choices_of(firsts)[0][which]
    for good in rows[np.minimum(rows @ matrix, 0).sum(axis=1) < cutoff]:
        for block, (start, end) in enumerate(naive.spans(ends)):
            own = slice(firsts[block], firsts[block + 1])
            assert np.any(np.all(flags[start:end, own] == good[own], axis=1))


@cuts
@both_kinds
def test_best_rows_are_a_choice_with_their_true_cost(cut, kind):
    matrix, blocks = problem(cut, kind)
    words, columns = np.zeros(1, dtype=np.uint64), np.full(matrix.shape[1], 99)
    cost = kernels.best_rows(matrix, blocks, words, columns)
    expected, rows, sums = naive.best_rows(matrix, blocks)
    assert (cost, words.tolist(), columns.tolist()) == (expected, rows.tolist(), sums.tolist())
    assert cost >= naive.least_of(matrix)


def test_rows_beyond_the_64th_have_a_word_of_their_own():
    rng = np.random.default_rng(4)
    rows = rng.integers(0, 2, (3, 70))
    matrix = rng.integers(-9, 10, (70, 4))
    sums = np.array([1, 0, 2])
    blocks = kernels.Blocks(
        np.zeros((4, 3), dtype=np.int64), np.zeros_like(sums), sums, naive.words_of(rows),
        np.array([3]),
    )  # fmt: skip
    words, columns = np.zeros(2, dtype=np.uint64), np.zeros(4, dtype=np.int64)
    cost = kernels.best_rows(matrix, blocks, words, columns)
    assert words.tolist() == naive.words_of(rows)[:, 1].tolist()
    assert columns.tolist() == (rows[1] @ matrix).tolist()
    assert cost == naive.best_rows(matrix, blocks)[0]
