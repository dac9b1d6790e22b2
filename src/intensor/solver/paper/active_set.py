"""The active set: the vertices in use, their weights, and their rows over the cells."""

from __future__ import annotations

import numpy as np

from intensor._arrays import AnyArray, FlagArray, FloatArray
from intensor.data.observations import Observations
from intensor.problem.vertex import membership
from intensor.solver.paper.rows import Rows
from intensor.storage.codec import Branch, Tree

__all__ = ["ActiveSet"]


class ActiveSet:
    """Vertices with weights that sum to 1; each vertex is held once.

    Attributes
    ----------
    weights
        (k,) current weights.
    rows
        The vertices over the cells.
    changes
        Grows by one whenever a vertex comes or goes.
    drops
        How many vertices have gone.
    """

    def __init__(self, observations: Observations, rows: type[Rows]) -> None:
        self._observations = observations
        self._flags: list[FlagArray] = []
        self._places: dict[bytes, int] = {}
        self.weights: FloatArray = np.empty(0)
        self.rows = rows(observations.n_cells)
        self.changes = 0
        self.drops = 0

    def __len__(self) -> int:
        return self.weights.size

    def flags(self) -> FlagArray:
        """Return the vertices as (k, sum(shape)) zeros and ones."""
        return np.array(self._flags, dtype=np.uint8).reshape(len(self), -1)

    def combine(self) -> FloatArray:
        """Return the (u,) iterate that the weights stand for."""
        return self.rows.combine(self.weights)

    def inside(self, flags: FlagArray) -> FlagArray:
        """Return which cells a vertex contains."""
        return membership(flags, self._observations.coords, self._observations.shape)

    def enter(self, flags: FlagArray, inside: FlagArray, share: float) -> None:
        """Move a share of all weight to a vertex, appending it when it is new."""
        weights = (1.0 - share) * self.weights
        key = np.packbits(flags).tobytes()
        place = self._places.get(key)
        if place is None:
            self._places[key] = len(self)
            self._flags.append(flags.copy())
            self.rows.append(inside)
            self.weights = np.append(weights, share)
            self.changes += 1
        else:
            weights[place] += share
            self.weights = weights

    def drop_empty(self) -> None:
        """Drop the vertices without weight (a rounding below zero counts as none)."""
        self._keep(self.weights > 0.0)

    def collapse(self, index: int) -> None:
        """Put all weight on one vertex and drop the others."""
        self.weights = np.zeros(len(self))
        self.weights[index] = 1.0
        self._keep(self.weights > 0.0)

    def capture(self) -> Tree:
        """Return the vertices and weights."""
        return {
            "flags": self.flags(),
            "weights": self.weights.copy(),
            "changes": self.changes,
            "drops": self.drops,
        }

    def restore(self, saved: Branch) -> None:
        """Hold what another set of the same cells held."""
        flags = saved.vertices("flags", sum(self._observations.shape))
        weights = saved.finite_array("weights", (len(flags),))
        if not len(flags) or (weights < 0.0).any() or abs(weights.sum() - 1.0) > 1e-6:
            raise saved.damaged("weights are not those of a point of the polytope")
        self._flags, self._places, self.weights = [], {}, np.empty(0)
        self.rows = type(self.rows)(self._observations.n_cells)
        for vertex in flags:
            self.enter(vertex, self.inside(vertex), 0.0)
        if len(self) != len(flags):
            raise saved.damaged("a vertex is there twice")
        self.weights = weights
        self.changes, self.drops = saved.count("changes"), saved.count("drops")

    def _keep(self, chosen: AnyArray) -> None:
        gone = int(chosen.size - np.count_nonzero(chosen))
        if gone == 0:
            return
        self._flags = [flags for flags, keep in zip(self._flags, chosen, strict=True) if keep]
        self._places = {np.packbits(f).tobytes(): place for place, f in enumerate(self._flags)}
        self.rows.keep(chosen)
        self.weights = self.weights[chosen]
        self.drops += gone
        self.changes += 1
