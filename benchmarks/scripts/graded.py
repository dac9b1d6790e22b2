"""Graded components beside boxes: how many are needed, what a sweep costs, planted tensors.

    python -m benchmarks.scripts.graded --out benchmarks/results

A yard is the median time of seven stable sorts of a million random numbers in this process. Writes
one ``graded_*.md`` per section.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import statistics
import time
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

import intensor
from benchmarks.scripts.fast import yard
from intensor.backends.cpu import CpuCells
from intensor.backends.packed_cells import pack_cells
from intensor.data.observations import observe
from intensor.runtime.budget import Budget
from intensor.runtime.threads import Workers
from intensor.solver.graded.component_set import ComponentSet

NEEDED_ROWS = [((10,) * 3, 500), ((16,) * 3, 1000), ((10,) * 4, 2000)]
NEEDED_SIZES = (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
NOISY_ROWS = [((20,) * 3, 2000), ((50,) * 3, 5000), ((10,) * 4, 10_000), ((10,) * 6, 10_000)]
SOLVED_ROWS = [
    *(((r,) * 3, 500) for r in range(10, 101, 10)),
    *(((10,) * p, 10_000) for p in range(4, 9)),
    *(((10,) * 6, n) for n in (100, 1000, 100_000)),
    *(((10,) * 7, n) for n in (1000, 100_000, 1_000_000)),
]
SECTIONS = ("needed", "sweep", "noisy", "solved", "real")


def main() -> int:
    """Run the sections asked for and write their reports."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--sections", nargs="*", choices=SECTIONS, default=SECTIONS)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    small = intensor.planted((4, 4, 4), 40, noise=0.1)
    for components in ("boxes", "graded"):  # compile before anything is timed
        solve(small, components=components)
    for section in arguments.sections:
        lines = globals()[section](arguments)
        (arguments.out / f"graded_{section}.md").write_text("\n".join(lines) + "\n")
        print("\n".join(lines), flush=True)
    return 0


def solve(data: intensor.Planted, **options: object) -> intensor.Result:
    """Solve a planted instance with radius 1."""
    values = np.maximum(data.values, 0.0)
    return intensor.solve(data.coords, values, shape=data.shape, radius=1.0, **options)


