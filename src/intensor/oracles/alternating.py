"""Alternating minimisation: a fast heuristic that proposes vertices and proves nothing.

Fix all modes but one: the best flags of that mode are read off the signs of its index costs.
Go round the modes until the value stops falling, then start again from another vertex.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from intensor._arrays import FlagArray, FloatArray, Shape
from intensor.data.observations import Observations
from intensor.kernels.lanes import descend_lanes, mix_starts, split_lanes
from intensor.oracles.base import Answer, Goal
from intensor.oracles.contraction import Contraction
from intensor.oracles.trivial import vertex_cost
from intensor.problem.layout import positions
from intensor.problem.vertex import mode_offsets, mode_slices
from intensor.runtime.budget import Budget

STARTS = 64
"""Number of random descents that ``best_of_many`` makes, one in each bit of a word."""
MAX_SWEEPS = 50
"""Most rounds over the modes of such a descent."""


class AlternatingOracle:
    """Repeated alternating minimisation ("AltMin") of at most ``max_runs`` descents per call.

    The first start is the anchor, the second its complement, the others are random.
    """

    def __init__(
        self,
        contraction: Contraction,
        shape: Shape,
        *,
        rng: np.random.Generator,
        max_runs: int = 100,
    ) -> None:
        # The first start of every call; the solver puts the last vertex of the exact oracle here.
        self.anchor: FlagArray = np.zeros(sum(shape), dtype=np.uint8)
        self.runs = 0  # number of descents so far
        self._contraction = contraction
        self._slices = mode_slices(shape)
        self._rng = rng
        self._max_runs = max_runs

    def minimise(
        self,
        costs: FloatArray,
        *,
        goal: Goal | None = None,
        incumbent: FlagArray | None = None,
        budget: Budget | None = None,
    ) -> Answer:
        """Return the best vertex of up to ``max_runs`` descents, fewer if one reaches the goal."""
        best = Answer(flags=np.zeros_like(self.anchor), value=0.0, source="altmin")
        for start in itertools.islice(self._starts(incumbent), self._max_runs):
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


def best_of_many(
    observations: Observations, costs: FloatArray, incumbent: FlagArray | None = None
) -> tuple[FlagArray, float]:
    """Return the best vertex of 64 random descents, the incumbent and the empty one, and its cost.

    The starts are the same in every call.
    """
    offsets = mode_offsets(observations.shape)
    length = int(offsets[-1])
    rows = positions(observations.coords, observations.shape)
    noise = np.random.default_rng(0).integers(0, 2**64, size=(4, length), dtype=np.uint64)
    lanes = np.zeros(length, dtype=np.uint64)
    mix_starts(noise, np.zeros_like(lanes), 0, lanes)
    values = np.full(STARTS, np.inf)
    sums = np.empty((max(observations.shape), STARTS))
    descend_lanes(rows, offsets, costs, STARTS, MAX_SWEEPS, sums, lanes, values)
    flags = np.empty((1, length), dtype=np.uint8)
    split_lanes(lanes, np.array([np.argmin(values)]), flags)
    candidates = [np.zeros(length, dtype=np.uint8), flags[0]]
    if incumbent is not None:
        candidates.append(incumbent.copy())
    ranked = [(vertex_cost(vertex, costs, observations), vertex) for vertex in candidates]
    value, best = min(ranked, key=lambda pair: pair[0])
    return best, value
