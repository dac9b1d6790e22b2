"""The best factors of one mode, all components together, within the radius.

With everything but the factors of one mode fixed, the objective is a quadratic in ``u``, the (m, k)
weights times factors of that mode, and splits over its m indices. The radius bounds the sum over
the components of the largest entry of each, their *caps*. Both are convex, so that a step from a
feasible point towards a better one stays feasible.

Components are improved in turn, each to its best vector for a price per unit of cap: below the cap
every entry is at its own optimum, and the cap is where the slopes of the entries that it cuts off
add up to the price. The price moves between two passes, so that the caps add up to the radius. The
gradient is kept up to date with every change, so that nothing is lost to rounding near a perfect
fit. No bound sees these numbers.

A loop that adds up numbers here writes to no array. The compiler would vectorise one that did only
where it finds that the arrays lie apart in memory, and the last bits of the sum would depend on it.
"""

from __future__ import annotations

import numpy as np

from intensor._arrays import FloatArray
from intensor.runtime.compiling import njit

FAST = {"contract"}
"""Fast-math without reordered additions: with them, calls with the same arguments now and then
differed in the last bit, and a run must be repeatable."""
NEGLIGIBLE_CURVATURE = 1e-14
"""Share of the largest curvature of a component below which an entry stays as it is."""
MAX_PRICE_RATIO = 3.0  # largest factor by which the price moves between two passes
MAX_NEWTON_STEPS = 30  # most Newton steps to find a cap
INDEX_PASSES = 3  # passes over the components of an index between two moves of the caps
LEAST_PASS_GAIN = 0.05
"""Share of the gain of all passes so far below which a pass was the last."""


@njit(cache=True, nogil=True, fastmath=FAST)
def improve_mode(
    matrices: FloatArray,
    slopes: FloatArray,
    price: float,
    max_passes: int,
    unit_factors: FloatArray,
    out_factors: FloatArray,
    out_state: FloatArray,
) -> None:
    """Improve the factors of a mode; the objective never rises.

    Components without weight are new. The first step goes from the present point towards them, as
    in conditional gradients, so that they enter whenever that lowers the objective.

    Parameters
    ----------
    matrices, slopes
        (m, k, k) and (m, k) normal equations at the present factors (``normal_equations``), with
        the signs of the components in them. The slopes are changed.
    price
        Price per unit of the radius, from the last call; 0 while the radius does not bind.
    max_passes
        Most passes over all components.
    unit_factors
        (m, k) factors without weights; those of new components are used.
    out_factors
        (m, k) weights times factors, at least 0; improved in place.
    out_state
        (2,) the next price, and by how much the objective falls.
    """
    m, count = slopes.shape
    entered = _enter(matrices, slopes, unit_factors, out_factors)
    before = out_factors.copy()
    first_slopes = slopes.copy()
    wanted = np.empty(m)
    caps = np.empty(count)
    gain = 0.0
    for number in range(max_passes):
        total = 0.0
        softness = 0.0
        pass_gain = 0.0
        for component in range(count):
            cap, capped, fall = _improve_component(
                matrices, slopes, component, price, wanted, out_factors
            )
            total += cap
            pass_gain += fall
            if capped > 0.0:
                softness += 1.0 / capped
            caps[component] = cap
        pass_gain += _improve_indices(matrices, slopes, caps, out_factors)
        gain += pass_gain
        settled = abs(total - 1.0) < 0.01 or (total <= 1.0 and price == 0.0)
        if number > 0 and settled and pass_gain < LEAST_PASS_GAIN * gain:
            break
        price = _next_price(price, total, softness)
    _stay_within_radius(out_factors)
    out_state[0] = price
    out_state[1] = entered + _step_towards(matrices, first_slopes, before, out_factors)


@njit(cache=True, nogil=True, fastmath=FAST)
def _enter(  # noqa: PLR0912 - loops over indices and components
    matrices: FloatArray, slopes: FloatArray, unit_factors: FloatArray, out_factors: FloatArray
) -> float:
    """Take the best step towards the mean of the new components; return the fall.

    The slopes follow the step.
    """
    m, count = slopes.shape
    new = np.zeros(count, dtype=np.bool_)
    n_new = 0
    for component in range(count):
        if out_factors[:, component].max() == 0.0:
            new[component] = True
            n_new += 1
    if n_new == 0:
        return 0.0
    change = np.empty((m, count))
    descent = 0.0
    curvature = 0.0
    moved = np.zeros((m, count))
    for index in range(m):
        for component in range(count):
            if new[component]:
                change[index, component] = unit_factors[index, component] / n_new
            else:
                change[index, component] = -out_factors[index, component]
        for component in range(count):
            descent -= slopes[index, component] * change[index, component]
        for component in range(count):
            for other in range(count):
                moved[index, other] += matrices[index, component, other] * change[index, component]
        for component in range(count):
            curvature += moved[index, component] * change[index, component]
    step = 0.0
    if descent > 0.0:
        step = 1.0 if descent >= curvature else descent / curvature
    for index in range(m):
        for component in range(count):
            out_factors[index, component] += step * change[index, component]
            slopes[index, component] += step * moved[index, component]
    return step * (2.0 * descent - step * curvature)


@njit(cache=True, nogil=True, fastmath=FAST)
def improve_within_caps(
    matrices: FloatArray,
    slopes: FloatArray,
    caps: FloatArray,
    max_passes: int,
    out_factors: FloatArray,
) -> float:
    """Improve some indices of a mode with (k,) fixed caps; return the fall of the objective.

    The indices of a mode do not depend on each other then, so that a long mode can be improved a
    range at a time. The other parameters are those of ``improve_mode``.
    """
    gain = 0.0
    for _ in range(max_passes):
        fall = _improve_indices(matrices, slopes, caps, out_factors)
        gain += fall
        if fall <= LEAST_PASS_GAIN * gain:
            break
    return gain


