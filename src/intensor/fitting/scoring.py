"""How far predictions are from held-out values, in the units of the data."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from intensor._arrays import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scoring:
    """An error of predictions: a function of values, predictions and weights, never empty."""

    name: str
    error: Callable[[FloatArray, FloatArray, FloatArray], float]
    losses: Callable[[FloatArray, FloatArray], FloatArray]  # of single values, to compare errors by
    squared: bool = False  # whether the error is the root of the mean loss
    relative: bool = False  # whether values of 0 are passed over

    def measure(
        self, values: FloatArray, predicted: FloatArray, weights: FloatArray | None = None
    ) -> float:
        """Return the error of predictions: 0 without values, and infinite where it overflows."""
        if values.size == 0:
            return 0.0
        each = np.ones(values.size) if weights is None else weights
        with np.errstate(over="ignore"):
            return self.error(values, predicted, each)

    def counted(self, values: FloatArray, weights: FloatArray | None = None) -> FloatArray:
        """Return how much each value counts in the error."""
        given = np.ones(values.size) if weights is None else weights
        return np.where(values != 0.0, given, 0.0) if self.relative else given


def _rmse(values: FloatArray, predicted: FloatArray, weights: FloatArray) -> float:
    return float(np.sqrt(np.average((predicted - values) ** 2, weights=weights)))


def _mae(values: FloatArray, predicted: FloatArray, weights: FloatArray) -> float:
    return float(np.average(np.abs(predicted - values), weights=weights))


def _mape(values: FloatArray, predicted: FloatArray, weights: FloatArray) -> float:
    some = values != 0.0
    if not some.any():
        return 0.0 if not predicted.any() else math.inf
    relative = np.abs(predicted[some] - values[some]) / np.abs(values[some])
    return float(np.average(relative, weights=weights[some]))


def _squares(values: FloatArray, predicted: FloatArray) -> FloatArray:
    return (predicted - values) ** 2


def _sizes(values: FloatArray, predicted: FloatArray) -> FloatArray:
    return np.abs(predicted - values)


def _shares(values: FloatArray, predicted: FloatArray) -> FloatArray:
    some = values != 0.0
    return np.where(some, np.abs(predicted - values) / np.where(some, np.abs(values), 1.0), 0.0)


RMSE = Scoring(name="rmse", error=_rmse, losses=_squares, squared=True)
"""Root of the mean squared error."""
MAE = Scoring(name="mae", error=_mae, losses=_sizes)
"""Mean absolute error."""
MAPE = Scoring(name="mape", error=_mape, losses=_shares, relative=True)
"""Mean absolute error relative to the value, over the values that are not 0."""
SCORINGS = {scoring.name: scoring for scoring in (RMSE, MAE, MAPE)}
"""All scorings by their names."""
