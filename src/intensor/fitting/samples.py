"""Raw observations on their way to a fit, and their splits into training and held-out cells."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape
from intensor.data.observations import cell_numbers, standard_order
from intensor.problem.reindex import Whole, leave_out

__all__ = ["Samples", "lost_mode", "sample", "splits"]

MOSTLY = 0.5
"""Share of the missing cells that lie in empty fibres, beyond chance, and of the cells of other
fibres that are observed, from which on cells are missing fibre by fibre."""

LOOKED_AT = 1 << 14
"""Rows that tell whether it is worth counting the fibres of all of them."""

ENOUGH, MOST_FOLDS = 1 << 13, 4
"""Held-out observations after which the choice of them hardly matters any more, and how often to
hold some out for them."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Samples:
    """Observations in the units of the data, checked.

    Attributes
    ----------
    coords
        (n, p) cells.
    values
        (n,) values.
    weights
        (n,) how much each counts, or None for all the same.
    shape
        Lengths of the modes.
    whole
        The tensor that they are condensed from, if they are.
    """

    coords: IndexArray
    values: FloatArray
    weights: FloatArray | None
    shape: Shape
    whole: Whole | None = None

    def __len__(self) -> int:
        return int(self.values.size)

    @property
    def n_cells(self) -> int:
        """Number of distinct cells."""
        return int(cell_numbers(self.coords, self.shape).max()) + 1

    def in_order(self) -> Samples:
        """Return the same rows in an order that does not depend on the one they are in."""
        return self.part(standard_order(self.coords, self.shape, self.values, self.weights))

    def part(self, rows: AnyArray) -> Samples:
        """Return some of the rows."""
        return replace(
            self,
            coords=self.coords[rows],
            values=self.values[rows],
            weights=None if self.weights is None else self.weights[rows],
        )

    def condensed(self) -> Samples:
        """Return the same in a tensor of the indices that occur."""
        coords, whole = leave_out(tuple(self.coords.T), self.shape)
        if whole is None:
            return self
        return replace(
            self,
            coords=np.stack(coords, axis=1).astype(np.int64, copy=False),
            shape=whole.condensed,
            whole=whole,
        )


def sample(samples: Samples, most: int, *, seed: int) -> Samples:
    """Return the observations of some cells chosen at random, about ``most`` in number."""
    if len(samples) <= most:
        return samples
    numbers = cell_numbers(samples.coords, samples.shape)
    n_cells = int(numbers.max()) + 1
    kept = np.random.default_rng([seed, 2]).random(n_cells) < most / len(samples)
    rows = kept[numbers]
    return samples.part(rows) if rows.any() else samples


def splits(
    samples: Samples, *, folds: int | None, share: float, seed: int
) -> Iterator[tuple[Samples, Samples]]:
    """Yield (training, held-out) pairs; all observations of a cell are on the same side.

    Where cells are missing fibre by fibre, whole fibres are held out: what it is like to predict
    what is missing can only be told from cells that are missing in the same way.

    Parameters
    ----------
    folds
        Number of pairs. With one, ``share`` of the cells are held out, else one part of so many.
        None holds out ``share`` of them as often as it takes to tell two fits apart: once where
        that is many cells, up to ``MOST_FOLDS`` times, other ones each time, where it is few.
    """
    lost = lost_mode(samples)
    numbers = _fibre_numbers(samples, lost)
    n_parts = int(numbers.max()) + 1
    if n_parts < 2:
        return
    order = np.random.default_rng([seed, 1]).permutation(n_parts)
    size = min(max(1, round(share * n_parts)), n_parts - 1)
    if folds is None:
        held_out = size * len(samples) / n_parts
        folds = min(MOST_FOLDS, math.ceil(ENOUGH / held_out), n_parts // size)
        parts = np.split(order[: folds * size], folds)
    else:
        parts = np.array_split(order, min(folds, n_parts)) if folds > 1 else [order[:size]]
    for part in parts:
        held = np.zeros(n_parts, dtype=bool)
        held[part] = True
        rows = held[numbers]
        yield samples.part(~rows), samples.part(rows)


def lost_mode(samples: Samples) -> int | None:
    """Return the mode along which whole fibres are missing, if that is how cells are missing.

    That is so when most missing cells lie in fibres without a single observation, far more than
    chance would have it, while fibres with observations are mostly complete.
    """
    if len(samples.shape) < 2:
        return None
    possible = [mode for mode in range(len(samples.shape)) if _may_be_lost(samples, mode)]
    if not possible:
        return None
    cells = math.prod(samples.shape)
    n_cells = samples.n_cells
    if n_cells == cells:
        return None
    missing = (cells - n_cells) / cells
    best, most = None, MOSTLY
    for mode in possible:
        length = samples.shape[mode]
        seen = int(_fibre_numbers(samples, mode).max()) + 1
        lost = (cells - seen * length) / (cells - n_cells)
        above = lost - missing ** (length - 1)
        if n_cells >= MOSTLY * seen * length and above > most:
            best, most = mode, above
    return best


def _may_be_lost(samples: Samples, mode: int) -> bool:
    """Whether observed fibres along a mode may be mostly complete, judged by some of the rows.

    All rows lie in no fewer fibres than some of them do, so that no mode is ruled out wrongly.
    """
    some = samples.part(np.arange(0, len(samples), -(-len(samples) // LOOKED_AT)))
    seen = int(_fibre_numbers(some, mode).max()) + 1
    length = samples.shape[mode]
    return length > 1 and len(samples) >= MOSTLY * seen * length


def _fibre_numbers(samples: Samples, mode: int | None) -> IndexArray:
    """Number the fibres along a mode that observations lie in; the cells, when it is None."""
    if mode is None:
        return cell_numbers(samples.coords, samples.shape)
    others = [place for place in range(len(samples.shape)) if place != mode]
    shape = tuple(samples.shape[place] for place in others)
    return cell_numbers(np.ascontiguousarray(samples.coords[:, others]), shape)
