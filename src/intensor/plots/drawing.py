"""What all pictures share: figures without a window, colours, and labels that are plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from intensor._arrays import AnyArray
from intensor.errors import MissingExtraError
from intensor.report.text import clean, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "BLUE",
    "GREY",
    "GROUND",
    "ORANGE",
    "OTHERS",
    "name_indices",
    "new_axes",
    "new_figure",
    "word",
]

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#6b7280"
OTHERS = ("#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
"""Colours that are told apart with any kind of colour vision (Okabe and Ito)."""
GROUND = "#eef1f4"
"""Where there is nothing."""
NAMED = 26
"""Longest mode whose labels are all written."""


def new_figure(size: tuple[float, float]) -> Figure:
    """Return an empty figure, or say how to get matplotlib."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError as problem:
        raise MissingExtraError(
            "intensor.plots needs matplotlib, which is not installed; install it with "
            "pip install 'intensor[plots]'"
        ) from problem
    return Figure(figsize=size, layout="constrained")


def new_axes(ax: Axes | None) -> Axes:
    """Return the axes with a light grid, new ones when there are none."""
    if ax is None:
        ax = new_figure((6.4, 4.2)).subplots()
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25)
    return ax


def word(label: object, *, most: int = 40) -> str:
    """Return a label as plain text: a dollar sign would begin a formula."""
    return shorten(clean(label), most=most).replace("$", r"\$")


def name_indices(panel: Axes, labels: AnyArray, *, axis: str = "y") -> None:
    """Write all labels of a short mode, and some of a long one."""
    if labels.size <= NAMED:
        places = np.arange(labels.size)
    else:
        places = np.linspace(0, labels.size - 1, 7).round().astype(np.int64)
    names = [word(labels[place], most=16) for place in places.tolist()]
    if axis == "y":
        panel.set_yticks(places, names, fontsize="x-small")
        return
    turned = max(map(len, names)) * len(names) > 40
    panel.set_xticks(places, names, fontsize="x-small", rotation=90 if turned else 0)
