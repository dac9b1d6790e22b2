"""From boxes to predictions in the units of the data: baseline, clipping, inverse transform."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape
from intensor.data.checks import check_cells
from intensor.data.named import refuse_tables
from intensor.errors import SettingError, UnseenIndexError
from intensor.model.baseline import Baseline
from intensor.model.model import Model
from intensor.model.remainder import Remainder
from intensor.model.transform import TRANSFORMS, Transform
from intensor.options import declared
from intensor.problem.vertex import mode_offsets, mode_slices

__all__ = ["UNSEEN", "Predictor", "index_counts"]

UNSEEN = declared.UNSEEN.choices
"""What to do with an index that no observation was made of."""
ROWS_AT_ONCE = 1 << 12
NUMBERS_AT_ONCE = 1 << 22
"""Rows times boxes that are averaged over at a time."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Predictor:
    """A model with the steps around it.

    Attributes
    ----------
    model
        The boxes, in the fitted scale, of what the baseline leaves.
    counts
        (sum(shape),) observations of each index, by their weight, the modes end to end.
    transform
        From the units of the data to the fitted scale and back.
    baseline
        Main effects in the fitted scale, or None.
    remainder
        What is added to baseline and boxes, in the fitted scale, or None.
    """

    model: Model
    counts: FloatArray
    transform: Transform = TRANSFORMS["none"]
    baseline: Baseline | None = None
    remainder: Remainder | None = None

    @property
    def shape(self) -> Shape:
        """Lengths of the modes."""
        return self.model.shape

    def predict(self, coords: ArrayLike, *, unseen: str = "error") -> FloatArray:
        """Return predictions for cells, in the units of the data, never below 0.

        Parameters
        ----------
        coords
            (n, p) integers counted from 0; -1 for a label that is not known.
        unseen
            For an index that no observation was made of: "error", or "mean" for the average of
            the fitted tensor over the indices of that mode that were observed, each counted as
            often as it was.
        """
        return self.transform.undo(self.fitted(coords, unseen=unseen))

    def fitted(self, coords: ArrayLike, *, unseen: str = "error") -> FloatArray:
        """Return predictions in the fitted scale, neither clipped nor transformed back."""
        if not isinstance(unseen, str) or unseen not in UNSEEN:
            raise SettingError(f"unseen is {unseen!r}; expected 'error' or 'mean'")
        if getattr(coords, "shape", None) == (0, len(self.shape)):
            return np.empty(0)
        refuse_tables(coords)
        given = check_cells(coords, len(self.shape))
        fitted = np.empty(len(given))
        for start in range(0, len(given), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            cells = self._known_cells(given[part])
            strange = (cells < 0).any(axis=1)
            if strange.any() and unseen == "error":
                self._refuse(coords, given, start + int(np.argmax(strange)))
            values = fitted[part]
            values[~strange] = self._evaluate(cells[~strange])
            rows = np.flatnonzero(strange)
            for first in range(0, rows.size, self._at_once):
                some = rows[first : first + self._at_once]
                values[some] = self._averaged(cells[some])
        return fitted

    def _refuse(self, coords: ArrayLike, given: IndexArray, row: int) -> None:
        """Say which index of a row has no observations, as it was before it was checked."""
        mode = int(np.argmax(self._known_cells(given[row : row + 1])[0] < 0))
        raise UnseenIndexError(
            f"coords[{row}, {mode}] is {np.asarray(coords)[row, mode]}, an index of mode {mode} "
            "without observations in the fit (leave such cells out, or pass "
            'unseen="mean" to average over that mode)'
        )

    def residual_targets(self, cells: IndexArray, values: FloatArray) -> FloatArray:
        """Return what the boxes were fitted to: transformed values less the baseline."""
        targets = self.transform.apply(values)
        if self.baseline is not None:
            targets = targets - self.baseline.evaluate(tuple(cells.T))
        return targets

    def _evaluate(self, cells: IndexArray) -> FloatArray:
        """Evaluate (n, p) cells of indices that were observed."""
        columns = tuple(cells.T)
        values = self.model.evaluate(columns) if len(cells) else np.empty(0)
        if self.baseline is not None and len(cells):
            values += self.baseline.evaluate(columns)
        if self.remainder is not None and len(cells):
            values += self.remainder.evaluate(columns)
        return values

    def _known_cells(self, cells: IndexArray) -> IndexArray:
        """Return the cells with -1 for every index that was not observed."""
        inside = (cells >= 0) & (cells < np.array(self.shape))
        places = np.where(inside, cells, 0) + mode_offsets(self.shape)[:-1]
        return np.where(inside & (self.counts[places] > 0.0), cells, -1)

    @property
    def _at_once(self) -> int:
        """Rows of as many numbers as there are boxes that are held at a time."""
        return min(ROWS_AT_ONCE, max(1, NUMBERS_AT_ONCE // max(1, len(self.model))))

    def _averaged(self, cells: IndexArray) -> FloatArray:
        """Evaluate cells with -1 for "any observed index": boxes then count in part."""
        inside = np.ones((len(cells), len(self.model)))
        vertices = self.model.vertices
        for mode, part in enumerate(mode_slices(self.shape)):
            observed = part.start + np.flatnonzero(self.counts[part])
            average = np.zeros(len(vertices))
            for start in range(0, observed.size, self._at_once):
                some = observed[start : start + self._at_once]
                average += self.counts[some] @ vertices.flags_at(some)
            average /= self.counts[part].sum()
            known = cells[:, mode] >= 0
            on = vertices.flags_at(part.start + np.where(known, cells[:, mode], 0))
            inside *= np.where(known[:, np.newaxis], on, average)
        values: FloatArray = inside @ self.model.weights
        if self.baseline is not None:
            values += self.baseline.evaluate(tuple(cells.T))
            for mode, part in enumerate(mode_slices(self.shape)):
                effect = self.counts[part] @ self.baseline.effects[part] / self.counts[part].sum()
                values += np.where(cells[:, mode] < 0, effect, 0.0)
        if self.remainder is not None:
            values += self.remainder.average(cells, self.counts)
        return values


def index_counts(
    coords: tuple[AnyArray, ...], shape: Shape, weights: FloatArray | None = None
) -> FloatArray:
    """Return what the observations of each index weigh together, the modes end to end."""
    return np.concatenate(
        [
            np.bincount(column, weights, minlength=length)
            for column, length in zip(coords, shape, strict=True)
        ]
    ).astype(np.float64)
