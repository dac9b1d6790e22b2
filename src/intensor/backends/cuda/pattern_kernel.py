"""The kernel that lists patterns of slabs under which a box may be below a cutoff.

A block of threads counts through some patterns in Gray code, one warp for each block of rows and
a lane for every 32nd choice. The matrix of the pattern and the multipliers are in shared memory
(``pattern_memory``); the table is not kept at all: an entry is the sum of at most eight numbers,
which all lanes read together. Multipliers stay from one pattern to the next.

Where the bound cannot rule a pattern out, the promising choices are listed and all their
combinations are tried.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numba.cuda
import numpy as np

from intensor._arrays import AnyArray, IndexArray
from intensor.backends.cuda.pattern_memory import (
    LARGEST,
    MAX_CHOICES,
    WARP,
    ZERO,
    Layout,
    message_start,
    sum_leading,
    sum_slabs,
    switch_slab,
    tell,
    total,
)

cuda: Any = numba.cuda

__all__ = ["LANE_BITS", "MAX_COMBINED_BLOCKS", "pattern_kernel"]

LANE_BITS = 5
"""Rows of a block whose pattern is the number of a lane; the others make a lane's own choices."""
MAX_COMBINED_BLOCKS = 3
"""Most blocks whose promising choices are combined on the device."""


@cuda.jit(device=True, inline="always")
def _if_on(number: Any, choice: Any, row: int) -> Any:
    """Return a number if a row is on in a choice, else 0."""
    return np.int32(number & -((choice >> row) & 1))


