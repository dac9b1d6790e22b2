"""Shards on a Dask cluster: the same answers, little traffic, and workers that die."""

import asyncio
import os
import signal
import time
import warnings

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import intensor
from intensor.errors import (
    ClusterError,
    CoordinateError,
    RadiusWarning,
    SettingError,
    WorkerLostError,
)
from intensor.runtime.stopwatch import Stopwatch

distributed = pytest.importorskip("distributed")
shards_there = pytest.importorskip("intensor.backends.sharded.distributed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of Dask's own


def cluster(n_workers, *, processes=False):
    return distributed.LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=processes,
        dashboard_address=None,
        silence_logs=50,
    )


@pytest.fixture(scope="module", params=[1, 4])
def client(request):
    with cluster(request.param) as there, distributed.Client(there) as client:
        yield client


@pytest.fixture(scope="module")
def two():
    with cluster(2) as there, distributed.Client(there) as client:
        yield client


def stored(folder, data, n_files=3):
    folder.mkdir()
    for place, rows in enumerate(np.array_split(np.arange(len(data.values)), n_files)):
        columns = {f"mode{mode}": data.coords[rows, mode] for mode in range(data.coords.shape[1])}
        table = pa.table({**columns, "value": data.values[rows]})
        parquet.write_table(table, folder / f"part-{place}.parquet")
    return folder


FEW = {"radius": 1.0, "rtol": 1e-12, "exact": "off", "max_iterations": 6}
"""Rounds are slow: a few of them show whether they are right."""


def check(there, here):
    assert there.status is here.status
    assert there.objective == pytest.approx(here.objective, rel=1e-9)
    assert there.counters == here.counters
    assert np.array_equal(there.model.vertices.flags(), here.model.vertices.flags())


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_the_same_answer_as_from_memory(client, tmp_path, noise):
    data = intensor.planted((6, 5, 4), 300, noise=noise)
    words = {"shape": data.shape, **FEW}
    here = intensor.solve(data.coords, data.values, **words)
    check(intensor.solve(data.coords, data.values, client=client, **words), here)
    path = stored(tmp_path / "data", data)
    check(intensor.solve(path, "value", client=client, **words), here)


def test_a_proof_for_cells_that_are_fetched(two):
    data = intensor.planted((3, 3, 2), 30, noise=0.1)
    result = intensor.solve(data.coords, data.values, radius=1.0, tol=1e-3, client=two)
    assert result.status is intensor.Status.OPTIMAL
    assert intensor.verify(result, data.coords, data.values).ok


def test_a_data_frame(two):
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
    path = stored(tmp_path / "data", data, n_files=4)
    here = intensor.solve(data.coords, data.values, **FEW)
    there = intensor.solve(path, "value", client=two, **FEW)
    check(there, here)
    assert there.bound == pytest.approx(here.bound, rel=1e-9)
    assert there.bound > 0.0


def test_more_workers_than_cells(client):
    result = intensor.solve([[0, 0], [0, 0]], [1.0, 1.0], radius=2.0, client=client)
    assert result.status is intensor.Status.OPTIMAL
    assert result.objective <= 1e-6


def test_bad_rows_are_named(two, tmp_path):
    data = intensor.planted((6, 5, 4), 100)
    path = stored(tmp_path / "data", data)
    with pytest.raises(CoordinateError, match=r"part-\d\.parquet, row \d+: 'mode1' is"):
        intensor.solve(path, "value", radius=1.0, shape=(6, 2, 4), client=two)


def test_no_workers():
    said = pytest.raises(ClusterError, match="no workers; start some")
    with cluster(0) as there, distributed.Client(there) as client, said:
        intensor.solve([[0, 0]], [1.0], radius=1.0, client=client)


def kill_one(client):
    (first, *_) = client.scheduler_info()["workers"]
    pid = client.run(os.getpid, workers=[first])[first]
    os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("source", ["files", "memory"])
def test_a_killed_worker_costs_nothing_but_time(tmp_path, source):
    data = intensor.planted((7, 6, 5), 400, noise=0.1)
    words = {"shape": data.shape, **FEW, "max_iterations": 12}
    here = intensor.solve(data.coords, data.values, **words)
    given = (data.coords, data.values)
    if source == "files":
        given = (stored(tmp_path / "data", data), "value")
    with cluster(2, processes=True) as there, distributed.Client(there) as client:
        killed = []

        def kill(progress):
            if progress.iteration in (3, 8):
                kill_one(client)
                killed.append(progress.iteration)

        found = intensor.solve(*given, client=client, callback=kill, **words)
    assert killed == [3, 8]
    assert found.status is here.status
    assert found.objective == pytest.approx(here.objective, rel=1e-9)


def test_what_cannot_be_loaded_again_is_said(two):
    class Gone:
        status = "lost"

    shards = shards_there.DaskShards(two, [Gone()], (1,))
    with pytest.raises(WorkerLostError, match="cannot be loaded again; give a Parquet dataset"):
        shards.ask("evaluate", None)


def test_rounds_that_never_succeed_end(two):
    class Fine:
        status = "finished"

    tried = []

    def broken():
        tried.append(1)
        raise distributed.KilledWorker("task", "worker", 3)

    with pytest.raises(WorkerLostError, match="lost in each of"):
        shards_there.DaskShards(two, [Fine()], (1,))._gather(broken)
    assert len(tried) == shards_there.ATTEMPTS


