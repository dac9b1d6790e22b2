"""The paper's four pairs of figures: times of all versions, and of the best, per set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.paper.published import task_name
from benchmarks.paper.tables import VERSIONS, Ours, Published, figures

BEST = ("1", "8", "fast")
MARKERS = dict(zip(VERSIONS, "osD^v<>phX+*", strict=True))
COLOURS = dict(
    zip(
        VERSIONS,
        [
            *("#7f7f7f", "#1f77b4", "#bcbd22", "#8c564b", "#9467bd", "#17becf", "#e377c2"),
            *("#555555", "#d62728", "#ff7f0e", "#2ca02c", "#000000"),
        ],
        strict=True,
    )
)
STATISTICS = {"time_mean": "mean", "time_median": "median"}
AXES = {
    1: ("length r of each of three modes", lambda shape, n: int(shape.split("x")[0])),
    2: ("number of modes p", lambda shape, n: len(shape.split("x"))),
    3: ("observations n", lambda shape, n: n),
    4: ("observations n", lambda shape, n: n),
}
"""What each set varies, and its value for a row."""
Side = Mapping[tuple[str, str, int], Mapping[str, float]]


def draw_set(
    number: int, rows: Sequence[tuple[str, int]], ours: Ours, published: Published, folder: Path
) -> list[str]:
    """Write the two figures of a set and return their names."""
    mine: Side = {
        (version, *row): figures(ours.get((task_name(*row), version), ()))
        for version in VERSIONS
        for row in rows
    }
    theirs: Side = {
        (str(version), shape, n): told for (shape, n, version), told in published.items()
    }
    names = [f"paper_set{number}_all.svg", f"paper_set{number}_best.svg"]
    draw_all(number, rows, mine, theirs, folder / names[0])
    draw_best(number, rows, mine, theirs, folder / names[1])
    return names


def draw_all(
    number: int, rows: Sequence[tuple[str, int]], mine: Side, theirs: Side, path: Path
) -> None:
    """Draw all versions: mean above median, ours (solid) left of the paper's (dashed)."""
    figure = Figure(figsize=(9.0, 7.0), layout="constrained")
    grid = figure.subplots(2, 2, sharex=True, sharey="row")
    for line, (column, word) in zip(grid, STATISTICS.items(), strict=True):
        for axes, side, owner, style in zip(
            line, (mine, theirs), ("ours", "the paper"), ("-", "--"), strict=True
        ):
            for version in VERSIONS:
                _plot(axes, number, rows, side, version, column, linestyle=style, label=version)
            _name_axes(axes, number, rows, f"{word} time (s)", f"{owner}, {word}")
    for axes in grid[:, 1]:
        axes.set_ylabel("")
    for axes in grid[0]:
        axes.set_xlabel("")
    seen = {**_labels(grid[0][1]), **_labels(grid[0][0])}
    if seen:
        names = [version for version in VERSIONS if version in seen]
        handles = [seen[name] for name in names]
        figure.legend(handles, names, title="version", loc="outside right center", frameon=False)
    save(figure, path)


def draw_best(
    number: int, rows: Sequence[tuple[str, int]], mine: Side, theirs: Side, path: Path
) -> None:
    """Draw versions 1 and 8 and fast: ours solid, the paper's dashed."""
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    grid = figure.subplots(1, 2, sharey=True)
    for axes, (column, word) in zip(grid, STATISTICS.items(), strict=True):
        for version in BEST:
            title = f"version {version}" if version != "fast" else version
            _plot(axes, number, rows, mine, version, column, linestyle="-", label=title)
        for version in BEST:
            hollow = {"linestyle": "--", "markerfacecolor": "white"}
            label = f"version {version}, the paper"
            _plot(axes, number, rows, theirs, version, column, label=label, **hollow)
        _name_axes(axes, number, rows, "time (s)" if word == "mean" else "", word)
    handles, labels = grid[0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside right center", frameon=False)
    save(figure, path)


def save(figure: Figure, path: Path) -> None:
    """Write a figure so that the same numbers give the same file, with text as text."""
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": path.stem}):
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _labels(axes: Axes) -> dict[str, Artist]:
    handles, labels = axes.get_legend_handles_labels()
    return dict(zip(labels, handles, strict=True))


def _plot(
    axes: Axes,
    number: int,
    rows: Sequence[tuple[str, int]],
    side: Side,
    version: str,
    column: str,
    **style: str,
) -> None:
    place: Callable[[str, int], int] = AXES[number][1]
    points = [
        (place(*row), side[version, *row][column])
        for row in rows
        if side.get((version, *row), {}).get(column) is not None
    ]
    if points:
        axes.plot(
            *zip(*points, strict=True),
            marker=MARKERS[version],
            color=COLOURS[version],
            markersize=5,
            linewidth=1.8 if version == "fast" else 1.0,
            **style,
        )


def _name_axes(
    axes: Axes, number: int, rows: Sequence[tuple[str, int]], title: str, heading: str
) -> None:
    axes.set_yscale("log")
    axes.set_ylabel(title)
    axes.set_xlabel(AXES[number][0])
    axes.set_title(heading, fontsize="medium")
    axes.grid(visible=True, which="major", linewidth=0.3)
    places = [AXES[number][1](*row) for row in rows]
    if number >= 3:
        axes.set_xscale("log")
    else:
        axes.set_xticks(places)
