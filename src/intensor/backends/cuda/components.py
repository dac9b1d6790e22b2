"""Sums over cells of products of graded components as CUDA kernels; see ``kernels.components``.

``rows`` is (p, u) here. Factors and weights are padded with zeros to a multiple of ``COLUMNS``
components. A block of threads multiplies the factors of ``CELLS`` cells at a time, ``COLUMNS``
components of them, and keeps the products in shared memory. Cell j counts
``one_share * shares[j * step]``.
"""

from __future__ import annotations

from typing import Any

import numba.cuda
import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray
from intensor.backends.cuda.device import simulated
from intensor.backends.cuda.thread_blocks import TILE, add_up, find_largest

cuda: Any = numba.cuda

COLUMNS = 8 if simulated() else 32
"""Number of components whose products a block holds at a time; few for the slow simulator."""
CELLS = 16 if simulated() else 64
"""Number of cells whose products a block holds at a time; at least ``COLUMNS``."""
STRIDE = COLUMNS + 1
"""Length of a row of products in shared memory; an odd one spreads columns over all banks."""
ROWS = TILE // COLUMNS
"""Number of cells that the threads of a block work on at once."""
EACH = CELLS // ROWS
"""Number of cells of which a thread multiplies factors, all at the same time."""
PARTS = TILE // CELLS
"""Number of threads that add up the products of one cell."""
WIDTH = COLUMNS // PARTS
"""Number of products that each of them adds up."""
SIDE = COLUMNS // 4
"""Every thread adds up 4 x 4 entries of a matrix, which are this far apart."""
GROUPS = TILE // (SIDE * SIDE)
"""Number of groups of threads, each of which adds up a matrix over some of the cells."""
MIN_CHUNK = 256
"""Fewest cells of one index for a block of threads, if the index has as many."""
MAX_CHUNKS = 8192
"""Most chunks into which cells are cut because there are many of them."""


