"""What the solver asks of the observed cells, wherever they are kept.

Everything is a sum over cells, so that cells may lie in memory, on a device, on disk or on
other machines: what goes in and out are bits of vertices and vectors of length ``sum(shape)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from intensor._arrays import FloatArray, IndexArray, Shape, WordArray

__all__ = ["BoundSums", "Cells"]


@dataclass(frozen=True, slots=True)
class BoundSums:
    """Sums over cells that bound the objective from below without any search.

    Attributes
    ----------
    cheapest
        Of the negative parts of the gradient: no vertex costs less.
    product, size
        Of gradient times target, and of its absolute value.
    square
        Of squared gradient over share.
    """

    cheapest: float
    product: float
    size: float
    square: float


class Cells(Protocol):
    """Observed cells, the gradient on them, and the vertices in use.

    Values are in units of the radius. Vertices come in *words* (a row of words per index of every
    mode, a bit per vertex, see ``Vertices``) or *lanes* (one word per index).
    """

    @property
    def shape(self) -> Shape:
        """Lengths of the p modes."""
        ...

    @property
    def offsets(self) -> IndexArray:
        """(p + 1,) where each mode begins in flags and lanes."""
        ...

    @property
    def n_cells(self) -> int:
        """Number of cells, u."""
        ...

    @property
    def constant(self) -> float:
        """The part of the objective that no model changes."""
        ...

    def evaluate(self, words: WordArray, count: int, weights: FloatArray) -> tuple[float, float]:
        """Move the gradient to a weighted sum of vertices.

        Parameters
        ----------
        words
            (sum(shape), >= count / 64) transposed bits.
        weights
            (>= 64 * ceil(count / 64),) of the vertices, negative for a minus, 0 from ``count`` on.

        Returns
        -------
        tuple
            The objective less the constant, and the gradient times the iterate.
        """
        ...

    def add(self, words: WordArray, first: int, last: int, out_gram: FloatArray) -> None:
        """Take in up to 64 vertices, those of numbers first..last-1.

        Parameters
        ----------
        words
            (sum(shape), >= last / 64) transposed bits of all vertices up to them.
        out_gram
            (>= last, >= last) filled in rows and columns first..last-1 with the shares of the cells
            that two vertices have in common, signs left out.
        """
        ...

    def keep(self, places: IndexArray) -> None:
        """Let go of all vertices but these; they are numbered anew."""
        ...

    def vertex_sums(self, words: WordArray, first: int, last: int, out_sums: FloatArray) -> None:
        """Write the sum of the gradient over vertices first..last-1 into these places."""
        ...

    def descend(
        self, lanes: WordArray, count: int, sweeps: int, *, negative: bool = False
    ) -> FloatArray:
        """Minimise the gradient's sum over a vertex in ``count`` lanes, going round the modes.

        Parameters
        ----------
        lanes
            (sum(shape),) the starts; the vertices found on return.
        negative
            Take the negative of the gradient.

        Returns
        -------
        FloatArray
            (count,) values of the vertices found.
        """
        ...

    def rescale(self, factor: float) -> None:
        """Let the radius be ``factor`` times what it was; ``evaluate`` must follow."""
        ...

    def refine(
        self, lanes: WordArray, weights: FloatArray, sweeps: int, *, negative: bool = False
    ) -> FloatArray:
        """Exchange vertices in use for better ones, each as if the others stayed as they are.

        Descends like ``descend``, with the curvature of the objective taken into account.

        Parameters
        ----------
        lanes
            (sum(shape),) the vertices; those to exchange them for on return.
        weights
            (count,) their weights, positive.
        negative
            They count with a minus.

        Returns
        -------
        FloatArray
            (count,) the change of the objective by v' in the place of v is the weight times this,
            less the same for v itself (see ``lane_sums_around``).
        """
        ...

    def bound_sums(self) -> BoundSums:
        """Return what the free bound is made of, at the gradient."""
        ...

    def iterate(self) -> FloatArray:
        """Return the (u,) values of the evaluated sum, in the order of the observations."""
        ...

    def sample(self, size: int, rng: np.random.Generator) -> Cells:
        """Return about ``size`` random cells as a problem of its own (repeats count once)."""
        ...
