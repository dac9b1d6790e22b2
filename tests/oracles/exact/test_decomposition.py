"""Blocks of rows against all rows: bounds hold, multipliers cancel, nothing good is dropped."""

import itertools
from copy import deepcopy

import numpy as np
import pytest

from intensor.oracles.exact.decomposition import (
    FREE,
    OFF,
    ON,
    add_table,
    ascend,
    best_rows,
    fill_tables,
    least_sum,
    merge_blocks,
    promising,
    sum_of_columns,
)

KINDS = [np.int32, np.int64]
CUTS = [(0, 3), (0, 1, 4), (0, 2, 4, 7), (0, 3, 4, 6, 8), (0, 1, 2, 3, 4, 5)]
EVERYTHING = 1 << 40


def random_matrix(rng, firsts, columns=5, largest=20):
    return rng.integers(-largest, largest + 1, (firsts[-1], columns))


def choices_of(firsts):
    """Return the rows of every choice of every block as 0-1 vectors, and the ends."""
    rows, ends = [], []
    for first, last in itertools.pairwise(firsts):
        for choice in range(1 << (last - first)):
            flags = np.zeros(firsts[-1], dtype=np.int64)
            flags[first:last] = [(choice >> i) & 1 for i in range(last - first)]
            rows.append(flags)
        ends.append(len(rows))
    return np.array(rows), np.array(ends)


