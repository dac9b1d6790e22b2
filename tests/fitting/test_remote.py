"""Folds on a Dask cluster: the same path, several radii at a time, and workers that die."""

import itertools
import os
import signal
import threading

import numpy as np
import pytest
from sklearn.base import clone

import intensor
from fitting_cases import fitted, go_on, options_of, specs_of, splits_of
from intensor._estimator import TensorCompleter
from intensor.errors import ClusterError, WorkerLostError
from intensor.fitting.folds import open_folds
from intensor.fitting.options import Effort
from intensor.fitting.path import approach, walk
from intensor.runtime.budget import Budget

distributed = pytest.importorskip("distributed")
remote = pytest.importorskip("intensor.fitting.remote")
pytestmark = pytest.mark.filterwarnings("ignore")  # of Dask's own

DATA = intensor.planted((8, 7, 6), 250, noise=0.1)


def cluster(n_workers, *, processes=False):
    return distributed.LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=processes,
        dashboard_address=None,
        silence_logs=50,
    )


@pytest.fixture(scope="module")
def client():
    with cluster(2) as there, distributed.Client(there) as client:
        yield client


@pytest.fixture(scope="module")
def many():
    with cluster(6) as there, distributed.Client(there) as client:
        yield client


def opened(client=None, **given):
    options = options_of(**{"validation": 2, "threads": 1, **given})
    return open_folds(specs_of(splits_of(DATA, options), options), client=client)


def walked(client=None, *, budget=None, callback=go_on, **given):
    with opened(client, **given) as folds:
        return walk(folds, budget=budget or Budget(), callback=callback)


def check_same(there, here):
    for name in ("radii", "errors", "objectives", "boxes", "noise", "kriged"):
        np.testing.assert_array_equal(getattr(there, name), getattr(here, name))


@pytest.mark.parametrize("given", [{}, {"remainder": "auto"}, {"baseline": "additive"}])
def test_a_cluster_walks_the_same_path(client, given):
    there, here = walked(client, **given), walked(**given)
    check_same(there.path, here.path)
    assert len(there.models) == len(here.models) == 2
    for ours, theirs in zip(there.models, here.models, strict=True):
        assert np.array_equal(ours.vertices.flags(), theirs.vertices.flags())
        assert np.array_equal(ours.weights, theirs.weights)


def test_a_cluster_approaches_the_same_gaps(client):
    path = walked().path
    with opened(client) as there, opened() as here:
        found, expected = (
            approach(folds, path, budget=Budget(), callback=go_on) for folds in (there, here)
        )
    assert found == expected
    assert len(found) > 0


def test_more_workers_walk_to_more_radii_at_a_time(many):
    there, here = walked(many).path, walked().path
    n = min(len(there), len(here))
    np.testing.assert_array_equal(there.radii[:n], here.radii[:n])
    np.testing.assert_array_equal(there.errors[0], here.errors[0])  # cold on both
    np.testing.assert_allclose(there.errors[:n], here.errors[:n], rtol=0.2)


def test_nothing_is_left_on_the_workers(client):
    walked(client, n_radii=2)
    counts = client.run(lambda: len(remote._running))
    assert set(counts.values()) == {0}


def test_the_callback_can_end_a_walk_on_a_cluster(client):
    heard = []
    budget = Budget()

    def stop(progress):
        heard.append(progress.stage)
        budget.interrupted = True
        return False

    path = walked(client, budget=budget, callback=stop).path
    assert len(path) == 1
    assert heard == [f"radius {path.radii[0]:.4g}"] * 2


def test_an_interrupt_ends_what_is_under_way(client):
    # Without a radius that ends the walk this would go on for as long as it takes.
    options = {"rtol": 0.0, "n_radii": 60}
    budget = Budget()
    threading.Timer(0.5, setattr, (budget, "interrupted", True)).start()
    path = walked(client, budget=budget, **options).path
    assert len(path) >= 1


@pytest.mark.slow
def test_a_killed_worker_costs_nothing_but_time():
    here = walked().path
    with cluster(2, processes=True) as there, distributed.Client(there) as client:
        killed = []

        def kill(progress):
            if len(killed) < 2 and progress.stage not in killed:
                killed.append(progress.stage)
                (first, *_) = client.scheduler_info()["workers"]
                os.kill(client.run(os.getpid, workers=[first])[first], signal.SIGKILL)
            return True

        found = walked(client, callback=kill).path
    assert len(killed) == 2
    check_same(found, here)


def test_steps_that_never_succeed_are_given_up(client, monkeypatch):
    def broken(*given):
        raise distributed.KilledWorker("task", "worker", 3)

    monkeypatch.setattr(client, "gather", broken)
    with pytest.raises(WorkerLostError, match="at a step of the validation"):
        walked(client)


def test_a_client_that_is_closed_during_a_walk_is_an_error():
    with cluster(1) as there, distributed.Client(there) as client:

        def close(progress):
            client.close()
            return True

        with pytest.raises(ClusterError, match="the client is closed: someone closed it"):
            walked(client, callback=close)


def test_compiling_on_a_worker_does_not_count_here(client, monkeypatch):
    class Ticking:
        """A stopwatch by which every step compiles for a second."""

        ticks = itertools.count()

        def seconds(self):
            return float(next(self.ticks))

        def add(self, start, seconds):
            added.append(seconds)

    added = []
    monkeypatch.setattr(remote, "COMPILING", Ticking())
    walked(client)
    assert added
    assert all(seconds >= 1.0 for seconds in added)


def test_a_cluster_without_workers_is_an_error():
    said = pytest.raises(ClusterError, match="no workers; start some")
    with cluster(0) as there, distributed.Client(there) as client, said:
        walked(client)


def test_an_estimator_with_a_client_makes_the_same_fit(client):
    given = {"baseline": "auto", "validation": 2, "n_radii": 2, "threads": 1}
    there = TensorCompleter(client=client, **given).fit(DATA.coords, DATA.values)
    here = TensorCompleter(**given).fit(DATA.coords, DATA.values)
    assert there.radius_ == here.radius_
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-9)
    check_same(there.path_, here.path_)


def test_the_last_fit_on_workers_is_the_same(client):
    given = {"radius": 1.0, "max_iterations": 4, "threads": 1, "rtol": 1e-9}
    here, there = (
        fitted(DATA, client=one, effort=Effort(min_distributed_cells=1), **given)
        for one in (None, client)
    )
    assert there.objective == pytest.approx(here.objective, rel=1e-9)
    assert np.array_equal(there.model.vertices.flags(), here.model.vertices.flags())


def test_a_clone_keeps_the_client(client):
    completer = TensorCompleter(client=client, radius=2.0)
    again = clone(completer)
    assert again.client is client
    assert again.radius == 2.0
    assert again is not completer
