"""The search for the cheapest box of a three-mode tensor, on top of ``decomposition``.

The third mode (*outer*) is a stack of slabs, each a matrix that is on or off. Slabs that are still
undecided are bounded by letting every choice and column take each of them or not, whichever is
cheaper; one that is decided is simply added. ``scan`` counts through the patterns of most
slabs, one change at a time; the last few and then the columns are decided by a depth-first search.

A node of that search is a tuple ``(table, base, sums, patterns, places, ends, columns, bits,
outer)``: the first four and ``ends`` as in ``decomposition``; ``places``, where its choices are in
the tables of the slabs; ``columns``, the columns that are not decided; ``bits``, how many
slabs are not decided (columns only are once all slabs are); ``outer``, the slabs that are on.

What is found goes into a *pool*, a tuple of arrays: the values, the pattern of the modes beyond
these three, ``outer``, the rows and the columns of each, and (count, slot of the current pattern).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from intensor._arrays import AnyArray, FlagArray, IndexArray, WordArray
from intensor.oracles.exact.decomposition import (
    FREE,
    add_table,
    ascend,
    best_rows,
    fill_tables,
    gather,
    least_sum,
    merge_blocks,
    promising,
    sum_of_columns,
)
from intensor.runtime.compiling import njit

__all__ = [
    "NOWHERE",
    "bound_of",
    "empty_pool",
    "expand",
    "root_node",
    "scan",
    "scan_listed",
    "search",
]

ONE = np.uint64(1)
NOWHERE = np.int64(1 << 62)
LEAN = 3
"""How much a column's leaning to one side counts against branching on it."""
PAIRS, PAIRS_PER_CHOICE = 512, 4
"""Blocks with at most so many pairs of choices are merged, or so many for each choice there is."""
SWEEPS = 2
"""How often the multipliers are improved before a pattern is searched."""


