"""The iterate of the paper's versions, on the observed cells."""

from __future__ import annotations

import numpy as np

from intensor._arrays import FloatArray
from intensor.data.observations import Observations
from intensor.problem.objective import Objective
from intensor.solver.paper.active_set import ActiveSet
from intensor.solver.paper.rows import Rows
from intensor.storage.codec import Branch, Tree

__all__ = ["Iterate"]


class Iterate:
    """A convex combination of active vertices; it starts at the all-ones vertex.

    Attributes
    ----------
    x
        (u,) the combination on the cells.
    value
        Its objective.
    gradient, products
        At x, once ``linearise`` was called: (u,) derivatives, and their (k,) sums over the
        active vertices.
    """

    def __init__(self, observations: Observations, objective: Objective, rows: type[Rows]) -> None:
        self.objective = objective
        self.active = ActiveSet(observations, rows)
        everything = np.ones(sum(observations.shape), dtype=np.uint8)
        self.active.enter(everything, self.active.inside(everything), 1.0)
        self.x: FloatArray = self.active.combine()
        self.value = objective.value(self.x)
        self.gradient: FloatArray = np.empty(0)
        self.products: FloatArray = np.empty(0)

    def linearise(self) -> None:
        """Bring gradient and products up to date with the iterate."""
        self.gradient = self.objective.gradient(self.x)
        self.products = self.active.rows.products(self.gradient)

    def move(self, x: FloatArray) -> None:
        """Make x the iterate."""
        self.x = x
        self.value = self.objective.value(x)

    def capture(self) -> Tree:
        """Return vertices and cells: steps leave other roundings in x than a combination has."""
        return {"active": self.active.capture(), "x": self.x}

    def restore(self, saved: Branch) -> None:
        """Move to where another iterate of the same cells was."""
        self.active.restore(saved.branch("active"))
        x = saved.finite_array("x", self.x.shape)
        if not np.abs(x - self.active.combine()).max() <= 1e-6:
            raise saved.damaged("the iterate is not the combination of its vertices")
        self.move(x)

    def recombine(self) -> None:
        """Recompute the iterate from the weights."""
        self.active.weights /= self.active.weights.sum()
        self.move(self.active.combine())
