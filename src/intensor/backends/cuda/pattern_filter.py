"""Find the patterns of slabs that hold a cheap box: the bound of ``oracles.exact.blocks`` on CUDA.

The kernel (``pattern_kernel``) lists the patterns that hold a box below the cutoff, and the few
that it cannot decide in time. The host searches these. All numbers are integers, so the list does
not depend on the grid or the device.
"""

from __future__ import annotations

import numpy as np

from intensor._arrays import AnyArray, IndexArray
from intensor.backends.cuda.device import array_module, check_device, to_host
from intensor.backends.cuda.pattern_combinations import Limits
from intensor.backends.cuda.pattern_kernel import LANE_BITS, pattern_kernel
from intensor.backends.cuda.pattern_memory import WARP, layout_of, shared_bytes

MAX_TRIED = 1 << 16
"""Most combinations of one pattern that the device tries, in units of 32."""
MAX_GRID = 4096
"""Most blocks of threads if there are leading modes, since each of them then needs memory."""
RANGE_BITS, SHORT_RANGE_BITS = 8, 4
"""Binary logarithm of the number of patterns that a block of threads takes in one turn: many with
leading modes, whose slabs must be summed first; few without, because some patterns take longer."""
SWEEPS = 3
"""Number of times the multipliers are improved before combinations are tried."""
COST_BITS = 28
"""Most binary digits of the sum of all absolute costs; tables need two more."""
LIST_SIZE = 1 << 20
"""Number of patterns that the list on the device can hold."""


class PatternFilter:
    """The costs of a search on the device, from which promising patterns are listed.

    ``costs`` are (leading..., slabs, rows, columns) integers, and ``firsts`` (blocks + 1,) holds
    the first row of every block, and the number of rows. A block of threads takes 2^range_bits
    patterns in one turn, and the list on the device has room for ``list_size`` patterns, which must
    be at least as many. ``sweeps`` and ``max_tried`` are as in ``Limits``.
    """

    def __init__(
        self,
        costs: AnyArray,
        firsts: IndexArray,
        *,
        range_bits: int | None = None,
        sweeps: int = SWEEPS,
        max_tried: int = MAX_TRIED,
        list_size: int = LIST_SIZE,
    ) -> None:
        check_device()
        xp = array_module()
        *leading, n_slabs, n_rows, n_columns = costs.shape
        n_blocks = firsts.size - 1
        longest = int(np.diff(firsts).max())
        total = int(np.abs(costs.astype(np.int64)).sum())
        self._shift = max(0, total.bit_length() - COST_BITS)
        small = (costs >> self._shift).astype(np.int32)
        small = np.ascontiguousarray(small.swapaxes(-1, -2))
        self._costs = xp.asarray(small.reshape(int(np.prod(leading, dtype=np.int64)), -1))
        self._lengths = xp.asarray(np.array(leading, dtype=np.int64))
        self._firsts = xp.asarray(firsts.astype(np.int64))
        self._n_slabs = n_slabs
        self._sweeps, self._max_tried = sweeps, max_tried
        self._kernel = pattern_kernel(1 << max(0, longest - LANE_BITS))
        self._layout = layout_of(n_columns, n_rows, n_blocks)
        self._threads = WARP * n_blocks
        self._shared = shared_bytes(n_columns, n_rows, n_blocks)
        self._max_grid = MAX_GRID if leading else 2**31 - 1
        scratch = (MAX_GRID, self._costs.shape[1]) if leading else (1, 1)
        self._scratch = xp.empty(scratch, dtype=np.int32)
        self._patterns = xp.empty(list_size, dtype=np.int64)
        if range_bits is None:
            range_bits = RANGE_BITS if leading else SHORT_RANGE_BITS
        self.range_bits = min(range_bits, int(n_slabs))

    def remaining(self, cutoff: int, first: int, last: int) -> IndexArray:
        """Return the sorted patterns under which a box may be below the cutoff.

        They are those of the ranges first..last-1 of 2^range_bits Gray codes. The slabs have the
        lowest digits of a pattern, and the last leading mode the next ones.
        """
        xp = array_module()
        count = xp.zeros(1, dtype=np.int64)
        rounded = -((-cutoff) >> self._shift)
        self._kernel[min(self._max_grid, last - first), self._threads, 0, self._shared](
            self._costs,
            self._lengths,
            self._n_slabs,
            self._layout,
            self._firsts,
            (first, last),
            self.range_bits,
            Limits(rounded, self._sweeps, self._max_tried),
            self._scratch,
            self._patterns,
            count,
        )
        found = int(to_host(count)[0])
        if found <= self._patterns.size:
            return np.sort(to_host(self._patterns[:found]))
        middle = (first + last) // 2  # the list is longer than any one range
        return np.concatenate(
            (self.remaining(cutoff, first, middle), self.remaining(cutoff, middle, last))
        )
