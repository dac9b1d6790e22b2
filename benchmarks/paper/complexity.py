"""Sample complexity: the error of a planted tensor against the number of observations."""

from __future__ import annotations

import itertools
import math
import statistics
import time
from functools import cache

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import intensor
from benchmarks.ledger import Ledger, Row, values
from benchmarks.machine import cores
from benchmarks.paper.figures import save
from benchmarks.runs import Run
from benchmarks.sections import Options, Section

NAME = "complexity"
LENGTH = 10
MODES = (3, 4, 5, 6, 7, 8)
NOISY_MODES = (3, 4, 5)
COUNTS = (50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)
NOISY_COUNTS = COUNTS[2:-1]
NOISE = 0.05
"""Standard deviation of the noise: uniform, so that it is bounded as the guarantee asks for."""
EXACT = 1e-10
"""A curve ends where its median NMSE falls below."""
LEVELS = (0.1, 0.01, 1e-6)
MOST_REPS = 3
SECONDS, NOISY_SECONDS = 30.0, 15.0
RTOL, NOISY_RTOL = 1e-10, 1e-3
LEARNT = 0.5
"""NMSE below which a point counts for the slope: above, nothing has been learnt yet."""
METHODS = {False: "fast", True: "fast, noise"}
FIGURE = "complexity.svg"
GUARANTEE = """\
The guarantee that the paper cites: given n observations with |y| <= b of a tensor whose mode
lengths add up to rho, with probability 1 - 4 delta

    E(y - estimate)^2 <= min over the polytope of E(y - phi)^2
                         + c0 max(b^2, radius^2) max(zeta_n, log(1/delta) / n),
    zeta_n = sqrt(log(e 2^rho / sqrt(n)) / n)  if 2^rho > sqrt(n), as everywhere here,
             2^rho / n                         otherwise,

with an absolute constant c0. So the excess is bounded by about sqrt(rho / n): it falls like n^-1/2,
and for a given error n grows like rho, not like the number of cells."""
MARKERS = "osD^vX"


def task_name(modes: int, n: int) -> str:
    """Return the name of a task in tables."""
    return f"{LENGTH}^{modes} n={n}"


def zeta(n: float, rho: int) -> float:
    """Return the rate of the guarantee for n observations and mode lengths that add up to rho."""
    if rho * math.log(2.0) <= 0.5 * math.log(n):
        return 2.0**rho / n
    return math.sqrt((1.0 + rho * math.log(2.0) - 0.5 * math.log(n)) / n)


def measure(modes: int, n: int, rep: int, *, noisy: bool, seconds: float, threads: int) -> Row:
    """Fit one planted instance at its radius, 1; the error is over all cells, without noise.

    ``rmse`` squared is the risk above that of the truth. Noise may make values negative: clipping
    them would add a bias that no number of observations takes away.
    """
    _warm_up()
    data = intensor.planted((LENGTH,) * modes, n, rep)
    observed = data.values
    if noisy:
        reach = math.sqrt(3.0) * NOISE
        observed = observed + np.random.default_rng([rep, n, modes]).uniform(-reach, reach, n)
    began = time.perf_counter()
    result = intensor.solve(
        data.coords,
        observed,
        shape=data.shape,
        radius=1.0,
        rtol=NOISY_RTOL if noisy else RTOL,
        time_limit=seconds,
        threads=threads,
        allow_negative=noisy,
    )
    taken = time.perf_counter() - began
    error = intensor.nmse(result.model, data.truth)
    weights, overlaps = data.truth.weights, data.truth.vertices.overlaps(data.truth.vertices)
    mean_square = float(weights @ overlaps @ weights) / float(LENGTH) ** modes
    return {
        "seconds": taken,
        "nmse": error,
        "rmse": math.sqrt(error * mean_square),
        "objective": result.objective,
        "gap": result.gap,
        "iterations": result.counters.iterations,
        "boxes": len(result.model.weights),
        "chosen": result.status.name,
    }


@cache
def _warm_up() -> None:
    """Load compiled code once, off the clock."""
    data = intensor.planted((4, 4, 4), 40)
    intensor.solve(data.coords, data.values, radius=1.0)


