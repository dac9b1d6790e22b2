"""The state of a solve: the one mutable record that every engine shares."""

from __future__ import annotations

import math
from dataclasses import dataclass

from intensor._arrays import FlagArray, FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Witness:
    """The iterate at which the bound was proven, and the oracle that proved it."""

    flags: FlagArray
    weights: FloatArray
    source: str


@dataclass(slots=True, kw_only=True, eq=False)
class State:
    """The state of a solve, in units in which the radius is 1.

    Attributes
    ----------
    value
        Objective of the iterate.
    bound
        The best proven lower bound of the optimum.
    phi
        Least gain for which a new vertex enters, and for which an exchange among active vertices
        is worth a local step. It steers the search and proves nothing.
    gain
        Gain ``<c, x - v>`` of the best vertex of the last oracle call.
    witness
        The proof of the bound; None while the bound is the within-cell constant.
    exhausted
        Set by an engine that can do no more: it finds no vertices and cannot prove that there
        are none.
    lowest, idle
        Least objective so far, and the number of iterations since it fell or the bound rose.
    """

    value: float
    bound: float
    phi: float = math.inf
    gain: float = math.inf
    witness: Witness | None = None
    iterations: int = 0
    local_steps: int = 0
    exact_calls: int = 0
    exhausted: bool = False
    lowest: float = math.inf
    idle: int = 0

    def prove(self, bound: float, witness: Witness) -> None:
        """Record a lower bound that an oracle has proven, if it is better than the last."""
        if bound > self.bound:
            self.bound = bound
            self.witness = witness
            self.idle = 0

    def count(self) -> None:
        """Count an iteration, and whether it lowered the objective."""
        self.iterations += 1
        if self.value < self.lowest:
            self.lowest = self.value
            self.idle = 0
        else:
            self.idle += 1
