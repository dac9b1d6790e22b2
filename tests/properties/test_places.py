"""Where the cells are makes no difference: on a device, in files or on a cluster."""

import importlib.util
import shutil
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forall import try_out
from properties.optima import assert_same_fit, assert_same_optimum, problems, seeds

NO_CUDA = importlib.util.find_spec("numba_cuda") is None


@contextmanager
def cluster(_folder):
    distributed = pytest.importorskip("distributed")
    there = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None, silence_logs=50
    )
    with there, distributed.Client(there) as client:
        yield lambda problem: problem.optimum(client=client)


@contextmanager
def files(folder):
    def solve(problem):
        raw = problem.raw
        place = folder / "cells"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        for number, rows in enumerate(np.array_split(np.arange(len(raw)), 2)):
            columns = {f"mode{mode:02}": raw.coords[rows, mode] for mode in range(len(raw.shape))}
            table = pa.table({**columns, "value": raw.values[rows]})
            pq.write_table(table, place / f"{number}.parquet")
        return problem.optimum(place, "value", memory_limit="512 MiB")

    yield solve


@contextmanager
def device(_folder):
    yield lambda problem: problem.optimum(device="cuda")


SLOW = pytest.mark.slow
PLACES = [
    pytest.param(cluster, 60, id="cluster", marks=SLOW),
    pytest.param(files, 4, id="files"),
    pytest.param(files, 200, id="files, many", marks=SLOW),
    pytest.param(
        device, 8, id="device", marks=[SLOW, pytest.mark.skipif(NO_CUDA, reason="no numba-cuda")]
    ),
]


@pytest.mark.parametrize(("place", "examples"), PLACES)
def test_other_places_other_modes_other_rows(place, examples, tmp_path):
    with place(tmp_path) as solve:

        def check(problem, seed):
            rng = np.random.default_rng(seed)
            raw = replace(problem.raw, weights=None)
            here = replace(problem, raw=raw, version="fast")
            modes, rows = rng.permutation(len(raw.shape)), rng.permutation(len(raw))
            there = here.changed(
                shape=tuple(raw.shape[mode] for mode in modes),
                coords=raw.coords[np.ix_(rows, modes)],
                values=raw.values[rows],
            )
            first, second = here.optimum(), solve(there)
            assert_same_optimum(here, first, there, second)
            assert_same_fit(here, first, there, second, cells=raw.coords[:, modes])

        try_out(check, examples, problem=problems(), seed=seeds)
