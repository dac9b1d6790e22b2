"""Accuracy against work: the NMSE fast reaches as its tolerance shrinks, and how long it takes."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import intensor
from benchmarks.ledger import Ledger, Row, values
from benchmarks.paper.figures import COLOURS, MARKERS, save
from benchmarks.paper.published import published_runs, published_sets, task_name
from benchmarks.paper.sets import needs, timed, told, warm_up
from benchmarks.paper.tables import MISSING, collect, number
from benchmarks.runs import Run
from benchmarks.sections import Options, Section

NAME = "work"
TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
SHOWN = (1e-4, 1e-8, 1e-12)
"""Tolerances of the table."""
VERSIONS = ("1", "8")
"""The paper's best versions, as points."""
LIMIT = 20.0
"""Seconds of a run by the clock on the wall."""
REPS = 3
LEAST = 1e-30
"""An NMSE below this is drawn there."""
Point = tuple[float, float]
"""Seconds and NMSE."""


def method(rtol: float) -> str:
    """Return the name of a tolerance in the table of runs."""
    return f"fast rtol={rtol:.0e}"


def solve_to(
    shape: tuple[int, ...], n: int, rtol: float, rep: int, threads: int, limit: float
) -> Row:
    """Solve an instance of the paper to a tolerance; what a limit cuts off counts as it is.

    Seconds are those of the processor, as for the paper's versions.
    """
    warm_up(len(shape), "fast")
    data = intensor.planted(shape, n, rep)
    solve = partial(
        intensor.solve,
        data.coords,
        data.values,
        shape=shape,
        radius=1.0,
        tol=0.0,
        rtol=rtol,
        time_limit=limit,
        threads=threads,
    )
    result, seconds = timed(solve, again=True)
    return told(result, data, seconds, threads)


def runs(options: Options) -> list[Run]:
    """Return a run per row, tolerance and repetition, loose tolerances first."""
    return [
        Run(
            section=NAME,
            task=task_name(shape, n),
            method=method(rtol),
            rep=rep,
            call=solve_to,
            arguments={
                "shape": tuple(map(int, shape.split("x"))),
                "n": n,
                "rtol": rtol,
                "rep": rep,
                "threads": 1,
                "limit": LIMIT,
            },
            limit=LIMIT,
            expected=0.1 + 2e-5 * n,
        )
        for shape, n in sorted(_rows(options, options.sets), key=lambda row: row[1])
        for rep in range(min(options.reps, REPS))
        for rtol in TOLERANCES
    ]


def skip(ledger: Ledger, run: Run) -> str | None:
    """Return why a tolerance is not tried: a looser one already met the time limit."""
    for rtol in TOLERANCES:
        if rtol <= run.arguments["rtol"]:
            return None
        row = ledger.find(NAME, run.task, method(rtol), run.rep)
        if row is not None and (row["status"] == "timeout" or row["chosen"] == "time_limit"):
            return f"rtol={rtol:.0e} was not reached in {LIMIT:.0f} s"
    return None


def report(ledger: Ledger, options: Options) -> list[str]:
    """Return a figure with a panel per row, and a table of some tolerances."""
    rows = list(_rows(options, published_sets(options.paper)))
    curves = {row: _curve(ledger, task_name(*row)) for row in rows}
    ours = {row: _paper_points(ledger, task_name(*row)) for row in rows}
    _draw(curves, ours, _authors_points(ledger, options, rows), options)
    titles = ["row", *(f"{what} at {rtol:.0e}" for rtol in SHOWN for what in ("NMSE", "s"))]
    titles += ["NMSE of 1", "s", "NMSE of 8", "s", "not to the tolerance"]
    lines = [
        "NMSE against seconds for `fast` as the tolerance on the gap, relative to the mean square "
        f"of the values, goes from 1e-2 to 1e-12; medians of up to {REPS} repetitions, processor "
        f"seconds of one thread, {LIMIT:.0f} s at most. Versions 1 and 8 stop at the paper's gap "
        "of 1e-4: filled marks are our runs of the same repetitions, hollow ones the authors', on "
        "their machine. Where n is small, the answer is not determined by the data, and a smaller "
        "gap brings no smaller error.\n",
        "![NMSE against seconds, a panel per row](figures/work.svg)\n",
        "| " + " | ".join(titles) + " |",
        "|" + "---|" * len(titles),
    ]
    for row in rows:
        cells = [task_name(*row)]
        for rtol in SHOWN:
            cells += _cells(curves[row].get(rtol))
        for version in VERSIONS:
            cells += _cells(ours[row].get(version))
        lines.append("| " + " | ".join([*cells, _unreached(ledger, task_name(*row))]) + " |")
    return [*lines, ""]


def losses(ledger: Ledger, options: Options) -> list[str]:
    """Return rows where a version of the paper has a lower NMSE than fast at any tolerance."""
    found = []
    for row in _rows(options, published_sets(options.paper)):
        task = task_name(*row)
        curve = _curve(ledger, task)
        if not curve:
            continue
        rtol, (seconds, nmse) = min(curve.items(), key=lambda item: item[1][1])
        for version, point in _paper_points(ledger, task).items():
            if point[1] < nmse:
                found.append(
                    f"Accuracy against work: on {task} version {version} has a median NMSE of "
                    f"{number(point[1])}; fast has {number(nmse)} at best (rtol {rtol:.0e}, "
                    f"{number(seconds)} s)."
                )
    return found


