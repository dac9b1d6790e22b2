"""The patterns of slabs one after the other, with a search under those that the bound leaves.

``scan`` counts by Gray code: one slab changes at a time, so that tables are updated and the
multipliers of one pattern serve the next. ``scan_listed`` goes through a list of patterns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from intensor._arrays import AnyArray, FlagArray, IndexArray
from intensor.oracles.exact.blocks import (
    ADD,
    SUBTRACT,
    Blocks,
    add_matrix,
    add_table,
    count_choices,
    fill_tables,
    gather,
    least_sum,
    pick,
    promising,
)
from intensor.oracles.exact.multipliers import FREE, LEAVE_FREE, ascend
from intensor.oracles.exact.nodes import Node, Slabs, root_node
from intensor.oracles.exact.pool import BoxPool, begin_pattern
from intensor.oracles.exact.tree import UNLIMITED, search_tree
from intensor.runtime.compiling import njit

SWEEPS = 2
"""Number of times the multipliers are improved before a pattern is searched."""


@njit(cache=True, nogil=True, inline="always")
def _changed_bit(number: int) -> int:
    """Return which bit the Gray code changes on its way from number - 1 to number."""
    bit = 0
    while not (number >> bit) & 1:
        bit += 1
    return bit


@njit(cache=True, nogil=True, inline="always")
def _ruled_out(blocks: Blocks, cutoff: Any, status: FlagArray, lean: IndexArray) -> Any:
    """Say whether a few sweeps of better multipliers bring the bound to the cutoff."""
    ruled_out = False
    for _ in range(SWEEPS):
        ruled_out = ruled_out or ascend(blocks, cutoff, LEAVE_FREE, status, lean)
    return ruled_out


@njit(cache=True, nogil=True, inline="always")
def _scan_slabs(
    slabs: Slabs,
    firsts: IndexArray,
    n_open: Any,
    rest: Any,
    codes: tuple[Any, Any],
    pool: BoxPool,
    stop: FlagArray,
) -> bool:
    """Count through the slabs beyond ``n_open``; say whether the range was completed."""
    root = root_node(slabs, firsts, n_open)
    blocks, tables = root.blocks, slabs.tables
    table, sums, ends = blocks.table, blocks.sums, blocks.ends
    status = np.full(root.columns.size, FREE, dtype=np.uint8)
    lean = np.empty(root.columns.size, dtype=np.int64)
    counted = codes[0] ^ (codes[0] >> 1)
    for i in range(tables.shape[0] - n_open):
        if (counted >> i) & 1:
            add_table(table, tables[n_open + i], ADD, sums)
    begin_pattern(pool)
    cutoff = pool.cutoff[0]
    for code in range(codes[0], codes[1]):
        if stop[0]:
            return False
        if code > codes[0]:
            bit = _changed_bit(code)
            sign = SUBTRACT if (counted >> bit) & 1 else ADD
            add_table(table, tables[n_open + bit], sign, sums)
            counted ^= 1 << bit
        if least_sum(sums, ends) >= cutoff or _ruled_out(blocks, cutoff, status, lean):
            continue
        which, new_ends = promising(sums, ends, cutoff)
        rows = gather(blocks.rows, which)
        base, kept_sums = pick(blocks.base, which), pick(sums, which)
        kept = Blocks(gather(table, which), base, kept_sums, rows, new_ends)
        node = Node(kept, pick(root.choices, which), root.columns, n_open, counted << n_open)
        if len(search_tree(node, slabs, rest, pool, stop, UNLIMITED)) > 0:
            return False
        begin_pattern(pool)
        cutoff = pool.cutoff[0]
    return True


@njit(cache=True, nogil=True, inline="always")
def _add_stack(stack: AnyArray, sign: Any, out_stack: AnyArray) -> None:
    """Add or subtract a stack of matrices in place."""
    for i in range(stack.shape[0]):
        add_matrix(stack[i], sign, out_stack[i])


@njit(cache=True, nogil=True)
def scan(
    costs: AnyArray,
    firsts: IndexArray,
    n_open: int,
    rest_codes: tuple[int, int],
    codes: tuple[int, int],
    pool: BoxPool,
    stop: FlagArray,
) -> bool:
    """Count through a range of patterns and search under each; say whether it was completed.

    The (1 + rest, 1 + slabs, rows, columns) costs have two stacks whose first entry is always on.
    The slabs 1 to ``n_open`` are left to the search tree; the others are counted through.
    ``rest_codes`` and ``codes`` are the ranges of Gray codes of the first stack and of these slabs.
    """
    tables = np.empty(
        (costs.shape[1] - 1, costs.shape[3], count_choices(firsts)), dtype=costs.dtype
    )
    stack = np.zeros(costs.shape[1:], dtype=costs.dtype)
    slabs = Slabs(stack, tables)
    rest = rest_codes[0] ^ (rest_codes[0] >> 1)
    _add_stack(costs[0], ADD, stack)
    for i in range(costs.shape[0] - 1):
        if (rest >> i) & 1:
            _add_stack(costs[1 + i], ADD, stack)
    for code in range(rest_codes[0], rest_codes[1]):
        if code > rest_codes[0]:
            bit = _changed_bit(code)
            _add_stack(costs[1 + bit], SUBTRACT if (rest >> bit) & 1 else ADD, stack)
            rest ^= 1 << bit
        for i in range(tables.shape[0]):
            fill_tables(stack[1 + i], firsts, tables[i])
        if not _scan_slabs(slabs, firsts, n_open, rest, codes, pool, stop):
            return False
    return True


@njit(cache=True, nogil=True)
def _is_inside(index: int, pattern: int, lengths: IndexArray) -> bool:
    """Say whether a pattern of several modes has an index of all of them together on."""
    inside = True
    for mode in range(lengths.size - 1, -1, -1):
        inside = inside and (pattern >> (index % lengths[mode])) & 1 == 1
        pattern >>= lengths[mode]
        index //= lengths[mode]
    return inside


@njit(cache=True, nogil=True)
def scan_listed(
    costs: AnyArray,
    lengths: IndexArray,
    firsts: IndexArray,
    listed: IndexArray,
    pool: BoxPool,
    stop: FlagArray,
) -> bool:
    """Search under the patterns of a list; say whether it was completed.

    Costs are (leading, slabs, rows, columns) with the leading modes, of the given lengths, as one.
    A pattern has the slabs in its lowest digits and the last leading mode next. The pool's
    ``rests`` are positions in this list.
    """
    n_leading, n_slabs, n_rows, n_columns = costs.shape
    tables = np.empty((0, n_columns, count_choices(firsts)), dtype=costs.dtype)
    slabs = Slabs(np.empty((1, n_rows, n_columns), dtype=costs.dtype), tables)
    matrix = slabs.costs[0]
    none, one_code = np.int64(0), (np.int64(0), np.int64(1))  # typed as in ``scan``
    for position in range(listed.size):
        pattern = listed[position]
        matrix[:] = 0
        for index in range(n_leading):
            inside = _is_inside(index, pattern >> n_slabs, lengths)
            for i in range(n_slabs if inside else 0):
                if (pattern >> i) & 1:
                    add_matrix(costs[index, i], ADD, matrix)
        if not _scan_slabs(slabs, firsts, none, position, one_code, pool, stop):
            return False
    return True
