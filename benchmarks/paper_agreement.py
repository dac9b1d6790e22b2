"""Do versions 0-10 reproduce the paper? NMSE against the authors' own runs, and the speed-ups.

    python benchmarks/paper_agreement.py --paper ../shared/paper --out benchmarks/results

Reads the published tables (``tables.csv``) and the authors' per-repetition records
(``reference_runs.csv.gz``), solves the same instances, and writes a flat table of runs
(``paper_agreement.csv``) and a report (``paper_agreement.md``).

Agreement is judged per row and version: the mean difference to the authors' NMSE on the
same repetitions, in standard errors of that difference, and the difference to the published
mean in standard errors of both. Random starts differ, so single runs differ.
"""

from __future__ import annotations

import argparse
import csv
import math
import statistics
import sys
from pathlib import Path

import scipy.stats

import intensor
from published import published_rows, published_runs

AGREEMENT_ROWS = [
    ((10,) * 3, 500),
    ((20,) * 3, 500),
    ((30,) * 3, 500),
    ((40,) * 3, 500),
    ((50,) * 3, 500),
    ((10,) * 4, 10_000),
    ((10,) * 6, 1000),
]
SPEED_ROWS = [((10,) * 6, n) for n in (100, 1000, 10_000, 100_000)]
SPEED_PAIRS = [(0, 1), (7, 8)]
FIELDS = ["shape", "n", "version", "rep", "nmse", "seconds", "iterations", "status"]