def _rows(options: Options, numbers: Sequence[int] | Mapping[int, object]) -> dict:
    """Return the rows of some sets, each once, in the paper's order."""
    sets = published_sets(options.paper)
    return dict.fromkeys(row for number in numbers for row in sets.get(number, ()))


def _point(rows: Iterable[Row]) -> Point | None:
    """Return median seconds and NMSE."""
    rows = list(rows)
    seconds, nmse = values(rows, "seconds"), values(rows, "nmse")
    return (statistics.median(seconds), statistics.median(nmse)) if seconds else None


def _curve(ledger: Ledger, task: str) -> dict[float, Point]:
    """Return the medians of a row by tolerance."""
    found = {}
    for rtol in TOLERANCES:
        point = _point(ledger.rows(section=NAME, task=task, method=method(rtol)))
        if point is not None:
            found[rtol] = point
    return found


def _reps(ledger: Ledger, task: str) -> set[int]:
    """Return the repetitions of a row that were run here."""
    return {int(row["rep"]) for row in ledger.rows(section=NAME, task=task)}


def _paper_points(ledger: Ledger, task: str) -> dict[str, Point]:
    """Return the medians of our runs of the paper's versions, of the same repetitions."""
    reps, ours = _reps(ledger, task), collect(ledger)
    found = {}
    for version in VERSIONS:
        point = _point(row for row in ours.get((task, version), ()) if int(row["rep"]) in reps)
        if point is not None:
            found[version] = point
    return found


def _authors_points(
    ledger: Ledger, options: Options, rows: Sequence[tuple[str, int]]
) -> dict[tuple[str, int], dict[str, Point]]:
    """Return the same of the authors' runs; nothing where their records are not there."""
    if not (options.paper / "reference_runs.csv.gz").exists():
        return {row: {} for row in rows}
    records = [published_runs(options.paper, column) for column in ("time_s", "nmse")]
    found: dict[tuple[str, int], dict[str, Point]] = {}
    for row in rows:
        reps = _reps(ledger, task_name(*row))
        for version in VERSIONS:
            keys = [(*row, int(version), rep) for rep in reps]
            samples = [[one[key] for key in keys if key in one] for one in records]
            if all(samples):
                seconds, nmse = map(statistics.median, samples)
                found.setdefault(row, {})[version] = seconds, nmse
    return found


def _cells(point: tuple[float, float] | None) -> list[str]:
    return [MISSING, MISSING] if point is None else [number(point[1]), number(point[0])]


def _unreached(ledger: Ledger, task: str) -> str:
    """Say which tolerances were not proven, and what stopped the runs."""
    told = []
    for rtol in TOLERANCES:
        rows = list(ledger.rows(section=NAME, task=task, method=method(rtol)))
        ends = [row["chosen"] for row in rows if row["status"] == "done"]
        for word, name in [("time_limit", "time"), ("stalled", "stalled")]:
            if word in ends:
                told.append(f"{rtol:.0e}: {ends.count(word)} of {len(rows)} {name}")
    return "; ".join(told)


def _draw(curves: Mapping, ours: Mapping, theirs: Mapping, options: Options) -> None:
    columns = 5
    lines = max(1, math.ceil(len(curves) / columns))
    figure = Figure(figsize=(11.0, 2.1 * lines + 0.6), layout="constrained")
    grid = figure.subplots(lines, columns, squeeze=False)
    for axes in grid.flat[len(curves) :]:
        axes.set_visible(False)
    handles: dict[str, Artist] = {}
    for axes, row in zip(grid.flat, curves, strict=False):
        axes.set_title(task_name(*row), fontsize="small")
        _panel(axes, list(curves[row].values()), ours.get(row, {}), theirs.get(row, {}))
        found = axes.get_legend_handles_labels()
        handles |= dict(zip(found[1], found[0], strict=True))
    figure.supxlabel("processor seconds")
    figure.supylabel("NMSE")
    if handles:
        figure.legend(
            handles.values(), handles.keys(), loc="outside upper center", ncols=5, frameon=False
        )
    save(figure, options.figures / "work.svg")


def _panel(
    axes: Axes, curve: list[Point], ours: dict[str, Point], theirs: dict[str, Point]
) -> None:
    heights = [max(nmse, LEAST) for _, nmse in (*curve, *ours.values(), *theirs.values())]
    axes.set_xscale("log")
    if heights and max(heights) > 10.0 * min(heights):
        axes.set_yscale("log")
    elif heights:
        axes.set_ylim(0.0, 1.1 * max(heights))
    axes.tick_params(which="both", labelsize="x-small")
    axes.grid(visible=True, linewidth=0.3)
    if curve:
        points = [(seconds, max(nmse, LEAST)) for seconds, nmse in curve]
        axes.plot(*zip(*points, strict=True), "k.-", linewidth=1.0, label="fast")
    for version in VERSIONS:
        style = {"marker": MARKERS[version], "color": COLOURS[version], "linestyle": "none"}
        if version in ours:
            axes.plot(*ours[version], label=f"version {version}", **style)
        if version in theirs:
            label = f"version {version}, the authors"
            axes.plot(*theirs[version], markerfacecolor="white", label=label, **style)


SECTION = Section(
    name=NAME,
    title="Accuracy against work",
    runs=runs,
    report=report,
    losses=losses,
    skip=skip,
    needs=needs,
)
