"""How an exact search would go about a tensor, and how long that would take.

An enumeration takes about the same time whatever the costs are. A tree does not: its size was
fitted to residuals of pictures, and residuals that are mostly noise can make it a thousand times
larger. Times are for one core and rough: they tell a second from an hour.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from intensor._arrays import IndexArray

MAX_ENTRIES = 1 << 26
"""Most entries of all tables together, half a gigabyte."""
MAX_NODE_ENTRIES = 1 << 22
"""Most table entries of one node of a tree, of which many are open at a time."""
MAX_CELLS = 1 << 26
"""Most cells of the dense tensor of costs."""
MAX_PATTERN_BITS = 62
"""Most binary digits of a pattern: patterns are signed 64-bit integers."""
UNCUT_ENTRIES = 1 << 24
"""Most table entries of an enumeration, all patterns together, whose rows are not cut."""
LONGEST_UNCUT = 16
"""Most rows that are not cut."""
SHORT_BLOCK, LONG_BLOCK = 8, 14
"""Most rows of a block, where many patterns are gone through and where few are."""
SECONDS_PER_ENTRY = 0.4e-9
"""Seconds that an enumeration takes per table entry, everything included."""
SECONDS_PER_DEVICE_ENTRY = 0.01e-9
"""Seconds that an enumeration on a CUDA device takes per table entry, measured on an H200."""
MANY_BLOCKS, MANY_BLOCKS_FACTOR = 3, 3.0
"""With three blocks or more a device takes three times as long: more combinations are tried."""
MIN_DEVICE_SECONDS = 0.5
"""Seconds added to the estimate because the device's kernel is compiled once per process."""
SHARED_BYTES = 48 << 10
"""Bytes of shared memory that a block of threads has on any CUDA device."""
LEAST_SECONDS = 1e-3
"""Seconds added to every estimate on the host."""
SECONDS_PER_CALL = 2e-4
"""Seconds of one call of the kernel: one for each pattern of the modes beyond the fourth."""
TREE_BITS, TREE_BITS_PER_ROW, TREE_BITS_PER_SLAB = 3.3, 0.19, 0.9
"""Binary logarithm of the size of a tree, in full tables: a constant, and growth per row and
slab."""
EASY_ROWS, EXTRA_BITS_PER_ROW = 24, 0.5
"""Beyond EASY_ROWS rows, short blocks no longer rule out nearly every pattern at once, and each row
makes the trees of an enumeration larger by EXTRA_BITS_PER_ROW powers of two than other trees."""
MAX_TREE_BITS = 500.0
"""Limit on the logarithm of a tree's size, so that estimates do not overflow."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """How a search goes about its tensor."""

    firsts: IndexArray  # (blocks + 1,) the first row of every block, and the number of rows
    # Number of slabs that are left to the search tree; the others are counted through
    open_slabs: int
    pattern_bits: int  # Binary logarithm of the number of patterns to count through
    entries: int  # Number of table entries per pattern
    seconds: float  # Expected time on one thread; infinite when the search is impossible

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


def _fitting_blocks(lengths: tuple[int, ...], longest: int, max_entries: int) -> IndexArray:
    """Return blocks of at most ``longest`` rows, shorter ones if their tables were too large."""
    columns, rows, *others = lengths
    n_slabs = 1 + (others[0] if others else 0)
    firsts = _blocks(rows, longest)
    while longest > 1 and (
        columns * _choices(firsts) > max_entries
        or n_slabs * columns * _choices(firsts) > MAX_ENTRIES
    ):
        longest -= 1
        firsts = _blocks(rows, longest)
    return firsts


def _possible(lengths: tuple[int, ...], entries: int, max_entries: int, bits: int) -> bool:
    """Say whether a search fits into memory and its patterns into 64 bits."""
    n_slabs = 1 + (lengths[2] if len(lengths) > 2 else 0)
    return (
        bits <= MAX_PATTERN_BITS
        and math.prod(lengths) <= MAX_CELLS
        and entries <= max_entries
        and entries * n_slabs <= MAX_ENTRIES
        and all(length <= MAX_PATTERN_BITS for length in lengths[2:])
    )


def _impossible(lengths: tuple[int, ...]) -> Plan:
    """Return the plan for a tensor too large to be laid out, without a look at its blocks."""
    firsts = np.array([0, lengths[1]])
    return Plan(firsts=firsts, open_slabs=0, pattern_bits=0, entries=0, seconds=math.inf)


def _host_seconds(lengths: tuple[int, ...], entries: int, bits: int, tree_bits: float) -> float:
    """Return the seconds of a search with a tree of this size under each of 2^bits patterns."""
    work = entries * SECONDS_PER_ENTRY * 2.0 ** min(tree_bits, MAX_TREE_BITS)
    calls = math.ldexp(SECONDS_PER_CALL, sum(lengths[4:]))
    return LEAST_SECONDS + math.ldexp(work, bits) + calls


def plan_enumeration(
    lengths: tuple[int, ...],
    *,
    longest_block: int = SHORT_BLOCK,
    uncut_entries: int = UNCUT_ENTRIES,
) -> Plan:
    """Plan to count through all patterns of all modes but two.

    ``lengths`` has the numbers of columns, of rows, of slabs, and of indices of the other modes.
    Rows are cut unless all patterns together have at most ``uncut_entries`` table entries.

    Examples
    --------
    >>> plan = plan_enumeration((20, 20, 20))
    >>> plan.firsts.tolist(), plan.pattern_bits, 1 < plan.seconds < 50
    ([0, 7, 14, 20], 20, True)
    """
    if math.prod(lengths) > MAX_CELLS:
        return _impossible(lengths)
    columns, rows = lengths[:2]
    bits = sum(lengths[2:])
    uncut = rows <= LONGEST_UNCUT and bits + rows < 60 and columns << (rows + bits) <= uncut_entries
    firsts = _fitting_blocks(lengths, rows if uncut else longest_block, MAX_ENTRIES)
    entries = columns * _choices(firsts)
    seconds = math.inf
    if _possible(lengths, entries, MAX_ENTRIES, bits):
        tree_bits = 0.0
        if rows > EASY_ROWS:
            extra = EXTRA_BITS_PER_ROW * (rows - EASY_ROWS)
            tree_bits = TREE_BITS + TREE_BITS_PER_ROW * rows + extra
        seconds = _host_seconds(lengths, entries, bits, tree_bits)
    return Plan(firsts=firsts, open_slabs=0, pattern_bits=bits, entries=entries, seconds=seconds)


def plan_on_device(lengths: tuple[int, ...]) -> Plan:
    """Plan to count through all patterns of all modes but two on a CUDA device.

    Examples
    --------
    >>> plan, host = plan_on_device((20, 20, 20)), plan_enumeration((20, 20, 20))
    >>> plan.firsts.tolist(), plan.pattern_bits, plan.seconds < host.seconds
    ([0, 7, 14, 20], 20, True)
    """
    # These import numba.cuda, which is optional.
    from intensor.backends.cuda.pattern_kernel import MAX_COMBINED_BLOCKS  # noqa: PLC0415
    from intensor.backends.cuda.pattern_memory import LONGEST_BLOCK, shared_bytes  # noqa: PLC0415

    columns, rows = lengths[:2]
    bits = sum(lengths[2:])
    firsts = _blocks(rows, LONGEST_BLOCK)
    n_blocks = firsts.size - 1
    entries = columns * _choices(firsts)
    seconds = math.inf
    if (
        len(lengths) > 2
        and n_blocks <= MAX_COMBINED_BLOCKS
        and shared_bytes(columns, rows, n_blocks) <= SHARED_BYTES
        and _possible(lengths, entries, MAX_ENTRIES, bits)
    ):
        factor = MANY_BLOCKS_FACTOR if n_blocks >= MANY_BLOCKS else 1.0
        seconds = MIN_DEVICE_SECONDS + math.ldexp(entries * SECONDS_PER_DEVICE_ENTRY * factor, bits)
    return Plan(firsts=firsts, open_slabs=0, pattern_bits=bits, entries=entries, seconds=seconds)


def plan_branching(lengths: tuple[int, ...], *, longest_block: int = LONG_BLOCK) -> Plan:
    """Plan to branch on slabs and columns, counting through the patterns of the other modes only.

    How large the tree grows depends on the costs; the expected time is a rule of thumb.

    Examples
    --------
    >>> plan = plan_branching((50, 50, 3))
    >>> plan.n_blocks, plan.open_slabs, plan.pattern_bits
    (4, 3, 0)
    """
    if math.prod(lengths) > MAX_CELLS:
        return _impossible(lengths)
    columns, rows = lengths[:2]
    n_slabs = lengths[2] if len(lengths) > 2 else 0
    bits = sum(lengths[3:])
    firsts = _fitting_blocks(lengths, longest_block, MAX_NODE_ENTRIES)
    entries = columns * _choices(firsts)
    seconds = math.inf
    if _possible(lengths, entries, MAX_NODE_ENTRIES, bits):
        tree_bits = float(n_slabs)
        if firsts.size > 2:
            tree_bits = TREE_BITS + TREE_BITS_PER_ROW * rows + TREE_BITS_PER_SLAB * n_slabs
        seconds = _host_seconds(lengths, entries, bits, tree_bits)
    return Plan(
        firsts=firsts, open_slabs=n_slabs, pattern_bits=bits, entries=entries, seconds=seconds
    )
