"""The kernels on CPU cores, compiled by Numba; twins of those in ``reference``.

Sums run in cell order (or vertex order), without fast-math, so a twin gives the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from intensor._arrays import AnyArray, FlagArray, FloatArray, IndexArray, WordArray
from intensor.kernels import bits
from intensor.runtime.compiling import njit

trailing_zeros: Any = bits.trailing_zeros

__all__ = ["contract_by_index", "predict"]


@njit(cache=True, nogil=True)
def contract_by_index(
    cells: AnyArray,
    offsets: IndexArray,
    order: AnyArray,
    starts: IndexArray,
    mode: int,
    flags: FlagArray,
    costs: FloatArray,
    out_sums: FloatArray,
) -> None:
    """Sum the cost of each index over its remembered cells whose other modes are all on.

    Parameters
    ----------
    cells
        (u, p) indices, all modes in one unsigned type.
    offsets
        (p + 1,) where each mode begins in ``flags``.
    order
        (u,) cells grouped by their index of this mode, in cell order within a group.
    starts
        (r + 1,) where each index's group begins in ``order``.
    out_sums
        (r,) filled with the cost of each index of the mode.
    """
    n_modes = cells.shape[1]
    for index in range(starts.size - 1):
        total = 0.0
        for place in range(starts[index], starts[index + 1]):
            cell = order[place]
            on = np.uint8(1)
            for other in range(n_modes):
                if other != mode:
                    on &= flags[offsets[other] + cells[cell, other]]
            if on:
                total += costs[cell]
        out_sums[index] = total


@njit(cache=True, nogil=True)
def predict(
    words: WordArray,
    weights: FloatArray,
    cells: IndexArray,
    offsets: IndexArray,
    out_values: FloatArray,
) -> None:
    """Sum the weights of the vertices that contain each cell.

    Parameters
    ----------
    words
        (sum(shape), n_words) transposed bits, see ``Vertices``.
    cells
        (u, p) indices.
    offsets
        (p + 1,) where each mode begins in ``words``.
    """
    n_cells, n_modes = cells.shape
    for cell in range(n_cells):
        total = 0.0
        for word in range(words.shape[1]):
            members = words[cells[cell, 0], word]
            for mode in range(1, n_modes):
                members &= words[offsets[mode] + cells[cell, mode], word]
            while members != np.uint64(0):
                total += weights[64 * word + trailing_zeros(members)]
                members &= members - np.uint64(1)
        out_values[cell] = total
