"""The common part of cells outside the memory of this process: on a device or in shards."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from intensor._arrays import FloatArray, IndexArray, Shape, WordArray
from intensor.problem.objective import scaled_constant
from intensor.problem.vertex import mode_offsets
from intensor.runtime.threads import Workers


class CellsElsewhere(ABC):
    """Implements the part of ``Cells`` that does not depend on where the cells are.

    Vertices are not kept between calls: Gram rows are computed from their bits.

    Parameters
    ----------
    within
        Variance within cells, in the units of the data.
    radius
        Unit of the values.
    workers
        Threads for samples, which are solved in memory.
    """

    def __init__(
        self, shape: Shape, n_cells: int, *, within: float, radius: float, workers: Workers
    ) -> None:
        self.shape = shape
        self.n_cells = n_cells
        self.offsets: IndexArray = mode_offsets(shape)
        self.constant = scaled_constant(within, radius**2)
        self._radius = radius
        self._workers = workers

    def add(self, words: WordArray, first: int, last: int, out_gram: FloatArray) -> None:
        """Fill the Gram rows of vertices first..last-1."""
        shares = self.shared(words, first, last)
        out_gram[first:last, :last] = shares
        out_gram[:last, first:last] = shares.T

    def keep(self, kept: IndexArray) -> None:  # noqa: B027  (vertices are not kept on purpose)
        """Do nothing: no vertex is kept here."""

    def descend(
        self, lanes: WordArray, count: int, sweeps: int, *, negative: bool = False
    ) -> FloatArray:
        """Minimise the sum of the gradient over a vertex in ``count`` lanes, mode by mode."""
        return self._descend(lanes, np.zeros(64), count, sweeps, negative=negative)

    def refine(
        self, lanes: WordArray, weights: FloatArray, sweeps: int, *, negative: bool = False
    ) -> FloatArray:
        """Exchange vertices in use for better ones, each as if the others stayed the same."""
        padded = np.zeros(64)
        padded[: weights.size] = weights
        return self._descend(lanes, padded, weights.size, sweeps, negative=negative)

    def rescale(self, factor: float) -> None:
        """Multiply the radius by ``factor``; ``evaluate`` must be called next."""
        self._radius *= factor
        self.constant = scaled_constant(self.constant, factor**2)

    @abstractmethod
    def shared(self, words: WordArray, first: int, last: int) -> FloatArray:
        """Return the (last - first, last) shares of the cells that two vertices have in common."""

    @abstractmethod
    def _descend(
        self, lanes: WordArray, weights: FloatArray, count: int, sweeps: int, *, negative: bool
    ) -> FloatArray:
        """Descend in ``count`` lanes; (64,) weights above 0 ask for exchanges as in ``refine``."""
