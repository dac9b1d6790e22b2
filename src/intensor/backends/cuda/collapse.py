"""Observations collapsed into unique cells on the device; the twin of ``data.observations``."""

from __future__ import annotations

from typing import Any

import numba.cuda
import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape
from intensor.backends.cuda.blocks import TILE, add_up, grid_of

cuda: Any = numba.cuda

__all__ = ["collapse_cells", "fold_keys", "group", "spread_keys"]


@cuda.jit(cache=True)
def _fold(column: AnyArray, length: int, out_keys: IndexArray) -> None:
    cell = cuda.grid(1)
    while cell < out_keys.size:
        out_keys[cell] = out_keys[cell] * length + np.int64(column[cell])
        cell += cuda.gridsize(1)


@cuda.jit(cache=True)
def _number(digits: int, out_keys: IndexArray) -> None:
    row = cuda.grid(1)
    while row < out_keys.size:
        out_keys[row] = (out_keys[row] << digits) | row
        row += cuda.gridsize(1)


@cuda.jit(cache=True)
def _split(digits: int, out_keys: IndexArray, out_order: AnyArray) -> None:
    row = cuda.grid(1)
    mask = (np.int64(1) << digits) - 1
    while row < out_keys.size:
        out_order[row] = out_keys[row] & mask
        out_keys[row] >>= digits
        row += cuda.gridsize(1)


@cuda.jit(cache=True)
def spread_keys(
    keys: IndexArray,
    starts: IndexArray,
    lengths: IndexArray,
    offsets: IndexArray,
    out_rows: AnyArray,
) -> None:
    """Take the keys of the cells apart again.

    Parameters
    ----------
    keys
        (n,) sorted numbers of the observations' cells.
    starts
        (u,) where each cell's observations begin.
    out_rows
        (p, u) filled with positions in the flags.
    """
    cell = cuda.grid(1)
    while cell < starts.size:
        key = keys[starts[cell]]
        for place in range(lengths.size):
            mode = lengths.size - 1 - place
            out_rows[mode, cell] = offsets[mode] + key % lengths[mode]
            key //= lengths[mode]
        cell += cuda.gridsize(1)


@cuda.jit(cache=True)
def collapse_cells(
    order: AnyArray,
    starts: IndexArray,
    values: FloatArray,
    out_counts: AnyArray,
    out_means: FloatArray,
    out_totals: FloatArray,
) -> None:
    """Find number and mean of each cell's observations.

    Parameters
    ----------
    order
        (n,) observations sorted by cell.
    starts
        (u,) where each cell's observations begin in the order.
    out_totals
        (blocks, 2) filled with the block's sums of squared deviations from the cell's mean and of
        squared values.
    """
    partial = cuda.shared.array((2, TILE), numba.float64)
    thread = cuda.threadIdx.x
    apart = 0.0
    square = 0.0
    cell = cuda.blockIdx.x * TILE + thread
    while cell < starts.size:
        first = starts[cell]
        last = starts[cell + 1] if cell + 1 < starts.size else order.size
        mean = 0.0
        for place in range(first, last):
            mean += values[order[place]]
        mean /= last - first
        left = 0.0
        for place in range(first, last):
            left += values[order[place]] - mean
        mean += left / (last - first)
        for place in range(first, last):
            value = values[order[place]]
            apart += (value - mean) * (value - mean)
            square += value * value
        out_means[cell] = mean
        out_counts[cell] = last - first
        cell += cuda.gridDim.x * TILE
    partial[0, thread] = apart
    partial[1, thread] = square
    add_up(partial)
    if thread < 2:
        out_totals[cuda.blockIdx.x, thread] = partial[thread, 0]


def fold_keys(columns: tuple[AnyArray, ...], shape: Shape, xp: Any) -> IndexArray:
    """Return the number of each observation's cell in the whole tensor."""
    keys: IndexArray = xp.zeros(columns[0].shape[0], dtype=np.int64)
    for column, length in zip(columns, shape, strict=True):
        _fold[grid_of(keys.size), TILE](column, length, keys)
    return keys


def group(keys: IndexArray, room: int, xp: Any) -> tuple[AnyArray, IndexArray]:
    """Sort keys in place; return the order they are then in and where each distinct one starts.

    Parameters
    ----------
    room
        Number that keys are below.
    """
    n = keys.size
    digits = (n - 1).bit_length()
    kind = np.uint32 if n <= 2**32 else np.int64
    if (room - 1).bit_length() + digits <= 63:
        _number[grid_of(n), TILE](digits, keys)
        keys.sort()
        order = xp.empty(n, dtype=kind)
        _split[grid_of(n), TILE](digits, keys, order)
    else:
        order = xp.argsort(keys, kind="stable")
        keys[:] = keys[order]
        order = order.astype(kind)
    fresh = xp.empty(n, dtype=bool)
    fresh[0] = True
    xp.not_equal(keys[1:], keys[:-1], out=fresh[1:])
    return order, xp.flatnonzero(fresh)
