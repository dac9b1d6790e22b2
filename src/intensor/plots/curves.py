"""Curves: how a solve converged, and how a radius was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from intensor.errors import SettingError
from intensor.fitting.record import Fit
from intensor.plots.drawing import BLUE, GREY, ORANGE, OTHERS, new_axes, word
from intensor.report.axis import wants_log
from intensor.report.numbers import number
from intensor.report.series import convergence_series, scale_name
from intensor.solver.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["convergence", "radius_path"]

MARKERS = "osD^vP"


def convergence(fit_or_result: Fit | Result, *, ax: Axes | None = None) -> Axes:
    """Draw objective and proven bound against time, with the gap between them shaded.

    Parameters
    ----------
    fit_or_result
        What ``solve`` or a fit returned.
    ax
        Where to draw; a new figure by default.
    """
    result = getattr(fit_or_result, "result", fit_or_result)
    if not isinstance(result, Result):
        raise SettingError(f"convergence got {fit_or_result!r}; expected a fit or a result")
    ax = new_axes(ax)
    series = convergence_series(result)
    ax.set_xlabel(series.unit)
    ax.set_ylabel("mean squared error")
    if not len(series):
        ax.text(0.5, 0.5, "no progress was recorded", ha="center", transform=ax.transAxes)
        return ax
    bottom, floor = series.bound, 0.0
    if series.log:
        ax.set_yscale("log")
        positive = np.concatenate((series.objective, series.bound))
        floor = float(positive[positive > 0.0].min()) / 3.0
        bottom = np.maximum(bottom, floor)  # a bound of 0 has no place on this axis
    ax.fill_between(series.times, bottom, series.objective, step="post", color=BLUE, alpha=0.12)
    ax.step(series.times, series.objective, where="post", color=BLUE, label="objective")
    ax.step(series.times, bottom, where="post", color=ORANGE, ls="--", label="proven bound")
    # After the drawing: a limit that is set before it also stops the other end from growing.
    ax.set_ylim(bottom=floor)
    ax.set_title(
        f"{result.status.name}: objective {number(result.objective)}, bound "
        f"{number(result.bound)}, gap {number(max(result.gap, 0.0))}",
        fontsize="medium",
    )
    ax.legend()
    return ax


def radius_path(fit: Fit, *, ax: Axes | None = None) -> Axes:
    """Draw the error on held-out cells against the radius, for every scale that was tried.

    The dashed light line is the training objective of the scale that was taken, on an axis of
    its own.

    Parameters
    ----------
    fit
        A fit whose radius was chosen by validation.
    ax
        Where to draw; a new figure by default.
    """
    validation = fit.validation
    if validation is None:
        raise SettingError(
            "this fit has no path of radii, since its radius was given; fit with "
            'radius="auto" to have one'
        )
    ax = new_axes(ax)
    path = validation.path
    training = ax.twinx()
    training.plot(path.radii, path.objectives, color=GREY, alpha=0.5, ls="--", lw=1, marker=".")
    training.set_ylabel("training objective (dashed)", color=GREY)
    training.tick_params(axis="y", colors=GREY)
    training.set_ylim(bottom=0.0)
    others = 0
    for place, tried in enumerate(validation.paths):
        taken = place == validation.chosen
        colour = BLUE if taken else OTHERS[others % len(OTHERS)]
        others += not taken
        ax.plot(
            tried.radii,
            tried.errors,
            marker=MARKERS[place % len(MARKERS)],
            ms=4,
            lw=2 if taken else 1,
            color=colour,
            label=scale_name(tried),
        )
    told = f"radius {number(path.radius)}, {validation.metric} {number(path.error)}"
    ax.plot(
        [path.radius], [path.error], "o", ms=13, mfc="none", mec=ORANGE, mew=2, ls="", label=told
    )
    ax.set_xscale("log")
    if wants_log(error for tried in validation.paths for error in tried.errors.tolist()):
        ax.set_yscale("log")
    ax.set_xlabel("radius (fitted scale)")
    ax.set_ylabel(f"held-out {validation.metric} of {word(fit.labels.value)}")
    ax.legend(fontsize="small")
    return ax
