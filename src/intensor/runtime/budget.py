"""The budget of a computation: a deadline and a stop flag that Ctrl-C sets.

Everything that can take long asks its budget between two pieces of work, so that a solve always
ends in good order, with its best model.

The clock stands still while kernels are compiled or loaded (``stopwatch``). That happens once, can
take longer than the work itself, and would use up a short limit before any work is done.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from intensor.runtime.stopwatch import COMPILING


class Budget:
    """A number of seconds, and a flag that asks to stop.

    Seconds are wall-clock time without the time in which this process compiled; None is no limit. A
    budget ``within`` another is spent or interrupted when that one is. The seconds ``before`` were
    spent earlier, in a run that this one continues, and count too.
    """

    __slots__ = ("_compiled", "_interrupted", "_limit", "_start", "_within")

    def __init__(
        self,
        seconds: float | None = None,
        *,
        within: Budget | None = None,
        before: float = 0.0,
    ) -> None:
        now = time.perf_counter()
        self._start = now - before
        self._compiled = COMPILING.seconds(now)
        self._limit = math.inf if seconds is None else seconds
        if self._limit < math.inf and within is None:
            COMPILING.limited = True
        self._within = within
        self._interrupted = False

    @property
    def interrupted(self) -> bool:
        """Whether someone asked to stop."""
        return self._interrupted or (self._within is not None and self._within.interrupted)

    @interrupted.setter
    def interrupted(self, value: bool) -> None:
        self._interrupted = value

    @property
    def elapsed(self) -> float:
        """Seconds since the budget was made, without compiling, plus those spent before."""
        now = time.perf_counter()
        return now - self._start - (COMPILING.seconds(now) - self._compiled)

    @property
    def remaining(self) -> float:
        """Seconds left, infinite without a limit and never below 0."""
        left = math.inf if self._limit == math.inf else max(0.0, self._limit - self.elapsed)
        return left if self._within is None else min(left, self._within.remaining)

    @property
    def spent(self) -> bool:
        """Whether work must stop now: no time left, or interrupted."""
        if self._within is not None and self._within.spent:
            return True
        return self._interrupted or (self._limit < math.inf and self.elapsed >= self._limit)


@contextmanager
def listen_for_interrupt(budget: Budget) -> Iterator[None]:
    """Turn the first Ctrl-C into ``budget.interrupted``; a second one raises as usual.

    Signals reach the main thread only, so in any other thread this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.getsignal(signal.SIGINT)
    if previous is None:  # a handler that was not set from Python cannot be put back
        yield
        return

    def note(signum: int, frame: FrameType | None) -> None:
        if budget.interrupted:
            raise KeyboardInterrupt
        budget.interrupted = True

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
