"""Raw observations on their way to a fit, and their splits into training and held-out cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from intensor.arrays import AnyArray, FloatArray, IndexArray, Shape
from intensor.data.observations import cell_numbers

__all__ = ["Samples", "sample", "splits"]


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
    """

    coords: IndexArray
    values: FloatArray
    weights: FloatArray | None
    shape: Shape

    def __len__(self) -> int:
        return int(self.values.size)

    @property
    def n_cells(self) -> int:
        """Number of distinct cells."""
        return int(cell_numbers(self.coords, self.shape).max()) + 1

    def part(self, rows: AnyArray) -> Samples:
        """Return some of the rows."""
        return Samples(
            coords=self.coords[rows],
            values=self.values[rows],
            weights=None if self.weights is None else self.weights[rows],
            shape=self.shape,
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
    samples: Samples, *, folds: int, share: float, seed: int
) -> Iterator[tuple[Samples, Samples]]:
    """Yield (training, held-out) pairs; all observations of a cell are on the same side.

    Parameters
    ----------
    folds
        Number of pairs; with one, ``share`` of the cells are held out, else one part of so many.
    """
    numbers = cell_numbers(samples.coords, samples.shape)
    n_cells = int(numbers.max()) + 1
    if n_cells < 2:
        return
    order = np.random.default_rng([seed, 1]).permutation(n_cells)
    size = min(max(1, round(share * n_cells)), n_cells - 1)
    parts = np.array_split(order, min(folds, n_cells)) if folds > 1 else [order[:size]]
    for part in parts:
        held = np.zeros(n_cells, dtype=bool)
        held[part] = True
        rows = held[numbers]
        yield samples.part(~rows), samples.part(rows)
