"""What goes wrong, as one sentence on stderr and an exit code."""

from __future__ import annotations

import contextlib
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from intensor.cli.output import OutputError, ReaderGoneError, printable, shortened
from intensor.errors import IntensorError, IntensorWarning

__all__ = [
    "CHECK_FAILED",
    "INTERNAL",
    "INTERRUPTED",
    "OK",
    "READER_GONE",
    "USAGE",
    "guard",
    "say",
]

OK = 0
CHECK_FAILED = 1
USAGE = 2
INTERNAL = 3
INTERRUPTED = 130
LONGEST_MESSAGE = 2000
"""Characters of an error or a warning that are shown."""
READER_GONE = 141
"""What a shell reports of a program that wrote to a closed pipe."""


def say(kind: str, message: str) -> None:
    """Write one line to stderr: "error: ..." or "warning: ..."."""
    clean = shortened(" ".join(message.split()), most=LONGEST_MESSAGE)
    # when stderr is closed there is nobody left to tell
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"{kind}: {clean}\n")
        sys.stderr.flush()


def guard(work: Callable[[], int], *, debug: bool) -> int:
    """Return the exit code of some work, whatever happens in it.

    Parameters
    ----------
    debug
        Whether to show tracebacks too.
    """
    with _shown_warnings(debug):
        try:
            return work()
        except ReaderGoneError:
            return READER_GONE
        except KeyboardInterrupt:
            say("error", "interrupted before there was anything to save; nothing was written")
            return INTERRUPTED
        except OutputError as problem:
            say("error", str(problem))
            return USAGE
        except Exception as problem:
            if debug:
                with contextlib.suppress(OSError, ValueError):
                    sys.stderr.write(printable(traceback.format_exc(), keep="\n"))
            code, message = _explain(problem)
            say("error", message)
            return code


def _explain(problem: Exception) -> tuple[int, str]:
    """Return the exit code and the sentence for an exception."""
    if isinstance(problem, IntensorError):
        return USAGE, str(problem)
    if isinstance(problem, MemoryError):
        return USAGE, "there is not enough memory for this; use fewer rows or a machine with more"
    if isinstance(problem, OSError):
        reason = problem.strerror or str(problem) or type(problem).__name__
        place = "" if problem.filename is None else f"{problem.filename}: "
        return USAGE, f"{place}{reason}"
    return INTERNAL, (
        f"unexpected {type(problem).__name__}: {problem} (this is a defect of intensor: please "
        "report it with the command and what --debug shows)"
    )


@contextlib.contextmanager
def _shown_warnings(debug: bool) -> Iterator[None]:
    """Show the warnings of intensor as lines on stderr; those of others only to debug."""

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: Any = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, IntensorWarning):
            say("warning", str(message))
        elif debug:
            say("warning", f"{category.__name__} at {filename}:{lineno}: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", IntensorWarning)
        warnings.showwarning = show
        yield
