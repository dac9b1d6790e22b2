"""A two-mode problem cut into blocks of rows, with multipliers that hold the pieces together.

The problem: choose rows and columns of an integer matrix so that the sum of the entries where
both are chosen is least. For fixed rows every column is chosen by the sign of its own sum, so the
rows are what must be searched. They are cut into blocks. Each on-off pattern of a block's rows is
a *choice*, and a *table* holds the sum of every column under every choice. If each block may
choose its columns for itself, the least sum of the blocks is a lower bound of the problem. It
stays one when a *multiplier* is added to a column in one block and taken away in another, and the
right multipliers make it nearly tight. A choice that cannot be part of anything below a
cutoff is dropped, and two blocks that have few choices left are merged into one, so that the
bound becomes exact where it matters.

All numbers are integers (see ``oracles.fixed_point``): sums are exact in any order, and what is
proven here is proven. A table entry stays within four times the sum of its column's absolute costs,
multipliers included, which is why the costs leave that much room in their type.

Loops over choices run from 0 over slices: a start that could be negative, as far as the compiler
knows, keeps it from using vector instructions.

Layout: choices of all blocks side by side, block b in ``ends[b - 1]:ends[b]``; tables are
(columns, choices); ``patterns`` has the rows of every choice as bits, (words, choices).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from intensor._arrays import AnyArray, FlagArray, IndexArray, WordArray
from intensor.runtime.compiling import njit

__all__ = [
    "FREE",
    "OFF",
    "ON",
    "add_table",
    "ascend",
    "best_rows",
    "fill_tables",
    "gather",
    "least_sum",
    "merge_blocks",
    "promising",
    "sum_of_columns",
]

OFF, ON, FREE = 0, 1, 2
ONE = np.uint64(1)
LARGEST = np.int64(1 << 62)


@njit(cache=True, nogil=True)
def fill_tables(matrix: AnyArray, firsts: IndexArray, out_table: AnyArray) -> None:
    """Write the sum of each column under each choice.

    Parameters
    ----------
    matrix
        (rows, columns) costs.
    firsts
        (blocks + 1,) the first row of every block, and the end.
    """
    start = 0
    for b in range(firsts.size - 1):
        rows = firsts[b + 1] - firsts[b]
        for a in range(matrix.shape[1]):
            table = out_table[a, start : start + (1 << rows)]
            table[0] = 0
            width = 1
            for i in range(rows):
                cost = matrix[firsts[b] + i, a]
                lower, upper = table[:width], table[width : 2 * width]
                for c in range(width):
                    upper[c] = lower[c] + cost
                width *= 2
        start += 1 << rows


@njit(cache=True, nogil=True)
def sum_of_columns(table: AnyArray, base: AnyArray, out_sums: AnyArray) -> None:
    """Write ``base`` plus the negative column sums: what each choice costs its block."""
    zero = table.dtype.type(0)
    out_sums[:] = base
    for a in range(table.shape[0]):
        column = table[a]
        for c in range(out_sums.size):
            out_sums[c] += min(column[c], zero)


@njit(cache=True, nogil=True)
def add_table(table: AnyArray, other: AnyArray, sign: int, out_sums: AnyArray) -> None:
    """Add (sign 1) or take away (sign -1) a table in place, and write the sums of columns."""
    zero = table.dtype.type(0)
    out_sums[:] = 0
    for a in range(table.shape[0]):
        column = table[a]
        change = other[a]
        if sign > 0:
            for c in range(out_sums.size):
                column[c] += change[c]
                out_sums[c] += min(column[c], zero)
        else:
            for c in range(out_sums.size):
                column[c] -= change[c]
                out_sums[c] += min(column[c], zero)


@njit(cache=True, nogil=True)
def _least(sums: AnyArray) -> Any:
    least = sums[0]
    for c in range(sums.size):
        least = min(least, sums[c])
    return least


@njit(cache=True, nogil=True)
def least_sum(sums: AnyArray, ends: IndexArray, out_least: IndexArray) -> Any:
    """Return the bound, the sum over blocks of their cheapest choice; write each block's."""
    bound = np.int64(0)
    start = 0
    for b in range(ends.size):
        out_least[b] = _least(sums[start : ends[b]])
        bound += out_least[b]
        start = ends[b]
    return bound


@njit(cache=True, nogil=True)
def _take_out(column: AnyArray, sums: AnyArray) -> None:
    zero = column.dtype.type(0)
    for c in range(sums.size):
        sums[c] -= min(column[c], zero)


@njit(cache=True, nogil=True)
def _least_both(column: AnyArray, sums: AnyArray) -> Any:
    """Return the least sum without the column and with it."""
    kind = column.dtype.type
    without, with_it = sums[0], kind(sums[0] + column[0])
    for c in range(sums.size):
        without = min(without, sums[c])
        with_it = min(with_it, kind(sums[c] + column[c]))
    return without, with_it


