"""Where a solve stands: the one mutable record that every engine shares."""

from __future__ import annotations

import math
from dataclasses import dataclass

from intensor._arrays import FlagArray, FloatArray

__all__ = ["State", "Witness"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Witness:
    """The iterate at which the bound was proven, and the oracle that proved it."""

    flags: FlagArray
    weights: FloatArray
    source: str


@dataclass(slots=True, kw_only=True, eq=False)
class State:
    """Where a solve stands, in units where the radius is 1.

    Attributes
    ----------
    value
        Objective of the iterate.
    bound
        The best proven lower bound of the optimum.
    phi
        What a new vertex must gain to be let in, and what an exchange among active vertices
        must gain to be worth a local step. It steers the search and proves nothing.
    gain
        What the best vertex of the last oracle call gained, ``<c, x - v>``.
    witness
        Behind the bound; None while the bound is the within-cell constant.
    exhausted
        Set by an engine that can do no more: it neither finds vertices nor proves that there
        are none.
    lowest, idle
        Least objective seen, and iterations since it fell or the bound rose.
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
        """Take in a lower bound that an oracle has proven."""
        if bound > self.bound:
            self.bound = bound
            self.witness = witness
            self.idle = 0

    def count(self) -> None:
        """Close an iteration."""
        self.iterations += 1
        if self.value < self.lowest:
            self.lowest = self.value
            self.idle = 0
        else:
            self.idle += 1
