"""Graded components of the polytope: one vector per mode with entries from 0 to 1.

A box is a component whose vectors are 0-1. A product of vectors with entries from 0 to 1 is an
average of boxes, so components of weight 1 lie in the polytope that the boxes span. Like vertices
they are kept transposed: for every index of every mode, one entry per component.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intensor._arrays import FloatArray, IndexArray, Shape
from intensor.problem.vertex import INDICES_AT_ONCE, Vertices, mode_slices


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """A list of components, one entry per component, mode and index."""

    shape: Shape  # Lengths of the modes
    factors: FloatArray  # (sum(shape), g) entries from 0 to 1, a column per component

    def __len__(self) -> int:
        return int(self.factors.shape[1])

    def __repr__(self) -> str:
        return f"<{len(self)} components of shape {self.shape}>"

    def profiles(self, index: int) -> tuple[FloatArray, ...]:
        """Return the vectors of component ``index``, mode by mode."""
        column = np.ascontiguousarray(self.factors[:, index])
        return tuple(column[part] for part in mode_slices(self.shape))

    def rows(self) -> FloatArray:
        """Return the components as (g, sum(shape)) entries, the modes end to end."""
        return np.ascontiguousarray(self.factors.T)

    def factors_at(self, positions: IndexArray | slice) -> FloatArray:
        """Return the (m, g) entries of all components at some of the sum(shape) positions."""
        return self.factors[positions]

    def dense_sum(self, weights: FloatArray, part: slice) -> FloatArray:
        """Return the weighted sum of some components as an array of the shape of the tensor."""
        low, high = mode_slices(self.shape)[0].start, mode_slices(self.shape)[0].stop
        first = self.factors[low:high, part] * weights[part]
        others = np.ones((1, first.shape[1]))
        for where in mode_slices(self.shape)[1:]:
            rows = self.factors[where, part]
            others = (others[:, np.newaxis] * rows).reshape(-1, first.shape[1])
        return (first @ others.T).reshape(self.shape)

    def overlaps(
        self, other: Components | Vertices, *, at_once: int = INDICES_AT_ONCE
    ) -> FloatArray:
        """Return the (g, len(other)) inner products of the tensors of weight 1.

        The inner product is a product over modes, so no cell is ever visited.
        """
        products = np.ones((len(self), len(other)))
        for part in mode_slices(self.shape):
            common = np.zeros_like(products)
            for start in range(part.start, part.stop, at_once):
                block = slice(start, min(start + at_once, part.stop))
                if isinstance(other, Vertices):
                    theirs = other.flags_at(block).astype(np.float64)
                else:
                    theirs = other.factors_at(block)
                common += self.factors[block].T @ theirs
            products *= common
        return products


def pack_components(rows: FloatArray, shape: Shape) -> Components:
    """Transpose (g, sum(shape)) entries into components.

    Examples
    --------
    >>> graded = pack_components(np.array([[1.0, 0.5, 0.0, 0.25, 1.0]]), (2, 3))
    >>> [profile.tolist() for profile in graded.profiles(0)]
    [[1.0, 0.5], [0.0, 0.25, 1.0]]
    """
    return Components(shape=shape, factors=np.array(rows.T, dtype=np.float64, order="C"))


NO_COMPONENTS = Components(shape=(), factors=np.empty((0, 0)))
"""No component at all, which fits a model of any shape."""
