"""Progress of a run for people: a live line in a terminal or notebook, plain lines elsewhere.

``verbose=True`` and the commands show it on stderr. Without them, runs write to no stream.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from intensor.runtime.stopwatch import COMPILING

if TYPE_CHECKING:
    from intensor.solver.result import Progress

MIN_SECONDS_BETWEEN_LINES = 2.0
"""Shortest time between two plain lines, in seconds."""
REFRESHES_PER_SECOND = 8
"""Number of times per second that the live line is drawn again."""
KERNEL_LOG = "intensor.runtime.kernel_files"
"""Name of the logger that announces compilations."""

Callback = Callable[["Progress"], bool | None]


@contextlib.contextmanager
def show_progress(callback: Callback | None = None, *, verbose: bool) -> Iterator[Callback | None]:
    """Yield a callback that shows the progress if ``verbose``, and then calls the user's.

    It returns what the user's callback returns. Whatever ends the block, the live line is taken
    away and the streams are as they were.
    """
    if not verbose:
        yield callback
        return
    with _display() as shown:
        yield shown if callback is None else _Both(shown, callback)


@contextlib.contextmanager
def _display() -> Iterator[Callback]:
    """Yield a callback that shows the progress."""
    console = _live_console()
    if console is None:
        lines = _PlainLines()
        with _announced(lines):
            yield lines
        return
    from rich.live import Live  # noqa: PLC0415

    line = _LiveLine()
    live = Live(
        line,
        console=console,
        refresh_per_second=REFRESHES_PER_SECOND,
        transient=True,
        # Text that others print moves the line down, and must still go where they send it.
        redirect_stdout=not console.is_jupyter and _is_terminal(sys.stdout),
        redirect_stderr=not console.is_jupyter,
    )
    # A terminal that is gone is no reason to stop.
    with contextlib.suppress(OSError, ValueError):
        live.start(refresh=True)
    try:
        yield line
    finally:
        with contextlib.suppress(OSError, ValueError):
            live.stop()


def _live_console() -> Any:
    """Return rich's console if a live line can be drawn there, else None."""
    notebook = "ipykernel" in sys.modules or "google.colab" in sys.modules
    if not notebook and not _is_terminal(sys.stderr):
        return None
    from rich.console import Console  # noqa: PLC0415

    console = Console(stderr=True)
    if console.is_jupyter:  # which rich draws in with widgets
        return console if importlib.util.find_spec("ipywidgets") is not None else None
    return console if console.is_terminal and not console.is_dumb_terminal else None


def _is_terminal(stream: Any) -> bool:
    """Say whether a stream, which may be missing or closed, is a terminal."""
    try:
        return bool(stream.isatty())
    except (AttributeError, OSError, ValueError):
        return False


class _Both:
    """Calls the display and then the user's callback, whose answer counts."""

    def __init__(self, shown: Callback, callback: Callback) -> None:
        self._shown = shown
        self._callback = callback

    def __call__(self, progress: Progress) -> bool | None:
        self._shown(progress)
        return self._callback(progress)


@contextlib.contextmanager
def _announced(lines: _PlainLines) -> Iterator[None]:
    """Write what the log says of compiled kernels as lines of progress."""
    log = logging.getLogger(KERNEL_LOG)
    level, propagates = log.level, log.propagate
    handler = logging.Handler()
    handler.emit = lambda record: lines.write(record.getMessage())  # type: ignore[method-assign]
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
        log.propagate = propagates


class _PlainLines:
    """Writes a line from time to time, for logs."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self._next = 0.0

    def __call__(self, progress: Progress) -> None:
        now = time.perf_counter()
        if now < self._next:
            return
        self._next = now + MIN_SECONDS_BETWEEN_LINES
        figures = "  ".join(f"{name} {text}" for name, text in _figures(progress))
        self.write(f"{progress.stage}: {figures}", now)

    def write(self, text: str, now: float | None = None) -> None:
        """Write a line that begins with the time."""
        seconds = (time.perf_counter() if now is None else now) - self._start
        # A log that is missing or can no longer be written to is no reason to stop.
        with contextlib.suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(f"{seconds:7.1f} s  {text}\n")
            sys.stderr.flush()


class _Compiling:
    """Says whether most of the time since it was last asked went into compiling kernels."""

    def __init__(self) -> None:
        self._asked = time.perf_counter()
        self._compiled = COMPILING.seconds()

    def now(self) -> bool:
        """Look at the stopwatch of compilations."""
        now = time.perf_counter()
        compiled = COMPILING.seconds(now)
        busy = compiled - self._compiled > (now - self._asked) / 2.0
        self._asked, self._compiled = now, compiled
        return busy


class _LiveLine:
    """A line that changes; a thread of rich asks for it several times a second."""

    def __init__(self) -> None:
        from rich.spinner import Spinner  # noqa: PLC0415

        self._start = time.perf_counter()
        self._compiling = _Compiling()
        self._spinner = Spinner("line")
        self._latest: Progress | None = None

    def __call__(self, progress: Progress) -> None:
        self._latest = progress

    def __rich__(self) -> Any:
        from rich.text import Text  # noqa: PLC0415

        line = Text(no_wrap=True, overflow="ellipsis")
        line.append(f"{time.perf_counter() - self._start:6.1f} s  ", style="dim")
        if self._compiling.now():
            line.append("compiling kernels (once per machine)")
        elif self._latest is None:
            line.append("preparing")
        else:
            line.append(self._latest.stage, style="bold")
            for name, text in _figures(self._latest):
                line.append(f"  {name} ", style="dim")
                line.append(text)
        self._spinner.update(text=line)
        return self._spinner


def _figures(progress: Progress) -> list[tuple[str, str]]:
    return [
        ("objective", f"{progress.objective:.4g}"),
        ("bound", f"{progress.bound:.4g}"),
        ("gap", f"{progress.objective - progress.bound:.3g}"),
        ("boxes", str(progress.active)),
    ]