@njit(cache=True, nogil=True, fastmath=FAST)
def _improve_indices(
    matrices: FloatArray, slopes: FloatArray, caps: FloatArray, out_factors: FloatArray
) -> float:
    """Improve every index a few times over with fixed caps; return the fall.

    The matrix of one index stays in the cache, so that this costs little beside a pass over one
    component after the other.
    """
    m, count = slopes.shape
    gain = 0.0
    for index in range(m):
        for _ in range(INDEX_PASSES):
            fall = 0.0
            for component in range(count):
                curvature = matrices[index, component, component]
                if curvature <= 0.0:
                    continue
                value = out_factors[index, component]
                slope = slopes[index, component]
                change = min(max(value - slope / curvature, 0.0), caps[component]) - value
                if change != 0.0:
                    fall -= change * (2.0 * slope + curvature * change)
                    out_factors[index, component] = value + change
                    for other in range(count):
                        slopes[index, other] += matrices[index, component, other] * change
            gain += fall
            if fall <= 0.0:
                break
    return gain


@njit(cache=True, nogil=True, fastmath=FAST)
def _improve_component(
    matrices: FloatArray,
    slopes: FloatArray,
    component: int,
    price: float,
    wanted: FloatArray,
    out_factors: FloatArray,
) -> tuple[float, float, float]:
    """Give one component its best vector at a price per unit of its cap.

    Returns its cap, the curvature of the entries at the cap, and the fall of the objective without
    the price.
    """
    m, count = slopes.shape
    largest = 0.0
    for index in range(m):
        largest = max(largest, matrices[index, component, component])
    least = NEGLIGIBLE_CURVATURE * largest
    highest = 0.0
    for index in range(m):
        curvature = matrices[index, component, component]
        value = out_factors[index, component]
        if curvature > least:
            value = max(0.0, value - slopes[index, component] / curvature)
            highest = max(highest, value)
        wanted[index] = value
    cap, capped = _find_cap(matrices, component, least, price, highest, wanted)
    fall = 0.0
    for index in range(m):
        change = min(wanted[index], cap) - out_factors[index, component]
        if change != 0.0:
            slope = slopes[index, component]
            fall -= change * (2.0 * slope + matrices[index, component, component] * change)
            out_factors[index, component] += change
            for other in range(count):
                slopes[index, other] += matrices[index, component, other] * change
    return cap, capped, fall


@njit(cache=True, nogil=True, fastmath=FAST)
def _find_cap(
    matrices: FloatArray,
    component: int,
    least: float,
    price: float,
    highest: float,
    wanted: FloatArray,
) -> tuple[float, float]:
    """Return the cap at which the slopes of the entries above it add up to the price.

    Their sum is convex and falls, so Newton's method from 0 never goes too far.
    """
    if price <= 0.0:
        capped = 0.0
        for index in range(wanted.size):
            if wanted[index] >= highest:
                capped += matrices[index, component, component]
        return highest, capped
    cap, capped = 0.0, 0.0
    for _ in range(MAX_NEWTON_STEPS):
        slope, capped = 0.0, 0.0
        for index in range(wanted.size):
            curvature = matrices[index, component, component]
            if curvature > least and wanted[index] > cap:
                slope += curvature * (wanted[index] - cap)
                capped += curvature
        if slope <= price * (1.0 + 1e-12) or capped == 0.0:
            break
        cap += (slope - price) / capped
    return cap, capped


@njit(cache=True, nogil=True)
def _next_price(price: float, total: float, softness: float) -> float:
    """Move the price so that the caps, which now add up to ``total``, add up to 1."""
    if softness == 0.0:
        return price / MAX_PRICE_RATIO
    moved = price + (total - 1.0) / softness
    if price == 0.0:
        return max(moved, 0.0)
    moved = min(max(moved, price / MAX_PRICE_RATIO), price * MAX_PRICE_RATIO)
    return moved


@njit(cache=True, nogil=True)
def _stay_within_radius(out_factors: FloatArray) -> None:
    """Scale the factors so that the caps add up to at most 1."""
    total = 0.0
    for component in range(out_factors.shape[1]):
        total += out_factors[:, component].max()
    if total > 1.0:
        out_factors /= total


@njit(cache=True, nogil=True, fastmath=FAST)
def _step_towards(
    matrices: FloatArray, slopes: FloatArray, before: FloatArray, out_factors: FloatArray
) -> float:
    """Take the best step from the factors before to the new ones; return the fall.

    ``slopes`` are those before.
    """
    m, count = slopes.shape
    descent = 0.0
    curvature = 0.0
    change = np.empty(count)
    for index in range(m):
        for component in range(count):
            change[component] = out_factors[index, component] - before[index, component]
        for component in range(count):
            descent -= slopes[index, component] * change[component]
        for component in range(count):
            if change[component] != 0.0:
                product = 0.0
                for other in range(count):
                    product += matrices[index, component, other] * change[other]
                curvature += change[component] * product
    step = 0.0
    if descent > 0.0:
        step = 1.0 if descent >= curvature else descent / curvature
    for index in range(m):
        for component in range(count):
            apart = out_factors[index, component] - before[index, component]
            out_factors[index, component] = before[index, component] + step * apart
    return step * (2.0 * descent - step * curvature)
