"""Axes of a chart: from numbers to places, and the ticks between."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from intensor.report.numbers import MINUS, power_of_ten

__all__ = ["LOG_RATIO", "Axis", "make_axis", "wants_log"]

LARGEST = 1e290
"""Numbers beyond have no place on an axis."""
LOG_RATIO = 10.0
"""Numbers that differ by more than this factor are shown on a logarithmic axis."""
NARROW = 0.8
"""A logarithmic axis of fewer powers of ten has the ticks of a linear one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A range of numbers.

    Attributes
    ----------
    low, high
        The ends, low < high; both above 0 when ``log``.
    log
        Whether equal distances are equal factors.
    """

    low: float
    high: float
    log: bool = False

    def place(self, value: float) -> float:
        """Return where a number stands from 0 to 1; what lies outside stands at the end.

        What is no number stands at 0.
        """
        if math.isnan(value):
            return 0.0
        if self.log:
            if value <= self.low:
                return 0.0
            bottom = math.log(self.low)
            share = (math.log(value) - bottom) / (math.log(self.high) - bottom)
        else:
            share = (value - self.low) / (self.high - self.low)
        return min(max(share, 0.0), 1.0)

    @property
    def power(self) -> int:
        """Power of ten that the texts of the ticks leave out; 0 for most axes."""
        if self._decades >= NARROW:
            return 0
        largest = math.floor(math.log10(max(abs(self.low), abs(self.high))))
        return largest if largest >= 5 or largest < -3 else 0

    def ticks(self) -> list[tuple[float, str]]:
        """Return a handful of round numbers with their texts."""
        return self._log_ticks() if self._decades >= NARROW else self._linear_ticks()

    @property
    def _decades(self) -> float:
        """Powers of ten that a logarithmic axis spans; 0 for a linear one."""
        return math.log10(self.high) - math.log10(self.low) if self.log else 0.0

    def _linear_ticks(self) -> list[tuple[float, str]]:
        span = self.high - self.low
        unit = 10.0 ** math.floor(math.log10(span / 4.0))
        step = unit * next(factor for factor in (1, 2, 5, 10) if span / (unit * factor) <= 5.5)
        scale = 10.0**self.power
        decimals = max(0, -math.floor(math.log10(step / scale) + 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        values = [place * step for place in range(first, last + 1)]
        return [
            (value, f"{value / scale + 0.0:,.{decimals}f}".replace("-", MINUS)) for value in values
        ]

    def _log_ticks(self) -> list[tuple[float, str]]:
        first = math.floor(math.log10(self.low) + 1e-9)
        last = math.ceil(math.log10(self.high) - 1e-9)
        stride = max(1, math.ceil((last - first) / 6))
        factors = (1,) if last - first > 3 else (1, 3) if last - first > 1 else (1, 2, 5)
        within = [
            (power, factor)
            for power in range(first, last + 1)
            for factor in factors
            if power % stride == 0
            and self.low * (1 - 1e-9) <= factor * 10.0**power <= self.high * (1 + 1e-9)
        ]
        return [(factor * 10.0**power, _power_text(factor, power)) for power, factor in within]


def _power_text(factor: int, power: int) -> str:
    if -3 <= power <= 4:
        return f"{factor * 10**power:,}" if power >= 0 else f"{factor * 10.0**power:.{-power}f}"
    return power_of_ten(power) if factor == 1 else f"{factor}·{power_of_ten(power)}"


def wants_log(values: Iterable[float]) -> bool:
    """Say whether positive numbers differ enough to be shown by their factors."""
    positive = [value for value in values if 0.0 < value <= LARGEST]
    return bool(positive) and max(positive) / LOG_RATIO > min(positive)


def make_axis(values: Iterable[float], *, log: bool = False, zero: bool = False) -> Axis:
    """Return an axis that holds the numbers, with a little room around them.

    Parameters
    ----------
    log
        Show the positive ones on a logarithmic axis.
    zero
        Begin a linear axis at 0 when no number lies below.
    """
    # those near the ends of float64 are as good as infinite or 0: there is no room around them
    numbers = np.array([value for value in values if abs(value) <= LARGEST], dtype=np.float64)
    numbers[np.abs(numbers) < 1.0 / LARGEST] = 0.0
    if log:
        numbers = numbers[numbers > 0.0]
        if numbers.size == 0:
            return Axis(low=0.1, high=10.0, log=True)
        low, high = float(numbers.min()), float(numbers.max())
        room = max(math.exp(0.06 * (math.log(high) - math.log(low))), 1.15)
        return Axis(low=max(low / room, sys.float_info.min), high=high * room, log=True)
    low, high = (float(numbers.min()), float(numbers.max())) if numbers.size else (0.0, 1.0)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if high - low <= 1e-9 * max(abs(low), abs(high)):  # one number, or as good as one
        half = 0.5 * max(abs(low), abs(high)) or 0.5
        low, high = (0.0, 2.0 * half) if zero and low >= 0.0 else (low - half, high + half)
    room = 0.05 * (high - low)
    return Axis(
        low=low if zero and low == 0.0 else low - room,
        high=high if zero and high == 0.0 else high + room,
    )
