"""What the choices of a fit give and cost, and how fast a large file is fitted.

    python -m benchmarks.scripts.everyday --data ../shared/data --sections choices million

Every section writes ``everyday_<section>.md``. Validation sees observed cells only. Errors on real
data with nothing chosen by hand are in ``python -m benchmarks run real``.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import intensor
from benchmarks.problems import Problem
from benchmarks.real.tasks import check_data, load
from benchmarks.scoring import score
from intensor.datasets import flights
from intensor.fitting import path as radii
from intensor.fitting.fit import fit
from intensor.fitting.options import fit_options

SECTIONS = ("choices", "averaging", "path", "million")


def main() -> int:
    """Run the sections asked for and write their tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--seconds", type=float, default=180.0, help="time limit of a fit")
    parser.add_argument("--sections", nargs="*", choices=SECTIONS, default=SECTIONS)
    arguments = parser.parse_args()
    try:
        check_data(arguments.data)
    except FileNotFoundError as error:
        parser.error(str(error))
    small = intensor.planted((4, 4, 4), 40, noise=0.1)  # compile before anything is timed
    for choice in ({}, {"baseline": "additive"}):
        fit(small.coords, small.values, fit_options(choice))
    for section in arguments.sections:
        lines = globals()[section](arguments)
        (arguments.out / f"everyday_{section}.md").write_text("\n".join(lines) + "\n")
        print("\n".join(lines), flush=True)
    return 0


def fit_problem(problem, **words):
    """Return the fit of the known cells and the seconds it took."""
    start = time.perf_counter()
    found = fit(problem.coords, problem.values, fit_options(words), shape=problem.shape)
    return found, time.perf_counter() - start


def hidden_error(problem, found):
    """Return the RMSE on the cells that a problem asks about."""
    return score(problem.truth, found.predict(problem.asked, unseen="mean"))["rmse"]


def choices(arguments):
    """What each transform and baseline gives: held-out validation and test RMSE."""
    names = ("alog fold 1", "Hangzhou random 90 %", "Guangzhou fibre mode 0", "amino 50 %")
    tasks = [load(name, arguments.data) for name in names]
    lines = [
        "\n## Transform and baseline: RMSE on held-out cells (validation) / on test cells\n",
        "| task | " + " | ".join(f"{t}, {b}" for t, b in scales()) + " |",
        "|---" * 7 + "|",
    ]
    for task in tasks:
        cells = []
        for transform, baseline in scales():
            words = {"transform": transform, "baseline": baseline, "time_limit": 8.0}
            found, _ = fit_problem(task, **words)
            cells.append((found.path.error, hidden_error(task, found)))
        least = min(cell[0] for cell in cells)
        told = [
            f"**{held:.4g}** / {test:.4g}" if held == least else f"{held:.4g} / {test:.4g}"
            for held, test in cells
        ]
        lines.append(f"| {task.name} | " + " | ".join(told) + " |")
        print(lines[-1], flush=True)
    return [*lines, "\nBold: what validation would choose. Time limit 8 s a fit."]


def scales():
    """Return the six ways to prepare values."""
    return [(t, b) for t in ("none", "sqrt", "log1p") for b in ("none", "additive")]


def averaging(arguments):
    """What averaging several optimal models gains."""
    planted = intensor.planted((50, 50, 50), 500)
    everywhere = np.random.default_rng(0).integers(0, 50, size=(100_000, 3))
    tasks = [
        Problem(
            name="planted 50^3, n = 500, radius 1",
            shape=(50, 50, 50),
            coords=planted.coords,
            values=planted.values,
            asked=everywhere,
            truth=planted.truth.predict(everywhere),
        ),
        load("alog fold 1", arguments.data),
        load("Hangzhou random 90 %", arguments.data),
    ]
    lines = [
        "\n## Averages of several models: RMSE on test cells\n",
        "| task | 1 | 2 | 4 | 8 | gain on held-out cells, 8 models |",
        "|---|---|---|---|---|---|",
    ]
    for task in tasks:
        chosen = {"radius": 1.0} if "planted" in task.name else {}
        if "random" in task.name:
            chosen = {"transform": "sqrt"}
        errors = []
        for n_solutions in (1, 2, 4, 8):
            words = {**chosen, "n_solutions": n_solutions, "time_limit": 12.0, "exact": "off"}
            found, _ = fit_problem(task, **words)
            errors.append(f"{hidden_error(task, found):.4g}")
            chosen = {**chosen, "radius": found.radius}
        gain = f"{found.validation.single:.4g} -> {found.validation.averaged:.4g}"
        lines.append(f"| {task.name} | " + " | ".join(errors) + f" | {gain} |")
        print(lines[-1], flush=True)
    return lines


