"""The kernels of the exact search in plain Python and NumPy: slow, obvious, tried on every row.

Arguments and results are those of the kernels of the same names, but nothing is written in place:
outputs are returned.
"""

from __future__ import annotations

import itertools

import numpy as np

from intensor.oracles.exact.blocks import Blocks
from intensor.oracles.exact.multipliers import FREE, OFF, ON
from intensor.oracles.exact.nodes import Node


def patterns_of(length):
    """Return all on-off patterns as rows of zeros and ones, the first digit changing fastest."""
    numbers = np.arange(1 << length, dtype=np.int64)
    return (numbers[:, np.newaxis] >> np.arange(length)) & 1


def flags_of(number, length):
    """Return the lowest binary digits of a number."""
    return np.array([(int(number) >> digit) & 1 for digit in range(length)], dtype=np.int64)


def number_of(flags):
    """Return flags as a number, the first one lowest."""
    return sum(int(flag) << digit for digit, flag in enumerate(flags))


def spans(ends):
    """Return where the choices of each block begin and end."""
    return list(itertools.pairwise([0, *np.asarray(ends).tolist()]))


def words_of(rows):
    """Return 0-1 vectors as 64-bit words, (words, choices)."""
    words = np.zeros((-(-rows.shape[1] // 64), len(rows)), dtype=np.uint64)
    for choice, i in zip(*np.nonzero(rows), strict=True):
        words[i // 64, choice] |= np.uint64(1) << np.uint64(i % 64)
    return words


def choices_of(firsts):
    """Return the rows of every choice of every block as 0-1 vectors, and the ends."""
    rows, ends = [], []
    for first, last in itertools.pairwise(firsts):
        for choice in range(1 << (last - first)):
            flags = np.zeros(firsts[-1], dtype=np.int64)
            flags[first:last] = flags_of(choice, last - first)
            rows.append(flags)
        ends.append(len(rows))
    return np.array(rows), np.array(ends)


def count_choices(firsts):
    return len(choices_of(firsts)[0])


def fill_tables(matrix, firsts):
    return (choices_of(firsts)[0] @ matrix).T


def sum_of_columns(table, base):
    return base + np.minimum(table, 0).sum(axis=0)


def add_table(table, other, sign):
    """Return the table and the sums for a base of 0."""
    return table + sign * other, np.minimum(table + sign * other, 0).sum(axis=0)


def least_sums(sums, ends):
    """Return the bound and the least sum of each block."""
    least = [int(sums[start:end].min()) for start, end in spans(ends)]
    return sum(least), least


def least_sum(sums, ends):
    return least_sums(sums, ends)[0]


def promising(sums, ends, cutoff):
    bound, least = least_sums(sums, ends)
    which, new_ends = [], []
    for block, (start, end) in enumerate(spans(ends)):
        which += [c for c in range(start, end) if bound - least[block] + int(sums[c]) < cutoff]
        new_ends.append(len(which))
    return which, new_ends


def gather(table, which):
    return np.stack([table[:, choice] for choice in which], axis=1)


def best_rows(matrix, blocks):
    """Return the cost, the rows as words and the column sums of the cheapest choices."""
    words = np.zeros(len(blocks.rows), dtype=np.uint64)
    for start, end in spans(blocks.ends):
        words |= blocks.rows[:, start + int(np.argmin(blocks.sums[start:end]))]
    flags = [(int(words[i // 64]) >> (i % 64)) & 1 for i in range(len(matrix))]
    columns = np.array(flags) @ matrix
    return int(np.minimum(columns, 0).sum()), words, columns


def blocks_of(matrix, firsts, kind=np.int64):
    """Return the blocks of a matrix without multipliers."""
    rows, ends = choices_of(firsts)
    table = np.ascontiguousarray((rows @ matrix).T.astype(kind))
    sums = np.minimum(table, 0).sum(axis=0).astype(kind)
    return Blocks(table, np.zeros(len(rows), dtype=kind), sums, words_of(rows), ends)


def copy_of(blocks):
    return Blocks(*(part.copy() for part in blocks))


def ascend(blocks, cutoff, fix, status):
    """Return whether the cutoff was reached, the blocks, the status and the lean."""
    table, base = blocks.table.astype(object), blocks.base.astype(object)
    status, lean = status.copy(), np.zeros(len(table), dtype=np.int64)
    for a in range(len(table)):
        if status[a] != FREE:
            continue
        others = [i for i in range(len(table)) if i != a and status[i] == FREE]
        without = base + np.minimum(table[others], 0).sum(axis=0)
        (off, each_off), (on, each_on) = (
            least_sums(sums, blocks.ends) for sums in (without, without + table[a])
        )
        if min(off, on) >= cutoff:
            return True, blocks, status, lean
        if fix and off >= cutoff:
            status[a] = ON
            base = base + table[a]
        elif fix and on >= cutoff:
            status[a] = OFF
        else:
            lean[a] = left = on - off
            for block, (start, end) in enumerate(spans(blocks.ends)):
                share = left // (len(blocks.ends) - block)
                left -= share
                table[a, start:end] += share - (each_on[block] - each_off[block])
    free = status == FREE
    sums = base + np.minimum(table[free], 0).sum(axis=0)
    kind = blocks.table.dtype
    moved = Blocks(
        table.astype(kind), base.astype(kind), sums.astype(kind), blocks.rows, blocks.ends
    )
    return False, moved, status, lean


def merge_blocks(blocks, cutoff, max_pairs):
    """Return whether nothing is left, and the blocks."""
    table, base, rows = blocks.table, blocks.base, blocks.rows
    groups = [list(range(start, end)) for start, end in spans(blocks.ends)]
    columns = [(int(base[c]), table[:, c].astype(object), rows[:, c]) for c in range(base.size)]

    def cost(choice):
        return choice[0] + int(np.minimum(choice[1], 0).sum())

    merged = [[columns[c] for c in group] for group in groups]
    if sum(min(map(cost, group)) for group in merged) >= cutoff:
        return True, blocks
    while len(merged) > 1:
        least = [min(map(cost, group)) for group in merged]
        by_size = sorted(range(len(merged)), key=lambda block: len(merged[block]))
        one, two = sorted(by_size[:2])
        if len(merged[one]) * len(merged[two]) > max_pairs:
            break
        limit = cutoff - (sum(least) - least[one] - least[two])
        pairs = [
            (c[0] + d[0], c[1] + d[1], c[2] | d[2])
            for c in merged[one]
            for d in merged[two]
            if cost(c) + cost(d) < limit
        ]
        if not pairs:
            return True, blocks
        merged = [group for b, group in enumerate(merged) if b not in (one, two)] + [pairs]
        least = [min(map(cost, group)) for group in merged]
        if sum(least) >= cutoff:
            return True, blocks
        merged = [
            [choice for choice in group if sum(least) - least[b] + cost(choice) < cutoff]
            for b, group in enumerate(merged)
        ]
    kept = [choice for group in merged for choice in group]
    kind = table.dtype
    return False, Blocks(
        np.stack([choice[1] for choice in kept], axis=1).astype(kind),
        np.array([choice[0] for choice in kept], dtype=kind),
        np.array([cost(choice) for choice in kept], dtype=kind),
        np.stack([choice[2] for choice in kept], axis=1),
        np.cumsum([len(group) for group in merged]),
    )


def root_node(slabs, firsts, n_open):
    blocks = blocks_of(slabs.costs[0], firsts, slabs.costs.dtype)
    table = blocks.table + np.minimum(slabs.tables[:n_open], 0).sum(axis=0)
    blocks = blocks._replace(table=table, sums=sum_of_columns(table, blocks.base))
    return Node(blocks, np.arange(len(blocks.base)), np.arange(len(table)), n_open, 0)


def bound_of(node):
    return least_sum(node.blocks.sums, node.blocks.ends)


def least_of(matrix):
    """Return the least sum of chosen entries, by trying all rows."""
    return int(np.minimum(patterns_of(len(matrix)) @ matrix, 0).sum(axis=1).min())


def search_tree(costs):
    """Return the least cost under every pattern of the slabs but the first, by trying all rows."""
    return {
        number_of(on): least_of(costs[0] + np.tensordot(on, costs[1:], axes=1))
        for on in patterns_of(len(costs) - 1)
    }


def scan(costs):
    """Return the least cost under every (rest, slabs) pattern of both stacks but their first."""
    best = {}
    for rest in patterns_of(len(costs) - 1):
        slabs = costs[0] + np.tensordot(rest, costs[1:], axes=1)
        best |= {(number_of(rest), on): cost for on, cost in search_tree(slabs).items()}
    return best


def least_by_pattern(costs):
    """Return the least cost of every pattern of all modes but the last two, by trying all.

    Patterns are numbers with the last of these modes in the lowest digits.
    """
    *outer, _, _ = costs.shape
    best = {}
    for flags in itertools.product(*(patterns_of(length) for length in outer)):
        matrix, number = costs.astype(np.int64), 0
        for on in flags:
            matrix = np.tensordot(on, matrix, axes=1)
            number = (number << len(on)) + number_of(on)
        best[number] = least_of(matrix)
    return best


def scan_listed(costs, listed):
    """Return the least cost under each pattern of a list."""
    best = least_by_pattern(costs)
    return [best[int(pattern)] for pattern in listed]


def begin_pattern(target, costs, size):
    """Return the cost that the first box of a pattern must beat."""
    return min([target, max(costs)]) if len(costs) == size else target


def offer(boxes, size, slot, box):
    """Return the boxes once another one, which is good enough, has come in, and its slot."""
    boxes = list(boxes)
    if slot < 0 and len(boxes) < size:
        return [*boxes, box], len(boxes)
    if slot < 0:
        slot = max(range(size), key=lambda i: boxes[i].cost)
    boxes[slot] = box
    return boxes, slot
