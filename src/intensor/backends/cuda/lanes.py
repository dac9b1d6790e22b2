"""Alternating minimisation in bit lanes as CUDA kernels, the twins of ``kernels.lanes``.

``rows`` is (p, u) here, and ``lanes`` and ``origins`` are (sum(shape), 1). Cell j counts
``one_share * shares[j * step]``.
"""

from __future__ import annotations

from typing import Any

import numba.cuda
import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray, WordArray
from intensor.backends.cuda.thread_blocks import TILE, halve, lowest_bit, vertices_around
from intensor.kernels.bits import NONE, ONE

cuda: Any = numba.cuda

STRETCH = 16
"""Number of cells of equal index that ``lane_sums_runs`` adds up without looking at the index."""
STRETCHES_PER_TILE = TILE // STRETCH
"""Number of stretches in a tile; a kernel needs it as a constant."""
ALL_SHARES = 2.0**61
"""Integer to which the shares of all cells are scaled."""


@cuda.jit(device=True, inline=True)
def _cost(
    amount: int, share: float, inside: np.uint64, lane: int, weights: FloatArray, scale: float
) -> Any:
    """Return the cost of a cell in a lane, including the curvature, as an integer."""
    weight = weights[lane]
    if weight == 0.0:
        return amount
    change = np.int64(round(share * (weight * scale)))
    return amount - change if (inside >> np.uint64(lane)) & ONE else amount + change


@cuda.jit(cache=True)
def lane_sums(
    rows: AnyArray,
    costs: FloatArray,
    shares: AnyArray,
    step: int,
    one_share: float,
    sign: float,
    scale: float,
    origins: WordArray,
    weights: FloatArray,
    lanes: WordArray,
    live: np.uint64,
    mode: int,
    low: int,
    out_sums: IndexArray,
) -> None:
    """Add the cost of each index of a mode to ``out_sums``, lane by lane.

    Costs are multiplied by the sign and counted in integer multiples of ``1 / scale``. ``origins``
    and ``weights`` (64,) are the vertices to exchange, as in the twin ``lane_sums_around``; a
    weight of 0 does not change the cost.
    """
    cell = cuda.blockIdx.x * TILE + cuda.threadIdx.x
    while cell < costs.size:
        members = live
        for other in range(rows.shape[0]):
            if other != mode:
                members &= lanes[rows[other, cell], 0]
        if members != NONE:
            inside = vertices_around(rows, origins, 0, cell)
            amount = np.int64(round(sign * costs[cell] * scale))
            share = one_share * shares[cell * step]
            index = rows[mode, cell] - low
            while members != NONE:
                lane = lowest_bit(members)
                cost = _cost(amount, share, inside, lane, weights, scale)
                cuda.atomic.add(out_sums, (index, lane), cost)
                members &= members - ONE
        cell += cuda.gridDim.x * TILE


@cuda.jit(device=True, inline="always")
def _deliver(
    total: Any, curvature: Any, factor: float, index: int, lane: int, out_sums: IndexArray
) -> None:
    """Add a thread's sums for an index, unless both are 0."""
    if total != 0 or curvature != 0:
        cuda.atomic.add(out_sums, (index, lane), total + np.int64(round(curvature * factor)))


