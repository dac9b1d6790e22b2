"""Combinations of promising choices, which the warps of a block of threads try together.

The columns of 32 choices of each block of rows at a time are written to shared memory. Every lane
has a choice of the last block and tries it with pairs of the others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba.cuda
import numpy as np

from intensor._arrays import AnyArray
from intensor.backends.cuda.pattern_memory import LARGEST, MAX_CHOICES, WARP, ZERO, Layout

cuda: Any = numba.cuda


class Rows(NamedTuple):
    """The rows of a block: the first one, and their number."""

    first: int
    size: int


class Limits(NamedTuple):
    """How much work is spent on ruling a pattern out."""

    cutoff: int  # only boxes of lower cost count
    sweeps: int  # rounds of improving the multipliers before combinations are tried
    max_tried: int  # most combinations of one pattern that are tried, in units of 32


@cuda.jit(device=True, inline="always")
def if_on(number: Any, choice: Any, row: int) -> Any:
    """Return a number if a row is on in a choice, else 0."""
    return np.int32(number & -((choice >> row) & 1))


@cuda.jit(device=True, inline="always")
def _write_columns(store: AnyArray, layout: Layout, rows: Rows, start: int) -> None:
    """Write the columns of 32 listed choices of the warp's block of rows."""
    lane = cuda.threadIdx.x % WARP
    warp = cuda.threadIdx.x // WARP
    choice = store[layout.chosen + MAX_CHOICES * warp]
    if start + lane < store[layout.counts + warp]:
        choice = store[layout.chosen + MAX_CHOICES * warp + start + lane]
    for a in range(layout.n_columns):
        value = store[layout.multipliers + warp * layout.n_columns + a]
        for i in range(rows.size):
            on = if_on(store[layout.matrix + a * layout.n_rows + rows.first + i], choice, i)
            value = np.int32(value + on)
        store[layout.tables + (warp * layout.n_columns + a) * WARP + lane] = value


@cuda.jit(device=True, inline="always")
def _cost_below(store: AnyArray, layout: Layout, i: int, j: int, cutoff: int) -> Any:
    """Say whether a lane's choice of the last block costs less with two others than the cutoff."""
    n_columns, last = layout.n_columns, layout.n_blocks - 1
    lane = cuda.threadIdx.x % WARP
    cost: Any = 0
    for a in range(n_columns):
        value = store[layout.tables + (last * n_columns + a) * WARP + lane]
        value += store[layout.tables + a * WARP + i]
        if last > 1:
            value += store[layout.tables + (n_columns + a) * WARP + j]
        cost += min(np.int32(value), ZERO)
    return cost < cutoff


@cuda.jit(device=True, inline="always")
def _try_tile(
    store: AnyArray, layout: Layout, message: int, cutoff: int, first: int, middle: int, end: int
) -> None:
    """Try the combinations of 32 choices of each block; mark success if one is below the cutoff."""
    last = layout.n_blocks - 1
    lane = cuda.threadIdx.x % WARP
    n_middle = store[layout.counts + 1] if last > 1 else 1
    width = min(WARP, n_middle - middle)
    height = min(WARP, store[layout.counts] - first)
    least_last = store[message + 2 * last]
    own = LARGEST
    if end + lane < store[layout.counts + last]:
        own = store[layout.chosen_sums + MAX_CHOICES * last + end + lane]
    for pair in range(cuda.threadIdx.x // WARP, width * height, layout.n_blocks):
        i = pair // width
        j = pair - i * width
        both = store[layout.chosen_sums + first + i]
        if last > 1:
            both += store[layout.chosen_sums + MAX_CHOICES + middle + j]
        if (
            both + least_last < cutoff
            and both + own < cutoff
            and _cost_below(store, layout, i, j, cutoff)
        ):
            store[layout.success] = 1


@cuda.jit(device=True)
def any_combination(
    store: AnyArray, layout: Layout, rows: Rows, message: int, limits: Limits
) -> bool:
    """Say whether some combination of listed choices is below the cutoff, or may be."""
    last = layout.n_blocks - 1
    warp = cuda.threadIdx.x // WARP
    n_first = store[layout.counts]
    n_middle = store[layout.counts + 1] if last > 1 else 1
    n_last = store[layout.counts + last]
    if n_first * n_middle * ((n_last + WARP - 1) // WARP) > limits.max_tried:
        return True
    for first in range(0, n_first, WARP):
        for middle in range(0, n_middle, WARP):
            for end in range(0, n_last, WARP):
                start = end if warp == last else (first if warp == 0 else middle)
                _write_columns(store, layout, rows, start)
                cuda.syncthreads()
                _try_tile(store, layout, message, limits.cutoff, first, middle, end)
                cuda.syncthreads()
                if store[layout.success] != 0:
                    return True
    return False
