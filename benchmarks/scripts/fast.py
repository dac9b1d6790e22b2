"""What the default solver reaches: time in yards, accuracy solved out, noisy and real data, memory.

    python -m benchmarks.scripts.fast --paper ../shared/paper --data ../shared/data

A yard is the median time of seven stable sorts of a million random numbers, measured anew in
this process before every row. Writes ``fast.md`` and ``fast_rounds.svg`` to ``--out``.
"""

from __future__ import annotations

import argparse
import math
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.io

import intensor
from benchmarks.paper.published import published_rows, published_runs
from intensor.data.observations import observe
from intensor.oracles.alternating import AlternatingOracle
from intensor.oracles.contraction import PerIndexRemembered
from intensor.problem.objective import build_objective

SPEED_ROWS = [
    *(((r,) * 3, 500, 0.12) for r in range(10, 101, 10)),
    *(((10,) * p, 10_000, 0.3) for p in range(4, 9)),
    ((10,) * 6, 100_000, 1.5),
    ((10,) * 7, 100_000, 2.0),
    ((10,) * 7, 1_000_000, 10.0),
]
SOLVED_ROWS = [
    ((10,) * 3, 500, 3e-3),
    ((20,) * 3, 500, 0.03),
    ((10,) * 4, 10_000, 1e-12),
    ((10,) * 5, 10_000, 2e-3),
    ((10,) * 6, 10_000, 4e-3),
    ((10,) * 7, 10_000, 0.02),
    ((10,) * 8, 10_000, 0.06),
    ((10,) * 6, 100_000, 1e-12),
    ((10,) * 7, 100_000, 1e-12),
    ((10,) * 7, 1_000_000, 1e-12),
]
NOISY_ROWS = [((10,) * 4, 10_000), ((50,) * 3, 5000)]
ROUND_SIZES = [10_000, 100_000, 1_000_000, 10_000_000]
SECTIONS = ("speed", "solved", "noisy", "hangzhou", "memory", "rounds", "predict")


