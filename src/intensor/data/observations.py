"""Observations collapsed into unique cells: the only form of the data the solver sees.

A cell may be observed many times. The objective depends on its observations only through
their number and mean, up to a constant (the variance within cells), so they are collapsed
once and for all.

Sums depend on the order of their terms in the last bits. So the observations of a cell are put
in order of their values first, and nothing is added up in the order of the rows or by BLAS, whose
sums depend on the number of its threads: the same observations give the same bits in any order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from intensor.arrays import AnyArray, FloatArray, IndexArray, Shape
from intensor.checks import check_coords, check_values, check_weights

__all__ = ["Observations", "cell_numbers", "observe", "standard_order"]

ROWS_AT_ONCE = 1 << 16
MOST_REPEATS = 2.0**40
"""Sum of whole sample weights up to which they are counted like repeated observations."""


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
        (u,) how much each cell counts, where that is not ``counts / n``: with sample weights
        that are not whole numbers. They sum to 1. None otherwise.
    means
        (u,) mean of the observed values of each cell.
    n
        Number of observations, ``counts.sum()``. A whole sample weight counts as so many.
    within
        Mean squared deviation of the observations from their cell's mean: no model can
        push the objective below it.
    mean_square
        Mean of the squared values, the yardstick of relative tolerances.
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
        """Return the same in memory, where it is."""
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
        (n,) how much each observation counts, >= 0; by default all the same. An observation of
        weight 0 is left out, one of weight 2 is the same as two of weight 1.

    Examples
    --------
    >>> cells = observe([[0, 1], [2, 0], [0, 1]], [1.0, 4.0, 3.0])
    >>> cells.shape, cells.counts.tolist(), cells.means.tolist()
    ((3, 2), [2, 1], [2.0, 4.0])
    """
    cells, lengths = check_coords(coords, shape)
    numbers = check_values(values, cells.shape[0], allow_negative=allow_negative)
    importance = None if sample_weight is None else check_weights(sample_weight, numbers.size)
    if importance is not None and not importance.all():
        kept = importance > 0.0
        cells, numbers, importance = cells[kept], numbers[kept], importance[kept]
    order, starts, repeats = _group_by_value(cells, lengths, numbers, importance)
    if importance is None:
        ordered_weights, totals = None, repeats
    else:
        ordered_weights = importance[order]
        totals = np.add.reduceat(ordered_weights, starts)
    deviations = numbers[order]
    mean_square = _sum_of_squares(deviations.copy(), ordered_weights)
    # Two passes: what the first leaves of the means is taken out by the second, so that equal
    # values deviate by exactly 0, since the bound of every solve starts at this variance.
    means = np.zeros(starts.size)
    for _ in range(2):
        if ordered_weights is not None:
            deviations *= ordered_weights
        means += np.add.reduceat(deviations, starts) / totals
        np.take(numbers, order, out=deviations, mode="clip")
        deviations -= np.repeat(means, repeats)
    whole = importance is None or bool((importance == np.rint(importance)).all())
    total = float(totals.sum())
    counts = totals if whole and total <= MOST_REPEATS else repeats
    return Observations(
        shape=lengths,
        coords=_columns(cells, order[starts], lengths),
        counts=counts.astype(np.min_scalar_type(int(counts.max()))),
        means=means,
        n=int(counts.sum()),
        within=_sum_of_squares(deviations, ordered_weights) / total,
        mean_square=mean_square / total,
        shares=None if counts is totals else totals / total,
    )


def cell_numbers(coords: IndexArray, shape: Shape) -> IndexArray:
    """Return the number of each row's cell: equal rows have equal numbers, 0 to u - 1."""
    order, starts = _group(coords, shape)
    numbers = np.empty(order.size, dtype=np.int64)
    numbers[order] = np.repeat(np.arange(starts.size), np.diff(starts, append=order.size))
    return numbers


def standard_order(
    coords: IndexArray, shape: Shape, values: FloatArray, weights: FloatArray | None = None
) -> AnyArray:
    """Return the rows in an order that does not depend on the one they are given in.

    Rows are sorted by cell, then by value, then by weight: those that tie are all the same.

    Examples
    --------
    >>> cells = np.array([[1, 0], [0, 2], [1, 0]])
    >>> standard_order(cells, (2, 3), np.array([0.5, 0.7, 0.3])).tolist()
    [1, 2, 0]
    """
    return _group_by_value(coords, shape, values, weights)[0]


