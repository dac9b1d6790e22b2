"""Cells on a CUDA device in order of their index of a mode, and chunks of one index each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from intensor._arrays import IndexArray
from intensor.backends.cuda.device import array_module, check_memory, to_host

SORTING_BYTES = 32
"""Bytes of device memory per cell that sorting takes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModeOrder:
    """Cells in order of their index of a mode, and in cell order within an index."""

    order: Any  # (u,) numbers of the cells, on the device
    starts: IndexArray  # (r + 1,) first cell of each index, and the end of the last

    def chunks(self, low: int, high: int, most: int) -> tuple[IndexArray, IndexArray]:
        """Cut the cells of the indices low..high-1 into chunks of at most ``most`` cells.

        Returns
        -------
        tuple
            (n, 3) index less ``low``, first cell and end of each chunk; and (high - low + 1,) first
            chunk of each index and the end of the last.
        """
        first, end = self.starts[low:high], self.starts[low + 1 : high + 1]
        counts = -(-(end - first) // most)
        ends = np.concatenate(([0], np.cumsum(counts)))
        indices = np.repeat(np.arange(high - low), counts)
        begin = first[indices] + most * (np.arange(indices.size) - ends[indices])
        chunks = np.stack((indices, begin, np.minimum(begin + most, end[indices])), axis=1)
        return np.ascontiguousarray(chunks, dtype=np.int64), ends.astype(np.int64)


def sort_by_index(rows: Any, mode: int, low: int, high: int) -> ModeOrder:
    """Sort (p, u) positions by those of a mode, which go from ``low`` to ``high - 1``."""
    xp, n = array_module(), int(rows.shape[1])
    check_memory(SORTING_BYTES * n, f"sorting {n} cells")
    row_bits = max(1, (n - 1).bit_length())
    keys = rows[mode].astype(np.int64)
    keys -= low
    keys <<= row_bits  # with the number of its cell in the lowest bits, a key sorts stably
    keys |= xp.arange(n)
    keys.sort()
    limits = xp.arange(high - low + 1, dtype=np.int64) << row_bits
    starts = to_host(xp.searchsorted(keys, limits)).astype(np.int64)
    keys &= (1 << row_bits) - 1
    order = keys.astype(np.uint32 if n <= 2**32 else np.int64)
    return ModeOrder(order=order, starts=starts)
