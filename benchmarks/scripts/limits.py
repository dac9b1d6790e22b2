"""Time limits that were asked for and the seconds that calls took, idle and on a busy machine.

python -m benchmarks.scripts.limits --limits 2,10 --faces solve,TensorCompleter,complete
python -m benchmarks.scripts.limits --limits 0.001,5 --faces "intensor fit,intensor complete"
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import intensor

BUSY = 4
"""Processes that compute beside the one that is measured."""
HIDDEN = 1000
"""Rows of a table without a value, for ``complete`` to fill."""
AUTO = {"transform": "auto", "baseline": "auto", "remainder": "auto", "scoring": "balanced"}


@dataclass(frozen=True, slots=True)
class Case:
    """A tensor to fit: its shape, observations, and whether kriging is among the choices."""

    shape: tuple[int, ...]
    n: int
    kriging: bool = False

    @property
    def name(self) -> str:
        """Return the name of the case in the table."""
        lengths = " x ".join(map(str, self.shape))
        return f"{lengths}, n = {self.n}{', kriging' if self.kriging else ''}"

    def table(self) -> pd.DataFrame:
        """Return noisy observations of a smooth or of a planted tensor, some values left out."""
        rng = np.random.default_rng([self.n, *self.shape])
        if self.kriging:
            cells = rng.choice(int(np.prod(self.shape)), self.n, replace=False)
            coords = np.stack(np.unravel_index(cells, self.shape), axis=1)
            curves = [np.cumsum(rng.standard_normal((r, 3)), axis=0) for r in self.shape]
            terms = np.ones((self.n, 3))
            for mode, curve in enumerate(curves):
                terms *= np.exp(curve / np.abs(curve).max())[coords[:, mode]]
            values = np.abs(10.0 * terms.sum(axis=1) + rng.standard_normal(self.n))
        else:
            data = intensor.planted(self.shape, self.n, noise=0.05)
            coords, values = data.coords, data.values.copy()
        values[rng.choice(self.n, min(HIDDEN, self.n // 20), replace=False)] = np.nan
        columns = {f"mode{mode}": coords[:, mode] for mode in range(len(self.shape))}
        return pd.DataFrame({**columns, "value": values})


CASES = (
    Case((30, 77, 18), 20_000, kriging=True),
    Case((943, 1682), 100_000, kriging=True),
    Case((30, 30, 1464), 580_000, kriging=True),
    Case((300, 300, 50), 400_000),
    Case((10,) * 6, 100_000),
    Case((5000, 4000, 200), 2_000_000),
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limits", default="2,10")
    parser.add_argument("--cases", default=",".join(map(str, range(len(CASES)))))
    parser.add_argument("--faces", default=",".join(FACES))
    arguments = parser.parse_args()
    limits = [float(word) for word in arguments.limits.split(",")]
    warnings.simplefilter("ignore")
    warm_up()
    print("# Time limits: `python -m benchmarks.scripts.limits`\n")
    print(f"Seconds from the call to its end, alone and with {BUSY} busy processes beside it.\n")
    print("| data | call | asked | idle | boxes | busy | boxes |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for number in map(int, arguments.cases.split(",")):
        table = CASES[number].table()
        for face in arguments.faces.split(","):
            for limit in limits:
                cells = [CASES[number].name, face, f"{limit:g} s"]
                for busy in (False, True):
                    with company(BUSY if busy else 0):
                        seconds, boxes = FACES[face](CASES[number], table, limit)
                    cells += [f"{seconds:.2f}", str(boxes)]
                print(f"| {' | '.join(cells)} |", flush=True)


def warm_up() -> None:
    """Have everything compiled before anything is timed."""
    for small in (Case((8, 7, 6), 250, kriging=True), Case((40, 30, 20), 70_000)):
        for face in FACES.values():
            face(small, small.table(), 20.0)


@contextmanager
def company(count: int) -> Iterator[None]:
    """Keep some processes busy for a while."""
    others = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(count)]
    for other in others:
        other.start()
    try:
        yield
    finally:
        for other in others:
            other.terminate()
            other.join()


def _spin() -> None:
    while True:
        pass


def by_solve(case: Case, table: pd.DataFrame, limit: float) -> tuple[float, int]:
    """Solve at a radius twice the largest value."""
    seen = table.dropna()
    coords, values = seen.iloc[:, :-1].to_numpy(), seen["value"].to_numpy()
    started = time.perf_counter()
    result = intensor.solve(
        coords, values, shape=case.shape, radius=2.0 * values.max(), rtol=1e-9, time_limit=limit
    )
    return time.perf_counter() - started, len(result.model)


def by_estimator(case: Case, table: pd.DataFrame, limit: float) -> tuple[float, int]:
    """Fit with everything chosen where kriging is among the choices, plainly otherwise."""
    seen = table.dropna()
    coords, values = seen.iloc[:, :-1].to_numpy(), seen["value"].to_numpy()
    completer = intensor.TensorCompleter(
        shape=case.shape, time_limit=limit, **(AUTO if case.kriging else {})
    )
    started = time.perf_counter()
    completer.fit(coords, values)
    return time.perf_counter() - started, len(completer.model_)


def by_complete(case: Case, table: pd.DataFrame, limit: float) -> tuple[float, int]:
    """Complete a table."""
    started = time.perf_counter()
    _, fit = intensor.complete(table, time_limit=limit, **(AUTO if case.kriging else {}))
    return time.perf_counter() - started, len(fit.model)


def by_command(case: Case, table: pd.DataFrame, limit: float, command: str) -> tuple[float, int]:
    """Run a command on a Parquet file: the whole process, its start and the files included."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        table.to_parquet(path)
        words = [sys.executable, "-m", "intensor", command, str(path), "--json"]
        words += ["-o", str(Path(folder) / ("model.npz" if command == "fit" else "out.parquet"))]
        words += ["--time-limit", str(limit)]
        if case.kriging:
            words += [word for name in AUTO for word in (f"--{name}", AUTO[name])]
        started = time.perf_counter()
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        return time.perf_counter() - started, json.loads(done.stdout)["boxes"]


FACES: dict[str, Callable[[Case, pd.DataFrame, float], tuple[float, int]]] = {
    "solve": by_solve,
    "TensorCompleter": by_estimator,
    "complete": by_complete,
    "intensor fit": lambda *words: by_command(*words, command="fit"),
    "intensor complete": lambda *words: by_command(*words, command="complete"),
}


if __name__ == "__main__":
    main()