@pytest.mark.parametrize("values", [[0.1, 0.5, 0.4], [0.1, -0.5, 0.4]])
@pytest.mark.parametrize("client_there", [False, True])
def test_values_above_the_radius_are_warned_of(two, tmp_path, values, client_there):
    table = pa.table({"a": [0, 1, 2], "b": [0, 1, 1], "value": values})
    parquet.write_table(table, tmp_path / "part.parquet")
    words = {"client": two} if client_there else {}
    words |= {"signed": min(values) < 0.0, "max_iterations": 1, "exact": "off"}
    with warnings.catch_warnings():
        warnings.simplefilter("error", RadiusWarning)
        intensor.solve(tmp_path, "value", radius=0.6, **words)
    with pytest.warns(RadiusWarning, match=r"values above the radius 0.45 \(largest 0.5\)"):
        intensor.solve(tmp_path, "value", radius=0.45, **words)


def test_workers_that_are_started_again_are_waited_for(monkeypatch):
    data = intensor.planted((6, 5, 4), 100, noise=0.1)
    here = intensor.solve(data.coords, data.values, **FEW)

    def lose_all(progress):
        if progress.iteration == 2:
            there.scale(0)
            there.sync(there._correct_state)
            assert client.nthreads() == {}
            there.scale(1)  # which takes a moment

    with cluster(1) as there, distributed.Client(there) as client:
        found = intensor.solve(data.coords, data.values, client=client, callback=lose_all, **FEW)
        check(found, here)
        monkeypatch.setattr(shards_there, "PATIENCE", 0.1)
        with pytest.raises(ClusterError, match="no workers"):
            intensor.solve(
                data.coords,
                data.values,
                client=client,
                callback=lambda progress: there.scale(0),
                **FEW,
            )


# --- clients that go away


def ends(how, there, client):
    """End something that a solve needs."""
    {"client": client.close, "cluster": there.close, "scheduler": client.shutdown}[how]()


@pytest.mark.parametrize("how", ["client", "cluster", "scheduler"])
def test_a_client_that_is_closed_in_the_middle_is_told_of(how):
    data = intensor.planted((6, 5, 4), 100, noise=0.1)

    def close(progress):
        if progress.iteration == 2:
            ends(how, there, client)

    with cluster(1) as there, distributed.Client(there) as client:
        said = pytest.raises(ClusterError, match="the client is closed: someone closed it")
        with said:
            intensor.solve(data.coords, data.values, client=client, callback=close, **FEW)
        with said:
            intensor.solve(data.coords, data.values, client=client, **FEW)


def test_a_client_closed_by_another_thread_in_mid_round_is_told_of():
    with cluster(1) as there, distributed.Client(there) as client:

        def submit():
            client.close()
            raise AttributeError("'NoneType' object has no attribute 'send'")

        shards = shards_there.DaskShards(client, [], ())
        with pytest.raises(ClusterError, match="someone closed it") as caught:
            shards._gather(submit)
    assert isinstance(caught.value.__cause__, AttributeError)


def test_errors_of_tasks_stay_what_they_are(two):
    with pytest.raises(ZeroDivisionError), shards_there.cluster_errors(two):
        two.submit(lambda: 1 / 0).result()


def test_a_scheduler_that_does_not_answer_is_told_of(two, monkeypatch):
    def fail(*unused):
        raise shards_there.CommClosedError("connection reset")

    monkeypatch.setattr(two, "nthreads", fail)
    with pytest.raises(ClusterError, match="scheduler of the client does not answer") as caught:
        intensor.solve([[0, 0]], [1.0], radius=1.0, client=two)
    assert "connection reset" in str(caught.value)


def test_workers_lost_while_observations_are_spread_are_told_of(two, monkeypatch):
    def fail(*unused, **words):
        raise distributed.KilledWorker("task", "worker", 3)

    monkeypatch.setattr(two, "gather", fail)
    with pytest.raises(WorkerLostError, match="while observations were spread"):
        intensor.solve([[0, 0]], [1.0], radius=1.0, client=two)


def test_other_things_than_clients_are_refused(two):
    with pytest.raises(SettingError, match=r"of type str; expected a distributed\.Client"):
        intensor.solve([[0, 0]], [1.0], radius=1.0, client=two.scheduler.address)

    async def solve_there():
        async with distributed.Client(two.scheduler.address, asynchronous=True) as client:
            intensor.solve([[0, 0]], [1.0], radius=1.0, client=client)

    with pytest.raises(SettingError, match="client is asynchronous"):
        asyncio.run(solve_there())


def test_compiling_on_a_worker_does_not_count_here(two, monkeypatch):
    watch = Stopwatch()
    monkeypatch.setattr(shards_there, "COMPILING", watch)
    shards = shards_there.DaskShards(two, [], ())
    monkeypatch.setattr(shards, "_gather", lambda submit: time.sleep(0.1) or [("answer", 0.06)])
    assert shards.ask("evaluate") == ["answer"]
    assert watch.seconds() == pytest.approx(0.06)


def test_workers_say_for_how_long_they_compiled(monkeypatch):
    watch = Stopwatch()
    monkeypatch.setattr(shards_there, "COMPILING", watch)

    class Busy:
        """A shard whose kernel is compiled for a while."""

        def evaluate(self, number, *, workers):
            with watch:
                time.sleep(0.02)
            return number

    answer, seconds = shards_there._ask(Busy(), "evaluate", (7,), {})
    assert answer == 7
    assert seconds >= 0.02
