"""Observations of a cell as one: how many, their mean, and how far they are from it.

Sums depend on the order of their terms in the last bits. So the observations of a cell are put in
order of their values first, and what is added up over cells is added in the order of the cells,
block by block: the same observations give the same bits in any order, on any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray
from intensor.runtime.compiling import njit
from intensor.runtime.threads import Workers, blocks_of

__all__ = ["Collapsed", "collapse", "order_repeats"]

NO_WEIGHTS = np.empty(0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Collapsed:
    """What is left of the observations of u cells.

    Attributes
    ----------
    repeats, totals
        (u,) number and total weight of each cell's observations.
    means
        (u,) weighted means.
    apart, square
        Weighted sums of squared deviations from the cell's mean, and of squared values.
    """

    repeats: IndexArray
    totals: FloatArray
    means: FloatArray
    apart: float
    square: float


def order_repeats(
    order: AnyArray,
    starts: IndexArray,
    values: FloatArray,
    weights: FloatArray | None = None,
    *,
    workers: Workers,
) -> None:
    """Put the observations of every cell in order of their values, then of their weights.

    Parameters
    ----------
    order
        (n,) observations sorted by cell; those of a cell are sorted in place.
    starts
        (u,) where each cell begins in the order.
    """
    given = NO_WEIGHTS if weights is None else weights
    blocks = blocks_of(starts.size)

    def work(block: int) -> None:
        _order_cells(starts, values, given, *blocks[block], order)

    workers.run(work, len(blocks))


def collapse(
    order: AnyArray,
    starts: IndexArray,
    values: FloatArray,
    weights: FloatArray | None = None,
    *,
    workers: Workers,
) -> Collapsed:
    """Find number, weight, mean and deviation of each cell's observations, in their order."""
    given = NO_WEIGHTS if weights is None else weights
    blocks = blocks_of(starts.size)
    totals, means = np.empty(starts.size), np.empty(starts.size)
    sums = np.zeros((len(blocks), 2))

    def work(block: int) -> None:
        _collapse_cells(order, starts, values, given, *blocks[block], totals, means, sums[block])

    workers.run(work, len(blocks))
    apart, square = sums.sum(axis=0).tolist()
    return Collapsed(
        repeats=np.diff(starts, append=order.size),
        totals=totals,
        means=means,
        apart=apart,
        square=square,
    )


@njit(cache=True, nogil=True)
def _order_cells(
    starts: IndexArray,
    values: FloatArray,
    weights: FloatArray,
    first: int,
    last: int,
    out_order: AnyArray,
) -> None:
    """Sort the observations of some cells by value, then by weight."""
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
def _collapse_cells(
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
    """Collapse some cells.

    Means are found in two passes: what the first leaves of them is taken out by the second, so
    that equal values deviate by exactly 0, since the bound of every solve starts at the variance.
    """
    apart = 0.0
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
        for place in range(low, high):
            weight = weights[order[place]] if weights.size > 0 else 1.0
            mean += weight * values[order[place]]
            total += weight
        mean /= total
        left = 0.0
        for place in range(low, high):
            weight = weights[order[place]] if weights.size > 0 else 1.0
            left += weight * (values[order[place]] - mean)
        mean += left / total
        for place in range(low, high):
            weight = weights[order[place]] if weights.size > 0 else 1.0
            value = values[order[place]]
            apart += weight * (value - mean) * (value - mean)
            square += weight * value * value
        out_totals[cell] = total
        out_means[cell] = mean
    out_sums[0] = apart
    out_sums[1] = square
