"""Shared memory of the pattern kernel: its layout, and how warps tell each other numbers.

A block of threads has one warp for each block of rows. All its numbers are 32-bit integers in one
array, ``store``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba.cuda
import numpy as np

from intensor._arrays import AnyArray, IndexArray
from intensor.backends.cuda.device import simulated

cuda: Any = numba.cuda

WARP = 32
"""Number of threads of a warp, its lanes."""
ALL_LANES = 0xFFFFFFFF
"""Mask of the lanes that take part in a shuffle."""
LONGEST_BLOCK = 8
"""Most rows of a block: eight choices for each lane."""
MAX_CHOICES = 1 << LONGEST_BLOCK
"""Most choices of a block of rows."""
ZERO = np.int32(0)
LARGEST = np.int32(2**31 - 1)
SIMULATED = simulated()


class Layout(NamedTuple):
    """The sizes of a problem, and where each part of the shared memory begins."""

    n_columns: int
    n_rows: int
    n_blocks: int
    matrix: int  # (columns, rows) sum of the slabs that are on
    multipliers: int  # (blocks, columns) number that is added to each column in each block
    messages: int  # (2, blocks, 2) numbers that warps tell each other; rounds use two sets in turn
    counts: int  # (blocks,) number of promising choices of each block
    success: int  # (1,) set to 1 once a combination of choices is below the cutoff
    chosen: int  # (blocks, MAX_CHOICES) the promising choices
    chosen_sums: int  # (blocks, MAX_CHOICES) their cost for their block
    tables: int  # (blocks, columns, WARP) columns of the table for some of these choices
    lanes: int  # (blocks, WARP, 2) numbers of every lane; only the simulator needs them
    end: int  # number of integers in all


def layout_of(n_columns: int, n_rows: int, n_blocks: int) -> Layout:
    """Return the layout of the shared memory for a matrix in blocks of rows."""
    lengths = {
        "matrix": n_columns * n_rows,
        "multipliers": n_blocks * n_columns,
        "messages": 4 * n_blocks,
        "counts": n_blocks,
        "success": 1,
        "chosen": MAX_CHOICES * n_blocks,
        "chosen_sums": MAX_CHOICES * n_blocks,
        "tables": WARP * n_blocks * n_columns,
        "lanes": 2 * WARP * n_blocks if SIMULATED else 0,
    }
    ends = np.cumsum(list(lengths.values())).tolist()
    starts = dict(zip(lengths, [0, *ends], strict=False))
    return Layout(n_columns, n_rows, n_blocks, **starts, end=ends[-1])


def shared_bytes(n_columns: int, n_rows: int, n_blocks: int) -> int:
    """Return the bytes of shared memory that a block of threads needs."""
    return 4 * layout_of(n_columns, n_rows, n_blocks).end


@cuda.jit(device=True, inline="always")
def _least_shuffled(one: Any, two: Any, _store: AnyArray, _lanes: int) -> Any:
    """Return the least of a warp: of ``one`` in lane 0, of ``two`` in lane 16."""
    low = cuda.laneid < 16
    least = one if low else two
    least = min(least, cuda.shfl_xor_sync(ALL_LANES, two if low else one, 16))
    least = min(least, cuda.shfl_xor_sync(ALL_LANES, least, 8))
    least = min(least, cuda.shfl_xor_sync(ALL_LANES, least, 4))
    least = min(least, cuda.shfl_xor_sync(ALL_LANES, least, 2))
    return min(least, cuda.shfl_xor_sync(ALL_LANES, least, 1))


def _least_simulated(one: Any, two: Any, store: AnyArray, lanes: int) -> Any:
    """Do the same as ``_least_shuffled`` in the simulator, which has no shuffles."""
    thread = cuda.threadIdx.x
    store[lanes + 2 * thread] = one
    store[lanes + 2 * thread + 1] = two
    cuda.syncthreads()
    first = lanes + 2 * (thread - thread % WARP)
    which = 0 if thread % WARP < 16 else 1
    least = store[first + which]
    for lane in range(WARP):
        least = min(least, store[first + 2 * lane + which])
    cuda.syncthreads()
    return least


_least = cuda.jit(device=True)(_least_simulated) if SIMULATED else _least_shuffled


@cuda.jit(device=True, inline="always")
def message_start(layout: Layout, number: int) -> int:
    """Return the position of a round's messages, which the next round does not overwrite."""
    return layout.messages + 2 * layout.n_blocks * (number & 1)


@cuda.jit(device=True, inline="always")
def tell(store: AnyArray, message: int, lanes: int, one: Any, two: Any) -> None:
    """Tell all warps the least of two numbers over the lanes of this warp."""
    thread = cuda.threadIdx.x
    least = _least(one, two, store, lanes)
    if thread % WARP == 0:
        store[message + 2 * (thread // WARP)] = least
    if thread % WARP == 16:
        store[message + 2 * (thread // WARP) + 1] = least
    cuda.syncthreads()


@cuda.jit(device=True, inline="always")
def total(store: AnyArray, message: int, n_blocks: int) -> int:
    """Return the sum over all warps of a number in their messages."""
    found = 0
    for b in range(n_blocks):
        found += store[message + 2 * b]
    return found


@cuda.jit(device=True, inline="always")
def sum_leading(costs: AnyArray, lengths: IndexArray, leading: int, slabs: AnyArray) -> None:
    """Add up the slabs of all indices that a pattern of the leading modes has on."""
    for position in range(cuda.threadIdx.x, slabs.size, cuda.blockDim.x):
        slabs[position] = 0
    for joint in range(costs.shape[0]):
        index = joint
        digits = leading
        inside = True
        for turn in range(lengths.size):
            length = lengths[lengths.size - 1 - turn]
            inside = inside and (digits >> (index % length)) & 1 != 0
            digits >>= length
            index //= length
        if inside:
            for position in range(cuda.threadIdx.x, slabs.size, cuda.blockDim.x):
                slabs[position] += costs[joint, position]


@cuda.jit(device=True, inline="always")
def sum_slabs(
    slabs: AnyArray, n_slabs: int, slabs_on: int, layout: Layout, store: AnyArray
) -> None:
    """Write the sum of the slabs that are on into the matrix."""
    n_cells = layout.n_columns * layout.n_rows
    for position in range(cuda.threadIdx.x, n_cells, cuda.blockDim.x):
        entry = ZERO
        for bit in range(n_slabs):
            if (slabs_on >> bit) & 1:
                entry = np.int32(entry + slabs[bit * n_cells + position])
        store[layout.matrix + position] = entry


@cuda.jit(device=True, inline="always")
def switch_slab(slabs: AnyArray, bit: int, slabs_on: int, layout: Layout, store: AnyArray) -> int:
    """Switch one slab on or off in the matrix; return the slabs that are on afterwards."""
    n_cells = layout.n_columns * layout.n_rows
    for position in range(cuda.threadIdx.x, n_cells, cuda.blockDim.x):
        if (slabs_on >> bit) & 1:
            store[layout.matrix + position] -= slabs[bit * n_cells + position]
        else:
            store[layout.matrix + position] += slabs[bit * n_cells + position]
    return slabs_on ^ (1 << bit)
