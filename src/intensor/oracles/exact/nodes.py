"""The nodes of a search for the cheapest box of a three-mode tensor, on top of ``blocks``.

The third mode is a stack of *slabs*, each a matrix that is on or off. A slab that is still
undecided is bounded by letting every choice and column take it or not, whichever is
cheaper; one that is decided to be on is simply added.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from intensor._arrays import AnyArray, IndexArray
from intensor.oracles.exact.blocks import (
    ONE,
    Blocks,
    count_choices,
    fill_tables,
    least_sum,
    sum_of_columns,
)
from intensor.runtime.compiling import njit


class Slabs(NamedTuple):
    """The costs of a search."""

    costs: AnyArray  # (1 + slabs, rows, columns) costs; the first slab is always on
    tables: AnyArray  # (slabs, columns, choices) tables of the other slabs, as in ``blocks``


class Node(NamedTuple):
    """A subproblem: some slabs and columns are decided, and some choices of rows are dropped."""

    blocks: Blocks  # The choices that are left, under what is decided
    # (choices,) position of each choice in the tables of the slabs; empty when no slab is open
    choices: AnyArray
    columns: IndexArray  # (columns,) the columns that are not decided
    n_open: int  # Number of slabs that are not decided: the first ``n_open`` of those with a table
    # The slabs that are decided to be on, as bits; bit 0 is the first one with a table
    slabs_on: int


def stack_slabs(costs: AnyArray, firsts: IndexArray) -> Slabs:
    """Return (1 + slabs, rows, columns) costs with their tables."""
    shape = (costs.shape[0] - 1, costs.shape[2], count_choices(firsts))
    tables = np.empty(shape, dtype=costs.dtype)
    for slab, table in zip(costs[1:], tables, strict=True):
        fill_tables(slab, firsts, table)
    return Slabs(costs, tables)


@njit(cache=True, nogil=True)
def root_node(slabs: Slabs, firsts: IndexArray, n_open: int) -> Node:
    """Return the node where the first ``n_open`` slabs with a table are open and the others off."""
    n_blocks = firsts.size - 1
    costs, tables = slabs.costs, slabs.tables
    n_columns, n_choices = tables.shape[1], tables.shape[2]
    zero = tables.dtype.type(0)
    table = np.empty((n_columns, n_choices), dtype=tables.dtype)
    fill_tables(costs[0], firsts, table)
    for i in range(n_open):
        for a in range(n_columns):
            for c in range(n_choices):
                table[a, c] += min(tables[i, a, c], zero)
    base = np.zeros(n_choices, dtype=tables.dtype)
    choices = np.empty(n_choices, dtype=np.uint32)
    for c in range(n_choices):
        choices[c] = c
    columns = np.empty(n_columns, dtype=np.int64)
    for a in range(n_columns):
        columns[a] = a
    sums = np.empty(n_choices, dtype=tables.dtype)
    sum_of_columns(table, base, sums)
    rows = np.zeros(((costs.shape[1] + 63) >> 6, n_choices), dtype=np.uint64)
    ends = np.empty(n_blocks, dtype=np.int64)
    start = 0
    for b in range(n_blocks):
        size = 1 << (firsts[b + 1] - firsts[b])
        for i in range(firsts[b], firsts[b + 1]):
            for c in range(size):
                if (c >> (i - firsts[b])) & 1:
                    rows[i >> 6, start + c] |= ONE << np.uint64(i & 63)
        start += size
        ends[b] = start
    blocks = Blocks(table, base, sums, rows, ends)
    return Node(blocks, choices, columns, n_open, 0)


@njit(cache=True, nogil=True)
def bound_of(node: Node) -> Any:
    """Return a number that no box under the node costs less than."""
    return least_sum(node.blocks.sums, node.blocks.ends)
