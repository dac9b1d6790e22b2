"""From a model to predictions: baseline, remainder, inverse transform, and unseen indices."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape
from intensor._text import describe_shape, one_line
from intensor.data.checks import check_cells
from intensor.data.lookup import refuse_tables
from intensor.errors import UnseenIndexError, UnseenIndexWarning
from intensor.model.baseline import Baseline
from intensor.model.model import Model, describe_terms
from intensor.model.transform import TRANSFORMS, Transform
from intensor.options.unseen import Unseen, as_unseen
from intensor.problem.vertex import mode_offsets, mode_slices

CELLS_AT_ONCE = 1 << 12
"""Number of cells that are predicted at once."""
MAX_FLAGS_AT_ONCE = 1 << 22
"""Largest number of cells times terms that are averaged over at once."""


class UnseenCells:
    """Counts the cells of a prediction that have an index without observations."""

    def __init__(self) -> None:
        self.n_cells = 0
        self.n_unseen = 0
        self._first: tuple[int, int] | None = None

    def add(self, cells: IndexArray) -> AnyArray:
        """Count (n, p) cells from ``known_cells``; return which have an index of -1."""
        missing: AnyArray = cells < 0
        if not missing.any():  # the usual case, and a single pass is faster than one by rows
            self.n_cells += len(cells)
            return np.zeros(len(cells), dtype=np.bool_)
        unseen: AnyArray = np.any(missing, axis=1)
        if self._first is None:
            row = int(np.argmax(unseen))
            self._first = self.n_cells + row, int(np.argmax(cells[row] < 0))
        self.n_cells += len(cells)
        self.n_unseen += int(unseen.sum())
        return unseen

    def report(
        self, unseen: Unseen, describe: Callable[[int, int], str], *, stacklevel: int = 3
    ) -> None:
        """Raise or warn if there are such cells, as the option says.

        ``describe`` returns a clause about the index of a cell, given its position and the mode.
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

    ``counts`` are the observations of each index, the modes end to end.
    """
    inside = (cells >= 0) & (cells < np.array(shape))
    all_inside = inside.all()
    positions = (cells if all_inside else np.where(inside, cells, 0)) + mode_offsets(shape)[:-1]
    observed = counts[positions] > 0.0
    if all_inside and observed.all():
        return cells
    return np.where(inside & observed, cells, -1)


KRIGING, SMOOTH_FIELD, INTERPOLATION = REMAINDER_METHODS = (
    "kriging",
    "smooth field",
    "interpolation",
)
"""Names of the ways to find a remainder."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Remainder:
    """The value that is added to baseline and model in every cell, in the fitted scale."""

    field: AnyArray  # one value per cell; only small tensors have a remainder
    method: str = KRIGING  # one of ``REMAINDER_METHODS``: how the values were found

    @property
    def shape(self) -> Shape:
        """Lengths of the modes."""
        return self.field.shape

    def evaluate(self, coords: Sequence[AnyArray]) -> FloatArray:
        """Return the values of cells given mode by mode, of indices that were observed."""
        return self.field[tuple(coords)].astype(np.float64)

    def average(self, cells: IndexArray, counts: FloatArray) -> FloatArray:
        """Return the values of (n, p) cells, averaged over every mode whose index is -1.

        An index counts as often in an average over its mode as it was observed.
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Predictor:
    """A model with the steps that turn it into predictions."""

    model: Model  # fitted to what the baseline leaves; all parts are in the fitted scale
    counts: FloatArray  # (sum(shape),) total weight of each index, the modes end to end
    transform: Transform = TRANSFORMS["none"]
    baseline: Baseline | None = None
    remainder: Remainder | None = None

    @property
    def shape(self) -> Shape:
        """Lengths of the modes."""
        return self.model.shape

    def __repr__(self) -> str:
        parts = [describe_terms(self.model)]
        if self.transform is not TRANSFORMS["none"]:
            parts.append(f"{self.transform.name} transform")
        parts += [] if self.baseline is None else ["baseline"]
        parts += [] if self.remainder is None else [self.remainder.method]
        return one_line(f"Predictor {describe_shape(self.shape)}: {', '.join(parts)}")

    def predict(
        self, coords: ArrayLike, *, unseen: Unseen | str = Unseen.MEAN, stacklevel: int = 2
    ) -> FloatArray:
        """Return predictions for cells, in the units of the data, never below 0.

        Parameters
        ----------
        coords
            (n, p) integers counted from 0; -1 for a label that is not known.
        unseen
            What to do about an index that no observation has. "mean" and "warn" predict the
            average of the fitted tensor over the observed indices of that mode, each counted as
            often as it was observed; "warn" warns of it. "error" raises.
        """
        return self.transform.undo(self.fitted(coords, unseen=unseen, stacklevel=stacklevel + 1))

    def fitted(
        self, coords: ArrayLike, *, unseen: Unseen | str = Unseen.MEAN, stacklevel: int = 2
    ) -> FloatArray:
        """Return predictions in the fitted scale, neither clipped nor transformed back."""
        unseen = as_unseen(unseen)
        if getattr(coords, "shape", None) == (0, len(self.shape)):
            return np.empty(0)
        refuse_tables(coords)
        given = check_cells(coords, len(self.shape))
        fitted = np.empty(len(given))
        found, averages = UnseenCells(), _Averages(self)
        for start in range(0, len(given), CELLS_AT_ONCE):
            part = slice(start, start + CELLS_AT_ONCE)
            cells = known_cells(given[part], self.counts, self.shape)
            strange = found.add(cells)
            values = fitted[part]
            if not strange.any():
                values[:] = self._evaluate(cells)
                continue
            values[~strange] = self._evaluate(cells[~strange])
            rows = np.flatnonzero(strange)
            for first in range(0, rows.size, self._averaged_at_once):
                some = rows[first : first + self._averaged_at_once]
                values[some] = self._averaged(cells[some], averages)

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
        """Return the targets of the model: transformed values minus the baseline."""
        targets = self.transform.apply(values)
        if self.baseline is not None:
            targets = targets - self.baseline.evaluate(tuple(cells.T))
        return targets

    def _evaluate(self, cells: IndexArray) -> FloatArray:
        """Evaluate (n, p) cells of indices that were observed."""
        columns = tuple(cells.T)
        values = self.model.evaluate(columns)
        if self.baseline is not None:
            values += self.baseline.evaluate(columns)
        if self.remainder is not None:
            values += self.remainder.evaluate(columns)
        return values

    @property
    def _averaged_at_once(self) -> int:
        """Number of cells whose entries in all terms are held at once."""
        return min(CELLS_AT_ONCE, max(1, MAX_FLAGS_AT_ONCE // max(1, len(self.model))))

    def _averaged(self, cells: IndexArray, averages: _Averages) -> FloatArray:
        """Evaluate cells in which -1 stands for the average over all observed indices."""
        weights, n_boxes = self.model.weights, len(self.model.vertices)
        values: FloatArray = averages.products(cells, graded=False) @ weights[:n_boxes]
        if len(self.model.components):
            values += averages.products(cells, graded=True) @ weights[n_boxes:]
        if self.baseline is not None:
            values += self.baseline.evaluate(tuple(cells.T))
            for mode in np.flatnonzero((cells < 0).any(axis=0)).tolist():
                effect = averages.effect(self.baseline, mode)
                values += np.where(cells[:, mode] < 0, effect, 0.0)
        if self.remainder is not None:
            values += self.remainder.average(cells, self.counts)
        return values


class _Averages:
    """Averages over the observed indices of a mode, each computed once: modes may be long."""

    def __init__(self, predictor: Predictor) -> None:
        self._predictor = predictor
        self._of_terms: dict[tuple[bool, int], FloatArray] = {}
        self._of_effects: dict[int, float] = {}

    def products(self, cells: IndexArray, *, graded: bool) -> FloatArray:
        """Return (n, k) products over the modes of the entries of k boxes or graded components."""
        model = self._predictor.model
        entries_at: Callable[[IndexArray], AnyArray] = (
            model.components.factors_at if graded else model.vertices.flags_at
        )
        count = len(model.components) if graded else len(model.vertices)
        products = np.ones((len(cells), count))
        if count == 0:
            return products
        for mode, part in enumerate(mode_slices(model.shape)):
            known = cells[:, mode] >= 0
            entries = entries_at(part.start + np.where(known, cells[:, mode], 0))
            if not known.all():
                average = self._average(mode, part, entries_at, count, graded=graded)
                entries = np.where(known[:, np.newaxis], entries, average)
            products *= entries
        return products

    def effect(self, baseline: Baseline, mode: int) -> float:
        """Return the average effect of the indices of a mode."""
        if mode not in self._of_effects:
            part, counts = mode_slices(baseline.shape)[mode], self._predictor.counts
            total = counts[part] @ baseline.effects[part] / counts[part].sum()
            self._of_effects[mode] = float(total)
        return self._of_effects[mode]

    def _average(
        self,
        mode: int,
        part: slice,
        entries_at: Callable[[IndexArray], AnyArray],
        count: int,
        *,
        graded: bool,
    ) -> FloatArray:
        """Return the average entries of (count,) terms; ``entries_at`` returns those of indices."""
        key = graded, mode
        if key not in self._of_terms:
            counts, at_once = self._predictor.counts, self._predictor._averaged_at_once
            observed = part.start + np.flatnonzero(counts[part])
            average = np.zeros(count)
            for start in range(0, observed.size, at_once):
                some = observed[start : start + at_once]
                average += counts[some] @ entries_at(some)
            self._of_terms[key] = average / counts[part].sum()
        return self._of_terms[key]


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
