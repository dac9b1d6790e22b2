"""Which patterns of the outer modes hold a cheap box: the bound of ``decomposition`` on CUDA.

A block of threads counts through some patterns in Gray code, one warp for each block of rows and
a lane for every 32nd choice. The matrix of the pattern and the multipliers are in shared memory;
the table is not kept at all: an entry is the sum of at most eight numbers, which all lanes read
together. Multipliers stay from one pattern to the next.

Of a pattern that the bound cannot rule out, the promising choices are listed, and all their
combinations are tried. Patterns that do hold a box below the cutoff, and the few that would take
too long, are left to the host.

All numbers are integers: what is left does not depend on the grid or the device.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numba.cuda
import numpy as np

from intensor._arrays import AnyArray, IndexArray
from intensor.backends.cuda.device import array_module, check_device, simulated, to_host

cuda: Any = numba.cuda

__all__ = ["LONGEST_BLOCK", "MOST_SEARCHED", "PatternFilter", "shared_bytes"]

Layout = tuple[int, ...]

WARP = 32
ALL_LANES = 0xFFFFFFFF
LONGEST_BLOCK = 8
"""Rows of a block at most: eight choices a lane."""
MOST_CHOICES = 1 << LONGEST_BLOCK
MOST_SEARCHED = 3
"""Blocks up to which promising choices are combined on the device."""
MOST_TRIED = 1 << 16
"""Times 32 combinations, of one pattern; where there are more, the host has better means."""
MOST_BLOCKS = 4096
"""Of threads, which take turns, where each has slabs of its own."""
SPAN, SHORT_SPAN = 8, 4
"""Binary digits of the number of patterns that a block goes through in one turn: many where slabs
must be summed over leading modes first, few where not, since some take much longer than others."""
SWEEPS = 3
"""How often the multipliers are improved before combinations are tried."""
ROOM = 28
"""Binary digits of the sum of all absolute costs; tables need four times as much."""
ROOM_FOR_LIST = 1 << 20
ZERO = np.int32(0)
LARGEST = np.int32(2**31 - 1)
SIMULATED = simulated()


def shared_bytes(n_columns: int, n_rows: int, n_blocks: int) -> int:
    """Return how much shared memory a block of threads needs."""
    return 4 * _layout(n_columns, n_rows, n_blocks)[-1]


def _layout(n_columns: int, n_rows: int, n_blocks: int) -> Layout:
    """Return where in shared memory what begins, and the end.

    The parts: matrix (columns, rows), multipliers (blocks, columns), what warps tell each other
    (2, blocks, 2), counts of promising choices and a mark for success (blocks + 1), these choices
    and their sums (blocks, 256) each, columns of some of them (blocks, columns, 32), and what
    lanes tell each other under the simulator.
    """
    talk = 2 * WARP * n_blocks if SIMULATED else 0
    parts = (
        n_columns * n_rows,
        n_blocks * n_columns,
        4 * n_blocks,
        n_blocks + 1,
        MOST_CHOICES * n_blocks,
        MOST_CHOICES * n_blocks,
        WARP * n_blocks * n_columns,
        talk,
    )
    return (0, *np.cumsum(parts).tolist())


@cuda.jit(device=True, inline="always")
def _least_shuffled(one: Any, two: Any, _store: AnyArray, _place: int) -> Any:
    """Return the least of a warp: of ``one`` in lane 0, of ``two`` in lane 16."""
    low = cuda.laneid < 16
    least = one if low else two
    least = min(least, cuda.shfl_xor_sync(ALL_LANES, two if low else one, 16))
    least = min(least, cuda.shfl_xor_sync(ALL_LANES, least, 8))
    least = min(least, cuda.shfl_xor_sync(ALL_LANES, least, 4))
    least = min(least, cuda.shfl_xor_sync(ALL_LANES, least, 2))
    return min(least, cuda.shfl_xor_sync(ALL_LANES, least, 1))


def _least_simulated(one: Any, two: Any, store: AnyArray, place: int) -> Any:
    """Return the same where lanes cannot talk to each other."""
    thread = cuda.threadIdx.x
    store[place + 2 * thread] = one
    store[place + 2 * thread + 1] = two
    cuda.syncthreads()
    first = place + 2 * (thread - thread % WARP)
    which = 0 if thread % WARP < 16 else 1
    least = store[first + which]
    for lane in range(WARP):
        least = min(least, store[first + 2 * lane + which])
    cuda.syncthreads()
    return least


_least = cuda.jit(device=True)(_least_simulated) if SIMULATED else _least_shuffled


@cuda.jit(device=True, inline="always")
def _if_on(number: Any, choice: Any, row: int) -> Any:
    """Return a number if a row is on in a choice, else 0."""
    return np.int32(number & -((choice >> row) & 1))


@cuda.jit(device=True, inline="always")
def _sum_leading(costs: AnyArray, lengths: IndexArray, leading: int, slabs: AnyArray) -> None:
    """Add up the slabs of all indices that a pattern of the leading modes has on."""
    for place in range(cuda.threadIdx.x, slabs.size, cuda.blockDim.x):
        slabs[place] = 0
    for together in range(costs.shape[0]):
        index = together
        digits = leading
        inside = True
        for turn in range(lengths.size):
            length = lengths[lengths.size - 1 - turn]
            inside = inside and (digits >> (index % length)) & 1 != 0
            digits >>= length
            index //= length
        if inside:
            for place in range(cuda.threadIdx.x, slabs.size, cuda.blockDim.x):
                slabs[place] += costs[together, place]


@cuda.jit(device=True, inline="always")
def _sum_outer(slabs: AnyArray, n_outer: int, outer: int, cells: int, store: AnyArray) -> None:
    """Add up the slabs that are on, into the matrix."""
    for place in range(cuda.threadIdx.x, cells, cuda.blockDim.x):
        total = ZERO
        for bit in range(n_outer):
            if (outer >> bit) & 1:
                total = np.int32(total + slabs[bit * cells + place])
        store[place] = total


@cuda.jit(device=True, inline="always")
def _switch_slab(slabs: AnyArray, bit: int, outer: int, cells: int, store: AnyArray) -> int:
    """Switch one slab on or off in the matrix; return what is on then."""
    for place in range(cuda.threadIdx.x, cells, cuda.blockDim.x):
        if (outer >> bit) & 1:
            store[place] -= slabs[bit * cells + place]
        else:
            store[place] += slabs[bit * cells + place]
    return outer ^ (1 << bit)


@cuda.jit(device=True, inline="always")
def _tell(store: AnyArray, mark: int, talk: int, one: Any, two: Any) -> None:
    """Let every warp know the least of all warps."""
    thread = cuda.threadIdx.x
    least = _least(one, two, store, talk)
    if thread % WARP == 0:
        store[mark + 2 * (thread // WARP)] = least
    if thread % WARP == 16:
        store[mark + 2 * (thread // WARP) + 1] = least
    cuda.syncthreads()


@cuda.jit(device=True, inline="always")
def _total(store: AnyArray, mark: int, blocks: int) -> int:
    """Return the sum over blocks of what their warps told."""
    total = 0
    for b in range(blocks):
        total += store[mark + 2 * b]
    return total


@cuda.jit(device=True, inline="always")
def _write_columns(
    store: AnyArray,
    layout: Layout,
    sizes: tuple[int, int, int],
    start: int,
    first_row: int,
    rows: int,
) -> None:
    """Write the columns of 32 listed choices of the warp's block of rows."""
    matrix, multipliers, _, counts, chosen, _, tables = layout[:7]
    n_columns, n_rows, _ = sizes
    lane = cuda.threadIdx.x % WARP
    warp = cuda.threadIdx.x // WARP
    choice = store[chosen + MOST_CHOICES * warp]
    if start + lane < store[counts + warp]:
        choice = store[chosen + MOST_CHOICES * warp + start + lane]
    for a in range(n_columns):
        value = store[multipliers + warp * n_columns + a]
        for i in range(rows):
            on = _if_on(store[matrix + a * n_rows + first_row + i], choice, i)
            value = np.int32(value + on)
        store[tables + (warp * n_columns + a) * WARP + lane] = value