def words_of(rows):
    """Return 0-1 vectors as words, (words, choices)."""
    words = np.zeros((-(-rows.shape[1] // 64), len(rows)), dtype=np.uint64)
    for choice, i in zip(*np.nonzero(rows), strict=True):
        words[i // 64, choice] |= np.uint64(1) << np.uint64(i % 64)
    return words


class Blocks:
    """A matrix cut into blocks, with all that the kernels want, made without them."""

    def __init__(self, matrix, firsts, kind):
        self.matrix = matrix
        self.rows, self.ends = choices_of(firsts)
        self.table = np.ascontiguousarray((self.rows @ matrix).T.astype(kind))
        self.base = np.zeros(len(self.rows), dtype=kind)
        self.sums = np.minimum(self.table, 0).sum(axis=0).astype(kind)
        self.words = words_of(self.rows)

    def ascend(self, cutoff=EVERYTHING, fix=False, status=None):
        """Return what the kernel says, and the status and lean of the columns."""
        if status is None:
            status = np.full(len(self.table), FREE, dtype=np.uint8)
        lean = np.zeros(len(self.table), dtype=np.int64)
        done = ascend(self.table, self.base, self.sums, self.ends, cutoff, fix, status, lean)
        return done, status, lean

    def bound(self):
        return cheapest(self.sums, self.ends)


def cheapest(sums, ends):
    """Return the sum over blocks of their least sum."""
    return sum(int(sums[start:end].min()) for start, end in spans(ends))


def spans(ends):
    """Return where each block of choices begins and ends."""
    return itertools.pairwise([0, *ends.tolist()])


def all_rows(n_rows):
    return np.array(list(itertools.product((0, 1), repeat=n_rows)), dtype=np.int64)


def least_of(matrix):
    """Return the least sum of chosen entries, by trying all rows."""
    return int(np.minimum(all_rows(len(matrix)) @ matrix, 0).sum(axis=1).min())


def least_with(matrix, column, on):
    """Return the least sum when one column is decided."""
    sums = all_rows(len(matrix)) @ matrix
    others = np.minimum(np.delete(sums, column, axis=1), 0).sum(axis=1)
    return int((others + on * sums[:, column]).min())


def problems(kind, count=8, **options):
    for firsts in CUTS:
        for seed in range(count):
            rng = np.random.default_rng([seed, *firsts])
            matrix = random_matrix(rng, firsts, **options)
            yield rng, Blocks(matrix, firsts, kind)


def columns_of(blocks, rows):
    """Return the sum over blocks of the table entries of every column under some rows."""
    total = np.zeros(len(blocks.table), dtype=np.int64)
    for start, end in spans(blocks.ends):
        own = np.any(blocks.rows[start:end], axis=0)
        match = np.all(blocks.rows[start:end][:, own] == rows[own], axis=1)
        total += blocks.table[:, start + np.flatnonzero(match)[0]]
    return total


# --- tables and their sums


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("firsts", CUTS)
def test_a_table_has_the_sum_of_every_column_under_every_choice(kind, firsts):
    matrix = random_matrix(np.random.default_rng(0), firsts).astype(kind)
    rows, _ = choices_of(firsts)
    table = np.full((5, len(rows)), 99, dtype=kind)
    fill_tables(matrix, np.array(firsts), table)
    np.testing.assert_array_equal(table, (rows @ matrix).T)


@pytest.mark.parametrize("kind", KINDS)
def test_a_choice_costs_its_base_and_its_negative_columns(kind):
    rng = np.random.default_rng(1)
    table = rng.integers(-9, 10, (4, 11)).astype(kind)
    base = rng.integers(-9, 10, 11).astype(kind)
    sums = np.full(11, 99, dtype=kind)
    sum_of_columns(table, base, sums)
    np.testing.assert_array_equal(sums, base + np.minimum(table, 0).sum(axis=0))


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_can_be_added_and_taken_away(kind):
    rng = np.random.default_rng(2)
    table = rng.integers(-9, 10, (4, 11)).astype(kind)
    other = rng.integers(-9, 10, (4, 11)).astype(kind)
    ours, sums = table.copy(), np.full(11, 99, dtype=kind)
    add_table(ours, other, 1, sums)
    np.testing.assert_array_equal(ours, table + other)
    np.testing.assert_array_equal(sums, np.minimum(table + other, 0).sum(axis=0))
    add_table(ours, other, -1, sums)
    np.testing.assert_array_equal(ours, table)
    np.testing.assert_array_equal(sums, np.minimum(table, 0).sum(axis=0))


@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_is_the_sum_of_the_cheapest_choices(kind):
    sums = np.array([3, -1, 0, 7, 5, -4, -4, -2], dtype=kind)
    least = np.zeros(3, dtype=np.int64)
    assert least_sum(sums, np.array([3, 5, 8]), least) == 0
    assert least.tolist() == [-1, 5, -4]
    big = np.full(4, -(2**30), dtype=kind)
    assert least_sum(big, np.array([1, 2, 3, 4]), np.zeros(4, dtype=np.int64)) == -(2**32)


# --- multipliers


@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_never_falls_and_never_passes_the_minimum(kind):
    rose = 0
    for _, blocks in problems(kind):
        least = least_of(blocks.matrix)
        bound = first = blocks.bound()
        for _ in range(6):
            done, _, _ = blocks.ascend()
            assert not done
            assert bound <= blocks.bound() <= least
            bound = blocks.bound()
        rose += bound > first
    assert rose > 20


@pytest.mark.parametrize("kind", KINDS)
def test_multipliers_cancel(kind):
    for rng, blocks in problems(kind, count=3):
        plain = blocks.table.copy()
        for _ in range(4):
            blocks.ascend()
        for rows in rng.integers(0, 2, (20, len(blocks.matrix))):
            np.testing.assert_array_equal(columns_of(blocks, rows), rows @ blocks.matrix)
        np.testing.assert_array_equal(blocks.sums, np.minimum(blocks.table, 0).sum(axis=0))
        assert blocks.ends.size == 1 or np.any(blocks.table != plain)


@pytest.mark.parametrize("kind", KINDS)
def test_one_column_is_settled_in_one_pass(kind):
    for _, blocks in problems(kind, columns=1):
        _, _, lean = blocks.ascend()
        least = least_of(blocks.matrix)
        assert blocks.bound() == least
        assert min(0, lean[0]) == least


@pytest.mark.parametrize("kind", KINDS)
def test_the_last_column_leans_to_the_cheaper_side(kind):
    for _, blocks in problems(kind, count=4):
        before = deepcopy(blocks)
        _, _, lean = blocks.ascend()
        # all but the last column as they are now, the last as it was
        before.table[:-1] = blocks.table[:-1]
        others = np.minimum(before.table[:-1], 0).sum(axis=0)
        sides = [cheapest(others + on * before.table[-1], blocks.ends) for on in (0, 1)]
        assert lean[-1] == sides[1] - sides[0]
        assert blocks.bound() == min(sides)


@pytest.mark.parametrize("kind", KINDS)
def test_decided_columns_are_right_for_everything_below_the_cutoff(kind):
    seen = {ON: 0, OFF: 0, FREE: 0}
    for _, blocks in problems(kind):
        least = least_of(blocks.matrix)
        for above in (1, 10, 40):
            fresh = deepcopy(blocks)
            cutoff, status = least + above, None
            for _ in range(4):
                done, status, _ = fresh.ascend(cutoff, True, status)
                assert not done
            for column, what in enumerate(status):
                seen[int(what)] += 1
                if what != FREE:
                    assert least_with(blocks.matrix, column, int(what == OFF)) >= cutoff
            free, on = status == FREE, status == ON
            expected = fresh.base + np.minimum(fresh.table[free], 0).sum(axis=0)
            np.testing.assert_array_equal(fresh.sums, expected)
            np.testing.assert_array_equal(fresh.base, fresh.table[on].sum(axis=0))
            assert fresh.bound() <= least
    assert min(seen.values()) > 20


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fix", [False, True])
def test_a_cutoff_counts_as_reached_only_when_nothing_is_below_it(kind, fix):
    reached = 0
    for _, blocks in problems(kind):
        least = least_of(blocks.matrix)
        for below in (0, 1, 15):
            reached += deepcopy(blocks).ascend(least - below, fix)[0]
        assert not blocks.ascend(least + 1, fix)[0]
    assert reached > 20


@pytest.mark.parametrize("kind", KINDS)
def test_without_fixing_nothing_is_decided(kind):
    for _, blocks in problems(kind, count=2):
        _, status, _ = blocks.ascend(least_of(blocks.matrix) + 1, False)
        assert set(status.tolist()) == {FREE}
        assert not np.any(blocks.base)


# --- choices


def below(blocks, cutoff):
    """Return all rows with which something costs less than the cutoff."""
    rows = all_rows(len(blocks.matrix))
    return rows[np.minimum(rows @ blocks.matrix, 0).sum(axis=1) < cutoff]


@pytest.mark.parametrize("kind", KINDS)
def test_promising_choices_are_those_below_the_cutoff_with_the_best_of_the_others(kind):
    dropped = 0
    for _, blocks in problems(kind):
        blocks.ascend()
        least = np.zeros(blocks.ends.size, dtype=np.int64)
        bound = least_sum(blocks.sums, blocks.ends, least)
        cutoff = least_of(blocks.matrix) + 5
        which, ends = promising(blocks.sums, blocks.ends, least, bound, cutoff)
        block = np.searchsorted(blocks.ends, np.arange(blocks.sums.size), side="right")
        kept = np.flatnonzero(bound - least[block] + blocks.sums < cutoff)
        assert which.tolist() == kept.tolist()
        assert ends.tolist() == np.cumsum(np.bincount(block[kept])).tolist()
        dropped += blocks.sums.size - which.size
        for rows in below(blocks, cutoff):
            for b, (start, end) in enumerate(spans(ends)):
                own = np.any(blocks.rows[block == b], axis=0)
                found = blocks.rows[which[start:end]][:, own] == rows[own]
                assert np.any(np.all(found, axis=1))
    assert dropped > 100


@pytest.mark.parametrize("kind", KINDS)
def test_the_two_smallest_blocks_are_merged_and_come_last(kind):
    matrix = random_matrix(np.random.default_rng(3), (0, 2, 3, 6))
    blocks = Blocks(matrix, (0, 2, 3, 6), kind)
    parts = (blocks.table, blocks.base, blocks.sums, blocks.words, blocks.ends)
    dead, table, _, sums, words, ends = merge_blocks(*parts, EVERYTHING, 8)
    assert not dead
    assert ends.tolist() == [8, 16]
    merged = np.array([one + two for one in blocks.rows[:4] for two in blocks.rows[4:6]])
    expected = np.concatenate((blocks.rows[6:], merged))
    np.testing.assert_array_equal(words, words_of(expected))
    np.testing.assert_array_equal(table, (expected @ matrix).T)
    np.testing.assert_array_equal(sums, np.minimum(table, 0).sum(axis=0))
    dead, _, _, sums, _, ends = merge_blocks(*parts, EVERYTHING, 7)
    assert (dead, ends.tolist()) == (False, [4, 6, 14])
    np.testing.assert_array_equal(sums, blocks.sums)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fix", [False, True])
def test_merging_drops_nothing_below_the_cutoff(kind, fix):
    dropped = 0
    for _, blocks in problems(kind):
        least = least_of(blocks.matrix)
        cutoff = least + 6
        _, status, _ = blocks.ascend(cutoff, fix)
        free = status == FREE
        for most_pairs in (16, 1 << 20):
            dead, table, base, sums, words, ends = merge_blocks(
                blocks.table[free], blocks.base, blocks.sums, blocks.words, blocks.ends,
                cutoff, most_pairs,
            )  # fmt: skip
            assert not dead
            assert most_pairs == 16 or ends.size == 1
            np.testing.assert_array_equal(sums, base + np.minimum(table, 0).sum(axis=0))
            dropped += blocks.rows.shape[0] - sums.size
            assert blocks.bound() <= cheapest(sums, ends) <= least
            for rows in below(blocks, cutoff):
                total = 0
                for start, end in spans(ends):
                    own = np.bitwise_or.reduce(words[0, start:end])
                    match = words[0, start:end] == words_of(rows[np.newaxis])[0, 0] & own
                    assert match.sum() == 1
                    total += int(sums[start:end][match][0])
                # what the blocks say of these rows is a bound, and exact in one block
                cost = int(np.minimum(rows @ blocks.matrix, 0).sum())
                assert total <= cost
                assert ends.size > 1 or fix or total == cost
            if ends.size == 1:
                assert sums.min() == least
    assert dropped > 100


@pytest.mark.parametrize("kind", KINDS)
def test_merging_finds_out_that_nothing_is_left(kind):
    for _, blocks in problems(kind, count=4):
        if blocks.ends.size == 1:
            continue
        parts = (blocks.table, blocks.base, blocks.sums, blocks.words, blocks.ends)
        assert merge_blocks(*parts, least_of(blocks.matrix), 1 << 20)[0]


@pytest.mark.parametrize("kind", KINDS)
def test_best_rows_are_a_choice_with_their_true_cost(kind):
    for _, blocks in problems(kind):
        least = least_of(blocks.matrix)
        for _ in range(3):
            chosen = [
                start + np.argmin(blocks.sums[start:end]) for start, end in spans(blocks.ends)
            ]
            rows = blocks.rows[chosen].sum(axis=0)
            words, columns = np.zeros(1, dtype=np.uint64), np.full(5, 99)
            matrix = blocks.matrix.astype(kind)
            cost = best_rows(matrix, blocks.sums, blocks.words, blocks.ends, words, columns)
            assert words.tolist() == words_of(rows[np.newaxis])[:, 0].tolist()
            assert columns.tolist() == (rows @ blocks.matrix).tolist()
            assert cost == np.minimum(columns, 0).sum() >= least
            blocks.ascend()


def test_rows_beyond_the_64th_have_a_word_of_their_own():
    rng = np.random.default_rng(4)
    rows = rng.integers(0, 2, (3, 70))
    matrix = rng.integers(-9, 10, (70, 4))
    words, columns = np.zeros(2, dtype=np.uint64), np.zeros(4, dtype=np.int64)
    sums = np.array([1, 0, 2])
    best_rows(matrix, sums, words_of(rows), np.array([3]), words, columns)
    assert words.tolist() == words_of(rows)[:, 1].tolist()
    assert columns.tolist() == (rows[1] @ matrix).tolist()


# --- room


@pytest.mark.parametrize("seed", range(12))
def test_entries_stay_within_four_times_the_absolute_costs(seed):
    # Slabs go on and off between passes, and in the end blocks are merged, as in a search.
    rng = np.random.default_rng(seed)
    firsts = CUTS[1 + seed % 4]
    sizes = 10.0 ** rng.uniform(0, 5, (4, firsts[-1], 5))  # some blocks outweigh the others
    slabs = np.rint(rng.normal(size=sizes.shape) * sizes).astype(np.int64)
    weights = np.abs(slabs).sum(axis=(0, 1))
    blocks = Blocks(slabs[0], firsts, np.int64)
    tables = [Blocks(slab, firsts, np.int64).table for slab in slabs]
    on = np.zeros(4, dtype=bool)
    worst = 0.0
    for _ in range(40):
        i = rng.integers(1, 4)
        add_table(blocks.table, tables[i], -1 if on[i] else 1, blocks.sums)
        on[i] = not on[i]
        worst = max(worst, (np.abs(blocks.table).max(axis=1) / weights).max())
        blocks.ascend()
        worst = max(worst, (np.abs(blocks.table).max(axis=1) / weights).max())
    parts = (blocks.table, blocks.base, blocks.sums, blocks.words, blocks.ends)
    for most_pairs in (8, 64, 1 << 20):
        _, table, _, sums, _, _ = merge_blocks(*parts, EVERYTHING, most_pairs)
        worst = max(worst, (np.abs(table).max(axis=1) / weights).max())
        assert np.abs(sums).max() <= 4 * weights.sum()
    assert 0.5 < worst <= 4.0
