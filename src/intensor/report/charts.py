"""The charts of the report, each one inline SVG."""

from __future__ import annotations

import math

import numpy as np

from intensor._arrays import FloatArray
from intensor.fitting.record import Validation
from intensor.report.axis import Axis, make_axis, wants_log
from intensor.report.canvas import Canvas
from intensor.report.numbers import number
from intensor.report.series import Convergence, scale_name, square_range
from intensor.report.text import clean, shorten

__all__ = ["convergence_chart", "path_chart", "residual_chart", "scatter_chart"]

MOST_DOTS = 300
"""Observations that are drawn one by one; more are counted in cells."""
CELLS_ACROSS = 40
LEVELS = 6
"""Shades of the cells."""
BARS = 31
NAME = 24
"""Longest name of the values inside an axis name."""


def convergence_chart(series: Convergence) -> str:
    """Draw objective, proven bound and the gap between them against time."""
    x = make_axis(series.times.tolist(), zero=True)
    shown = [*series.objective.tolist(), *series.bound.tolist()]
    y = make_axis(shown, log=series.log, zero=not series.log)
    suffix = ", log scale" if series.log else ""
    canvas = Canvas(x, y, x_name=series.unit, y_name=f"mean squared error{suffix}")
    times, objective = series.times.tolist(), series.objective.tolist()
    bound = series.bound.tolist()
    canvas.area(times, bound, objective, "gap")
    canvas.line(times, bound, "bound", stairs=True)
    canvas.line(times, objective, "objective", stairs=True)
    canvas.dot(times[-1], bound[-1], "bound", tip=f"bound {number(bound[-1])}")
    canvas.dot(times[-1], objective[-1], "objective", tip=f"objective {number(objective[-1])}")
    return canvas.finish(
        f"Objective falls from {number(objective[0])} to {number(objective[-1])}; the proven "
        f"bound rises from {number(bound[0])} to {number(bound[-1])}"
    )


def path_chart(validation: Validation) -> str:
    """Draw the error on held-out cells against the radius, one line per scale."""
    paths = validation.paths
    errors = [error for path in paths for error in path.errors.tolist()]
    radii = [radius for path in paths for radius in path.radii.tolist()]
    log = wants_log(errors)
    suffix = ", log scale" if log else ""
    canvas = Canvas(
        make_axis(radii, log=True),
        make_axis(errors, log=log),
        x_name="radius, log scale",
        y_name=f"held-out {validation.metric}{suffix}",
    )
    order = [place for place in range(len(paths)) if place != validation.chosen]
    for place in [*order, validation.chosen]:  # the chosen one last, on top
        path = paths[place]
        kind = "objective" if place == validation.chosen else "other"
        if len(path) > 1:
            canvas.line(path.radii.tolist(), path.errors.tolist(), kind)
        for radius, error, boxes in zip(path.radii, path.errors, path.boxes, strict=True):
            tip = (
                f"{scale_name(path)}: radius {number(radius)}, {validation.metric} "
                f"{number(error)}, {number(boxes)} boxes"
            )
            canvas.dot(float(radius), float(error), kind, tip=tip)
    best = validation.path
    canvas.dot(best.radius, best.error, "chosen", radius=7.0)
    return canvas.finish(
        f"Held-out {validation.metric} is least, {number(best.error)}, at radius "
        f"{number(best.radius)}"
    )


def scatter_chart(values: FloatArray, predicted: FloatArray, *, name: str) -> str:
    """Draw predicted against observed values: dots when they are few, shaded cells when many."""
    low, high = square_range(values, predicted)
    axis = make_axis([low, high], zero=low >= 0.0 and low <= 0.3 * high)
    word = shorten(clean(name), most=NAME)
    canvas = Canvas(axis, axis, x_name=f"observed {word}", y_name=f"predicted {word}")
    if values.size <= MOST_DOTS:
        canvas.rule((axis.low, axis.low), (axis.high, axis.high), "diagonal")
        for observed, fitted in zip(values.tolist(), predicted.tolist(), strict=True):
            canvas.dot(observed, fitted, "faint", radius=2.5)
    else:
        _shade(canvas, axis, values, predicted)
        canvas.rule((axis.low, axis.low), (axis.high, axis.high), "diagonal")
    return canvas.finish(f"Predicted against observed {word}, {values.size} observations")


def _shade(canvas: Canvas, axis: Axis, values: FloatArray, predicted: FloatArray) -> None:
    """Count observations in cells and fill those of each shade."""
    edges = np.linspace(axis.low, axis.high, CELLS_ACROSS + 1)
    counts, _, _ = np.histogram2d(values, predicted, bins=[edges, edges])
    most = max(float(counts.max()), 2.0)
    steps = np.ceil(LEVELS * np.log1p(counts) / math.log1p(most)).astype(int)
    for level in range(1, LEVELS + 1):
        places = np.argwhere(np.minimum(steps, LEVELS) == level).tolist()
        canvas.cells(
            ((edges[i], edges[j], edges[i + 1], edges[j + 1]) for i, j in places),
            f"level{level}",
        )


def residual_chart(residuals: FloatArray, *, name: str) -> str:
    """Draw how often errors of each size occur."""
    # Long tails would press the bulk into one bar; the bars at the ends take them in.
    reach = float(np.quantile(np.abs(residuals), 0.995)) or float(np.abs(residuals).max())
    reach = reach or 0.5
    edges = np.linspace(-reach, reach, BARS + 1)
    counts, _ = np.histogram(np.clip(residuals, -reach, reach), bins=edges)
    canvas = Canvas(
        Axis(low=-reach * 1.03, high=reach * 1.03),
        make_axis(counts.tolist(), zero=True),
        x_name=f"predicted minus observed {shorten(clean(name), most=NAME)}",
        y_name="observations",
    )
    canvas.cells(
        ((edges[i], 0.0, edges[i + 1], float(some)) for i, some in enumerate(counts) if some),
        "bars",
    )
    canvas.rule((0.0, 0.0), (0.0, float(counts.max()) * 1.05), "diagonal")
    beyond = int((np.abs(residuals) > reach).sum())
    tail = f"; {beyond} lie beyond {number(reach)} and are counted in the outermost bars"
    return canvas.finish(
        f"Errors of {residuals.size} observations, median {number(float(np.median(residuals)))}"
        + (tail if beyond else "")
    )