def main() -> int:
    """Run the sections asked for and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--paper", type=Path, default=Path("../shared/paper"))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--reps", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="first repetition of the speed rows")
    parser.add_argument("--sections", nargs="*", choices=SECTIONS, default=SECTIONS)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    solve(intensor.planted((4, 4), 20))  # compile before anything is timed
    for section in arguments.sections:
        lines = globals()[section](arguments)
        (arguments.out / f"fast_{section}.md").write_text("\n".join(lines) + "\n")
        print("\n".join(lines), flush=True)
    return 0


def solve(data: intensor.Planted, **options: float) -> intensor.Result:
    """Solve a planted instance with radius 1."""
    return intensor.solve(data.coords, data.values, shape=data.shape, radius=1.0, **options)


def yard() -> float:
    """Return the yardstick of this process, in seconds."""
    numbers = np.random.default_rng(0).random(10**6)
    times = []
    for _ in range(7):
        start = time.perf_counter()
        np.sort(numbers, kind="stable")
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def name_of(shape: tuple[int, ...]) -> str:
    """Return a short name of a cubic shape."""
    return f"{shape[0]}^{len(shape)}"


def timed(shape: tuple[int, ...], n: int, reps: int, first: int = 0, **options: float) -> tuple:
    """Return seconds, NMSE and results of the repetitions."""
    seconds, errors, results = [], [], []
    for rep in range(first, first + reps):
        data = intensor.planted(shape, n, rep)
        start = time.perf_counter()
        result = solve(data, **options)
        seconds.append(time.perf_counter() - start)
        errors.append(intensor.nmse(result.model, data.truth))
        results.append(result)
    return seconds, errors, results


def speed(arguments: argparse.Namespace) -> list[str]:
    """Time to tol=1e-4, in yards, with the NMSE beside the paper's."""
    published, theirs = published_rows(arguments.paper), published_runs(arguments.paper)
    first, last = arguments.first, arguments.first + arguments.reps
    lines = [
        f"## To tol = 1e-4, repetitions {first}-{last - 1}, medians\n",
        "`published` is the paper's best mean NMSE over its versions and 100 repetitions, "
        "`authors` the best mean of the authors' own runs of these repetitions.\n",
        "| shape | n | ms | yards | target | NMSE | published | authors | boxes |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for shape, n, target in SPEED_ROWS:
        one = yard()
        seconds, errors, results = timed(shape, n, arguments.reps, first, tol=1e-4, rtol=0.0)
        key = "x".join(map(str, shape)), n
        best = min(published[(*key, version)]["nmse_mean"] for version in range(11))
        authors = min(
            statistics.mean(theirs[(*key, version, rep)] for rep in range(first, last))
            for version in range(11)
        )
        middle = statistics.median(seconds)
        lines.append(
            f"| {name_of(shape)} | {n} | {1000 * middle:.1f} | {middle / one:.3f} | {target} | "
            f"{statistics.mean(errors):.4f} | {best:.3f} | {authors:.4f} | "
            f"{statistics.median(len(r.model) for r in results):.0f} |"
        )
    return lines


def solved(arguments: argparse.Namespace) -> list[str]:
    """Accuracy with rtol=1e-12."""
    lines = [
        f"\n## Solved out: rtol = 1e-12, at most 5 s, repetitions 0-{arguments.reps - 1}\n",
        "| shape | n | median NMSE | target | mean NMSE | median s | times tol=1e-4 | status |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for shape, n, target in SOLVED_ROWS:
        quick, _, _ = timed(shape, n, min(3, arguments.reps), tol=1e-4, rtol=0.0)
        seconds, errors, results = timed(
            shape, n, arguments.reps, tol=0.0, rtol=1e-12, time_limit=5.0
        )
        counts = {r.status.name: 0 for r in results}
        for result in results:
            counts[result.status.name] += 1
        status = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
        middle = statistics.median(seconds)
        lines.append(
            f"| {name_of(shape)} | {n} | {statistics.median(errors):.1e} | {target:g} | "
            f"{statistics.mean(errors):.1e} | {middle:.3f} | "
            f"{middle / statistics.median(quick):.1f} | {status} |"
        )
    return lines


def noisy(arguments: argparse.Namespace) -> list[str]:
    """Noise 0.05: what 2000 fresh starts still find at the end."""
    lines = [
        "\n## Planted with noise 0.05, default tolerance\n",
        "| shape | n | objective | s | status | boxes | gap by 2000 fresh starts / objective |",
        "|---|---|---|---|---|---|---|",
    ]
    for shape, n in NOISY_ROWS:
        data = intensor.planted(shape, n, 0, noise=0.05)
        result = solve(data, time_limit=240.0)
        cells = observe(data.coords, data.values, shape=shape)
        x = result.model.evaluate(cells.coords)
        gradient = build_objective(cells, 1.0).gradient(x)
        oracle = AlternatingOracle(
            PerIndexRemembered(cells), shape, rng=np.random.default_rng(2), most_runs=2000
        )
        gap = float(gradient @ x) - oracle.minimise(gradient).value
        lines.append(
            f"| {name_of(shape)} | {n} | {result.objective:.6g} | {result.seconds.total:.1f} | "
            f"{result.status} | {len(result.model)} | {max(gap, 0.0) / result.objective:.1e} |"
        )
    return lines


def hangzhou(arguments: argparse.Namespace) -> list[str]:
    """Metro counts: seconds until the training objective is 0.42."""
    tensor = scipy.io.loadmat(arguments.data / "transdim_hangzhou_tensor.mat")["tensor"]
    stored = scipy.io.loadmat(arguments.data / "transdim_hangzhou_random_tensor.mat")
    uniforms = next(value for key, value in stored.items() if not key.startswith("__"))
    observed = (tensor > 0) & (np.round(uniforms + 0.5 - 0.4) > 0)
    hidden = (tensor > 0) & ~observed
    reached = math.inf

    def watch(progress: intensor.Progress) -> None:
        nonlocal reached
        if progress.step == "local" and progress.objective <= 0.42:
            reached = min(reached, progress.seconds)

    result = intensor.solve(
        np.argwhere(observed),
        np.sqrt(tensor[observed].astype(float)),
        shape=tensor.shape,
        radius=200.0,
        time_limit=12.0,
        callback=watch,
    )
    predicted = result.model.predict(np.argwhere(hidden)) ** 2
    error = predicted - tensor[hidden]
    return [
        "\n## Hangzhou, stored random 40 % missing, square roots, radius 200, 12 s\n",
        f"{int(observed.sum())} observations. Training objective 0.42 (target: within 12 s) after "
        f"{reached:.1f} s; at the end {result.objective:.4f} with {len(result.model)} boxes. "
        f"Hidden cells: MAPE {np.mean(np.abs(error) / tensor[hidden]):.4f}, RMSE "
        f"{np.sqrt(np.mean(error**2)):.2f}.",
    ]


def memory(arguments: argparse.Namespace) -> list[str]:
    """Peak memory above the inputs at 10^7 n=1M, in a process of its own."""
    code = """
import os, sys, threading, numpy as np, intensor

def resident():
    with open("/proc/self/statm") as stream:
        return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

small = intensor.planted((10,) * 7, 100_000)
intensor.solve(small.coords, small.values, shape=small.shape, radius=1.0, tol=1e-4, rtol=0.0)
del small
coords, values = np.load(sys.argv[1]), np.load(sys.argv[2])
before, peak, done = resident(), 0, threading.Event()

def watch():
    global peak
    while not done.wait(0.0005):
        peak = max(peak, resident())

watcher = threading.Thread(target=watch)
watcher.start()
intensor.solve(coords, values, shape=(10,) * 7, radius=1.0, tol=1e-4, rtol=0.0)
done.set()
watcher.join()
print((peak - before) / len(values))
"""
    with tempfile.TemporaryDirectory() as folder:
        data = intensor.planted((10,) * 7, 1_000_000)
        paths = [f"{folder}/coords.npy", f"{folder}/values.npy"]
        np.save(paths[0], data.coords)
        np.save(paths[1], data.values)
        del data
        call = [sys.executable, "-c", code, *paths]
        printed = subprocess.run(call, capture_output=True, text=True, check=True).stdout
    return [
        "\n## Memory\n",
        f"10^7, n = 1M: {float(printed):.0f} bytes per observation above the inputs at the peak "
        "(target: at most 60), by the resident set, looked at every half millisecond.",
    ]


def rounds(arguments: argparse.Namespace) -> list[str]:
    """Time per round against n."""
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use("svg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    lines = [
        "\n## Time per round\n",
        "100^4, noise 0.05: median seconds of a round (pricing, Gram rows, master, evaluation) on "
        "all cells, over the first rounds after the sample.\n",
        "| n | s per round | ns per observation and round |",
        "|---|---|---|",
    ]
    points = []
    for n in ROUND_SIZES:
        data = intensor.planted((100,) * 4, n, 0, noise=0.05)
        result = solve(data, max_iterations=14)
        ends = [row.seconds for row in result.trace if row.step == "local"]
        middle = statistics.median(np.diff(ends))
        points.append(middle)
        lines.append(f"| {n} | {middle:.4f} | {1e9 * middle / n:.0f} |")
    slope = np.polyfit(np.log(ROUND_SIZES), np.log(points), 1)[0]
    lines.append(f"\nSlope in logarithms: {slope:.2f} (1 is linear). Plot: `fast_rounds.svg`.")
    figure, axes = plt.subplots(figsize=(5, 3.5))
    axes.loglog(ROUND_SIZES, points, "o-", label="measured")
    axes.loglog(
        ROUND_SIZES, [points[-1] * n / ROUND_SIZES[-1] for n in ROUND_SIZES], "--", label="linear"
    )
    axes.set_xlabel("observations")
    axes.set_ylabel("seconds per round")
    axes.legend()
    figure.tight_layout()
    figure.savefig(arguments.out / "fast_rounds.svg")
    return lines


def predict(arguments: argparse.Namespace) -> list[str]:
    """Predictions per second."""
    data = intensor.planted((10,) * 7, 4_000_000, n_vertices=20)
    times = []
    for _ in range(7):
        start = time.perf_counter()
        data.truth.predict(data.coords)
        times.append(time.perf_counter() - start)
    rate = len(data.values) / statistics.median(times)
    return [
        "\n## Prediction\n",
        f"20 boxes, 7 modes: {rate:.2e} cells per second (target: at least 2e7).",
    ]


if __name__ == "__main__":
    sys.exit(main())
