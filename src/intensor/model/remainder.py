"""The remainder: the value that kriging adds to baseline and boxes, cell by cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape
from intensor.problem.vertex import mode_slices


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Remainder:
    """A value for every cell, in the fitted scale, that is added to the sum of the boxes.

    Attributes
    ----------
    field
        (*shape) values; only small tensors have a remainder.
    """

    field: AnyArray

    @property
    def shape(self) -> Shape:
        """Lengths of the modes."""
        return self.field.shape

    def evaluate(self, coords: Sequence[AnyArray]) -> FloatArray:
        """Return the values of cells given mode by mode, of indices that were observed."""
        return self.field[tuple(coords)].astype(np.float64)

    def average(self, cells: IndexArray, counts: FloatArray) -> FloatArray:
        """Return the values of (n, p) cells, averaged over every mode whose index is -1.

        Parameters
        ----------
        counts
            (sum(shape),) weight of each index in an average over its mode.
        """
        values = np.zeros(len(cells))
        known = cells >= 0
        for pattern in np.unique(known, axis=0):
            rows = (known == pattern).all(axis=1)
            field = self.field.astype(np.float64)
            for mode in reversed(np.flatnonzero(~pattern).tolist()):
                weights = counts[mode_slices(self.shape)[mode]]
                field = np.tensordot(field, weights / weights.sum(), axes=(mode, 0))
            values[rows] = field[tuple(cells[rows][:, pattern].T)]
        return values
