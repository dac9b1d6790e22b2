"""Blocks of threads on a CUDA device: the cells they take, and what their threads share.

A block takes one tile of ``TILE`` cells after the other, one cell per thread. Grids depend on the
number of cells alone, partial sums of floats are added up in the order of the blocks, and sums
that many threads add to are sums of integers: the same data gives the same bits on any device.
"""

from __future__ import annotations

import contextlib
import importlib
from typing import Any

import numba.cuda
import numpy as np

from intensor._arrays import AnyArray, FloatArray, WordArray
from intensor.backends.cuda.device import simulated
from intensor.kernels.bits import ALL
from intensor.runtime.compiling import announce_device, listen

cuda: Any = numba.cuda

TILE = 64 if simulated() else 256
"""Number of threads of a block and of cells it takes at a time; few for the slow simulator."""
MAX_BLOCKS = 8192
"""Most blocks of a grid."""
LOW_HALF = np.uint64(2**32 - 1)
HALF = np.uint64(32)

with contextlib.suppress(ImportError, ValueError):  # some versions do not report events
    listen(
        importlib.import_module("numba.cuda.core.event"),
        "numba-cuda:compiler_lock",
        announce_device,
    )


def grid_of(n_cells: int) -> int:
    """Return the number of blocks for a number of cells."""
    return max(1, min(MAX_BLOCKS, -(-n_cells // TILE)))


def narrow(words: WordArray, count: int) -> AnyArray:
    """Return words of 32 bits if that is enough for ``count`` vertices: more fit into a cache."""
    return words.astype(np.uint32 if count <= 32 else np.uint64)


@cuda.jit(device=True, inline=True)
def vertices_around(rows: AnyArray, words: WordArray, word: int, cell: int) -> Any:
    """Return the vertices of a word that contain a cell, one bit each."""
    members = ALL
    for mode in range(rows.shape[0]):
        members &= words[rows[mode, cell], word]
    return members


@cuda.jit(device=True, inline=True)
def _lowest_bit(word: np.uint64) -> Any:
    return cuda.ffs(word) - 1


def _lowest_bit_simulated(word: np.uint64) -> int:
    return (int(word) & -int(word)).bit_length() - 1


lowest_bit = cuda.jit(device=True)(_lowest_bit_simulated) if simulated() else _lowest_bit
"""Return the number of the lowest set bit of a word; the simulator's ``ffs`` ends at 32 bits."""


@cuda.jit(device=True, inline="always")
def add_up(partial: FloatArray) -> None:
    """Add up each row of a shared array, which has one column per thread, in a fixed order."""
    thread = cuda.threadIdx.x
    width = TILE // 2
    while width > 0:
        cuda.syncthreads()
        if thread < width:
            for kind in range(partial.shape[0]):
                partial[kind, thread] += partial[kind, thread + width]
        width //= 2
    cuda.syncthreads()


@cuda.jit(device=True, inline="always")
def find_largest(shared: FloatArray) -> None:
    """Find the largest number of a shared array, which has one number per thread."""
    thread = cuda.threadIdx.x
    width = TILE // 2
    while width > 0:
        cuda.syncthreads()
        if thread < width:
            shared[thread] = max(shared[thread], shared[thread + width])
        width //= 2
    cuda.syncthreads()


@cuda.jit(device=True, inline="always")
def halve(word: np.uint64, out_halves: AnyArray) -> None:
    """Write both halves of a thread's word to shared memory."""
    out_halves[0, cuda.threadIdx.x] = np.uint32(word & LOW_HALF)
    out_halves[1, cuda.threadIdx.x] = np.uint32(word >> HALF)
