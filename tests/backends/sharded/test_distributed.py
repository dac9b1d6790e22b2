"""Shards on a Dask cluster: the same answers, also when workers are lost."""

import os
import signal
import time
import warnings

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import cells_cases
import intensor
from cells_cases import ComponentCase, start_cluster, store_parquet
from intensor.backends.sharded.cells import ShardedCells
from intensor.errors import (
    ClusterError,
    CoordinateError,
    RadiusWarning,
    SettingError,
    WorkerLostError,
)
from intensor.runtime.stopwatch import Stopwatch
from intensor.runtime.threads import Workers

distributed = pytest.importorskip("distributed")
CommClosedError = pytest.importorskip("distributed.comm.core").CommClosedError
shards_there = pytest.importorskip("intensor.backends.sharded.distributed")
pytestmark = pytest.mark.filterwarnings("ignore")  # Dask warns a lot


@pytest.fixture(scope="module")
def two():
    with start_cluster(2) as there, distributed.Client(there) as client:
        yield client


@pytest.fixture(scope="module", params=[1, 4])
def client(request):
    with start_cluster(request.param) as there, distributed.Client(there) as client:
        yield client


FEW = {"radius": 1.0, "rtol": 1e-12, "exact": "off", "max_iterations": 3}
"""Options of short solves: every round waits for the cluster."""


def check(there, here):
    assert there.status is here.status
    assert there.objective == pytest.approx(here.objective, rel=1e-9)
    assert there.counters == here.counters
    assert np.array_equal(there.model.vertices.flags(), here.model.vertices.flags())


def check_answers(client, tmp_path, noise):
    data = intensor.planted((6, 5, 4), 300, noise=noise)
    options = {"shape": data.shape, **FEW}
    here = intensor.solve(data.coords, data.values, **options)
    check(intensor.solve(data.coords, data.values, client=client, **options), here)
    path = store_parquet(tmp_path / "data", data)
    check(intensor.solve(path, "value", client=client, **options), here)


