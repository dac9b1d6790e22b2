"""From boxes to predictions in the units of the data: baseline, clipping, inverse transform."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape
from intensor.data.checks import check_cells
from intensor.data.lookup import refuse_tables
from intensor.errors import UnseenIndexError, UnseenIndexWarning
from intensor.model.baseline import Baseline
from intensor.model.model import Model
from intensor.model.remainder import Remainder
from intensor.model.transform import TRANSFORMS, Transform
from intensor.options.unseen import Unseen
from intensor.problem.vertex import mode_offsets, mode_slices

CELLS_AT_ONCE = 1 << 12
"""Number of cells that are predicted at once."""
MAX_FLAGS_AT_ONCE = 1 << 22
"""Largest number of cells times boxes that are averaged over at once."""


class UnseenCells:
    """Counts the cells of a prediction that have an index without observations."""

    def __init__(self) -> None:
        self.n_cells = 0
        self.n_unseen = 0
        self._first: tuple[int, int] | None = None

    def add(self, cells: IndexArray) -> AnyArray:
        """Count more cells, and return which of them have an index without observations.

        Parameters
        ----------
        cells
            (n, p) indices from ``known_cells``: -1 stands for an index without observations.
        """
        unseen: AnyArray = np.any(cells < 0, axis=1)
        if self._first is None and unseen.any():
            row = int(np.argmax(unseen))
            self._first = self.n_cells + row, int(np.argmax(cells[row] < 0))
        self.n_cells += len(cells)
        self.n_unseen += int(unseen.sum())
        return unseen

    def report(
        self, unseen: Unseen, describe: Callable[[int, int], str], *, stacklevel: int = 3
    ) -> None:
        """Raise or warn if there are such cells, as the option says.

        Parameters
        ----------
        describe
            Function of the position of a cell and a mode that returns a clause about its index.
        """
        if self._first is None or unseen is Unseen.MEAN:
            return
        found = (
            f"{describe(*self._first)}; {self.n_unseen} of {self.n_cells} cells have such an index"
        )
        if unseen is Unseen.ERROR:
            raise UnseenIndexError(
                f'{found} (leave them out, or pass unseen="mean", on the command line --unseen '
                "mean, to average over that mode)"
            )
        warnings.warn(
            f"{found}, and are predicted by the average over the observed indices of that mode "
            '(unseen="error" raises an error, unseen="mean" predicts without this warning)',
            UnseenIndexWarning,
            stacklevel=stacklevel,
        )


def known_cells(cells: IndexArray, counts: FloatArray, shape: Shape) -> IndexArray:
    """Return (n, p) cells with -1 for every index that was not observed.

    Parameters
    ----------
    counts
        (sum(shape),) observations of each index, the modes end to end.
    """
    inside = (cells >= 0) & (cells < np.array(shape))
    positions = np.where(inside, cells, 0) + mode_offsets(shape)[:-1]
    return np.where(inside & (counts[positions] > 0.0), cells, -1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Predictor:
    """A model with the steps that turn it into predictions.

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
        Field that is added to baseline and boxes, in the fitted scale, or None.
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

    def predict(
        self, coords: ArrayLike, *, unseen: Unseen | str = Unseen.WARN, stacklevel: int = 2
    ) -> FloatArray:
        """Return predictions for cells, in the units of the data, never below 0.

        Parameters
        ----------
        coords
            (n, p) integers counted from 0; -1 for a label that is not known.
        unseen
            What to do about an index that no observation has. "warn" and "mean" predict the
            average of the fitted tensor over the observed indices of that mode, each counted as
            often as it was observed; "warn" warns of it. "error" raises.
        stacklevel
            Frames between this function and the line that a warning names.
        """
        return self.transform.undo(self.fitted(coords, unseen=unseen, stacklevel=stacklevel + 1))

    def fitted(
        self, coords: ArrayLike, *, unseen: Unseen | str = Unseen.WARN, stacklevel: int = 2
    ) -> FloatArray:
        """Return predictions in the fitted scale, neither clipped nor transformed back."""
        unseen = Unseen(unseen)
        if getattr(coords, "shape", None) == (0, len(self.shape)):
            return np.empty(0)
        refuse_tables(coords)
        given = check_cells(coords, len(self.shape))
        fitted = np.empty(len(given))
        found = UnseenCells()
        for start in range(0, len(given), CELLS_AT_ONCE):
            part = slice(start, start + CELLS_AT_ONCE)
            cells = known_cells(given[part], self.counts, self.shape)
            strange = found.add(cells)
            values = fitted[part]
            values[~strange] = self._evaluate(cells[~strange])
            rows = np.flatnonzero(strange)
            for first in range(0, rows.size, self._averaged_at_once):
                some = rows[first : first + self._averaged_at_once]
                values[some] = self._averaged(cells[some])

        def describe(row: int, mode: int) -> str:
            # The caller's index: checked ones are cut off at the largest.
            index = np.asarray(coords)[row, mode]
            return (
                f"coords[{row}, {mode}] is {index}, an index of mode {mode} without observations "
                "in the fit"
            )

        found.report(unseen, describe, stacklevel=stacklevel + 1)
        return fitted

    def residual_targets(self, cells: IndexArray, values: FloatArray) -> FloatArray:
        """Return the targets of the boxes: transformed values minus the baseline."""
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

    @property
    def _averaged_at_once(self) -> int:
        """Number of cells whose flags in all boxes are held at once."""
        return min(CELLS_AT_ONCE, max(1, MAX_FLAGS_AT_ONCE // max(1, len(self.model))))

    def _averaged(self, cells: IndexArray) -> FloatArray:
        """Evaluate cells in which -1 stands for the average over all observed indices."""
        inside = np.ones((len(cells), len(self.model)))
        vertices = self.model.vertices
        for mode, part in enumerate(mode_slices(self.shape)):
            observed = part.start + np.flatnonzero(self.counts[part])
            average = np.zeros(len(vertices))
            for start in range(0, observed.size, self._averaged_at_once):
                some = observed[start : start + self._averaged_at_once]
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
    """Return the total weight of the observations of each index, the modes end to end."""
    return np.concatenate(
        [
            np.bincount(column, weights, minlength=length)
            for column, length in zip(coords, shape, strict=True)
        ]
    ).astype(np.float64)
