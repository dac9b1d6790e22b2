"""Parts of all pictures: figures without a window, colours, log axes, labels as plain text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from intensor._arrays import AnyArray, FloatArray
from intensor.plots.text import TIMES, clean, number, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import XAxis, YAxis
    from matplotlib.figure import Figure

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#6b7280"
OTHERS = ("#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
"""Colours that people with any kind of colour vision can tell apart (Okabe and Ito)."""
BACKGROUND = "#eef1f4"
"""Colour of a panel where there is no data."""
MAX_INDICES_NAMED = 26
"""Longest mode, in indices, whose labels are all written; a longer one shows seven of them."""
MAX_DRAWN_NUMBER = 1e250
"""Largest number that is drawn: beyond it, an axis with margins would overflow."""
MIN_LOG_RATIO = 10.0
"""Numbers that differ by more than this factor are shown on a logarithmic axis."""
MAX_TICKS = 7
"""Most ticks of a logarithmic axis that has one tick per power of ten."""


def new_figure(size: tuple[float, float]) -> Figure:
    """Return an empty figure of a size in inches, which no window system knows of."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    return Figure(figsize=size, layout="constrained")


def new_axes(ax: Axes | None) -> Axes:
    """Return the given axes with a light grid, or those of a new figure."""
    if ax is None:
        ax = new_figure((6.4, 4.2)).subplots()
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25)
    return ax


def plain_label(label: object, *, most: int = 40) -> str:
    """Return a label for matplotlib, in which a dollar sign does not begin a formula."""
    return shorten(clean(label), most=most).replace("$", r"\$")


def label_indices(axis: XAxis | YAxis, labels: AnyArray) -> None:
    """Write the labels of a mode along an axis: all of a short mode, some of a long one."""
    if labels.size <= MAX_INDICES_NAMED:
        shown = np.arange(labels.size)
    else:
        shown = np.linspace(0, labels.size - 1, 7).round().astype(np.int64)
    names = [plain_label(labels[index], most=16) for index in shown.tolist()]
    crowded = axis.axis_name == "x" and max(map(len, names)) * len(names) > 40
    axis.set_ticks(shown.tolist(), names, fontsize="x-small", rotation=90 if crowded else 0)


def drawable(values: FloatArray) -> FloatArray:
    """Return the values with NaN for those too large to draw, and 0 for those too small."""
    size = np.abs(values)
    shown = np.where(size < 1.0 / MAX_DRAWN_NUMBER, 0.0, values)
    return np.where(size <= MAX_DRAWN_NUMBER, shown, np.nan)


def value_range(values: FloatArray) -> tuple[float, float]:
    """Return the least and the greatest value, or a wider range if they agree; NaN is ignored."""
    known = values[~np.isnan(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        half = 0.5 * max(abs(low), abs(high)) or 0.5
        return low - half, high + half
    return low, high


def wants_log(values: Iterable[float]) -> bool:
    """Say whether positive values differ so much that their axis should be logarithmic."""
    positive = [value for value in values if 0.0 < value <= MAX_DRAWN_NUMBER]
    return bool(positive) and max(positive) / MIN_LOG_RATIO > min(positive)


def set_log_scale(axis: XAxis | YAxis) -> None:
    """Make an axis logarithmic, with ticks written as text instead of formulas.

    Call it after the drawing: the number of ticks per power of ten follows from the data.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator  # noqa: PLC0415

    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    low, high = np.log10(axis.get_view_interval())
    decades = high - low
    subs = (1.0,) if decades > 3.5 else (1.0, 3.0) if decades > 1.5 else (1.0, 2.0, 5.0)
    log_ticks = LogLocator(subs=subs, numticks=MAX_TICKS)
    axis.set_major_locator(MaxNLocator(5) if decades < 0.8 else log_ticks)
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(_tick_text))


def _tick_text(value: float, position: int | None = None) -> str:
    return number(value, digits=6).removeprefix(f"1{TIMES}")
