"""What the loop needs: an engine holds an iterate and knows two ways to improve it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

from intensor._arrays import FlagArray, FloatArray, Shape
from intensor.backends.select import Data
from intensor.model.model import Model
from intensor.oracles.base import Oracle
from intensor.runtime.budget import Budget
from intensor.solver.settings import Settings
from intensor.storage.reader import Tree, TreeReader


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Witness:
    """The iterate at which the bound was proven, and the oracle that proved it."""

    factors: FlagArray | FloatArray  # (k, sum(shape)) zeros and ones, or numbers from 0 to 1
    weights: FloatArray
    source: str


@dataclass(slots=True, kw_only=True, eq=False)
class State:
    """The mutable record that every engine shares with the loop, in units of a radius of 1."""

    value: float  # objective of the iterate
    bound: float  # the best proven lower bound of the optimum
    phi: float = math.inf
    """Least gain for which a new vertex enters, and for which an exchange among active vertices is
    worth a local step. It steers the search and proves nothing."""
    gain: float = math.inf  # <c, x - v> of the best vertex of the last oracle call
    witness: Witness | None = None  # None while the bound is the within-cell constant
    iterations: int = 0
    local_steps: int = 0
    exact_calls: int = 0
    exhausted: bool = False  # the engine finds no vertices and cannot prove that there are none
    lowest: float = math.inf  # least objective so far
    idle: int = 0  # iterations since the objective fell or the bound rose

    def prove(self, bound: float, witness: Witness) -> None:
        """Record a lower bound that an oracle has proven, if it is better than the last."""
        if bound > self.bound:
            self.bound = bound
            self.witness = witness
            self.idle = 0

    def count(self) -> None:
        """Count an iteration, and whether it lowered the objective."""
        self.iterations += 1
        self.idle = 0 if self.value < self.lowest else self.idle + 1
        self.lowest = min(self.lowest, self.value)


class Engine(Protocol):
    """An iterate, as weights of active vertices, and the steps that move it."""

    state: State

    def local_gap(self) -> float:
        """Return the first-order gain of the best exchange of weight among the active vertices."""

    def local_step(self) -> None:
        """Shift weight among the active vertices."""

    def separate(self, budget: Budget) -> None:
        """Ask the oracles for new vertices, or for a proof that there are none."""

    def recombine(self) -> None:
        """Recompute the iterate from its weights, which removes accumulated rounding."""

    def vertices(self) -> tuple[FlagArray | FloatArray, FloatArray]:
        """Return the (k, sum(shape)) active terms and their weights, which sum to at most 1.

        Terms are zeros and ones (uint8), or numbers from 0 to 1 (float64) if they may be graded.
        """

    def start_from(self, model: Model, budget: Budget) -> None:
        """Begin with the vertices of a model and the best weights for these observations.

        Engines of versions without ``warm_start`` do nothing.
        """

    def capture(self) -> Tree:
        """Return a copy of everything that the next steps depend on, except the cells."""

    def restore(self, saved: TreeReader) -> None:
        """Go on from where an engine of the same cells and settings stopped."""

    def close(self) -> None:
        """End the threads."""

    @property
    def n_active(self) -> int:
        """Number of vertices with weight."""

    @property
    def altmin_runs(self) -> int:
        """Number of descents of the heuristic so far."""

    @property
    def drops(self) -> int:
        """Number of vertices that have left the active set so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Version(ABC):
    """A version of the solver: it makes the engine of a solve and says what the engine can do."""

    name: int | str = ""  # value of the option ``version``; ``find_version`` fills it in
    tolerance_share: float = 0.999999
    """Share of the tolerance at which to stop: the last bits may be rounding."""
    patient: bool = True  # whether the exact oracle may be a solver that can take forever
    warm_start: bool = False  # whether engines can begin with the vertices of a model
    signed: bool = False  # whether boxes may have negative weights
    anywhere: bool = False  # whether cells may stay on a device, in files or on a cluster
    gradable: bool = False  # whether graded components may take the place of its boxes
    max_components: int | None = None  # largest number of terms; None for any number

    @abstractmethod
    def engine(self, observations: Data, *, exact: Oracle, settings: Settings) -> Engine:
        """Return an engine at its starting point."""

    @abstractmethod
    def bytes_needed(self, n_cells: int, shape: Shape) -> int:
        """Return the bytes that a solve of ``n_cells`` distinct cells takes."""
