"""Exact oracles on noisy data: time of one call, of a certified solve, and MIP solvers beside them.

    python -m benchmarks.scripts.exact

Costs of the calls are the gradient where the heuristic phase of a solve ends: the hard case, in
which the vertices in use are within rounding of the best. Writes ``exact_*.md`` to ``--out``.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import intensor
from intensor.data.observations import Observations, observe
from intensor.oracles.alternating import best_of_many
from intensor.oracles.base import Answer, Oracle
from intensor.oracles.cascade import find_exact
from intensor.problem.objective import build_objective
from intensor.runtime.budget import Budget

SECTIONS = ("calls", "solves", "stretch", "matrix", "mip")
NOISE = 0.05


@dataclass(frozen=True)
class Case:
    """An instance with its targets in seconds: of a call and of a certified solve."""

    name: str
    shape: tuple[int, ...]
    n: int | None  # None for a picture
    radius: float
    exact: str
    call: float | None = None
    solve: float | None = None


CASES = [
    Case("10^3 n=500", (10,) * 3, 500, 1.0, "enumeration", 0.005, 0.5),
    Case("16^3 n=1000", (16,) * 3, 1000, 1.0, "enumeration", 0.6, 5.0),
    Case("10^4 n=2000", (10,) * 4, 2000, 1.0, "enumeration", 0.8, 10.0),
    Case("10^4 n=10k", (10,) * 4, 10_000, 1.0, "enumeration", 0.8, 10.0),
    Case("20^3 n=500", (20,) * 3, 500, 1.0, "enumeration", 15.0, 90.0),
    Case("picture 30x30x3", (30, 30, 3), None, 1.6, "branch", 3.0, 30.0),
    Case("picture 50x50x3", (50, 50, 3), None, 1.2, "branch", 20.0, None),
]
STRETCH = [
    Case("10^5 n=10k", (10,) * 5, 10_000, 1.0, "enumeration"),
    Case("24^3 n=1500", (24,) * 3, 1500, 1.0, "enumeration"),
    Case("picture 40x40x3", (40, 40, 3), None, 1.6, "branch"),
]

MATRIX = Case("60x40 n=1000", (60, 40), 1000, 1.0, "branch")


def main() -> int:
    """Run the sections asked for and write the reports."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--cap", type=float, default=60.0, help="seconds for a MIP solver's call")
    parser.add_argument("--first", type=int, default=0, help="first repetition of calls and solves")
    parser.add_argument("--sections", nargs="*", choices=SECTIONS, default=SECTIONS)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    _compile()
    for section in arguments.sections:
        lines: list[str] = []
        for line in globals()[section](arguments):
            print(line, flush=True)
            lines.append(line)
        fresh = "_fresh" if arguments.first > 0 else ""
        (arguments.out / f"exact_{section}{fresh}.md").write_text("\n".join(lines) + "\n")
    return 0


def calls(arguments: argparse.Namespace) -> Iterator[str]:
    """Time single calls that look for the least cost, without a goal to stop at."""
    yield "# One exact call: the least cost of all vertices, and its proof"
    yield ""
    yield "| instance | target s | expected s | one thread s | two threads s | cost / the model's |"
    yield "|---|---|---|---|---|---|"
    for case in CASES:
        rows = [_call(case, rep) for rep in _repetitions(case, arguments.first)]
        expected, one, two, ratio = zip(*rows, strict=True)
        yield (
            f"| {case.name} | {case.call:g} | {expected[0]:.2g} | {_each(one)} | {_each(two)} | "
            f"{', '.join(f'{value:.5f}' for value in ratio)} |"
        )


def solves(arguments: argparse.Namespace) -> Iterator[str]:
    """Time solves to a proven gap of 1 % of the objective, everything included."""
    yield "# Certified solves: to a proven gap of 1 % of the objective"
    yield ""
    yield "| instance | target s | one thread s | two threads s | exact calls | gap | by |"
    yield "|---|---|---|---|---|---|---|"
    for case in CASES:
        yield _solve_row(case, _repetitions(case, arguments.first), limit=300.0)