@cuda.jit(cache=True)
def lane_sums_runs(  # noqa: PLR0912, PLR0915  (the innermost loop, for each case it can meet)
    rows: AnyArray,
    costs: FloatArray,
    shares: AnyArray,
    step: int,
    one_share: float,
    sign: float,
    scale: float,
    origins: WordArray,
    weights: FloatArray,
    lanes: WordArray,
    live: np.uint64,
    width: int,
    exchange: bool,
    mode: int,
    low: int,
    out_sums: IndexArray,
) -> None:
    """Do the same, but faster if neighbouring cells mostly have the same index of the mode.

    A thread follows one lane through its part of every tile and adds to ``out_sums`` only when the
    index changes. Blocks take consecutive tiles. ``width`` is 16, 32 or 64, at least the number of
    lanes in use; ``exchange`` says whether any weight is above 0.
    """
    members = cuda.shared.array((2, TILE), numba.uint32)
    inside = cuda.shared.array((2, TILE), numba.uint32)
    amounts = cuda.shared.array(TILE, numba.int64)
    parts = cuda.shared.array(TILE, numba.int64)
    indices = cuda.shared.array(TILE, numba.int32)
    mixed_in = cuda.shared.array(STRETCHES_PER_TILE, numba.int32)  # last tile with several indices
    thread = cuda.threadIdx.x
    lane, first = thread % width, thread // width * width
    half = lane // 32
    own = np.uint32(1) << np.uint32(lane % 32)
    factor = weights[lane] * scale / ALL_SHARES
    n_cells = costs.size
    tiles = (n_cells + TILE - 1) // TILE
    each = (tiles + cuda.gridDim.x - 1) // cuda.gridDim.x
    total = np.int64(0)
    curvature = np.int64(0)
    current = np.int32(-1)
    if thread < TILE // STRETCH:
        mixed_in[thread] = -1
    cuda.syncthreads()
    for tile in range(cuda.blockIdx.x * each, min((cuda.blockIdx.x + 1) * each, tiles)):
        cell = min(tile * TILE + thread, n_cells - 1)
        word = live if tile * TILE + thread < n_cells else NONE
        for other in range(rows.shape[0]):
            if other != mode:
                word &= lanes[rows[other, cell], 0]
        halve(word, members)
        amounts[thread] = np.int64(round(sign * costs[cell] * scale))
        indices[thread] = rows[mode, cell] - low
        head = min(tile * TILE + thread - thread % STRETCH, n_cells - 1)
        if rows[mode, cell] != rows[mode, head]:
            mixed_in[thread // STRETCH] = tile
        if exchange:
            halve(vertices_around(rows, origins, 0, cell), inside)
            parts[thread] = np.int64(round(one_share * shares[cell * step] * ALL_SHARES))
        cuda.syncthreads()
        for start in range(first, first + width, STRETCH):
            if indices[start] != current:
                _deliver(total, curvature, factor, current, lane, out_sums)
                current = indices[start]
                total = np.int64(0)
                curvature = np.int64(0)
            if mixed_in[start // STRETCH] == tile:
                for cell in range(start, start + STRETCH):
                    if indices[cell] != current:
                        _deliver(total, curvature, factor, current, lane, out_sums)
                        current = indices[cell]
                        total = np.int64(0)
                        curvature = np.int64(0)
                    if members[half, cell] & own:
                        total += amounts[cell]
                        if exchange:
                            curvature += -parts[cell] if inside[half, cell] & own else parts[cell]
            elif exchange:
                for k in range(STRETCH):
                    part = -parts[start + k] if inside[half, start + k] & own else parts[start + k]
                    is_member = members[half, start + k] & own != 0
                    total += amounts[start + k] if is_member else 0
                    curvature += part if is_member else 0
            else:
                for k in range(STRETCH):
                    total += amounts[start + k] if members[half, start + k] & own else 0
        cuda.syncthreads()
    _deliver(total, curvature, factor, current, lane, out_sums)


@cuda.jit(cache=True)
def switch_lanes(
    sums: IndexArray,
    live: np.uint64,
    count: int,
    low: int,
    out_lanes: WordArray,
    out_values: IndexArray,
) -> None:
    """Switch on exactly the indices of negative cost, in every live lane.

    ``sums`` (r, 64) are the costs; those of the first ``count`` lanes, which are in use, are set to
    0 again. The part of ``out_lanes`` that begins at ``low`` is set, and the value of each lane is
    added to ``out_values`` (64,).
    """
    index = cuda.grid(1)
    if index >= sums.shape[0]:
        return
    word = NONE
    for lane in range(count):
        total = sums[index, lane]
        sums[index, lane] = 0
        if total < 0:
            word |= ONE << np.uint64(lane)
            cuda.atomic.add(out_values, lane, total)
    out_lanes[low + index, 0] = (out_lanes[low + index, 0] & ~live) | (word & live)
