"""Observations collapsed into unique cells: the only form of the data that the solver sees.

A cell may be observed many times. The objective depends on its observations only through their
number and mean, up to a constant (the variance within cells), so they are collapsed once, at the
beginning.

The last bits of a sum depend on the order of its terms. So the observations of a cell are first
put in order of their values, and sums over cells are added in the order of the cells, block by
block: the same observations give the same bits in any order and on any number of threads.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape
from intensor.data.checks import check_coords, check_values, check_weights
from intensor.data.grouping import Groups, group_rows
from intensor.kernels.repeats import collapse_repeats, sort_repeats
from intensor.runtime.threads import Workers, blocks_of

MAX_COUNTED_WEIGHT = 2.0**40
"""Largest sum of integer sample weights that are treated as counts of repeated observations."""
NO_WEIGHTS = np.empty(0)
"""Tells the kernels that every observation counts 1."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Observations:
    """The u unique cells of p modes, in lexicographic order."""

    shape: Shape
    coords: tuple[AnyArray, ...]  # u indices per mode, in the smallest unsigned integer type
    counts: AnyArray  # (u,) how often each cell was observed, in the smallest unsigned type
    means: FloatArray  # (u,) mean of the observed values of each cell
    n: int  # counts.sum(); an integer sample weight of w counts w times
    within: float  # mean squared deviation from the cell's mean; no objective is below it
    mean_square: float  # mean of the squared values, which relative tolerances are relative to
    shares: FloatArray | None = None  # (u,) summing to 1; None where they are counts / n

    @property
    def n_cells(self) -> int:
        """Number of distinct cells observed, u."""
        return int(self.means.size)

    def host(self) -> Observations:
        """Return the observations themselves: they are in memory already."""
        return self

    def cell_shares(self) -> FloatArray:
        """Return how much each cell counts; the shares sum to 1."""
        if self.shares is not None:
            return self.shares
        shares: FloatArray = self.counts / np.float64(self.n)
        return shares


def observe(
    coords: ArrayLike,
    values: ArrayLike,
    *,
    shape: Iterable[int] | None = None,
    allow_negative: bool = False,
    sample_weight: ArrayLike | None = None,
    workers: Workers | None = None,
) -> Observations:
    """Check raw observations and collapse them into unique cells.

    There are (n, p) coordinates counted from 0, in which a cell may appear many times, and (n,)
    values and weights. The shape is by default the smallest that holds the coordinates. An
    observation of weight 0 is left out, one of weight 2 is the same as two of weight 1. The result
    does not depend on the number of threads.

    Examples
    --------
    >>> cells = observe([[0, 1], [2, 0], [0, 1]], [1.0, 4.0, 3.0])
    >>> cells.shape, cells.counts.tolist(), cells.means.tolist()
    ((3, 2), [2, 1], [2.0, 4.0])
    """
    workers = Workers(1) if workers is None else workers
    cells, lengths = check_coords(coords, shape, workers)
    numbers = check_values(values, cells.shape[0], allow_negative=allow_negative)
    importance = None if sample_weight is None else check_weights(sample_weight, numbers.size)
    if importance is not None and not importance.all():
        kept = importance > 0.0
        cells, numbers, importance = cells[kept], numbers[kept], importance[kept]
    groups = group_rows(cells, lengths, workers)
    return observe_groups(groups, numbers, weights=importance, shape=lengths, workers=workers)


def observe_groups(
    groups: Groups,
    values: FloatArray,
    *,
    weights: FloatArray | None,
    shape: Shape,
    workers: Workers,
) -> Observations:
    """Collapse rows that are checked and grouped already; the order of the groups is changed.

    A cell's sums are taken in the order of its observations, and sums over cells block by block.
    """
    order = order_repeats(groups, values, weights, workers=workers)
    given = NO_WEIGHTS if weights is None else weights
    starts = groups.starts
    blocks = blocks_of(starts.size)
    totals, means = np.empty(starts.size), np.empty(starts.size)
    sums = np.zeros((len(blocks), 2))

    def work(block: int) -> None:
        collapse_repeats(order, starts, values, given, *blocks[block], totals, means, sums[block])

    workers.run(work, len(blocks))
    deviation, square = sums.sum(axis=0).tolist()
    integers = weights is None or bool((weights == np.rint(weights)).all())
    total = float(totals.sum())
    counted = integers and total <= MAX_COUNTED_WEIGHT
    counts = totals if counted else np.diff(starts, append=order.size)
    return Observations(
        shape=shape,
        coords=groups.columns,
        counts=counts.astype(np.min_scalar_type(int(counts.max()))),
        means=means,
        n=int(counts.sum()),
        within=deviation / total,
        mean_square=square / total,
        shares=None if counted else totals / total,
    )


def order_repeats(
    groups: Groups, values: FloatArray, weights: FloatArray | None = None, *, workers: Workers
) -> AnyArray:
    """Sort the observations of every cell by value, then by weight, in place; return the order."""
    given = NO_WEIGHTS if weights is None else weights
    blocks = blocks_of(groups.starts.size)

    def work(block: int) -> None:
        sort_repeats(groups.starts, values, given, *blocks[block], groups.order)

    workers.run(work, len(blocks))
    return groups.order


def cell_numbers(coords: IndexArray, shape: Shape) -> IndexArray:
    """Number the cells from 0 to u - 1; return the number of each row's cell."""
    groups = group_rows(coords, shape)
    repeats = np.diff(groups.starts, append=groups.order.size)
    numbers = np.empty(groups.order.size, dtype=np.int64)
    numbers[groups.order] = np.repeat(np.arange(groups.starts.size), repeats)
    return numbers


def standard_order(
    coords: IndexArray, shape: Shape, values: FloatArray, weights: FloatArray | None = None
) -> AnyArray:
    """Return an order of the rows that does not depend on the order they are given in.

    Rows are sorted by cell, then by value, then by weight. Rows that tie are identical.

    Examples
    --------
    >>> cells = np.array([[1, 0], [0, 2], [1, 0]])
    >>> standard_order(cells, (2, 3), np.array([0.5, 0.7, 0.3])).tolist()
    [1, 2, 0]
    """
    return order_repeats(group_rows(coords, shape), values, weights, workers=Workers(1))
