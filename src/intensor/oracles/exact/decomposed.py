"""The exact oracles that need no solver: what enumeration and branch and bound have in common.

Costs become integers, modes get their parts, a heuristic gives the first vertex to beat, the
search runs on threads that are told to stop when the budget is spent, and what it found becomes
flags again. The bound is what the integers prove; the values are recomputed from the costs.
"""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass

import numpy as np

from intensor._arrays import AnyArray, FlagArray, FloatArray
from intensor.data.observations import Observations
from intensor.errors import SettingError
from intensor.oracles.alternating import best_of_many
from intensor.oracles.base import Answer, Goal
from intensor.oracles.exact import search
from intensor.oracles.exact.arrangement import Arrangement, arrange, spread_rows, weights_of
from intensor.oracles.exact.fixed_point import FixedPoint, to_integers, unit_of
from intensor.oracles.exact.plan import Plan
from intensor.oracles.trivial import sum_of_negative, trivial_answer, vertex_cost
from intensor.problem.vertex import membership
from intensor.runtime.budget import Budget
from intensor.runtime.threads import Pool, Workers

__all__ = ["DecomposedOracle", "Found", "Hunt"]

_LOG = logging.getLogger(__name__)
OUTER = 2
NOWHERE = int(search.NOWHERE)
POLL = 0.02
"""Seconds between two looks at the budget."""
REPORT_EVERY = 5.0
MOST_PARALLEL = 5
"""How much faster a search gets by threads; 16 of them were measured to be 4.4 times one."""


@dataclass(frozen=True, slots=True)
class Found:
    """A box that a search found: its integer cost and what is on, part by part."""

    cost: int
    chosen: list[AnyArray]


@dataclass(slots=True, kw_only=True, eq=False)
class Hunt:
    """One call's search: what is looked for and what has been found.

    Attributes
    ----------
    costs
        Integer costs, (rest..., outer, rows, columns).
    target
        Only boxes of lower integer cost are of interest.
    room
        How many to keep, the best.
    found
        Best first.
    lowest
        Proven for everything that was not looked at to the end; ``NOWHERE`` when all was.
    reported
        When progress was last reported, in seconds of the budget.
    """

    costs: AnyArray
    plan: Plan
    target: int
    room: int
    good_enough: Callable[[int, int], bool]
    budget: Budget
    pool: Pool
    stop: FlagArray
    found: list[Found]
    lowest: int = NOWHERE
    reported: float = 0.0

    @property
    def spread(self) -> bool:
        """Whether the best box of every pattern is wanted and not only the best of all."""
        return self.room > 1

    @property
    def cutoff(self) -> int:
        """What a box must beat to be worth keeping."""
        if len(self.found) < self.room:
            return self.target
        return min(self.target, self.found[-1].cost)

    def keep(self, boxes: Sequence[Found]) -> None:
        """Take in boxes, in the order of the search, and keep the best."""
        self.found = sorted([*self.found, *boxes], key=lambda box: box.cost)[: self.room]

    def report(self, share: float) -> None:
        """Log how much of the search is done, every few seconds."""
        elapsed = self.budget.elapsed
        if elapsed - self.reported >= REPORT_EVERY:
            self.reported = elapsed
            _LOG.info("%.0f %% searched after %.0f s", 100.0 * share, elapsed)

    def run(self, work: Callable[[int], None], count: int) -> None:
        """Call ``work(0)`` ... ``work(count - 1)`` on threads, watching the budget."""
        running = set()
        try:
            for piece in range(count):
                running.add(self.pool.submit(work, piece))
                if self.budget.spent:
                    self.stop[0] = 1
            while running:
                done, running = wait(running, POLL, return_when=FIRST_COMPLETED)
                for ended in done:
                    ended.result()
                if self.budget.spent:
                    self.stop[0] = 1
        finally:
            if running:  # an error or a second Ctrl-C is on its way out
                self.stop[0] = 1
                wait(running)


