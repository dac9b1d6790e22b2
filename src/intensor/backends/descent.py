"""Alternating minimisation in bit lanes where the sums of a mode come from elsewhere."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from intensor._arrays import FloatArray, IndexArray, WordArray
from intensor.kernels.lanes import still_falling, switch_lanes

__all__ = ["LaneSums", "descend_by_mode"]

LaneSums = Callable[[WordArray, np.uint64, int], FloatArray]
"""Of lanes, live lanes and a mode: the (r, 64) cost of each index of the mode, lane by lane."""


def descend_by_mode(
    lane_sums: LaneSums, offsets: IndexArray, lanes: WordArray, count: int, sweeps: int
) -> FloatArray:
    """Go round the modes until no lane's value falls any more.

    Parameters
    ----------
    offsets
        (p + 1,) where each mode begins in the lanes.
    lanes
        (sum(shape),) the starts; the vertices found on return.
    count
        Lanes in use, the first ones.

    Returns
    -------
    FloatArray
        (count,) values of the vertices found.
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