@cuda.jit(device=True, inline="always")
def _cost_below(
    store: AnyArray, tables: int, sizes: tuple[int, int, int], i: int, j: int, cutoff: int
) -> Any:
    """Whether a lane's choice of the last block costs less with two others than the cutoff."""
    n_columns, _, blocks = sizes
    lane = cuda.threadIdx.x % WARP
    total: Any = 0
    for a in range(n_columns):
        value = store[tables + ((blocks - 1) * n_columns + a) * WARP + lane]
        value += store[tables + a * WARP + i]
        if blocks > 2:
            value += store[tables + (n_columns + a) * WARP + j]
        total += min(np.int32(value), ZERO)
    return total < cutoff


@cuda.jit(device=True)
def _any_combination(
    store: AnyArray,
    layout: Layout,
    sizes: tuple[int, int, int],
    mark: int,
    first_row: int,
    rows: int,
    cutoff: int,
) -> bool:
    """Whether some combination of listed choices is below the cutoff, or may be."""
    counts, _, chosen_sums, tables = layout[3:7]
    blocks = sizes[2]
    last = blocks - 1
    thread = cuda.threadIdx.x
    lane = thread % WARP
    warp = thread // WARP
    n_first = store[counts]
    n_middle = store[counts + 1] if blocks > 2 else 1
    n_last = store[counts + last]
    if n_first * n_middle * ((n_last + WARP - 1) // WARP) > MOST_TRIED:
        return True
    least_last = store[mark + 2 * last]
    for first in range(0, n_first, WARP):
        for middle in range(0, n_middle, WARP):
            for end in range(0, n_last, WARP):
                start = end if warp == last else (first if warp == 0 else middle)
                _write_columns(store, layout, sizes, start, first_row, rows)
                cuda.syncthreads()
                width = min(WARP, n_middle - middle)
                own = LARGEST
                if end + lane < n_last:
                    own = store[chosen_sums + MOST_CHOICES * last + end + lane]
                for pair in range(warp, width * min(WARP, n_first - first), blocks):
                    i = pair // width
                    j = pair - i * width
                    both = store[chosen_sums + first + i]
                    if blocks > 2:
                        both += store[chosen_sums + MOST_CHOICES + middle + j]
                    if (
                        both + least_last < cutoff
                        and both + own < cutoff
                        and _cost_below(store, tables, sizes, i, j, cutoff)
                    ):
                        store[counts + blocks] = 1
                cuda.syncthreads()
                if store[counts + blocks] != 0:
                    return True
    return False


@lru_cache(maxsize=4)
def _kernel(choices: int) -> Any:  # noqa: PLR0915  (it makes several functions)
    """Return the kernel for so many choices a lane: loops over them are unrolled.

    ``sizes`` are the columns, rows and blocks in what follows, ``layout`` what ``_layout`` gives.
    """

    @cuda.jit(device=True, inline="always")
    def fill_values(
        store: AnyArray, place: int, multiplier: int, rows: int, values: AnyArray
    ) -> None:
        """Write the entries of one column of the table for a lane's choices."""
        lane = cuda.threadIdx.x % WARP
        low = min(rows, 5)
        part = store[multiplier]
        for i in range(low):
            part = np.int32(part + _if_on(store[place + i], lane, i))
        high0 = store[place + 5] if rows > 5 else ZERO
        high1 = store[place + 6] if rows > 6 else ZERO
        high2 = store[place + 7] if rows > 7 else ZERO
        for k in range(choices):
            value = part
            if k & 1:
                value = np.int32(value + high0)
            if k & 2:
                value = np.int32(value + high1)
            if k & 4:
                value = np.int32(value + high2)
            values[k] = value

    @cuda.jit(device=True, inline="always")
    def sum_columns(
        store: AnyArray,
        layout: Layout,
        sizes: tuple[int, int, int],
        first_row: int,
        rows: int,
        values: AnyArray,
        sums: AnyArray,
    ) -> None:
        """Write what each of a lane's choices costs its block."""
        n_columns, n_rows, _ = sizes
        multiplier = layout[1] + cuda.threadIdx.x // WARP * n_columns
        for k in range(choices):
            sums[k] = 0
        for a in range(n_columns):
            fill_values(store, layout[0] + a * n_rows + first_row, multiplier + a, rows, values)
            for k in range(choices):
                sums[k] = np.int32(sums[k] + min(values[k], ZERO))

    @cuda.jit(device=True, inline="always")
    def tell_least(store: AnyArray, mark: int, talk: int, sums: AnyArray) -> None:
        """Let every warp know what the cheapest choice of each costs."""
        least = LARGEST
        for k in range(choices):
            least = min(least, sums[k])
        _tell(store, mark, talk, least, least)

    @cuda.jit(device=True, inline="always")
    def improve(
        store: AnyArray,
        layout: Layout,
        sizes: tuple[int, int, int],
        a: int,
        mark: int,
        first_row: int,
        rows: int,
        cutoff: int,
        values: AnyArray,
        sums: AnyArray,
    ) -> Any:
        """Improve the multipliers of a column; say whether the cutoff is still out of reach."""
        n_columns, n_rows, blocks = sizes
        warp = cuda.threadIdx.x // WARP
        multiplier = layout[1] + warp * n_columns + a
        fill_values(store, layout[0] + a * n_rows + first_row, multiplier, rows, values)
        without = LARGEST
        with_it = LARGEST
        for k in range(choices):
            sums[k] = np.int32(sums[k] - min(values[k], ZERO))
            without = min(without, sums[k])
            with_it = min(with_it, np.int32(sums[k] + values[k]))
        _tell(store, mark, layout[7], without, with_it)
        off = _total(store, mark, blocks)
        on = _total(store, mark + 1, blocks)
        share = int((on - off) / float(blocks))
        if warp == blocks - 1:
            share = on - off - (blocks - 1) * share
        change = share - (store[mark + 2 * warp + 1] - store[mark + 2 * warp])
        for k in range(choices):
            sums[k] = np.int32(sums[k] + min(np.int32(values[k] + change), ZERO))
        if cuda.threadIdx.x % WARP == 0:
            store[multiplier] += change
        return off < cutoff or on < cutoff

    @cuda.jit(device=True, inline="always")
    def list_choices(
        store: AnyArray,
        layout: Layout,
        blocks: int,
        mark: int,
        rows: int,
        cutoff: int,
        sums: AnyArray,
    ) -> None:
        """List the choices that can be part of something below the cutoff, in any order."""
        counts, chosen, chosen_sums = layout[3:6]
        thread = cuda.threadIdx.x
        lane = thread % WARP
        warp = thread // WARP
        room = cutoff + store[mark + 2 * warp] - _total(store, mark, blocks)
        if lane == 0:
            store[counts + warp] = 0
        if thread == 0:
            store[counts + blocks] = 0
        cuda.syncthreads()
        for k in range(choices):
            choice = k * WARP + lane
            if choice >> rows == 0 and sums[k] < room:
                slot = MOST_CHOICES * warp + cuda.atomic.add(store, counts + warp, 1)
                store[chosen + slot] = choice
                store[chosen_sums + slot] = sums[k]
        cuda.syncthreads()

    @cuda.jit
    def list_patterns(  # noqa: PLR0915  (the steps of a search, in their order)
        costs: AnyArray,
        lengths: IndexArray,
        n_outer: int,
        sizes: tuple[int, int, int],
        layout: Layout,
        firsts: IndexArray,
        first_item: int,
        last_item: int,
        span: int,
        cutoff: int,
        sweeps: int,
        scratch: AnyArray,
        out_patterns: IndexArray,
        out_count: IndexArray,
    ) -> None:
        """List the patterns that hold a box below the cutoff, or may do so.

        Parameters
        ----------
        costs
            (leading, outer * columns * rows) costs, the leading modes as one.
        lengths
            Of the leading modes.
        first_item, last_item
            Ranges of 2^span patterns to go through.
        scratch
            (blocks, outer * columns * rows) unless there are no leading modes.
        out_patterns, out_count
            As many patterns as fit, outer lowest, then the leading modes; and how many there are.
        """
        n_columns, n_rows, blocks = sizes
        store = cuda.shared.array(0, numba.int32)
        sums = cuda.local.array(choices, numba.int32)
        values = cuda.local.array(choices, numba.int32)
        thread = cuda.threadIdx.x
        first_row = firsts[thread // WARP]
        rows = firsts[thread // WARP + 1] - first_row
        parity = 0
        item = first_item + cuda.blockIdx.x
        while item < last_item:
            leading = item >> (n_outer - span)
            code = (item - (leading << (n_outer - span))) << span
            slabs = costs[0]
            cuda.syncthreads()
            if lengths.size > 0:
                slabs = scratch[cuda.blockIdx.x]
                _sum_leading(costs, lengths, leading, slabs)
                cuda.syncthreads()
            outer = code ^ (code >> 1)
            _sum_outer(slabs, n_outer, outer, n_columns * n_rows, store)
            for place in range(thread, blocks * n_columns, cuda.blockDim.x):
                store[layout[1] + place] = 0
            for step in range(1 << span):
                if step > 0:
                    cuda.syncthreads()
                    bit = cuda.ffs(code + step) - 1
                    outer = _switch_slab(slabs, bit, outer, n_columns * n_rows, store)
                cuda.syncthreads()
                sum_columns(store, layout, sizes, first_row, rows, values, sums)
                mark = layout[2] + 2 * blocks * parity
                parity ^= 1
                tell_least(store, mark, layout[7], sums)
                left = _total(store, mark, blocks) < cutoff
                turn = 0
                while left and turn < sweeps * n_columns and blocks > 1:
                    mark = layout[2] + 2 * blocks * parity
                    parity ^= 1
                    left = improve(
                        store,
                        layout,
                        sizes,
                        turn % n_columns,
                        mark,
                        first_row,
                        rows,
                        cutoff,
                        values,
                        sums,
                    )
                    turn += 1
                if left and blocks > 1:
                    mark = layout[2] + 2 * blocks * parity
                    parity ^= 1
                    tell_least(store, mark, layout[7], sums)
                    left = _total(store, mark, blocks) < cutoff
                    if left and blocks <= MOST_SEARCHED:
                        list_choices(store, layout, blocks, mark, rows, cutoff, sums)
                        left = _any_combination(store, layout, sizes, mark, first_row, rows, cutoff)
                if left and thread == 0:
                    slot = cuda.atomic.add(out_count, 0, 1)
                    if slot < out_patterns.size:
                        out_patterns[slot] = (leading << n_outer) | outer
            item += cuda.gridDim.x

    return list_patterns


class PatternFilter:
    """The costs of a search on the device, and the list of patterns worth a look.

    Parameters
    ----------
    costs
        (leading..., outer, rows, columns) integers.
    firsts
        (blocks + 1,) the first row of every block, and the end.
    """

    def __init__(self, costs: AnyArray, firsts: IndexArray) -> None:
        check_device()
        xp = array_module()
        *leading, self._n_outer, n_rows, n_columns = costs.shape
        n_blocks = firsts.size - 1
        longest = int(np.diff(firsts).max())
        total = int(np.abs(costs.astype(np.int64)).sum())
        self._shift = max(0, total.bit_length() - ROOM)
        small = (costs >> self._shift).astype(np.int32)
        small = np.ascontiguousarray(small.swapaxes(-1, -2))
        self._costs = xp.asarray(small.reshape(int(np.prod(leading, dtype=np.int64)), -1))
        self._lengths = xp.asarray(np.array(leading, dtype=np.int64))
        self._firsts = xp.asarray(firsts.astype(np.int64))
        self._kernel = _kernel(1 << max(0, longest - 5))
        self._sizes = (n_columns, n_rows, n_blocks)
        self._layout = _layout(*self._sizes)
        self._threads = WARP * n_blocks
        self._shared = shared_bytes(*self._sizes)
        self._most_blocks = MOST_BLOCKS if leading else 2**31 - 1
        scratch = (MOST_BLOCKS, self._costs.shape[1]) if leading else (1, 1)
        self._scratch = xp.empty(scratch, dtype=np.int32)
        self._patterns = xp.empty(ROOM_FOR_LIST, dtype=np.int64)
        self._span = min(SPAN if leading else SHORT_SPAN, int(self._n_outer))

    @property
    def digits(self) -> int:
        """Binary digits of the number of patterns that are taken together."""
        return self._span

    def remaining(self, cutoff: int, first: int, last: int) -> IndexArray:
        """Return, in order, the patterns of some ranges under which a box may be below the cutoff.

        Parameters
        ----------
        first, last
            Which ranges of 2^digits Gray codes.

        Returns
        -------
        array
            Patterns: the outer mode's in the lowest digits, the last leading mode's next.
        """
        xp = array_module()
        count = xp.zeros(1, dtype=np.int64)
        rounded = -((-cutoff) >> self._shift)
        self._kernel[min(self._most_blocks, last - first), self._threads, 0, self._shared](
            self._costs,
            self._lengths,
            self._n_outer,
            self._sizes,
            self._layout,
            self._firsts,
            first,
            last,
            self._span,
            rounded,
            SWEEPS,
            self._scratch,
            self._patterns,
            count,
        )
        found = int(to_host(count)[0])
        if found <= self._patterns.size:
            listed: IndexArray = np.sort(to_host(self._patterns[:found]))
            return listed
        middle = (first + last) // 2  # the list is longer than any one range
        return np.concatenate(
            (self.remaining(cutoff, first, middle), self.remaining(cutoff, middle, last))
        )
