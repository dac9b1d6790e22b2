"""All observations of a cell as one: their number, their mean and their deviation from it.

The last bits of a sum depend on the order of its terms. So the observations of a cell are first
put in order of their values, and sums over cells are added in the order of the cells, block by
block: the same observations give the same bits in any order and on any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray
from intensor.data.grouping import Groups
from intensor.kernels.repeats import collapse_repeats, sort_repeats
from intensor.runtime.threads import Workers, blocks_of

NO_WEIGHTS = np.empty(0)
"""Tells the kernels that every observation counts 1."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Collapsed:
    """Summary of the observations of u cells.

    Attributes
    ----------
    repeats, totals
        (u,) number and total weight of each cell's observations.
    means
        (u,) weighted means.
    deviation, square
        Weighted sums of squared deviations from the cell's mean, and of squared values.
    """

    repeats: IndexArray
    totals: FloatArray
    means: FloatArray
    deviation: float
    square: float


def order_repeats(
    groups: Groups, values: FloatArray, weights: FloatArray | None = None, *, workers: Workers
) -> AnyArray:
    """Sort the observations of every cell by value, then by weight; return the order.

    Parameters
    ----------
    groups
        The observations grouped by cell; their ``order`` is changed in place.
    """
    given = NO_WEIGHTS if weights is None else weights
    blocks = blocks_of(groups.starts.size)

    def work(block: int) -> None:
        sort_repeats(groups.starts, values, given, *blocks[block], groups.order)

    workers.run(work, len(blocks))
    return groups.order


def collapse(
    groups: Groups, values: FloatArray, weights: FloatArray | None = None, *, workers: Workers
) -> Collapsed:
    """Sum up the observations of every cell, in the order of ``order_repeats``."""
    given = NO_WEIGHTS if weights is None else weights
    order = order_repeats(groups, values, weights, workers=workers)
    starts = groups.starts
    blocks = blocks_of(starts.size)
    totals, means = np.empty(starts.size), np.empty(starts.size)
    sums = np.zeros((len(blocks), 2))

    def work(block: int) -> None:
        collapse_repeats(order, starts, values, given, *blocks[block], totals, means, sums[block])

    workers.run(work, len(blocks))
    deviation, square = sums.sum(axis=0).tolist()
    return Collapsed(
        repeats=np.diff(starts, append=order.size),
        totals=totals,
        means=means,
        deviation=deviation,
        square=square,
    )
