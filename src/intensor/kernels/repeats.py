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

    Numba's own sorts and copies between slices take several times as long to compile.
    """
    longest = 0
    for cell in range(first, last):
        high = starts[cell + 1] if cell + 1 < starts.size else out_order.size
        longest = max(longest, high - starts[cell])
    keys, spare_keys = np.empty(longest), np.empty(longest)
    spare = np.empty(longest, dtype=out_order.dtype)
    for cell in range(first, last):
        low = starts[cell]
        high = starts[cell + 1] if cell + 1 < starts.size else out_order.size
        if high - low < 2:
            continue
        rows = out_order[low:high]
        for by_value in range(0 if weights.size > 0 else 1, 2):
            for i in range(rows.size):
                keys[i] = values[rows[i]] if by_value else weights[rows[i]]
            _sort_by_key(spare_keys, spare, keys, rows)


@njit(cache=True, nogil=True)
def _sort_by_key(
    spare_keys: FloatArray, spare: AnyArray, out_keys: FloatArray, out_rows: AnyArray
) -> None:
    """Sort keys and their rows; equal keys stay in their order.

    Runs of ``RUN`` are sorted by insertion and then merged, two at a time. The first run of two is
    copied to the spare arrays, and comes first where keys are equal.
    """
    size = out_rows.size
    for i in range(1, size):
        key, row = out_keys[i], out_rows[i]
        start, at = i - i % RUN, i
        while at > start and key < out_keys[at - 1]:
            out_keys[at], out_rows[at] = out_keys[at - 1], out_rows[at - 1]
            at -= 1
        out_keys[at], out_rows[at] = key, row
    width = RUN
    while width < size:
        for start in range(0, size - width, 2 * width):
            for i in range(width):
                spare_keys[i], spare[i] = out_keys[start + i], out_rows[start + i]
            left, right, end, place = 0, start + width, min(start + 2 * width, size), start
            while left < width and right < end:
                key, other = spare_keys[left], out_keys[right]
                turn = other < key
                row, other_row = spare[left], out_rows[right]
                out_keys[place] = other if turn else key  # no branch: it would be a coin flip
                out_rows[place] = other_row if turn else row
                right += turn
                left += not turn
                place += 1
            for i in range(left, width):
                out_keys[place + i - left], out_rows[place + i - left] = spare_keys[i], spare[i]
        width *= 2


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