def stretch(_: argparse.Namespace) -> Iterator[str]:
    """Report what certified solves reach in two minutes."""
    yield "# Stretch: what is reached in 120 s (two threads)"
    yield ""
    yield "| instance | status | seconds | exact calls | objective | proven gap | by |"
    yield "|---|---|---|---|---|---|---|"
    for case in STRETCH:
        result, seconds = certify(case, 0, threads=2, limit=120.0)
        yield (
            f"| {case.name} | {result.status} | {seconds:.0f} | {result.counters.exact_calls} | "
            f"{result.objective:.4g} | {result.gap / result.objective:.2%} | "
            f"{result.bound_source} |"
        )


def matrix(_: argparse.Namespace) -> Iterator[str]:
    """Report certified solves of a matrix, without and with noise."""
    yield "# Matrices: 60x40, n = 1000"
    yield ""
    yield "| noise | rep | status | seconds | exact calls | objective | proven gap | by |"
    yield "|---|---|---|---|---|---|---|---|"
    for noise, limit in ((0.0, 120.0), (NOISE, 120.0)):
        for rep in range(3 if noise == 0.0 else 1):
            data = intensor.planted((60, 40), 1000, rep, noise=noise)
            start = time.perf_counter()
            result = intensor.solve(
                data.coords,
                data.values,
                shape=data.shape,
                radius=1.0,
                time_limit=limit,
                exact="branch",
                rtol=1e-6 if noise == 0.0 else 1e-4,
            )
            seconds = time.perf_counter() - start
            yield (
                f"| {noise} | {rep} | {result.status} | {seconds:.2f} | "
                f"{result.counters.exact_calls} | {result.objective:.3g} | {result.gap:.3g} | "
                f"{result.bound_source} |"
            )


def mip(arguments: argparse.Namespace) -> Iterator[str]:
    """Put the same calls to the MIP solvers, with a cap on the time."""
    yield f"# The same calls by integer programming: at most {arguments.cap:g} s, repetition 0"
    yield ""
    yield "With the vertex that alternating minimisation finds as a start. The gap is that between"
    yield "the best vertex and the bound, relative to the vertex."
    yield ""
    yield "| instance | ours, one thread | HiGHS | SCIP | Gurobi |"
    yield "|---|---|---|---|---|"
    for case in [*CASES, MATRIX]:
        cells, costs, _ = hard_costs(case, 0)
        start, _ = best_of_many(cells, costs)
        replies = [
            _reply(name, cells, costs, start, arguments.cap)
            for name in (case.exact, "highs", "scip", "gurobi")
        ]
        yield f"| {case.name} | {' | '.join(replies)} |"


def _reply(name: str, cells: Observations, costs: np.ndarray, start: np.ndarray, cap: float) -> str:
    try:
        oracle = find_exact(name).oracle(cells, threads=1)
        seconds, answer = _timed(oracle, costs, incumbent=start, budget=Budget(cap))
    except intensor.errors.SolverUnavailableError:
        return "licence too small"
    gap = (answer.value - answer.bound) / abs(answer.value)
    proven = gap <= 1e-4 or seconds < 0.98 * cap
    return f"{_short(seconds)} s" if proven else f"gap {gap:.0%} after {cap:g} s"


def _repetitions(case: Case, first: int) -> range:
    """Return the repetitions to run; a picture has only one."""
    return range(first, first + 3) if case.n is not None else range(1)


def _solve_row(case: Case, repetitions: range, limit: float) -> str:
    runs = {threads: [] for threads in (1, 2)}
    results = []
    for threads, seconds in runs.items():
        for rep in repetitions:
            result, elapsed = certify(case, rep, threads=threads, limit=limit)
            seconds.append(elapsed if result.gap <= result.tolerance else math.inf)
            results.append(result)
    gaps = ", ".join(
        f"{result.gap / result.objective:.2%}" for result in results[: len(repetitions)]
    )
    counts = ", ".join(str(result.counters.exact_calls) for result in results[: len(repetitions)])
    target = "report" if case.solve is None else f"{case.solve:g}"
    return (
        f"| {case.name} | {target} | {_each(runs[1])} | {_each(runs[2])} | {counts} | {gaps} | "
        f"{results[0].bound_source} |"
    )


