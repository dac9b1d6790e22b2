"""Rows of coordinates in lexicographic order, and the position at which each distinct row begins.

The indices of a row are put side by side into the bits of one integer key, above the number of
the row. Keys that fit into 63 bits are sorted by radix sort, on threads. The sorted keys still
hold the coordinates, so rows are never fetched in their new order. Blocks depend on the number of
rows alone, and so does everything else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intensor._arrays import AnyArray, IndexArray, Shape
from intensor.kernels.sorting import count_digits, fold_rows, move_keys, pick_distinct, split_keys
from intensor.runtime.threads import Workers, blocks_of

ROWS_AT_ONCE = 1 << 16
"""Number of distinct rows whose indices are written at a time."""
MAX_DIGIT_BITS = 11
"""Largest number of bits that one pass of the radix sort sorts by."""
MIN_RADIX_ROWS = (1 << 12) + 1
"""Fewest rows that are sorted by radix sort; NumPy's sort is faster on fewer."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Groups:
    """Rows in lexicographic order; equal rows stay in the order they came in."""

    order: AnyArray  # (n,) numbers of the rows, sorted
    starts: IndexArray  # (u,) position in order at which each distinct row begins
    columns: tuple[AnyArray, ...]  # the u distinct rows by mode, in the smallest unsigned type


def group_rows(
    cells: IndexArray,
    shape: Shape,
    workers: Workers | None = None,
    *,
    min_radix_rows: int = MIN_RADIX_ROWS,
) -> Groups:
    """Sort rows of coordinates and find the distinct ones.

    Examples
    --------
    >>> groups = group_rows(np.array([[2, 0], [0, 1], [2, 0]]), (3, 2))
    >>> groups.order.tolist(), groups.starts.tolist()
    ([1, 0, 2], [0, 1])
    >>> [column.tolist() for column in groups.columns]
    [[0, 2], [1, 0]]
    """
    workers = Workers(1) if workers is None else workers
    n = cells.shape[0]
    row_bits = (n - 1).bit_length()
    widths = [(length - 1).bit_length() for length in shape]
    if sum(widths) + row_bits > 63:
        return _group_long(cells, shape)
    shifts = row_bits + np.array([sum(widths[mode + 1 :]) for mode in range(len(shape))])
    blocks = blocks_of(n)
    keys = np.empty(n, dtype=np.int64)
    workers.run(lambda block: fold_rows(cells, shifts, *blocks[block], keys), len(blocks))
    if n < min_radix_rows:
        keys.sort()
    else:
        keys = _radix_sorted(keys, row_bits, sum(widths), blocks, workers)
    order = np.empty(n, dtype=order_type(n))
    found = np.zeros(len(blocks), dtype=np.int64)
    workers.run(
        lambda block: split_keys(keys, row_bits, *blocks[block], order, found[block:]), len(blocks)
    )
    ends = np.cumsum(found)
    starts, chosen = np.empty(ends[-1], dtype=np.int64), np.empty(ends[-1], dtype=np.int64)
    befores = ends - found
    workers.run(
        lambda block: pick_distinct(keys, row_bits, *blocks[block], befores[block], starts, chosen),
        len(blocks),
    )
    columns = _empty_columns(starts.size, shape)
    parts = [slice(start, start + ROWS_AT_ONCE) for start in range(0, starts.size, ROWS_AT_ONCE)]

    def write(piece: int) -> None:
        part, mode = parts[piece // len(shape)], piece % len(shape)
        columns[mode][part] = (chosen[part] >> shifts[mode]) & ((1 << widths[mode]) - 1)

    workers.run(write, len(parts) * len(shape))
    return Groups(order=order, starts=starts, columns=columns)


def _radix_sorted(
    keys: IndexArray, row_bits: int, width: int, blocks: list[tuple[int, int]], workers: Workers
) -> IndexArray:
    """Sort keys by the ``width`` bits above ``row_bits``; the bits below are in order already.

    Every pass sorts by a few more bits. Each block first counts its own keys, which tells all
    blocks where theirs go, so that no block waits for another while keys are moved.
    """
    passes = -(-width // MAX_DIGIT_BITS)
    other = np.empty_like(keys)
    for turn in range(passes):
        low, high = (row_bits + width * end // passes for end in (turn, turn + 1))
        _sort_by_digit(keys, low, 1 << (high - low), blocks, workers, other)
        keys, other = other, keys
    return keys


def _sort_by_digit(
    keys: IndexArray,
    low: int,
    n_digits: int,
    blocks: list[tuple[int, int]],
    workers: Workers,
    out_keys: IndexArray,
) -> None:
    """Write keys in the order of the digit that begins at bit ``low``."""
    counts = np.zeros((len(blocks), n_digits), dtype=np.int64)
    workers.run(lambda block: count_digits(keys, low, *blocks[block], counts[block]), len(blocks))
    ends = np.cumsum(counts.T).reshape(n_digits, -1).T  # digit by digit, block by block
    positions = np.ascontiguousarray(ends - counts)
    workers.run(
        lambda block: move_keys(keys, low, *blocks[block], positions[block], out_keys), len(blocks)
    )


def _group_long(cells: IndexArray, shape: Shape) -> Groups:
    """Group rows whose indices do not fit into one key.

    Modes are folded into as few int64 keys as their lengths allow, so that a tensor may have more
    than 2^63 cells.
    """
    keys: list[IndexArray] = []
    size = 0  # number of values that the last key can take
    for mode, length in enumerate(shape):
        if size and size * length < 2**63:
            keys[-1] *= length
            keys[-1] += cells[:, mode]
            size *= length
        else:
            keys.append(cells[:, mode].copy())
            size = length
    order = np.lexsort(keys[::-1]).astype(order_type(len(cells)))
    fresh = np.zeros(order.size, dtype=bool)
    fresh[0] = True
    for key in keys:
        ordered = key[order]
        fresh[1:] |= ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(fresh)
    chosen = order[starts]
    columns = _empty_columns(chosen.size, shape)
    for start in range(0, chosen.size, ROWS_AT_ONCE):
        rows = cells[chosen[start : start + ROWS_AT_ONCE]]
        for mode, column in enumerate(columns):
            column[start : start + ROWS_AT_ONCE] = rows[:, mode]
    return Groups(order=order, starts=starts, columns=columns)


def order_type(n: int) -> np.dtype[np.unsignedinteger]:
    """Return uint32, or uint64 from 2^32 rows on: kernels are compiled for one type, not four."""
    return np.min_scalar_type(max(n, 2**16))


def _empty_columns(count: int, shape: Shape) -> tuple[AnyArray, ...]:
    """Return one array of ``count`` indices per mode, each in the smallest unsigned type."""
    return tuple(np.empty(count, dtype=np.min_scalar_type(length - 1)) for length in shape)
