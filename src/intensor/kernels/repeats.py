"""Repeated observations of a cell, sorted by value and collapsed into one.

``order`` holds the observations sorted by cell and ``starts`` the position at which each cell
begins in it. Kernels work on the cells first..last-1, so that blocks can run on different threads.
Empty ``weights`` mean that every observation counts 1.
"""

from __future__ import annotations

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray
from intensor.runtime.compiling import njit

RUN = 16
"""Number of observations that are sorted by insertion."""


@njit(cache=True, nogil=True)
def sort_repeats(
    starts: IndexArray,
    values: FloatArray,
    weights: FloatArray,
    first: int,
    last: int,
    out_order: AnyArray,
) -> None:
    """Sort the observations of each cell by value, then by weight, then as they came.

    Runs of ``RUN`` are sorted by insertion and then merged, two at a time. Numba's own sorts and
    copies between slices take longer to compile than all of this.
    """
    spare = np.empty_like(out_order[:0])
    for cell in range(first, last):
        low = starts[cell]
        high = starts[cell + 1] if cell + 1 < starts.size else out_order.size
        for position in range(low + 1, high):
            row, place = out_order[position], position
            start = position - (position - low) % RUN
            while place > start and _before(row, out_order[place - 1], values, weights):
                out_order[place] = out_order[place - 1]
                place -= 1
            out_order[place] = row
        if high - low > max(RUN, spare.size):
            spare = np.empty_like(out_order[low:high])
        width = RUN
        while width < high - low:
            for start in range(low, high - width, 2 * width):
                _merge(start, width, high, values, weights, spare, out_order)
            width *= 2


@njit(cache=True, nogil=True, inline="always")
def _before(row: int, other: int, values: FloatArray, weights: FloatArray) -> bool:
    """Say whether an observation has the smaller value or, at equal values, the smaller weight."""
    if values[row] == values[other] and weights.size > 0:
        return bool(weights[row] < weights[other])
    return bool(values[row] < values[other])


@njit(cache=True, nogil=True, inline="always")
def _merge(
    start: int,
    width: int,
    high: int,
    values: FloatArray,
    weights: FloatArray,
    spare: AnyArray,
    out_order: AnyArray,
) -> None:
    """Merge the sorted run of a width at ``start`` with the one after it, which ends by ``high``.

    The first run is copied to ``spare``. It comes first where the two are equal.
    """
    for i in range(width):
        spare[i] = out_order[start + i]
    left, right, end, place = 0, start + width, min(start + 2 * width, high), start
    while left < width:
        if right < end and _before(out_order[right], spare[left], values, weights):
            out_order[place] = out_order[right]
            right += 1
        else:
            out_order[place] = spare[left]
            left += 1
        place += 1


@njit(cache=True, nogil=True)
def collapse_repeats(
    order: AnyArray,
    starts: IndexArray,
    values: FloatArray,
    weights: FloatArray,
    first: int,
    last: int,
    out_totals: FloatArray,
    out_means: FloatArray,
    out_sums: FloatArray,
) -> None:
    """Find the total weight and the mean of each cell's observations.

    Means take two passes: the second removes the rounding error that the first leaves. Equal values
    then deviate by exactly 0, which matters because the bound of every solve starts at the variance
    within cells. ``out_sums`` is filled with the weighted sums of squared deviations from the
    cell's mean and of squared values.
    """
    deviation = 0.0
    square = 0.0
    for cell in range(first, last):
        low = starts[cell]
        high = starts[cell + 1] if cell + 1 < starts.size else order.size
        if high - low == 1:
            value = values[order[low]]
            total = weights[order[low]] if weights.size > 0 else 1.0
            square += total * value * value
            out_totals[cell] = total
            out_means[cell] = value
            continue
        mean = 0.0
        total = 0.0
        for position in range(low, high):
            weight = weights[order[position]] if weights.size > 0 else 1.0
            mean += weight * values[order[position]]
            total += weight
        mean /= total
        left = 0.0
        for position in range(low, high):
            weight = weights[order[position]] if weights.size > 0 else 1.0
            left += weight * (values[order[position]] - mean)
        mean += left / total
        for position in range(low, high):
            weight = weights[order[position]] if weights.size > 0 else 1.0
            value = values[order[position]]
            deviation += weight * (value - mean) * (value - mean)
            square += weight * value * value
        out_totals[cell] = total
        out_means[cell] = mean
    out_sums[0] = deviation
    out_sums[1] = square