def needed(arguments: argparse.Namespace) -> list[str]:
    """Count the terms that come within 1 % and 0.1 % of the certified optimum."""
    lines = [
        "## Terms needed at radius 1, planted with noise 0.05",
        "",
        "The optimum is certified by boxes to 0.1 % of the objective. Boxes are counted when the",
        "objective of a solve first comes that close; components by the smallest limit that does.",
        "",
        "| shape | n | rep | boxes at the end | boxes, 1 % | boxes, 0.1 % | components, 1 % | "
        "components, 0.1 % | least distance |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for shape, n in NEEDED_ROWS:
        for rep in range(arguments.reps):
            data = intensor.planted(shape, n, rep=rep, noise=0.05)
            best = solve(data, tol=5e-7, rtol=0.0, time_limit=120)
            within = {
                share: next(
                    (row.active for row in best.trace if row.objective <= (1 + share) * best.bound),
                    None,
                )
                for share in (0.01, 0.001)
            }
            found: dict[float, int] = {}
            least = np.inf
            for size in NEEDED_SIZES:
                result = solve(
                    data,
                    components="graded",
                    max_components=size,
                    tol=1e-9,
                    rtol=0.0,
                    exact="off",
                    time_limit=30,
                )
                apart = result.objective / best.bound - 1.0
                least = min(least, apart)
                for share in within:
                    if apart <= share:
                        found.setdefault(share, size)
                if len(found) == len(within):
                    break
            cells = [within[0.01], within[0.001], found.get(0.01), found.get(0.001)]
            text = " | ".join("-" if cell is None else str(cell) for cell in cells)
            lines.append(
                f"| {_shape(shape)} | {n} | {rep} | {len(best.model)} | {text} | {least:.2%} |"
            )
    return lines


def sweep(arguments: argparse.Namespace) -> list[str]:
    """Time sweeps as the number of cells, components and modes grows."""
    unit = yard()
    lines = [
        "## One sweep over all modes",
        "",
        f"A yard is {unit:.4f} s here. The peak is that of a matrix product of 1500 x 1500 on "
        f"one thread, {_peak() / 1e9:.1f} billion multiply-adds a second.",
        "",
        "| cells | modes | length | components | threads | seconds | yards | share of the peak |",
        "|---|---|---|---|---|---|---|---|",
    ]
    cases = [
        *((10**6, 3, 200, 32, threads) for threads in (1, 2)),
        *((n, 3, 200, 32, 1) for n in (10**4, 10**5)),
        *((10**5, 3, 200, k, 1) for k in (4, 8, 16, 64, 128)),
        *((10**5, p, length, 32, 1) for p, length in ((2, 1000), (4, 200), (6, 200))),
    ]
    points = []
    for n, p, length, k, threads in cases:
        seconds = _time_sweep(n, p, length, k, threads)
        # half of each symmetric matrix is computed
        share = n * p * k * (k + 1) / 2 / seconds / (_peak() * threads)
        points.append((n, p, k, threads, seconds))
        lines.append(
            f"| {n} | {p} | {length} | {k} | {threads} | {seconds:.4f} | {seconds / unit:.2f} | "
            f"{share:.0%} |"
        )
    _draw_growth(points, arguments.out / "graded_sweep.svg")
    return [*lines, "", "![growth](graded_sweep.svg)"]


def _time_sweep(n: int, p: int, length: int, k: int, threads: int) -> float:
    rng = np.random.default_rng(0)
    coords = rng.integers(0, length, size=(n, p))
    factors, weights = rng.random((p * length, k)), np.full(k, 1.0 / k)
    terms = np.prod([factors[mode * length + coords[:, mode]] for mode in range(p)], axis=0)
    values = terms @ weights + 0.01 * rng.random(n)  # so that no component is dropped
    observations = observe(coords, values, shape=(length,) * p)
    with contextlib.closing(Workers(threads)) as workers:
        components = ComponentSet(CpuCells(pack_cells(observations, 1.0), workers))
        times = []
        for _ in range(5):
            components.take(factors.copy(), weights.copy())
            components.evaluate()
            start = time.perf_counter()
            components.sweep(Budget())
            times.append(time.perf_counter() - start)
        if components.count != k:
            raise RuntimeError(f"{k - components.count} components were dropped")
    return statistics.median(times[1:])


def _peak() -> float:
    """Return the multiply-adds a second of a matrix product on one thread, measured once."""
    if not hasattr(_peak, "found"):
        from intensor.runtime.threads import one_blas_thread  # noqa: PLC0415

        matrix = np.random.default_rng(0).random((1500, 1500))
        with one_blas_thread():
            times = []
            for _ in range(5):
                start = time.perf_counter()
                matrix @ matrix
                times.append(time.perf_counter() - start)
        _peak.found = 1500**3 / min(times)
    return _peak.found


def _draw_growth(points: list[tuple[int, int, int, int, float]], path: Path) -> None:
    matplotlib.use("Agg")
    figure = Figure(figsize=(9, 3), layout="constrained")
    axes = figure.subplots(1, 3, sharey=True)
    titles = ("cells", "components", "modes")
    chosen = (
        [(n, s) for n, p, k, t, s in points if (p, k, t) == (3, 32, 1)],
        [(k, s) for n, p, k, t, s in points if (n, p, t) == (10**5, 3, 1)],
        [(p, s) for n, p, k, t, s in points if (n, k, t) == (10**5, 32, 1) and p != 3],
    )
    for ax, title, line in zip(axes, titles, chosen, strict=True):
        ax.loglog(*zip(*sorted(line), strict=True), "o-")
        ax.set_xlabel(title)
    axes[0].set_ylabel("seconds a sweep")
    figure.savefig(path)


def noisy(arguments: argparse.Namespace) -> list[str]:
    """Fit noisy planted tensors with nothing chosen by hand."""
    lines = [
        "## Planted with noise 0.05, `TensorCompleter()`",
        "",
        "| shape | n | median NMSE | all | terms | median s |",
        "|---|---|---|---|---|---|",
    ]
    for shape, n in NOISY_ROWS:
        errors, seconds, terms = [], [], []
        for rep in range(arguments.reps):
            data = intensor.planted(shape, n, rep=rep, noise=0.05)
            values = np.maximum(data.values, 0.0)
            start = time.perf_counter()
            fitted = intensor.TensorCompleter().fit(data.coords, values)
            seconds.append(time.perf_counter() - start)
            errors.append(intensor.nmse(fitted.model_, data.truth))
            terms.append(str(fitted.model_).split(": ")[1].split(",")[0])
        told = ", ".join(f"{error:.3f}" for error in errors)
        lines.append(
            f"| {_shape(shape)} | {n} | {statistics.median(errors):.4f} | {told} | "
            f"{'; '.join(terms)} | {statistics.median(seconds):.1f} |"
        )
    return lines


def solved(arguments: argparse.Namespace) -> list[str]:
    """Solve the paper's instances out, without noise, with boxes and with components."""
    lines = [
        "## The paper's rows without noise, solved out: rtol = 1e-12, at most 5 s",
        "",
        "| shape | n | boxes, median NMSE | s | components, median NMSE | s |",
        "|---|---|---|---|---|---|",
    ]
    for shape, n in SOLVED_ROWS:
        cells = []
        for components in ("boxes", "graded"):
            errors, seconds = [], []
            for rep in range(arguments.reps):
                data = intensor.planted(shape, n, rep=rep)
                options = {"components": components, "rtol": 1e-12, "tol": 0.0, "time_limit": 5}
                result = solve(data, exact="off", **options)
                errors.append(intensor.nmse(result.model, data.truth))
                seconds.append(result.seconds.total)
            cells += [f"{statistics.median(errors):.1e}", f"{statistics.median(seconds):.3f}"]
        lines.append(f"| {_shape(shape)} | {n} | {' | '.join(cells)} |")
    return lines


def real(arguments: argparse.Namespace) -> list[str]:
    """Set the runs of real data beside those with boxes, from runs.csv."""
    with Path("benchmarks/runs.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["section"] == "real"]
    latest = {(row["task"], row["method"]): row for row in rows if row["status"] == "done"}
    lines = [
        "## Real data: boxes and then kriging (before), and what is chosen now",
        "",
        "| task | RMSE before | now | MAE before | now | MAPE before | now | relative error before "
        "| now | s before | now | chosen now |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for task in dict.fromkeys(row["task"] for row in rows):
        before, now = latest.get((task, "intensor, boxes")), latest.get((task, "intensor"))
        if before is None or now is None:
            continue
        cells = []
        for name in ("rmse", "mae", "mape", "relative_error", "seconds"):
            digits = 3 if name == "seconds" else 4
            cells += [f"{float(row[name]):.{digits}g}" for row in (before, now)]
        lines.append(f"| {task} | {' | '.join(cells)} | {now['chosen']} |")
    return lines


def _shape(shape: tuple[int, ...]) -> str:
    return f"{shape[0]}^{len(shape)}"


if __name__ == "__main__":
    raise SystemExit(main())
