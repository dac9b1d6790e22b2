"""The best weights of vertices in Gram space, by a primal active-set method.

Minimises ``w'Gw - 2b'w`` over ``w >= 0, sum w <= 1`` (see ``solver.fast.master``). The support is
the list of vertices in use, in the order of the columns of its Cholesky factor.
"""

from __future__ import annotations

import numpy as np

from intensor._arrays import FlagArray, FloatArray, IndexArray
from intensor.kernels.cholesky import (
    append_column,
    delete_column,
    solve_transposed,
    solve_upper,
    solve_with_ones,
)
from intensor.kernels.value_order import sort_positions
from intensor.runtime.compiling import njit

ENTRY_SHARE = 0.1
"""Vertices enter together with the best one if they gain at least this share of its gain."""
NOTHING, THE_SUM = -1, -2
"""Codes for what blocks a step when it is not a vertex of the support."""


@njit(cache=True, nogil=True, inline="always")
def best_change(
    factor: FloatArray,
    size: int,
    full: bool,
    slope: FloatArray,
    out_ones: FloatArray,
    out: FloatArray,
) -> float:
    """Write the change to the best weights on the support; return the price of the sum.

    ``full`` says whether the weights sum to 1 and must keep that sum, and ``slope`` is the
    half-gradient on the support.
    """
    for i in range(size):
        out[i] = -slope[i]
    if not full:
        solve_transposed(factor, size, out)
        solve_upper(factor, size, out)
        return 0.0
    solve_with_ones(factor, size, out, out_ones)
    total, unit = 0.0, 0.0
    for i in range(size):
        total += out[i]
        unit += out_ones[i]
    price = total / unit
    for i in range(size):
        out[i] -= price * out_ones[i]
    return price


@njit(cache=True, nogil=True, inline="always")
def longest_step(
    weights: FloatArray, support: IndexArray, size: int, full: bool, change: FloatArray
) -> tuple[float, int]:
    """Return the length of the step, at most 1, and what blocks: an index or one of the codes."""
    step, blocking = 1.0, NOTHING
    total, used = 0.0, 0.0
    for i in range(size):
        weight = weights[support[i]]
        total += change[i]
        used += weight
        if weight + step * change[i] < 0.0:
            step, blocking = weight / -change[i], i
    if not full and total > 0.0:
        left = max(0.0, 1.0 - used)
        if step * total > left:
            step, blocking = left / total, THE_SUM
    return step, blocking


@njit(cache=True, nogil=True, inline="always")
def settle(
    full: bool,
    size: int,
    out_factor: FloatArray,
    out_support: IndexArray,
    out_weights: FloatArray,
    out_used: FlagArray,
    out_slope: FloatArray,
    out_ones: FloatArray,
    out_change: FloatArray,
    out_moved: FloatArray,
) -> tuple[int, bool, float]:
    """Move to the best weights on the support, and drop the vertices that block the way.

    ``out_slope`` is the half-gradient on the support. A step along the Newton direction scales it
    towards the price, so it is known without touching the Gram matrix. Returned are the new size of
    the support, whether the weights sum to 1, and the price of the sum.
    """
    price = 0.0
    while size > 0:
        price = best_change(out_factor, size, full, out_slope, out_ones, out_change)
        step, blocking = longest_step(out_weights, out_support, size, full, out_change)
        for i in range(size):
            out_weights[out_support[i]] += step * out_change[i]
            out_moved[out_support[i]] += step * out_change[i]
            out_slope[i] -= step * (out_slope[i] + price)
        if blocking == NOTHING:
            break
        if blocking == THE_SUM:
            full = True
            continue
        gone = out_support[blocking]
        out_moved[gone] -= out_weights[gone]
        out_weights[gone] = 0.0
        out_used[gone] = 0
        delete_column(blocking, size, out_factor, out_support)
        size -= 1
        for i in range(blocking, size):
            out_slope[i] = out_slope[i + 1]
    return size, full, price


@njit(cache=True, nogil=True)
def improve_weights(
    gram: FloatArray,
    count: int,
    ridge: float,
    tolerance: float,
    max_rounds: int,
    size: int,
    full: bool,
    out_half_gradient: FloatArray,
    out_factor: FloatArray,
    out_support: IndexArray,
    out_weights: FloatArray,
) -> tuple[int, bool, int]:
    """Let vertices enter, at most ``max_rounds`` times, until none gains more than the tolerance.

    ``ridge`` is added to the diagonal of the (>= count, >= count) Gram matrix in the factor.
    ``size`` is the size of the support, and ``full`` says whether the weights sum to 1. Both are
    returned as they are at the end, with the number of rounds.
    """
    change, ones = np.empty(out_weights.size), np.empty(out_weights.size)
    slope, moved = np.empty(out_weights.size), np.zeros(out_weights.size)
    used = np.zeros(out_weights.size, dtype=np.uint8)
    order = np.empty(count, dtype=np.int64)
    for i in range(size):
        used[out_support[i]] = 1
    for rounds in range(max_rounds):
        for i in range(size):
            slope[i] = out_half_gradient[out_support[i]]
        size, full, price = settle(
            full, size, out_factor, out_support, out_weights, used, slope, ones, change, moved
        )
        _follow(gram, count, moved, out_half_gradient)
        if full and price < 0.0:
            full = False
            continue
        for vertex in range(count):
            change[vertex] = 0.0 if used[vertex] else out_half_gradient[vertex] + price
        sort_positions(change, count, order)
        least = change[order[0]] if count else 0.0
        if not least < -max(tolerance, 0.0):  # this also ends when a number is NaN
            return size, full, rounds + 1
        for place in range(min(count, 8 + size // 8)):
            vertex = order[place]
            # A vertex in use has a change of 0 and must not enter a second time.
            if used[vertex] or change[vertex] > ENTRY_SHARE * least:
                break
            append_column(gram, ridge, vertex, size, ones, out_factor, out_support)
            used[vertex] = 1
            size += 1
    return size, full, max_rounds


@njit(cache=True, nogil=True, inline="always")
def _follow(
    gram: FloatArray, count: int, out_moved: FloatArray, out_half_gradient: FloatArray
) -> None:
    """Bring the half-gradient up to date with the weights that moved, and forget the moves."""
    for vertex in range(count):
        if out_moved[vertex] != 0.0:
            move = out_moved[vertex]
            row = gram[vertex]
            for other in range(count):
                out_half_gradient[other] += move * row[other]
            out_moved[vertex] = 0.0