@njit(cache=True, nogil=True)
def _put_back(column: AnyArray, sums: AnyArray, change: Any) -> None:
    zero = column.dtype.type(0)
    for c in range(sums.size):
        column[c] += change
        sums[c] += min(column[c], zero)


@njit(cache=True, nogil=True)
def ascend(
    table: AnyArray,
    base: AnyArray,
    sums: AnyArray,
    ends: IndexArray,
    cutoff: Any,
    fix: bool,
    out_status: FlagArray,
    out_lean: IndexArray,
) -> bool:
    """Improve the multipliers of one column after the other; say whether the cutoff was reached.

    For one column, let ``without`` and ``with`` be the bounds of the problem when it is left out
    and when it is chosen, each a sum over blocks. The best multipliers of this column are those
    that spread ``with - without`` evenly over the blocks: then all blocks want the same, and
    the bound is the smaller of the two. No change of this column's multipliers can do better, so
    the bound never falls. A column for which one of the two reaches the cutoff is decided.

    Parameters
    ----------
    table, base, sums
        Updated in place. ``base`` is the cost of columns that were decided to be on.
    fix
        Whether to decide columns; only then is ``base`` written.
    out_status
        (columns,) FREE, ON or OFF. Only FREE columns are looked at.
    out_lean
        (columns,) ``with - without`` of each column that stays free.

    Returns
    -------
    bool
        True when the bound has reached the cutoff; the other outputs then mean nothing.
    """
    blocks = ends.size
    kind = table.dtype.type
    without = np.empty(blocks, dtype=np.int64)
    with_it = np.empty(blocks, dtype=np.int64)
    for a in range(table.shape[0]):
        if out_status[a] != FREE:
            continue
        column = table[a]
        _take_out(column, sums)
        off, on, start = np.int64(0), np.int64(0), 0
        for b in range(blocks):
            without[b], with_it[b] = _least_both(column[start : ends[b]], sums[start : ends[b]])
            off += without[b]
            on += with_it[b]
            start = ends[b]
        if off >= cutoff and on >= cutoff:
            return True
        if fix and off >= cutoff:
            out_status[a] = ON
            for c in range(sums.size):
                sums[c] += column[c]
                base[c] += column[c]
        elif fix and on >= cutoff:
            out_status[a] = OFF
        else:
            out_lean[a] = on - off
            left, start = on - off, 0
            for b in range(blocks):
                share = left // (blocks - b)
                left -= share
                change = kind(share - (with_it[b] - without[b]))
                _put_back(column[start : ends[b]], sums[start : ends[b]], change)
                start = ends[b]
    return False


@njit(cache=True, nogil=True)
def promising(sums: AnyArray, ends: IndexArray, least: IndexArray, bound: Any, cutoff: Any) -> Any:
    """Return which choices can still be part of something below the cutoff, and the new ends.

    A choice is one when its own sum plus what the other blocks cost at least is below the cutoff.
    """
    which = np.empty(sums.size, dtype=np.uint32)
    new_ends = np.empty(ends.size, dtype=np.int64)
    count, start = 0, 0
    for b in range(ends.size):
        room = cutoff - (bound - least[b])
        for c in range(start, ends[b]):
            which[count] = c
            count += sums[c] < room
        start = ends[b]
        new_ends[b] = count
    return which[:count], new_ends


@njit(cache=True, nogil=True)
def best_rows(
    matrix: AnyArray,
    sums: AnyArray,
    patterns: WordArray,
    ends: IndexArray,
    out_rows: WordArray,
    out_columns: IndexArray,
) -> Any:
    """Return the cost of what the blocks choose together; write its rows and its column sums.

    The rows are those of each block's cheapest choice. Columns of negative sum belong to it.
    """
    out_rows[:] = 0
    out_columns[:] = 0
    start = 0
    for b in range(ends.size):
        cheapest = start
        for c in range(start + 1, ends[b]):
            if sums[c] < sums[cheapest]:
                cheapest = c
        start = ends[b]
        for word in range(out_rows.size):
            out_rows[word] |= patterns[word, cheapest]
    for i in range(matrix.shape[0]):
        if (out_rows[i >> 6] >> np.uint64(i & 63)) & ONE:
            for a in range(matrix.shape[1]):
                out_columns[a] += matrix[i, a]
    cost = np.int64(0)
    for a in range(matrix.shape[1]):
        cost += min(out_columns[a], 0)
    return cost


@njit(cache=True, nogil=True)
def _smallest_blocks(ends: IndexArray) -> Any:
    """Return the two blocks with the fewest choices, in order, and how many pairs they have."""
    first, second = -1, -1
    few, next_few = LARGEST, LARGEST
    start = 0
    for b in range(ends.size):
        size = ends[b] - start
        start = ends[b]
        if size < few:
            second, next_few = first, few
            first, few = b, size
        elif size < next_few:
            second, next_few = b, size
    return min(first, second), max(first, second), few * next_few