def certify(
    case: Case, rep: int, *, threads: int | None, limit: float, device: str = "cpu"
) -> tuple[intensor.Result, float]:
    """Solve to 1 % of the objective, which an earlier solve has told."""
    coords, values = _instance(case, rep)
    options = {"shape": case.shape, "radius": case.radius, "threads": threads}
    rough = intensor.solve(coords, values, exact="off", rtol=1e-5, time_limit=60.0, **options)
    start = time.perf_counter()
    result = intensor.solve(
        coords,
        values,
        tol=0.01 * rough.objective,
        rtol=0.0,
        exact=case.exact,
        time_limit=limit,
        device=device,
        **options,
    )
    return result, time.perf_counter() - start


def _call(case: Case, rep: int) -> tuple[float, float, float, float]:
    cells, costs, product = hard_costs(case, rep)
    times = []
    for threads in (1, 2):
        oracle = find_exact(case.exact).oracle(cells, threads=threads)
        seconds, answer = min(
            (_timed(oracle, costs) for _ in range(3 if case.call < 1.0 else 1)),
            key=lambda pair: pair[0],
        )
        times.append(seconds)
    expected = find_exact(case.exact).oracle(cells, threads=1).expected_seconds()
    return expected, times[0], times[1], answer.value / product


def hard_costs(case: Case, rep: int) -> tuple[Observations, np.ndarray, float]:
    """Return cells, the gradient where the heuristic phase ends, and its product with the model."""
    coords, values = _instance(case, rep)
    result = intensor.solve(
        coords, values, shape=case.shape, radius=case.radius, exact="off", time_limit=120.0
    )
    cells = observe(coords, values, shape=case.shape)
    objective = build_objective(cells, case.radius)
    x = result.model.evaluate(cells.coords) / case.radius
    gradient = objective.gradient(x)
    return cells, gradient, float(gradient @ x)


def _instance(case: Case, rep: int) -> tuple[np.ndarray, np.ndarray]:
    if case.n is None:
        return _picture(case.shape[0])
    data = intensor.planted(case.shape, case.n, rep, noise=NOISE)
    return data.coords, data.values


def _picture(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the corner of a photograph, every 8th pixel, one colour per pixel (Bayer: RGGB)."""
    from sklearn.datasets import load_sample_image  # noqa: PLC0415 (only these rows need it)

    picture = load_sample_image("china.jpg")[::8, ::8][:size, :size] / 255.0
    rows, columns = np.indices(picture.shape[:2]).reshape(2, -1)
    colours = rows % 2 + columns % 2  # red, green, green, blue
    coords = np.stack((rows, columns, colours), axis=1)
    return coords, picture[rows, columns, colours]


def _timed(oracle: Oracle, costs: np.ndarray, **options: object) -> tuple[float, Answer]:
    start = time.perf_counter()
    answer = oracle.minimise(costs, **options)
    return time.perf_counter() - start, answer


def _each(seconds: list[float] | tuple[float, ...]) -> str:
    return ", ".join(_short(value) for value in seconds)


def _short(seconds: float) -> str:
    return f"{seconds:.4f}" if seconds < 0.1 else f"{seconds:.3g}"


def _compile() -> None:
    """Compile everything before anything is timed."""
    for noise, tol in ((0.1, 1e-9), (0.1, 1e-4)):
        data = intensor.planted((5, 5, 5), 60, noise=noise)
        for exact in ("enumeration", "branch"):
            intensor.solve(
                data.coords,
                data.values,
                shape=(5, 5, 5),
                radius=1.0,
                exact=exact,
                tol=tol,
                rtol=0.0,
            )
    cells, costs, _ = hard_costs(CASES[0], 0)
    for exact in ("enumeration", "branch"):
        find_exact(exact).oracle(cells).minimise(costs)


if __name__ == "__main__":
    raise SystemExit(main())
