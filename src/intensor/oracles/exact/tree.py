"""The search tree: branching on slabs, then on columns, with the bound of ``blocks``.

``search_tree`` goes through a subtree depth first. Functions that are called in one place are
inlined before they are compiled (``inline="always"``): every kernel is compiled together with all
that it calls, so each level of calls costs as much time as the search itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from intensor._arrays import AnyArray, FlagArray, IndexArray
from intensor.oracles.exact.blocks import (
    ADD,
    Blocks,
    add_matrix,
    best_rows,
    gather,
    least_sum,
    pick,
    promising,
)
from intensor.oracles.exact.merging import merge_blocks
from intensor.oracles.exact.multipliers import DECIDE, FREE, LEAVE_FREE, ascend
from intensor.oracles.exact.nodes import Node, Slabs
from intensor.oracles.exact.pool import BoxPool, begin_pattern, offer
from intensor.runtime.compiling import njit

UNLIMITED = np.int64(1 << 62)
"""Number of steps of a search that goes to its end."""
LEAN_WEIGHT = 3
"""Weight of a column's lean to one side against its absolute sum, when a column is chosen."""
MIN_PAIRS, PAIRS_PER_CHOICE = 512, 4
"""Blocks are merged when they have at most MIN_PAIRS pairs of choices, or at most
PAIRS_PER_CHOICE for each choice that the node has."""


@njit(cache=True, nogil=True)
def _decide_slab(
    table: AnyArray, which: AnyArray, choices: AnyArray, slab: AnyArray, on: Any
) -> Any:
    """Return table and sums of the promising choices once an open slab is on or off."""
    zero = table.dtype.type(0)
    kind = table.dtype.type
    out = np.empty((table.shape[0], which.size), dtype=table.dtype)
    sums = np.zeros(which.size, dtype=table.dtype)
    for a in range(table.shape[0]):
        source, target, change = table[a], out[a], slab[a]
        for c in range(which.size):
            cost = change[choices[c]]
            value = kind(source[which[c]] + (max(cost, zero) if on else -min(cost, zero)))
            target[c] = value
            sums[c] += min(value, zero)
    return out, sums


@njit(cache=True, nogil=True, inline="always")
def _branch_on_slab(node: Node, slabs: Slabs, cutoff: Any, out_nodes: list[Node]) -> None:
    """Append the children that have the last open slab off and on, if they may hold something."""
    blocks, columns = node.blocks, node.columns
    status = np.full(columns.size, FREE, dtype=np.uint8)
    lean = np.empty(columns.size, dtype=np.int64)
    if least_sum(blocks.sums, blocks.ends) >= cutoff:
        return
    if ascend(blocks, cutoff, LEAVE_FREE, status, lean):
        return
    which, ends = promising(blocks.sums, blocks.ends, cutoff)
    choices, rows = pick(node.choices, which), gather(blocks.rows, which)
    n_open = node.n_open - 1
    for on in range(2):
        table, sums = _decide_slab(blocks.table, which, choices, slabs.tables[n_open], on == 1)
        if least_sum(sums, ends) < cutoff:
            child = Blocks(table, pick(blocks.base, which), sums, rows, ends)
            slabs_on = node.slabs_on | (on << n_open)
            out_nodes.append(Node(child, choices, columns, n_open, slabs_on))


@njit(cache=True, nogil=True)
def _decide_column(node: Node, status: FlagArray, branch: Any, on: Any, cutoff: Any) -> Any:
    """Return whether nothing is left below the cutoff once a column is on or off, and the child.

    Columns that ``status`` has decided leave the child; ``base`` holds the cost of those on.
    """
    table, base, sums, rows, ends = node.blocks
    zero = table.dtype.type(0)
    column = table[branch]
    changed = np.empty_like(sums)
    for c in range(sums.size):
        changed[c] = sums[c] + (max(column[c], zero) if on else -min(column[c], zero))
    dead = least_sum(changed, ends) >= cutoff
    which, new_ends = promising(changed, ends, cutoff)
    if dead:
        which = which[:0]
    n_free = 0
    for a in range(node.columns.size):
        n_free += status[a] == FREE and a != branch
    new_table = np.empty((n_free, which.size), dtype=table.dtype)
    new_columns = np.empty(n_free, dtype=np.int64)
    free = 0
    for a in range(node.columns.size):
        if status[a] == FREE and a != branch:
            source, target = table[a], new_table[free]
            for c in range(which.size):
                target[c] = source[which[c]]
            new_columns[free] = node.columns[a]
            free += 1
    new_base = np.empty(which.size, dtype=table.dtype)
    for c in range(which.size):
        new_base[c] = base[which[c]] + (column[which[c]] if on else zero)
    blocks = Blocks(new_table, new_base, pick(changed, which), gather(rows, which), new_ends)
    return dead, Node(blocks, node.choices[:0], new_columns, 0, node.slabs_on)


