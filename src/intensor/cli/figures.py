"""The figures of a fit, for JSON and for people."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from intensor.cli.output import number, rows, shortened

if TYPE_CHECKING:
    from intensor._arrays import FloatArray, IndexArray
    from intensor.fitting.record import Fit, Validation

__all__ = ["describe", "errors_of", "figures_of"]


def figures_of(fit: Fit) -> dict[str, Any]:
    """Return everything that a fit says of itself, by name."""
    result = fit.result
    return {
        "status": fit.status.name,
        "message": fit.status.sentence,
        "objective": fit.objective,
        "bound": fit.bound,
        "gap": fit.gap,
        "relative_gap": fit.gap / fit.objective if fit.objective > 0.0 else 0.0,
        "tolerance": result.tolerance,
        "bound_source": result.bound_source,
        "radius": fit.radius,
        "transform": fit.predictor.transform.name,
        "baseline": "none" if fit.predictor.baseline is None else "additive",
        "remainder": "none" if fit.predictor.remainder is None else "kriging",
        "boxes": len(fit.model),
        "n_solutions": fit.n_solutions,
        "n": fit.n,
        "shape": fit.shape,
        "cells": math.prod(fit.shape),
        "modes": fit.labels.modes,
        "value": fit.labels.value,
        "version": result.version,
        "iterations": result.counters.iterations,
        "solve_seconds": result.seconds.total,
        "validation": None if fit.validation is None else _validation(fit.validation),
    }


def _validation(validation: Validation) -> dict[str, Any]:
    return {
        "metric": validation.metric,
        "folds": validation.folds,
        "held_out": validation.held_out,
        "error": validation.path.error,
        "error_of_mean": validation.error_of_mean,
        "approach": [{"gap": gap, "error": error} for gap, error in validation.approach],
        "single": validation.single,
        "averaged": validation.averaged,
        "chosen": validation.chosen,
        "paths": [
            {
                "transform": path.transform,
                "baseline": path.baseline,
                "sampled": path.sampled,
                "radii": path.radii,
                "errors": path.errors,
                "kriged": path.kriged,
                "objectives": path.objectives,
                "boxes": path.boxes,
                "seconds": path.seconds,
            }
            for path in validation.paths
        ],
    }


def errors_of(
    fit: Fit, coords: IndexArray, values: FloatArray, weights: FloatArray | None
) -> dict[str, float]:
    """Return the errors on observations, in the units of the data."""
    from intensor.fitting.scoring import MAE, RMSE  # noqa: PLC0415

    predicted = fit.predict(coords, unseen="mean")
    return {one.name: one.measure(values, predicted, weights) for one in (RMSE, MAE)}


def describe(fit: Fit, errors: dict[str, float] | None = None) -> str:
    """Return the same for people."""
    labels = fit.labels
    lengths = " x ".join(
        f"{shortened(mode)} ({length})"
        for mode, length in zip(labels.modes, fit.shape, strict=True)
    )
    transform = fit.predictor.transform.name
    scale = "" if transform == "none" else f" in the {transform} scale"
    share = f" ({fit.gap / fit.objective:.3g} of the objective)" if fit.objective > 0.0 else ""
    model = f"{len(fit.model)} boxes, radius {number(fit.radius)}"
    if fit.n_solutions > 1:
        model += f", mean of {fit.n_solutions} solutions"
    return rows(
        [
            ("data", f"{fit.n} observations of {shortened(labels.value)} by {lengths}"),
            ("status", f"{fit.status}: {fit.status.sentence}"),
            ("objective", f"{number(fit.objective)}  mean squared error{scale}"),
            ("bound", f"{number(fit.bound)}  proven: no model of this radius is below it"),
            ("gap", f"{number(fit.gap)}{share}"),
            ("rmse", "" if errors is None else f"{number(errors['rmse'])}  on the observations"),
            ("mae", "" if errors is None else number(errors["mae"])),
            ("model", model),
            ("scale", _scale(fit)),
            ("validation", "" if fit.validation is None else _describe_validation(fit.validation)),
        ]
    )


def _scale(fit: Fit) -> str:
    words = []
    if fit.predictor.transform.name != "none":
        words.append(f"{fit.predictor.transform.name} transform")
    if fit.predictor.baseline is not None:
        words.append("additive baseline")
    if fit.predictor.remainder is not None:
        words.append("remainder kriged")
    return ", ".join(words)


def _describe_validation(validation: Validation) -> str:
    tried = sum(len(path) for path in validation.paths)
    folds = f" in each of {validation.folds} folds" if validation.folds > 1 else ""
    words = (
        f"{shortened(validation.metric)} {number(validation.path.error)} on "
        f"{validation.held_out:.0f} held-out observations{folds}, best of {tried} "
        f"fit{'s' if tried > 1 else ''}"
    )
    if validation.error_of_mean is not None:
        words += f"; the mean alone has {number(validation.error_of_mean)}"
        if validation.path.error >= validation.error_of_mean:
            words += ", so the fit is no better (is every column a mode? see --mode)"
    if validation.single is not None and validation.averaged is not None:
        words += (
            f"; one solution {number(validation.single)}, averaged {number(validation.averaged)}"
        )
    return words