def main() -> int:
    """Run everything and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--paper", type=Path, default=Path("../shared/paper"))
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--reps", type=int, default=5, help="repetitions for the agreement")
    parser.add_argument("--more", type=int, default=20, help="repetitions for rows outside")
    parser.add_argument("--speed-reps", type=int, default=3, help="repetitions for the ratios")
    parser.add_argument("--versions", type=int, nargs="*", default=list(range(11)))
    arguments = parser.parse_args()
    if not (arguments.paper / "tables.csv").exists():
        print(f"no tables.csv in {arguments.paper}; say where it is with --paper", file=sys.stderr)
        return 2
    arguments.out.mkdir(parents=True, exist_ok=True)
    warm_up()
    runs: dict[tuple, dict] = {}
    rows = [(*row, version) for row in AGREEMENT_ROWS for version in arguments.versions]
    for row in rows:
        for rep in range(arguments.reps):
            run_once(runs, *row, rep)
    for shape, n in SPEED_ROWS:
        for rep in range(arguments.speed_reps):
            for version in sorted({v for pair in SPEED_PAIRS for v in pair}):
                run_once(runs, shape, n, version, rep)
    lines, outside = agreement(runs, rows, arguments.reps, arguments)
    if outside:
        for shape, n, version in outside:
            for rep in range(arguments.more):
                run_once(runs, shape, n, version, rep)
        lines.append("## The rows outside, with more repetitions\n")
        lines.extend(agreement(runs, outside, arguments.more, arguments)[0])
    with (arguments.out / "paper_agreement.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS)
        writer.writeheader()
        writer.writerows(runs.values())
    report = "\n".join(["# Agreement with the paper\n", *lines, *speed(runs, arguments)])
    (arguments.out / "paper_agreement.md").write_text(report + "\n")
    print(report)
    return 0


def warm_up() -> None:
    """Compile the kernels before anything is timed."""
    data = intensor.planted((4, 4), 20)
    intensor.solve(data.coords, data.values, shape=data.shape, radius=1.0, version=8)


def run_once(runs: dict, shape: tuple[int, ...], n: int, version: int, rep: int) -> None:
    """Solve one instance and add it to the flat table."""
    name = "x".join(map(str, shape))
    if (name, n, version, rep) in runs:
        return
    data = intensor.planted(shape, n, rep)
    result = intensor.solve(
        data.coords,
        data.values,
        shape=shape,
        radius=1.0,
        version=version,
        tol=1e-4,
        rtol=0.0,
        time_limit=600.0,
    )
    runs[name, n, version, rep] = {
        "shape": name,
        "n": n,
        "version": version,
        "rep": rep,
        "nmse": intensor.nmse(result.model, data.truth),
        "seconds": round(result.seconds.total, 5),
        "iterations": result.counters.iterations,
        "status": result.status.name,
    }
    print(*runs[name, n, version, rep].values(), file=sys.stderr, flush=True)


def agreement(runs: dict, rows: list, reps: int, arguments: argparse.Namespace) -> tuple:
    """Return the lines of the NMSE table, and the rows outside three standard errors."""
    published, theirs = published_rows(arguments.paper), published_runs(arguments.paper)
    lines = [
        f"tol 1e-4, radius 1, repetitions 0-{reps - 1}. `paired` is the mean difference to the "
        "authors' runs of the same repetitions, in standard errors of that difference. `table` is "
        "the difference to the published mean over 100 repetitions, in standard errors of both "
        "means; `authors' table` is the same for the authors' own runs of these repetitions, "
        "which shows how typical the repetitions are.\n",
        "| shape | n | version | NMSE | authors | paired | published | table | authors' table | "
        "within 3 |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    outside = []
    for shape, n, version in rows:
        name = "x".join(map(str, shape))
        ours = [runs[name, n, version, rep]["nmse"] for rep in range(reps)]
        reference = [theirs[name, n, version, rep] for rep in range(reps)]
        paired = in_errors([a - b for a, b in zip(ours, reference, strict=True)])
        row = published[name, n, version]
        mean, error = row["nmse_mean"], row["nmse_se"]
        table, authors_table = (
            (statistics.mean(sample) - mean) / math.hypot(standard_error(sample), error)
            for sample in (ours, reference)
        )
        fine = abs(paired) <= 3 and abs(table) <= 3
        if not fine:
            outside.append((shape, n, version))
        lines.append(
            f"| {name} | {n} | {version} | {statistics.mean(ours):.4f} | "
            f"{statistics.mean(reference):.4f} | {paired:+.2f} | {mean:.3f} | {table:+.2f} | "
            f"{authors_table:+.2f} | {'yes' if fine else 'NO'} |"
        )
    lines.append(
        f"\n{len(rows) - len(outside)} of {len(rows)} rows are within three standard errors on "
        f"both counts. Three standard errors of {reps} pairs are exceeded by chance in "
        f"{100 * chance_outside(reps):.1f} % of rows.\n"
    )
    return lines, outside


def speed(runs: dict, arguments: argparse.Namespace) -> list[str]:
    """Return the lines of the table of ratios."""
    published = published_rows(arguments.paper)
    lines = [
        "## What Index and Pattern gain\n",
        "Mean seconds over the same repetitions, one process, beside the ratio of the paper's "
        "mean times. Versions 0 and 7 price cell by cell in interpreted Python, as in the paper; "
        "1 and 8 price index by index with remembered cells, compiled.\n",
        "| shape | n | pair | seconds | seconds | ratio | paper's ratio |",
        "|---|---|---|---|---|---|---|",
    ]
    for plain, quick in SPEED_PAIRS:
        for shape, n in SPEED_ROWS:
            name = "x".join(map(str, shape))
            mean, theirs = {}, {}
            for version in (plain, quick):
                theirs[version] = published[name, n, version]["time_mean"]
                mean[version] = statistics.mean(
                    runs[name, n, version, rep]["seconds"] for rep in range(arguments.speed_reps)
                )
            lines.append(
                f"| {name} | {n} | {plain} / {quick} | {mean[plain]:.3f} | {mean[quick]:.3f} | "
                f"{mean[plain] / mean[quick]:.2f} | "
                f"{theirs[plain] / theirs[quick]:.2f} |"
            )
    return lines


def standard_error(sample: list[float]) -> float:
    """Return the standard error of a mean."""
    return statistics.stdev(sample) / math.sqrt(len(sample))


def in_errors(differences: list[float]) -> float:
    """Return a mean in units of its standard error."""
    error = standard_error(differences)
    return statistics.mean(differences) / error if error else 0.0


def chance_outside(n: int) -> float:
    """Return how often a mean of n equal-mean pairs is more than three standard errors off."""
    return 2 * float(scipy.stats.t.sf(3.0, n - 1))


if __name__ == "__main__":
    sys.exit(main())
