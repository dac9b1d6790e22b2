"""What all containers share: the protocol, the container of a table, and checks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape
from intensor.data.checks import find_bad_value, raise_bad
from intensor.data.observations import observe
from intensor.data.table import Table
from intensor.errors import DenseTooLargeError, EmptyDataError, ValuesError

MAX_DENSE_CELLS = 10**7
"""Largest number of cells that ``cells="all"`` writes out."""
MIN_ROUNDED_INTEGER = 2.0**53
"""Smallest integer that float64 may round."""


class Container(Protocol):
    """Data that was read once and can be filled."""

    table: Table  # the observations, and perhaps rows without a value
    n_missing: int  # number of cells to predict

    def missing(self, part: slice) -> IndexArray:
        """Return some of the cells to predict, (m, p)."""

    def fill(self, predicted: FloatArray) -> Any:
        """Return a new container of the same type, with predictions where values were missing."""


class TableContainer:
    """A table, of which the rows without a value are filled, or every combination of labels.

    Tables that were read from files are filled here. Data frames and sparse arrays are, too, and
    then turned back.
    """

    def __init__(self, table: Table, *, every: bool) -> None:
        self.table = table
        self._every = every
        self._codes, self._values = _every_cell(table) if every else (table.codes, table.values)
        self._gaps = np.flatnonzero(np.isnan(self._values))
        self.n_missing = len(self._gaps)

    def missing(self, part: slice) -> IndexArray:
        """Return some of the cells to predict."""
        rows = self._gaps[part]
        return np.stack([column[rows].astype(np.int64) for column in self._codes], axis=1)

    def fill(self, predicted: FloatArray) -> Table:
        """Return a table in which every row has a value."""
        values = self._values.copy()
        values[self._gaps] = predicted
        flags = np.zeros(values.size, dtype=bool)
        flags[self._gaps] = True
        if self._every:
            return Table(
                labels=self.table.labels, codes=self._codes, values=values, predicted=flags
            )
        return replace(self.table, values=values, predicted=flags)


def _every_cell(table: Table) -> tuple[tuple[AnyArray, ...], FloatArray]:
    """Return all cells in order, and the mean of the observations of each, NaN without any."""
    shape = table.shape
    values = np.full(check_size(shape), np.nan)
    coords, numbers, weights = table.observed()
    means = observe(coords, numbers, shape=shape, sample_weight=weights)
    observed = tuple(column.astype(np.int64) for column in means.coords)
    values[np.ravel_multi_index(observed, shape)] = means.means
    return np.unravel_index(np.arange(values.size), shape), values


def check_observed(values: AnyArray, subject: Callable[[int], str]) -> FloatArray:
    """Return values as float64, or raise an error about one that cannot be fitted.

    NaN stands for a missing value, and ``subject`` names the value at a position.
    """
    with np.errstate(over="ignore"):
        result: FloatArray = values.astype(np.float64, copy=False)
    if np.isnan(result).all():
        raise EmptyDataError(
            "the data has no observed value, only missing ones; expected at least one"
        )
    raise_bad(find_bad_value(result), subject)
    return result


def check_exact(values: FloatArray) -> None:
    """Raise when integers would be rounded on their way into a floating type."""
    largest = float(np.nanmax(values))
    if largest >= MIN_ROUNDED_INTEGER:
        raise ValuesError(
            f"the largest value is {largest:.17g}, stored as an integer, but predictions need a "
            "floating type, which rounds integers of 2^53 and more; convert the values to float64 "
            "first if that is all right"
        )


def check_size(shape: Shape) -> int:
    """Return the number of cells of a shape, unless it is too large to be written out."""
    n_cells = math.prod(shape)
    if n_cells > MAX_DENSE_CELLS:
        raise DenseTooLargeError(
            f'cells="all" asks for {n_cells} cells of shape {shape}; expected at most '
            f"{MAX_DENSE_CELLS} (list the cells that you want as rows without a value, or use "
            'cells="missing" and predict the cells you need with the fit)'
        )
    return n_cells
