"""Exchange of weight between two vertices at a time, in Gram space.

The master uses it when there are many vertices. A step reads two rows of the Gram matrix, while the
exact method (``simplex_weights``) works through the square of the support for every vertex that
enters or leaves. From good weights, a few hundred steps make nearly all of the gain.
"""

from __future__ import annotations

import numpy as np

from intensor._arrays import FloatArray
from intensor.runtime.compiling import REORDERED, njit

ZERO_VERTEX = -1
"""Index of the zero vertex, which is not stored."""


@njit(cache=True, nogil=True, fastmath=REORDERED)
def exchange(
    gram: FloatArray,
    count: int,
    tolerance: float,
    max_steps: int,
    out_half_gradient: FloatArray,
    out_weights: FloatArray,
) -> tuple[int, float]:
    """Move weight again and again from the largest half-gradient to the least.

    The zero vertex takes part: its weight is 1 minus the sum of the others, its half-gradient 0.
    The exchange stops when giver and taker are within the tolerance, or after ``max_steps`` steps.
    Returned are the number of steps and the last difference between their half-gradients.
    """
    rest = 1.0
    for i in range(count):
        rest -= out_weights[i]
    rest = max(rest, 0.0)
    for step in range(max_steps + 1):
        giver, taker, apart = _pair(out_half_gradient, out_weights, count, rest)
        if apart <= tolerance or step == max_steps:
            return step, apart
        available = rest if giver == ZERO_VERTEX else out_weights[giver]
        curvature = _curvature(gram, giver, taker)
        amount = available if curvature * available <= apart else apart / curvature
        rest = _shift(gram, count, giver, -amount, rest, out_half_gradient, out_weights)
        rest = _shift(gram, count, taker, amount, rest, out_half_gradient, out_weights)
    return max_steps, np.inf


@njit(cache=True, nogil=True)
def _pair(
    half_gradient: FloatArray, weights: FloatArray, count: int, rest: float
) -> tuple[int, int, float]:
    """Return the giver (largest half-gradient with weight), the taker (least) and the gap."""
    lowest, taker = 0.0, ZERO_VERTEX
    highest, giver = 0.0 if rest > 0.0 else -np.inf, ZERO_VERTEX
    for i in range(count):
        slope = half_gradient[i]
        if slope < lowest:
            lowest, taker = slope, i
        if slope > highest and weights[i] > 0.0:
            highest, giver = slope, i
    return giver, taker, highest - lowest


@njit(cache=True, nogil=True)
def _curvature(gram: FloatArray, giver: int, taker: int) -> float:
    """Return the square of the distance between two vertices."""
    if giver == ZERO_VERTEX:
        return float(gram[taker, taker])
    if taker == ZERO_VERTEX:
        return float(gram[giver, giver])
    return float(gram[taker, taker] + gram[giver, giver] - 2.0 * gram[taker, giver])


@njit(cache=True, nogil=True, fastmath=REORDERED)
def _shift(
    gram: FloatArray,
    count: int,
    vertex: int,
    amount: float,
    rest: float,
    out_half_gradient: FloatArray,
    out_weights: FloatArray,
) -> float:
    """Change the weight of a vertex; return the weight of the zero vertex afterwards."""
    if vertex == ZERO_VERTEX:
        return rest + amount
    out_weights[vertex] += amount
    row = gram[vertex]
    for i in range(count):
        out_half_gradient[i] += amount * row[i]
    return rest
