"""Reindexing: a tensor without its unused indices, and the way back to the full tensor.

Observations say nothing about indices that never occur, and no box needs them. So solvers see the
other indices only, and the cost of a solve does not depend on how long the modes are: customer
numbers can be coordinates as they are. Results are mapped back to the full tensor at the end.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from intensor._arrays import AnyArray, IndexArray, Shape
from intensor.problem.component import Components
from intensor.problem.vertex import Vertices, mode_offsets

MAX_INDICES_PER_CELL = 64
"""Most indices of a mode per cell for which used indices are found by flags instead of sorting."""
FIRST_CELLS_PER_INDEX = 16
"""Number of cells per index that are checked first: if all indices occur, these mostly show it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FullTensor:
    """The full tensor that a condensed one was made from."""

    shape: Shape  # Mode lengths of the full tensor
    kept: tuple[AnyArray, ...]  # The indices of each mode that occur, rising

    @property
    def condensed(self) -> Shape:
        """Mode lengths of the condensed tensor."""
        return tuple(len(indices) for indices in self.kept)

    def expand(self, numbers: AnyArray) -> AnyArray:
        """Expand rows, one per index with the modes end to end, to all indices; new rows are 0."""
        offsets = mode_offsets(self.shape)[:-1]
        positions = [start + kept for start, kept in zip(offsets.tolist(), self.kept, strict=True)]
        expanded = np.zeros((sum(self.shape), *numbers.shape[1:]), dtype=numbers.dtype)
        expanded[np.concatenate(positions)] = numbers
        return expanded

    def expand_vertices(self, vertices: Vertices) -> Vertices:
        """Expand vertices of the condensed tensor; they are off at all new indices."""
        return Vertices(shape=self.shape, count=vertices.count, words=self.expand(vertices.words))

    def expand_components(self, components: Components) -> Components:
        """Expand components of the condensed tensor; their entries are 0 at all new indices."""
        if not len(components):  # whose shape may be that of no tensor
            return Components(shape=self.shape, factors=np.empty((sum(self.shape), 0)))
        return Components(shape=self.shape, factors=self.expand(components.factors))

    def checksums(self) -> list[int]:
        """Return a checksum of the kept indices of each mode."""
        return [zlib.crc32(np.ascontiguousarray(kept, "<i8").tobytes()) for kept in self.kept]


def drop_unused_indices(
    coords: Sequence[AnyArray], shape: Shape, *, max_indices_per_cell: int = MAX_INDICES_PER_CELL
) -> tuple[tuple[AnyArray, ...], FullTensor | None]:
    """Renumber the indices that occur; return the new coordinates and the full tensor.

    If all indices occur, coordinates stay as they are and the second result is None. Used indices
    are found by flags in modes of at most ``max_indices_per_cell`` indices per cell.

    Examples
    --------
    >>> columns = [np.array([70, 900, 70]), np.array([0, 2, 1])]
    >>> coords, full = drop_unused_indices(columns, (1000, 3))
    >>> [column.tolist() for column in coords]
    [[0, 1, 0], [0, 2, 1]]
    >>> full.shape, [kept.tolist() for kept in full.kept]
    ((1000, 3), [[70, 900], [0, 1, 2]])
    """
    modes = [
        _renumber(column, length, max_indices_per_cell)
        for column, length in zip(coords, shape, strict=True)
    ]
    full = FullTensor(shape=shape, kept=tuple(kept for kept, _ in modes))
    if full.condensed == shape:
        return tuple(coords), None
    return tuple(numbers for _, numbers in modes), full


def _renumber(
    column: AnyArray, length: int, max_indices_per_cell: int
) -> tuple[IndexArray, AnyArray]:
    """Return the indices that occur, rising, and the number of each cell's index among them."""
    if length > max_indices_per_cell * column.size:
        kept, numbers = np.unique(column, return_inverse=True)
        return kept.astype(np.int64), numbers
    seen = np.zeros(length, dtype=np.bool_)
    for step in (max(1, column.size // (FIRST_CELLS_PER_INDEX * length)), 1):  # some, then all
        seen[column[::step]] = True
        if seen.all():
            return np.arange(length), column
    numbers = np.cumsum(seen, dtype=np.min_scalar_type(length))
    numbers -= 1
    return np.flatnonzero(seen), numbers[column]
