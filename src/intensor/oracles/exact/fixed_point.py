"""Costs as integers, rounded down: their sums are exact, and bounds on them are proven.

A box whose integer cost is c costs at least ``c / scale``, because every cost was rounded down. It
costs at most one unit more per cell. The scale is a power of two, so scaling rounds nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from intensor._arrays import AnyArray, FloatArray

COST_BITS = {np.dtype(np.int32): 28, np.dtype(np.int64): 54}
"""Most binary digits of the sum of all absolute costs, by type. The kernels need 4 times that sum
for one block of rows, and 64 bits for the sum of all blocks."""
LIMIT = 1 << 61
"""A number far above any sum of costs."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FixedPoint:
    """Integer costs and the position of their binary point."""

    numbers: AnyArray  # (u,) the costs times ``2**exponent``, rounded down
    exponent: int  # Number of digits behind the binary point; negative for huge costs

    def down(self, cost: float) -> int:
        """Return the largest integer whose value is at most ``cost``, within the kernels' range."""
        try:
            number = math.floor(math.ldexp(cost, self.exponent))
        except OverflowError:
            number = LIMIT if cost > 0.0 else -LIMIT
        if number == 0 and cost < 0.0:  # so small that scaling made it zero
            number = -1
        return max(-LIMIT, min(number, LIMIT))

    def value(self, number: int) -> float:
        """Return the cost that an integer stands for, rounded down."""
        try:
            scaled = math.ldexp(float(number), -self.exponent)
        except OverflowError:
            return -math.inf if number < 0 else float(np.finfo(np.float64).max)
        exact = int(float(number)) == number and math.ldexp(scaled, self.exponent) == float(number)
        return scaled if exact else math.nextafter(scaled, -math.inf)


def _exponent(costs: FloatArray, kind: DTypeLike) -> int:
    _, size = math.frexp(float(np.abs(costs).max()))
    total = math.fsum(np.abs(np.ldexp(costs, -size)).tolist())
    return COST_BITS[np.dtype(kind)] - math.frexp(total)[1] - size


def unit_of(costs: FloatArray, kind: DTypeLike) -> float:
    """Return the cost of one unit; each cost is rounded down by less than that."""
    return math.ldexp(1.0, -_exponent(costs, kind))


def to_integers(costs: FloatArray, kind: DTypeLike) -> FixedPoint:
    """Return costs, of which not all are zero, as integers of a type.

    Examples
    --------
    >>> fixed = to_integers(np.array([-0.75, 0.5, 1e-30]), np.int32)
    >>> fixed.numbers.tolist(), fixed.exponent
    ([-100663296, 67108864, 0], 27)
    >>> fixed.value(-100663296)
    -0.75
    """
    exponent = _exponent(costs, kind)
    scaled = np.floor(np.ldexp(costs, exponent))
    scaled[(costs < 0.0) & (scaled == 0.0)] = -1.0  # so small that scaling made it zero
    return FixedPoint(numbers=scaled.astype(kind), exponent=exponent)
