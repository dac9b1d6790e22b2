"""Scaling out: the same solve from memory, from Parquet files, and on a Dask cluster.

What one learns: ``solve`` takes a folder of Parquet files and a limit on memory, or a Dask
client, in place of arrays; the answer is the same but for rounding. Here the data is small and
the cluster is in this process; nothing else would change. Needs ``intensor[dask]``.
"""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from distributed import Client, LocalCluster
from pyarrow import parquet

import intensor


def main() -> None:
    """Solve one planted tensor three times."""
    data = intensor.planted((30, 30, 30), 20_000)
    settings = {"radius": 1.0, "rtol": 1e-8, "exact": "off"}
    here = intensor.solve(data.coords, data.values, shape=data.shape, **settings)
    report("arrays in memory", here, data)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part, rows in enumerate(np.array_split(np.arange(len(data.values)), 4)):
            columns = dict(zip(("user", "item", "week"), data.coords[rows].T, strict=True))
            table = pa.table({**columns, "rating": data.values[rows]})
            parquet.write_table(table, folder / f"part-{part}.parquet")

        result = intensor.solve(
            folder, "rating", shape=data.shape, memory_limit="512 MiB", **settings
        )
        report("four Parquet files", result, data)

        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            result = intensor.solve(folder, "rating", shape=data.shape, client=client, **settings)
            report("two Dask workers", result, data)


def report(name: str, result: intensor.Result, data: intensor.Planted) -> None:
    """Print what was found."""
    error = intensor.nmse(result.model, data.truth)
    print(
        f"{name:20s} {result.status!s:8s} objective {result.objective:.1e}, {len(result.model)} "
        f"boxes, error against the true tensor {error:.1e}"
    )


if __name__ == "__main__":
    main()
