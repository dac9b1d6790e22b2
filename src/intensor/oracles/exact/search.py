"""One exact search: its problem, its threads, and what it has found so far."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from intensor._arrays import AnyArray, FlagArray
from intensor.oracles.exact.plan import Plan
from intensor.oracles.exact.pool import BoxPool, FoundBox, empty_pool
from intensor.runtime.budget import Budget
from intensor.runtime.threads import Pool

_LOG = logging.getLogger(__name__)
Result = TypeVar("Result")
NOWHERE = 1 << 62
"""Bound of a search that left nothing open; larger than any cost."""
POLL_SECONDS = 0.02
"""Seconds between two looks at the budget."""
REPORT_SECONDS = 5.0
"""Seconds between two reports of progress in the log."""


@dataclass(slots=True, kw_only=True, eq=False)
class ExactSearch:
    """One call's search: what it looks for and what it has found."""

    costs: AnyArray  # Integer costs, (rest..., slabs, rows, columns)
    plan: Plan  # How to go about it
    target: int  # Only boxes of lower integer cost are of interest
    pool_size: int  # Number of boxes to keep, the best
    # Says of the best cost and the bound whether the search may end
    good_enough: Callable[[int, int], bool]
    budget: Budget  # When to stop
    threads: Pool  # Where the kernels run
    # (1,) set to 1 to stop the kernels
    stop: FlagArray = field(default_factory=lambda: np.zeros(1, dtype=np.uint8))
    found: list[FoundBox] = field(default_factory=list)  # The best boxes found, best first
    # Proven bound of everything that was not searched to the end; ``NOWHERE`` when all was
    lowest: int = NOWHERE
    reported: float = 0.0  # When progress was last reported, in seconds of the budget

    @property
    def best(self) -> int:
        """Cost of the best box found, or the target."""
        return min(self.target, self.found[0].cost) if self.found else self.target

    @property
    def cutoff(self) -> int:
        """Cost that a box must beat to be worth keeping."""
        if len(self.found) < self.pool_size:
            return self.target
        return min(self.target, self.found[-1].cost)

    def new_pool(self) -> BoxPool:
        """Return a pool for a kernel that looks for what this search looks for."""
        return empty_pool(
            self.pool_size,
            *self.costs.shape[-2:],
            target=self.cutoff,
            per_pattern=self.pool_size > 1,
        )

    def keep(self, boxes: Sequence[FoundBox]) -> None:
        """Take in boxes, in the order of the search, and keep the best."""
        self.found = sorted([*self.found, *boxes], key=lambda box: box.cost)[: self.pool_size]

    def report(self, share: float) -> None:
        """Log how much of the search is done, every few seconds."""
        elapsed = self.budget.elapsed
        if elapsed - self.reported >= REPORT_SECONDS:
            self.reported = elapsed
            _LOG.info("%.0f %% searched after %.0f s", 100.0 * share, elapsed)

    def check_budget(self) -> None:
        """Stop the kernels when the budget is spent."""
        if self.budget.spent:
            self.stop[0] = 1

    def run(self, calls: Sequence[Callable[[], Result]]) -> list[Result]:
        """Make calls on threads, watching the budget; return their results in order."""
        futures = []
        running = set()
        try:
            for call in calls:
                futures.append(self.threads.submit(call))
                running.add(futures[-1])
                self.check_budget()
            while running:
                done, running = wait(running, POLL_SECONDS, return_when=FIRST_COMPLETED)
                for ended in done:
                    ended.result()
                self.check_budget()
        finally:
            if running:  # an error or a second Ctrl-C is on its way out
                self.stop[0] = 1
                wait(running)
        return [future.result() for future in futures]
