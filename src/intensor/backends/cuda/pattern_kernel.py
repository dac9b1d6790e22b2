"""The kernel that lists patterns of slabs under which a box may be below a cutoff.

A block of threads counts through some patterns in Gray code, with one warp for each block of rows
and one lane for every 32nd choice. No table is kept: an entry is the sum of at most eight numbers,
which all lanes read together. Multipliers stay from one pattern to the next. If the bound cannot
rule a pattern out, all combinations of promising choices are tried (``pattern_combinations``).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numba.cuda
import numpy as np

from intensor._arrays import AnyArray, IndexArray
from intensor.backends.cuda.pattern_combinations import Limits, Rows, any_combination, if_on
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

LANE_BITS = 5
"""Number of rows of a block whose pattern is the number of a lane."""
MAX_COMBINED_BLOCKS = 3
"""Most blocks whose promising choices are combined on the device."""


def _table_functions(choices: int) -> tuple[Any, Any, Any]:
    """Return functions that fill a column of the table, sum all columns, and tell the least sum.

    Loops over the choices of a lane are unrolled, so that values stay in registers.
    """

    @cuda.jit(device=True, inline="always")
    def fill_values(
        store: AnyArray, layout: Layout, rows: Rows, a: int, out_values: AnyArray
    ) -> None:
        """Write the entries of one column of the table for a lane's choices."""
        lane = cuda.threadIdx.x % WARP
        entries = layout.matrix + a * layout.n_rows + rows.first
        part = store[layout.multipliers + cuda.threadIdx.x // WARP * layout.n_columns + a]
        for i in range(min(rows.size, 5)):
            part = np.int32(part + if_on(store[entries + i], lane, i))
        high0 = store[entries + 5] if rows.size > 5 else ZERO
        high1 = store[entries + 6] if rows.size > 6 else ZERO
        high2 = store[entries + 7] if rows.size > 7 else ZERO
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
        store: AnyArray, layout: Layout, rows: Rows, values: AnyArray, out_sums: AnyArray
    ) -> None:
        """Write the cost of each of a lane's choices for its block."""
        for k in range(choices):
            out_sums[k] = 0
        for a in range(layout.n_columns):
            fill_values(store, layout, rows, a, values)
            for k in range(choices):
                out_sums[k] = np.int32(out_sums[k] + min(values[k], ZERO))

    @cuda.jit(device=True, inline="always")
    def tell_least(store: AnyArray, layout: Layout, message: int, sums: AnyArray) -> None:
        """Tell all warps the cost of the cheapest choice of each."""
        least = LARGEST
        for k in range(choices):
            least = min(least, sums[k])
        tell(store, message, layout.lanes, least, least)

    return fill_values, sum_columns, tell_least


def _improve_function(choices: int, fill_values: Any) -> Any:
    """Return the function that improves multipliers."""

    @cuda.jit(device=True, inline="always")
    def improve(
        store: AnyArray, layout: Layout, rows: Rows, turn: int, values: AnyArray, sums: AnyArray
    ) -> Any:
        """Improve the multipliers of a column; return the bounds without it and with it."""
        a, message, n_blocks = turn % layout.n_columns, message_start(layout, turn), layout.n_blocks
        warp = cuda.threadIdx.x // WARP
        fill_values(store, layout, rows, a, values)
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
        return min(off, on)

    return improve


def _list_function(choices: int) -> Any:
    """Return the function that lists promising choices."""

    @cuda.jit(device=True, inline="always")
    def list_choices(
        store: AnyArray, layout: Layout, rows: Rows, message: int, cutoff: int, sums: AnyArray
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
            if choice >> rows.size == 0 and sums[k] < limit:
                slot = MAX_CHOICES * warp + cuda.atomic.add(store, layout.counts + warp, 1)
                store[layout.chosen + slot] = choice
                store[layout.chosen_sums + slot] = sums[k]
        cuda.syncthreads()

    return list_choices


def _search_function(choices: int) -> Any:
    """Return the function that says whether a pattern is left."""
    fill_values, sum_columns, tell_least = _table_functions(choices)
    improve = _improve_function(choices, fill_values)
    list_choices = _list_function(choices)

    @cuda.jit(device=True, inline="always")
    def is_left(
        store: AnyArray,
        layout: Layout,
        rows: Rows,
        limits: Limits,
        values: AnyArray,
        sums: AnyArray,
    ) -> Any:
        """Say whether the pattern in the matrix holds a box below the cutoff, or may hold one."""
        n_blocks, cutoff = layout.n_blocks, limits.cutoff
        n_turns = limits.sweeps * layout.n_columns if n_blocks > 1 else 0
        sum_columns(store, layout, rows, values, sums)
        message = message_start(layout, 1)
        tell_least(store, layout, message, sums)
        left = total(store, message, n_blocks) < cutoff
        turn = 0
        while left and turn < n_turns:
            left = improve(store, layout, rows, turn, values, sums) < cutoff
            turn += 1
        if left and n_blocks > 1:
            message = message_start(layout, turn)
            tell_least(store, layout, message, sums)
            left = total(store, message, n_blocks) < cutoff
            if left and n_blocks <= MAX_COMBINED_BLOCKS:
                list_choices(store, layout, rows, message, cutoff, sums)
                left = any_combination(store, layout, rows, message, limits)
        return left

    return is_left


@lru_cache(maxsize=4)
def pattern_kernel(choices: int) -> Any:
    """Return the kernel for blocks of rows with this number of choices for each lane."""
    is_left = _search_function(choices)

    @cuda.jit
    def list_patterns(
        costs: AnyArray,
        lengths: IndexArray,
        n_slabs: int,
        layout: Layout,
        firsts: IndexArray,
        ranges: tuple[int, int],
        range_bits: int,
        limits: Limits,
        scratch: AnyArray,
        out_patterns: IndexArray,
        out_count: IndexArray,
    ) -> None:
        """List the patterns that hold a box below the cutoff, or may hold one.

        ``costs`` are (leading, slabs * columns * rows), with the leading modes of these lengths
        folded into one; if there are any, ``scratch`` has such a row for each block of threads.
        ``ranges`` are the first and the last range of 2^range_bits patterns to go through.
        ``out_patterns`` holds the patterns that fit, with the slabs in the lowest bits, and
        ``out_count`` the number of all.
        """
        store = cuda.shared.array(0, numba.int32)
        sums = cuda.local.array(choices, numba.int32)
        values = cuda.local.array(choices, numba.int32)
        thread = cuda.threadIdx.x
        first_row = firsts[thread // WARP]
        rows = Rows(first_row, firsts[thread // WARP + 1] - first_row)
        item = ranges[0] + cuda.blockIdx.x
        while item < ranges[1]:
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
                if is_left(store, layout, rows, limits, values, sums) and thread == 0:
                    slot = cuda.atomic.add(out_count, 0, 1)
                    if slot < out_patterns.size:
                        out_patterns[slot] = (leading << n_slabs) | slabs_on
            item += cuda.gridDim.x

    return list_patterns
