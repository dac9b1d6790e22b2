"""Short texts about objects: reprs of one line, and tables for notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

MAX_REPR_LENGTH = 100
"""Most characters of a repr."""
MAX_MODES_SHOWN = 4
"""Most modes of which a short text tells the length."""


def one_line(text: str) -> str:
    """Return the text of a repr as ``<text>``, on one line that is not too long."""
    line = f"<{printable(text)}>"
    return line if len(line) <= MAX_REPR_LENGTH else f"{line[: MAX_REPR_LENGTH - 4]}...>"


def printable(text: str) -> str:
    """Return a text in which control characters cannot do anything."""
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in text)


def describe_shape(shape: Sequence[int]) -> str:
    """Return the lengths of the modes, such as "3 x 4", and the number of modes if it is large."""
    if len(shape) <= MAX_MODES_SHOWN:
        return " x ".join(map(str, shape))
    shown = " x ".join(map(str, shape[: MAX_MODES_SHOWN - 1]))
    return f"{shown} x ... ({len(shape)} modes)"


def html_table(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """Return a small table for a notebook: a title, and rows of a name and a text.

    All texts are escaped, rows without a text are left out, and nothing is loaded from elsewhere.
    """
    cell = 'style="text-align: left; vertical-align: top"'
    lines = [
        f"<tr><th {cell}>{_escape(name)}</th><td {cell}>{_escape(text)}</td></tr>"
        for name, text in rows
        if text
    ]
    head = f'<tr><th {cell} colspan="2">{_escape(title)}</th></tr>'
    return f"<table>\n{head}\n" + "\n".join(lines) + "\n</table>"


def _escape(text: str) -> str:
    """Return a text as HTML; its lines stay lines."""
    return "<br>".join(html.escape(printable(line)) for line in text.split("\n"))
