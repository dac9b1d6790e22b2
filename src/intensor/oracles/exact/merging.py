"""Blocks with few choices left become one block, whose choices are pairs of theirs.

Every merge brings the bound of ``blocks`` closer to the least cost; with one block it is exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from intensor._arrays import AnyArray, IndexArray
from intensor.oracles.exact.blocks import Blocks, gather, least_sums, pick, promising
from intensor.runtime.compiling import njit

LARGEST = np.int64(1 << 62)
"""A number of choices that no block has."""


@njit(cache=True, nogil=True, inline="always")
def _smallest_blocks(ends: IndexArray) -> Any:
    """Return the two blocks with the fewest choices, in order, and how many pairs they have."""
    first, second = -1, -1
    few, next_few = LARGEST, LARGEST
    start = 0
    for b in range(ends.size):
        size = ends[b] - start
        start = ends[b]
        if size < few:
            second, next_few = first, few
            first, few = b, size
        elif size < next_few:
            second, next_few = b, size
    return min(first, second), max(first, second), few * next_few


@njit(cache=True, nogil=True, inline="always")
def _promising_pairs(
    sums: AnyArray, ends: IndexArray, one: int, two: int, limit: Any, n_pairs: int
) -> Any:
    """Return the pairs of choices of two blocks whose sums together are below the limit."""
    left = np.empty(n_pairs, dtype=np.uint32)
    right = np.empty(n_pairs, dtype=np.uint32)
    count = 0
    for c in range(ends[one - 1] if one > 0 else 0, ends[one]):
        for d in range(ends[two - 1], ends[two]):
            left[count] = c
            right[count] = d
            count += sums[d] < limit - sums[c]
    return left[:count], right[:count]


@njit(cache=True, nogil=True, inline="always")
def _other_choices(ends: IndexArray, one: int, two: int, n_pairs: int) -> Any:
    """Return the choices of all blocks but two, and the ends with a block of pairs added last."""
    others = np.empty(ends[-1], dtype=np.uint32)
    new_ends = np.empty(ends.size - 1, dtype=np.int64)
    kept, block, start = 0, 0, 0
    for b in range(ends.size):
        if b not in (one, two):
            for c in range(start, ends[b]):
                others[kept] = c
                kept += 1
            new_ends[block] = kept
            block += 1
        start = ends[b]
    new_ends[block] = kept + n_pairs
    return others[:kept], new_ends


@njit(cache=True, nogil=True, inline="always")
def _with_pairs(
    blocks: Blocks, others: AnyArray, left: AnyArray, right: AnyArray, ends: IndexArray
) -> Any:
    """Return blocks that have the other choices first and the pairs after them."""
    table, base, sums, rows, _ = blocks
    zero = table.dtype.type(0)
    kind = table.dtype.type
    kept, count = others.size, left.size
    new_table = np.empty((table.shape[0], kept + count), dtype=table.dtype)
    new_base = np.empty(kept + count, dtype=table.dtype)
    new_sums = np.empty(kept + count, dtype=table.dtype)
    new_rows = np.empty((rows.shape[0], kept + count), dtype=np.uint64)
    for c in range(kept):
        new_base[c] = base[others[c]]
        new_sums[c] = sums[others[c]]
    pair_base, pair_sums = new_base[kept:], new_sums[kept:]
    for c in range(count):
        pair_base[c] = base[left[c]] + base[right[c]]
        pair_sums[c] = pair_base[c]
    for word in range(rows.shape[0]):
        for c in range(kept):
            new_rows[word, c] = rows[word, others[c]]
        for c in range(count):
            new_rows[word, kept + c] = rows[word, left[c]] | rows[word, right[c]]
    for a in range(table.shape[0]):
        column, new_column, pairs = table[a], new_table[a], new_table[a, kept:]
        for c in range(kept):
            new_column[c] = column[others[c]]
        for c in range(count):
            both = kind(column[left[c]] + column[right[c]])
            pairs[c] = both
            pair_sums[c] += min(both, zero)
    return Blocks(new_table, new_base, new_sums, new_rows, ends)


@njit(cache=True, nogil=True)
def merge_blocks(blocks: Blocks, cutoff: Any, max_pairs: int) -> Any:
    """Merge the two smallest blocks as long as they have at most ``max_pairs`` pairs of choices.

    The choices of the new block, which comes last, are the pairs that can still be part of
    something below the cutoff. Return whether there are none, and the blocks after all merges.
    """
    least = np.empty(blocks.ends.size, dtype=np.int64)
    bound = least_sums(blocks.sums, blocks.ends, least)
    dead = bound >= cutoff
    while blocks.ends.size > 1 and not dead:
        one, two, n_pairs = _smallest_blocks(blocks.ends)
        if n_pairs > max_pairs:
            break
        limit = cutoff - (bound - least[one] - least[two])
        left, right = _promising_pairs(blocks.sums, blocks.ends, one, two, limit, n_pairs)
        dead = left.size == 0
        if not dead:
            others, ends = _other_choices(blocks.ends, one, two, left.size)
            blocks = _with_pairs(blocks, others, left, right, ends)
            bound = least_sums(blocks.sums, blocks.ends, least)
            dead = bound >= cutoff
        if not dead:
            which, ends = promising(blocks.sums, blocks.ends, cutoff)
            table, rows = gather(blocks.table, which), gather(blocks.rows, which)
            base, sums = pick(blocks.base, which), pick(blocks.sums, which)
            blocks = Blocks(table, base, sums, rows, ends)
    return dead, blocks
