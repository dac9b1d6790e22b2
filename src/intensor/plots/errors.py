"""Errors: predictions held against observations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from intensor.data.lookup import observed_cells
from intensor.fitting.record import Fit
from intensor.plots.drawing import BLUE, ORANGE, new_figure, word
from intensor.report.axis import wants_log
from intensor.report.numbers import number
from intensor.report.series import square_range

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

__all__ = ["residuals"]

MOST_POINTS = 2000
"""Observations that are drawn one by one; more are counted in hexagons."""


def residuals(
    fit: Fit,
    coords: Any,
    values: Any = None,
    *,
    figure: Figure | SubFigure | None = None,
) -> Figure | SubFigure:
    """Draw predicted against observed values, and how often errors of each size occur.

    Parameters
    ----------
    fit, coords, values
        The fit and observations to hold it against, as in ``Fit.verify``: a table holds labels,
        an array of integers positions.
    figure
        Where to draw; a new figure by default.
    """
    cells, observed, _ = observed_cells(coords, values, fit.labels)
    predicted = fit.predict(cells, unseen="mean")
    figure = new_figure((10.0, 4.4)) if figure is None else figure
    left, right = figure.subplots(1, 2)
    low, high = square_range(observed, predicted)
    if observed.size > MOST_POINTS:
        cloud = left.hexbin(
            observed,
            predicted,
            gridsize=45,
            mincnt=1,
            bins="log",
            cmap="cividis_r",
            extent=(low, high, low, high),
        )
        figure.colorbar(cloud, ax=left, label="observations")
    else:
        left.scatter(observed, predicted, s=14, color=BLUE, alpha=0.5, linewidths=0)
    left.plot([low, high], [low, high], color=ORANGE, ls="--", lw=1.2, label="prediction is right")
    value = word(fit.labels.value)
    left.set_xlabel(f"observed {value}")
    left.set_ylabel(f"predicted {value}")
    left.legend(loc="upper left", fontsize="small")
    errors = predicted - observed
    reach = float(np.abs(errors).max()) or 0.5
    right.hist(errors, bins=np.linspace(-reach, reach, 42).tolist(), color=BLUE)
    right.axvline(0.0, color=ORANGE, ls="--", lw=1.2)
    if wants_log([float(errors.size), 1.0]):
        right.set_yscale("symlog", linthresh=1.0)
        right.set_ylim(bottom=0.0)
    right.set_xlabel(f"predicted minus observed {value}")
    right.set_ylabel("observations")
    rmse = float(np.sqrt(np.mean(errors**2)))
    right.set_title(f"RMSE {number(rmse)}, MAE {number(np.abs(errors).mean())}", fontsize="medium")
    return figure
