"""The protocol between the solver and the observed cells, and what its implementations share.

Everything is a sum over cells, so cells may be in memory, on a device, on disk or on other
machines: only bits of vertices, factors of components, vectors of length ``sum(shape)`` and a small
matrix per index go in and out.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from intensor._arrays import FloatArray, IndexArray, Shape, WordArray
from intensor.kernels.lanes import still_falling, switch_lanes
from intensor.problem.objective import scaled_constant
from intensor.problem.vertex import mode_offsets
from intensor.runtime.threads import Workers

LaneSums = Callable[[WordArray, np.uint64, int], FloatArray]
"""Takes lanes, live lanes and a mode; returns the (r, 64) cost of each index, lane by lane."""


class BoundSums(NamedTuple):
    """Sums over cells that bound the objective from below without any search."""

    cheapest: float  # sum of the negative parts of the gradient: no vertex costs less
    product: float  # sum of gradient times target
    size: float  # sum of the absolute values of gradient times target
    square: float  # sum of squared gradient over share


class NormalEquations(NamedTuple):
    """Sums over the cells of m indices of a mode, for k components together.

    With z the (k,) products of a cell's factors in all other modes, they are the sums of
    ``share z z'``, of ``share residual z``, and of ``share residual^2`` over all m indices.
    """

    matrices: FloatArray  # (m, k, k)
    slopes: FloatArray  # (m, k): half the derivative of the objective in weights times factors
    error: float


def bound_sums_in(costs: FloatArray, targets: FloatArray, shares: FloatArray) -> BoundSums:
    """Return the sums over cells in memory: (u,) gradient, targets and shares."""
    at_targets = costs * targets
    return BoundSums(
        cheapest=float(np.minimum(costs, 0.0).sum()),
        product=float(at_targets.sum()),
        size=float(np.abs(at_targets).sum()),
        square=float((costs * (costs / shares)).sum()),
    )


def descend_by_mode(
    lane_sums: LaneSums, offsets: IndexArray, lanes: WordArray, count: int, sweeps: int
) -> FloatArray:
    """Minimise over one mode after the other until no lane's value falls any more.

    ``offsets`` (p + 1,) are the positions at which the modes begin in the lanes. The rest is as in
    ``Cells.descend``.
    """
    live = np.uint64((1 << count) - 1)
    values, reached = np.full(64, np.inf), np.empty(64)
    for _ in range(sweeps):
        for mode, (low, high) in enumerate(itertools.pairwise(offsets.tolist())):
            switch_lanes(lane_sums(lanes, live, mode), live, count, lanes[low:high], reached)
        live = np.uint64(still_falling(live, reached, values))
        if not live:
            break
    return values[:count]


class Cells(Protocol):
    """Observed cells, the gradient on them, and the vertices in use.

    Values are in units of the radius. Vertices come in *words* (a row of words per index of every
    mode, a bit per vertex, see ``Vertices``) or *lanes* (one word per index).
    """

    @property
    def shape(self) -> Shape:
        """Lengths of the p modes."""

    @property
    def offsets(self) -> IndexArray:
        """(p + 1,) position at which each mode begins in flags and lanes."""

    @property
    def n_cells(self) -> int:
        """Number of cells, u."""

    @property
    def constant(self) -> float:
        """The part of the objective that no model can change."""

    def evaluate(self, words: WordArray, count: int, weights: FloatArray) -> tuple[float, float]:
        """Move the gradient to a weighted sum of vertices.

        Parameters
        ----------
        words
            (sum(shape), >= count / 64) transposed bits.
        weights
            (>= 64 * ceil(count / 64),) weights of the vertices, with their signs; 0 after the
            first ``count``.

        Returns
        -------
        tuple
            The objective less the constant, and the gradient times the iterate.
        """

    def add(self, words: WordArray, first: int, last: int, out_gram: FloatArray) -> None:
        """Add the vertices first..last-1, at most 64 of them, and fill their Gram rows.

        Parameters
        ----------
        words
            (sum(shape), >= last / 64) transposed bits of all vertices up to ``last``.
        out_gram
            (>= last, >= last) filled in rows and columns first..last-1 with the shares of the cells
            that two vertices have in common, without signs.
        """

    def keep(self, kept: IndexArray) -> None:
        """Forget all vertices but those with these numbers, which are renumbered in order."""

    def vertex_sums(self, words: WordArray, first: int, last: int, out_sums: FloatArray) -> None:
        """Write the sums of the gradient over vertices first..last-1 to the same positions."""

    def descend(
        self, lanes: WordArray, count: int, sweeps: int, *, negative: bool = False
    ) -> FloatArray:
        """Minimise the sum of the gradient over a vertex in ``count`` lanes, mode by mode.

        Parameters
        ----------
        lanes
            (sum(shape),) the starts on entry, the vertices found on return.
        negative
            Minimise the sum of the negative gradient instead.

        Returns
        -------
        FloatArray
            (count,) sums over the vertices found.
        """

    def rescale(self, factor: float) -> None:
        """Multiply the radius by ``factor``; ``evaluate`` must be called next."""

    def refine(
        self, lanes: WordArray, weights: FloatArray, sweeps: int, *, negative: bool = False
    ) -> FloatArray:
        """Exchange vertices in use for better ones, each as if the others stayed the same.

        This is a descent like ``descend`` that takes the curvature of the objective into account.

        Parameters
        ----------
        lanes
            (sum(shape),) the vertices on entry, their replacements on return.
        weights
            (count,) their weights, positive.
        negative
            The vertices count with a minus sign.

        Returns
        -------
        FloatArray
            (count,) a value for each replacement v'. Replacing v by v' changes the objective by the
            weight times the difference of their values (see ``lane_sums_around``).
        """

    def bound_sums(self) -> BoundSums:
        """Return the sums that make up the free bound, at the current gradient."""

    def evaluate_components(self, factors: FloatArray, weights: FloatArray) -> tuple[float, float]:
        """Move the gradient to a weighted sum of graded components; see ``evaluate``.

        Parameters
        ----------
        factors
            (sum(shape), k) numbers in [0, 1], a column per component.
        weights
            (k,) weights of the components, with their signs.
        """

    def normal_equations(
        self, mode: int, factors: FloatArray, weights: FloatArray, low: int, high: int
    ) -> NormalEquations:
        """Return the normal equations of the indices low..high-1 of a mode.

        They are those of the factors of this mode times the weights, with all other factors fixed,
        at the weighted sum of the given components; the gradient of ``evaluate`` stays as it is.
        """

    def iterate(self) -> FloatArray:
        """Return the (u,) values of the evaluated sum, in the order of the observations."""

    def sample(self, size: int, rng: np.random.Generator) -> Cells:
        """Return about ``size`` random cells as a smaller problem (repeats count once)."""


class CellsElsewhere(ABC):
    """The part of ``Cells`` that does not depend on where the cells are: on a device or in shards.

    Vertices are not kept between calls: Gram rows are computed from their bits. The variance
    ``within`` cells is in the units of the data, and the radius is the unit of the values. The
    workers are threads for samples, which are solved in memory.
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
