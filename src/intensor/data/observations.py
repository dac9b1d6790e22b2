"""Observations collapsed into unique cells: the only form of the data the solver sees.

A cell may be observed many times. The objective depends on its observations only through
their number and mean, up to a constant (the variance within cells), so they are collapsed
once and for all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from intensor.arrays import AnyArray, FloatArray, IndexArray, Shape
from intensor.checks import check_coords, check_values

__all__ = ["Observations", "observe"]

ROWS_AT_ONCE = 1 << 16


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
    means
        (u,) mean of the observed values of each cell.
    n
        Number of observations, ``counts.sum()``.
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

    @property
    def n_cells(self) -> int:
        """Number of distinct cells observed, u."""
        return int(self.means.size)


def observe(
    coords: ArrayLike,
    values: ArrayLike,
    *,
    shape: Iterable[int] | None = None,
    allow_negative: bool = False,
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

    Examples
    --------
    >>> cells = observe([[0, 1], [2, 0], [0, 1]], [1.0, 4.0, 3.0])
    >>> cells.shape, cells.counts.tolist(), cells.means.tolist()
    ((3, 2), [2, 1], [2.0, 4.0])
    """
    cells, lengths = check_coords(coords, shape)
    numbers = check_values(values, cells.shape[0], allow_negative=allow_negative)
    order, starts = _group(cells, lengths)
    counts = np.diff(starts, append=order.size)
    counts = counts.astype(np.min_scalar_type(int(counts.max())))
    # Two passes: what the first leaves of the means is taken out by the second, so that equal
    # values deviate by exactly 0, since the bound of every solve starts at this variance.
    deviations = numbers[order]
    means = np.zeros(starts.size)
    for _ in range(2):
        means += np.add.reduceat(deviations, starts) / counts
        np.take(numbers, order, out=deviations, mode="clip")
        deviations -= np.repeat(means, counts)
    n = order.size
    return Observations(
        shape=lengths,
        coords=_columns(cells, order[starts], lengths),
        counts=counts,
        means=means,
        n=n,
        within=float(deviations @ deviations) / n,
        mean_square=float(numbers @ numbers) / n,
    )


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
