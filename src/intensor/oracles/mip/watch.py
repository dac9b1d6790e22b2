"""Between a running solver and the outside: when to stop, and Ctrl-C held back meanwhile."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from intensor.oracles.base import Goal
from intensor.runtime.budget import Budget

__all__ = ["Watch"]


class Watch:
    """Tells a running solver when to stop.

    The solver works on costs divided by ``scale``; the goal is asked in the original units,
    with the solver's numbers made worse by ``margin`` so that its rounding cannot fake success.

    Nothing may be raised through a solver: some lose the exception, others break down. So a
    solver runs inside ``with watch:``. An error in a callback stops the solver and comes up
    again at the end of the block; Ctrl-C stops the solver and reaches its handler there.

    Parameters
    ----------
    goal
        When an answer is good enough; None for the minimum only.
    budget
        When to stop regardless.
    scale, margin
        From the solver's units to the original ones; the error of the solver's numbers, in
        its own units.
    value, bound
        In original units: the cost of a vertex that is at hand anyway, and a bound that is
        known anyway.
    """

    __slots__ = (
        "_bound",
        "_budget",
        "_error",
        "_goal",
        "_handler",
        "_interrupts",
        "_margin",
        "_scale",
        "_value",
    )

    def __init__(
        self,
        goal: Goal | None,
        budget: Budget,
        *,
        scale: float,
        margin: float,
        value: float,
        bound: float,
    ) -> None:
        self._goal = goal
        self._budget = budget
        self._scale = scale
        self._margin = margin
        self._value = value
        self._bound = bound
        self._error: Exception | None = None
        self._handler: Callable[[int, FrameType | None], Any] | None = None
        self._interrupts = 0

    @property
    def seconds(self) -> float:
        """Time left, possibly infinite."""
        return self._budget.remaining

    def says_stop(self, look: Callable[[], tuple[float, float]] | None = None) -> bool:
        """Say whether to stop; made to be called from a solver's callback.

        Parameters
        ----------
        look
            Reads the incumbent's value and the dual bound from the solver; None where it
            has neither to show.
        """
        if self._error is not None or self._interrupts or self._budget.spent:
            return True
        if look is None or self._goal is None:
            return False
        try:
            return self._reached(self._goal, *look())
        except Exception as error:
            self._error = error
            return True

    def interrupt(self) -> None:
        """Pass on a Ctrl-C that the solver caught instead of Python."""
        self._budget.interrupted = True

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
        best = min(self._value, (value + self._margin) * self._scale)
        proven = (bound - self._margin) * self._scale
        if not self._bound <= proven <= best:  # above a vertex's cost nothing can be proven
            proven = self._bound
        return goal.reached(best, proven)
