"""Times the CUDA backend: kernels against a plain copy, planted tensors end to end, the crossover,
exact calls, sums for graded components.

Run on a machine with a CUDA device:

    python -m benchmarks.scripts.device kernels --n 100000000
    python -m benchmarks.scripts.device planted --n 1000000000
    python -m benchmarks.scripts.device crossover
    python -m benchmarks.scripts.device exact
    python -m benchmarks.scripts.device graded
    python -m benchmarks.scripts.device noisy --n 100000000
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import intensor
from benchmarks.scripts.exact import CASES, STRETCH, certify, hard_costs
from intensor.backends.cuda.cells import CudaCells
from intensor.backends.cuda.device import array_module, free_bytes
from intensor.backends.cuda.observations import observe_on_device
from intensor.model.arithmetic import nmse
from intensor.oracles.exact.device_enumeration import DeviceEnumerationOracle
from intensor.oracles.exact.enumeration import EnumerationOracle
from intensor.problem.vertex import pack_vertices
from intensor.runtime.budget import Budget
from intensor.runtime.threads import Workers

LENGTH = 2000
AT_ONCE = 1 << 26
HOST_LIMIT, SOLVE_LIMIT = 20.0, 120.0
"""Seconds for an exact call on the host, and for a certified solve with the device."""


def draw(n: int, length: int = LENGTH, rep: int = 0) -> tuple[Any, Any, Any]:
    """Draw a planted tensor on the host and n observations of it on the device."""
    xp = array_module()
    truth = intensor.planted((length,) * 3, 1, rep=rep).truth
    xp.random.seed(rep)
    columns = tuple(xp.empty(n, dtype=np.uint16) for _ in range(3))
    values = xp.zeros(n)
    flags = xp.asarray(truth.vertices.flags())
    for start in range(0, n, AT_ONCE):
        part = slice(start, min(start + AT_ONCE, n))
        for column in columns:
            column[part] = xp.random.randint(0, length, part.stop - start, dtype=np.uint16)
        for row, weight in zip(flags, truth.weights.tolist(), strict=True):
            inside = row[columns[0][part]]
            for mode in (1, 2):
                inside = inside & row[mode * length + columns[mode][part].astype(np.int32)]
            values[part] += weight * inside
    return columns, values, truth


def seconds(call: Callable[[], object], times: int = 5) -> float:
    """Return the median time of a call that is finished on the device."""
    xp = array_module()
    took = []
    for _ in range(times + 1):
        xp.cuda.Device().synchronize()
        start = time.perf_counter()
        call()
        xp.cuda.Device().synchronize()
        took.append(time.perf_counter() - start)
    return statistics.median(took[1:])


def copy_bandwidth() -> float:
    """Return bytes read and written per second by a plain copy."""
    source = array_module().ones(1 << 27)
    return 2 * source.nbytes / seconds(source.copy)


def kernels(n: int) -> Iterator[str]:
    """Time every kernel on n observations, next to a copy of as many bytes."""
    xp = array_module()
    bandwidth = copy_bandwidth()
    yield f"copy: {bandwidth / 1e12:.2f} TB/s"
    columns, values, truth = draw(n)
    start = time.perf_counter()
    data = observe_on_device(columns, values, shape=truth.shape)
    xp.cuda.Device().synchronize()
    yield f"collapse {n} into {data.n_cells} cells: {time.perf_counter() - start:.3f} s"
    start = time.perf_counter()
    observe_on_device(columns, values, shape=truth.shape)
    xp.cuda.Device().synchronize()
    yield f"again: {time.perf_counter() - start:.3f} s"
    cells = CudaCells(data, 1.0, Workers(None))
    rng = np.random.default_rng(0)
    flags = (rng.random((64, sum(truth.shape))) < 0.5).astype(np.uint8)
    words = pack_vertices(flags, truth.shape).words
    weights = np.zeros(64)
    weights[:20] = 0.01
    gram, found = np.zeros((64, 64)), np.zeros(64)
    u = data.n_cells
    counted = data.counts.nbytes / u
    rows = data.rows.nbytes / u
    lanes16 = words[:, 0] & np.uint64(0xFFFF)
    for name, bytes_per_cell, call in (
        ("evaluate 20 vertices", rows + counted + 16, lambda: cells.evaluate(words, 20, weights)),
        ("gram of 16 vertices", rows + counted, lambda: cells.add(words, 0, 16, gram)),
        ("sums over 64 vertices", rows + 8, lambda: cells.vertex_sums(words, 0, 64, found)),
        (
            "descend, 16 lanes, 1 sweep",
            3 * (rows + 8),
            lambda: cells.descend(lanes16.copy(), 16, 1),
        ),
        ("descend, 1 lane, 1 sweep", 3 * (rows + 8), lambda: cells.descend(lanes16 & 1, 1, 1)),
        ("bound sums", counted + 16, cells.bound_sums),
    ):
        took = seconds(call, 3)
        share = bytes_per_cell * u / took / bandwidth
        yield f"{name}: {1e3 * took:.2f} ms, {100 * share:.0f} % of the copy's bandwidth"


def planted(n: int) -> Iterator[str]:
    """Solve a planted tensor out, from arrays on the device."""
    xp = array_module()
    small = intensor.planted((20, 20, 20), 60000)
    intensor.solve(small.coords, small.values, shape=small.shape, radius=1.0, device="cuda")
    columns, values, truth = draw(n)
    xp.cuda.Device().synchronize()
    before = free_bytes() or 0
    for _ in range(2):
        start = time.perf_counter()
        result = intensor.solve(columns, values, shape=truth.shape, radius=1.0, rtol=1e-12)
        took = time.perf_counter() - start
        yield (
            f"{LENGTH}^3 n={n}: {took:.2f} s, {result.status.name}, "
            f"{len(result.model)} boxes, objective {result.objective:.2e}, "
            f"NMSE {nmse(result.model, truth):.2e}, {result.counters.iterations} iterations"
        )
    yield f"free before: {before / 2**30:.1f} GiB"


def crossover() -> Iterator[str]:
    """Solve the paper's larger rows on host and device."""
    for shape, n in (
        ((10,) * 5, 10_000),
        ((10,) * 6, 100_000),
        ((10,) * 7, 300_000),
        ((10,) * 7, 1_000_000),
        ((200,) * 3, 3_000_000),
        ((500,) * 3, 10_000_000),
    ):
        data = intensor.planted(shape, n)
        line = f"{shape[0]}^{len(shape)} n={n}:"
        for words in ({"device": "cpu", "threads": 2}, {"device": "cuda"}):
            took = []
            for _ in range(3):
                start = time.perf_counter()
                result = intensor.solve(
                    data.coords, data.values, shape=shape, radius=1.0, tol=1e-4, rtol=0.0, **words
                )
                took.append(time.perf_counter() - start)
            line += f" {words['device']} {min(took):.3f} s (objective {result.objective:.1e})"
        yield line


