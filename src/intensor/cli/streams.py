"""Standard streams that the caller has closed: what would be said there is dropped."""

from __future__ import annotations

import os
import sys
from typing import TextIO

__all__ = ["is_closed", "open_streams"]

STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))
"""The streams in the order of their file descriptors 0, 1 and 2."""


def open_streams() -> None:
    """Put the null device in the place of streams that are closed.

    Python has None for them, which cannot be written to. And the next file to be opened would get
    the number of a closed stream, so that a library that writes to its stderr would write into it.
    """
    for number, (name, mode) in enumerate(STREAMS):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free: this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def is_closed(stream: TextIO) -> bool:
    """Say whether a stream was closed by the caller, so that ``open_streams`` replaced it."""
    return getattr(stream, "name", None) == os.devnull
