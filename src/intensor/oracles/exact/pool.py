"""The boxes that a search has found, and the cutoff that the next one must beat.

Kernels write into a ``BoxPool``, one per thread; ``found_boxes`` reads it afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from intensor._arrays import AnyArray, FlagArray, IndexArray, WordArray
from intensor.runtime.compiling import njit


class BoxPool(NamedTuple):
    """The best boxes that a search has found, as arrays with one entry per box."""

    costs: IndexArray  # (size,) integer cost of each box
    rests: IndexArray  # (size,) pattern of the modes beyond the slabs, or its position in a list
    slabs_on: IndexArray  # (size,) the slabs that each box has on, as bits
    rows: WordArray  # (size, words) the rows that each box has on, as bits
    columns: FlagArray  # (size, columns) flags of the columns
    n_boxes: IndexArray  # (1,) number of boxes in the pool
    # (1,) entry of the best box of the current pattern; minus one when it has none yet
    slot: IndexArray
    target: IndexArray  # (1,) only boxes that cost less are of interest
    cutoff: IndexArray  # (1,) cost that the next box of the current pattern must beat
    # Whether to keep the best box of every pattern. Otherwise each box lowers the target.
    per_pattern: bool


def empty_pool(
    size: int, n_rows: int, n_columns: int, *, target: int, per_pattern: bool = False
) -> BoxPool:
    """Return a pool that can hold ``size`` boxes."""
    return BoxPool(
        costs=np.zeros(size, dtype=np.int64),
        rests=np.zeros(size, dtype=np.int64),
        slabs_on=np.zeros(size, dtype=np.int64),
        rows=np.zeros((size, (n_rows + 63) // 64), dtype=np.uint64),
        columns=np.zeros((size, n_columns), dtype=np.uint8),
        n_boxes=np.zeros(1, dtype=np.int64),
        slot=np.full(1, -1),
        target=np.full(1, target, dtype=np.int64),
        cutoff=np.full(1, target, dtype=np.int64),
        per_pattern=per_pattern,
    )


@njit(cache=True, nogil=True)
def _worst(costs: IndexArray) -> int:
    """Return the first entry of the largest cost."""
    worst = 0
    for slot in range(costs.size):
        if costs[slot] > costs[worst]:
            worst = slot
    return worst


@njit(cache=True, nogil=True)
def begin_pattern(pool: BoxPool) -> None:
    """Begin another pattern: it must beat the target and, in a full pool, the worst box."""
    pool.slot[0] = -1
    pool.cutoff[0] = pool.target[0]
    if pool.n_boxes[0] == pool.costs.size:
        pool.cutoff[0] = min(pool.target[0], pool.costs[_worst(pool.costs)])


@njit(cache=True, nogil=True, inline="always")
def offer(
    pool: BoxPool, cost: Any, rest: Any, slabs_on: Any, rows: WordArray, column_sums: IndexArray
) -> None:
    """Store a box that costs less than the cutoff, and lower the cutoff to its cost.

    It replaces the box of the current pattern, if there is one; else it takes a free entry or
    replaces the worst box.
    """
    slot = pool.slot[0]
    if slot < 0 and pool.n_boxes[0] < pool.costs.size:
        slot = pool.n_boxes[0]
        pool.n_boxes[0] += 1
    elif slot < 0:
        slot = _worst(pool.costs)
    pool.costs[slot] = cost
    pool.rests[slot] = rest
    pool.slabs_on[slot] = slabs_on
    for word in range(rows.size):
        pool.rows[slot, word] = rows[word]
    for a in range(column_sums.size):
        pool.columns[slot, a] = column_sums[a] < 0
    pool.cutoff[0] = cost
    if pool.per_pattern:
        pool.slot[0] = slot
    else:
        pool.target[0] = cost


@dataclass(frozen=True, slots=True)
class FoundBox:
    """A box that a search found."""

    cost: int  # Its integer cost
    chosen: list[AnyArray]  # Flags of each part: columns, rows, slabs, and the other modes


def found_boxes(
    pool: BoxPool, n_rows: int, outer_flags: Callable[[int, int], Sequence[AnyArray]]
) -> list[FoundBox]:
    """Return the boxes of a pool in the order of its entries.

    ``outer_flags`` turns ``rest`` and ``slabs_on`` into flags of the slabs and the modes beyond.
    """
    boxes = []
    for slot in range(int(pool.n_boxes[0])):
        outer = outer_flags(int(pool.rests[slot]), int(pool.slabs_on[slot]))
        rows = flags_of_words(pool.rows[slot], n_rows)
        boxes.append(FoundBox(int(pool.costs[slot]), [pool.columns[slot], rows, *outer]))
    return boxes


def flags_of_number(number: int, *lengths: int) -> list[FlagArray]:
    """Return the binary digits of a number as flags, lowest first, cut into parts.

    Examples
    --------
    >>> [flags.tolist() for flags in flags_of_number(22, 3, 2)]
    [[0, 1, 1], [0, 1]]
    """
    digits = [(number >> digit) & 1 for digit in range(sum(lengths))]
    return np.split(np.array(digits, dtype=np.uint8), np.cumsum(lengths)[:-1])


def flags_of_words(words: WordArray, length: int) -> FlagArray:
    """Return the lowest bits of one or more 64-bit words as flags."""
    flags: FlagArray = np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little")
    return flags[:length]
