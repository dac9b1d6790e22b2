"""All contenders on the paper's instances: the error over the whole tensor, and the time."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import intensor
from benchmarks.contenders import NAMES, find
from benchmarks.ledger import Ledger, Row, values
from benchmarks.machine import cores
from benchmarks.paper.figures import save
from benchmarks.problems import Problem
from benchmarks.runs import Run
from benchmarks.scoring import score
from benchmarks.sections import Options, Section

NAME = "peers"
MOST_REPS = 5
MOST_ASKED = 10**6
"""A larger tensor is scored on so many of its cells, drawn at random."""
ALIKE = 1e-10
"""An NMSE up to here counts as exact: what is left is rounding, and no reason to prefer one."""
SEEDS = 1000
"""Added to the repetition for the methods' seed. An instance is drawn from a stream that its
repetition seeds: a method that starts from the same stream would start from the answer."""
OURS = ("intensor", "intensor, radius 1")
MARKERS = "*soD^v<>hX8pP"
FIGURE = "peers.svg"


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """A row of the paper's tables."""

    shape: tuple[int, ...]
    n: int
    poor: bool
    seconds: float = 30.0

    @property
    def name(self) -> str:
        """Lengths of the modes and observations."""
        return f"{self.shape[0]}^{len(self.shape)} n={self.n}"


INSTANCES = (
    *(Instance(shape=(length,) * 3, n=500, poor=True) for length in (10, 20, 30, 50, 100)),
    Instance(shape=(10,) * 4, n=10_000, poor=False),
    Instance(shape=(10,) * 5, n=10_000, poor=False),
    Instance(shape=(10,) * 6, n=100_000, poor=False, seconds=60.0),
    Instance(shape=(10,) * 7, n=100_000, poor=False, seconds=60.0),
)


def planted_problem(shape: tuple[int, ...], n: int, rep: int) -> Problem:
    """Return an instance of the paper that asks about the whole tensor, or many cells of it."""
    data = intensor.planted(shape, n, rep)
    asked = _asked(shape, rep)
    return Problem(
        name=f"{shape}, {n}, {rep}",
        shape=shape,
        coords=data.coords,
        values=data.values,
        asked=asked,
        truth=data.truth.predict(asked),
    )


def compare(
    shape: tuple[int, ...], n: int, rep: int, method: str, seconds: float, threads: int
) -> Row:
    """Complete one instance with one method and score it: a line of the table."""
    problem = planted_problem(shape, n, rep)
    done = find(method).complete(problem, seconds, SEEDS + rep, threads)
    errors = score(problem.truth, done.predicted)
    told = {name: getattr(done, name) for name in ("boxes", "objective", "gap")}
    return {
        **errors,
        **{name: value for name, value in told.items() if value is not None},
        "seconds": done.seconds,
        "chosen": done.chosen,
    }


