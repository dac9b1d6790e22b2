"""Tiny problems of extreme magnitudes, solved and held against rational arithmetic.

    python -m tests.soak.extremes --count 3000

draws weights, values and a radius log-uniformly from all that is allowed. A bound must be at most
the optimum, the optimum at most the objective, both up to rounding, and `verify` must accept.
"""

# ruff: noqa: T201  (it is a command: what it prints is what it is for)

from __future__ import annotations

import argparse
import collections
import math
import time
from fractions import Fraction

import numpy as np

import intensor
from intensor.data.checks import MAX_WEIGHT_RATIO
from intensor.options.ranges import LARGEST_MAGNITUDE

from .exact import exact_objective, exact_optimum
from .problems import Problem

VERSIONS = ("fast", "fast", "fast", "fast", 8, 3)


def draw(number):
    """Return the problem of a number."""
    rng = np.random.default_rng([83, number])
    while True:
        shape = tuple(rng.integers(2, 4, int(rng.integers(2, 5))).tolist())
        if sum(shape) <= 10:
            break
    n = int(rng.integers(1, 8))
    coords = np.stack([rng.integers(0, length, n) for length in shape], axis=1)
    if rng.uniform() < 0.3 and n > 2:
        coords[1:3] = coords[0]  # repeated observations
    version = VERSIONS[int(rng.integers(len(VERSIONS)))]
    signed = version == "fast" and rng.uniform() < 0.4
    values = _values(rng, n, negative=signed or rng.uniform() < 0.1)
    largest = float(np.abs(values).max())
    return Problem(
        number=number,
        kinds=("extreme",),
        shape=shape,
        coords=coords,
        values=values,
        weights=_weights(rng, n),
        radius=_radius(rng, largest),
        options={
            "signed": signed,
            "allow_negative": True,
            "version": version,
            "exact": ("auto", "auto", "auto", "enumeration", "branch", "off")[int(rng.integers(6))],
            "rtol": (0.0, 1e-12, 1e-9, 1e-6, 1e-3)[int(rng.integers(5))],
            "seed": int(rng.integers(100)),
            "threads": 1,
            "time_limit": 2.0,
            "max_iterations": 3000,
        },
    )


def _values(rng, n, *, negative):
    """Return values of one size or of widely different sizes, up to LARGEST_MAGNITUDE."""
    top = math.log10(LARGEST_MAGNITUDE)
    scale = float(rng.choice([0.0, 0.0, rng.uniform(-top + 1.0, top - 1.0), top - 0.1, 1.0 - top]))
    spread = float(rng.choice([0.0, 0.0, 3.0, 20.0, 120.0]))
    values = rng.uniform(0.5, 1.0, n) * 10.0 ** (scale - spread * rng.uniform(size=n))
    values[int(rng.integers(n))] = 10.0**scale
    values[1:][rng.uniform(size=n - 1) < 0.15] = 0.0
    if rng.uniform() < 0.3:
        values[:] = np.where(rng.uniform(size=n) < 0.5, values, values[0])
    if float(np.abs(values).max()) < 1.0 / LARGEST_MAGNITUDE:
        values[0] = 10.0**scale
    return values * rng.choice((-1.0, 1.0), n) if negative else values


def _weights(rng, n):
    """Return weights of any ratio that is allowed, of any size."""
    spread = math.log10(MAX_WEIGHT_RATIO)
    kind = ("none", "whole", "mild", "all", "all", "ends")[int(rng.integers(6))]
    if kind == "none":
        return None
    if kind == "whole":
        return rng.integers(1, 5, n).astype(float)
    if kind == "mild":
        return 10.0 ** rng.uniform(-3.0, 3.0, n)
    exponents = rng.uniform(-spread + 0.01, 0.0, n)
    if kind == "ends":
        exponents = rng.choice([-spread + 0.01, -spread / 2.0, 0.0], n)
    size = float(rng.choice([0.0, 0.0, math.log10(LARGEST_MAGNITUDE), -200.0]))
    return 10.0 ** (np.maximum(exponents + size, -300.0))


def _radius(rng, largest):
    top = math.log10(LARGEST_MAGNITUDE) - 0.01
    kind = ("right", "right", "right", "near", "any", "any")[int(rng.integers(6))]
    if kind == "any":
        return float(10.0 ** rng.uniform(-top, top))
    factor = rng.uniform(0.3, 3.0) if kind == "right" else 10.0 ** rng.uniform(-9.0, 9.0)
    return float(np.clip(largest * factor, 10.0**-top, 10.0**top))


def check(problem, result):
    """Return what is wrong with a result, in words; an empty list is what there should be."""
    words = {"weights": problem.weights}
    best, square = exact_optimum(
        problem.shape,
        problem.coords,
        problem.values,
        problem.radius,
        signed=problem.signed,
        **words,
    )
    true, sizes = exact_objective(result.model, problem.coords, problem.values, **words)
    scale = float(max(square, sizes))
    found = []

    def expect(name, holds, message):
        if not holds:
            found.append(f"{name}: {message}")

    def rounding(objective, size):
        return 1e-14 * math.sqrt(max(float(objective), 0.0)) * math.sqrt(size) + 1e-28 * size

    above = float(Fraction(float(result.bound)) - best)
    slack = rounding(best, float(square))
    expect("bound", above <= slack, f"{result.bound!r} is above {float(best)!r} by {above!r}")
    below = float(best - Fraction(float(result.objective)))
    slack = rounding(best, scale)
    expect("objective", below <= slack, f"{result.objective!r} is below {float(best)!r}")
    apart = abs(float(Fraction(float(result.objective)) - true))
    expect("model", apart <= rounding(true, scale), f"{result.objective!r}, truly {float(true)!r}")
    if result.status in (intensor.Status.OPTIMAL, intensor.Status.WITHIN_TOLERANCE):
        far = float(true - best)
        fine = far <= result.tolerance * (1 + 1e-9) + rounding(true, scale)
        expect("optimal", fine, f"{float(true)!r} beside {float(best)!r} to {result.tolerance!r}")
    report = intensor.verify(result, problem.coords, problem.values, sample_weight=problem.weights)
    expect("verify", report.ok, "; ".join(report.failures))
    open_ = [check.name for check in report.checks if check.passed is None]
    meets_anything = result.tolerance >= float(square)
    loose = float(problem.radius) > 1e6 * math.sqrt(float(square))
    expect("open", not open_ or meets_anything or loose, str(report))
    return found


def main():
    parser = argparse.ArgumentParser(description="Solve problems of extreme magnitudes.")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    start = time.perf_counter()
    wrong, statuses, bounds = 0, collections.Counter(), 0
    for number in range(options.first, options.first + options.count):
        problem = draw(number)
        try:
            result = problem.solve()
            found = check(problem, result)
            statuses[result.status.name] += 1
            bounds += result.witness is not None
        except Exception as error:
            found = [f"{type(error).__name__}: {error}"]
        if found:
            wrong += 1
            print(number, problem.options, problem.radius, *found, sep="\n  ")
    print(f"{options.count} problems in {time.perf_counter() - start:.0f} s: {wrong} wrong")
    print(", ".join(f"{name} {count}" for name, count in statuses.most_common()))
    print(f"{bounds} bounds above the variance within cells")
    return wrong


if __name__ == "__main__":
    raise SystemExit(bool(main()))
