"""What must be true of a result, whatever the problem and wherever the solve stopped."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import intensor

from .nearest import Optimum, optimum


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that is not true of a result."""

    name: str
    message: str

    def __str__(self):
        return f"{self.name}: {self.message}"


def best_of(problem):
    """Return the optimum of a problem, by other means than the package's."""
    return optimum(
        problem.shape,
        problem.coords,
        problem.values,
        problem.radius,
        weights=problem.weights,
        signed=problem.signed,
    )


def check(problem, result, best: Optimum):
    """Return all findings; an empty list is what there should be."""
    slack = best.rounding
    found = []

    def expect(name, holds, message):
        if not holds:
            found.append(Finding(name=name, message=message))

    expect(
        "optimum",
        best.upper - best.lower <= best.known_to,
        f"known from {best.lower!r} to {best.upper!r} only",
    )
    report = intensor.verify(result, problem.coords, problem.values, sample_weight=problem.weights)
    expect("verify", report.ok, "; ".join(report.failures))
    # A gap within a tolerance that no boxes at all meet is true, and left open: it proves nothing.
    left = {check.name for check in report.checks if check.passed is None}
    meaningless = result.tolerance >= best.square and left == {"status"}
    expect("complete", report.complete or meaningless, str(report))
    expect(
        "problem",
        result.model.radius == problem.radius and result.model.shape == problem.shape,
        f"the model has radius {result.model.radius!r} and shape {result.model.shape}",
    )
    above = result.bound - best.upper
    expect("bound", above <= slack, f"{result.bound!r} is above a feasible {best.upper!r}")
    climbing = [row.bound for row in result.trace] + [result.bound]
    expect("climb", bool(np.all(np.diff(climbing) >= 0.0)), "a bound fell on the way")
    below = best.lower - result.objective
    expect("objective", below <= slack, f"{result.objective!r} is below a proven {best.lower!r}")
    if result.status in (intensor.Status.OPTIMAL, intensor.Status.WITHIN_TOLERANCE):
        short = result.objective - best.upper - result.tolerance
        expect(
            "optimal",
            short <= slack + 1e-9 * result.tolerance,
            f"{result.objective!r} is {result.status}, {result.tolerance!r}, at {best.upper!r}",
        )
        expect("gap", result.gap <= result.tolerance, f"{result.gap!r} > {result.tolerance!r}")
    predicted = getattr(problem, "predicted", np.zeros(1))  # of a fit, in the units of the data
    expect(
        "predictions",
        bool(np.isfinite(predicted).all() and predicted.min() >= 0.0),
        "a prediction is negative or no number",
    )
    if getattr(problem, "cut", False):
        nothing = float(np.average(problem.values**2, weights=problem.weights))
        expect(
            "nothing",
            result.objective <= nothing * (1.0 + 1e-12),
            f"{result.objective!r} is worse than the {nothing!r} of a model without boxes",
        )
    expect(
        "finite",
        all(map(math.isfinite, (result.objective, result.bound, result.tolerance))),
        f"objective {result.objective!r}, bound {result.bound!r}",
    )
    return found
