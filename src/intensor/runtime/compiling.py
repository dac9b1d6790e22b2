"""Kernels in machine code: compiled when they are first called, and kept in files for next time.

``njit`` is Numba's decorator with three differences. The time that compiling, loading and storing
take is counted (``stopwatch``), so that no time limit has to pay for it. The first compilation of
a process is announced in the log. And a problem with the files costs time and nothing else
(``kernel_files``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core import event

from intensor.runtime.kernel_files import FILES, KernelCache, NoCache, notice_level
from intensor.runtime.stopwatch import COMPILING

Function = TypeVar("Function", bound=Callable[..., Any])
REORDERED = {"reassoc", "contract"}
"""The ``fastmath`` of kernels whose sums may be reordered, because no bound ever sees them."""


def njit(*, cache: bool = False, **options: Any) -> Callable[[Function], Function]:
    """Return Numba's decorator ``njit`` with these options and, for ``cache``, with our files."""

    def decorate(function: Function) -> Function:
        # No kernel is called from C, and a way in from there takes time to compile.
        chosen: dict[str, Any] = {"no_cfunc_wrapper": True, **options}
        kernel: Any = numba.njit(**chosen)(function)
        if cache and kernel is not function:  # with NUMBA_DISABLE_JIT it is not compiled
            try:
                kernel._cache = KernelCache(function)
            except (OSError, RuntimeError) as problem:  # there is no folder for it
                FILES.close(f"no folder was found for them ({problem})")
                kernel._cache = NoCache()
        compiled: Function = kernel
        return compiled

    return decorate


def listen(events: Any, kind: str, announce: Callable[[Any], None]) -> None:
    """Count the time that a compiler reports, and announce its work.

    ``events`` is a module like ``numba.core.event``; its events of this kind begin and end with a
    compilation. ``announce`` is called with the event of every beginning.
    """

    class Listener(events.Listener):  # type: ignore[misc]
        def on_start(self, event: Any) -> None:
            COMPILING.__enter__()
            announce(event)

        def on_end(self, event: Any) -> None:
            COMPILING.__exit__()

    events.register(kind, Listener())


def announce_device(event: Any) -> None:
    """Log a compilation for a CUDA device, which no file keeps."""
    FILES.tell(
        f"compiling for a device at level {notice_level()}",
        "Compiling kernels for the CUDA device, which takes some seconds in every process. It does "
        "not count against time limits.",
        notice_level(),
    )


def _announce(event: Any) -> None:
    kernel = (event.data or {}).get("dispatcher")
    if isinstance(getattr(kernel, "_cache", None), (KernelCache, NoCache)):  # it is one of ours
        FILES.announce()


listen(event, "numba:compile", _announce)