def _group_by_value(
    cells: IndexArray, shape: Shape, values: FloatArray, weights: FloatArray | None
) -> tuple[AnyArray, IndexArray, IndexArray]:
    """Return the standard order, where each cell starts in it, and how many rows each has."""
    order, starts = _group(cells, shape)
    repeats = np.diff(starts, append=order.size)
    _sort_repeats(starts, repeats, values, weights, order)
    return order, starts, repeats


def _sort_repeats(
    starts: IndexArray,
    repeats: IndexArray,
    values: FloatArray,
    weights: FloatArray | None,
    out_order: AnyArray,
) -> None:
    """Put the rows of every cell in order of their values, and of their weights where those tie.

    Parameters
    ----------
    starts, repeats
        (u,) where each cell begins in the order, and how many rows it has.
    out_order
        (n,) rows sorted by cell.
    """
    repeated = np.flatnonzero(repeats > 1)
    if repeated.size == 0:
        return
    lengths = repeats[repeated]
    ends = np.cumsum(lengths)
    places = np.arange(ends[-1])
    places += np.repeat(starts[repeated] - (ends - lengths), lengths)
    rows = out_order[places]
    if weights is None:
        by_value = np.argsort(values[rows], kind="stable")
    else:
        by_value = np.lexsort((weights[rows], values[rows]))
    owners = np.repeat(np.arange(repeated.size), lengths)[by_value]
    digits = (places.size - 1).bit_length()
    if 2 * digits <= 63:  # as in _group, much faster than sorting indirectly
        owners <<= digits
        owners |= np.arange(places.size)
        owners.sort()
        owners &= (1 << digits) - 1
        by_cell = by_value[owners]
    else:
        by_cell = by_value[np.argsort(owners, kind="stable")]
    out_order[places] = rows[by_cell]


def _sum_of_squares(numbers: FloatArray, weights: FloatArray | None) -> float:
    """Return the weighted sum of the squares of numbers, which are overwritten."""
    np.square(numbers, out=numbers)
    if weights is not None:
        numbers *= weights
    return float(numbers.sum())


def _columns(cells: IndexArray, chosen: AnyArray, shape: Shape) -> tuple[AnyArray, ...]:
    """Return the chosen rows mode by mode, each in the smallest unsigned type."""
    columns = tuple(np.empty(chosen.size, dtype=np.min_scalar_type(length - 1)) for length in shape)
    for start in range(0, chosen.size, ROWS_AT_ONCE):
        rows = cells[chosen[start : start + ROWS_AT_ONCE]]
        for mode, column in enumerate(columns):
            column[start : start + ROWS_AT_ONCE] = rows[:, mode]
    return columns


def _group(cells: IndexArray, shape: Shape) -> tuple[AnyArray, IndexArray]:
    """Sort rows lexicographically; return the order and where each distinct row starts.

    Modes are folded into as few int64 keys as their lengths allow, so that a tensor may
    have more than 2^63 cells. A single key that leaves room for the row number is sorted
    together with it, which is much faster than sorting indirectly.
    """
    keys: list[IndexArray] = []
    room = 0
    for mode, length in enumerate(shape):
        if room and room * length < 2**63:
            keys[-1] *= length
            keys[-1] += cells[:, mode]
            room *= length
        else:
            keys.append(cells[:, mode].copy())
            room = length
    n = cells.shape[0]
    digits = (n - 1).bit_length()
    if len(keys) == 1 and (room - 1).bit_length() + digits <= 63:
        key = keys[0]
        key <<= digits
        key |= np.arange(n)
        key.sort()
        order = (key & ((1 << digits) - 1)).astype(np.min_scalar_type(n))
        key >>= digits
        fresh = np.concatenate(([True], key[1:] != key[:-1]))
        return order, np.flatnonzero(fresh)
    order = np.lexsort(keys[::-1])
    fresh = np.zeros(n, dtype=bool)
    fresh[0] = True
    for key in keys:
        ordered = key[order]
        fresh[1:] |= ordered[1:] != ordered[:-1]
    return order, np.flatnonzero(fresh)
