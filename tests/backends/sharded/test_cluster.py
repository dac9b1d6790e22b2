"""The connection to a Dask cluster: clients that cannot be used, and workers that are lost."""

import asyncio

import pytest

from intensor.errors import ClusterError, SettingError, WorkerLostError

distributed = pytest.importorskip("distributed")
module = pytest.importorskip("intensor.backends.sharded.cluster")
pytestmark = pytest.mark.filterwarnings("ignore")  # of Dask's own


@pytest.fixture
def client():
    with (
        distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            processes=False,
            dashboard_address=None,
            silence_logs=50,
        ) as there,
        distributed.Client(there) as client,
    ):
        yield client


def test_threads_of_all_workers_are_counted(client):
    assert module.check_workers(client) == 2


def test_attempts_that_never_succeed_end(client):
    tried = []

    def broken():
        tried.append(1)
        raise distributed.KilledWorker("task", "worker", 3)

    with pytest.raises(
        WorkerLostError, match=r"lost in each of 4 attempts at a test.*KilledWorker"
    ):
        module.run_until_done(client, broken, task="a test")
    assert len(tried) == module.MAX_ATTEMPTS


def test_an_attempt_is_made_again_when_a_worker_is_lost(client):
    tried = []

    def lost_once():
        tried.append(1)
        if len(tried) == 1:
            raise OSError("connection reset")
        return "done"

    assert module.run_until_done(client, lost_once, task="a test") == "done"
    assert len(tried) == 2


def test_errors_of_tasks_stay_what_they_are(client):
    with pytest.raises(ZeroDivisionError), module.cluster_errors(client):
        client.submit(lambda: 1 / 0).result()


def test_a_client_closed_by_another_thread_is_told_of(client):
    def attempt():
        client.close()
        raise AttributeError("'NoneType' object has no attribute 'send'")

    with pytest.raises(ClusterError, match="someone closed it") as caught:
        module.run_until_done(client, attempt, task="a test")
    assert isinstance(caught.value.__cause__, AttributeError)


def test_other_things_than_clients_are_refused(client):
    address = client.scheduler.address
    with pytest.raises(SettingError, match=r"of type str; expected a distributed\.Client"):
        module.check_workers(address)

    async def check_there():
        async with distributed.Client(address, asynchronous=True) as inner:
            module.check_workers(inner)

    with pytest.raises(SettingError, match="client is asynchronous"):
        asyncio.run(check_there())
