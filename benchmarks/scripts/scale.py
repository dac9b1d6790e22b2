"""Data larger than memory and data on several workers: time, memory, traffic.

python -m benchmarks.scripts.scale files --n 200000000 --limit "4 GiB" --folder cells
python -m benchmarks.scripts.scale dask --n 10000000
python -m benchmarks.scripts.scale threads
"""

from __future__ import annotations

import argparse
import pickle
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import intensor
from intensor.model.arithmetic import nmse

LENGTH = 2000
ROWS = 10_000_000
"""Of a file."""


def truth(length: int) -> intensor.Model:
    """Return the planted tensor of these measurements."""
    return intensor.planted((length,) * 3, 1).truth


def write(folder: Path, n: int, length: int) -> None:
    """Write n observations of a planted tensor, a file at a time."""
    folder.mkdir(parents=True, exist_ok=True)
    model = truth(length)
    for place, start in enumerate(range(0, n, ROWS)):
        path = folder / f"part-{place:04}.parquet"
        if path.exists():
            continue
        rng = np.random.default_rng([1, place])
        coords = rng.integers(0, length, (min(ROWS, n - start), 3), dtype=np.uint16)
        columns = {name: coords[:, mode] for mode, name in enumerate("abc")}
        table = pa.table({**columns, "value": model.predict(coords.astype(np.int64))})
        partial = path.with_suffix(".partial")
        parquet.write_table(table, partial, compression="none", use_dictionary=False)
        partial.rename(path)


def files(n: int, limit: str, folder: Path) -> Iterator[str]:
    """Solve from files in a process of its own and tell its peak memory."""
    write(folder, n, LENGTH)
    size = sum(file.stat().st_size for file in folder.glob("*.parquet"))
    yield f"{n} observations in {size / 2**30:.2f} GiB of Parquet files, limit {limit}"
    words = [sys.executable, "-m", "benchmarks.scripts.scale", "solve"]
    words += ["--limit", limit, "--folder", str(folder)]
    yield subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def solve(limit: str, folder: Path) -> Iterator[str]:
    """Solve from files, and say how it went."""
    start = time.perf_counter()
    result = intensor.solve(
        folder, "value", shape=(LENGTH,) * 3, radius=1.0, rtol=1e-10, memory_limit=limit
    )
    took = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    yield (
        f"{took:.1f} s (set-up {result.seconds.setup:.1f}), peak {peak / 2**30:.2f} GiB, "
        f"{result.status.name}, {len(result.model)} boxes, objective {result.objective:.2e}, "
        f"NMSE {nmse(result.model, truth(LENGTH)):.2e}"
    )


def dask(n: int, length: int = 500) -> Iterator[str]:
    """Solve on one and on two worker processes, and count the bytes of a round."""
    from distributed import Client, LocalCluster  # noqa: PLC0415

    from intensor.backends.sharded import distributed as module  # noqa: PLC0415

    data = intensor.planted((length,) * 3, n)
    sent: list[int] = []
    ask = module.DaskShards.ask

    def count_asked(shards, what, *arguments, **words):
        asked = ask(shards, what, *arguments, **words)
        payload = len(pickle.dumps((arguments, words))) * len(shards.sizes)
        sent.append(payload + sum(len(pickle.dumps(one)) for one in asked))
        return asked

    module.DaskShards.ask = count_asked
    for n_workers in (1, 2):
        cluster = LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=None
        )
        with cluster, Client(cluster) as client:
            for _ in range(2):
                sent.clear()
                start = time.perf_counter()
                result = intensor.solve(
                    data.coords,
                    data.values,
                    shape=data.shape,
                    radius=1.0,
                    rtol=1e-10,
                    client=client,
                )
                took = time.perf_counter() - start
        yield (
            f"{n_workers} worker(s), {length}^3 n={n}: {took:.2f} s (set-up "
            f"{result.seconds.setup:.2f}), {result.status.name}, objective {result.objective:.1e}, "
            f"{len(sent)} rounds, median {statistics.median(sent) / 1024:.0f} KiB a round, most "
            f"{max(sent) / 1024:.0f} KiB"
        )
    module.DaskShards.ask = ask


def threads() -> Iterator[str]:
    """Solve the paper's largest row on one and on two threads."""
    data = intensor.planted((10,) * 7, 1_000_000)
    took: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(5):
        for count, times in took.items():
            start = time.perf_counter()
            intensor.solve(
                data.coords,
                data.values,
                shape=data.shape,
                radius=1.0,
                tol=1e-4,
                rtol=0.0,
                threads=count,
            )
            times.append(time.perf_counter() - start)
    one, two = (statistics.median(times) for times in took.values())
    yield f"10^7 n=1000000: 1 thread {one:.3f} s, 2 threads {two:.3f} s, {one / two:.2f}x"


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("files", "solve", "dask", "threads"))
    parser.add_argument("--n", type=int, default=10**7)
    parser.add_argument("--limit", default="4 GiB")
    parser.add_argument("--folder", type=Path, default=Path("cells"))
    given = parser.parse_args()
    lines = {
        "files": lambda: files(given.n, given.limit, given.folder),
        "solve": lambda: solve(given.limit, given.folder),
        "dask": lambda: dask(given.n),
        "threads": threads,
    }[given.what]()
    for line in lines:
        print(line, flush=True)


if __name__ == "__main__":
    main()
