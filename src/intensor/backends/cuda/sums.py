"""Predictions, residuals and sums over cells as CUDA kernels, the twins of ``kernels.sums``."""

from __future__ import annotations

from typing import Any

import numba.cuda
import numpy as np

from intensor._arrays import AnyArray, FloatArray, WordArray
from intensor.backends.cuda.thread_blocks import (
    TILE,
    add_up,
    find_largest,
    halve,
    vertices_around,
)
from intensor.kernels.bits import ALL, NONE

cuda: Any = numba.cuda

AT_ONCE = 2
"""Number of words whose tables ``fit_cells`` holds at a time; a table has 16 KiB."""
AHEAD = 4
"""Number of cells that a thread of ``fit_cells`` works on at a time, to wait less for memory."""
EIGHT = np.uint64(8)
LOWEST_BYTE = np.uint64(255)


@cuda.jit(cache=True)
def fit_cells(  # noqa: PLR0912  (most of them are loops over a thread's cells, unrolled)
    rows: AnyArray,
    words: WordArray,
    first: int,
    last: int,
    tables: FloatArray,
    targets: FloatArray,
    shares: AnyArray,
    step: int,
    one_share: float,
    more: bool,
    out_costs: FloatArray,
    out_totals: FloatArray,
) -> None:
    """Evaluate a weighted sum of vertices on all cells, at most ``AT_ONCE`` words at a time.

    ``rows`` (p, u) are the positions of each cell's indices in the words, of which first..last-1
    are added up; if ``first`` is above 0, ``out_costs`` holds the sum of those before. ``tables``
    (>= 8 last, 256) has, for each byte of the words, the weight of every subset of its vertices. As
    many rows are copied as fit into the shared memory given at the launch. Cell j counts
    ``one_share * shares[j * step]``.

    If ``more`` words will follow, the sum so far is left in ``out_costs``. At the end it is filled
    with the gradient, 2 share (x - target), and ``out_totals`` (blocks, >= 3) with the block's sums
    of share (x - target)^2 and of gradient times x, and the largest absolute value of the gradient.
    """
    table = cuda.shared.array(0, numba.float64)
    partial = cuda.shared.array((2, TILE), numba.float64)
    largest = cuda.shared.array(TILE, numba.float64)
    thread = cuda.threadIdx.x
    for entry in range(thread, table.size, TILE):
        table[entry] = tables[8 * first + entry // 256, entry % 256]
    cuda.syncthreads()
    error, product, most = 0.0, 0.0, 0.0
    xs = cuda.local.array(AHEAD, numba.float64)
    inside = cuda.local.array(AHEAD, numba.uint64)
    residuals = cuda.local.array(AHEAD, numba.float64)
    n_bytes = table.size // 256
    end = targets.size - 1
    start = cuda.blockIdx.x * TILE + thread
    stride = cuda.gridDim.x * TILE
    while start <= end:
        for k in range(AHEAD):
            xs[k] = out_costs[min(start + k * stride, end)] if first > 0 else 0.0
        for word in range(first, last):
            for k in range(AHEAD):
                inside[k] = ALL
            for mode in range(rows.shape[0]):
                for k in range(AHEAD):
                    inside[k] &= words[rows[mode, min(start + k * stride, end)], word]
            for byte in range(8 * (word - first), min(8 * (word - first) + 8, n_bytes)):
                for k in range(AHEAD):
                    xs[k] += table[256 * byte + np.int64(inside[k] & LOWEST_BYTE)]
                    inside[k] >>= EIGHT
        for k in range(AHEAD):
            residuals[k] = xs[k] - targets[min(start + k * stride, end)]
        for k in range(AHEAD):
            cell = start + k * stride
            if cell <= end:
                if more:
                    out_costs[cell] = xs[k]
                else:
                    weighted = one_share * shares[cell * step] * residuals[k]
                    out_costs[cell] = 2.0 * weighted
                    error += weighted * residuals[k]
                    product += 2.0 * weighted * xs[k]
                    most = max(most, abs(2.0 * weighted))
        start += AHEAD * stride
    partial[0, thread] = error
    partial[1, thread] = product
    largest[thread] = most
    add_up(partial)
    find_largest(largest)
    if thread < 2:
        out_totals[cuda.blockIdx.x, thread] = partial[thread, 0]
        out_totals[cuda.blockIdx.x, 2] = largest[0]


@cuda.jit(cache=True)
def vertex_sums(
    rows: AnyArray, words: WordArray, word: int, costs: FloatArray, out_sums: FloatArray
) -> None:
    """Write the sums of the costs over each vertex of a word, for each block.

    ``out_sums`` is (blocks, 64).
    """
    inside = cuda.shared.array((2, TILE), numba.uint32)
    amounts = cuda.shared.array(TILE, numba.float64)
    thread = cuda.threadIdx.x
    vertex, part = thread % 64, thread // 64
    half = vertex // 32
    own = np.uint32(1) << np.uint32(vertex % 32)
    total, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    start = cuda.blockIdx.x * TILE
    while start < costs.size:
        cell = min(start + thread, costs.size - 1)
        members = vertices_around(rows, words, word, cell)
        if start + thread >= costs.size:
            members = NONE
        halve(members, inside)
        amounts[thread] = costs[cell]
        cuda.syncthreads()
        for cell in range(64 * part, 64 * part + 64, 4):
            total += amounts[cell] if inside[half, cell] & own else 0.0
            second += amounts[cell + 1] if inside[half, cell + 1] & own else 0.0
            third += amounts[cell + 2] if inside[half, cell + 2] & own else 0.0
            fourth += amounts[cell + 3] if inside[half, cell + 3] & own else 0.0
        cuda.syncthreads()
        start += cuda.gridDim.x * TILE
    total = (total + second) + (third + fourth)
    amounts[thread] = total
    cuda.syncthreads()
    if thread < 64:
        for other in range(1, TILE // 64):
            total += amounts[64 * other + thread]
        out_sums[cuda.blockIdx.x, thread] = total


@cuda.jit(cache=True)
def bound_sums(
    costs: FloatArray,
    targets: FloatArray,
    shares: AnyArray,
    step: int,
    one_share: float,
    out_sums: FloatArray,
) -> None:
    """Write the four sums of ``BoundSums`` for each block to (blocks, 4) ``out_sums``."""
    partial = cuda.shared.array((4, TILE), numba.float64)
    thread = cuda.threadIdx.x
    cheapest, product, size, square = 0.0, 0.0, 0.0, 0.0
    cell = cuda.blockIdx.x * TILE + thread
    while cell < costs.size:
        cost = costs[cell]
        cheapest += min(cost, 0.0)
        product += cost * targets[cell]
        size += abs(cost * targets[cell])
        square += cost * (cost / (one_share * shares[cell * step]))
        cell += cuda.gridDim.x * TILE
    partial[0, thread] = cheapest
    partial[1, thread] = product
    partial[2, thread] = size
    partial[3, thread] = square
    add_up(partial)
    if thread < 4:
        out_sums[cuda.blockIdx.x, thread] = partial[thread, 0]


def first_vertices(words: WordArray, n_words: int, count: int) -> WordArray:
    """Return a copy of the first words with all bits cleared after the first ``count`` vertices."""
    copied = words[:, :n_words].copy()
    copied[:, -1] &= np.uint64((1 << (count - 64 * (n_words - 1))) - 1)
    return copied


def byte_sums(weights: FloatArray) -> FloatArray:
    """Return (n_bytes, 256) sums over every subset of each eight weights."""
    of_bytes = weights.reshape(-1, 8)
    found = np.zeros((len(of_bytes), 256))
    for bit in range(8):
        size = 1 << bit
        found[:, size : 2 * size] = found[:, :size] + of_bytes[:, bit, np.newaxis]
    return found
