"""Multipliers that hold the blocks of rows together and raise their bound (see ``blocks``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from intensor._arrays import AnyArray, FlagArray, IndexArray
from intensor.oracles.exact.blocks import Blocks
from intensor.runtime.compiling import njit

OFF, ON, FREE = 0, 1, 2
"""Status of a column: decided to be off, decided to be on, or not decided."""
LEAVE_FREE, DECIDE = np.bool_(False), np.bool_(True)
"""Whether ``ascend`` decides columns. Numba would compile it twice for constants of Python."""


@njit(cache=True, nogil=True)
def _take_out(column: AnyArray, sums: AnyArray) -> None:
    zero = column.dtype.type(0)
    for c in range(sums.size):
        sums[c] -= min(column[c], zero)


@njit(cache=True, nogil=True)
def _least_both(column: AnyArray, sums: AnyArray) -> Any:
    """Return the least sum without the column and with it."""
    kind = column.dtype.type
    without, with_it = sums[0], kind(sums[0] + column[0])
    for c in range(sums.size):
        without = min(without, sums[c])
        with_it = min(with_it, kind(sums[c] + column[c]))
    return without, with_it


@njit(cache=True, nogil=True)
def _put_back(column: AnyArray, sums: AnyArray, change: Any) -> None:
    zero = column.dtype.type(0)
    for c in range(sums.size):
        column[c] += change
        sums[c] += min(column[c], zero)


@njit(cache=True, nogil=True)
def ascend(
    blocks: Blocks, cutoff: Any, fix: Any, out_status: FlagArray, out_lean: IndexArray
) -> bool:
    """Improve the multipliers of one column after the other; say whether the cutoff was reached.

    For one column, let ``without`` and ``with`` be the bounds of the problem when it is left out
    and when it is chosen, each a sum over blocks. The best multipliers of this column distribute
    ``with - without`` evenly over the blocks: then all blocks want the same, and the bound is the
    smaller of the two. No change of this column's multipliers can do better, so the bound never
    falls. With ``fix``, a column for which one of the two reaches the cutoff is decided
    (``out_status``); only FREE columns are looked at. ``out_lean`` gets ``with - without`` of those
    that stay free. Table, sums and base are updated in place. After True the outputs mean nothing.
    """
    table, base, sums, _, ends = blocks
    n_blocks = ends.size
    kind = table.dtype.type
    without = np.empty(n_blocks, dtype=np.int64)
    with_it = np.empty(n_blocks, dtype=np.int64)
    for a in range(table.shape[0]):
        if out_status[a] != FREE:
            continue
        column = table[a]
        _take_out(column, sums)
        off, on, start = np.int64(0), np.int64(0), 0
        for b in range(n_blocks):
            without[b], with_it[b] = _least_both(column[start : ends[b]], sums[start : ends[b]])
            off += without[b]
            on += with_it[b]
            start = ends[b]
        if off >= cutoff and on >= cutoff:
            return True
        if fix and off >= cutoff:
            out_status[a] = ON
            for c in range(sums.size):
                sums[c] += column[c]
                base[c] += column[c]
        elif fix and on >= cutoff:
            out_status[a] = OFF
        else:
            out_lean[a] = on - off
            left, start = on - off, 0
            for b in range(n_blocks):
                share = left // (n_blocks - b)
                left -= share
                change = kind(share - (with_it[b] - without[b]))
                _put_back(column[start : ends[b]], sums[start : ends[b]], change)
                start = ends[b]
    return False
