"""The connection to a Dask cluster: whether it can be used, and errors that say what happened."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TypeVar

from distributed import CancelledError, Client, KilledWorker

from intensor.errors import ClusterError, IntensorError, SettingError, WorkerLostError

Answer = TypeVar("Answer")
MAX_ATTEMPTS = 4
"""Most attempts at a round of calls when workers are lost in the middle of it."""
WORKER_WAIT_SECONDS = 20.0
"""Seconds to wait for a worker when all workers were lost."""
LOST_WORKER_ERRORS = (CancelledError, KilledWorker, TimeoutError, OSError)
"""Errors of a round whose worker or whose results are gone."""
CLOSED = (
    "the client is closed: someone closed it, or its scheduler ended; keep both until the work is "
    "done, and start it again with a new client"
)


def run_until_done(
    client: Client,
    attempt: Callable[[], Answer],
    *,
    task: str,
    wait_seconds: float = WORKER_WAIT_SECONDS,
) -> Answer:
    """Make an attempt at a task, and repeat it when workers are lost in the middle of it.

    When there is no worker, it waits ``wait_seconds`` for one.
    """
    problem: BaseException | None = None
    for _ in range(MAX_ATTEMPTS):
        check_workers(client, wait_seconds=wait_seconds)
        try:
            with cluster_errors(client):
                return attempt()
        except LOST_WORKER_ERRORS as lost:
            problem = lost
    raise WorkerLostError(
        f"workers were lost in each of {MAX_ATTEMPTS} attempts at {task}; the last one said: "
        f"{problem!r}"
    ) from problem


@contextlib.contextmanager
def cluster_errors(client: Client) -> Iterator[None]:
    """Raise a ClusterError when the client is closed or its scheduler ends in the meantime.

    Calls that are under way then raise all kinds of errors. If the client is still open, errors
    pass unchanged.
    """
    try:
        yield
    except IntensorError:
        raise
    except Exception as error:
        if _is_open(client):
            raise
        raise ClusterError(f"{CLOSED} ({error!r})") from error


def check_workers(client: Client, *, wait_seconds: float = 0.0) -> int:
    """Return the number of threads of all workers together; raise when there are none.

    If there is no worker, it waits ``wait_seconds`` for one.
    """
    if not isinstance(client, Client):
        raise SettingError(
            f"client is of type {type(client).__name__}; expected a distributed.Client"
        )
    if client.asynchronous:
        raise SettingError(
            "client is asynchronous, or belongs to the event loop of this thread; give a client "
            "that was made without asynchronous=True, and call from another thread"
        )
    if not _is_open(client):
        raise ClusterError(CLOSED)
    try:
        with cluster_errors(client):
            threads = sum(client.nthreads().values())
            if threads == 0 and wait_seconds > 0.0:
                with contextlib.suppress(TimeoutError):
                    client.wait_for_workers(1, timeout=wait_seconds)
                threads = sum(client.nthreads().values())
    except (TimeoutError, OSError) as problem:
        raise ClusterError(
            f"the scheduler of the client does not answer ({problem!r}); look whether it is "
            "running and can be reached"
        ) from problem
    if threads == 0:
        raise ClusterError(
            "the client has no workers; start some (dask worker ADDRESS) and wait for them "
            "with client.wait_for_workers(1)"
        )
    return int(threads)


def _is_open(client: Client) -> bool:
    """Say whether a client can still be used, as far as it knows."""
    return client.status not in ("closing", "closed")