def test_the_answer_is_that_of_cells_in_memory(two, tmp_path):
    check_answers(two, tmp_path, noise=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_the_answer_is_the_same_on_any_number_of_workers(client, tmp_path, noise):
    check_answers(client, tmp_path, noise)


def test_sums_at_components_are_those_of_cells_in_memory(two):
    def make(observations, radius):
        return ShardedCells(shards_there.distribute_cells(two, observations), radius, Workers(1))

    case = ComponentCase(make, (5, 6, 4), k=3)
    assert len(case.cells._data.shards.sizes) == 2
    cells_cases.check_components(case)
    cells_cases.check_normal_equations(case, modes=[1])


def test_the_graded_answer_is_that_of_cells_in_memory(two, tmp_path):
    data = intensor.planted((6, 5, 4), 300, noise=0.1)
    options = {"shape": data.shape, "radius": 1.0, "exact": "off", "max_iterations": 8}
    options |= {"components": "graded", "max_components": 4}
    here = intensor.solve(data.coords, data.values, **options)
    path = store_parquet(tmp_path / "data", data)
    for given in ((data.coords, data.values), (path, "value")):
        there = intensor.solve(*given, client=two, **options)
        assert there.status is here.status
        assert there.counters == here.counters
        assert there.objective == pytest.approx(here.objective, rel=1e-9)
        assert intensor.verify(there, data.coords, data.values).ok


@pytest.mark.slow
def test_a_bound_is_proven_on_fetched_cells(two):
    data = intensor.planted((3, 3, 2), 30, noise=0.1)
    result = intensor.solve(data.coords, data.values, radius=1.0, tol=1e-5, client=two)
    assert result.status is intensor.Status.OPTIMAL
    assert intensor.verify(result, data.coords, data.values).ok


def test_a_dask_data_frame_can_be_solved(two):
    frames = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    data = intensor.planted((6, 5, 4), 300)
    columns = {name: data.coords[:, mode] for mode, name in enumerate("abc")}
    frame = frames.from_pandas(pandas.DataFrame({**columns, "v": data.values}), npartitions=3)
    there = intensor.solve(frame, "v", client=two, **FEW)
    check(there, intensor.solve(data.coords, data.values, **FEW))
    with pytest.raises(SettingError, match="no column 'w'"):
        intensor.solve(frame, "w", radius=1.0, client=two)


def test_a_cell_on_two_files_is_one_cell(two, tmp_path):
    # Its variance is part of the constant, which only a merged cell tells.
    data = intensor.planted((3, 3), 40, noise=0.2)
    path = store_parquet(tmp_path / "data", data, n_files=4)
    here = intensor.solve(data.coords, data.values, **FEW)
    there = intensor.solve(path, "value", client=two, **FEW)
    check(there, here)
    assert there.bound == pytest.approx(here.bound, rel=1e-9)
    assert there.bound > 0.0


def test_there_may_be_more_workers_than_cells(two):
    result = intensor.solve([[0, 0], [0, 0]], [1.0, 1.0], radius=2.0, client=two)
    assert result.status is intensor.Status.OPTIMAL
    assert result.objective <= 1e-6


def test_the_error_names_the_bad_row(two, tmp_path):
    data = intensor.planted((6, 5, 4), 100)
    path = store_parquet(tmp_path / "data", data)
    with pytest.raises(CoordinateError, match=r"part-\d\.parquet, row \d+: 'mode1' is"):
        intensor.solve(path, "value", radius=1.0, shape=(6, 2, 4), client=two)


def test_a_cluster_without_workers_is_refused():
    refused = pytest.raises(ClusterError, match="no workers; start some")
    with start_cluster(0) as there, distributed.Client(there) as client, refused:
        intensor.solve([[0, 0]], [1.0], radius=1.0, client=client)


def kill_one(client):
    (first, *_) = client.scheduler_info()["workers"]
    pid = client.run(os.getpid, workers=[first])[first]
    os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("source", ["files", "memory"])
def test_a_killed_worker_costs_nothing_but_time(tmp_path, source):
    data = intensor.planted((7, 6, 5), 400, noise=0.1)
    options = {"shape": data.shape, **FEW, "max_iterations": 12}
    here = intensor.solve(data.coords, data.values, **options)
    given = (data.coords, data.values)
    if source == "files":
        given = (store_parquet(tmp_path / "data", data), "value")
    with start_cluster(2, processes=True) as there, distributed.Client(there) as client:
        killed = []

        def kill(progress):
            if progress.iteration in (3, 8):
                kill_one(client)
                killed.append(progress.iteration)

        found = intensor.solve(*given, client=client, callback=kill, **options)
    assert killed == [3, 8]
    assert found.status is here.status
    assert found.objective == pytest.approx(here.objective, rel=1e-9)


def test_the_error_says_that_observations_cannot_be_loaded_again(two):
    class Gone:
        status = "lost"

    shards = shards_there.DaskShards(two, [Gone()], (1,))
    with pytest.raises(WorkerLostError, match="cannot be loaded again; give a Parquet dataset"):
        shards.ask("evaluate", None)


@pytest.mark.parametrize(
    ("values", "client_there"),
    [
        ([0.1, -0.5, 0.4], True),
        ([0.1, -0.5, 0.4], False),
        pytest.param([0.1, 0.5, 0.4], True, marks=pytest.mark.slow),
    ],
)
def test_values_above_the_radius_raise_a_warning(two, tmp_path, values, client_there):
    table = pa.table({"a": [0, 1, 2], "b": [0, 1, 1], "value": values})
    parquet.write_table(table, tmp_path / "part.parquet")
    options = {"client": two} if client_there else {}
    options |= {"signed": min(values) < 0.0, "max_iterations": 1, "exact": "off"}
    with warnings.catch_warnings():
        warnings.simplefilter("error", RadiusWarning)
        intensor.solve(tmp_path, "value", radius=0.6, **options)
    with pytest.warns(RadiusWarning, match=r"values above the radius 0.45 \(largest 0.5\)"):
        intensor.solve(tmp_path, "value", radius=0.45, **options)


def test_a_solve_waits_for_workers_that_are_started_again():
    data = intensor.planted((6, 5, 4), 100, noise=0.1)
    here = intensor.solve(data.coords, data.values, **FEW)

    def lose_all(progress):
        if progress.iteration == 2:
            there.scale(0)
            there.sync(there._correct_state)
            assert client.nthreads() == {}
            there.scale(1)  # which takes a moment

    with start_cluster(1) as there, distributed.Client(there) as client:
        found = intensor.solve(data.coords, data.values, client=client, callback=lose_all, **FEW)
        check(found, here)
        there.scale(0)
        there.sync(there._correct_state)
        alone = shards_there.DaskShards(client, [], (), wait_seconds=0.1)
        with pytest.raises(ClusterError, match="no workers"):
            alone.ask("evaluate")


def end(how, there, client):
    """Close the client, the cluster or the scheduler of a solve."""
    {"client": client.close, "cluster": there.close, "scheduler": client.shutdown}[how]()


@pytest.mark.parametrize(
    "how",
    [
        "client",
        pytest.param("cluster", marks=pytest.mark.slow),
        pytest.param("scheduler", marks=pytest.mark.slow),
    ],
)
def test_the_error_says_that_the_client_was_closed(how):
    data = intensor.planted((6, 5, 4), 100, noise=0.1)

    def close(progress):
        if progress.iteration == 2:
            end(how, there, client)

    with start_cluster(1) as there, distributed.Client(there) as client:
        refused = pytest.raises(ClusterError, match="the client is closed: someone closed it")
        with refused:
            intensor.solve(data.coords, data.values, client=client, callback=close, **FEW)
        with refused:
            intensor.solve(data.coords, data.values, client=client, **FEW)


def test_the_error_says_that_the_scheduler_does_not_answer(two, monkeypatch):
    def fail(*unused):
        raise CommClosedError("connection reset")

    monkeypatch.setattr(two, "nthreads", fail)
    with pytest.raises(ClusterError, match="scheduler of the client does not answer") as caught:
        intensor.solve([[0, 0]], [1.0], radius=1.0, client=two)
    assert "connection reset" in str(caught.value)


def test_the_error_says_that_workers_were_lost_while_loading(two, monkeypatch, tmp_path):
    def fail(*unused, **options):
        raise distributed.KilledWorker("task", "worker", 3)

    monkeypatch.setattr(two, "gather", fail)
    path = store_parquet(tmp_path / "data", intensor.planted((3, 3), 20))
    with pytest.raises(WorkerLostError, match="while observations were distributed"):
        intensor.solve(path, "value", radius=1.0, client=two)


def test_compiling_on_a_worker_is_added_to_the_stopwatch_here(two, monkeypatch):
    stopwatch = Stopwatch()
    monkeypatch.setattr(shards_there, "COMPILING", stopwatch)
    monkeypatch.setattr(
        shards_there,
        "run_until_done",
        lambda *unused, **options: time.sleep(0.1) or [("answer", 0.06)],
    )
    assert shards_there.DaskShards(two, [], ()).ask("evaluate") == ["answer"]
    assert stopwatch.seconds() == pytest.approx(0.06)


def test_workers_return_the_seconds_that_they_compiled(monkeypatch):
    stopwatch = Stopwatch()
    monkeypatch.setattr(shards_there, "COMPILING", stopwatch)

    class Busy:
        """A shard whose kernel is compiled for a while."""

        def evaluate(self, number, *, workers):
            with stopwatch:
                time.sleep(0.02)
            return number

    answer, seconds = shards_there._ask(Busy(), "evaluate", (7,), {})
    assert answer == 7
    assert seconds >= 0.02
