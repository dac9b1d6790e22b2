"""A two-mode problem cut into blocks of rows, and the bound that the blocks give.

The problem: choose rows and columns of an integer matrix so that the sum of the entries where
both are chosen is least. For fixed rows every column is chosen by the sign of its own sum, so only
the rows must be searched. They are cut into blocks. Each on-off pattern of a block's rows is
a *choice*, and a *table* holds the sum of every column under every choice. If each block may
choose its columns for itself, the least sum of the blocks is a lower bound of the problem. It
stays one when a *multiplier* is added to a column in one block and taken away in another, and the
right multipliers (``multipliers``) make it nearly tight. A choice that cannot be part of anything
below a cutoff is dropped, and two blocks that have few choices left are merged into one
(``merging``), so that the bound becomes exact where it matters.

All numbers are integers (see ``fixed_point``): sums are exact in any order, so every bound is
proven. A table entry stays within four times the sum of its column's absolute costs, multipliers
included, and ``fixed_point`` leaves enough bits for that.

Loops over choices run from 0 over slices: the compiler uses no vector instructions for a loop whose
start it cannot prove to be nonnegative.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from intensor._arrays import AnyArray, IndexArray, WordArray
from intensor.runtime.compiling import njit

ONE = np.uint64(1)
ADD, SUBTRACT = np.int64(1), np.int64(-1)
"""Signs of ``add_table``. Numba would compile it twice for constants of Python."""


class Blocks(NamedTuple):
    """The choices of all blocks side by side, those of block b at ``ends[b - 1]:ends[b]``."""

    # (columns, choices) sum of each undecided column under each choice, plus its multiplier
    table: AnyArray
    base: AnyArray  # (choices,) cost of the columns that were decided to be on
    # (choices,) cost of each choice to its block: ``base`` plus the negative table entries
    sums: AnyArray
    rows: WordArray  # (words, choices) the rows that each choice has on, as bits
    ends: IndexArray  # (blocks,) where the choices of each block end


@njit(cache=True, nogil=True)
def count_choices(firsts: IndexArray) -> int:
    """Return the number of choices of all blocks; ``firsts`` as in ``fill_tables``."""
    count = 0
    for b in range(firsts.size - 1):
        count += 1 << (firsts[b + 1] - firsts[b])
    return count


@njit(cache=True, nogil=True)
def fill_tables(matrix: AnyArray, firsts: IndexArray, out_table: AnyArray) -> None:
    """Write the sum of each column of a (rows, columns) matrix under each choice.

    ``firsts`` has the first row of every block, and the number of rows.
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


@njit(cache=True, nogil=True, inline="always")
def sum_of_columns(table: AnyArray, base: AnyArray, out_sums: AnyArray) -> None:
    """Write the cost of each choice to its block: ``base`` plus the negative table entries."""
    zero = table.dtype.type(0)
    for c in range(out_sums.size):
        out_sums[c] = base[c]
    for a in range(table.shape[0]):
        column = table[a]
        for c in range(out_sums.size):
            out_sums[c] += min(column[c], zero)


@njit(cache=True, nogil=True)
def add_table(table: AnyArray, other: AnyArray, sign: Any, out_sums: AnyArray) -> None:
    """Add or subtract a table in place, and write the sums for a base of 0."""
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
def add_matrix(matrix: AnyArray, sign: Any, out_matrix: AnyArray) -> None:
    """Add or subtract a matrix in place. Numba's ``+=`` takes ten times as long to compile."""
    kind = matrix.dtype.type
    for i in range(matrix.shape[0]):
        row, out_row = matrix[i], out_matrix[i]
        for a in range(row.size):
            out_row[a] += row[a] if sign > 0 else kind(-row[a])


@njit(cache=True, nogil=True)
def _least(sums: AnyArray) -> Any:
    least = sums[0]
    for c in range(sums.size):
        least = min(least, sums[c])
    return least


@njit(cache=True, nogil=True)
def least_sums(sums: AnyArray, ends: IndexArray, out_least: IndexArray) -> Any:
    """Write the cost of the cheapest choice of each block; return their sum, the bound."""
    bound = np.int64(0)
    start = 0
    for b in range(ends.size):
        out_least[b] = _least(sums[start : ends[b]])
        bound += out_least[b]
        start = ends[b]
    return bound


@njit(cache=True, nogil=True)
def least_sum(sums: AnyArray, ends: IndexArray) -> Any:
    """Return the bound: the sum over blocks of the cost of their cheapest choice."""
    bound = np.int64(0)
    start = 0
    for b in range(ends.size):
        bound += _least(sums[start : ends[b]])
        start = ends[b]
    return bound


@njit(cache=True, nogil=True)
def promising(sums: AnyArray, ends: IndexArray, cutoff: Any) -> Any:
    """Return which choices can still be part of something below the cutoff, and the new ends.

    Such a choice costs less than the cutoff together with the cheapest choices of the other blocks.
    """
    least = np.empty(ends.size, dtype=np.int64)
    bound = least_sums(sums, ends, least)
    which = np.empty(sums.size, dtype=np.uint32)
    new_ends = np.empty(ends.size, dtype=np.int64)
    count, start = 0, 0
    for b in range(ends.size):
        limit = cutoff - (bound - least[b])
        for c in range(start, ends[b]):
            which[count] = c
            count += sums[c] < limit
        start = ends[b]
        new_ends[b] = count
    return which[:count], new_ends


@njit(cache=True, nogil=True)
def gather(table: AnyArray, which: AnyArray) -> Any:
    """Return the columns of a table or of row bits that belong to the choices kept."""
    out = np.empty((table.shape[0], which.size), dtype=table.dtype)
    for a in range(table.shape[0]):
        source, target = table[a], out[a]
        for c in range(which.size):
            target[c] = source[which[c]]
    return out


@njit(cache=True, nogil=True)
def pick(values: AnyArray, which: AnyArray) -> Any:
    """Return the values that belong to the choices kept."""
    out = np.empty(which.size, dtype=values.dtype)
    for c in range(which.size):
        out[c] = values[which[c]]
    return out


@njit(cache=True, nogil=True, inline="always")
def best_rows(
    matrix: AnyArray, blocks: Blocks, out_rows: WordArray, out_columns: IndexArray
) -> Any:
    """Return the true cost of the blocks' cheapest choices together.

    Their rows are written as bits, and the sum of every column over these rows. Columns of negative
    sum belong to the box.
    """
    out_rows[:] = 0
    out_columns[:] = 0
    start = 0
    for b in range(blocks.ends.size):
        cheapest = start
        for c in range(start + 1, blocks.ends[b]):
            if blocks.sums[c] < blocks.sums[cheapest]:
                cheapest = c
        start = blocks.ends[b]
        for word in range(out_rows.size):
            out_rows[word] |= blocks.rows[word, cheapest]
    for i in range(matrix.shape[0]):
        if (out_rows[i >> 6] >> np.uint64(i & 63)) & ONE:
            for a in range(matrix.shape[1]):
                out_columns[a] += matrix[i, a]
    cost = np.int64(0)
    for a in range(matrix.shape[1]):
        cost += min(out_columns[a], 0)
    return cost
