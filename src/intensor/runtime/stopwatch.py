"""How long this process has been compiling: time that no limit counts.

Numba compiles a kernel when it is first called, or loads it from a file. ``compiling`` reports
here when that happens, and budgets subtract it from the time that has passed. Numba itself is not
needed for that, so that ``budget`` can be imported without it.
"""

from __future__ import annotations

import os
import threading
import time


class Stopwatch:
    """Adds up the wall-clock time during which at least one thread is inside ``with stopwatch:``.

    Compilations nest, and several threads can wait for the same one: each moment counts once.
    ``limited`` says whether some budget had a time limit, which compiling prolongs.
    """

    def __init__(self) -> None:
        self.limited = False
        self._lock = threading.Lock()
        self._inside = 0
        self._counted_until = 0.0
        # One tuple that can be read without the lock: seconds so far, and the start of the run.
        self._state: tuple[float, float | None] = (0.0, None)

    def seconds(self, now: float | None = None) -> float:
        """Return the seconds counted up to now, a time of ``time.perf_counter``."""
        total, since = self._state
        if since is None:
            return total
        return total + max(0.0, (time.perf_counter() if now is None else now) - since)

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                now = time.perf_counter()
                self._state = (self._state[0], max(now, self._counted_until))

    def __exit__(self, *unused: object) -> None:
        with self._lock:
            self._inside = max(0, self._inside - 1)
            if self._inside == 0 and self._state[1] is not None:
                now = time.perf_counter()
                self._state = (self.seconds(now), None)
                self._counted_until = max(now, self._counted_until)

    def add(self, start: float, seconds: float) -> None:
        """Count seconds that another process compiled for while this one waited.

        No more is counted than has passed since ``start``, when the waiting began, and no moment
        twice.
        """
        with self._lock:
            total, since = self._state
            end = min(start + seconds, time.perf_counter() if since is None else since)
            begin = max(start, self._counted_until)
            if end > begin:
                self._state = (total + end - begin, since)
                self._counted_until = end

    def restart(self) -> None:
        """Forget who is inside: the threads of a parent process are not in its fork."""
        self._lock = threading.Lock()
        self._inside = 0
        self._state = (self.seconds(), None)


COMPILING = Stopwatch()
"""Runs while this process compiles kernels, or loads or stores compiled ones."""

if hasattr(os, "register_at_fork"):  # not on every system
    os.register_at_fork(after_in_child=COMPILING.restart)