@njit(cache=True, nogil=True)
def _try_rows(matrix: AnyArray, node: Node, rest: Any, pool: BoxPool) -> None:
    """Offer the box of the blocks' cheapest choices to the pool if it beats the cutoff."""
    rows = np.empty(node.blocks.rows.shape[0], dtype=np.uint64)
    column_sums = np.empty(matrix.shape[1], dtype=np.int64)
    cost = best_rows(matrix, node.blocks, rows, column_sums)
    if cost < pool.cutoff[0]:
        offer(pool, cost, rest, node.slabs_on, rows, column_sums)


@njit(cache=True, nogil=True, inline="always")
def _column_to_branch_on(
    columns: IndexArray, status: FlagArray, lean: IndexArray, weights: IndexArray
) -> Any:
    """Return the position of the free column that weighs much and leans little; -1 for none."""
    branch: Any = np.int64(-1)  # not a constant of Python: see ADD
    best_score = np.int64(0)
    for a in range(columns.size):
        if status[a] == FREE:
            score = weights[columns[a]] - LEAN_WEIGHT * abs(lean[a])
            if branch < 0 or score > best_score:
                branch, best_score = a, score
    return branch


@njit(cache=True, nogil=True, inline="always")
def _branch_on_column(
    node: Node,
    matrix: AnyArray,
    weights: IndexArray,
    rest: Any,
    pool: BoxPool,
    out_nodes: list[Node],
) -> None:
    """Append the children that have one column off and on; offer what is found on the way."""
    max_pairs = max(MIN_PAIRS, PAIRS_PER_CHOICE * node.blocks.sums.size)
    dead, blocks = merge_blocks(node.blocks, pool.cutoff[0], max_pairs)
    if dead:
        return
    node = Node(blocks, node.choices, node.columns, node.n_open, node.slabs_on)
    status = np.full(node.columns.size, FREE, dtype=np.uint8)
    lean = np.empty(node.columns.size, dtype=np.int64)
    for ascended in range(2):
        _try_rows(matrix, node, rest, pool)
        cutoff = pool.cutoff[0]
        if least_sum(blocks.sums, blocks.ends) >= cutoff:
            return
        if not ascended and ascend(blocks, cutoff, DECIDE, status, lean):
            return
    branch = _column_to_branch_on(node.columns, status, lean, weights)
    if branch < 0:
        return
    likely = lean[branch] < 0
    for on in (not likely, likely):
        dead, child = _decide_column(node, status, branch, on, cutoff)
        if not dead:
            out_nodes.append(child)


@njit(cache=True, nogil=True, inline="always")
def _sum_slabs(costs: AnyArray, slabs_on: Any, out_weights: IndexArray) -> Any:
    """Return the sum of the slabs that are on; write the absolute sum of each of its columns."""
    matrix = np.zeros((costs.shape[1], costs.shape[2]), dtype=costs.dtype)
    for i in range(costs.shape[0]):
        if i == 0 or (slabs_on >> (i - 1)) & 1:
            add_matrix(costs[i], ADD, matrix)
    for a in range(matrix.shape[1]):
        out_weights[a] = 0
        for i in range(matrix.shape[0]):
            out_weights[a] += abs(matrix[i, a])
    return matrix


@njit(cache=True, nogil=True)
def search_tree(
    node: Node, slabs: Slabs, rest: Any, pool: BoxPool, stop: FlagArray, max_steps: Any
) -> list[Node]:
    """Look for boxes below the pool's target under a node; return the nodes that are left open.

    ``rest`` is the pattern of the modes beyond the slabs; every pattern of slabs is one of the
    pool's. Another thread sets ``stop[0]`` to 1 to stop the search.
    """
    weights = np.empty(slabs.costs.shape[2], dtype=np.int64)
    matrix, current, known = slabs.costs[0], 0, False
    begin_pattern(pool)
    open_nodes = [node]
    steps = 0
    while len(open_nodes) > 0 and stop[0] == 0 and steps < max_steps:
        steps += 1
        item = open_nodes.pop()
        if item.n_open > 0:
            begin_pattern(pool)
            _branch_on_slab(item, slabs, pool.cutoff[0], open_nodes)
        else:
            if not known or item.slabs_on != current:
                known, current = True, item.slabs_on
                matrix = _sum_slabs(slabs.costs, current, weights)
                begin_pattern(pool)
            _branch_on_column(item, matrix, weights, rest, pool, open_nodes)
    return open_nodes
