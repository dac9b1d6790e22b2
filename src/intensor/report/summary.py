"""The figures of a report: a fit held against observations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from intensor._arrays import FloatArray, IndexArray
from intensor.data.lookup import observed_cells
from intensor.data.observations import cell_numbers
from intensor.fitting.record import Fit
from intensor.fitting.scoring import MAE, RMSE

__all__ = ["Summary", "summarise"]

SAME = 1e-6
"""Relative difference of two objectives that can be put down to rounding."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Summary:
    """How well a fit describes observations, in the units of the data unless said otherwise.

    Attributes
    ----------
    coords, values, predicted
        The observations with a weight above 0, and what the fit says of them.
    weighted
        Whether some observations count more than others.
    rmse, mae
        Errors over the observations.
    explained
        Share of the variance of the values that the predictions explain; None when there is
        none to explain.
    n_cells, observed
        Cells of the tensor, and how many of them were observed.
    mean_square
        Of what the boxes were fitted to, in the fitted scale.
    objective
        Mean squared error on these observations in the fitted scale.
    """

    coords: IndexArray
    values: FloatArray
    predicted: FloatArray
    weighted: bool
    rmse: float
    mae: float
    explained: float | None
    n_cells: int
    observed: int
    mean_square: float
    objective: float

    @property
    def residuals(self) -> FloatArray:
        """Predicted minus observed."""
        return self.predicted - self.values

    @property
    def share(self) -> float:
        """Share of the cells that were observed."""
        return self.observed / self.n_cells

    def worst(self, most: int) -> IndexArray:
        """Return the rows of the largest errors, the largest first."""
        return np.argsort(-np.abs(self.residuals), kind="stable")[:most].astype(np.int64)

    def agrees_with(self, objective: float) -> bool:
        """Say whether these can be the observations that gave an objective."""
        larger = max(abs(objective), abs(self.objective))
        return abs(objective - self.objective) <= SAME * larger + 1e-12 * self.mean_square


def summarise(fit: Fit, coords: Any, values: Any = None, *, sample_weight: Any = None) -> Summary:
    """Predict the observations (see ``Fit.verify``) and measure how far off that is."""
    shape = fit.shape
    cells, numbers, weights = observed_cells(
        coords, values, fit.labels, sample_weight=sample_weight
    )
    if weights is not None:
        kept = weights > 0.0
        cells, numbers, weights = cells[kept], numbers[kept], weights[kept]
        weights = None if bool((weights == weights[0]).all()) else weights
    predicted = fit.predict(cells, unseen="mean")
    spread = float(
        np.average((numbers - np.average(numbers, weights=weights)) ** 2, weights=weights)
    )
    rmse = RMSE.measure(numbers, predicted, weights)
    targets = fit.predictor.residual_targets(cells, numbers)
    left = fit.model.evaluate(tuple(cells.T)) - targets
    return Summary(
        coords=cells,
        values=numbers,
        predicted=predicted,
        weighted=weights is not None,
        rmse=rmse,
        mae=MAE.measure(numbers, predicted, weights),
        explained=1.0 - rmse**2 / spread if spread > 0.0 else None,
        n_cells=math.prod(shape),
        observed=int(cell_numbers(cells, shape).max()) + 1,
        mean_square=float(np.average(targets**2, weights=weights)),
        objective=float(np.average(left**2, weights=weights)),
    )
