"""What all stages of one fit share: data, options, clock, journal and callback."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from intensor.fitting.journal import Journal
from intensor.fitting.options import Options, Scale
from intensor.fitting.samples import Samples
from intensor.runtime.budget import Budget
from intensor.solver.loop import Callback
from intensor.solver.result import Progress


@dataclass(slots=True, eq=False)
class Session:
    """One fit under way."""

    samples: Samples  # in standard order
    options: Options
    budget: Budget
    journal: Journal
    callback: Callback | None = None
    client: Any = None  # of a Dask cluster that does the work; None for this process
    choosing: Budget = field(init=False)  # for choices; it ends when the callback says so
    stopped: bool = field(default=False, init=False)  # whether the callback has returned False

    def __post_init__(self) -> None:
        self.choosing = Budget(within=self.budget)
        self.journal.begin(self.samples, self.options, self.budget, self.choosing)

    def report(self, progress: Progress) -> bool:
        """Pass the progress on and return whether to go on; False ends all choosing too."""
        if self.callback is not None and self.callback(progress) is False:
            self.stopped = self.choosing.interrupted = True
        return not self.stopped

    def callback_for(self, scale: Scale) -> Callback:
        """Return a callback that names the scale, if there are several."""
        if len(self.options.scales) == 1:
            return self.report
        name = scale.name
        return lambda now: self.report(now._replace(stage=f"{name}, {now.stage}"))

    def reserve(self, name: str, share: float) -> Budget:
        """Return a share of the time that is left; a fit that is continued gets the same one."""
        limit, elapsed = self.options.solver.time_limit or math.inf, self.budget.elapsed
        saved = self.journal.recall(name)
        if saved is not None and saved.number("limit") == limit:
            until = saved.number("until")
        else:
            until = elapsed + share * self.budget.remaining
            self.journal.record({name: {"limit": limit, "until": until}})
        return Budget(until - elapsed, within=self.choosing)
