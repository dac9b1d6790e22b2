"""Labels, column names and titles made safe to show: what a user supplied is never markup.

Everything that comes from outside passes through ``escape`` on its way into the page, be it
text, an attribute or a word in a drawing.
"""

from __future__ import annotations

import html
import unicodedata

import numpy as np

__all__ = ["LONGEST", "clean", "escape", "shorten"]

LONGEST = 60
"""Characters of a label that are shown."""
MOST_CLEANED = 2000
"""Characters of a text that are looked at; more than any place in the page shows."""
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
JOINERS = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"
"""Invisible, but part of how some scripts and pictures are spelt."""
UNSAFE = frozenset({"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"})
"""Unicode categories that can hide or reorder what stands beside them, or that no page may hold."""


def clean(label: object) -> str:
    r"""Return a label as one line of plain text without control characters.

    Examples
    --------
    >>> clean("a\x00b"), clean(3), clean(np.datetime64("2013-01-01T00:00:00.000000000"))
    ('a�b', '3', '2013-01-01')
    """
    if isinstance(label, np.datetime64):
        text = str(np.datetime_as_string(label, unit="auto"))
    else:
        text = str(label)
    # only the beginning is ever shown, and a label may have millions of characters
    text = "".join(map(_safe, text.lstrip(" \t\r\n")[:MOST_CLEANED])).strip()
    return text or "(empty)"


def shorten(text: str, *, most: int = LONGEST) -> str:
    """Return a text of at most so many characters, with an ellipsis where it was cut."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "\N{HORIZONTAL ELLIPSIS}"


def escape(label: object, *, most: int = LONGEST) -> str:
    """Return a label that may stand in text and in quoted attributes of HTML and SVG alike."""
    return html.escape(shorten(clean(label), most=most), quote=True)


def _safe(character: str) -> str:
    if character in "\t\n\r":
        return " "
    if character in JOINERS or unicodedata.category(character) not in UNSAFE:
        return character
    return REPLACEMENT
