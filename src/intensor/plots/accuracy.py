"""Predictions compared with observations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from intensor._arrays import FloatArray
from intensor.data.lookup import observed_cells
from intensor.fitting.record import Fit
from intensor.plots.drawing import BLUE, ORANGE, new_figure, plain_label, value_range, wants_log
from intensor.plots.text import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure, SubFigure

MAX_POINTS = 2000
"""Most observations that are drawn as points; more are counted in hexagons."""
N_BARS = 41
"""Number of bars of the histogram of errors; it is odd, so that one bar is centred on 0."""


def residuals(
    fit: Fit, coords: Any, values: Any = None, *, figure: Figure | SubFigure | None = None
) -> Figure | SubFigure:
    """Draw predicted against observed values, and how often errors of each size occur.

    Parameters
    ----------
    fit, coords, values
        The fit and the observations to compare it with, as in ``Fit.verify``: a table holds
        labels, an array of integers positions.
    figure
        Figure to draw on; a new one by default.
    """
    cells, observed, _ = observed_cells(coords, values, fit.labels)
    predicted = fit.predict(cells, unseen="mean")
    figure = new_figure((10.0, 4.4)) if figure is None else figure
    left, right = figure.subplots(1, 2)
    value = plain_label(fit.labels.value)
    hexagons = draw_scatter(left, observed, predicted, value=value)
    if hexagons is not None:
        figure.colorbar(hexagons, ax=left, label="observations")
    errors = predicted - observed
    draw_error_counts(right, errors, value=value)
    rmse = float(np.sqrt(np.mean(errors**2)))
    right.set_title(f"RMSE {number(rmse)}, MAE {number(np.abs(errors).mean())}", fontsize="medium")
    return figure


def draw_scatter(
    ax: Axes,
    observed: FloatArray,
    predicted: FloatArray,
    *,
    value: str,
    max_points: int = MAX_POINTS,
    n_hexagons: int = 45,
    colours: Colormap | str = "cividis_r",
) -> PolyCollection | None:
    """Draw predicted against observed values, as points or, if there are many, as hexagons.

    ``value`` names the values, ready to be drawn (see ``plain_label``); ``n_hexagons`` is their
    number across. Hexagons are returned for a colour bar.
    """
    low, high = value_range(np.concatenate((observed, predicted)))
    hexagons = None
    if observed.size > max_points:
        hexagons = ax.hexbin(
            observed,
            predicted,
            gridsize=n_hexagons,
            mincnt=1,
            bins="log",
            cmap=colours,
            extent=(low, high, low, high),
        )
    else:
        ax.scatter(observed, predicted, s=14, color=BLUE, alpha=0.5, linewidths=0)
    ax.plot([low, high], [low, high], color=ORANGE, ls="--", lw=1.2, label="prediction is right")
    ax.set(xlabel=f"observed {value}", ylabel=f"predicted {value}")
    ax.legend(loc="upper left", fontsize="small")
    return hexagons


def draw_error_counts(ax: Axes, errors: FloatArray, *, value: str) -> None:
    """Draw a histogram of the errors; with many of them, counts are on a logarithmic axis."""
    from matplotlib.ticker import StrMethodFormatter  # noqa: PLC0415

    reach = float(np.abs(errors).max()) or 0.5
    ax.hist(errors, bins=np.linspace(-reach, reach, N_BARS + 1).tolist(), color=BLUE)
    ax.axvline(0.0, color=ORANGE, ls="--", lw=1.2)
    if wants_log([float(errors.size), 1.0]):
        ax.set_yscale("symlog", linthresh=1.0)
        ax.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        ax.set_ylim(bottom=0.0)
    ax.set_xlabel(f"predicted minus observed {value}")
    ax.set_ylabel("observations" if ax.get_yscale() == "linear" else "observations, log scale")