class DecomposedOracle(ABC):
    """Finds the cheapest vertex by decomposition into blocks (see ``kernels.decomposition``).

    Parameters
    ----------
    observations
        The cells the costs belong to.
    threads
        At most so many at a time; None for one per core. The answer does not depend on it.
    """

    name: str

    def __init__(self, observations: Observations, *, threads: int | None = None) -> None:
        self._observations = observations
        self._threads = Workers(threads).threads

    @abstractmethod
    def plan(self, lengths: tuple[int, ...]) -> Plan:
        """Return how a search with so many indices per part would go."""

    @abstractmethod
    def search(self, hunt: Hunt) -> None:
        """Carry out the plan: look for boxes below the cutoff until all is searched."""

    def expected_seconds(self) -> float:
        """Return about how long a call will take; infinite when it cannot be done at all."""
        lengths = sorted(self._observations.shape, reverse=True)
        plan = self.plan(tuple([*lengths, 1] if len(lengths) == 1 else lengths))
        return plan.seconds / self._parallel

    def expected_bytes(self) -> int:
        """Return about how much memory a call takes at most."""
        lengths = sorted(self._observations.shape, reverse=True)
        plan = self.plan(tuple([*lengths, 1] if len(lengths) == 1 else lengths))
        slabs = lengths[OUTER] if len(lengths) > OUTER else 1
        return 8 * (2 * math.prod(lengths) + plan.entries * (slabs + self._open_tables))

    @property
    def _open_tables(self) -> int:
        """How many tables are open at a time beside those of the slabs."""
        return self._threads

    @property
    def _parallel(self) -> int:
        """By what the time of a plan is divided."""
        return min(self._threads, MOST_PARALLEL)

    def minimise(
        self,
        costs: FloatArray,
        *,
        goal: Goal | None = None,
        incumbent: FlagArray | None = None,
        budget: Budget | None = None,
    ) -> Answer:
        """Look for the vertex of least total cost; see ``Oracle.minimise``.

        With a goal that asks for a pool, vertices that reach it are looked for: up to ``goal.pool``
        of them, the best of each pattern of the modes that are enumerated; and the bound is the
        goal itself when there are none. Otherwise the least is looked for; branch and bound
        stops when the goal is reached.
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
            plan.patterns,
            plan.entries,
            plan.seconds / self._parallel,
        )
        if len(parts.lengths) > OUTER:
            weights = weights_of(parts, OUTER, costs)
            parts = parts.ordered(OUTER, np.argsort(weights, kind="stable"))
        if plan.n_blocks > 1:
            parts = parts.ordered(1, spread_rows(parts, costs, plan.n_blocks))
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
        start, value = best_of_many(cells, costs, incumbent)
        free = sum_of_negative(costs)
        wants_pool = goal is not None and goal.pool > 1 and math.isfinite(goal.phi)
        aim = goal if wants_pool else None
        fixed = _fixed_point(costs, room=0.0 if aim is None else aim.phi)
        hunt = Hunt(
            pool=Pool(self._threads),
            costs=parts.dense(fixed.numbers),
            plan=plan,
            target=_cost(start, fixed, cells) if aim is None else fixed.down(aim.product - aim.phi),
            room=1 if aim is None else aim.pool,
            good_enough=lambda cost, lowest: (
                goal is not None
                and aim is None
                and goal.reached(fixed.value(cost), fixed.value(lowest))
            ),
            budget=budget,
            reported=budget.elapsed,
            stop=np.zeros(1, dtype=np.uint8),
            found=[],
        )
        with hunt.pool:
            self.search(hunt)
        best = hunt.found[0].cost if hunt.found else hunt.target
        lowest = min(hunt.target, best, hunt.lowest)
        bound = max(free, fixed.value(lowest))
        pool = np.array([parts.flags(box.chosen) for box in hunt.found], dtype=np.uint8)
        ranked = sorted(
            ((vertex_cost(flags, costs, cells), row) for row, flags in enumerate(pool)),
        )
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


def _fixed_point(costs: FloatArray, *, room: float) -> FixedPoint:
    """Return costs in 32 bits if what rounding can lose is small beside ``room``, else in 64."""
    lost = costs.size * unit_of(costs, np.int32)
    return to_integers(costs, np.int32 if lost <= room / 4.0 else np.int64)


def _cost(flags: FlagArray, fixed: FixedPoint, cells: Observations) -> int:
    inside = membership(flags, cells.coords, cells.shape).view(bool)
    return int(fixed.numbers[inside].sum(dtype=np.int64))
