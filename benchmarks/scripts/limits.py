"""Time limits that were asked for, the seconds that calls took, and how good the models are.

    python -m benchmarks.scripts.limits --out limits.jsonl
    python -m benchmarks.scripts.limits --out limits.jsonl --cases 1 --faces solve --limits 2

Every measurement has a process of its own, in which kernels are loaded before the clock starts, and
is written as a line of JSON as it ends: a script that was killed goes on where it was. The report
is written from the file at the end.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import intensor
from benchmarks.ledger import JsonLedger, Row
from benchmarks.runs import Run, execute
from benchmarks.scripts.limits_report import write_report

BUSY = 4
"""Processes that compute beside the one that is measured."""
LOADS = ("idle", "busy")
LIMITS = (2.0, 10.0, 30.0)
FLOOR = 0.001
"""Limit of a command that tells how long starting, reading and writing take alone."""
COMMAND = "intensor fit"
WARM_UP = 3.0
"""Limit of the call that loads the kernels before the one that is measured."""
SHARE_HIDDEN, MAX_HIDDEN = 0.05, 20_000
"""Cells that are asked about, as a share of the observations, and at most."""
RANK, NOISE = 3, 0.1
"""Planted tensors have this many terms, and noise of this share of the standard deviation."""
SPIN = """
import os, sys, time
parent, end = os.getppid(), time.time() + float(sys.argv[1])
while os.getppid() == parent and time.time() < end:
    pass
