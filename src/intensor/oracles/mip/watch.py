"""When a running solver must stop, and how Ctrl-C is held back until it has."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from types import FrameType
from typing import Any

from intensor.oracles.base import Goal
from intensor.runtime.budget import Budget


@dataclass(slots=True, eq=False)
class Watch:
    """Tells a running solver when to stop.

    The solver works on costs divided by ``scale``; the goal is asked in the original units,
    with the solver's numbers made worse by ``margin`` so that its rounding cannot fake success.

    Nothing may be raised through a solver: some lose the exception, others break down. So a
    solver runs inside ``with watch:``. An error in a callback stops the solver and comes up
    again at the end of the block; Ctrl-C stops the solver and reaches its handler there.
    """

    goal: Goal | None  # When an answer is good enough; None for the minimum only
    budget: Budget  # When to stop regardless
    _: KW_ONLY
    scale: float  # Original units per unit of the solver
    margin: float  # Error of the solver's numbers, in its own units
    # In original units: the cost of a vertex that is known already, and a bound that is
    value: float
    bound: float
    _error: Exception | None = field(default=None, init=False)
    _handler: Callable[[int, FrameType | None], Any] | None = field(default=None, init=False)
    _interrupts: int = field(default=0, init=False)

    def says_stop(self, look: Callable[[], tuple[float, float]] | None = None) -> bool:
        """Say whether to stop; made to be called from a solver's callback.

        ``look`` reads the incumbent's value and the dual bound, where the solver has them to show.
        """
        if self._error is not None or self._interrupts or self.budget.spent:
            return True
        if look is None or self.goal is None:
            return False
        try:
            return self._reached(self.goal, *look())
        except Exception as error:
            self._error = error
            return True

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return  # signals go to the main thread
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler):
            self._handler = handler
            signal.signal(signal.SIGINT, self._hold)

    def __exit__(self, *unused: object) -> None:
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)
            for _ in range(self._interrupts):
                self._handler(signal.SIGINT, None)
        if self._error is not None:
            raise self._error

    def _hold(self, signum: int, frame: FrameType | None) -> None:
        self._interrupts += 1

    def _reached(self, goal: Goal, value: float, bound: float) -> bool:
        best = min(self.value, (value + self.margin) * self.scale)
        proven = (bound - self.margin) * self.scale
        if not self.bound <= proven <= best:  # above a vertex's cost nothing can be proven
            proven = self.bound
        return goal.reached(best, proven)
