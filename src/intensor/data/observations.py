"""Observations collapsed into unique cells: the only form of the data that the solver sees.

A cell may be observed many times. The objective depends on its observations only through their
number and mean, up to a constant (the variance within cells), so they are collapsed once, at the
beginning. The same observations give the same bits in any order (see ``collapsing``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape
from intensor.data.checks import check_coords, check_values, check_weights
from intensor.data.collapsing import collapse, order_repeats
from intensor.data.grouping import Groups, group_rows
from intensor.runtime.threads import Workers

MAX_COUNTED_WEIGHT = 2.0**40
"""Largest sum of integer sample weights that are treated as counts of repeated observations."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Observations:
    """Unique cells in lexicographic order.

    Attributes
    ----------
    shape
        Lengths of the p modes.
    coords
        One array of u indices per mode, each in the smallest unsigned integer type.
    counts
        (u,) how often each cell was observed, in the smallest unsigned integer type.
    shares
        (u,) how much each cell counts, summing to 1; None where that is ``counts / n``, which
        it is unless sample weights are not integers.
    means
        (u,) mean of the observed values of each cell.
    n
        Number of observations, ``counts.sum()``. An integer sample weight of w counts w times.
    within
        Mean squared deviation of the observations from their cell's mean. No model has an
        objective below it.
    mean_square
        Mean of the squared values; relative tolerances are relative to it.
    """

    shape: Shape
    coords: tuple[AnyArray, ...]
    counts: AnyArray
    means: FloatArray
    n: int
    within: float
    mean_square: float
    shares: FloatArray | None = None

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

    Parameters
    ----------
    coords
        (n, p) integers counted from 0; a cell may appear many times.
    values
        (n,) finite numbers, nonnegative unless ``allow_negative``.
    shape
        Mode lengths; by default the smallest shape that holds the coordinates.
    sample_weight
        (n,) how much each observation counts, >= 0; by default all count the same. An observation
        of weight 0 is left out, one of weight 2 is the same as two of weight 1.
    workers
        Threads to use; the result does not depend on their number.

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
    """Collapse rows that are checked and grouped already; the order of the groups is changed."""
    collapsed = collapse(groups, values, weights, workers=workers)
    integers = weights is None or bool((weights == np.rint(weights)).all())
    total = float(collapsed.totals.sum())
    counted = integers and total <= MAX_COUNTED_WEIGHT
    counts = collapsed.totals if counted else collapsed.repeats
    return Observations(
        shape=shape,
        coords=groups.columns,
        counts=counts.astype(np.min_scalar_type(int(counts.max()))),
        means=collapsed.means,
        n=int(counts.sum()),
        within=collapsed.deviation / total,
        mean_square=collapsed.square / total,
        shares=None if counted else collapsed.totals / total,
    )


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