def padded(columns: FloatArray) -> FloatArray:
    """Return a contiguous copy of (m, k) numbers with zeros up to a multiple of ``COLUMNS``."""
    rows, count = columns.shape
    found = np.zeros((rows, -(-count // COLUMNS) * COLUMNS))
    found[:, :count] = columns
    return found


def pairs_of(count: int) -> IndexArray:
    """Return the pairs of groups of ``COLUMNS`` components, (n_pairs, 2), the lower one first."""
    n_groups = -(-count // COLUMNS)
    return np.array([(a, b) for a in range(n_groups) for b in range(a, n_groups)], dtype=np.int64)


@cuda.jit(device=True, inline="always")
def _multiply(
    rows: AnyArray,
    factors: FloatArray,
    skipped: int,
    cells: IndexArray,
    column: int,
    products: FloatArray,
    out_products: FloatArray,
) -> None:
    """Write the products of the factors of the cells in all modes but ``skipped``, if any.

    A thread works on one column and ``EACH`` cells, with ``products`` as its own memory.
    """
    place, row = cuda.threadIdx.x % COLUMNS, cuda.threadIdx.x // COLUMNS
    for k in range(EACH):
        products[k] = 1.0
    for mode in range(rows.shape[0]):
        if mode != skipped:
            for k in range(EACH):
                products[k] *= factors[rows[mode, cells[row + k * ROWS]], column + place]
    for k in range(EACH):
        out_products[row + k * ROWS, place] = products[k]


@cuda.jit(device=True, inline="always")
def _weigh(products: FloatArray, weights: FloatArray, row: int, column: int) -> Any:
    """Return a thread's part of the weighted sum of the products of its cell."""
    cell, low = cuda.threadIdx.x % CELLS, WIDTH * (cuda.threadIdx.x // CELLS)
    x = 0.0
    for place in range(low, low + WIDTH):
        x += weights[row, column + place] * products[cell, place]
    return x


@cuda.jit(device=True, inline="always")
def _join(parts: FloatArray) -> Any:
    """Return the sum of the parts of a thread's cell, in order."""
    x = 0.0
    for part in range(PARTS):
        x += parts[0, cuda.threadIdx.x + part * CELLS]
    return x


@cuda.jit(cache=True)
def fit_components(
    rows: AnyArray,
    factors: FloatArray,
    weights: FloatArray,
    targets: FloatArray,
    shares: AnyArray,
    step: int,
    one_share: float,
    out_costs: FloatArray,
    out_totals: FloatArray,
) -> None:
    """Evaluate a weighted sum of components on all cells.

    ``weights`` are (1, k). The outputs are those of ``fit_cells``.
    """
    products = cuda.shared.array((CELLS, STRIDE), numba.float64)
    cells = cuda.shared.array(CELLS, numba.int64)
    partial = cuda.shared.array((2, TILE), numba.float64)
    largest = cuda.shared.array(TILE, numba.float64)
    own = cuda.local.array(EACH, numba.float64)
    thread = cuda.threadIdx.x
    error, product, most = 0.0, 0.0, 0.0
    start = cuda.blockIdx.x * CELLS
    while start < targets.size:
        if thread < CELLS:
            cells[thread] = min(start + thread, targets.size - 1)
        cuda.syncthreads()
        x = 0.0
        for column in range(0, factors.shape[1], COLUMNS):
            _multiply(rows, factors, -1, cells, column, own, products)
            cuda.syncthreads()
            x += _weigh(products, weights, 0, column)
            cuda.syncthreads()
        partial[0, thread] = x
        cuda.syncthreads()
        cell = start + thread
        if thread < CELLS and cell < targets.size:
            x = _join(partial)
            residual = x - targets[cell]
            weighted = one_share * shares[cell * step] * residual
            out_costs[cell] = 2.0 * weighted
            error += weighted * residual
            product += 2.0 * weighted * x
            most = max(most, abs(2.0 * weighted))
        start += cuda.gridDim.x * CELLS
    cuda.syncthreads()
    partial[0, thread] = error
    partial[1, thread] = product
    largest[thread] = most
    add_up(partial)
    find_largest(largest)
    if thread < 2:
        out_totals[cuda.blockIdx.x, thread] = partial[thread, 0]
        out_totals[cuda.blockIdx.x, 2] = largest[0]


@cuda.jit(cache=True)
def normal_equations(  # noqa: PLR0912, PLR0915  (a tile in steps, with barriers between them)
    rows: AnyArray,
    order: AnyArray,
    chunks: IndexArray,
    pairs: IndexArray,
    mode: int,
    factors: FloatArray,
    owns: FloatArray,
    targets: FloatArray,
    shares: AnyArray,
    step: int,
    one_share: float,
    out_matrices: FloatArray,
    out_slopes: FloatArray,
    out_errors: FloatArray,
) -> None:
    """Sum up the normal equations of chunks of cells that have the same index of a mode.

    A block takes one chunk and one pair of groups of ``COLUMNS`` components. Where the two are the
    same group, it adds up that part of the slope too, and the first group the error.

    Parameters
    ----------
    order
        (u,) cells sorted by their index of the mode.
    chunks
        (n_chunks, 3) row of the index in ``owns``, first cell in the order, and end.
    pairs
        (n_pairs, 2) numbers of two groups of components, the lower one first.
    owns
        (m, k) factors of the indices in this mode times the weights.
    out_matrices, out_slopes, out_errors
        (n_chunks, n_pairs, COLUMNS, COLUMNS), (n_chunks, k) and (n_chunks,).
    """
    left = cuda.shared.array((CELLS, STRIDE), numba.float64)
    right = cuda.shared.array((CELLS, STRIDE), numba.float64)
    cells = cuda.shared.array(CELLS, numba.int64)
    amounts = cuda.shared.array(CELLS, numba.float64)
    residuals = cuda.shared.array(CELLS, numba.float64)
    partial = cuda.shared.array((1, TILE), numba.float64)
    products = cuda.local.array(EACH, numba.float64)
    sums = cuda.local.array((4, 4), numba.float64)
    across = cuda.local.array(4, numba.float64)
    thread = cuda.threadIdx.x
    chunk, pair = cuda.blockIdx.x // pairs.shape[0], cuda.blockIdx.x % pairs.shape[0]
    index, start, end = chunks[chunk, 0], chunks[chunk, 1], chunks[chunk, 2]
    first, second = COLUMNS * pairs[pair, 0], COLUMNS * pairs[pair, 1]
    column, row = thread % COLUMNS, thread // COLUMNS
    group, entry = thread // (SIDE * SIDE), thread % (SIDE * SIDE)
    top, side = entry // SIDE, entry % SIDE
    for i in range(4):
        for j in range(4):
            sums[i, j] = 0.0
    slope, error = 0.0, 0.0
    while start < end:
        if thread < CELLS:
            cell = np.int64(order[min(start + thread, end - 1)])
            cells[thread] = cell
            share = one_share * shares[cell * step]
            amounts[thread] = share if start + thread < end else 0.0
        cuda.syncthreads()
        if first == second:
            x = 0.0
            other = first
            for _ in range(0, factors.shape[1], COLUMNS):  # the group itself comes last
                other = other + COLUMNS if other + COLUMNS < factors.shape[1] else 0
                _multiply(rows, factors, mode, cells, other, products, right)
                cuda.syncthreads()
                x += _weigh(right, owns, index, other)
                if other != first:
                    cuda.syncthreads()
            partial[0, thread] = x
            for k in range(EACH):
                place = row + k * ROWS
                left[place, column] = amounts[place] * right[place, column]
            cuda.syncthreads()
            if thread < CELLS:
                residual = _join(partial) - targets[cells[thread]]
                weighted = amounts[thread] * residual
                residuals[thread] = weighted
                error += weighted * residual
            cuda.syncthreads()
            for k in range(EACH):
                slope += residuals[row + k * ROWS] * right[row + k * ROWS, column]
        else:
            _multiply(rows, factors, mode, cells, first, products, left)
            _multiply(rows, factors, mode, cells, second, products, right)
            for k in range(EACH):
                left[row + k * ROWS, column] *= amounts[row + k * ROWS]
            cuda.syncthreads()
        for place in range(group, CELLS, GROUPS):
            for j in range(4):
                across[j] = right[place, side + j * SIDE]
            for i in range(4):
                down = left[place, top + i * SIDE]
                for j in range(4):
                    sums[i, j] += down * across[j]
        cuda.syncthreads()
        start += CELLS
    for turn in range(GROUPS):  # the sums of all groups, in their order
        if group == turn:
            for i in range(4):
                for j in range(4):
                    known = 0.0 if turn == 0 else left[top + i * SIDE, side + j * SIDE]
                    left[top + i * SIDE, side + j * SIDE] = known + sums[i, j]
        cuda.syncthreads()
    for place in range(row, COLUMNS, ROWS):
        out_matrices[chunk, pair, place, column] = left[place, column]
    if first == second:
        partial[0, thread] = slope
        cuda.syncthreads()
        if thread < COLUMNS:
            total = 0.0
            for part in range(ROWS):
                total += partial[0, thread + part * COLUMNS]
            out_slopes[chunk, first + thread] = total
        cuda.syncthreads()
        partial[0, thread] = error
        add_up(partial)
        if thread == 0 and first == 0:
            out_errors[chunk] = partial[0, 0]


@cuda.jit(cache=True)
def add_chunks(
    starts: IndexArray,
    matrices: FloatArray,
    slopes: FloatArray,
    out_matrices: FloatArray,
    out_slopes: FloatArray,
) -> None:
    """Add up the sums of the chunks of every index, in their order.

    ``starts`` (m + 1,) are the first chunk of each index and the end of the last; ``matrices`` and
    ``slopes`` are the outputs of ``normal_equations``. The outputs are (m, k, k) and (m, k).
    """
    count = out_slopes.shape[1]
    n_groups = slopes.shape[1] // COLUMNS
    number = cuda.blockIdx.x * TILE + cuda.threadIdx.x
    while number < out_matrices.size:
        index, entry = number // (count * count), number % (count * count)
        low, high = min(entry // count, entry % count), max(entry // count, entry % count)
        above = low // COLUMNS
        pair = above * n_groups - above * (above - 1) // 2 + high // COLUMNS - above
        total = 0.0
        for chunk in range(starts[index], starts[index + 1]):
            total += matrices[chunk, pair, low % COLUMNS, high % COLUMNS]
        out_matrices[index, entry // count, entry % count] = total
        if entry < count:
            total = 0.0
            for chunk in range(starts[index], starts[index + 1]):
                total += slopes[chunk, entry]
            out_slopes[index, entry] = total
        number += cuda.gridDim.x * TILE
