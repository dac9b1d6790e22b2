"""Alternating minimisation: a fast heuristic that proposes vertices and proves nothing.

Fix all modes but one: the best flags of that one are read off the signs of its index costs.
Go round the modes until the value stops falling; start again from somewhere else.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from intensor.arrays import FlagArray, FloatArray, Shape
from intensor.budget import Budget
from intensor.kernels.contraction import Contraction
from intensor.oracles.base import Answer, Goal
from intensor.problem.vertex import mode_slices

__all__ = ["AlternatingOracle"]


class AlternatingOracle:
    """Repeated alternating minimisation ("AltMin").

    The first start is the anchor, the second its complement, the others are random.

    Parameters
    ----------
    contraction
        How index costs are computed.
    shape
        Lengths of the modes.
    rng
        Source of the random starts.
    most_runs
        How many starts a call may try.

    Attributes
    ----------
    anchor
        (sum(shape),) where the first start of every call stands; the solver puts the last
        vertex of the exact oracle here.
    runs
        Descents made since the oracle was built.
    """

    def __init__(
        self,
        contraction: Contraction,
        shape: Shape,
        *,
        rng: np.random.Generator,
        most_runs: int = 100,
    ) -> None:
        self.anchor: FlagArray = np.zeros(sum(shape), dtype=np.uint8)
        self.runs = 0
        self._contraction = contraction
        self._slices = mode_slices(shape)
        self._rng = rng
        self._most_runs = most_runs

    def minimise(
        self,
        costs: FloatArray,
        *,
        goal: Goal | None = None,
        incumbent: FlagArray | None = None,
        budget: Budget | None = None,
    ) -> Answer:
        """Return the best vertex of up to ``most_runs`` descents, fewer if one reaches the goal."""
        best = Answer(flags=np.zeros_like(self.anchor), value=0.0, source="altmin")
        for start in itertools.islice(self._starts(incumbent), self._most_runs):
            answer = self.descend(start, costs)
            if answer.value < best.value:
                best = answer
            if goal is not None and goal.reached(best.value, -math.inf):
                break
            if budget is not None and budget.spent:
                break
        return best

    def descend(self, start: FlagArray, costs: FloatArray) -> Answer:
        """Improve one vertex, mode after mode, until its value stops falling."""
        self.runs += 1
        flags = start.copy()
        value = math.inf
        while True:
            previous, value = value, 0.0
            for mode, part in enumerate(self._slices):
                index_costs = self._contraction.index_costs(mode, flags, costs)
                on = index_costs < 0.0
                flags[part] = on
                value = float(index_costs[on].sum())
            if not value < previous:
                return Answer(flags=flags, value=value, source="altmin")

    def _starts(self, incumbent: FlagArray | None) -> Iterator[FlagArray]:
        first = self.anchor if incumbent is None else incumbent
        yield first
        yield 1 - first
        while True:
            yield self._rng.integers(0, 2, size=first.size, dtype=np.uint8)
