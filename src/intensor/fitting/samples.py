"""Raw observations on their way to a fit."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape
from intensor.data.grouping import Groups, group_rows, order_type
from intensor.data.observations import cell_numbers, standard_order
from intensor.problem.reindex import FullTensor, drop_unused_indices


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
