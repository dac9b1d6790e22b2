"""The updates of a mode, written plainly: what ``kernels.mode_update`` is compared with."""

from __future__ import annotations

import numpy as np

from intensor.kernels.mode_update import (
    INDEX_PASSES,
    LEAST_PASS_GAIN,
    MAX_PRICE_RATIO,
    NEGLIGIBLE_CURVATURE,
)


def quadratic(matrices, slopes, change):
    """Return by how much the objective rises with an (m, k) change of weights times factors."""
    return 2.0 * np.sum(slopes * change) + np.einsum("ia,iab,ib->", change, matrices, change)


def improve_mode(matrices, slopes, price, max_passes, unit_factors, out_factors, out_state):
    entered = enter(matrices, slopes, unit_factors, out_factors)
    before, first_slopes = out_factors.copy(), slopes.copy()
    gain = 0.0
    for number in range(max_passes):
        found = [
            improve_component(matrices, slopes, component, price, out_factors)
            for component in range(slopes.shape[1])
        ]
        caps = np.array([cap for cap, _, _ in found])
        softness = sum(1.0 / capped for _, capped, _ in found if capped > 0.0)
        pass_gain = sum(fall for _, _, fall in found)
        pass_gain += improve_indices(matrices, slopes, caps, out_factors)
        gain += pass_gain
        total = caps.sum()
        settled = abs(total - 1.0) < 0.01 or (total <= 1.0 and price == 0.0)
        if number and settled and pass_gain < LEAST_PASS_GAIN * gain:
            break
        price = next_price(price, total, softness)
    out_factors /= max(1.0, out_factors.max(axis=0).sum())
    change = out_factors - before
    step, fall = best_step(matrices, first_slopes, change)
    out_factors[:] = before + step * change
    out_state[:] = price, entered + fall


def enter(matrices, slopes, unit_factors, out_factors):
    new = out_factors.max(axis=0) == 0.0
    if not new.any():
        return 0.0
    change = np.where(new, unit_factors / new.sum(), -out_factors)
    step, fall = best_step(matrices, slopes, change)
    out_factors += step * change
    slopes += step * np.einsum("iab,ib->ia", matrices, change)
    return fall


def best_step(matrices, slopes, change):
    """Return the step in [0, 1] along a change that is best, and the fall of the objective."""
    descent = -np.sum(slopes * change)
    curvature = quadratic(matrices, 0.0, change)
    step = 0.0
    if descent > 0.0:
        step = min(1.0, descent / curvature) if curvature > 0.0 else 1.0
    return step, -quadratic(matrices, slopes, step * change)


def improve_component(matrices, slopes, component, price, out_factors):
    curvature = matrices[:, component, component]
    least = NEGLIGIBLE_CURVATURE * curvature.max()
    free = curvature > least
    wanted = out_factors[:, component].copy()
    wanted[free] = np.maximum(0.0, wanted[free] - slopes[free, component] / curvature[free])
    cap, capped = find_cap(curvature, wanted, free, price)
    change = np.minimum(wanted, cap) - out_factors[:, component]
    fall = -np.sum(change * (2.0 * slopes[:, component] + curvature * change))
    out_factors[:, component] += change
    slopes += matrices[:, component] * change[:, np.newaxis]
    return cap, capped, fall


def find_cap(curvature, wanted, free, price):
    """Return the cap from a walk down the sorted entries, and the curvature above it."""
    highest = wanted[free].max(initial=0.0)
    if price <= 0.0:
        return highest, curvature[wanted >= highest].sum()
    order = np.flatnonzero(free & (wanted > 0.0))
    order = order[np.argsort(-wanted[order])]
    if np.sum(curvature[order] * wanted[order]) <= price:
        return 0.0, curvature[order].sum()
    for count in range(1, order.size + 1):
        above = order[:count]
        cap = (np.sum(curvature[above] * wanted[above]) - price) / curvature[above].sum()
        if count == order.size or cap >= wanted[order[count]]:
            break
    return cap, curvature[above].sum()


def next_price(price, total, softness):
    if softness == 0.0:
        return price / MAX_PRICE_RATIO
    moved = price + (total - 1.0) / softness
    if price == 0.0:
        return max(moved, 0.0)
    return float(np.clip(moved, price / MAX_PRICE_RATIO, price * MAX_PRICE_RATIO))


def improve_within_caps(matrices, slopes, caps, max_passes, out_factors):
    gain = 0.0
    for _ in range(max_passes):
        fall = improve_indices(matrices, slopes, caps, out_factors)
        gain += fall
        if fall <= LEAST_PASS_GAIN * gain:
            break
    return gain


def improve_indices(matrices, slopes, caps, out_factors):
    gain = 0.0
    for matrix, slope, values in zip(matrices, slopes, out_factors, strict=True):
        for _ in range(INDEX_PASSES):
            fall = 0.0
            for component, cap in enumerate(caps):
                curvature = matrix[component, component]
                if curvature <= 0.0:
                    continue
                best = values[component] - slope[component] / curvature
                change = np.clip(best, 0.0, cap) - values[component]
                fall -= change * (2.0 * slope[component] + curvature * change)
                values[component] += change
                slope[:] += matrix[component] * change
            gain += fall
            if fall <= 0.0:
                break
    return gain