def runs(options: Options) -> list[Run]:
    """Return the runs: all repetitions of a point before the next point of the curve."""
    points = [
        *((modes, n, False) for modes, n in itertools.product(MODES, COUNTS)),
        *((modes, n, True) for modes, n in itertools.product(NOISY_MODES, NOISY_COUNTS)),
    ]
    found = []
    for modes, n, noisy in points:
        seconds = NOISY_SECONDS if noisy else SECONDS
        told = {
            "modes": modes,
            "n": n,
            "noisy": noisy,
            "seconds": seconds,
            "threads": max(1, cores() // options.jobs),
        }
        found += [
            Run(
                section=NAME,
                task=task_name(modes, n),
                method=METHODS[noisy],
                rep=rep,
                call=measure,
                arguments={**told, "rep": rep},
                limit=seconds,
                expected=5.0 if noisy else 1.0,
            )
            for rep in range(min(options.reps, MOST_REPS))
        ]
    return found


def skip(ledger: Ledger, run: Run) -> str | None:
    """Say that a curve has ended: a smaller n is solved exactly already."""
    for n in COUNTS:
        if n >= run.arguments["n"]:
            return None
        found = _errors(ledger, run.arguments["modes"], n, run.method)
        if found and statistics.median(found) < EXACT:
            return f"exact from n = {n} on"
    return None


def _errors(ledger: Ledger, modes: int, n: int, method: str) -> list[float]:
    return values(ledger.rows(section=NAME, task=task_name(modes, n), method=method), "nmse")


def curve(ledger: Ledger, modes: int, noisy: bool) -> dict[int, float]:
    """Return the median NMSE by the number of observations."""
    found = {n: _errors(ledger, modes, n, METHODS[noisy]) for n in COUNTS}
    return {n: statistics.median(errors) for n, errors in found.items() if errors}


def slope(points: dict[int, float]) -> float | None:
    """Return the exponent of n by least squares in logarithms, where something was learnt."""
    kept = [(math.log(n), math.log(error)) for n, error in points.items() if 0 < error < LEARNT]
    if len(kept) < 2:
        return None
    return float(np.polyfit(*np.transpose(kept), 1)[0])


def report(ledger: Ledger, options: Options) -> list[str]:
    """Return what the guarantee says, what is seen, and the figure."""
    exact = {modes: curve(ledger, modes, False) for modes in MODES}
    noisy = {modes: curve(ledger, modes, True) for modes in NOISY_MODES}
    save(_draw(exact, noisy), options.figures / FIGURE)
    return [
        *GUARANTEE.splitlines(),
        "",
        f"Planted tensors of {MODES[0]} to {MODES[-1]} modes of length {LENGTH} (10 boxes, radius "
        f"1), observed at random cells; up to {MOST_REPS} repetitions, medians; NMSE over all "
        f"cells; {SECONDS:.0f} s a fit without noise, {NOISY_SECONDS:.0f} s with. A curve ends "
        f"where the median falls below {EXACT:g}.",
        "",
        *_thresholds(exact),
        "",
        *_rates(ledger, noisy),
        "",
        f"![NMSE against observations](figures/{FIGURE})",
        "",
        f"Dashed: zeta_n for {NOISY_MODES[-1]} modes, scaled to 1 at n = {COUNTS[0]}.",
        "",
        *_seen(exact, noisy),
    ]


def _thresholds(exact: dict[int, dict[int, float]]) -> list[str]:
    head = " | ".join(f"NMSE <= {level:g}" for level in LEVELS)
    lines = [f"| modes | rho | bits of 10 boxes | cells | {head} |", "|---" * 7 + "|"]
    for modes, points in exact.items():
        if not points:
            continue
        cells = [_first(points, level) for level in LEVELS]
        told = " | ".join(f"> {max(points)}" if n is None else f"{n}" for n in cells)
        rho = modes * LENGTH
        lines.append(f"| {modes} | {rho} | {10 * rho} | 10^{modes} | {told} |")
    return ["Smallest n tried whose median NMSE is at most so much, without noise:", "", *lines]


def _first(points: dict[int, float], level: float) -> int | None:
    return next((n for n, error in points.items() if error <= level), None)


def _rates(ledger: Ledger, noisy: dict[int, dict[int, float]]) -> list[str]:
    """Return a table of the fitted exponents under noise next to those of the guarantee."""
    lines = [
        f"Noise of standard deviation {NOISE} (uniform; values may be negative), exponent of n "
        f"fitted where the median NMSE is below {LEARNT}:",
        "",
        "| modes | exponent seen | of zeta_n there | n fitted | NMSE there | within tolerance |",
        "|---|---|---|---|---|---|",
    ]
    for modes, points in noisy.items():
        found = slope(points)
        if found is None:
            continue
        kept = {n: error for n, error in points.items() if error < LEARNT}
        first, last = min(kept), max(kept)
        rates = [zeta(n, modes * LENGTH) for n in (first, last)]
        bound = math.log(rates[1] / rates[0]) / math.log(last / first)
        rows = [
            row
            for n in kept
            for row in ledger.rows(section=NAME, task=task_name(modes, n), method=METHODS[True])
        ]
        proven = sum(row["chosen"] in ("OPTIMAL", "WITHIN_TOLERANCE") for row in rows)
        lines.append(
            f"| {modes} | {found:.2f} | {bound:.2f} | {first} - {last} | "
            f"{kept[first]:.2g} - {kept[last]:.2g} | {proven} of {len(rows)} |"
        )
    return lines


def _seen(exact: dict[int, dict[int, float]], noisy: dict[int, dict[int, float]]) -> list[str]:
    """Return sentences on the curves, from the numbers."""
    lines = []
    needed = {modes: _first(points, LEVELS[-1]) for modes, points in exact.items()}
    done = {modes: n for modes, n in needed.items() if n is not None}
    if len(done) > 1:
        low, high = min(done), max(done)
        lines.append(
            f"From {low} to {high} modes cells grow {10 ** (high - low):,} times, rho "
            f"{high / low:.1f} times, and the n of an NMSE of {LEVELS[-1]:g} without noise "
            f"{done[high] / done[low]:.0f} times. The guarantee bounds the squared error; NMSE "
            "divides it by the mean square of the truth, which shrinks with every mode, as a box "
            "covers about 2^-p of the cells. Without noise the error is no power of n: once the "
            "boxes are determined they come out exactly, which no such bound promises."
        )
    found = {modes: slope(points) for modes, points in noisy.items()}
    told = [f"{rate:.2f} ({modes} modes)" for modes, rate in found.items() if rate is not None]
    if told:
        lines.append(
            f"With noise the exponents are {', '.join(told)}. The bound has about -0.5, for the "
            "worst tensor in the polytope; -1 is usual for a fixed number of parameters, such as "
            "those of ten boxes."
        )
    return [" ".join(lines)] if lines else []


def _draw(exact: dict[int, dict[int, float]], noisy: dict[int, dict[int, float]]) -> Figure:
    figure = Figure(figsize=(9.0, 4.0), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True)
    _draw_curves(left, exact, "without noise")
    _draw_curves(right, noisy, f"noise {NOISE}")
    left.set_ylabel("NMSE over all cells, median")
    return figure


def _draw_curves(axes: Axes, curves: dict[int, dict[int, float]], title: str) -> None:
    for modes, points in curves.items():
        if points:
            heights = [max(error, EXACT / 100.0) for error in points.values()]
            marker = MARKERS[modes - MODES[0]]
            axes.plot([*points], heights, marker=marker, markersize=4, label=f"{modes} modes")
    rho = LENGTH * NOISY_MODES[-1]
    rates = [zeta(n, rho) / zeta(COUNTS[0], rho) for n in COUNTS]
    axes.plot(
        COUNTS, rates, "k--", linewidth=1, label=f"rate of the bound, {NOISY_MODES[-1]} modes"
    )
    axes.set(xscale="log", yscale="log", xlabel="observations n", title=title)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")


SECTION = Section(
    name=NAME,
    title="Sample complexity",
    runs=runs,
    report=report,
    skip=skip,
)
