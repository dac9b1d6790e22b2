"""A tensor without the indices that were never observed, and the whole that it is a part of.

Observations say nothing about such indices, and no box needs them. So solvers see the others alone,
and what a solve costs does not depend on how long the modes are: numbers of customers can be
coordinates as they are. What was found is spread over the whole tensor in the end.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from intensor._arrays import AnyArray, IndexArray, Shape
from intensor.problem.vertex import Vertices, mode_offsets

__all__ = ["Whole", "leave_out"]

FLAGGED = 64
"""Indices per cell up to which all of a mode are gone through to find those that occur."""
SOME = 16
"""Cells per index that are looked at first: where all indices occur, they mostly show it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Whole:
    """The tensor that a condensed one is a part of.

    Attributes
    ----------
    shape
        Its mode lengths.
    kept
        The indices of each mode that the part has, rising.
    """

    shape: Shape
    kept: tuple[AnyArray, ...]

    @property
    def condensed(self) -> Shape:
        """Mode lengths of the part."""
        return tuple(len(indices) for indices in self.kept)

    def spread(self, numbers: AnyArray) -> AnyArray:
        """Return rows for all indices, modes end to end: those of the part, and 0 elsewhere."""
        offsets = mode_offsets(self.shape)[:-1]
        places = [start + kept for start, kept in zip(offsets.tolist(), self.kept, strict=True)]
        spread = np.zeros((sum(self.shape), *numbers.shape[1:]), dtype=numbers.dtype)
        spread[np.concatenate(places)] = numbers
        return spread

    def spread_vertices(self, vertices: Vertices) -> Vertices:
        """Return vertices of the part as vertices of the whole, off at all other indices."""
        return Vertices(shape=self.shape, count=vertices.count, words=self.spread(vertices.words))

    def checksums(self) -> list[int]:
        """Return a number for each mode that other indices would not have."""
        return [zlib.crc32(np.ascontiguousarray(kept, "<i8").tobytes()) for kept in self.kept]


def leave_out(
    coords: Sequence[AnyArray], shape: Shape
) -> tuple[tuple[AnyArray, ...], Whole | None]:
    """Number the indices that occur; return the new coordinates, and what they are a part of.

    The second is None, and coordinates stay as they are, when all indices occur.

    Parameters
    ----------
    coords
        Indices of the cells, mode by mode.

    Examples
    --------
    >>> coords, whole = leave_out([np.array([70, 900, 70]), np.array([0, 2, 1])], (1000, 3))
    >>> [column.tolist() for column in coords]
    [[0, 1, 0], [0, 2, 1]]
    >>> whole.shape, [kept.tolist() for kept in whole.kept]
    ((1000, 3), [[70, 900], [0, 1, 2]])
    """
    modes = [_occurring(column, length) for column, length in zip(coords, shape, strict=True)]
    kept = tuple(indices for indices, _ in modes)
    whole = Whole(shape=shape, kept=kept)
    if whole.condensed == shape:
        return tuple(coords), None
    return tuple(numbers for _, numbers in modes), whole


def _occurring(column: AnyArray, length: int) -> tuple[IndexArray, AnyArray]:
    """Return the indices that occur, rising, and the number of each cell's among them."""
    if length > FLAGGED * column.size:
        kept, numbers = np.unique(column, return_inverse=True)
        return kept.astype(np.int64), numbers
    seen = np.zeros(length, dtype=np.bool_)
    for step in (max(1, column.size // (SOME * length)), 1):  # some cells, then all of them
        seen[column[::step]] = True
        if seen.all():
            return np.arange(length), column
    kept = np.flatnonzero(seen)
    places = np.cumsum(seen, dtype=np.min_scalar_type(length))
    places -= 1
    return kept, places[column]
