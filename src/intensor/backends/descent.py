"""Alternating minimisation in bit lanes, given a function that sums over the cells of a mode."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from intensor._arrays import FloatArray, IndexArray, WordArray
from intensor.kernels.lanes import still_falling, switch_lanes

__all__ = ["LaneSums", "descend_by_mode"]

LaneSums = Callable[[WordArray, np.uint64, int], FloatArray]
"""Takes lanes, live lanes and a mode; returns the (r, 64) cost of each index, lane by lane."""


def descend_by_mode(
    lane_sums: LaneSums, offsets: IndexArray, lanes: WordArray, count: int, sweeps: int
) -> FloatArray:
    """Minimise over one mode after the other until no lane's value falls any more.

    ``offsets`` (p + 1,) are the positions at which the modes begin in the lanes; the other
    parameters and what is returned are those of ``Cells.descend``.
    """
    live = np.uint64((1 << count) - 1)
    values, reached = np.full(64, np.inf), np.empty(64)
    for _ in range(sweeps):
        for mode, (low, high) in enumerate(itertools.pairwise(offsets.tolist())):
            switch_lanes(lane_sums(lanes, live, mode), live, count, lanes[low:high], reached)
        live = np.uint64(still_falling(live, reached, values))
        if not live:
            break
    found: FloatArray = values[:count]
    return found