def path(arguments):
    """The cost of a path of radii in single fits to the same tolerance."""
    noisy = intensor.planted((20, 20, 20), 2000, noise=0.05)
    coords, values, *_ = flights().observed()
    tasks = [
        (unasked("planted 20^3, n = 2000, noise", (20,) * 3, noisy.coords, noisy.values), {}),
        (load("alog fold 1", arguments.data), {}),
        (
            unasked("flights, square roots", flights().shape, coords, values),
            {"transform": "sqrt"},
        ),
    ]
    lines = [
        "\n## The path of radii\n",
        "| task | single fit at the chosen radius, s | path, ends by itself "
        "| 20 radii, closer together | all choosing, the gap too |",
        "|---|---|---|---|---|",
    ]
    for task, words in tasks:
        found, whole = fit_problem(task, **words, exact="off")
        alone = {"radius": found.radius, "tol": found.result.tolerance, "rtol": 0.0}
        _, single = fit_problem(task, **words, exact="off", **alone)
        usual = radii.PATIENCE, radii.RATIO
        radii.PATIENCE, radii.RATIO = 100, 2.0**0.1
        forced, _ = fit_problem(task, **words, exact="off", time_limit=4.0 * arguments.seconds)
        radii.PATIENCE, radii.RATIO = usual
        told = [
            f"{len(walked)} radii, {walked.seconds[-1]:.2f} s, "
            f"{walked.seconds[-1] / single:.2f} single fits"
            for walked in (found.path, forced.path)
        ]
        choosing = (whole - found.result.seconds.total) / single
        told.append(f"{choosing:.2f} single fits")
        lines.append(f"| {task.name} | {single:.2f} | " + " | ".join(told) + " |")
        print(lines[-1], flush=True)
    return [
        *lines,
        "\nTarget: 20 radii cost at most 5 single fits to the same tolerance. The 20 radii stand "
        "by a factor of 1.07 and patience is off; the path of the flights ends after two all the "
        "same, since the radius then no longer binds.",
    ]


def unasked(name, shape, coords, values):
    """Return a problem that is fitted only."""
    return Problem(
        name=name,
        shape=shape,
        coords=coords,
        values=values,
        asked=coords[:0],
        truth=values[:0],
    )


CLI = """
import resource, sys
from intensor.cli import main
code = main(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""
IN_MEMORY = """
import sys, time, numpy as np, pyarrow.csv, intensor
small = intensor.planted((3, 3), 9)
intensor.solve(small.coords, small.values, shape=(3, 3), radius=1.0)
start = time.perf_counter(); table = pyarrow.csv.read_csv(sys.argv[1])
parse = time.perf_counter() - start
coords = np.stack([table.column(name).to_numpy() for name in table.column_names[:-1]], axis=1)
values = table.column("value").to_numpy()
start = time.perf_counter()
intensor.solve(coords, values, radius=1.0, rtol=1e-4)
print(parse, time.perf_counter() - start, table.nbytes)
"""
IDLE = """
import resource, intensor, intensor.cli, pyarrow.csv
small = intensor.planted((3, 3), 9)
intensor.solve(small.coords, small.values, shape=(3, 3), radius=1.0)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def million(arguments):
    """A million rows: CSV to model file through the command line, time and memory."""
    data = intensor.planted((10,) * 7, 10**6)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "million.csv"
        columns = np.column_stack([data.coords, data.values])
        heads = ",".join([*(f"mode{mode}" for mode in range(7)), "value"])
        np.savetxt(
            source, columns, delimiter=",", header=heads, comments="", fmt="%d," * 7 + "%.17g"
        )
        whole, parse, solve, peak = [], [], [], []
        for _ in range(3):
            out = run_python(IN_MEMORY, str(source))
            parsed, solved, size = map(float, out.split())
            parse.append(parsed)
            solve.append(solved)
            words = ["fit", str(source), "-o", f"{folder}/model.npz", "--radius", "1"]
            start = time.perf_counter()
            told = run_python(CLI, *words, "--rtol", "1e-4", "--quiet", stream="stderr")
            whole.append(time.perf_counter() - start)
            peak.append(1024 * float(told.split()[-1]))
        idle = 1024 * float(run_python(IDLE))
    took, allowed = (
        statistics.median(whole),
        3 * statistics.median(solve) + statistics.median(parse),
    )
    above = statistics.median(peak) - idle
    return [
        "\n## A million rows of seven modes: CSV to model file by `intensor fit --radius 1`\n",
        "| | |",
        "|---|---|",
        f"| command, all included (start of Python too) | {took:.2f} s |",
        f"| pyarrow parses the file | {statistics.median(parse):.2f} s |",
        f"| solve from arrays in memory | {statistics.median(solve):.2f} s |",
        f"| target: 3 solves and the parsing | {allowed:.2f} s |",
        f"| parsed table | {size / 1e6:.0f} MB |",
        f"| peak of the command above a process that has solved nine cells ({idle / 1e6:.0f} MB) "
        f"| {above / 1e6:.0f} MB, {above / size:.2f} times the table (target: 4) |",
    ]


def run_python(code, *words, stream="stdout"):
    """Run a program of its own and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True
    )
    return getattr(done, stream)


if __name__ == "__main__":
    sys.exit(main())
