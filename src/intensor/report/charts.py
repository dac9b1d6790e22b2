"""The charts of the report: pictures of ``intensor.plots``, embedded as inline SVG.

A chart is drawn in fixed colours, which then become variables of the page's style, so that it
follows the light, dark and print colours of the page. Text stays text.
"""

from __future__ import annotations

import contextlib
import io
import re
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np

from intensor.data.labels import Labels
from intensor.fitting.record import Fit, Validation
from intensor.plots.accuracy import draw_error_counts, draw_scatter
from intensor.plots.curves import convergence, convergence_series, radius_path, scale_name
from intensor.plots.drawing import BLUE, GREY, ORANGE, OTHERS, new_figure, plain_label
from intensor.plots.profiles import RankedTerm, component_inches, draw_component
from intensor.plots.text import clean, number, percent, shorten
from intensor.report.summary import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_POINTS = 300
"""Most observations that are drawn as points; more are counted in hexagons."""
N_HEXAGONS = 28
"""Number of hexagons across a chart; it bounds the size of the page."""
OPACITIES = (0.2, 0.35, 0.5, 0.66, 0.83, 1.0)
"""Opacities of the hexagons, from those with few observations to those with many."""
MAX_NAME_LENGTH = 18
"""Longest name of the values, in characters, in the name of an axis."""
CHART_INCHES = (5.0, 3.6)
"""Width and height of a chart; text of 10 points stays legible on a phone."""
INK, WHITE, LINE = "#1b2430", "#ffffff", "#cccccc"
VARIABLES = {
    BLUE.lower(): "blue",
    ORANGE.lower(): "orange",
    GREY: "soft",
    INK: "ink",
    WHITE: "card",
    LINE: "line",
    OTHERS[0].lower(): "green",
    OTHERS[4]: "ink",
}
"""Variables of the page's style that replace the colours of the pictures."""
SETTINGS: dict[Any, str] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "intensor",
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "grid.color": GREY,
    "legend.edgecolor": LINE,
    "legend.facecolor": WHITE,
    "text.color": INK,
    "xtick.color": GREY,
    "ytick.color": GREY,
}
"""Settings of matplotlib for the charts, on top of its defaults."""
MATPLOTLIB_LOCK = threading.Lock()
"""Held while a chart is drawn, since matplotlib's settings belong to all threads."""


def convergence_chart(fit: Fit) -> str:
    """Draw objective, proven bound and the gap between them against time."""
    series = convergence_series(fit.result)
    (first, last), (low, high) = series.objective[[0, -1]], series.bound[[0, -1]]
    return _embed(
        lambda ax: convergence(fit, ax=ax).set_title(""),
        "convergence",
        f"Objective falls from {number(first)} to {number(last)}; the proven bound rises from "
        f"{number(low)} to {number(high)}",
    )


def path_chart(fit: Fit, validation: Validation) -> str:
    """Draw the error on held-out cells against the radius, one line per scale."""
    tips = {
        f"path{index}": [
            f"{scale_name(path)}: radius {number(radius)}, {validation.metric} {number(error)}, "
            f"{number(boxes)} {'components' if path.graded else 'boxes'}"
            for radius, error, boxes in zip(path.radii, path.errors, path.boxes, strict=True)
        ]
        for index, path in enumerate(validation.paths)
    }

    def draw(ax: Axes) -> None:
        radius_path(fit, ax=ax).set_title("")
        lines = ax.get_lines()
        for name, line in zip(tips, lines, strict=False):
            line.set_gid(name)
        ax.set_ylabel(f"held-out {plain_label(validation.metric)}")

    best = validation.path
    return _embed(
        draw,
        "radius",
        f"Held-out {validation.metric} is least, {number(best.error)}, at radius "
        f"{number(best.radius)}",
        tips=tips,
    )


def scatter_chart(comparison: Comparison, *, value: str) -> str:
    """Draw predicted against observed values, as points or, if there are many, as hexagons."""

    def draw(ax: Axes) -> None:
        from matplotlib.colors import ListedColormap, to_rgba  # noqa: PLC0415

        hexagons = draw_scatter(
            ax,
            comparison.values,
            comparison.predicted,
            value=plain_label(value, most=MAX_NAME_LENGTH),
            max_points=MAX_POINTS,
            n_hexagons=N_HEXAGONS,
            colours=ListedColormap([to_rgba(BLUE, shade) for shade in OPACITIES]),
        )
        if hexagons is not None:
            hexagons.set_linewidth(0.0)

    title = f"Predicted against observed {shorten(clean(value), most=MAX_NAME_LENGTH)}"
    return _embed(draw, "scatter", f"{title}, {comparison.values.size} observations")