@cuda.jit(device=True, inline="always")
def _write_columns(store: AnyArray, layout: Layout, start: int, first_row: int, rows: int) -> None:
    """Write the columns of 32 listed choices of the warp's block of rows."""
    lane = cuda.threadIdx.x % WARP
    warp = cuda.threadIdx.x // WARP
    choice = store[layout.chosen + MAX_CHOICES * warp]
    if start + lane < store[layout.counts + warp]:
        choice = store[layout.chosen + MAX_CHOICES * warp + start + lane]
    for a in range(layout.n_columns):
        value = store[layout.multipliers + warp * layout.n_columns + a]
        for i in range(rows):
            on = _if_on(store[layout.matrix + a * layout.n_rows + first_row + i], choice, i)
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
def _any_combination(
    store: AnyArray,
    layout: Layout,
    message: int,
    first_row: int,
    rows: int,
    cutoff: int,
    max_tried: int,
) -> bool:
    """Say whether some combination of listed choices is below the cutoff, or may be."""
    last = layout.n_blocks - 1
    warp = cuda.threadIdx.x // WARP
    n_first = store[layout.counts]
    n_middle = store[layout.counts + 1] if last > 1 else 1
    n_last = store[layout.counts + last]
    if n_first * n_middle * ((n_last + WARP - 1) // WARP) > max_tried:
        return True
    for first in range(0, n_first, WARP):
        for middle in range(0, n_middle, WARP):
            for end in range(0, n_last, WARP):
                start = end if warp == last else (first if warp == 0 else middle)
                _write_columns(store, layout, start, first_row, rows)
                cuda.syncthreads()
                _try_tile(store, layout, message, cutoff, first, middle, end)
                cuda.syncthreads()
                if store[layout.success] != 0:
                    return True
    return False


def _table_functions(choices: int) -> tuple[Any, Any]:
    """Return functions that compute a column and all sums for this many choices a lane.

    Loops over the choices of a lane are unrolled, so that values stay in registers.
    """

    @cuda.jit(device=True, inline="always")
    def fill_values(
        store: AnyArray, layout: Layout, a: int, first_row: int, rows: int, out_values: AnyArray
    ) -> None:
        """Write the entries of one column of the table for a lane's choices."""
        lane = cuda.threadIdx.x % WARP
        entries = layout.matrix + a * layout.n_rows + first_row
        part = store[layout.multipliers + cuda.threadIdx.x // WARP * layout.n_columns + a]
        for i in range(min(rows, 5)):
            part = np.int32(part + _if_on(store[entries + i], lane, i))
        high0 = store[entries + 5] if rows > 5 else ZERO
        high1 = store[entries + 6] if rows > 6 else ZERO
        high2 = store[entries + 7] if rows > 7 else ZERO
        for k in range(choices):
            value = part
            if k & 1:
                value = np.int32(value + high0)
            if k & 2:
                value = np.int32(value + high1)
            if k & 4:
                value = np.int32(value + high2)
            out_values[k] = value

    @cuda.jit(device=True, inline="always")
    def sum_columns(
        store: AnyArray,
        layout: Layout,
        first_row: int,
        rows: int,
        values: AnyArray,
        out_sums: AnyArray,
    ) -> None:
        """Write what each of a lane's choices costs its block."""
        for k in range(choices):
            out_sums[k] = 0
        for a in range(layout.n_columns):
            fill_values(store, layout, a, first_row, rows, values)
            for k in range(choices):
                out_sums[k] = np.int32(out_sums[k] + min(values[k], ZERO))

    return fill_values, sum_columns


def _multiplier_functions(choices: int, fill_values: Any) -> tuple[Any, Any]:
    """Return functions that share the bound of all blocks and improve the multipliers."""

    @cuda.jit(device=True, inline="always")
    def tell_least(store: AnyArray, layout: Layout, message: int, sums: AnyArray) -> None:
        """Tell all warps what the cheapest choice of each costs."""
        least = LARGEST
        for k in range(choices):
            least = min(least, sums[k])
        tell(store, message, layout.lanes, least, least)

    @cuda.jit(device=True, inline="always")
    def improve(
        store: AnyArray,
        layout: Layout,
        a: int,
        message: int,
        first_row: int,
        rows: int,
        cutoff: int,
        values: AnyArray,
        sums: AnyArray,
    ) -> Any:
        """Improve the multipliers of a column; say whether the cutoff is still out of reach."""
        n_blocks = layout.n_blocks
        warp = cuda.threadIdx.x // WARP
        fill_values(store, layout, a, first_row, rows, values)
        without = LARGEST
        with_it = LARGEST
        for k in range(choices):
            sums[k] = np.int32(sums[k] - min(values[k], ZERO))
            without = min(without, sums[k])
            with_it = min(with_it, np.int32(sums[k] + values[k]))
        tell(store, message, layout.lanes, without, with_it)
        off = total(store, message, n_blocks)
        on = total(store, message + 1, n_blocks)
        share = int((on - off) / float(n_blocks))
        if warp == n_blocks - 1:
            share = on - off - (n_blocks - 1) * share
        change = share - (store[message + 2 * warp + 1] - store[message + 2 * warp])
        for k in range(choices):
            sums[k] = np.int32(sums[k] + min(np.int32(values[k] + change), ZERO))
        if cuda.threadIdx.x % WARP == 0:
            store[layout.multipliers + warp * layout.n_columns + a] += change
        return off < cutoff or on < cutoff

    return tell_least, improve


def _list_function(choices: int) -> Any:
    """Return the function that lists promising choices."""

    @cuda.jit(device=True, inline="always")
    def list_choices(
        store: AnyArray, layout: Layout, message: int, rows: int, cutoff: int, sums: AnyArray
    ) -> None:
        """List the choices that can be part of something below the cutoff, in any order."""
        thread = cuda.threadIdx.x
        lane = thread % WARP
        warp = thread // WARP
        limit = cutoff + store[message + 2 * warp] - total(store, message, layout.n_blocks)
        if lane == 0:
            store[layout.counts + warp] = 0
        if thread == 0:
            store[layout.success] = 0
        cuda.syncthreads()
        for k in range(choices):
            choice = k * WARP + lane
            if choice >> rows == 0 and sums[k] < limit:
                slot = MAX_CHOICES * warp + cuda.atomic.add(store, layout.counts + warp, 1)
                store[layout.chosen + slot] = choice
                store[layout.chosen_sums + slot] = sums[k]
        cuda.syncthreads()

    return list_choices


def _search_function(choices: int) -> Any:
    """Return the function that says whether a pattern is left."""
    fill_values, sum_columns = _table_functions(choices)
    tell_least, improve = _multiplier_functions(choices, fill_values)
    list_choices = _list_function(choices)

    @cuda.jit(device=True, inline="always")
    def is_left(
        store: AnyArray,
        layout: Layout,
        first_row: int,
        rows: int,
        cutoff: int,
        sweeps: int,
        max_tried: int,
        values: AnyArray,
        sums: AnyArray,
    ) -> Any:
        """Say whether the pattern in the matrix holds a box below the cutoff, or may hold one."""
        n_blocks = layout.n_blocks
        sum_columns(store, layout, first_row, rows, values, sums)
        message = message_start(layout, 0)
        tell_least(store, layout, message, sums)
        left = total(store, message, n_blocks) < cutoff
        turn = 0
        while left and turn < sweeps * layout.n_columns and n_blocks > 1:
            a = turn % layout.n_columns
            turn += 1
            message = message_start(layout, turn)
            left = improve(store, layout, a, message, first_row, rows, cutoff, values, sums)
        if left and n_blocks > 1:
            message = message_start(layout, turn + 1)
            tell_least(store, layout, message, sums)
            left = total(store, message, n_blocks) < cutoff
            if left and n_blocks <= MAX_COMBINED_BLOCKS:
                list_choices(store, layout, message, rows, cutoff, sums)
                left = _any_combination(store, layout, message, first_row, rows, cutoff, max_tried)
        return left

    return is_left


@lru_cache(maxsize=4)
def pattern_kernel(choices: int) -> Any:
    """Return the kernel for blocks of rows with this many choices for each lane."""
    is_left = _search_function(choices)

    @cuda.jit
    def list_patterns(
        costs: AnyArray,
        lengths: IndexArray,
        n_slabs: int,
        layout: Layout,
        firsts: IndexArray,
        first_range: int,
        last_range: int,
        range_bits: int,
        cutoff: int,
        sweeps: int,
        max_tried: int,
        scratch: AnyArray,
        out_patterns: IndexArray,
        out_count: IndexArray,
    ) -> None:
        """List the patterns that hold a box below the cutoff, or may hold one.

        Parameters
        ----------
        costs
            (leading, slabs * columns * rows) costs, the leading modes as one.
        lengths
            Lengths of the leading modes.
        first_range, last_range
            Ranges of 2^range_bits patterns to go through.
        sweeps
            Number of times the multipliers are improved before combinations are tried.
        max_tried
            Most combinations of one pattern that are tried, in units of 32.
        scratch
            (blocks, slabs * columns * rows) unless there are no leading modes.
        out_patterns, out_count
            As many patterns as fit, the slabs lowest, then the leading modes; and their number.
        """
        store = cuda.shared.array(0, numba.int32)
        sums = cuda.local.array(choices, numba.int32)
        values = cuda.local.array(choices, numba.int32)
        thread = cuda.threadIdx.x
        first_row = firsts[thread // WARP]
        rows = firsts[thread // WARP + 1] - first_row
        item = first_range + cuda.blockIdx.x
        while item < last_range:
            leading = item >> (n_slabs - range_bits)
            code = (item - (leading << (n_slabs - range_bits))) << range_bits
            slabs = costs[0]
            cuda.syncthreads()
            if lengths.size > 0:
                slabs = scratch[cuda.blockIdx.x]
                sum_leading(costs, lengths, leading, slabs)
                cuda.syncthreads()
            slabs_on = code ^ (code >> 1)
            sum_slabs(slabs, n_slabs, slabs_on, layout, store)
            for position in range(thread, layout.n_blocks * layout.n_columns, cuda.blockDim.x):
                store[layout.multipliers + position] = 0
            for step in range(1 << range_bits):
                if step > 0:
                    cuda.syncthreads()
                    bit = cuda.ffs(code + step) - 1
                    slabs_on = switch_slab(slabs, bit, slabs_on, layout, store)
                cuda.syncthreads()
                left = is_left(
                    store, layout, first_row, rows, cutoff, sweeps, max_tried, values, sums
                )
                if left and thread == 0:
                    slot = cuda.atomic.add(out_count, 0, 1)
                    if slot < out_patterns.size:
                        out_patterns[slot] = (leading << n_slabs) | slabs_on
            item += cuda.gridDim.x

    return list_patterns