def runs(options: Options) -> list[Run]:
    """Return all methods on all instances, the first repetition of all first."""
    return [
        Run(
            section=NAME,
            task=instance.name,
            method=method,
            rep=rep,
            call=compare,
            arguments={
                "shape": instance.shape,
                "n": instance.n,
                "rep": rep,
                "method": method,
                "seconds": instance.seconds,
                "threads": max(1, cores() // options.jobs),
            },
            limit=instance.seconds,
            expected=0.7 * instance.seconds,
        )
        for rep in range(min(options.reps, MOST_REPS))
        for instance in INSTANCES
        for method in NAMES
    ]


def report(ledger: Ledger, options: Options) -> list[str]:
    """Return the tables and write the figure."""
    told = _Results(ledger)
    most = max((len(rows) for rows in told.rows.values()), default=0)
    tasks = [one for one in INSTANCES if told.of(one)]
    lines = [
        f"The paper's instances, up to {most} repetitions; medians. NMSE over all cells of a "
        f"tensor of up to {MOST_ASKED:,} cells, known ones included as in the paper; above, over "
        f"{MOST_ASKED:,} cells drawn at random, the same for all. Bold: the least, and all that "
        f"are at most {ALIKE:g}, which counts as exact.",
        "",
        "`intensor` chooses radius and baseline on held-out known cells, as peers choose ranks. "
        "`intensor, radius 1` is given the radius, as in the paper; it is 1 on these instances, "
        "which the peers are not told. Both average four models. One setting for all rows, for "
        "every method; settings of intensor were compared on repetitions 0, 1, 10 and 11 of some "
        "rows, of the packages on repetition 5, of ALS, SiLRTC and TNCP on repetitions 0 to 3 of "
        "10^3, 20^3 and 10^4. Predictions of peers are clipped at 0. Seconds include "
        f"choosing; a method may take {INSTANCES[0].seconds:.0f} s ({INSTANCES[-1].seconds:.0f} s "
        "with n = 100000) and iterative ones use them up where they have not converged.",
        "",
        "Median NMSE:",
        "",
        *_table(told, tasks, "nmse"),
        "",
        "Median seconds:",
        "",
        *_table(told, tasks, "seconds"),
    ]
    if any(told.median(one, method, "nmse") is not None for one in tasks for method in NAMES):
        save(_draw(told, tasks), options.figures / FIGURE)
        lines += ["", f"![NMSE against seconds of every method](figures/{FIGURE})"]
    missing = [one.name for one in INSTANCES if not told.of(one)]
    if missing:
        lines += ["", f"Not run yet: {', '.join(missing)}."]
    return lines


def losses(ledger: Ledger, options: Options) -> list[str]:
    """Say where a peer has the lower median, of error first, of time where both are exact."""
    told = _Results(ledger)
    found = []
    for instance in INSTANCES:
        for mine in OURS:
            found.extend(_lost(told, instance, mine))
    return found


class _Results:
    """The rows of the table by instance and method."""

    def __init__(self, ledger: Ledger) -> None:
        self.rows: dict[tuple[str, str], list[Row]] = {}
        for row in ledger.rows(section=NAME):
            self.rows.setdefault((row["task"], row["method"]), []).append(row)

    def of(self, instance: Instance, method: str | None = None) -> list[Row]:
        """Return the runs of an instance, of one method or of all."""
        methods = NAMES if method is None else [method]
        return [row for name in methods for row in self.rows.get((instance.name, name), [])]

    def median(self, instance: Instance, method: str, column: str) -> float | None:
        """Return the median of the runs that are done; None when none is."""
        found = values(self.of(instance, method), column)
        return statistics.median(found) if found else None

    def best(self, instance: Instance, column: str) -> float | None:
        """Return the least median of all methods."""
        all_ = (self.median(instance, method, column) for method in NAMES)
        return min((one for one in all_ if one is not None), default=None)


def _asked(shape: tuple[int, ...], rep: int) -> NDArray[np.int64]:
    cells = math.prod(shape)
    if cells <= MOST_ASKED:
        return np.stack(np.unravel_index(np.arange(cells), shape), axis=1)
    # A stream of its own, as an instance is drawn from the one that its repetition seeds.
    rng = np.random.default_rng([SEEDS, rep])
    return rng.integers(0, np.array(shape), size=(MOST_ASKED, len(shape)))


def _table(told: _Results, tasks: Sequence[Instance], column: str) -> list[str]:
    lines = [f"| | {' | '.join(one.name for one in tasks)} |", f"|---|{'---|' * len(tasks)}"]
    for method in NAMES:
        cells = [_cell(told, one, method, column) for one in tasks]
        lines.append(f"| {method} | {' | '.join(cells)} |")
    return lines


def _cell(told: _Results, instance: Instance, method: str, column: str) -> str:
    rows = told.of(instance, method)
    if not rows:
        return "-"
    failures = [_why(row) for row in rows if row["status"] != "done"]
    kinds = sorted(set(failures))
    words = ", ".join(f"{why} {failures.count(why)} of {len(rows)}" for why in kinds)
    median = told.median(instance, method, column)
    if median is None:
        return words
    text = f"{median:.2g}"
    if column == "nmse":
        best = told.best(instance, column)
        text = f"**{text}**" if best is not None and median <= max(best, ALIKE) else text
    return f"{text} ({words})" if words else text


def _why(row: Row) -> str:
    if row["status"] == "timeout":
        return "timeout"
    message = str(row.get("message", ""))
    if message.startswith("MemoryError"):
        return "too large"
    return "not installed" if message.startswith("ModuleNotFoundError") else "failed"


def _lost(told: _Results, instance: Instance, mine: str) -> Iterator[str]:
    """Yield at most one sentence on one instance."""
    if not told.of(instance, mine):
        return
    ours = told.median(instance, mine, "nmse")
    if ours is None:
        yield f"Peers, {instance.name}: {mine} has no result."
        return
    peers = [name for name in NAMES if name not in OURS]
    theirs = {name: told.median(instance, name, "nmse") for name in peers}
    better = {
        name: error
        for name, error in theirs.items()
        if error is not None and error < ours and ours > ALIKE
    }
    if better:
        listed = ", ".join(
            f"{name} {error:.3g}" for name, error in sorted(better.items(), key=lambda one: one[1])
        )
        times = ours / max(min(better.values()), ALIKE)
        more = f"{100.0 * (times - 1.0):.2g} % more" if times < 2.0 else f"{times:.2g} times"
        yield f"Peers, {instance.name}: {mine} has a median NMSE of {ours:.3g}, {more}: {listed}."
        return
    taken = told.median(instance, mine, "seconds")
    if ours > ALIKE or taken is None:
        return
    for name, error in theirs.items():
        seconds = told.median(instance, name, "seconds")
        if error is not None and error <= ALIKE and seconds is not None and seconds < taken:
            yield (
                f"Peers, {instance.name}: {name} is exact as well and takes {seconds:.2g} s "
                f"(median), {mine} {taken:.2g} s."
            )


def _draw(told: _Results, tasks: Sequence[Instance]) -> Figure:
    """Draw a point for every method and instance; the larger the later the instance."""
    figure = Figure(figsize=(9.0, 4.6), layout="constrained")
    titles = {True: "n = 500: few data", False: "n = 10000 and 100000: many data"}
    left, right = figure.subplots(1, 2)
    for axes, poor in ((left, True), (right, False)):
        kept = [one for one in tasks if one.poor == poor]
        for place, method in enumerate(NAMES):
            points = [
                (told.median(one, method, "seconds"), told.median(one, method, "nmse"), 30 + 18 * k)
                for k, one in enumerate(kept)
            ]
            known = [point for point in points if point[1] is not None]
            if known:
                seconds, errors, sizes = zip(*known, strict=True)
                axes.scatter(
                    seconds,
                    np.maximum(errors, 1e-32),
                    s=sizes,
                    marker=MARKERS[place % len(MARKERS)],
                    facecolors="black" if method in OURS else "none",
                    edgecolors="black" if method in OURS else f"C{place % 10}",
                    label=method,
                )
        axes.set(xscale="log", yscale="log", xlabel="seconds (median)", title=titles[poor])
        axes.grid(alpha=0.3)
    left.set_ylabel("NMSE over the tensor (median)")
    most = max((left, right), key=lambda axes: len(axes.get_legend_handles_labels()[1]))
    handles, names = most.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=4, fontsize=8)
    return figure


TITLE = "Peers on the paper's instances"
SECTION = Section(name=NAME, title=TITLE, runs=runs, report=report, losses=losses)
