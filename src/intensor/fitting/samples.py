"""Raw observations on their way to a fit, and their splits into training and held-out cells."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape
from intensor.data.grouping import Groups, group_rows, order_type
from intensor.data.observations import cell_numbers, standard_order
from intensor.problem.reindex import FullTensor, drop_unused_indices

MIN_FIBRE_SHARE, COMPLETE_FIBRES = 0.5, 0.9
"""Cells are missing fibre by fibre when more than the first share of the missing cells lies in
empty fibres, beyond chance, and at least the second share of the cells of all other fibres is
observed. Otherwise cells are missing in observed fibres too, and it is those that users ask for."""
PROBED_CELLS = 1 << 14
"""Number of cells that rule modes out before the fibres of all cells are counted."""
ENOUGH_HELD_OUT = 1 << 13
"""Number of held-out observations beyond which it hardly matters which ones are held out."""
FEW_OBSERVATIONS, MAX_FOLDS_OF_FEW = 1 << 12, 10
"""Observations up to which there may be more such times, and how many."""
MAX_AUTO_FOLDS = 4
"""Most times that cells are held out to reach ``ENOUGH_HELD_OUT``."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Samples:
    """Observations in the units of the data, checked."""

    coords: IndexArray  # (n, p)
    values: FloatArray
    weights: FloatArray | None  # None when all are equal
    shape: Shape
    full: FullTensor | None = None  # before indices without observations were left out, if any were
    starts: IndexArray | None = None  # first row of each distinct cell if rows are in order

    def __len__(self) -> int:
        return int(self.values.size)

    @property
    def n_cells(self) -> int:
        """Number of distinct cells."""
        return int(self.cell_numbers().max()) + 1 if self.starts is None else self.starts.size

    def cell_numbers(self) -> IndexArray:
        """Return the number of each row's cell; cells are numbered in lexicographic order."""
        if self.starts is None:
            return cell_numbers(self.coords, self.shape)
        return np.repeat(np.arange(self.starts.size), np.diff(self.starts, append=len(self)))

    def groups(self) -> Groups:
        """Return the rows grouped by cell; rows in standard order are not sorted again."""
        if self.starts is None:
            return group_rows(self.coords, self.shape)
        n, cells = len(self), self.coords[self.starts]
        return Groups(
            order=np.arange(n, dtype=order_type(n)),
            starts=self.starts,
            columns=tuple(
                column.astype(np.min_scalar_type(length - 1))
                for column, length in zip(cells.T, self.shape, strict=True)
            ),
        )

    def in_order(self) -> Samples:
        """Return the rows sorted by cell, value and weight, with the first row of each cell.

        Sums over rows then do not depend on the order in which the rows were given. The rows of a
        fit are grouped only here: parts of them stay in order.
        """
        if self.starts is not None:
            return self
        rows = standard_order(self.coords, self.shape, self.values, self.weights)
        ordered = self.part(rows)
        changes = (ordered.coords[1:] != ordered.coords[:-1]).any(axis=1)
        return replace(ordered, starts=np.flatnonzero(np.append(True, changes)))

    def part(self, rows: AnyArray) -> Samples:
        """Return some of the rows; chosen by a mask, rows in standard order stay so."""
        starts = None
        if self.starts is not None and rows.dtype == np.bool_:
            starts = np.flatnonzero(np.diff(self.cell_numbers()[rows], prepend=-1))
        return replace(
            self,
            coords=self.coords[rows],
            values=self.values[rows],
            weights=None if self.weights is None else self.weights[rows],
            starts=starts,
        )

    def condensed(self) -> Samples:
        """Return the same observations in a tensor of the indices that occur."""
        coords, full = drop_unused_indices(tuple(self.coords.T), self.shape)
        if full is None:
            return self
        return replace(
            self,
            coords=np.stack(coords, axis=1).astype(np.int64, copy=False),
            shape=full.condensed,
            full=full,
        )


