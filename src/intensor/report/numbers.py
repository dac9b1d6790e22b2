"""Numbers as a reader wants them: few digits, separated thousands, powers of ten."""

from __future__ import annotations

import math
from decimal import Decimal

__all__ = ["count", "number", "percent", "power_of_ten", "seconds", "signed"]

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
SPACE = "\N{NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
TIMES = f"{SPACE}\N{MULTIPLICATION SIGN}{SPACE}"


def number(value: float, *, digits: int = 4) -> str:
    """Return a number with so many significant digits.

    Examples
    --------
    >>> number(1234.567), number(0.5), number(0.0), number(-2.0)
    ('1,235', '0.5', '0', '−2')
    >>> number(1.5e-7).replace(SPACE, " ")
    '1.5 × 10⁻⁷'
    """
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
        text = f"{size:,.{max(0, digits - 1 - exponent)}f}"
        return sign + (text.rstrip("0").rstrip(".") if "." in text else text)
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{sign}{mantissa}{TIMES}{power_of_ten(exponent)}"


def signed(value: float, *, digits: int = 4) -> str:
    """Return a number with its sign, also when it is above 0."""
    return ("+" if value > 0.0 else "") + number(value, digits=digits)


def power_of_ten(exponent: int) -> str:
    """Return 10 to a power, in print.

    Examples
    --------
    >>> power_of_ten(-3)
    '10⁻³'
    """
    return "10" + str(exponent).translate(SUPERSCRIPTS)


def count(value: int) -> str:
    """Return a whole number of any size.

    Examples
    --------
    >>> count(59904), count(10**30).replace(SPACE, " ")
    ('59,904', '1 × 10³⁰')
    """
    if value < 10**15:
        return f"{value:,}"
    mantissa, power = f"{Decimal(value):.2e}".lower().split("e")
    mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}{TIMES}{power_of_ten(int(power))}"


def percent(share: float) -> str:
    """Return a share of 1 in percent; what is not quite nothing or everything says so.

    Examples
    --------
    >>> [percent(share).replace(SPACE, " ") for share in (0.0, 1e-9, 0.0645, 0.99999, 1.0)]
    ['0 %', '< 0.01 %', '6.45 %', '> 99.9 %', '100 %']
    """
    if 0.0 < share < 1e-4:
        return f"<{SPACE}0.01{SPACE}%"
    if 0.999 < share < 1.0:
        return f">{SPACE}99.9{SPACE}%"
    return f"{number(100.0 * share, digits=3)}{SPACE}%"


def seconds(duration: float) -> str:
    """Return a duration in seconds, or in minutes where that reads better.

    Examples
    --------
    >>> seconds(0.1234).replace(SPACE, " "), seconds(200.0).replace(SPACE, " ")
    ('0.12 s', '3 min 20 s')
    """
    if duration < 120.0:
        return f"{number(max(duration, 0.0), digits=2 if duration < 10.0 else 3)}{SPACE}s"
    minutes, rest = divmod(round(duration), 60)
    return f"{count(minutes)}{SPACE}min{SPACE}{rest}{SPACE}s"
