"""Which indices the heaviest boxes cover."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from intensor._arrays import FloatArray
from intensor.fitting.record import Fit
from intensor.options.ranges import check_at_least
from intensor.plots.drawing import BACKGROUND, label_indices, new_figure, plain_label
from intensor.plots.text import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure, SubFigure

MAX_ROWS = 160
"""Most rows of a panel; in a longer mode, neighbouring indices share a row."""
MAX_PANEL_HEIGHT = 36
"""Height of the tallest panel, in rows of a short mode."""


def boxes(
    fit: Fit, *, most: int = 12, figure: Figure | SubFigure | None = None
) -> Figure | SubFigure:
    """Draw which indices the heaviest boxes cover, one panel per mode.

    Columns are boxes, rows are indices of the mode, and the colour is the weight. In a mode that
    is longer than the picture, neighbouring indices share a row; the fewer of them a box covers,
    the paler the row. Graded components are drawn like boxes, paler where their entries are small.

    Parameters
    ----------
    fit
        The fit.
    most
        Number of boxes to draw.
    figure
        Figure to draw on; a new one by default.
    """
    shown = min(check_at_least("most", most, 1, integer=True), len(fit.model))
    heights = [min(max(length, 4), MAX_PANEL_HEIGHT) for length in fit.shape]
    if figure is None:
        tall = 1.2 + 0.17 * sum(heights) + 0.3 * len(heights)
        figure = new_figure((max(5.0, 2.0 + 0.5 * shown), tall))
    from matplotlib.cm import ScalarMappable  # noqa: PLC0415
    from matplotlib.colors import Normalize  # noqa: PLC0415

    panels = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    terms = fit.model.heaviest(shown)
    weights = np.array([term.weight for term in terms])
    largest = float(np.abs(weights).max(initial=0.0)) or 1.0
    norm = Normalize(vmin=-largest if fit.model.signed else 0.0, vmax=largest)
    colours = _weight_colours(signed=fit.model.signed)
    for mode, length in enumerate(fit.shape):
        entries = np.array([term.profiles[mode] for term in terms]).reshape(shown, length)
        _draw_mode(panels[mode], entries, colours(norm(weights)))
        label_indices(panels[mode].yaxis, fit.labels.indices[mode])
        panels[mode].set(ylabel=plain_label(fit.labels.modes[mode]), xticks=[])
    last = panels[-1]
    last.set_xticks(range(shown), [number(weight, digits=3) for weight in weights])
    last.tick_params(axis="x", bottom=False, labelrotation=45 if shown > 6 else 0)
    noun = "component" if len(fit.model.components) else "box"
    last.set_xlabel(f"weight of the {noun} ({shown} heaviest of {len(fit.model)})")
    figure.colorbar(ScalarMappable(norm, colours), ax=list(panels), label="weight", fraction=0.04)
    return figure


def _draw_mode(panel: Axes, entries: FloatArray, colours: FloatArray) -> None:
    """Draw the panel of one mode from (k, length) entries and (k, 4) colours of k terms."""
    shown, length = entries.shape
    edges = np.linspace(0, length, min(length, MAX_ROWS) + 1).round().astype(np.int64)
    right, bottom = max(shown, 1) - 0.5, length - 0.5
    panel.set(facecolor=BACKGROUND, xlim=(-0.5, right), ylim=(bottom, -0.5))
    if not shown:
        return
    covered = np.add.reduceat(entries, edges[:-1], axis=1) / np.diff(edges)
    picture = np.repeat(colours[np.newaxis], edges.size - 1, axis=0)
    picture[:, :, 3] = np.sqrt(covered.T)
    extent = (-0.5, right, bottom, -0.5)
    panel.imshow(picture, aspect="auto", interpolation="nearest", extent=extent)
    for edge in range(shown - 1):
        panel.axvline(edge + 0.5, color="white", lw=2)


def _weight_colours(*, signed: bool) -> Colormap:
    """Return colours for weights that never fade into the background."""
    import matplotlib  # noqa: PLC0415
    from matplotlib.colors import LinearSegmentedColormap  # noqa: PLC0415

    upper = matplotlib.colormaps["Blues"](np.linspace(0.35, 1.0, 128))
    if not signed:
        return LinearSegmentedColormap.from_list("weights", upper)
    lower = matplotlib.colormaps["Oranges"](np.linspace(1.0, 0.35, 128))
    return LinearSegmentedColormap.from_list("signed weights", np.concatenate((lower, upper)))