def exact() -> Iterator[str]:
    """Make the calls of ``benchmarks.scripts.exact`` that are enumerations, on host and device."""
    for case in (*CASES, *STRETCH):
        if case.exact != "enumeration":
            continue
        cells, costs, _ = hard_costs(case, 0)
        line = f"{case.name}:"
        for name, oracle, times in (
            ("device", DeviceEnumerationOracle(cells), 3),
            ("host", EnumerationOracle(cells), 1),
        ):
            took = []
            for _ in range(times):
                budget = Budget(HOST_LIMIT if name == "host" else None)
                start = time.perf_counter()
                answer = oracle.minimise(costs, budget=budget)
                took.append(time.perf_counter() - start)
            line += (
                f" {name} {min(took):.3f} s, expected {oracle.expected_seconds():.2g} s, "
                f"least {answer.value:.9g}, bound {answer.bound:.9g}"
            )
            line += " (out of time);" if budget.spent else ";"
        yield line
        if case.call is None or case.call > 1.0:
            result, elapsed = certify(case, 0, threads=None, limit=SOLVE_LIMIT, device="auto")
            yield (
                f"{case.name}, to 1 %: {elapsed:.1f} s, {result.status.name}, "
                f"gap {result.gap / result.objective:.2%}, {result.counters.exact_calls} calls"
            )


def graded(n: int) -> Iterator[str]:
    """Time a sweep of graded components: the normal equations of all modes, one after the other."""
    for length in (LENGTH, 200):
        columns, values, truth = draw(n, length)
        data = observe_on_device(columns, values, shape=truth.shape)
        del columns, values
        cells = CudaCells(data, 1.0, Workers(None))
        rng = np.random.default_rng(0)
        yield f"{length}^3 n={n}: {data.n_cells} cells"
        for count in (8, 32, 64):
            factors = rng.random((3 * length, count))
            weights = rng.uniform(-1.0, 1.0, count) / count
            took = [
                seconds(partial(cells.normal_equations, mode, factors, weights, 0, length), 3)
                for mode in range(3)
            ]
            rate = 2.0 * 3 * data.n_cells * count**2 / sum(took)
            by_mode = ", ".join(f"{1e3 * one:.1f}" for one in took)
            evaluate = seconds(partial(cells.evaluate_components, factors, weights), 3)
            yield (
                f"{length}^3, {count} components: a sweep {sum(took):.4f} s (modes {by_mode} ms), "
                f"{rate / 1e12:.1f} Tflop/s of full matrices; evaluate {1e3 * evaluate:.1f} ms"
            )
        start = time.perf_counter()
        cells.orders.clear()
        for mode in range(3):
            cells.normal_equations(mode, factors[:, :1], weights[:1], 0, 1)
        yield f"{length}^3: sorting by all modes {time.perf_counter() - start:.3f} s"


def noisy(n: int) -> Iterator[str]:
    """Solve noisy planted tensors with graded components to convergence."""
    xp = array_module()
    for length, size in ((200, 16), (200, 32), (LENGTH, 16), (LENGTH, 32)):
        columns, values, truth = draw(n, length)
        for start in range(0, n, AT_ONCE):
            part = slice(start, min(start + AT_ONCE, n))
            values[part] += 0.05 * xp.random.standard_normal(part.stop - start)
        values = xp.maximum(values, 0.0)
        for attempt in ("first", "second"):  # the first compiles or loads kernels
            started = time.perf_counter()
            result = intensor.solve(
                columns,
                values,
                shape=truth.shape,
                radius=1.0,
                components="graded",
                max_components=size,
                rtol=1e-5,
                exact="off",
                time_limit=60,
            )
            took = time.perf_counter() - started
            yield (
                f"{length}^3 n={n}, {size} components, {attempt}: {took:.2f} s, {result}, NMSE "
                f"{nmse(result.model, truth):.2e}, {result.counters.local_steps} sweeps"
            )
        del columns, values


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "what", choices=("kernels", "planted", "crossover", "exact", "graded", "noisy")
    )
    parser.add_argument("--n", type=int, default=10**8)
    given = parser.parse_args()
    sized = given.what in ("kernels", "planted", "graded", "noisy")
    lines = globals()[given.what](*([given.n] if sized else []))
    for line in lines:
        print(line, flush=True)


if __name__ == "__main__":
    main()
