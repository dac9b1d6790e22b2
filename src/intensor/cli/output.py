"""What commands say on stdout: a JSON object, or lines for people."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from intensor.cli.streams import is_closed
from intensor.errors import FileFormatError

__all__ = [
    "LONGEST",
    "OutputError",
    "ReaderGoneError",
    "check_stdout",
    "close_output",
    "number",
    "printable",
    "rows",
    "shortened",
    "write",
    "write_json",
]

AT_ONCE = 1 << 16
LONGEST = 60
"""Characters of a name or a label that are shown."""


class ReaderGoneError(Exception):
    """Nobody reads stdout any more."""


class OutputError(Exception):
    """Stdout cannot be written to, for a reason that the caller should hear of."""


def check_stdout() -> None:
    """Raise when stdout is closed and what a command is asked for would be lost."""
    if is_closed(sys.stdout):
        raise FileFormatError("-: stdout is closed, so nothing can be written to it; name a file")


def write(text: str) -> None:
    """Write text to stdout, or drop it when that was closed by the caller.

    Raises
    ------
    ReaderGoneError
        When the other end of the pipe is closed.
    OutputError
        When the disk is full, or the like.
    """
    try:
        for start in range(0, len(text), AT_ONCE):
            sys.stdout.write(text[start : start + AT_ONCE])
        sys.stdout.flush()
    except UnicodeEncodeError:
        encoding = sys.stdout.encoding or "ascii"
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        raise ReaderGoneError from None
    except OSError as problem:
        raise _output_error(problem) from None


def printable(text: str, *, keep: str = "") -> str:
    r"""Return a text with escapes in the place of what a terminal would take for a command.

    Labels and names from files may hold anything: escape sequences, characters that change the
    direction of what stands beside them, half a character.

    Parameters
    ----------
    keep
        Characters that stay as they are all the same.

    Examples
    --------
    >>> printable("a\x1b[31m\n"), printable("a\n", keep="\n")
    ('a\\x1b[31m\\n', 'a\n')
    """
    if text.isprintable():
        return text
    return "".join(
        letter
        if letter.isprintable() or letter in keep
        else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )


def shortened(text: str, *, most: int = LONGEST) -> str:
    """Return a printable text of not many more than so many characters."""
    return printable(text if len(text) <= most else f"{text[: most - 3]}...")


def close_output() -> None:
    """Flush stdout, and keep the interpreter from trying again if that fails."""
    try:
        sys.stdout.flush()
    except OSError as problem:
        with contextlib.suppress(OSError, ValueError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, sys.stdout.fileno())
            os.close(null)
        if isinstance(problem, BrokenPipeError):
            raise ReaderGoneError from None
        raise _output_error(problem) from None


def _output_error(problem: OSError) -> OutputError:
    reason = problem.strerror or str(problem)
    return OutputError(
        f"stdout cannot be written to ({reason}); files that were asked for are written"
    )


def write_json(figures: Mapping[str, Any]) -> None:
    """Write one JSON object; what is not a finite number becomes null."""
    if is_closed(sys.stdout):
        raise OutputError(
            "stdout is closed, so the JSON object is lost; files that were asked for are written"
        )
    write(json.dumps(_plain(figures), indent=2, allow_nan=False) + "\n")


def _plain(thing: Any) -> Any:
    """Return what JSON can hold."""
    if isinstance(thing, Mapping):
        return {str(name): _plain(part) for name, part in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [_plain(part) for part in thing]
    if hasattr(thing, "tolist") and not isinstance(thing, float):  # NumPy's numbers and arrays
        plain = thing.tolist()
        return _plain(
            float(plain) if hasattr(plain, "tolist") else plain
        )  # a long double stays one
    if isinstance(thing, float):
        return thing if math.isfinite(thing) else None
    if thing is None or isinstance(thing, (bool, int, str)):
        return thing
    return str(thing)


def number(value: float | None) -> str:
    """Return a number for people: six digits, or a dash for none."""
    return "-" if value is None or not math.isfinite(value) else f"{value:.6g}"


def rows(pairs: Iterable[tuple[str, str]]) -> str:
    """Return lines of a name and what it is, the second column aligned; all of it is printable."""
    lines = [(shortened(name), printable(text)) for name, text in pairs if text]
    width = max((len(name) for name, _ in lines), default=0)
    return "".join(f"{name:<{width}}  {text}\n" for name, text in lines)
