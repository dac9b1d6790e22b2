"""How far predictions are from held-out values, in the units of the data."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from intensor._arrays import FloatArray

__all__ = ["METRICS", "measure"]


def _rmse(values: FloatArray, predicted: FloatArray, weights: FloatArray) -> float:
    return float(np.sqrt(np.average((predicted - values) ** 2, weights=weights)))


def _mae(values: FloatArray, predicted: FloatArray, weights: FloatArray) -> float:
    return float(np.average(np.abs(predicted - values), weights=weights))


def _mape(values: FloatArray, predicted: FloatArray, weights: FloatArray) -> float:
    some = values != 0.0
    if not some.any():
        return 0.0 if not predicted.any() else float("inf")
    relative = np.abs(predicted[some] - values[some]) / np.abs(values[some])
    return float(np.average(relative, weights=weights[some]))


def _balanced(values: FloatArray, predicted: FloatArray, weights: FloatArray) -> float:
    roots = np.sqrt(np.maximum(predicted, 0.0)) - np.sqrt(np.maximum(values, 0.0))
    return math.sqrt(
        _rmse(values, predicted, weights) * float(np.average(roots**2, weights=weights))
    )


METRICS: dict[str, Callable[[FloatArray, FloatArray, FloatArray], float]] = {
    "rmse": _rmse,
    "mae": _mae,
    "mape": _mape,
    "balanced": _balanced,
}
"""Root of the mean squared error, mean absolute error, mean absolute error relative to the value
(over values that are not 0), and the geometric mean of the first one and the mean squared
difference of square roots, to which large and small values both matter."""


def measure(
    name: str, values: FloatArray, predicted: FloatArray, weights: FloatArray | None = None
) -> float:
    """Return an error by its name, 0 for no values at all."""
    if values.size == 0:
        return 0.0
    return METRICS[name](values, predicted, np.ones(values.size) if weights is None else weights)
