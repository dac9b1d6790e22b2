"""How a solve converged, and how a radius was chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from intensor._arrays import FloatArray
from intensor.errors import SettingError
from intensor.fitting.path import RadiusPath
from intensor.fitting.record import Fit
from intensor.fitting.verdict import describe_error
from intensor.plots.drawing import (
    BLUE,
    GREY,
    ORANGE,
    OTHERS,
    drawable,
    new_axes,
    plain_label,
    set_log_scale,
    value_range,
    wants_log,
)
from intensor.plots.text import number
from intensor.solver.result import NO_USEFUL_BOUND, Result, has_useful_bound

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = "osD^vP"
MAX_TITLE_LENGTH = 90
"""Longest title of a picture, in characters."""
MAX_CURVE_POINTS = 400
"""Most points of a convergence curve; a longer trace is thinned."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConvergenceSeries:
    """Objective and proven bound of a solve over time, as (m,) arrays; NaN cannot be drawn."""

    times: FloatArray  # since the first iteration; iterations when the clock did not move
    unit: str  # name of what ``times`` holds
    objective: FloatArray  # in the fitted scale, like the bound
    bound: FloatArray
    log: bool  # whether they need a logarithmic axis

    def __len__(self) -> int:
        return int(self.times.size)


def convergence_series(result: Result) -> ConvergenceSeries:
    """Return the trace of a solve as arrays, thinned if it is long; its ends are kept."""
    length = len(result.trace)
    kept = np.unique(
        np.linspace(0, max(length - 1, 0), min(length, MAX_CURVE_POINTS)).round().astype(np.int64)
    )
    rows = [result.trace[index] for index in kept.tolist()]
    unit = "seconds since the first iteration"
    times = np.array([row.seconds for row in rows], dtype=np.float64)
    with np.errstate(invalid="ignore"):  # the trace of a model file may hold any number
        times -= times[0] if times.size else 0.0
    if times.size and times[-1] <= 0.0:
        unit = "iterations"
        times = np.array([row.iteration for row in rows], dtype=np.float64)
    objective = np.array([row.objective for row in rows], dtype=np.float64)
    bound = np.array([row.bound for row in rows], dtype=np.float64)
    return ConvergenceSeries(
        times=drawable(times),
        unit=unit,
        objective=drawable(objective),
        bound=drawable(bound),
        log=wants_log(objective.tolist()),
    )


def convergence(fit_or_result: Fit | Result, *, ax: Axes | None = None) -> Axes:
    """Draw objective and proven bound against time, with the gap between them shaded.

    Parameters
    ----------
    fit_or_result
        What ``solve`` or a fit returned.
    ax
        Axes to draw on; those of a new figure by default.
    """
    result = getattr(fit_or_result, "result", fit_or_result)
    if not isinstance(result, Result):
        raise SettingError(f"convergence got {fit_or_result!r}; expected a fit or a result")
    ax = new_axes(ax)
    series = convergence_series(result)
    ax.set(xlabel=series.unit, ylabel="mean squared error")
    if not len(series):
        ax.text(0.5, 0.5, "no progress was recorded", ha="center", transform=ax.transAxes)
        return ax
    bottom, floor = series.bound, 0.0
    if series.log:
        positive = np.concatenate((series.objective, series.bound))
        floor = float(positive[positive > 0.0].min()) / 3.0
        bottom = np.maximum(bottom, floor)  # a logarithmic axis cannot show a bound of 0
    ax.fill_between(series.times, bottom, series.objective, step="post", color=BLUE, alpha=0.12)
    ax.step(series.times, series.objective, where="post", color=BLUE, label="objective")
    ax.step(series.times, bottom, where="post", color=ORANGE, ls="--", label="proven bound")
    if series.log:
        set_log_scale(ax.yaxis)
    # A limit that is set before the drawing would also stop the other end from growing.
    ax.set_ylim(bottom=floor)
    proven = f"gap {number(max(result.gap, 0.0))}"
    if not has_useful_bound(result):
        proven = NO_USEFUL_BOUND
    ax.set_title(
        f"{result.status.name}: objective {number(result.objective)}, bound "
        f"{number(result.bound)}, {proven}",
        fontsize="medium",
    )
    ax.legend()
    return ax


def radius_path(fit: Fit, *, ax: Axes | None = None) -> Axes:
    """Draw the error on held-out cells against the radius, for every scale that was tried.

    The dashed light line is the training objective of the chosen scale; it has a second axis. Paths
    of graded components are points alone, since several numbers of them are tried at one radius.

    Parameters
    ----------
    fit
        A fit whose radius was chosen by validation.
    ax
        Axes to draw on; those of a new figure by default.
    """
    validation = fit.validation
    if validation is None:
        raise SettingError(
            "this fit has no path of radii, since its radius was given; fit with "
            'radius="auto" to have one'
        )
    ax = new_axes(ax)
    path = validation.path
    _draw_training(ax.twinx(), path)
    ax.set_zorder(1)  # errors and legend lie above the training objective
    ax.patch.set_visible(False)
    others = iter(OTHERS * len(validation.paths))
    for index, tried in enumerate(validation.paths):
        taken = index == validation.chosen
        ax.plot(
            tried.radii,
            drawable(tried.errors),
            marker=MARKERS[index % len(MARKERS)],
            ms=4,
            lw=2 if taken else 1,
            ls="" if tried.graded else "-",  # several numbers of components at one radius
            color=BLUE if taken else next(others),
            label=plain_label(scale_name(tried)),
        )
    scoring = plain_label(validation.metric)
    choice = f"radius {number(path.radius)}, {scoring} {number(path.error)}"
    error = drawable(np.array([path.error]))
    ax.plot([path.radius], error, "o", ms=13, mfc="none", mec=ORANGE, mew=2, ls="", label=choice)
    set_log_scale(ax.xaxis)
    errors = drawable(np.concatenate([tried.errors for tried in validation.paths]))
    low, high = value_range(errors)
    if wants_log(errors.tolist()):
        set_log_scale(ax.yaxis)
    elif low < np.nanmin(errors, initial=np.inf):  # the errors are equal but for rounding
        ax.set_ylim(low, high)
    held_out = f"held-out {scoring} of {plain_label(fit.labels.value)}"
    ax.set(xlabel="radius (fitted scale)", ylabel=held_out)
    ax.set_title(plain_label(describe_error(validation), most=MAX_TITLE_LENGTH), fontsize="medium")
    ax.legend(fontsize="small")
    return ax


def _draw_training(ax: Axes, path: RadiusPath) -> None:
    objectives = drawable(path.objectives)
    style, name = ("", "dots") if path.graded else ("--", "dashed")
    ax.plot(path.radii, objectives, color=GREY, alpha=0.5, ls=style, lw=1, marker=".")
    ax.spines["top"].set_visible(False)
    ax.set_ylabel(f"training objective ({name})", color=GREY)
    ax.tick_params(axis="y", colors=GREY)
    ax.set_ylim(0.0, 1.05 * value_range(objectives)[1])


def scale_name(path: RadiusPath) -> str:
    """Return a short name of the scale in which a path of radii was fitted."""
    transform = {"none": "no transform"}.get(path.transform, path.transform)
    baseline = {"none": "no"}.get(path.baseline, path.baseline)
    terms = ", graded" if path.graded else ""
    return f"{transform}, {baseline} baseline{terms}" + (" (first look)" if path.sampled else "")
