"""How an exact search would go about a tensor, and how long that would take.

An enumeration takes about the same time whatever the costs are. A tree does not: its size was
fitted to residuals of pictures, and residuals that are mostly noise can make it a thousand times
larger. The times are those of one core; they are meant to tell a second from an hour.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from intensor._arrays import IndexArray

__all__ = [
    "LEAST_DEVICE_SECONDS",
    "MOST_ENTRIES",
    "Plan",
    "plan_branching",
    "plan_enumeration",
    "plan_on_device",
]

MOST_ENTRIES, MOST_NODE_ENTRIES = 1 << 26, 1 << 22
"""Of all tables together, half a gigabyte at most; and of one node of a tree, of which many are
open at a time."""
MOST_CELLS = 1 << 26
"""Of the dense tensor of costs."""
FEW = 1 << 24
"""Table entries of a whole enumeration below which the rows need not be cut."""
SHORT_BLOCK, LONG_BLOCK = 8, 14
"""Rows per block at most, when the patterns to go through are many, and when they are few."""
SECONDS_PER_ENTRY = 0.4e-9
"""Of an enumeration, everything included."""
SECONDS_PER_DEVICE_ENTRY, MANY_BLOCKS = 0.01e-9, 3
"""Of an enumeration on a CUDA device, measured on an H200: three times as much where three blocks
leave many combinations to be tried."""
LEAST_DEVICE_SECONDS = 0.5
"""Since the device's kernel is compiled for some seconds in every process."""
SHARED_BYTES = 48 << 10
"""Memory that the threads of a block have in common on any CUDA device."""
LEAST_SECONDS = 1e-3
SECONDS_PER_CALL = 2e-4
"""Of the kernel, which is called once for each pattern of the modes beyond the fourth."""
START, PER_ROW, PER_SLAB = 3.3, 0.19, 0.9
"""Powers of two by which a tree grows: for being one, with each row, and with each slab."""
EASY_ROWS, SHORT_PER_ROW = 24, 0.5
"""Rows up to which short blocks rule out nearly every pattern at once, and what each row more
costs an enumeration beyond what it costs a tree."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """What will be done.

    Attributes
    ----------
    firsts
        (blocks + 1,) the first row of every block, and the end.
    bits
        Slabs that are left to the search; those beyond are counted through.
    patterns
        Binary digits of the number of patterns to count through.
    entries
        Table entries per pattern.
    seconds
        Expected time on one thread; infinite when it cannot be done.
    """

    firsts: IndexArray
    bits: int
    patterns: int
    entries: int
    seconds: float

    @property
    def n_blocks(self) -> int:
        """Number of blocks of rows."""
        return self.firsts.size - 1


def _blocks(rows: int, longest: int) -> IndexArray:
    count = -(-rows // longest)
    sizes = [rows // count + (b < rows % count) for b in range(count)]
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


def _choices(firsts: IndexArray) -> int:
    return int((1 << np.diff(firsts)).sum())


def _fitting_blocks(lengths: tuple[int, ...], longest: int, most: int) -> IndexArray:
    """Return blocks of at most so many rows, fewer if their tables would be too large."""
    columns, rows, *others = lengths
    slabs = 1 + (others[0] if others else 0)
    firsts = _blocks(rows, longest)
    while longest > 1 and (
        columns * _choices(firsts) > most or slabs * columns * _choices(firsts) > MOST_ENTRIES
    ):
        longest -= 1
        firsts = _blocks(rows, longest)
    return firsts


def _possible(lengths: tuple[int, ...], entries: int, most: int) -> bool:
    slabs = 1 + (lengths[2] if len(lengths) > 2 else 0)
    return (
        math.prod(lengths) <= MOST_CELLS
        and entries <= most
        and entries * slabs <= MOST_ENTRIES
        and all(length <= 62 for length in lengths[2:])
    )


def _impossible(lengths: tuple[int, ...]) -> Plan:
    """Return the plan for a tensor that is too large to be laid out: blocks are not thought of."""
    firsts = np.array([0, lengths[1]])
    return Plan(firsts=firsts, bits=0, patterns=0, entries=0, seconds=math.inf)


def _calls(lengths: tuple[int, ...]) -> float:
    return math.ldexp(SECONDS_PER_CALL, sum(lengths[4:]))


def plan_enumeration(lengths: tuple[int, ...]) -> Plan:
    """Plan to count through all patterns of all modes but two.

    Parameters
    ----------
    lengths
        Indices of the columns, the rows, the slabs, and the other modes.

    Examples
    --------
    >>> plan = plan_enumeration((20, 20, 20))
    >>> plan.firsts.tolist(), plan.patterns, 1 < plan.seconds < 50
    ([0, 7, 14, 20], 20, True)
    """
    if math.prod(lengths) > MOST_CELLS:
        return _impossible(lengths)
    columns, rows = lengths[:2]
    patterns = sum(lengths[2:])
    whole = rows <= 16 and patterns + rows < 60 and columns << (rows + patterns) <= FEW
    firsts = _fitting_blocks(lengths, rows if whole else SHORT_BLOCK, MOST_ENTRIES)
    entries = columns * _choices(firsts)
    seconds = math.inf
    if patterns <= 62 and _possible(lengths, entries, MOST_ENTRIES):
        tree = 0.0
        if rows > EASY_ROWS:
            tree = START + PER_ROW * rows + SHORT_PER_ROW * (rows - EASY_ROWS)
        work = entries * SECONDS_PER_ENTRY * 2.0 ** min(tree, 500.0)
        seconds = LEAST_SECONDS + math.ldexp(work, patterns) + _calls(lengths)
    return Plan(firsts=firsts, bits=0, patterns=patterns, entries=entries, seconds=seconds)


def plan_on_device(lengths: tuple[int, ...]) -> Plan:
    """Plan to count through all patterns of all modes but two on a CUDA device.

    Examples
    --------
    >>> plan = plan_on_device((20, 20, 20))
    >>> plan.firsts.tolist(), plan.patterns, plan.seconds < plan_enumeration((20, 20, 20)).seconds
    ([0, 7, 14, 20], 20, True)
    """
    from intensor.backends.cuda.patterns import (  # noqa: PLC0415  (imports numba.cuda)
        LONGEST_BLOCK,
        MOST_SEARCHED,
        shared_bytes,
    )

    columns, rows = lengths[:2]
    patterns = sum(lengths[2:])
    firsts = _blocks(rows, LONGEST_BLOCK)
    entries = columns * _choices(firsts)
    seconds = math.inf
    if (
        len(lengths) > 2
        and firsts.size - 1 <= MOST_SEARCHED
        and shared_bytes(columns, rows, firsts.size - 1) <= SHARED_BYTES
        and patterns <= 62
        and _possible(lengths, entries, MOST_ENTRIES)
    ):
        each = SECONDS_PER_DEVICE_ENTRY * (3.0 if firsts.size - 1 >= MANY_BLOCKS else 1.0)
        seconds = LEAST_DEVICE_SECONDS + math.ldexp(entries * each, patterns)
    return Plan(firsts=firsts, bits=0, patterns=patterns, entries=entries, seconds=seconds)


def plan_branching(lengths: tuple[int, ...]) -> Plan:
    """Plan to branch on slabs and columns, counting through the patterns of the other modes only.

    How large the tree grows depends on the costs; the expected time is a rule of thumb.

    Examples
    --------
    >>> plan = plan_branching((50, 50, 3))
    >>> plan.n_blocks, plan.bits, plan.patterns
    (4, 3, 0)
    """
    if math.prod(lengths) > MOST_CELLS:
        return _impossible(lengths)
    columns, rows = lengths[:2]
    outer = lengths[2] if len(lengths) > 2 else 0
    patterns = sum(lengths[3:])
    firsts = _fitting_blocks(lengths, LONG_BLOCK, MOST_NODE_ENTRIES)
    entries = columns * _choices(firsts)
    seconds = math.inf
    if patterns <= 62 and _possible(lengths, entries, MOST_NODE_ENTRIES):
        tree = START + PER_ROW * rows + PER_SLAB * outer if firsts.size > 2 else float(outer)
        work = entries * SECONDS_PER_ENTRY * 2.0 ** min(tree, 500.0)
        seconds = LEAST_SECONDS + math.ldexp(work, patterns) + _calls(lengths)
    return Plan(firsts=firsts, bits=outer, patterns=patterns, entries=entries, seconds=seconds)
