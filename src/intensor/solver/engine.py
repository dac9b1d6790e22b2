"""What the loop asks of a version: an engine holds an iterate and knows two ways to improve it."""

from __future__ import annotations

from typing import Protocol

from intensor._arrays import FlagArray, FloatArray
from intensor.backends.select import Data
from intensor.oracles.base import Oracle
from intensor.runtime.budget import Budget
from intensor.solver.settings import Settings
from intensor.solver.state import State
from intensor.storage.codec import Branch, Tree

__all__ = ["Engine", "Version"]


class Engine(Protocol):
    """An iterate, as weights of active vertices, and the steps that move it."""

    state: State

    def local_gap(self) -> float:
        """Return what the best exchange of weight among the active vertices gains at first."""
        ...

    def local_step(self) -> None:
        """Shift weight among the active vertices."""
        ...

    def separate(self, budget: Budget) -> None:
        """Ask the oracles for new vertices, or for a proof that there are none."""
        ...

    def recombine(self) -> None:
        """Recompute the iterate from its weights, which removes what rounding has added up."""
        ...

    def vertices(self) -> tuple[FlagArray, FloatArray]:
        """Return the (k, sum(shape)) active vertices and their weights, which sum to at most 1."""
        ...

    def capture(self) -> Tree:
        """Return a copy of all that the next steps depend on, but for the cells."""
        ...

    def restore(self, saved: Branch) -> None:
        """Go on from where an engine of the same cells and settings was."""
        ...

    def close(self) -> None:
        """Let go of threads."""
        ...

    @property
    def n_active(self) -> int:
        """Vertices with weight."""
        ...

    @property
    def altmin_runs(self) -> int:
        """Descents of the heuristic so far."""
        ...

    @property
    def drops(self) -> int:
        """Vertices that have left the active set so far."""
        ...


class Version(Protocol):
    """A row of the table of versions: makes the engine of a solve."""

    @property
    def aim(self) -> float:
        """Share of the tolerance at which to stop: below 1, results are well within it."""
        ...

    @property
    def patient(self) -> bool:
        """Whether the exact oracle may be a solver that can take forever."""
        ...

    def engine(
        self,
        observations: Data,
        *,
        exact: Oracle,
        settings: Settings,
    ) -> Engine:
        """Return an engine at its starting point."""
        ...
