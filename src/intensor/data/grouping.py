"""Rows of coordinates in lexicographic order, and where each distinct row begins.

Indices of a row are put side by side into the binary digits of one number, above the number of the
row. What has room in 63 digits is sorted digit group by digit group, on threads; the sorted
numbers then hold the coordinates, so that rows are never fetched in their new order. Blocks depend
on the number of rows alone, and so does everything else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intensor._arrays import AnyArray, IndexArray, Shape
from intensor.runtime.compiling import njit
from intensor.runtime.threads import Workers, blocks_of

__all__ = ["Groups", "group_rows"]

ROWS_AT_ONCE = 1 << 16
WIDEST = 11
"""Binary digits that are sorted by at a time, at most."""
FEW = 1 << 12
"""Rows that are sorted at once instead."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Groups:
    """Rows in order.

    Attributes
    ----------
    order
        (n,) the rows, sorted; equal ones stay in the order they came in.
    starts
        (u,) where each distinct row begins in the order.
    columns
        The u distinct rows mode by mode, each in the smallest unsigned type.
    """

    order: AnyArray
    starts: IndexArray
    columns: tuple[AnyArray, ...]


def group_rows(cells: IndexArray, shape: Shape, workers: Workers | None = None) -> Groups:
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
    digits = (n - 1).bit_length()
    widths = [(length - 1).bit_length() for length in shape]
    if sum(widths) + digits > 63:
        return _group_long(cells, shape)
    shifts = digits + np.array([sum(widths[mode + 1 :]) for mode in range(len(shape))])
    blocks = blocks_of(n)
    keys = np.empty(n, dtype=np.int64)
    workers.run(lambda block: _fold(cells, shifts, *blocks[block], keys), len(blocks))
    keys = _sorted(keys, digits, sum(widths), blocks, workers)
    order = np.empty(n, dtype=np.min_scalar_type(n))
    found = np.zeros(len(blocks), dtype=np.int64)
    workers.run(
        lambda block: _split(keys, digits, *blocks[block], order, found[block:]), len(blocks)
    )
    ends = np.cumsum(found)
    starts, chosen = np.empty(ends[-1], dtype=np.int64), np.empty(ends[-1], dtype=np.int64)
    befores = ends - found
    workers.run(
        lambda block: _pick(keys, digits, *blocks[block], befores[block], starts, chosen),
        len(blocks),
    )
    columns = tuple(np.empty(starts.size, np.min_scalar_type(length - 1)) for length in shape)
    parts = [slice(start, start + ROWS_AT_ONCE) for start in range(0, starts.size, ROWS_AT_ONCE)]

    def write(piece: int) -> None:
        part, mode = parts[piece // len(shape)], piece % len(shape)
        columns[mode][part] = (chosen[part] >> shifts[mode]) & ((1 << widths[mode]) - 1)

    workers.run(write, len(parts) * len(shape))
    return Groups(order=order, starts=starts, columns=columns)


def _sorted(
    keys: IndexArray, digits: int, width: int, blocks: list[tuple[int, int]], workers: Workers
) -> IndexArray:
    """Sort numbers by ``width`` binary digits from ``digits`` on; those below are in order.

    Every pass puts the numbers in the order of a few more digits. Each block counts its own first
    and then knows where they go, so that blocks need not wait for each other.
    """
    if keys.size <= FEW:
        keys.sort()
        return keys
    passes = -(-width // WIDEST)
    other = np.empty_like(keys)
    for turn in range(passes):
        low, high = (digits + width * end // passes for end in (turn, turn + 1))
        _sort_by(keys, low, 1 << (high - low), blocks, workers, other)
        keys, other = other, keys
    return keys


def _sort_by(
    keys: IndexArray,
    low: int,
    size: int,
    blocks: list[tuple[int, int]],
    workers: Workers,
    out_keys: IndexArray,
) -> None:
    """Write numbers in the order of the digits from ``low`` on that tell ``size`` of them apart."""
    counts = np.zeros((len(blocks), size), dtype=np.int64)
    workers.run(lambda block: _count(keys, low, *blocks[block], counts[block]), len(blocks))
    ends = np.cumsum(counts.T).reshape(size, -1).T  # digit by digit, block by block
    places = np.ascontiguousarray(ends - counts)
    workers.run(
        lambda block: _move(keys, low, *blocks[block], places[block], out_keys), len(blocks)
    )


@njit(cache=True, nogil=True)
def _fold(
    cells: IndexArray, shifts: IndexArray, first: int, last: int, out_keys: IndexArray
) -> None:
    """Put the indices of rows side by side, above the numbers of the rows."""
    for row in range(first, last):
        key = np.int64(row)
        for mode in range(shifts.size):
            key |= cells[row, mode] << shifts[mode]
        out_keys[row] = key


@njit(cache=True, nogil=True)
def _count(keys: IndexArray, low: int, first: int, last: int, out_counts: IndexArray) -> None:
    """Count the numbers of a block by some of their digits."""
    mask = out_counts.size - 1
    for place in range(first, last):
        out_counts[(keys[place] >> low) & mask] += 1


@njit(cache=True, nogil=True)
def _move(
    keys: IndexArray, low: int, first: int, last: int, places: IndexArray, out_keys: IndexArray
) -> None:
    """Put the numbers of a block where their digits belong; ``places`` moves on."""
    mask = places.size - 1
    for place in range(first, last):
        key = keys[place]
        digit = (key >> low) & mask
        out_keys[places[digit]] = key
        places[digit] += 1


@njit(cache=True, nogil=True)
def _split(
    keys: IndexArray, digits: int, first: int, last: int, out_order: AnyArray, out_count: IndexArray
) -> None:
    """Take the numbers of rows out again, and count those that differ from the row before."""
    mask = (np.int64(1) << digits) - 1
    count = 0
    for place in range(first, last):
        out_order[place] = keys[place] & mask
        if place == 0 or keys[place] >> digits != keys[place - 1] >> digits:
            count += 1
    out_count[0] = count


@njit(cache=True, nogil=True)
def _pick(
    keys: IndexArray,
    digits: int,
    first: int,
    last: int,
    start: int,
    out_starts: IndexArray,
    out_keys: IndexArray,
) -> None:
    """Write where rows differ from the row before, and their numbers, from a place on."""
    for place in range(first, last):
        if place == 0 or keys[place] >> digits != keys[place - 1] >> digits:
            out_starts[start] = place
            out_keys[start] = keys[place]
            start += 1


def _group_long(cells: IndexArray, shape: Shape) -> Groups:
    """Do the same for rows that have no room in one number.

    Modes are folded into as few int64 keys as their lengths allow, so that a tensor may have more
    than 2^63 cells.
    """
    keys: list[IndexArray] = []
    room = 0
    for mode, length in enumerate(shape):
        if room and room * length < 2**63:
            keys[-1] *= length
            keys[-1] += cells[:, mode]
            room *= length
        else:
            keys.append(cells[:, mode].copy())
            room = length
    order = np.lexsort(keys[::-1])
    fresh = np.zeros(order.size, dtype=bool)
    fresh[0] = True
    for key in keys:
        ordered = key[order]
        fresh[1:] |= ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(fresh)
    chosen = order[starts]
    columns = tuple(np.empty(chosen.size, dtype=np.min_scalar_type(length - 1)) for length in shape)
    for start in range(0, chosen.size, ROWS_AT_ONCE):
        rows = cells[chosen[start : start + ROWS_AT_ONCE]]
        for mode, column in enumerate(columns):
            column[start : start + ROWS_AT_ONCE] = rows[:, mode]
    return Groups(order=order, starts=starts, columns=columns)
