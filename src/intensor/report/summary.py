"""The figures of a fit, computed once for the report, the commands and their JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from intensor._arrays import FloatArray, IndexArray
from intensor.data.lookup import observed_cells
from intensor.data.observations import cell_numbers
from intensor.fitting.description import describe_model
from intensor.fitting.record import Fit, Validation
from intensor.fitting.scoring import MAE, RMSE
from intensor.fitting.verdict import find_unbeaten, is_no_better, list_references, percent
from intensor.model.transform import IDENTITY
from intensor.solver.result import NO_USEFUL_BOUND, Status, has_useful_bound

MAX_ROUNDING_SHARE = 1e-6
"""Relative difference between two objectives that may be due to rounding alone."""
PATH_FIGURES = (
    *("transform", "baseline", "sampled", "radii", "errors"),
    *("kriged", "objectives", "boxes", "graded", "limits", "seconds"),
)
"""Attributes of a path of radii that are part of the JSON output."""


def summarise(fit: Fit) -> dict[str, Any]:
    """Return the figures of a fit; names and order are those of the JSON output."""
    result = fit.result
    return {
        "status": fit.status.name,
        "message": fit.status.sentence,
        "objective": fit.objective,
        "bound": fit.bound,
        "gap": fit.gap,
        "relative_gap": relative_gap(fit),
        "useful_bound": has_useful_bound(result),
        "tolerance": result.tolerance,
        "bound_source": result.bound_source,
        **_model_figures(fit),
        "share": fit.share,
        "share_of_terms": share_of_terms(fit),
        "partners": [_partner_figures(partner) for partner in fit.partners],
        "n": fit.n,
        "shape": fit.shape,
        "cells": math.prod(fit.shape),
        "modes": fit.labels.modes,
        "value": fit.labels.value,
        "version": result.version,
        "iterations": result.counters.iterations,
        "solve_seconds": result.seconds.total,
        "validation": None if fit.validation is None else _validation_figures(fit.validation),
    }


def _model_figures(fit: Fit) -> dict[str, Any]:
    """Return the scale and the terms of a member of a fit."""
    predictor = fit.predictor
    return {
        "radius": fit.radius,
        "transform": predictor.transform.name,
        "baseline": "none" if predictor.baseline is None else "additive",
        "remainder": "none" if predictor.remainder is None else predictor.remainder.method,
        "boxes": len(fit.model.vertices),
        "components": len(fit.model.components),
        "n_solutions": fit.n_solutions,
    }


def _partner_figures(partner: Fit) -> dict[str, Any]:
    return {
        "share": partner.share,
        "description": describe_model(partner),
        "status": partner.status.name,
        "objective": partner.objective,
        "bound": partner.bound,
        **_model_figures(partner),
    }


def describe_member(member: Fit) -> str:
    """Return share, scale, terms and certificate of a member of a fit in words."""
    described = f"{percent(member.share)}: {describe_model(member)}"
    if member.status is Status.NO_TERMS:
        return f"{described} (no terms, so nothing to prove)"
    proven = f"gap {max(member.gap, 0.0):.3g}"
    if not has_useful_bound(member.result):
        proven = NO_USEFUL_BOUND
    return f"{described} ({member.status.name}, {proven})"


def share_of_terms(fit: Fit) -> float:
    """Return the share of the prediction that models of terms have, each with a certificate."""
    return math.fsum(one.share for one in fit.members if one.status is not Status.NO_TERMS)


def relative_gap(fit: Fit) -> float:
    """Return the gap as a share of the objective, or 0 if the objective is 0."""
    return fit.gap / fit.objective if fit.objective > 0.0 else 0.0


def proven_gap(fit: Fit) -> tuple[float, float]:
    """Return gap and relative gap, or 0 where rounding has left negative ones."""
    return max(fit.gap, 0.0), max(relative_gap(fit), 0.0)


def _validation_figures(validation: Validation) -> dict[str, Any]:
    return {
        "metric": validation.metric,
        "folds": validation.folds,
        "held_out": validation.held_out,
        "error": validation.expected_error,
        "spread": validation.spread,
        "references": [one._asdict() for one in list_references(validation)],
        "no_better_than": find_unbeaten(validation),
        "no_better_than_mean_or_main_effects": is_no_better(validation),
        "error_of_mean": validation.error_of_mean,
        "blended": validation.blended,
        "approach": [{"gap": gap, "error": error} for gap, error in validation.approach],
        "single": validation.single,
        "averaged": validation.averaged,
        "chosen": validation.chosen,
        "paths": [
            {name: getattr(path, name) for name in PATH_FIGURES} for path in validation.paths
        ],
    }


def errors_of(
    fit: Fit, coords: IndexArray, values: FloatArray, weights: FloatArray | None
) -> dict[str, float]:
    """Return RMSE and MAE on observations, in the units of the data."""
    return _errors(values, fit.predict(coords, unseen="mean"), weights)


def _errors(
    values: FloatArray, predicted: FloatArray, weights: FloatArray | None
) -> dict[str, float]:
    return {one.name: one.measure(values, predicted, weights) for one in (RMSE, MAE)}


def fitted_name(fit: Fit) -> str:
    """Return a name for the quantity that the boxes add up to, such as "sqrt of price"."""
    value, transform = fit.labels.value, fit.predictor.transform
    name = value if transform == IDENTITY else f"{transform.name} of {value}"
    return name if fit.predictor.baseline is None else f"{name} less the baseline"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Comparison:
    """A fit compared with observations, in the units of the data unless stated otherwise.

    Observations with a weight of 0 are left out.
    """

    coords: IndexArray
    values: FloatArray
    predicted: FloatArray
    weighted: bool  # whether some observations count more than others
    rmse: float
    mae: float
    explained: float | None  # share of the variance; None when the values do not vary
    n_observed: int  # number of distinct cells
    mean_square: float  # of what the boxes were fitted to, in the fitted scale
    objective: float  # mean squared error on these observations, in the fitted scale

    @property
    def residuals(self) -> FloatArray:
        """Predicted minus observed."""
        return self.predicted - self.values

    def worst(self, most: int) -> IndexArray:
        """Return the rows of the largest errors, the largest first."""
        return np.argsort(-np.abs(self.residuals), kind="stable")[:most].astype(np.int64)

    def agrees_with(self, objective: float) -> bool:
        """Say whether a fit with this objective may have been fitted to these observations."""
        larger = max(abs(objective), abs(self.objective))
        rounding = MAX_ROUNDING_SHARE * larger + 1e-12 * self.mean_square
        return abs(objective - self.objective) <= rounding


def compare(fit: Fit, coords: Any, values: Any = None, *, sample_weight: Any = None) -> Comparison:
    """Compare a fit with observations, which are given as in ``Fit.verify``."""
    cells, numbers, weights = observed_cells(
        coords, values, fit.labels, sample_weight=sample_weight
    )
    if weights is not None:
        kept = weights > 0.0
        cells, numbers, weights = cells[kept], numbers[kept], weights[kept]
        weights = None if bool((weights == weights[0]).all()) else weights
    predicted = fit.predict(cells, unseen="mean")
    mean = np.average(numbers, weights=weights)
    variance = float(np.average((numbers - mean) ** 2, weights=weights))
    errors = _errors(numbers, predicted, weights)
    targets = fit.predictor.residual_targets(cells, numbers)
    left = fit.model.evaluate(tuple(cells.T)) - targets
    return Comparison(
        coords=cells,
        values=numbers,
        predicted=predicted,
        weighted=weights is not None,
        rmse=errors["rmse"],
        mae=errors["mae"],
        explained=1.0 - errors["rmse"] ** 2 / variance if variance > 0.0 else None,
        n_observed=int(cell_numbers(cells, fit.shape).max()) + 1,
        mean_square=float(np.average(targets**2, weights=weights)),
        objective=float(np.average(left**2, weights=weights)),
    )
