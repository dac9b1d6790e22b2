"""The iterate of the paper's versions: active vertices, weights, and rows over the cells."""

from __future__ import annotations

import numpy as np

from intensor._arrays import AnyArray, FlagArray, FloatArray
from intensor.data.observations import Observations
from intensor.problem.objective import Objective
from intensor.problem.vertex import membership
from intensor.solver.paper.rows import Rows
from intensor.storage.reader import Tree, TreeReader


class ActiveSet:
    """Vertices with (k,) weights that sum to 1, and their rows over the cells.

    Each vertex is held once. ``changes`` counts how often vertices came or went, and ``drops`` the
    vertices that were removed.
    """

    def __init__(self, observations: Observations, rows: type[Rows]) -> None:
        self._observations = observations
        self._flags: list[FlagArray] = []
        self._positions: dict[bytes, int] = {}
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
        """Return the (u,) weighted sum of the vertices."""
        return self.rows.combine(self.weights)

    def inside(self, flags: FlagArray) -> FlagArray:
        """Return which cells a vertex contains."""
        return membership(flags, self._observations.coords, self._observations.shape)

    def enter(self, flags: FlagArray, inside: FlagArray, share: float) -> None:
        """Move a share of all weight to a vertex, appending it when it is new."""
        weights = (1.0 - share) * self.weights
        key = np.packbits(flags).tobytes()
        position = self._positions.get(key)
        if position is None:
            self._positions[key] = len(self)
            self._flags.append(flags.copy())
            self.rows.append(inside)
            self.weights = np.append(weights, share)
            self.changes += 1
        else:
            weights[position] += share
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

    def restore(self, saved: TreeReader) -> None:
        """Hold what another set of the same cells held."""
        flags = saved.vertices("flags", sum(self._observations.shape))
        weights = saved.finite_array("weights", (len(flags),))
        if not len(flags) or (weights < 0.0).any() or abs(weights.sum() - 1.0) > 1e-6:
            raise saved.damaged("weights are not those of a point of the polytope")
        self._flags, self._positions, self.weights = [], {}, np.empty(0)
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
        self._positions = {np.packbits(f).tobytes(): i for i, f in enumerate(self._flags)}
        self.rows.keep(chosen)
        self.weights = self.weights[chosen]
        self.drops += gone
        self.changes += 1


class Iterate:
    """A convex combination x of active vertices on the (u,) cells, and its objective ``value``.

    It starts at the all-ones vertex. Once ``linearise`` was called, ``gradient`` holds the (u,)
    derivatives at x, and ``products`` their (k,) sums over the active vertices.
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
        """Return vertices and x: steps leave other roundings in x than a combination has."""
        return {"active": self.active.capture(), "x": self.x}

    def restore(self, saved: TreeReader) -> None:
        """Move to where another iterate of the same cells stopped."""
        self.active.restore(saved.branch("active"))
        x = saved.finite_array("x", self.x.shape)
        if not np.abs(x - self.active.combine()).max() <= 1e-6:
            raise saved.damaged("the iterate is not the combination of its vertices")
        self.move(x)

    def recombine(self) -> None:
        """Recompute the iterate from the weights."""
        self.active.weights /= self.active.weights.sum()
        self.move(self.active.combine())
