"""What enumeration and branch and bound have in common: the way from costs to an answer.

Costs become integers, modes get their parts, a heuristic gives the first vertex to beat, the
search runs on threads that are told to stop when the budget is spent, and the boxes it found become
flags again. The bound is proven on the integers; the values are recomputed from the costs.
"""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from intensor._arrays import FlagArray, FloatArray
from intensor.data.observations import Observations
from intensor.errors import SettingError
from intensor.oracles.alternating import best_of_many
from intensor.oracles.base import Answer, Goal
from intensor.oracles.exact.arrangement import Arrangement, arrange, distribute_rows, weights_of
from intensor.oracles.exact.fixed_point import FixedPoint, to_integers, unit_of
from intensor.oracles.exact.plan import Plan
from intensor.oracles.exact.search import ExactSearch
from intensor.oracles.trivial import sum_of_negative, trivial_answer, vertex_cost
from intensor.problem.vertex import membership
from intensor.runtime.budget import Budget
from intensor.runtime.threads import Pool, Workers

_LOG = logging.getLogger(__name__)
Heuristic = Callable[[Observations, FloatArray, FlagArray | None], tuple[FlagArray, float]]
ROWS, SLABS = 1, 2
"""Positions of the rows and of the slabs among the parts of an arrangement."""
MAX_SPEED_UP = 5
"""Largest factor by which threads make a search faster; 16 threads were measured to give 4.4."""


class SearchOracle(ABC):
    """Finds the cheapest vertex by decomposition into blocks (see ``blocks``).

    The answer does not depend on the number of threads (None for one per core). The heuristic finds
    the first vertex to beat, and its cost, from observations, costs and an incumbent.
    """

    name: str

    def __init__(
        self,
        observations: Observations,
        *,
        threads: int | None = None,
        heuristic: Heuristic = best_of_many,
    ) -> None:
        self._observations = observations
        self._threads = Workers(threads).threads
        self._heuristic = heuristic

    @abstractmethod
    def plan(self, lengths: tuple[int, ...]) -> Plan:
        """Return how a search would go whose parts have these lengths."""

    @abstractmethod
    def carry_out(self, search: ExactSearch) -> None:
        """Carry out the plan: look for boxes below the cutoff until all is searched."""

    def expected_seconds(self) -> float:
        """Return about how long a call will take; infinite when the search is impossible."""
        return self.plan(self._lengths).seconds / self._speed_up

    def expected_bytes(self) -> int:
        """Return about how much memory a call takes at most."""
        lengths = self._lengths
        n_slabs = lengths[SLABS] if len(lengths) > SLABS else 1
        entries = self.plan(lengths).entries * (n_slabs + self._open_tables)
        return 8 * (2 * math.prod(lengths) + entries)

    @property
    def _lengths(self) -> tuple[int, ...]:
        """Lengths of the parts when no index is left out."""
        lengths = sorted(self._observations.shape, reverse=True)
        return tuple([*lengths, 1] if len(lengths) == 1 else lengths)

    @property
    def _open_tables(self) -> int:
        """Number of tables that are open at a time beside those of the slabs."""
        return self._threads

    @property
    def _speed_up(self) -> int:
        """Factor by which threads make a plan faster."""
        return min(self._threads, MAX_SPEED_UP)

    def minimise(
        self,
        costs: FloatArray,
        *,
        goal: Goal | None = None,
        incumbent: FlagArray | None = None,
        budget: Budget | None = None,
    ) -> Answer:
        """Look for the vertex of least total cost; see ``Oracle.minimise``.

        A goal that asks for a pool is looked for to the end: the pool has up to ``goal.pool``
        vertices that reach it, the best of each pattern of the modes that are enumerated. When
        there are none, the bound is the goal itself. Otherwise the least cost is looked for, and
        branch and bound stops once the goal is reached.
        """
        easy = trivial_answer(costs, sum(self._observations.shape))
        if easy is not None:
            return easy
        budget = Budget() if budget is None else budget
        parts = arrange(self._observations, costs)
        plan = self.plan(parts.lengths)
        if not math.isfinite(plan.seconds):
            raise SettingError(
                f"exact={self.name!r} cannot search a tensor of shape "
                f"{self._observations.shape}; use exact='auto'"
            )
        _LOG.info(
            "%s: 2^%d patterns of %d entries, about %.2g s",
            self.name,
            plan.pattern_bits,
            plan.entries,
            plan.seconds / self._speed_up,
        )
        if len(parts.lengths) > SLABS:
            weights = weights_of(parts, SLABS, costs)
            parts = parts.ordered(SLABS, np.argsort(weights, kind="stable"))
        if plan.n_blocks > 1:
            parts = parts.ordered(ROWS, distribute_rows(parts, costs, plan.n_blocks))
        return self._answer(costs, parts, plan, goal=goal, incumbent=incumbent, budget=budget)

    def _answer(
        self,
        costs: FloatArray,
        parts: Arrangement,
        plan: Plan,
        *,
        goal: Goal | None,
        incumbent: FlagArray | None,
        budget: Budget,
    ) -> Answer:
        cells = self._observations
        start, value = self._heuristic(cells, costs, incumbent)
        wants_pool = goal is not None and goal.pool > 1 and math.isfinite(goal.phi)
        aim = goal if wants_pool else None
        fixed = _fixed_point(costs, slack=0.0 if aim is None else aim.phi)
        search = ExactSearch(
            costs=parts.dense(fixed.numbers),
            plan=plan,
            target=_cost(start, fixed, cells) if aim is None else fixed.down(aim.product - aim.phi),
            pool_size=1 if aim is None else aim.pool,
            good_enough=lambda cost, lowest: (
                goal is not None
                and aim is None
                and goal.reached(fixed.value(cost), fixed.value(lowest))
            ),
            budget=budget,
            threads=Pool(self._threads),
            reported=budget.elapsed,
        )
        with search.threads:
            self.carry_out(search)
        bound = max(sum_of_negative(costs), fixed.value(min(search.best, search.lowest)))
        pool = np.array([parts.flags(box.chosen) for box in search.found], dtype=np.uint8)
        ranked = sorted((vertex_cost(flags, costs, cells), row) for row, flags in enumerate(pool))
        flags = start
        if ranked and ranked[0][0] < value:
            value, flags = ranked[0][0], pool[ranked[0][1]]
        return Answer(
            flags=flags,
            value=value,
            bound=min(bound, value),
            source=self.name,
            pool=pool[[row for _, row in ranked]] if ranked else None,
        )


def _fixed_point(costs: FloatArray, *, slack: float) -> FixedPoint:
    """Return costs in 32 bits if rounding loses at most a quarter of the slack, else in 64 bits."""
    lost = costs.size * unit_of(costs, np.int32)
    return to_integers(costs, np.int32 if lost <= slack / 4.0 else np.int64)


def _cost(flags: FlagArray, fixed: FixedPoint, cells: Observations) -> int:
    inside = membership(flags, cells.coords, cells.shape).view(bool)
    return int(fixed.numbers[inside].sum(dtype=np.int64))
