"""Blocks of the Gram matrix of vertices as CUDA kernels: cells that two vertices share."""

from __future__ import annotations

from typing import Any

import numba.cuda
import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray, WordArray
from intensor.backends.cuda.blocks import HALF, LOW_HALF, NONE, TILE, vertices_around
from intensor.backends.cuda.device import simulated

cuda: Any = numba.cuda

__all__ = ["PAIRS", "gram_block", "gram_block_weighted"]

WARP = 32
ALL_LANES = 0xFFFFFFFF
PARTS = TILE // WARP
PADDED = PARTS + 1
"""Numbers of neighbouring vertices are then in different banks of the shared memory."""
PAIRS = 4096 // TILE
"""Entries of a block of the Gram matrix that a thread of ``gram_block`` counts."""
TALK = TILE if simulated() else 1
"""What lanes tell each other under the simulator."""
ONE = np.uint64(1)


@cuda.jit(device=True, inline="always")
def _swap(word: Any, width: int, low: int) -> Any:
    """Swap two quarters of each square of twice the width, in a matrix with a row per lane."""
    other = np.uint32(cuda.shfl_xor_sync(ALL_LANES, np.int32(word), width))
    if cuda.threadIdx.x & width:
        return (word & ~np.uint32(low)) | ((other >> np.uint32(width)) & np.uint32(low))
    return (word & np.uint32(low)) | ((other << np.uint32(width)) & ~np.uint32(low))


@cuda.jit(device=True, inline="always")
def _turn_shuffled(half: Any, _talk: AnyArray) -> Any:
    """Return which of the 32 lanes of a warp have the bit that is numbered as this lane."""
    word = _swap(half, 16, 0x0000FFFF)
    word = _swap(word, 8, 0x00FF00FF)
    word = _swap(word, 4, 0x0F0F0F0F)
    word = _swap(word, 2, 0x33333333)
    return _swap(word, 1, 0x55555555)


def _turn_simulated(half: Any, talk: AnyArray) -> Any:
    """Return the same where lanes cannot talk to each other."""
    thread = cuda.threadIdx.x
    talk[thread] = half
    cuda.syncthreads()
    word = 0
    for lane in range(WARP):
        word |= (int(talk[thread - thread % WARP + lane]) >> (thread % WARP) & 1) << lane
    cuda.syncthreads()
    return np.uint32(word)


_turn = cuda.jit(device=True)(_turn_simulated) if simulated() else _turn_shuffled


@cuda.jit(device=True, inline="always")
def _pack(word: Any, count: int, side: int, talk: AnyArray, out_packed: AnyArray) -> None:
    """Write, for each of some bits, which of a warp's 32 cells have it."""
    place, part = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    if count > 0:
        out_packed[side, place, part] = _turn(np.uint32(word & LOW_HALF), talk)
    if count > WARP:
        out_packed[side, WARP + place, part] = _turn(np.uint32(word >> HALF), talk)


@cuda.jit(cache=True)
def gram_block(
    rows: AnyArray,
    words: WordArray,
    first: int,
    low: int,
    high: int,
    second: int,
    n_second: int,
    digits: int,
    counts: AnyArray,
    step: int,
    n_planes: int,
    out_counts: IndexArray,
) -> None:
    """Count the observations that each pair of vertices of two words has in common.

    Parameters
    ----------
    first, low, high, second, n_second
        The words, and which vertices of each: ``64 first + low .. high`` and ``64 second ..``.
    digits
        Binary digits of ``n_second - 1``.
    counts, step
        Cell j was observed ``counts[j * step]`` times.
    n_planes
        Binary digits of the largest count minus 1.
    out_counts
        (64, 64) to which the numbers are added.
    """
    talk = cuda.shared.array(TALK, numba.uint32)
    packed = cuda.shared.array((3, 64, PADDED), numba.uint32)
    totals = cuda.local.array(PAIRS, numba.int64)
    thread = cuda.threadIdx.x
    n_pairs = (high - low) << digits
    for turn in range(PAIRS):
        totals[turn] = 0
    n_cells = rows.shape[1]
    start = cuda.blockIdx.x * TILE
    while start < n_cells:
        cell = min(start + thread, n_cells - 1)
        one = vertices_around(rows, words, first, cell)
        two = one if first == second else vertices_around(rows, words, second, cell)
        more = np.uint64(counts[cell * step]) - ONE
        if start + thread >= n_cells:
            one = NONE
        _pack(one >> np.uint64(low), high - low, 0, talk, packed)
        _pack(two, n_second, 1, talk, packed)
        _pack(more, n_planes, 2, talk, packed)
        cuda.syncthreads()
        for turn in range(PAIRS):
            pair = thread + TILE * turn
            if pair < n_pairs:
                row, column = pair >> digits, pair & ((1 << digits) - 1)
                total = 0
                for part in range(PARTS):
                    both = packed[0, row, part] & packed[1, column, part]
                    total += cuda.popc(both)
                    for plane in range(n_planes):
                        total += cuda.popc(both & packed[2, plane, part]) << plane
                totals[turn] += total
        cuda.syncthreads()
        start += cuda.gridDim.x * TILE
    for turn in range(PAIRS):
        pair = thread + TILE * turn
        row, column = pair >> digits, pair & ((1 << digits) - 1)
        if pair < n_pairs and column < n_second:
            cuda.atomic.add(out_counts, (low + row, column), totals[turn])


@cuda.jit(cache=True)
def gram_block_weighted(
    rows: AnyArray,
    words: WordArray,
    first: int,
    second: int,
    shares: FloatArray,
    scale: float,
    out_shares: IndexArray,
) -> None:
    """Add up the shares of the cells that each pair of vertices of two words has in common.

    Parameters
    ----------
    scale
        Shares are counted in whole multiples of ``1 / scale``.
    out_shares
        (64, 64) to which the sums are added.
    """
    inside = cuda.shared.array((2, TILE), numba.uint64)
    amounts = cuda.shared.array(TILE, numba.int64)
    totals = cuda.local.array(PAIRS, numba.int64)
    thread = cuda.threadIdx.x
    row, column = thread * PAIRS // 64, thread * PAIRS % 64
    for pair in range(PAIRS):
        totals[pair] = 0
    n_cells = rows.shape[1]
    start = cuda.blockIdx.x * TILE
    while start < n_cells:
        cell = start + thread
        amounts[thread] = 0
        if cell < n_cells:
            inside[0, thread] = vertices_around(rows, words, first, cell)
            inside[1, thread] = vertices_around(rows, words, second, cell)
            amounts[thread] = np.int64(round(shares[cell] * scale))
        cuda.syncthreads()
        for place in range(min(TILE, n_cells - start)):
            if (inside[0, place] >> np.uint64(row)) & ONE:
                others = inside[1, place] >> np.uint64(column)
                for pair in range(PAIRS):
                    if (others >> np.uint64(pair)) & ONE:
                        totals[pair] += amounts[place]
        cuda.syncthreads()
        start += cuda.gridDim.x * TILE
    for pair in range(PAIRS):
        if totals[pair] != 0:
            cuda.atomic.add(out_shares, (row, column + pair), totals[pair])
