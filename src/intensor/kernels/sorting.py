"""Radix sort of integer keys, block by block, and the distinct keys among the sorted ones.

A key holds the indices of a row of coordinates in its upper bits and the number of the row in its
lowest ``row_bits`` bits. Every kernel works on the keys first..last-1, so that blocks can run on
different threads.
"""

from __future__ import annotations

import numpy as np

from intensor._arrays import AnyArray, IndexArray
from intensor.runtime.compiling import njit


@njit(cache=True, nogil=True)
def fold_rows(
    cells: IndexArray, shifts: IndexArray, first: int, last: int, out_keys: IndexArray
) -> None:
    """Put the (n, p) indices of each row side by side above the number of the row.

    ``shifts`` (p,) are the lowest bits of the modes' indices.
    """
    for row in range(first, last):
        key = np.int64(row)
        for mode in range(shifts.size):
            key |= cells[row, mode] << shifts[mode]
        out_keys[row] = key


@njit(cache=True, nogil=True)
def count_digits(keys: IndexArray, low: int, first: int, last: int, out_counts: IndexArray) -> None:
    """Add to the counts of keys by one digit, whose lowest bit is ``low``.

    The number of digits, which is the length of ``out_counts``, is a power of two.
    """
    mask = out_counts.size - 1
    for position in range(first, last):
        out_counts[(keys[position] >> low) & mask] += 1


@njit(cache=True, nogil=True)
def move_keys(
    keys: IndexArray,
    low: int,
    first: int,
    last: int,
    out_positions: IndexArray,
    out_keys: IndexArray,
) -> None:
    """Write each key to the next free position of its digit, which ``out_positions`` holds."""
    mask = out_positions.size - 1
    for position in range(first, last):
        key = keys[position]
        digit = (key >> low) & mask
        out_keys[out_positions[digit]] = key
        out_positions[digit] += 1


@njit(cache=True, nogil=True)
def split_keys(
    keys: IndexArray,
    row_bits: int,
    first: int,
    last: int,
    out_order: AnyArray,
    out_count: IndexArray,
) -> None:
    """Write the row of each sorted key, and count the new cells in ``out_count[0]``."""
    mask = (np.int64(1) << row_bits) - 1
    count = 0
    for position in range(first, last):
        out_order[position] = keys[position] & mask
        if position == 0 or keys[position] >> row_bits != keys[position - 1] >> row_bits:
            count += 1
    out_count[0] = count


@njit(cache=True, nogil=True)
def pick_distinct(
    keys: IndexArray,
    row_bits: int,
    first: int,
    last: int,
    start: int,
    out_starts: IndexArray,
    out_keys: IndexArray,
) -> None:
    """Write the position and the key of every new cell, beginning at index ``start``."""
    for position in range(first, last):
        if position == 0 or keys[position] >> row_bits != keys[position - 1] >> row_bits:
            out_starts[start] = position
            out_keys[start] = keys[position]
            start += 1