def sample(samples: Samples, most: int, *, seed: int) -> Samples:
    """Return the observations of some cells chosen at random, about ``most`` in number."""
    if len(samples) <= most:
        return samples
    numbers = samples.cell_numbers()
    n_cells = int(numbers.max()) + 1
    kept = np.random.default_rng([seed, 2]).random(n_cells) < most / len(samples)
    rows = kept[numbers]
    return samples.part(rows) if rows.any() else samples


def splits(
    samples: Samples,
    *,
    folds: int | None,
    share: float,
    seed: int,
    enough_held_out: int = ENOUGH_HELD_OUT,
) -> Iterator[tuple[Samples, Samples]]:
    """Yield (training, held-out) pairs; all observations of a cell are on the same side.

    Where cells are missing fibre by fibre, entire fibres are held out: only cells that are missing
    in the same way can tell how well the missing cells are predicted.

    With one fold, ``share`` of the cells are held out; with more, the cells are cut into this many
    parts and each is held out once. With None, ``share`` of the cells are held out at a time, each
    at most once, until there are ``enough_held_out`` observations or ``MAX_AUTO_FOLDS`` pairs.
    """
    mode = find_missing_fibre_mode(samples)
    numbers = samples.cell_numbers()
    if mode is not None:
        numbers = _number_fibres(samples.coords, samples.shape, mode)
    n_parts = int(numbers.max()) + 1
    if n_parts < 2:
        return
    order = np.random.default_rng([seed, 1]).permutation(n_parts)
    size = min(max(1, round(share * n_parts)), n_parts - 1)
    if folds is None:
        held_out = size * len(samples) / n_parts
        most = MAX_AUTO_FOLDS if len(samples) > FEW_OBSERVATIONS else MAX_FOLDS_OF_FEW
        folds = min(most, math.ceil(enough_held_out / held_out), n_parts // size)
        parts = np.split(order[: folds * size], folds)
    else:
        parts = np.array_split(order, min(folds, n_parts)) if folds > 1 else [order[:size]]
    for part in parts:
        held = np.zeros(n_parts, dtype=bool)
        held[part] = True
        rows = held[numbers]
        yield samples.part(~rows), samples.part(rows)


def find_missing_fibre_mode(samples: Samples, *, probed_cells: int = PROBED_CELLS) -> int | None:
    """Return the mode along which entire fibres are missing, if that is how cells are missing.

    Then most missing cells lie in fibres without a single observation, far more than chance would
    explain, and fibres with observations are mostly complete. About ``probed_cells`` of the cells
    rule modes out first: all cells lie in at least as many fibres as some of them, so no mode is
    ruled out wrongly.
    """
    shape = samples.shape
    cells = np.stack(samples.groups().columns, axis=1).astype(np.int64)
    n_cells, n_all = len(cells), math.prod(shape)
    if len(shape) < 2 or n_cells == n_all:
        return None
    probed = cells[:: -(-n_cells // probed_cells)]
    missing = (n_all - n_cells) / n_all
    best, most = None, MIN_FIBRE_SHARE
    for mode, length in enumerate(shape):
        seen = int(_number_fibres(probed, shape, mode).max()) + 1
        if length == 1 or n_cells < COMPLETE_FIBRES * seen * length:
            continue
        if len(probed) < n_cells:
            seen = int(_number_fibres(cells, shape, mode).max()) + 1
        lost = (n_all - seen * length) / (n_all - n_cells)
        above_chance = lost - missing ** (length - 1)
        if n_cells >= COMPLETE_FIBRES * seen * length and above_chance > most:
            best, most = mode, above_chance
    return best


def _number_fibres(cells: IndexArray, shape: Shape, mode: int) -> IndexArray:
    """Number the fibre along a mode in which each cell lies."""
    others = [other for other in range(len(shape)) if other != mode]
    lengths = tuple(shape[other] for other in others)
    return cell_numbers(np.ascontiguousarray(cells[:, others]), lengths)
