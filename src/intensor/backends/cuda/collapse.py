"""Kernels that collapse observations into unique cells on a device, as ``data`` does on the CPU."""

from __future__ import annotations

from typing import Any

import numba.cuda
import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape
from intensor.backends.cuda.thread_blocks import TILE, add_up, grid_of

cuda: Any = numba.cuda

__all__ = [
    "collapse_cells",
    "fold_column",
    "fold_keys",
    "group",
    "number_keys",
    "split_keys",
    "take_rows",
]


@cuda.jit(cache=True)
def fold_column(column: AnyArray, length: int, out_keys: IndexArray) -> None:
    """Append the index of one more mode to the number of each observation's cell."""
    cell = cuda.grid(1)
    while cell < out_keys.size:
        out_keys[cell] = out_keys[cell] * length + np.int64(column[cell])
        cell += cuda.gridsize(1)


@cuda.jit(cache=True)
def number_keys(row_bits: int, out_keys: IndexArray) -> None:
    """Put the number of its row into the lowest bits of each key."""
    row = cuda.grid(1)
    while row < out_keys.size:
        out_keys[row] = (out_keys[row] << row_bits) | row
        row += cuda.gridsize(1)


@cuda.jit(cache=True)
def take_rows(row_bits: int, out_keys: IndexArray, out_order: AnyArray) -> None:
    """Take the numbers of the rows out of the keys again."""
    row = cuda.grid(1)
    mask = (np.int64(1) << row_bits) - 1
    while row < out_keys.size:
        out_order[row] = out_keys[row] & mask
        out_keys[row] >>= row_bits
        row += cuda.gridsize(1)


@cuda.jit(cache=True)
def split_keys(
    keys: IndexArray,
    starts: IndexArray,
    lengths: IndexArray,
    offsets: IndexArray,
    out_rows: AnyArray,
) -> None:
    """Split the numbers of the cells into indices.

    Parameters
    ----------
    keys
        (n,) sorted numbers of the observations' cells.
    starts
        (u,) position at which each cell's observations begin.
    out_rows
        (p, u) filled with positions in the flags.
    """
    cell = cuda.grid(1)
    while cell < starts.size:
        key = keys[starts[cell]]
        for mode in range(lengths.size - 1, -1, -1):
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
    """Find the number and the mean of each cell's observations.

    Parameters
    ----------
    order
        (n,) observations sorted by cell.
    starts
        (u,) position at which each cell's observations begin in the order.
    out_totals
        (blocks, 2) filled with the block's sums of squared deviations from the cell's mean and of
        squared values.
    """
    partial = cuda.shared.array((2, TILE), numba.float64)
    thread = cuda.threadIdx.x
    deviation = 0.0
    square = 0.0
    cell = cuda.blockIdx.x * TILE + thread
    while cell < starts.size:
        first = starts[cell]
        last = starts[cell + 1] if cell + 1 < starts.size else order.size
        mean = 0.0
        for position in range(first, last):
            mean += values[order[position]]
        mean /= last - first
        left = 0.0
        for position in range(first, last):
            left += values[order[position]] - mean
        mean += left / (last - first)
        for position in range(first, last):
            value = values[order[position]]
            deviation += (value - mean) * (value - mean)
            square += value * value
        out_means[cell] = mean
        out_counts[cell] = last - first
        cell += cuda.gridDim.x * TILE
    partial[0, thread] = deviation
    partial[1, thread] = square
    add_up(partial)
    if thread < 2:
        out_totals[cuda.blockIdx.x, thread] = partial[thread, 0]


def fold_keys(columns: tuple[AnyArray, ...], shape: Shape, xp: Any) -> IndexArray:
    """Return the number of each observation's cell in the full tensor."""
    keys: IndexArray = xp.zeros(columns[0].shape[0], dtype=np.int64)
    for column, length in zip(columns, shape, strict=True):
        fold_column[grid_of(keys.size), TILE](column, length, keys)
    return keys


def group(keys: IndexArray, n_keys: int, xp: Any) -> tuple[AnyArray, IndexArray]:
    """Sort keys in place; return their order and the position at which each distinct one begins.

    Parameters
    ----------
    n_keys
        Keys are below this number.
    """
    n = keys.size
    row_bits = (n - 1).bit_length()
    kind = np.uint32 if n <= 2**32 else np.int64
    if (n_keys - 1).bit_length() + row_bits <= 63:
        number_keys[grid_of(n), TILE](row_bits, keys)
        keys.sort()
        order = xp.empty(n, dtype=kind)
        take_rows[grid_of(n), TILE](row_bits, keys, order)
    else:
        order = xp.argsort(keys, kind="stable")
        keys[:] = keys[order]
        order = order.astype(kind)
    fresh = xp.empty(n, dtype=bool)
    fresh[0] = True
    xp.not_equal(keys[1:], keys[:-1], out=fresh[1:])
    return order, xp.flatnonzero(fresh)
