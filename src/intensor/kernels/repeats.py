"""Repeated observations of a cell, sorted by value and collapsed into one.

``order`` holds the observations sorted by cell and ``starts`` the position at which each cell
begins in it. Kernels work on the cells first..last-1, so that blocks can run on different threads.
Empty ``weights`` mean that every observation counts 1.
"""

from __future__ import annotations

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray
from intensor.runtime.compiling import njit


@njit(cache=True, nogil=True)
def sort_repeats(
    starts: IndexArray,
    values: FloatArray,
    weights: FloatArray,
    first: int,
    last: int,
    out_order: AnyArray,
) -> None:
    """Sort the observations of each cell by value, then by weight."""
    for cell in range(first, last):
        low = starts[cell]
        high = starts[cell + 1] if cell + 1 < starts.size else out_order.size
        if high - low < 2:
            continue
        rows = out_order[low:high].copy()
        if weights.size > 0:
            rows = rows[np.argsort(weights[rows], kind="mergesort")]
        out_order[low:high] = rows[np.argsort(values[rows], kind="mergesort")]


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
