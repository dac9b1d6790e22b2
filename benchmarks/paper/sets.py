"""The paper's four sets of instances: versions 0-10 and fast, beside the published figures."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from statistics import fmean

import intensor
from benchmarks.ledger import Ledger, Row
from benchmarks.paper.figures import draw_set
from benchmarks.paper.published import published_rows, published_runs, published_sets, task_name
from benchmarks.paper.tables import (
    NAME,
    VERSIONS,
    Ours,
    Published,
    agreement_lines,
    agreements,
    collect,
    number,
    overview,
    row_table,
)
from benchmarks.runs import Run
from benchmarks.sections import Options, Section

LIMIT = 300.0
"""Seconds of a run by the clock on the wall, other work on the machine included."""
REPEATABLE = 120.0
"""A version that takes more processor seconds than this on a row is run once."""
HOPELESS = 240.0
"""A version that is expected to take longer than this is not tried."""
QUICK = 8.0
"""A solve that takes longer hardly notices the seconds of compiling."""
SETS = {
    1: "three modes of length r, n = 500",
    2: "p modes of length 10, n = 10 000",
    3: "six modes of length 10, more and more observations",
    4: "seven modes of length 10, more and more observations",
}
INTERPRETED = frozenset({0, 2, 3, 7, 9})
"""Versions that price cell by cell, as in the paper, and gain less on its times."""


def solve_once(
    shape: tuple[int, ...], n: int, version: int | str, rep: int, threads: int, limit: float
) -> Row:
    """Solve one of the paper's instances as the paper does: radius 1, tolerance 1e-4.

    Seconds are those of the processor, which other work on the machine hardly changes.
    """
    warm_up(len(shape), version)
    data = intensor.planted(shape, n, rep)
    solve = partial(
        intensor.solve,
        data.coords,
        data.values,
        shape=shape,
        radius=1.0,
        version=version,
        tol=1e-4,
        rtol=0.0,
        time_limit=limit,
        threads=threads,
    )
    result, seconds = timed(solve, again=version == "fast")
    if result.status is intensor.Status.TIME_LIMIT:
        raise TimeoutError(f"gap {result.gap:.3g} after {result.seconds.total:.0f} s")
    return told(result, data, seconds, threads)


def told(result: intensor.Result, data: intensor.Planted, seconds: float, threads: int) -> Row:
    """Return the columns of a solve of a planted instance."""
    return {
        "seconds": seconds,
        "nmse": intensor.nmse(result.model, data.truth),
        "objective": result.objective,
        "gap": result.gap,
        "iterations": result.counters.iterations,
        "boxes": len(result.model),
        "chosen": result.status.name.lower(),
        "threads": threads,
    }


def timed(solve: Callable[[], intensor.Result], *, again: bool) -> tuple[intensor.Result, float]:
    """Return the result and processor seconds; ``again`` takes those of a second, equal solve.

    Which kernels fast calls depends on the data, so that no warm-up reaches them all.
    """
    start = time.process_time()
    result = solve()
    seconds = time.process_time() - start
    if again and seconds < QUICK:
        start = time.process_time()
        result = solve()
        seconds = time.process_time() - start
    return result, seconds


def runs(options: Options) -> list[Run]:
    """Return all runs, cheap rows first; inside a row, all versions of a repetition together."""
    sets, times = published_sets(options.paper), published_rows(options.paper)
    rows = dict.fromkeys(row for number in options.sets for row in sets.get(number, ()))
    found = []
    for shape, n in sorted(rows, key=lambda row: times[(*row, 0)]["time_mean"]):
        lengths = tuple(map(int, shape.split("x")))
        costs = {version: _expected(times, shape, n, version) for version in options.versions}
        for rep in range(options.reps):
            for version in sorted(costs, key=lambda version: costs[version]):
                found.append(
                    Run(
                        section=NAME,
                        task=task_name(shape, n),
                        method=str(version),
                        rep=rep,
                        call=solve_once,
                        arguments={
                            "shape": lengths,
                            "n": n,
                            "version": version,
                            "rep": rep,
                            "threads": 1,
                            "limit": LIMIT,
                        },
                        limit=LIMIT,
                        expected=costs[version],
                    )
                )
    return found


def skip(ledger: Ledger, run: Run) -> str | None:
    """Return why a run is not made: it would take too long, or its first repetition did."""
    if run.expected > HOPELESS:
        return f"expected to take {run.expected:.0f} s"
    first = ledger.find(NAME, run.task, run.method, 0)
    if run.rep == 0 or first is None:
        return None
    if first["status"] == "timeout":
        return f"the first repetition took more than {LIMIT:.0f} s"
    if first["status"] == "done" and float(first["seconds"]) > REPEATABLE:
        return f"the first repetition took {float(first['seconds']):.0f} s"
    return None


def needs(options: Options) -> None:
    """Say what is missing when the published tables are not there."""
    _need(options.paper / "tables.csv")


def report(ledger: Ledger, options: Options) -> list[str]:
    """Return tables, agreement and figures."""
    sets, published = published_sets(options.paper), published_rows(options.paper)
    ours = collect(ledger)
    lines = [
        "The paper's instances, bit for bit, to its tolerance (gap 1e-4, radius 1). Columns named "
        "`paper` are the published figures over 100 repetitions on the authors' machine, so NMSE "
        "and ratios of times compare, seconds do not. Ours are processor seconds of one thread, "
        "without compiling. `fast` is not in the paper. A run may take "
        f"{LIMIT:.0f} s; a version whose first repetition takes more than {REPEATABLE:.0f} s is "
        "not repeated.\n",
        *_not_run(ours, published),
        "### Agreement with the paper\n",
    ]
    records = options.paper / "reference_runs.csv.gz"
    if records.exists():
        lines += agreement_lines(agreements(ours, published, published_runs(options.paper)))
    else:
        lines.append(f"Not judged: there is no {records.name} in the folder of the paper.\n")
    for one, rows in sets.items():
        title = f"### Set {one}: {SETS.get(one, 'more instances')}\n"
        if not any((task_name(*row), version) in ours for row in rows for version in VERSIONS):
            lines += [title, "Not run.\n"]
            continue
        lines += [title, "Means over the repetitions.\n", *overview(ours, published, rows)]
        for name in draw_set(one, rows, ours, published, options.figures):
            words = "all versions" if name.endswith("_all.svg") else "versions 1, 8 and fast"
            lines.append(f"![Set {one}: time of {words}](figures/{name})\n")
        lines.append("<details><summary>All versions, all figures</summary>\n")
        for row in rows:
            lines += row_table(ours, published, *row)
        lines.append("</details>\n")
    return lines


def losses(ledger: Ledger, options: Options) -> list[str]:
    """Return the rows where a version 0-10 beats fast, on the repetitions both have."""
    ours = collect(ledger)
    found = []
    for column, words in [("seconds", "mean time"), ("nmse", "mean NMSE")]:
        beaten, compared = [], 0
        for task in dict.fromkeys(task for task, _ in ours):
            pairs = [_pair(ours, task, version, column) for version in VERSIONS[:-1]]
            pairs = [pair for pair in pairs if pair is not None]
            compared += bool(pairs)
            worse = [pair for pair in pairs if pair[0] > pair[1]]
            if worse:
                fast, best, version = min(worse, key=lambda pair: pair[1] - pair[0])
                beaten.append(f"{task} ({number(fast)}, version {version} {number(best)})")
        if beaten:
            found.append(
                f"The paper's instances: {words} of fast is above that of the best of versions "
                f"0-10 in {len(beaten)} of {compared} rows: {'; '.join(beaten)}."
            )
    return found


def _pair(ours: Ours, task: str, version: str, column: str) -> tuple[float, float, str] | None:
    """Return the means of fast and of a version over the repetitions both have."""
    sides = [
        {int(row["rep"]): float(row[column]) for row in ours.get((task, one), ()) if _done(row)}
        for one in ("fast", version)
    ]
    reps = sides[0].keys() & sides[1].keys()
    if not reps:
        return None
    fast, other = (fmean(side[rep] for rep in sorted(reps)) for side in sides)
    return fast, other, version


def _done(row: Row) -> bool:
    return row["status"] == "done"


def _not_run(ours: Ours, published: Published) -> list[str]:
    """Say which versions were not tried, ran out of time, or were run only once, and why."""
    hopeless, late, once = [], [], []
    for shape, n, version in published:
        rows = ours.get((task_name(shape, n), str(version)), ())
        name = f"{task_name(shape, n)} version {version}"
        expected = _expected(published, shape, n, version)
        if not rows and expected > HOPELESS:
            hopeless.append(f"{name} ({expected:.0f} s)")
        elif rows and rows[0]["status"] == "timeout":
            late.append(name)
        elif len(rows) == 1 and _done(rows[0]) and float(rows[0]["seconds"]) > REPEATABLE:
            once.append(f"{name} ({float(rows[0]['seconds']):.0f} s)")
    told = []
    for names, words in [
        (hopeless, f"Not tried, as they are expected to take more than {HOPELESS:.0f} s"),
        (late, f"Not finished in {LIMIT:.0f} s"),
        (once, f"Run once, as that took more than {REPEATABLE:.0f} s"),
    ]:
        if names:
            told.append(f"{words}: {', '.join(names)}.\n")
    return told


def _need(path: Path) -> None:
    if not path.exists():
        raise FileNotFoundError(f"no {path.name} in {path.parent}; say where it is with --paper")


def _expected(times: Published, shape: str, n: int, version: int | str) -> float:
    """Return seconds from the paper's: slow versions gained about 6 times, the others 10."""
    if version == "fast":
        return 0.02 * times[shape, n, 8]["time_mean"]
    gain = 6.0 if version in INTERPRETED else 10.0
    return times[shape, n, version]["time_mean"] / gain


@cache
def warm_up(n_modes: int, version: int | str) -> None:
    """Compile or load the kernels before anything is timed."""
    data = intensor.planted((3,) * n_modes, 40)
    intensor.solve(data.coords, data.values, shape=data.shape, radius=1.0, version=version)


SECTION = Section(
    name=NAME,
    title="The paper's four sets",
    runs=runs,
    report=report,
    losses=losses,
    skip=skip,
    needs=needs,
)
