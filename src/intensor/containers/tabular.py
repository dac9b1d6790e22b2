"""Tables of labels and values: the rows without a value are filled, or every combination of labels.

Tables that were read from files are filled here; data frames are, too, and then turned back.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray
from intensor.containers.base import check_size
from intensor.data.observations import observe
from intensor.data.table import Table


class TableContainer:
    """A table.

    Parameters
    ----------
    table
        The rows; those without a value are cells to be filled.
    every
        Whether every combination of labels is filled, not only rows of the table.
    """

    def __init__(self, table: Table, *, every: bool) -> None:
        self.table = table
        self._every = every
        self._codes, self._values = _every_cell(table) if every else (table.codes, table.values)
        self._gaps = np.flatnonzero(np.isnan(self._values))

    @property
    def n_missing(self) -> int:
        """Number of cells to predict: rows without a value, or combinations without one."""
        return len(self._gaps)

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
