"""Blocks of the Gram matrix of vertices as CUDA kernels, the twins of ``kernels.gram``."""

from __future__ import annotations

from typing import Any

import numba.cuda
import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray, WordArray
from intensor.backends.cuda.device import simulated
from intensor.backends.cuda.thread_blocks import HALF, LOW_HALF, TILE, vertices_around
from intensor.kernels.bits import NONE, ONE

cuda: Any = numba.cuda

WARP = 32
ALL_LANES = 0xFFFFFFFF
PARTS = TILE // WARP
PADDED = PARTS + 1
"""Row length for which the bits of neighbouring vertices are in different memory banks."""
PAIRS = 4096 // TILE
"""Number of entries of a block of the Gram matrix that one thread counts."""
MAILBOX = TILE if simulated() else 1
"""Length of the shared array that the simulator uses instead of shuffles between lanes."""


@cuda.jit(device=True, inline="always")
def _swap(word: Any, width: int, low: int) -> Any:
    """Swap the off-diagonal quarters of each square of twice the width; lanes hold the rows."""
    other = np.uint32(cuda.shfl_xor_sync(ALL_LANES, np.int32(word), width))
    if cuda.threadIdx.x & width:
        return (word & ~np.uint32(low)) | ((other >> np.uint32(width)) & np.uint32(low))
    return (word & np.uint32(low)) | ((other << np.uint32(width)) & ~np.uint32(low))


@cuda.jit(device=True, inline="always")
def _transpose_shuffled(half: Any, _mailbox: AnyArray) -> Any:
    """Transpose the 32 x 32 bits of a warp: return the lanes that have this lane's bit set."""
    word = _swap(half, 16, 0x0000FFFF)
    word = _swap(word, 8, 0x00FF00FF)
    word = _swap(word, 4, 0x0F0F0F0F)
    word = _swap(word, 2, 0x33333333)
    return _swap(word, 1, 0x55555555)


def _transpose_simulated(half: Any, mailbox: AnyArray) -> Any:
    """Do the same in the simulator, where lanes cannot shuffle."""
    thread = cuda.threadIdx.x
    mailbox[thread] = half
    cuda.syncthreads()
    word = 0
    for lane in range(WARP):
        word |= (int(mailbox[thread - thread % WARP + lane]) >> (thread % WARP) & 1) << lane
    cuda.syncthreads()
    return np.uint32(word)


_transpose = cuda.jit(device=True)(_transpose_simulated) if simulated() else _transpose_shuffled


@cuda.jit(device=True, inline="always")
def _pack(word: Any, count: int, side: int, mailbox: AnyArray, out_packed: AnyArray) -> None:
    """Write the cells of a warp that have each of the first ``count`` bits set."""
    bit, part = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    if count > 0:
        out_packed[side, bit, part] = _transpose(np.uint32(word & LOW_HALF), mailbox)
    if count > WARP:
        out_packed[side, WARP + bit, part] = _transpose(np.uint32(word >> HALF), mailbox)


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

    The vertices are 64 first + low to 64 first + high - 1, and 64 second to 64 second + n_second -
    1. Cell j was observed ``counts[j * step]`` times. ``digits`` and ``n_planes`` are the binary
    digits of ``n_second - 1`` and of the largest count minus 1. The numbers are added to (64, 64)
    ``out_counts``.
    """
    mailbox = cuda.shared.array(MAILBOX, numba.uint32)
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
        _pack(one >> np.uint64(low), high - low, 0, mailbox, packed)
        _pack(two, n_second, 1, mailbox, packed)
        _pack(more, n_planes, 2, mailbox, packed)
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

    The sums are added to (64, 64) ``out_shares`` in integer multiples of ``1 / scale``.
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
        for neighbour in range(min(TILE, n_cells - start)):
            if (inside[0, neighbour] >> np.uint64(row)) & ONE:
                others = inside[1, neighbour] >> np.uint64(column)
                for pair in range(PAIRS):
                    if (others >> np.uint64(pair)) & ONE:
                        totals[pair] += amounts[neighbour]
        cuda.syncthreads()
        start += cuda.gridDim.x * TILE
    for pair in range(PAIRS):
        if totals[pair] != 0:
            cuda.atomic.add(out_shares, (row, column + pair), totals[pair])
