"""Blocks of threads on a CUDA device: how cells are dealt out to them, and what they do together.

A block takes tiles of ``TILE`` cells in turn, one per thread. Grids depend on the number of cells
alone, partial sums of floats are added up in the order of the blocks, and sums that many threads
add to are of integers: the same data gives the same bits, whatever the device.
"""

from __future__ import annotations

import contextlib
import importlib
from typing import Any

import numba.cuda
import numpy as np

from intensor._arrays import AnyArray, FloatArray, WordArray
from intensor.backends.cuda.device import simulated
from intensor.runtime.compiling import announce_device, listen

cuda: Any = numba.cuda

__all__ = [
    "ALL",
    "HALF",
    "LOW_HALF",
    "NONE",
    "TILE",
    "add_up",
    "find_largest",
    "grid_of",
    "halve",
    "vertices_around",
]

TILE = 64 if simulated() else 256
"""Threads of a block, and cells that it takes at a time. The simulator's are slow."""
MOST_BLOCKS = 8192
LOW_HALF = np.uint64(2**32 - 1)
HALF = np.uint64(32)
NONE = np.uint64(0)
ALL = np.uint64(2**64 - 1)

with contextlib.suppress(ImportError, ValueError):  # of versions that do not report it
    listen(
        importlib.import_module("numba.cuda.core.event"),
        "numba-cuda:compiler_lock",
        announce_device,
    )


def grid_of(n_cells: int) -> int:
    """Return how many blocks go through so many cells."""
    return max(1, min(MOST_BLOCKS, -(-n_cells // TILE)))


@cuda.jit(device=True, inline=True)
def vertices_around(rows: AnyArray, words: WordArray, word: int, cell: int) -> Any:
    """Return which of up to 64 vertices contain a cell."""
    members = ALL
    for mode in range(rows.shape[0]):
        members &= words[rows[mode, cell], word]
    return members


@cuda.jit(device=True, inline="always")
def add_up(partial: FloatArray) -> None:
    """Add up each row of a shared array with a column per thread, always in the same order."""
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
    """Find the largest number of a shared array with one per thread."""
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
    """Write a thread's word where others look at one of its halves."""
    out_halves[0, cuda.threadIdx.x] = np.uint32(word & LOW_HALF)
    out_halves[1, cuda.threadIdx.x] = np.uint32(word >> HALF)
