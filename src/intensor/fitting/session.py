"""What all stages of one fit share: its data, options and clock, its journal and its callback."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from intensor.fitting.effort import DEFAULT_EFFORT, Effort
from intensor.fitting.fold import Callback
from intensor.fitting.journal import Journal
from intensor.fitting.options import Options, Scale
from intensor.fitting.samples import Samples
from intensor.runtime.budget import Budget
from intensor.solver.result import Progress

__all__ = ["Session"]


class Session:
    """One fit under way.

    Attributes
    ----------
    samples
        Checked observations, in standard order.
    options, budget
        How to fit, and the time for it.
    journal
        Finished parts, for a fit that is continued after it was killed.
    client
        Client of a Dask cluster that does the work; None for this process.
    effort
        How much work choices are worth.
    choosing
        The part of the budget that choices are made in; it ends when the callback says so.
    stopped
        Whether the callback has returned False.
    """

    def __init__(
        self,
        samples: Samples,
        options: Options,
        *,
        budget: Budget,
        journal: Journal,
        callback: Callable[[Progress], bool | None] | None = None,
        client: Any = None,
        effort: Effort = DEFAULT_EFFORT,
    ) -> None:
        self.samples = samples
        self.options = options
        self.budget = budget
        self.journal = journal
        self.client = client
        self.effort = effort
        self.choosing = Budget(within=budget)
        self.stopped = False
        self._callback = callback
        journal.begin(samples, options, budget, self.choosing)

    def report(self, progress: Progress) -> bool:
        """Pass the progress on and return whether to go on; False ends all choosing too."""
        if self._callback is not None and self._callback(progress) is False:
            self.stopped = self.choosing.interrupted = True
        return not self.stopped

    def report_scale(self, scale: Scale) -> Callback:
        """Return a callback that names the scale, if there are several."""
        if len(self.options.scales) == 1:
            return self.report
        return lambda progress: self.report(
            progress._replace(stage=f"{scale.name}, {progress.stage}")
        )

    def reserve(self, name: str, share: float) -> Budget:
        """Return a share of the time that is left; the same one when the fit is continued."""
        limit, elapsed = self.options.solver.time_limit or math.inf, self.budget.elapsed
        saved = self.journal.recall(name)
        if saved is not None and saved.number("limit") == limit:
            until = saved.number("until")
        else:
            until = elapsed + share * self.budget.remaining
            self.journal.record({name: {"limit": limit, "until": until}})
        return Budget(until - elapsed, within=self.choosing)
