"""The console: results go to stdout; errors, warnings and progress go to stderr.

Labels and names from files may hold anything, so all text for people passes through ``printable``.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TextIO

from intensor.errors import FileFormatError, IntensorError, IntensorWarning

OK = 0
CHECK_FAILED = 1
USAGE = 2
INTERNAL = 3
INTERRUPTED = 130
READER_GONE = 141
"""Exit code that a shell reports for a program that wrote to a closed pipe."""
MAX_MESSAGE_LENGTH = 2000
"""Longest error or warning, in characters, that is shown in full."""
MAX_NAME_LENGTH = 60
"""Longest name or label, in characters, that is shown in full."""
CHARACTERS_AT_ONCE = 1 << 16
"""Characters that are written to stdout at once."""
STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))
"""The standard streams with their modes, in the order of their file descriptors 0, 1 and 2."""


class ReaderGoneError(Exception):
    """Nobody reads stdout any more."""


class OutputError(Exception):
    """Stdout cannot be written to, for a reason that the user should be told."""


def open_streams() -> None:
    """Replace streams that the caller has closed by the null device.

    Python represents them by None, which cannot be written to. The next file to be opened would
    get the number of a closed stream, and a library that writes to stderr would write into it.
    """
    for number, (name, mode) in enumerate(STREAMS):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def _is_closed(stream: TextIO) -> bool:
    """Say whether the caller closed a stream, so that ``open_streams`` replaced it."""
    return getattr(stream, "name", None) == os.devnull


def check_stdout() -> None:
    """Raise when stdout is closed and the result of a command would be lost."""
    if _is_closed(sys.stdout):
        raise FileFormatError("-: stdout is closed, so nothing can be written to it; name a file")


def write(text: str) -> None:
    """Write text to stdout, or drop it when the caller has closed stdout."""
    try:
        for start in range(0, len(text), CHARACTERS_AT_ONCE):
            sys.stdout.write(text[start : start + CHARACTERS_AT_ONCE])
        sys.stdout.flush()
    except UnicodeEncodeError:
        encoding = sys.stdout.encoding or "ascii"
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        raise ReaderGoneError from None
    except OSError as problem:
        raise _output_error(problem) from None


def close_output() -> int:
    """Flush stdout and return an exit code; the interpreter shall not try again if that fails."""
    try:
        sys.stdout.flush()
    except OSError as problem:
        with contextlib.suppress(OSError, ValueError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, sys.stdout.fileno())
            os.close(null)
        if isinstance(problem, BrokenPipeError):
            return READER_GONE
        say("error", str(_output_error(problem)))
        return USAGE
    return OK


def _output_error(problem: OSError) -> OutputError:
    reason = problem.strerror or str(problem)
    return OutputError(
        f"stdout cannot be written to ({reason}); files that were asked for are written"
    )


def write_json(figures: Mapping[str, Any]) -> None:
    """Write one JSON object; a number that is not finite becomes null."""
    if _is_closed(sys.stdout):
        raise OutputError(
            "stdout is closed, so the JSON object is lost; files that were asked for are written"
        )
    text = json.dumps(figures, default=_json_value)
    finite = json.loads(text, parse_constant=lambda _: None)
    write(json.dumps(finite, indent=2) + "\n")


def _json_value(thing: Any) -> Any:
    """Return what JSON shall hold for arrays and numbers of NumPy, and text for anything else."""
    if not hasattr(thing, "tolist"):
        return str(thing)
    plain = thing.tolist()
    return float(plain) if hasattr(plain, "tolist") else plain  # tolist keeps a long double


def printable(text: str, *, keep: str = "") -> str:
    """Return a text in which characters that a terminal would obey are spelt as escapes.

    Such characters begin escape sequences, change the direction of the text beside them, or are
    halves of surrogate pairs. Those in ``keep`` stay.
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter in keep else ascii(letter)[1:-1] for letter in text
    )


def shortened(text: str, *, most: int = MAX_NAME_LENGTH) -> str:
    """Return the first ``most`` characters of a text, in printable form."""
    return printable(text if len(text) <= most else f"{text[: most - 3]}...")


def number(value: float | None) -> str:
    """Return a number with six digits, or a dash for None and numbers that are not finite."""
    return "-" if value is None or not math.isfinite(value) else f"{value:.6g}"


def rows(pairs: Iterable[tuple[str, str]]) -> str:
    """Return aligned lines of a name and a text, in printable form; empty texts are left out."""
    lines = [(shortened(name), printable(text)) for name, text in pairs if text]
    width = max((len(name) for name, _ in lines), default=0)
    return "".join(f"{name:<{width}}  {text}\n" for name, text in lines)


def say(kind: str, message: str) -> None:
    """Write one line to stderr: "error: ..." or "warning: ..."."""
    line = shortened(" ".join(message.split()), most=MAX_MESSAGE_LENGTH)
    # When stderr is closed, there is nobody left to tell.
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"{kind}: {line}\n")
        sys.stderr.flush()


def guard(work: Callable[[], int], *, debug: bool) -> int:
    """Run a command and return its exit code; with ``debug``, show tracebacks too.

    Exceptions become a message and an exit code.
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
    """Return the exit code and the message for an exception."""
    if isinstance(problem, IntensorError):
        return USAGE, str(problem)
    if isinstance(problem, MemoryError):
        return USAGE, "there is not enough memory for this; use fewer rows or a machine with more"
    if isinstance(problem, OSError):
        reason = problem.strerror or str(problem) or type(problem).__name__
        file = "" if problem.filename is None else f"{problem.filename}: "
        return USAGE, f"{file}{reason}"
    return INTERNAL, (
        f"unexpected {type(problem).__name__}: {problem} (this is a defect of intensor: please "
        "report it with the command and what --debug shows)"
    )


@contextlib.contextmanager
def _shown_warnings(debug: bool) -> Iterator[None]:
    """Show warnings of intensor as lines on stderr, and those of others only with ``debug``."""

    def show(
        message: object, category: type[Warning], filename: str, lineno: int, *_: Any, **__: Any
    ) -> None:
        if issubclass(category, IntensorWarning):
            say("warning", str(message))
        elif debug:
            say("warning", f"{category.__name__} at {filename}:{lineno}: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", IntensorWarning)
        warnings.showwarning = show
        yield
