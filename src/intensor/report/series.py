"""What the pictures show, as numbers: shared by the report's charts and ``intensor.plots``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intensor._arrays import AnyArray, FloatArray
from intensor.fitting.path import RadiusPath
from intensor.fitting.record import Fit
from intensor.report.axis import wants_log
from intensor.solver.result import Result

__all__ = [
    "Convergence",
    "convergence_series",
    "scale_name",
    "scale_words",
    "square_range",
]

MOST_POINTS = 400
"""Of a curve; more are thinned out."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Convergence:
    """Objective and proven bound on the way.

    Attributes
    ----------
    times
        (m,) seconds since the first iteration, or iterations when the clock did not move.
    unit
        What the times are.
    objective, bound
        (m,) in the fitted scale.
    log
        Whether they need a logarithmic axis.
    """

    times: FloatArray
    unit: str
    objective: FloatArray
    bound: FloatArray
    log: bool

    def __len__(self) -> int:
        return int(self.times.size)


def convergence_series(result: Result) -> Convergence:
    """Return the trace of a solve as arrays, thinned out where it is long."""
    kept = _thinned(len(result.trace))
    rows = [result.trace[place] for place in kept.tolist()]
    times = np.array([row.seconds for row in rows], dtype=np.float64)
    with np.errstate(invalid="ignore"):  # a model file may say anything of its clock
        times -= times[0] if times.size else 0.0
    unit = "seconds since the first iteration"
    if times.size and times[-1] <= 0.0:
        times = np.array([row.iteration for row in rows], dtype=np.float64)
        unit = "iterations"
    objective = np.array([row.objective for row in rows], dtype=np.float64)
    bound = np.array([row.bound for row in rows], dtype=np.float64)
    return Convergence(
        times=times,
        unit=unit,
        objective=objective,
        bound=bound,
        log=wants_log(objective.tolist()),
    )


def scale_name(path: RadiusPath) -> str:
    """Return what a path was walked in, in two words."""
    transform = "no transform" if path.transform == "none" else path.transform
    baseline = "no baseline" if path.baseline == "none" else f"{path.baseline} baseline"
    return f"{transform}, {baseline}" + (" (first look)" if path.sampled else "")


def scale_words(fit: Fit) -> str:
    """Return what the boxes of a fit add up to."""
    value = fit.labels.value
    transform = fit.predictor.transform.name
    words = value if transform == "none" else f"{transform} of {value}"
    return words if fit.predictor.baseline is None else f"{words} less the baseline"


def square_range(values: FloatArray, predicted: FloatArray) -> tuple[float, float]:
    """Return one range for observed and predicted values, never empty."""
    low = float(min(values.min(), predicted.min()))
    high = float(max(values.max(), predicted.max()))
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        half = 0.5 * max(abs(low), abs(high)) or 0.5
        return low - half, high + half
    return low, high


def _thinned(length: int) -> AnyArray:
    """Return places of a long list, the first and the last among them."""
    if length <= MOST_POINTS:
        return np.arange(length)
    return np.unique(np.linspace(0, length - 1, MOST_POINTS).round().astype(np.int64))
