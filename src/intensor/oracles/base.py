"""What an oracle is: costs in, a vertex and a lower bound out.

Every oracle has the same problem: given one cost per observed cell, find the vertex whose cells
have the least total cost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from intensor._arrays import FlagArray, FloatArray
from intensor.runtime.budget import Budget


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answer:
    """A vertex, its cost, and a bound on the cost of all vertices.

    Attributes
    ----------
    flags
        (sum(shape),) the vertex, 0 or 1 per index.
    value
        Its cost.
    bound
        A proven lower bound of the cost of every vertex; minus infinity when nothing is proven.
    source
        Name of the oracle that gave the answer.
    pool
        (k, sum(shape)) all vertices found that reach the goal, best first; None when the
        oracle keeps only one.
    """

    flags: FlagArray
    value: float
    bound: float = -math.inf
    source: str
    pool: FlagArray | None = None

    @property
    def proven(self) -> bool:
        """Whether the bound was proven (possibly not tight)."""
        return self.bound > -math.inf


@dataclass(slots=True, kw_only=True)
class Goal:
    """When an answer is good enough (weak separation).

    A vertex v is good enough when ``<c, x - v> > phi``. ``phi`` is half of the best known bound on
    the primal gap, so it falls as the oracle's bound rises, but never below 0: a vertex that
    gains nothing is not good enough, however a bound is rounded. A goal belongs to one
    call of an oracle.

    Attributes
    ----------
    product
        The cost of the iterate, ``<c, x>``.
    phi
        The gain that a vertex must exceed.
    pool
        Number of vertices wanted. Above 1, an oracle that can do so goes on after the first good
        vertex, to the best ones and to a proof that there are no better ones.
    """

    product: float
    phi: float = math.inf
    pool: int = 1

    def reached(self, value: float, bound: float) -> bool:
        """Take in an incumbent's value and a proven bound; say whether the oracle may stop."""
        self.phi = min(self.phi, max(0.0, (self.product - bound) / 2.0))
        return self.product - value > self.phi


class Oracle(Protocol):
    """Finds a vertex of small cost, and may prove a bound on the cost of all others."""

    def minimise(
        self,
        costs: FloatArray,
        *,
        goal: Goal | None = None,
        incumbent: FlagArray | None = None,
        budget: Budget | None = None,
    ) -> Answer:
        """Look for the vertex of least total cost over the observed cells.

        Parameters
        ----------
        costs
            (u,) one cost per cell of the observations the oracle was built for.
        goal
            Stop early once it is reached; None asks for the minimum.
        incumbent
            A good vertex to start from.
        budget
            When to stop regardless; the answer then has the best vertex and the best bound so far.
        """
        ...
