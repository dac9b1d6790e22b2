"""Sums over cells and over the vertices that contain them.

Terms are added in cell order or vertex order, without fast-math, so that the plain twins in the
tests give the same bits.
"""

from __future__ import annotations

import numpy as np

from intensor._arrays import AnyArray, FlagArray, FloatArray, IndexArray, WordArray
from intensor.kernels.bits import NONE, ONE, trailing_zeros
from intensor.runtime.compiling import njit


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
    """Sum the cost of each index of a mode over its cells whose other modes are all on.

    ``cells`` are (u, p) indices, and mode k begins at ``offsets[k]`` in the flags. ``order`` (u,)
    holds the cells grouped by their index of this mode, in cell order within a group, and the group
    of index i begins at ``starts[i]``.
    """
    n_modes = cells.shape[1]
    for index in range(starts.size - 1):
        total = 0.0
        for position in range(starts[index], starts[index + 1]):
            cell = order[position]
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

    ``words`` are (sum(shape), n_words) transposed bits (see ``Vertices``), in which mode k begins
    at ``offsets[k]``; ``cells`` are (u, p) indices.
    """
    n_cells, n_modes = cells.shape
    for cell in range(n_cells):
        total = 0.0
        for word in range(words.shape[1]):
            members = words[cells[cell, 0], word]
            for mode in range(1, n_modes):
                members &= words[offsets[mode] + cells[cell, mode], word]
            while members != NONE:
                total += weights[64 * word + trailing_zeros(members)]
                members &= members - ONE
        out_values[cell] = total


@njit(cache=True, nogil=True)
def member_sums(
    members: WordArray, values: FloatArray, first: int, last: int, out_sums: FloatArray
) -> None:
    """Sum ``values`` over the cells of vertices first..last-1; see ``gram`` for ``members``."""
    for vertex in range(first, last):
        total = 0.0
        for word in range(members.shape[1]):
            inside = members[vertex, word]
            while inside != NONE:
                total += values[64 * word + trailing_zeros(inside)]
                inside &= inside - ONE
        out_sums[vertex] = total


@njit(cache=True, nogil=True)
def fit_cells(
    rows: AnyArray,
    words: WordArray,
    n_words: int,
    weights: FloatArray,
    targets: FloatArray,
    shares: FloatArray,
    out_costs: FloatArray,
    out_totals: FloatArray,
) -> None:
    """Evaluate a weighted sum of vertices on the cells, and its squared error.

    ``words`` (sum(shape), >= n_words) and ``weights`` (>= 64 n_words,) are the vertices;
    ``targets`` and ``shares`` (u,) are the value each cell should have and how much it counts.
    ``out_costs`` is filled with the gradient, 2 share (x - target), and ``out_totals`` with the
    sums of share (x - target)^2 and of gradient times x.
    """
    n_modes = rows.shape[1]
    error = 0.0
    product = 0.0
    for cell in range(rows.shape[0]):
        x = 0.0
        for word in range(n_words):
            inside = words[rows[cell, 0], word]
            for mode in range(1, n_modes):
                inside &= words[rows[cell, mode], word]
            while inside != NONE:
                x += weights[64 * word + trailing_zeros(inside)]
                inside &= inside - ONE
        residual = x - targets[cell]
        weighted = shares[cell] * residual
        out_costs[cell] = 2.0 * weighted
        error += weighted * residual
        product += 2.0 * weighted * x
    out_totals[0] = error
    out_totals[1] = product
