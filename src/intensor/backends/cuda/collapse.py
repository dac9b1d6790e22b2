"""Observations on a device, grouped by cell and collapsed, as ``data`` does it on the CPU."""

from __future__ import annotations

from typing import Any

import numba.cuda
import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape
from intensor.backends.cuda.thread_blocks import TILE, add_up

cuda: Any = numba.cuda


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
    deviation, square = 0.0, 0.0
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
        keys *= length
        keys += column.astype(np.int64, copy=False)
    return keys


def group(keys: IndexArray, n_keys: int, xp: Any) -> tuple[AnyArray, IndexArray]:
    """Sort keys below ``n_keys`` in place.

    It returns their order, and the position at which each distinct key begins.
    """
    n = keys.size
    row_bits = (n - 1).bit_length()
    kind = np.uint32 if n <= 2**32 else np.int64
    if (n_keys - 1).bit_length() + row_bits <= 63:
        keys <<= row_bits  # with the number of its row in the lowest bits, a key sorts stably
        keys |= xp.arange(n)
        keys.sort()
        order = (keys & ((1 << row_bits) - 1)).astype(kind)
        keys >>= row_bits
    else:
        order = xp.argsort(keys, kind="stable")
        keys[:] = keys[order]
        order = order.astype(kind)
    fresh = xp.empty(n, dtype=bool)
    fresh[0] = True
    xp.not_equal(keys[1:], keys[:-1], out=fresh[1:])
    return order, xp.flatnonzero(fresh)