def empty_pool(size: int, n_words: int, n_columns: int) -> tuple[AnyArray, ...]:
    """Return a pool with room for ``size`` boxes."""
    return (
        np.zeros(size, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.zeros((size, n_words), dtype=np.uint64),
        np.zeros((size, n_columns), dtype=np.uint8),
        np.array([0, -1], dtype=np.int64),
    )


@njit(cache=True, nogil=True)
def _pool_cutoff(pool: Any, target: Any) -> Any:
    """Return what the next pattern has to beat: the target or, in a full pool, its worst."""
    values, counters = pool[0], pool[5]
    if counters[0] < values.size:
        return target
    return min(target, values.max())


@njit(cache=True, nogil=True)
def _offer(pool: Any, value: Any, rest: Any, outer: Any, rows: WordArray, sums: AnyArray) -> None:
    """Put a box into the slot of the current pattern, a free one, or that of the worst."""
    values, rests, outers, row_words, columns, counters = pool
    slot = counters[1]
    if slot < 0:
        if counters[0] < values.size:
            slot = counters[0]
            counters[0] += 1
        else:
            slot = np.argmax(values)
            if values[slot] <= value:
                return
    values[slot] = value
    rests[slot] = rest
    outers[slot] = outer
    row_words[slot] = rows
    for a in range(sums.size):
        columns[slot, a] = sums[a] < 0
    counters[1] = slot


@njit(cache=True, nogil=True)
def root_node(slabs: AnyArray, tables: AnyArray, firsts: IndexArray, bits: int) -> Any:
    """Return the node where slab 0 is on, slabs 1 to ``bits`` are open, and the others are off."""
    blocks = firsts.size - 1
    n_columns, n_choices = tables.shape[1], tables.shape[2]
    zero = tables.dtype.type(0)
    table = np.empty((n_columns, n_choices), dtype=tables.dtype)
    fill_tables(slabs[0], firsts, table)
    for i in range(bits):
        for a in range(n_columns):
            for c in range(n_choices):
                table[a, c] += min(tables[i, a, c], zero)
    base = np.zeros(n_choices, dtype=tables.dtype)
    sums = np.empty(n_choices, dtype=tables.dtype)
    sum_of_columns(table, base, sums)
    patterns = np.zeros(((slabs.shape[1] + 63) >> 6, n_choices), dtype=np.uint64)
    ends = np.empty(blocks, dtype=np.int64)
    start = 0
    for b in range(blocks):
        size = 1 << (firsts[b + 1] - firsts[b])
        for i in range(firsts[b], firsts[b + 1]):
            for c in range(size):
                if (c >> (i - firsts[b])) & 1:
                    patterns[i >> 6, start + c] |= ONE << np.uint64(i & 63)
        start += size
        ends[b] = start
    places = np.arange(n_choices).astype(np.uint32)
    columns = np.arange(n_columns)
    return table, base, sums, patterns, places, ends, columns, bits, 0


@njit(cache=True, nogil=True)
def _decide_slab(
    table: AnyArray, which: AnyArray, places: AnyArray, slab: AnyArray, on: bool
) -> Any:
    """Return table and sums of the promising choices once an open slab is on or off."""
    zero = table.dtype.type(0)
    kind = table.dtype.type
    out = np.empty((table.shape[0], which.size), dtype=table.dtype)
    sums = np.zeros(which.size, dtype=table.dtype)
    for a in range(table.shape[0]):
        source, target, change = table[a], out[a], slab[a]
        for c in range(which.size):
            cost = change[places[c]]
            value = kind(source[which[c]] + (max(cost, zero) if on else -min(cost, zero)))
            target[c] = value
            sums[c] += min(value, zero)
    return out, sums


@njit(cache=True, nogil=True)
def _decide_column(node: Any, status: FlagArray, branch: int, on: bool, cutoff: Any) -> Any:
    """Return whether nothing is left below the cutoff once a column is on or off, and the child.

    Columns that ``status`` has decided leave the child; ``base`` knows those that are on.
    """
    table, base, sums, patterns, places, ends, columns, _, outer = node
    zero = table.dtype.type(0)
    column = table[branch]
    changed = np.empty_like(sums)
    for c in range(sums.size):
        changed[c] = sums[c] + (max(column[c], zero) if on else -min(column[c], zero))
    least = np.empty(ends.size, dtype=np.int64)
    bound = least_sum(changed, ends, least)
    dead = bound >= cutoff
    which, new_ends = promising(changed, ends, least, bound, cutoff)
    if dead:
        which = which[:0]
    free = 0
    for a in range(columns.size):
        free += status[a] == FREE and a != branch
    new_table = np.empty((free, which.size), dtype=table.dtype)
    new_columns = np.empty(free, dtype=np.int64)
    free = 0
    for a in range(columns.size):
        if status[a] == FREE and a != branch:
            source, target = table[a], new_table[free]
            for c in range(which.size):
                target[c] = source[which[c]]
            new_columns[free] = columns[a]
            free += 1
    new_base = np.empty(which.size, dtype=table.dtype)
    new_sums = np.empty(which.size, dtype=table.dtype)
    new_patterns = np.empty((patterns.shape[0], which.size), dtype=np.uint64)
    for c in range(which.size):
        new_base[c] = base[which[c]] + (column[which[c]] if on else zero)
        new_sums[c] = changed[which[c]]
        for word in range(patterns.shape[0]):
            new_patterns[word, c] = patterns[word, which[c]]
    return dead, (
        new_table,
        new_base,
        new_sums,
        new_patterns,
        places[:0],
        new_ends,
        new_columns,
        0,
        outer,
    )


@njit(cache=True, nogil=True)
def _branch_on_slab(node: Any, tables: AnyArray, cutoff: Any) -> Any:
    """Return how many children are worth a look, and both, for the last slab off and on."""
    table, base, sums, patterns, places, ends, columns, bits, outer = node
    least = np.empty(ends.size, dtype=np.int64)
    status = np.full(columns.size, FREE, dtype=np.uint8)
    lean = np.empty(columns.size, dtype=np.int64)
    if least_sum(sums, ends, least) >= cutoff:
        return 0, node, node
    if ascend(table, base, sums, ends, cutoff, False, status, lean):
        return 0, node, node
    bound = least_sum(sums, ends, least)
    which, ends = promising(sums, ends, least, bound, cutoff)
    places, base, patterns = places[which], base[which], gather(patterns, which)
    slab = tables[bits - 1]
    table_off, sums_off = _decide_slab(table, which, places, slab, False)
    table_on, sums_on = _decide_slab(table, which, places, slab, True)
    with_it = outer | (1 << (bits - 1))
    off = (table_off, base, sums_off, patterns, places, ends, columns, bits - 1, outer)
    on = (table_on, base.copy(), sums_on, patterns, places, ends, columns, bits - 1, with_it)
    off_dead = least_sum(sums_off, ends, least) >= cutoff
    on_dead = least_sum(sums_on, ends, least) >= cutoff
    return _living(off_dead, off, on_dead, on)


@njit(cache=True, nogil=True)
def _living(one_dead: bool, one: Any, two_dead: bool, two: Any) -> Any:
    """Return how many of two children are alive, and them, the living first."""
    if one_dead and not two_dead:
        return 1, two, one
    return 2 - one_dead - two_dead, one, two


@njit(cache=True, nogil=True)
def _branch_on_column(
    node: Any,
    matrix: AnyArray,
    weights: IndexArray,
    rest: Any,
    cutoff: Any,
    spread: bool,
    pool: Any,
) -> Any:
    """Return how many children are worth a look, both, and the cutoff after what was found."""
    table, base, sums, patterns, places, ends, columns, _, outer = node
    dead, table, base, sums, patterns, ends = merge_blocks(
        table, base, sums, patterns, ends, cutoff, max(PAIRS, PAIRS_PER_CHOICE * sums.size)
    )
    if dead:
        return 0, node, node, cutoff
    least = np.empty(ends.size, dtype=np.int64)
    status = np.full(columns.size, FREE, dtype=np.uint8)
    lean = np.empty(columns.size, dtype=np.int64)
    cutoff = _try_rows(matrix, sums, patterns, ends, rest, outer, cutoff, spread, pool)
    dead = least_sum(sums, ends, least) >= cutoff
    if dead or ascend(table, base, sums, ends, cutoff, True, status, lean):
        return 0, node, node, cutoff
    cutoff = _try_rows(matrix, sums, patterns, ends, rest, outer, cutoff, spread, pool)
    branch, best_score = -1, np.int64(0)
    for a in range(columns.size):
        if status[a] == FREE:
            score = weights[columns[a]] - LEAN * abs(lean[a])
            if branch < 0 or score > best_score:
                branch, best_score = a, score
    if branch < 0 or least_sum(sums, ends, least) >= cutoff:
        return 0, node, node, cutoff
    likely = lean[branch] < 0
    one_dead, one = _decide_column(
        (table, base, sums, patterns, places, ends, columns, 0, outer),
        status,
        branch,
        not likely,
        cutoff,
    )
    two_dead, two = _decide_column(
        (table, base, sums, patterns, places, ends, columns, 0, outer),
        status,
        branch,
        likely,
        cutoff,
    )
    count, one, two = _living(one_dead, one, two_dead, two)
    return count, one, two, cutoff


@njit(cache=True, nogil=True)
def _try_rows(
    matrix: AnyArray,
    sums: AnyArray,
    patterns: WordArray,
    ends: IndexArray,
    rest: Any,
    outer: Any,
    cutoff: Any,
    spread: bool,
    pool: Any,
) -> Any:
    """Offer what the blocks choose together to the pool; return the cutoff after that."""
    rows = np.empty(patterns.shape[0], dtype=np.uint64)
    column_sums = np.empty(matrix.shape[1], dtype=np.int64)
    cost = best_rows(matrix, sums, patterns, ends, rows, column_sums)
    if cost >= cutoff:
        return cutoff
    _offer(pool, cost, rest, outer, rows, column_sums)
    if not spread:
        pool[5][1] = -1
    return cost


@njit(cache=True, nogil=True)
def _matrix_of(slabs: AnyArray, outer: Any, out_weights: IndexArray) -> Any:
    """Return the sum of the slabs that are on; write the absolute sum of its columns."""
    matrix = slabs[0].copy()
    for i in range(1, slabs.shape[0]):
        if (outer >> (i - 1)) & 1:
            matrix += slabs[i]
    for a in range(matrix.shape[1]):
        out_weights[a] = 0
        for i in range(matrix.shape[0]):
            out_weights[a] += abs(matrix[i, a])
    return matrix


@njit(cache=True, nogil=True)
def expand(
    node: Any,
    slabs: AnyArray,
    tables: AnyArray,
    rest: Any,
    target: Any,
    pool: Any,
    counts: IndexArray,
) -> Any:
    """Take one step of a search: return how many children the node has, and both.

    The arguments are those of ``search``; each box found lowers the target of the next step.
    """
    counts[0] += 1
    counts[1] += node[0].size
    if node[7] > 0:
        return _branch_on_slab(node, tables, target)
    weights = np.empty(slabs.shape[2], dtype=np.int64)
    matrix = _matrix_of(slabs, node[8], weights)
    count, one, two, _ = _branch_on_column(node, matrix, weights, rest, target, False, pool)
    return count, one, two


@njit(cache=True, nogil=True)
def search(
    node: Any,
    slabs: AnyArray,
    tables: AnyArray,
    rest: Any,
    target: Any,
    spread: bool,
    pool: Any,
    stop: FlagArray,
    counts: IndexArray,
) -> Any:
    """Look for boxes below the target under a node; return the least bound that was left open.

    Parameters
    ----------
    slabs
        (1 + outer, rows, columns) costs; slab 0 is always on.
    tables
        (outer, columns, choices) tables of the slabs 1, 2, ...
    rest
        The pattern of the modes beyond these three, for the pool.
    target
        Only boxes that cost less are of interest.
    spread
        Whether to find the best box of every pattern of slabs that has one below the target,
        as far as the pool has room. Otherwise each box found lowers the target.
    stop
        (1,) set from outside to stop.
    counts
        (2,) nodes and table entries looked at are added here.

    Returns
    -------
    int
        ``NOWHERE`` when the search went to its end.
    """
    weights = np.empty(slabs.shape[2], dtype=np.int64)
    matrix, current, known = slabs[0], 0, False
    cutoff = _pool_cutoff(pool, target)
    open_nodes = [node]
    while len(open_nodes) > 0 and stop[0] == 0:
        item = open_nodes.pop()
        counts[0] += 1
        counts[1] += item[0].size
        if item[7] > 0:
            if spread:
                cutoff = _pool_cutoff(pool, target)
            count, one, two = _branch_on_slab(item, tables, cutoff)
        else:
            if not known or item[8] != current:
                known, current = True, item[8]
                matrix = _matrix_of(slabs, current, weights)
                if spread:
                    pool[5][1] = -1
                    cutoff = _pool_cutoff(pool, target)
            count, one, two, cutoff = _branch_on_column(
                item, matrix, weights, rest, cutoff, spread, pool
            )
        if count > 0:
            open_nodes.append(one)
        if count > 1:
            open_nodes.append(two)
    lowest = NOWHERE
    for left in open_nodes:
        lowest = min(lowest, bound_of(left))
    return lowest


@njit(cache=True, nogil=True)
def bound_of(node: Any) -> Any:
    """Return a number that no box under the node costs less than."""
    return least_sum(node[2], node[5], np.empty(node[5].size, dtype=np.int64))


@njit(cache=True, nogil=True)
def _changed_bit(number: int) -> int:
    """Return which bit the Gray code changes on its way from number - 1 to number."""
    bit = 0
    while not (number >> bit) & 1:
        bit += 1
    return bit


@njit(cache=True, nogil=True)
def _scan_slabs(
    slabs: AnyArray,
    tables: AnyArray,
    firsts: IndexArray,
    bits: int,
    rest: Any,
    codes: tuple[int, int],
    target: Any,
    spread: bool,
    pool: Any,
    stop: FlagArray,
    counts: IndexArray,
) -> bool:
    """Count through the slabs beyond ``bits``; say whether it was completed.

    The multipliers stay in the table from one pattern to the next, which differs in one slab.
    """
    table, base, sums, patterns, places, ends, columns, _, _ = root_node(
        slabs, tables, firsts, bits
    )
    status = np.full(columns.size, FREE, dtype=np.uint8)
    lean = np.empty(columns.size, dtype=np.int64)
    least = np.empty(ends.size, dtype=np.int64)
    high = codes[0] ^ (codes[0] >> 1)
    for i in range(tables.shape[0] - bits):
        if (high >> i) & 1:
            add_table(table, tables[bits + i], 1, sums)
    for code in range(codes[0], codes[1]):
        if stop[0]:
            return False
        if code > codes[0]:
            bit = _changed_bit(code)
            sign = -1 if (high >> bit) & 1 else 1
            add_table(table, tables[bits + bit], sign, sums)
            high ^= 1 << bit
        cutoff = _pool_cutoff(pool, target)
        counts[0] += 1
        counts[1] += table.size
        ruled_out = least_sum(sums, ends, least) >= cutoff
        for _ in range(SWEEPS):
            if not ruled_out:
                counts[1] += table.size
                ruled_out = ascend(table, base, sums, ends, cutoff, False, status, lean)
        if ruled_out:
            continue
        which, new_ends = promising(sums, ends, least, least_sum(sums, ends, least), cutoff)
        node = (
            gather(table, which),
            base[which],
            sums[which],
            gather(patterns, which),
            places[which],
            new_ends,
            columns,
            bits,
            high << bits,
        )
        if search(node, slabs, tables, rest, target, spread, pool, stop, counts) < NOWHERE:
            return False
        if spread:
            pool[5][1] = -1
        for slot in range(0 if spread else pool[5][0]):
            target = min(target, pool[0][slot])
    return True


@njit(cache=True, nogil=True)
def _count_choices(firsts: IndexArray) -> int:
    """Return how many on-off patterns the blocks of rows have, each by itself."""
    count = 0
    for b in range(firsts.size - 1):
        count += 1 << (firsts[b + 1] - firsts[b])
    return count


@njit(cache=True, nogil=True)
def scan(
    costs: AnyArray,
    firsts: IndexArray,
    bits: int,
    rest_codes: tuple[int, int],
    codes: tuple[int, int],
    target: Any,
    spread: bool,
    pool: Any,
    stop: FlagArray,
    counts: IndexArray,
) -> bool:
    """Count through a range of patterns and search under each; say whether it was completed.

    Parameters
    ----------
    costs
        (1 + rest, 1 + outer, rows, columns) costs. The first of both stacks is always on.
    bits
        The slabs 1 to ``bits`` are left to the search; the others are counted through.
    rest_codes, codes
        Which Gray codes of the first stack and of the slabs beyond ``bits`` to go through.
    target, spread, pool, stop, counts
        As in ``search``.
    """
    n_choices = _count_choices(firsts)
    tables = np.empty((costs.shape[1] - 1, costs.shape[3], n_choices), dtype=costs.dtype)
    slabs = costs[0].copy()
    rest = rest_codes[0] ^ (rest_codes[0] >> 1)
    for i in range(costs.shape[0] - 1):
        if (rest >> i) & 1:
            slabs += costs[1 + i]
    for code in range(rest_codes[0], rest_codes[1]):
        if code > rest_codes[0]:
            bit = _changed_bit(code)
            if (rest >> bit) & 1:
                slabs -= costs[1 + bit]
            else:
                slabs += costs[1 + bit]
            rest ^= 1 << bit
        for i in range(tables.shape[0]):
            fill_tables(slabs[1 + i], firsts, tables[i])
        if not _scan_slabs(
            slabs, tables, firsts, bits, rest, codes, target, spread, pool, stop, counts
        ):
            return False
        for slot in range(0 if spread else pool[5][0]):
            target = min(target, pool[0][slot])
    return True


@njit(cache=True, nogil=True)
def scan_listed(
    costs: AnyArray,
    lengths: IndexArray,
    firsts: IndexArray,
    listed: IndexArray,
    target: Any,
    spread: bool,
    pool: Any,
    stop: FlagArray,
    counts: IndexArray,
) -> bool:
    """Search under the patterns of a list; say whether it was completed.

    Parameters
    ----------
    costs
        (leading, outer, rows, columns) costs, the leading modes as one.
    lengths
        Of the leading modes.
    listed
        Patterns: the outer mode's in the lowest digits, the last leading mode's next. The pool's
        ``rest`` is a place in this list.
    target, spread, pool, stop, counts
        As in ``search``.
    """
    n_choices = _count_choices(firsts)
    n_leading, n_outer, n_rows, n_columns = costs.shape
    tables = np.empty((0, n_columns, n_choices), dtype=costs.dtype)
    slabs = np.empty((1, n_rows, n_columns), dtype=costs.dtype)
    for place in range(listed.size):
        slabs[:] = 0
        for together in range(n_leading):
            index, digits, inside = together, listed[place] >> n_outer, True
            for mode in range(lengths.size - 1, -1, -1):
                inside = inside and (digits >> (index % lengths[mode])) & 1 == 1
                digits >>= lengths[mode]
                index //= lengths[mode]
            for i in range(n_outer if inside else 0):
                if (listed[place] >> i) & 1:
                    slabs[0] += costs[together, i]
        if not _scan_slabs(
            slabs, tables, firsts, 0, place, (0, 1), target, spread, pool, stop, counts
        ):
            return False
        for slot in range(0 if spread else pool[5][0]):
            target = min(target, pool[0][slot])
    return True
