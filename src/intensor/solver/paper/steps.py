"""Local steps: shift weight among the active vertices without asking an oracle.

A step is given the iterate with its gradient and products up to date, and moves it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from intensor._arrays import FloatArray, inner
from intensor.solver.paper.iterate import Iterate
from intensor.storage.reader import Tree, TreeReader


class LocalStep(ABC):
    """A rule that improves the weights of the active set; by default it remembers nothing."""

    @abstractmethod
    def take(self, iterate: Iterate) -> None:
        """Move the iterate."""

    def capture(self) -> Tree:
        """Return what the next step depends on beside the iterate."""
        return {}

    def restore(self, saved: TreeReader, iterate: Iterate) -> None:  # noqa: B027  (may do nothing)
        """Go on from what was captured."""


class SimplexDescent(LocalStep):
    """Simplex gradient descent (SiGD): to the boundary of the simplex if the objective falls."""

    def take(self, iterate: Iterate) -> None:
        """Step as far as the weights allow, or to the best point on the way there."""
        active, products = iterate.active, iterate.products
        direction = products - products.mean()
        falling = direction > 0.0
        if not falling.any():
            active.collapse(0)
            iterate.move(active.combine())
            return
        longest = float((active.weights[falling] / direction[falling]).min())
        change = active.rows.combine(direction)
        there = iterate.x - longest * change
        value = iterate.objective.value(there)
        if value <= iterate.value:
            weights = active.weights - longest * direction
            weights[falling & (active.weights <= longest * direction)] = 0.0
            active.weights = weights
            active.drop_empty()
            iterate.x, iterate.value = there, value
        else:
            descent = inner(direction, products)
            step = iterate.objective.exact_step(descent, change, longest)
            active.weights = active.weights - step * direction
            iterate.move(iterate.x - step * change)


class PairwiseStep(LocalStep):
    """Blended pairwise step (BPCG): from the worst active vertex to the best."""

    def take(self, iterate: Iterate) -> None:
        """Move weight from the away vertex to the local Frank-Wolfe vertex."""
        active, products = iterate.active, iterate.products
        worst, best = int(np.argmax(products)), int(np.argmin(products))
        direction = active.rows.row(best) - active.rows.row(worst)
        available = float(active.weights[worst])
        descent = float(products[worst] - products[best])
        step = iterate.objective.exact_step(descent, direction, available)
        active.weights[best] += step
        active.weights[worst] -= step
        iterate.move(iterate.x + step * direction)
        if step >= available:
            active.weights[worst] = 0.0
            active.drop_empty()


class AcceleratedDescent(LocalStep):
    """Nesterov's accelerated projected gradient (NAG) on the weights.

    In the weights g the objective is ``g'Ag - 2b'g + const`` with A the Gram matrix of the
    active vertices. Momentum comes from the condition number when A is well conditioned and
    from the usual t-sequence when not; it restarts whenever the active set changes. Vertices
    whose weight is projected to 0 stay until the next oracle call, for they may come back.
    """

    MIN_STRONG_CURVATURE = 1e-3
    """Least curvature for which the momentum comes from the condition number."""

    def __init__(self) -> None:
        self._changes = -1
        self._gram = self._linear = self._ahead = np.empty(0)
        self._curvature = self._t = 1.0
        self._steady: float | None = None

    def take(self, iterate: Iterate) -> None:
        """Make one accelerated step."""
        active = iterate.active
        if active.changes != self._changes:
            self._restart(iterate)
        slope = 2.0 * (self._gram @ self._ahead - self._linear)
        weights = project(self._ahead - slope / self._curvature)
        if self._steady is not None:
            momentum = self._steady
        else:
            t_next = (1.0 + math.sqrt(1.0 + 4.0 * self._t**2)) / 2.0
            momentum, self._t = (self._t - 1.0) / t_next, t_next
        self._ahead = weights + momentum * (weights - active.weights)
        active.weights = weights
        iterate.move(active.combine())

    def capture(self) -> Tree:
        """Return the momentum and the Gram matrix; arrays are replaced, never changed."""
        return {
            "changes": self._changes,
            "gram": self._gram,
            "linear": self._linear,
            "ahead": self._ahead,
            "curvature": self._curvature,
            "t": self._t,
            "steady": self._steady,
        }

    def restore(self, saved: TreeReader, iterate: Iterate) -> None:
        """Go on with the same momentum."""
        self._changes = saved.count("changes", least=-1)
        self._ahead = saved.finite_array("ahead", (None,))
        size = self._ahead.size
        self._gram = saved.finite_array("gram", (size, size) if size else (None,))
        self._linear = saved.finite_array("linear", (size,))
        self._curvature, self._t = saved.finite("curvature"), saved.finite("t")
        self._steady = saved.finite("steady") if "steady" in saved else None
        if self._changes == iterate.active.changes and size != len(iterate.active):
            raise saved.damaged("the momentum belongs to other vertices")

    def _restart(self, iterate: Iterate) -> None:
        active, objective = iterate.active, iterate.objective
        self._changes = active.changes
        rows = active.rows
        self._gram = np.array(
            [rows.products(objective.weights * rows.row(i)) for i in range(len(active))]
        )
        self._linear = rows.products(objective.weights * objective.targets)
        spectrum = np.linalg.eigvalsh(2.0 * self._gram)
        least, self._curvature = float(spectrum[0]), max(float(spectrum[-1]), 1e-300)
        self._steady = None
        if least >= self.MIN_STRONG_CURVATURE:
            ratio = math.sqrt(least / self._curvature)
            self._steady = (1.0 - ratio) / (1.0 + ratio)
        self._t = 1.0
        self._ahead = active.weights


def project(point: FloatArray) -> FloatArray:
    """Return the nearest point of the probability simplex.

    Examples
    --------
    >>> project(np.array([0.75, 0.5, -1.0])).tolist()
    [0.625, 0.375, 0.0]
    """
    descending = np.sort(point)[::-1]
    excess = (np.cumsum(descending) - 1.0) / np.arange(1, point.size + 1)
    last = int(np.flatnonzero(descending > excess)[-1])
    nearest: FloatArray = np.maximum(point - excess[last], 0.0)
    return nearest
