"""Checks of single values; rules of declared options take the name of the option and its value."""

from __future__ import annotations

import math
import numbers
import os
import re
from collections.abc import Collection
from typing import Any, NamedTuple

from intensor.errors import RadiusError, SettingError

AUTO = "auto"
"""Text that leaves a choice to the library."""
LARGEST_MAGNITUDE = 1e70
"""Largest size of a value and of the radius; its inverse is the smallest radius. Their squares, and
the squares of their quotients, then stay far from the ends of float64."""
DEFAULT_HELD_OUT_SHARE = 0.1
"""Share of the cells that validation="auto" holds out."""
FALLBACK_MEMORY_BYTES = 4 << 30
"""Bytes assumed where the system does not say how much memory it has."""


Clip = tuple[float | None, float | None]
"""Range that predictions are clipped to; None for no limit on a side."""


class HeldOut(NamedTuple):
    """How cells are held out for validation."""

    folds: int | None  # 1 to hold a share out once, None to choose by the amount of data
    share: float  # share of the cells in each fold


def check_at_least(name: str, value: Any, low: float, *, integer: bool = False) -> Any:
    """Return a number that is finite and at least ``low``."""
    wanted: Any = numbers.Integral if integer else numbers.Real
    if isinstance(value, bool) or not isinstance(value, wanted):
        raise SettingError(
            f"{name} is {value!r}; expected {'an integer' if integer else 'a number'} >= {low:g}"
        )
    number = int(value) if integer else _as_float(value)
    if not (integer or math.isfinite(number)) or not number >= low:
        raise SettingError(f"{name} is {number}; expected a finite number >= {low:g}")
    return number


def check_positive(name: str, value: Any) -> float:
    """Return a positive number of seconds; infinity means no limit."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not real or not _as_float(value) > 0.0:
        raise SettingError(f"{name} is {value!r}; expected a positive number of seconds, or None")
    return _as_float(value)


def check_callable(name: str, value: Any) -> Any:
    """Return a function that is called with the progress of a run."""
    if not callable(value):
        raise SettingError(f"{name} is {value!r}; expected a function of one Progress")
    return value


def check_radius(radius: Any) -> float:
    """Return a radius as a positive finite float."""
    if isinstance(radius, bool) or not isinstance(radius, numbers.Real):
        raise RadiusError(f"radius is {radius!r}; expected a positive number")
    number = _as_float(radius)
    if not (math.isfinite(number) and number > 0.0):
        raise RadiusError(
            f"radius is {number}; expected a positive finite number "
            "(the largest value of the data is a sensible lower end)"
        )
    if not 1.0 / LARGEST_MAGNITUDE <= number <= LARGEST_MAGNITUDE:
        raise RadiusError(
            f"radius is {number}; expected a number from {1.0 / LARGEST_MAGNITUDE:g} to "
            f"{LARGEST_MAGNITUDE:g} (rescale the data)"
        )
    return number


def check_radius_or_auto(name: str, value: Any) -> float | None:
    """Return a radius, or None if validation is to choose it."""
    return None if _is_auto(name, value, "a positive number") else check_radius(value)


def check_rtol_or_auto(name: str, value: Any) -> float | None:
    """Return a relative tolerance, or None if validation is to choose it."""
    auto = _is_auto(name, value, "a number >= 0")
    return None if auto else float(check_at_least(name, value, 0.0))


def check_count_or_auto(name: str, value: Any) -> int | None:
    """Return a number from 1, or None if it is to be chosen."""
    auto = _is_auto(name, value, "an integer >= 1")
    return None if auto else int(check_at_least(name, value, 1, integer=True))


def check_clip(name: str, value: Any) -> Clip | None:
    """Return the ends of a range, of which one may be None; a range without ends is None."""
    expected = "expected a pair (low, high) of finite numbers, of which one may be None"
    if isinstance(value, str) or not isinstance(value, Collection) or len(value) != 2:
        raise SettingError(f"{name} is {value!r}; {expected}")
    ends: list[float | None] = []
    for end in value:
        number = None if end is None else _as_real(end)
        if number is not None and not math.isfinite(number):
            raise SettingError(f"{name} is {value!r}; {expected}")
        ends.append(number)
    low, high = ends
    if low is not None and high is not None and not low < high:
        raise SettingError(f"{name} is {value!r}; expected the low end below the high end")
    if high is not None and not high > 0.0:
        raise SettingError(
            f"{name} is {value!r}; expected a high end above 0, since predictions are never below "
            "it"
        )
    return None if low is None and high is None else (low, high)


def check_validation(name: str, value: Any) -> HeldOut:
    """Return how cells are held out: 5 means five folds, 0.1 a tenth of the cells, once."""
    if isinstance(value, str) and value == AUTO:
        return HeldOut(None, DEFAULT_HELD_OUT_SHARE)
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        folds = int(value)
        if folds < 2:
            raise SettingError(f"{name} is {folds}; expected at least 2 folds, or a share")
        return HeldOut(folds, 1.0 / folds)
    if not isinstance(value, numbers.Real) or not 0.0 < float(value) < 1.0:
        raise SettingError(
            f"{name} is {value!r}; expected a share between 0 and 1 to hold out, a number of "
            "folds, or 'auto'"
        )
    return HeldOut(1, float(value))


def check_memory(name: str, limit: Any) -> int:
    """Return a number of bytes, given as a number or as text."""
    found = re.fullmatch(r"\s*([0-9.]+)\s*([KMGT]i?)?B?\s*", str(limit), re.IGNORECASE)
    try:
        amount = float(found[1]) if found and not isinstance(limit, bool) else math.nan
    except ValueError:
        amount = math.nan
    if not amount > 0.0:
        raise SettingError(f"{name} is {limit!r}; expected a number of bytes, or text like '4 GiB'")
    unit = (found[2] or "").lower() if found else ""
    base = 1024 if unit.endswith("i") else 1000
    return int(amount * base ** " kmgt".index(unit[0] if unit else " "))


def default_memory_limit() -> int:
    """Return a quarter of the machine's memory, in bytes."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4
    except (AttributeError, ValueError):  # not on every system
        return FALLBACK_MEMORY_BYTES


def _is_auto(name: str, value: Any, expected: str) -> bool:
    """Return whether a value is "auto"; other text is refused."""
    if isinstance(value, str) and value != AUTO:
        raise SettingError(f"{name} is {value!r}; expected {expected} or 'auto'")
    return isinstance(value, str)


def _as_real(value: Any) -> float:
    """Return a real number as a float, and NaN for anything else."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return _as_float(value) if real else math.nan


def _as_float(number: Any) -> float:
    """Return a real number as a float; numbers that are too large become infinite."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