"""


@dataclass(frozen=True, slots=True)
class Case:
    """A planted tensor: its shape, and the number of observations."""

    shape: tuple[int, ...]
    n: int

    @property
    def name(self) -> str:
        """Return the name of the case in the table."""
        lengths = " x ".join(map(str, self.shape))
        return f"{lengths}, n = {self.n}"

    def table(self) -> pd.DataFrame:
        """Return noisy observations of a sum of products of curves; "hidden" rows come last.

        Hidden cells have indices that were observed: of others, a solve knows nothing.
        """
        rng = np.random.default_rng([self.n, *self.shape])
        total = self.n + min(MAX_HIDDEN, round(SHARE_HIDDEN * self.n))
        cells = rng.choice(int(np.prod(self.shape)), total, replace=False)
        coords = np.stack(np.unravel_index(cells, self.shape), axis=1)
        terms = np.ones((total, RANK))
        for mode, length in enumerate(self.shape):
            curve = np.cumsum(rng.standard_normal((length, RANK)), axis=0)
            terms *= np.exp(curve / np.abs(curve).max())[coords[:, mode]]
        values = 10.0 * terms.sum(axis=1)
        values += NOISE * values.std() * rng.standard_normal(total)
        columns = {f"mode{mode}": coords[:, mode] for mode in range(len(self.shape))}
        hidden = np.arange(total) >= self.n
        seen = np.ones(total, dtype=bool)
        for column in columns.values():
            seen &= np.isin(column, column[: self.n])
        table = {**columns, "value": np.maximum(values, 0.0), "hidden": hidden}
        return pd.DataFrame(table)[seen].reset_index(drop=True)


CASES = (
    Case((30, 30, 1464), 500_000),
    Case((943, 1682), 100_000),
    Case((10,) * 7, 100_000),
    Case((1_000_000, 30, 20), 1_000_000),
)
SMALL = Case((8, 7, 6), 250)


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """Seconds of a call, its predictions of the hidden cells, and how many terms its model has."""

    seconds: float
    predicted: NDArray
    terms: int


def by_solve(case: Case, table: pd.DataFrame, limit: float) -> Outcome:
    """Solve at a radius twice the largest value."""
    coords, values, asked = _arrays(table)
    radius = 2.0 * values.max()
    started = time.perf_counter()
    result = intensor.solve(
        coords, values, shape=case.shape, radius=radius, rtol=1e-9, time_limit=limit
    )
    seconds = time.perf_counter() - started
    return Outcome(seconds, result.model.predict(asked), len(result.model))


def by_estimator(case: Case, table: pd.DataFrame, limit: float) -> Outcome:
    """Fit with everything left to the estimator."""
    coords, values, asked = _arrays(table)
    completer = intensor.TensorCompleter(shape=case.shape, time_limit=limit, unseen="mean")
    started = time.perf_counter()
    completer.fit(coords, values)
    seconds = time.perf_counter() - started
    return Outcome(seconds, completer.predict(asked), len(completer.model_))


def by_complete(case: Case, table: pd.DataFrame, limit: float) -> Outcome:
    """Complete a table in which hidden cells have no value; filling them in is timed too."""
    given = table.drop(columns="hidden")
    given["value"] = given["value"].where(~table["hidden"])
    started = time.perf_counter()
    filled, fit = intensor.complete(given, time_limit=limit, unseen="mean")
    seconds = time.perf_counter() - started
    predicted = filled["value"].to_numpy()[table["hidden"].to_numpy()]
    return Outcome(seconds, predicted, len(fit.model))


def by_command(case: Case, table: pd.DataFrame, limit: float) -> Outcome:
    """Fit a Parquet file by the command: the whole process, its start and the files included."""
    with tempfile.TemporaryDirectory() as folder:
        path, model = Path(folder) / "table.parquet", Path(folder) / "model.npz"
        table[~table["hidden"]].drop(columns="hidden").to_parquet(path)
        words = [sys.executable, "-m", "intensor", "fit", str(path), "-o", str(model), "--json"]
        words += ["--time-limit", str(limit)]
        started = time.perf_counter()
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - started
        if done.returncode != 0:
            raise RuntimeError(f"intensor fit ended with {done.returncode}: {done.stderr[-500:]}")
        if "Warning" in done.stderr or "warning" in done.stderr:
            warnings.warn(f"of the command: {done.stderr[-200:]}", RuntimeWarning, stacklevel=2)
        fit = intensor.load(model)
    asked = table[table["hidden"]].drop(columns=["hidden", "value"])
    return Outcome(seconds, fit.predict(asked, unseen="mean"), len(fit.model))


FACES: dict[str, Callable[[Case, pd.DataFrame, float], Outcome]] = {
    "solve": by_solve,
    "complete": by_complete,
    "TensorCompleter": by_estimator,
    COMMAND: by_command,
}


def measure(case: Case, face: str, limit: float, load: str) -> Row:
    """Make one call and return a line of the table."""
    table = case.table()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        FACES[face](SMALL, SMALL.table(), 20.0)  # all steps of a fit,
        FACES[face](case, table, WARM_UP)  # and the kernels for the types of this tensor
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        with company(BUSY if load == "busy" else 0):
            outcome = FACES[face](case, table, limit)
    truth = table.loc[table["hidden"], "value"].to_numpy()
    mean = table.loc[~table["hidden"], "value"].mean()
    return {
        "asked": limit,
        "seconds": outcome.seconds,
        "rmse": _rmse(outcome.predicted, truth),
        "rmse_of_mean": _rmse(np.full(len(truth), mean), truth),
        "terms": outcome.terms,
        "warned": sorted({one.category.__name__ for one in raised}),
    }


@contextlib.contextmanager
def company(count: int) -> Iterator[None]:
    """Keep some processes busy; they end with this one, whatever ends it."""
    words = [sys.executable, "-c", SPIN, "3600"]
    others = [subprocess.Popen(words) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def _arrays(table: pd.DataFrame) -> tuple[NDArray, NDArray, NDArray]:
    """Return coordinates and values of the observations, and the hidden coordinates."""
    coords = table.drop(columns=["value", "hidden"]).to_numpy()
    hidden = table["hidden"].to_numpy()
    return coords[~hidden], table["value"].to_numpy()[~hidden], coords[hidden]


def _rmse(predicted: NDArray, truth: NDArray) -> float:
    return float(np.sqrt(np.mean((predicted - truth) ** 2)))


def make_runs(arguments: argparse.Namespace) -> list[Run]:
    """Return all measurements, those of one tensor together."""
    runs = []
    for number in arguments.cases:
        for face in arguments.faces:
            limits = [FLOOR, *arguments.limits] if face == COMMAND else arguments.limits
            for limit in limits:
                for load in arguments.loads:
                    runs.append(_run(CASES[number], face, limit, load))
    return runs


def _run(case: Case, face: str, limit: float, load: str) -> Run:
    return Run(
        section="limits",
        task=case.name,
        method=f"{face}, {limit:g} s, {load}",
        rep=0,
        call=_measure_and_name,
        arguments={"case": case, "face": face, "limit": limit, "load": load},
        limit=120.0 + 5.0 * limit,  # killed only when a limit is not kept at all
        expected=10.0 + limit,
    )


def _measure_and_name(case: Case, face: str, limit: float, load: str) -> Row:
    return {"face": face, "load": load, **measure(case, face, limit, load)}


def read_arguments(words: list[str] | None) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="file of JSON lines to go on with")
    parser.add_argument("--report", type=Path, default=Path("benchmarks/results/limits.md"))
    parser.add_argument("--limits", type=_list(float), default=list(LIMITS))
    parser.add_argument("--cases", type=_list(int), default=list(range(len(CASES))))
    parser.add_argument("--faces", type=_list(str), default=list(FACES))
    parser.add_argument("--loads", type=_list(str), default=list(LOADS))
    parser.add_argument("--retry", action="store_true", help="make runs without a result again")
    parser.add_argument("--again", action="store_true", help="make all runs again")
    arguments = parser.parse_args(words)
    for name, known in (("faces", [*FACES]), ("loads", [*LOADS]), ("cases", [*range(len(CASES))])):
        unknown = [one for one in getattr(arguments, name) if one not in known]
        if unknown:
            parser.error(f"--{name} has {unknown[0]!r}; expected some of {known}")
    return arguments


def _list(kind: Callable[[str], Any]) -> Callable[[str], list[Any]]:
    return lambda words: [kind(word) for word in words.split(",")]


def main(words: list[str] | None = None) -> int:
    """Make the measurements that the file does not hold yet, then write the report."""
    arguments = read_arguments(words)
    ledger = JsonLedger(arguments.out)
    execute(make_runs(arguments), ledger, fresh=True, retry=arguments.retry, again=arguments.again)
    print("\n".join(write_report(ledger, arguments.report, busy=BUSY, floor=FLOOR)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