def error_chart(comparison: Comparison, *, value: str) -> str:
    """Draw how often errors of each size occur."""
    errors = comparison.residuals
    return _embed(
        lambda ax: draw_error_counts(ax, errors, value=plain_label(value, most=MAX_NAME_LENGTH)),
        "errors",
        f"Errors of {errors.size} observations, median {number(float(np.median(errors)))}",
    )


def component_chart(ranked: RankedTerm, labels: Labels, *, is_signed: bool) -> str:
    """Draw the profiles of one component, its modes below each other."""
    return _embed_figure(
        lambda figure: draw_component(figure, ranked, labels, is_signed=is_signed),
        f"component{ranked.number}",
        f"Profiles of {ranked.kind} {ranked.number}: weight {number(ranked.term.weight)}, "
        f"{percent(ranked.share)} of the fit",
        inches=(CHART_INCHES[0], component_inches(labels)),
    )


def _embed(
    draw: Callable[[Axes], object],
    key: str,
    title: str,
    *,
    tips: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Return a drawing on one pair of axes as inline SVG; ``_embed_figure`` has the arguments."""

    def draw_axes(figure: Figure) -> None:
        ax = figure.subplots()
        draw(ax)
        ax.spines[["top", "right"]].set_visible(False)

    return _embed_figure(draw_axes, key, title, tips=tips)


def _embed_figure(
    draw: Callable[[Figure], object],
    key: str,
    title: str,
    *,
    inches: tuple[float, float] = CHART_INCHES,
    tips: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Return a drawing as inline SVG.

    ``key`` begins all ids of the chart, which makes them unique on the page. ``title`` is a
    sentence for screen readers. ``tips`` appear over the points of a line, by its ``gid``.
    """
    with _report_settings():
        figure = new_figure(inches)
        draw(figure)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    root = ElementTree.fromstring(text.getvalue())
    for gid, texts in (tips or {}).items():
        points = root.findall(f".//*[@id='{gid}']//{{*}}use")
        if len(points) == len(texts):  # points that cannot be drawn are left out
            for point, tip in zip(points, texts, strict=True):
                ElementTree.SubElement(point, "title").text = clean(tip)
    _simplify(root, key)
    name = clean(title)
    root.attrib = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-label": name}
    heading = ElementTree.Element("title")
    heading.text = name
    root.insert(0, heading)
    return ElementTree.tostring(root, encoding="unicode")


@contextlib.contextmanager
def _report_settings() -> Iterator[None]:
    """Draw with matplotlib's defaults and ours, whatever the user has set."""
    import matplotlib  # noqa: PLC0415

    with MATPLOTLIB_LOCK, matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        # The browser has fonts for characters that matplotlib's font lacks.
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        yield


def _simplify(root: ElementTree.Element, key: str) -> None:
    """Keep what a page needs: no namespaces, metadata, styles, fonts or ids of groups."""
    for parent in root.iter():
        for child in list(parent):
            if child.tag.endswith(("}metadata", "}style")):
                parent.remove(child)
    for element in root.iter():
        element.tag = _local(element.tag)
        if not (element.text or "").strip():
            element.text = None
        element.tail = None
        names = {_local(name): value for name, value in element.attrib.items()}
        if element.tag == "g":
            names.pop("id", None)
        element.attrib = {name: _simplify_attribute(name, names[name], key) for name in names}


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _simplify_attribute(name: str, value: str, key: str) -> str:
    """Return an attribute with an id of this chart, or with short numbers, font and colours."""
    if name in ("href", "id", "clip-path"):
        return re.sub(r"^(url\(#|#|)", rf"\g<1>{key}-", value)
    value = re.sub(r"-?\d+\.\d{3,}", lambda match: f"{float(match[0]):.2f}", value)
    if name != "style":
        return value
    value = re.sub(r"font: ([\d.]+px)[^;]*", r"font-size: \1", value)
    value = re.sub(r"font-family: [^;]*(; |$)", "", value)
    for colour, variable in VARIABLES.items():
        value = value.replace(colour, f"var(--{variable})")
    return value