@njit(cache=True, nogil=True)
def _promising_pairs(
    sums: AnyArray, ends: IndexArray, one: int, two: int, room: Any, pairs: int
) -> Any:
    """Return the pairs of choices of two blocks whose sums together are below ``room``."""
    left = np.empty(pairs, dtype=np.uint32)
    right = np.empty(pairs, dtype=np.uint32)
    count = 0
    for c in range(ends[one - 1] if one > 0 else 0, ends[one]):
        for d in range(ends[two - 1], ends[two]):
            left[count] = c
            right[count] = d
            count += sums[d] < room - sums[c]
    return left[:count], right[:count]


@njit(cache=True, nogil=True)
def _other_choices(ends: IndexArray, one: int, two: int, pairs: int) -> Any:
    """Return the choices of all blocks but two, and the ends with one block of pairs behind."""
    others = np.empty(ends[-1], dtype=np.uint32)
    new_ends = np.empty(ends.size - 1, dtype=np.int64)
    kept, block, start = 0, 0, 0
    for b in range(ends.size):
        if b not in (one, two):
            for c in range(start, ends[b]):
                others[kept] = c
                kept += 1
            new_ends[block] = kept
            block += 1
        start = ends[b]
    new_ends[block] = kept + pairs
    return others[:kept], new_ends


@njit(cache=True, nogil=True)
def _with_pairs(
    table: AnyArray,
    base: AnyArray,
    sums: AnyArray,
    patterns: WordArray,
    others: AnyArray,
    left: AnyArray,
    right: AnyArray,
) -> Any:
    """Return table, base, sums and patterns of the other choices and of the pairs behind them."""
    zero = table.dtype.type(0)
    kind = table.dtype.type
    kept, count = others.size, left.size
    new_table = np.empty((table.shape[0], kept + count), dtype=table.dtype)
    new_base = np.empty(kept + count, dtype=table.dtype)
    new_sums = np.empty(kept + count, dtype=table.dtype)
    new_patterns = np.empty((patterns.shape[0], kept + count), dtype=np.uint64)
    new_base[:kept] = base[others]
    new_sums[:kept] = sums[others]
    pair_base, pair_sums = new_base[kept:], new_sums[kept:]
    for c in range(count):
        pair_base[c] = base[left[c]] + base[right[c]]
        pair_sums[c] = pair_base[c]
    for word in range(patterns.shape[0]):
        for c in range(kept):
            new_patterns[word, c] = patterns[word, others[c]]
        for c in range(count):
            new_patterns[word, kept + c] = patterns[word, left[c]] | patterns[word, right[c]]
    for a in range(table.shape[0]):
        column, new_column, pairs = table[a], new_table[a], new_table[a, kept:]
        for c in range(kept):
            new_column[c] = column[others[c]]
        for c in range(count):
            both = kind(column[left[c]] + column[right[c]])
            pairs[c] = both
            pair_sums[c] += min(both, zero)
    return new_table, new_base, new_sums, new_patterns


@njit(cache=True, nogil=True)
def merge_blocks(
    table: AnyArray,
    base: AnyArray,
    sums: AnyArray,
    patterns: WordArray,
    ends: IndexArray,
    cutoff: Any,
    most_pairs: int,
) -> Any:
    """Merge small blocks while a pair of them has at most so many pairs of choices.

    The choices of the new block, which comes last, are the pairs that can still be part of
    something below the cutoff.

    Returns
    -------
    tuple
        Whether nothing below the cutoff is left, then table, base, sums, patterns and ends.
    """
    least = np.empty(ends.size, dtype=np.int64)
    bound = least_sum(sums, ends, least)
    dead = bound >= cutoff
    while ends.size > 1 and not dead:
        one, two, pairs = _smallest_blocks(ends)
        if pairs > most_pairs:
            break
        room = cutoff - (bound - least[one] - least[two])
        left, right = _promising_pairs(sums, ends, one, two, room, pairs)
        dead = left.size == 0
        if not dead:
            others, ends = _other_choices(ends, one, two, left.size)
            table, base, sums, patterns = _with_pairs(
                table, base, sums, patterns, others, left, right
            )
            bound = least_sum(sums, ends, least)
            dead = bound >= cutoff
        if not dead:
            which, ends = promising(sums, ends, least, bound, cutoff)
            table, patterns = gather(table, which), gather(patterns, which)
            base, sums = base[which], sums[which]
    return dead, table, base, sums, patterns, ends


@njit(cache=True, nogil=True)
def gather(table: AnyArray, which: AnyArray) -> Any:
    """Return some columns of a table or of patterns: those of the choices that are kept."""
    out = np.empty((table.shape[0], which.size), dtype=table.dtype)
    for a in range(table.shape[0]):
        source, target = table[a], out[a]
        for c in range(which.size):
            target[c] = source[which[c]]
    return out
