"""The connection to a Dask cluster: clients that cannot be used, and workers that are lost."""

import asyncio

import pytest

from cells_cases import start_cluster
from intensor.errors import ClusterError, SettingError, WorkerLostError

distributed = pytest.importorskip("distributed")
module = pytest.importorskip("intensor.backends.sharded.cluster")
pytestmark = pytest.mark.filterwarnings("ignore")  # Dask warns a lot


@pytest.fixture
def client():
    with start_cluster(1, threads=2) as there, distributed.Client(there) as client:
        yield client


def test_threads_of_all_workers_are_counted(client):
    assert module.check_workers(client) == 2


def test_attempts_end_when_none_succeeds(client):
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


def test_errors_of_tasks_pass_unchanged(client):
    with pytest.raises(ZeroDivisionError), module.cluster_errors(client):
        client.submit(lambda: 1 / 0).result()


def test_the_error_says_that_another_thread_closed_the_client(client):
    def attempt():
        client.close()
        raise AttributeError("'NoneType' object has no attribute 'send'")

    with pytest.raises(ClusterError, match="someone closed it") as caught:
        module.run_until_done(client, attempt, task="a test")
    assert isinstance(caught.value.__cause__, AttributeError)


def test_only_synchronous_clients_are_accepted(client):
    address = client.scheduler.address
    with pytest.raises(SettingError, match=r"of type str; expected a distributed\.Client"):
        module.check_workers(address)

    async def check_there():
        async with distributed.Client(address, asynchronous=True) as inner:
            module.check_workers(inner)

    with pytest.raises(SettingError, match="client is asynchronous"):
        asyncio.run(check_there())
