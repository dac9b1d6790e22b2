"""Text for people: labels as one line of plain text, and numbers with few digits.

Labels, column names and titles come from outside. ``clean`` removes from them whatever could hide
or reorder the text beside them; whoever writes HTML or a formula escapes the rest.
"""

from __future__ import annotations

import math
import unicodedata
from decimal import Decimal

import numpy as np

MAX_LABEL_LENGTH = 60
"""Longest label, in characters, that is shown in full."""
MAX_CLEANED_LENGTH = 2000
"""Number of characters of a text that are cleaned; no picture or page shows more."""
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
JOINERS = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"
"""Invisible characters that are kept, because some scripts and emoji are spelt with them."""
UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"})
"""Unicode categories that can hide or reorder text, or that XML does not allow."""
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
SPACE = "\N{NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
TIMES = f"{SPACE}\N{MULTIPLICATION SIGN}{SPACE}"


def clean(label: object) -> str:
    """Return a label as one line of plain text without control characters."""
    if isinstance(label, np.datetime64):
        label = np.datetime_as_string(label, unit="auto")
    # Only the beginning is ever shown, and a label may have millions of characters.
    text = "".join(map(_safe, str(label).lstrip(" \t\r\n")[:MAX_CLEANED_LENGTH])).strip()
    return text or "(empty)"


def _safe(character: str) -> str:
    if character in "\t\n\r":
        return " "
    if character in JOINERS or unicodedata.category(character) not in UNSAFE_CATEGORIES:
        return character
    return REPLACEMENT


def shorten(text: str, *, most: int = MAX_LABEL_LENGTH) -> str:
    """Return a text of at most ``most`` characters, with an ellipsis where it was cut."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "\N{HORIZONTAL ELLIPSIS}"


def number(value: float, *, digits: int = 4) -> str:
    """Return a number such as 1,235 or 1.5 × 10⁻⁷, with at most ``digits`` significant digits."""
    value = float(value)
    if math.isnan(value):
        return "not a number"
    if value == 0.0:
        return "0"
    sign = MINUS if value < 0.0 else ""
    size = abs(value)
    if math.isinf(size):
        return f"{sign}\N{INFINITY}"
    mantissa, power = f"{size:.{digits - 1}e}".split("e")
    exponent = int(power)
    if -4 <= exponent < 7:
        return sign + _without_zeros(f"{size:,.{max(0, digits - 1 - exponent)}f}")
    return f"{sign}{_without_zeros(mantissa)}{TIMES}{_power_of_ten(exponent)}"


def signed(value: float, *, digits: int = 4) -> str:
    """Return a number with its sign, plus or minus."""
    return ("+" if value > 0.0 else "") + number(value, digits=digits)


def _without_zeros(text: str) -> str:
    """Return a decimal number without zeros at its end."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def _power_of_ten(exponent: int) -> str:
    return "10" + str(exponent).translate(SUPERSCRIPTS)


def count(value: int) -> str:
    """Return an integer of any size, such as 59,904 or 1 × 10³⁰."""
    if value < 10**15:
        return f"{value:,}"
    mantissa, power = f"{Decimal(value):.2e}".lower().split("e")
    return f"{_without_zeros(mantissa)}{TIMES}{_power_of_ten(int(power))}"


def percent(share: float) -> str:
    """Return a share in percent, such as 6.45 %; only exactly 0 and 1 become 0 % and 100 %."""
    if 0.0 < share < 1e-4:
        return f"<{SPACE}0.01{SPACE}%"
    if 0.999 < share < 1.0:
        return f">{SPACE}99.9{SPACE}%"
    return f"{number(100.0 * share, digits=3)}{SPACE}%"


def seconds(duration: float) -> str:
    """Return a duration such as 0.12 s, or in minutes and seconds when it is long."""
    if duration < 120.0:
        return f"{number(max(duration, 0.0), digits=2 if duration < 10.0 else 3)}{SPACE}s"
    minutes, rest = divmod(round(duration), 60)
    return f"{count(minutes)}{SPACE}min{SPACE}{rest}{SPACE}s"
