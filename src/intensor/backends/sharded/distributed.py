"""Shards on the workers of a Dask cluster.

Observations are distributed over the workers once, by a hash of their cell. After that, a round
sends bits of vertices or factors of components and returns vectors of length ``sum(shape)``, or a
small matrix per index. A shard is the result of tasks that the scheduler can run again, so a lost
worker costs nothing but time.
"""

from __future__ import annotations

import contextlib
import operator
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from distributed import CancelledError, Client, KilledWorker
from distributed.comm.core import CommClosedError

from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape
from intensor.backends.select import CPU, Device
from intensor.backends.sharded.cells import (
    ShardedObservations,
    Totals,
    bucket_of,
    collapse_shard,
)
from intensor.backends.sharded.cluster import (
    WORKER_WAIT_SECONDS,
    check_workers,
    cluster_errors,
    run_until_done,
)
from intensor.backends.sharded.shard import Shard, make_shard
from intensor.data.observations import Observations
from intensor.data.readers.dataset import Batch, Dataset
from intensor.errors import EmptyDataError, WorkerLostError
from intensor.runtime.stopwatch import COMPILING
from intensor.runtime.threads import Workers

if TYPE_CHECKING:
    from intensor.backends.cuda.shard import DeviceShard

DEAD_STATES = ("cancelled", "lost", "error")
"""States of a future that will never have a result."""
Piece = tuple[AnyArray, FloatArray]
"""Coordinates and values of some observations."""
Load = Callable[[], Sequence[Any]]
"""Returns a future per shard."""


class DaskShards:
    """Shards that are futures, with the number of cells of each.

    ``reload`` makes the futures again when their data was lost with a worker. When all workers were
    lost, a call waits ``wait_seconds`` for a new one.
    """

    def __init__(
        self,
        client: Client,
        shards: Sequence[Any],
        sizes: tuple[int, ...],
        reload: Load | None = None,
        *,
        wait_seconds: float = WORKER_WAIT_SECONDS,
    ) -> None:
        self.sizes = sizes
        self._client = client
        self._shards = list(shards)
        self._reload = reload
        self._wait_seconds = wait_seconds

    def ask(self, method: str, *arguments: Any, **options: Any) -> list[Any]:
        """Call a method of every shard and return the answers in order."""
        start = time.perf_counter()

        def attempt() -> list[Any]:
            if any(shard.status in DEAD_STATES for shard in self._shards):
                self._load_again()
            asked = [
                self._client.submit(_ask, shard, method, arguments, options, pure=False)
                for shard in self._shards
            ]
            return list(self._client.gather(asked))

        answers = run_until_done(
            self._client, attempt, task="a round", wait_seconds=self._wait_seconds
        )
        COMPILING.add(start, max((seconds for _, seconds in answers), default=0.0))
        return [answer for answer, _ in answers]

    def _load_again(self) -> None:
        if self._reload is None:
            raise WorkerLostError(
                "a worker was lost with observations that cannot be loaded again; give a Parquet "
                "dataset or a Dask DataFrame that can be"
            )
        self._shards = list(self._reload())


def observe_on_workers(
    client: Client,
    source: Dataset | Any,
    *,
    shape: Shape | None,
    value: str | None = None,
    allow_negative: bool = False,
    device: Device = CPU,
) -> ShardedObservations:
    """Distribute observations over the workers of a cluster, every cell to one of them.

    The source is a Parquet dataset that all workers can read, a Dask DataFrame whose column
    ``value`` holds the values, or (coords, values) in memory. If the shape is None, it is the
    smallest one that holds the coordinates. Workers sum over their cells on the device.
    """
    with _loading(client):
        n_shards = check_workers(client)
        if isinstance(source, tuple):
            return _from_memory(client, source, n_shards, shape, allow_negative, device)
        if isinstance(source, Dataset):
            dataset, parts = source, source.files
        else:
            modes = tuple(name for name in source.columns if name != value)
            dataset = Dataset(files=(), modes=modes, value=str(value), n_rows=0)
            parts = client.compute(source.to_delayed())
        pieces = [
            client.submit(_read, dataset, part, shape, allow_negative, n_shards, pure=False)
            for part in parts
        ]
        if shape is None:
            extents = client.gather(client.map(_find_extent, pieces, pure=False))
            shape = tuple((np.max(extents, axis=0) + 1).tolist())
        made = []
        for number in range(n_shards):
            mine = [client.submit(operator.getitem, piece, number, pure=False) for piece in pieces]
            made.append(client.submit(_merge, mine, shape, allow_negative, pure=False))
        described = client.gather(
            client.map(lambda one: (one[0].n_cells, one[1]), made, pure=False)
        )
        totals: Totals = sum((one for _, one in described), Totals())
        if totals.n == 0:
            raise EmptyDataError("there is no observation in any partition")
        shards = [client.submit(_open, one, device, pure=False) for one in made]
        sizes = tuple(size for size, _ in described)
        return totals.observations(shape, DaskShards(client, shards, sizes))


def distribute_cells(
    client: Client, observations: Observations, device: Device = CPU
) -> ShardedObservations:
    """Distribute cells that are collapsed already, without weights, over a cluster."""
    owners = bucket_of(np.stack(observations.coords, axis=1), check_workers(client))
    shards = [
        make_shard(
            replace(
                observations,
                coords=tuple(column[mine] for column in observations.coords),
                counts=observations.counts[mine],
                means=observations.means[mine],
            )
        )
        for mine in (owners == number for number in np.unique(owners).tolist())
    ]
    with _loading(client):
        sent = _scatter(client, [(shard, Totals()) for shard in shards], device)
    return ShardedObservations(
        shape=observations.shape,
        shards=sent,
        n=observations.n,
        within=observations.within,
        mean_square=observations.mean_square,
        lowest=float(observations.means.min()),
        highest=float(observations.means.max()),
    )


@contextlib.contextmanager
def _loading(client: Client) -> Iterator[None]:
    """Raise a WorkerLostError when workers are lost before there are shards to load again."""
    try:
        with cluster_errors(client):
            yield
    except (CancelledError, KilledWorker, CommClosedError, TimeoutError) as lost:
        raise WorkerLostError(
            f"workers were lost while observations were distributed over them: {lost!r}; they may "
            "have too little memory"
        ) from lost


def _from_memory(
    client: Client,
    source: Piece,
    n_shards: int,
    shape: Shape | None,
    allow_negative: bool,
    device: Device,
) -> ShardedObservations:
    """Collapse observations in memory into shards, and send these to the workers."""
    coords, values = source
    lengths = tuple((coords.max(axis=0) + 1).tolist()) if shape is None else shape
    owners = bucket_of(coords, n_shards)
    made = [
        collapse_shard(coords[mine], values[mine], lengths, allow_negative=allow_negative)
        for mine in (owners == number for number in range(n_shards))
    ]
    totals = sum((one for _, one in made), Totals())
    return totals.observations(lengths, _scatter(client, made, device))


def _scatter(client: Client, made: list[tuple[Shard, Totals]], device: Device) -> DaskShards:
    """Send shards to the workers, and keep them to send them again if a worker is lost."""

    def load() -> list[Any]:
        sent = client.scatter(made, hash=False)
        return [client.submit(_open, one, device, pure=False) for one in sent]

    sizes = tuple(shard.n_cells for shard, _ in made)
    return DaskShards(client, load(), sizes, load)


# --- run on the workers


def _read(
    dataset: Dataset, source: Any, shape: Shape | None, allow_negative: bool, n_shards: int
) -> list[Piece]:
    """Read a file or a partition of a DataFrame, and cut it into one piece per shard."""
    options: dict[str, Any] = {"shape": shape, "allow_negative": allow_negative}
    batches: Iterable[Batch] = (
        dataset.batches(source, **options)
        if isinstance(source, Path)
        else [dataset.check_frame(source, **options)]
    )
    read = [(batch.coords.astype(np.uint32), batch.values) for batch in batches]
    coords, values = _join(read, len(dataset.modes))
    owners = bucket_of(coords, n_shards)
    return [(coords[mine], values[mine]) for mine in (owners == k for k in range(n_shards))]


def _join(pieces: Sequence[Piece], n_modes: int) -> Piece:
    if not pieces:
        return np.empty((0, n_modes), dtype=np.uint32), np.empty(0)
    coords, values = zip(*pieces, strict=True)
    return np.concatenate(coords), np.concatenate(values)


def _find_extent(pieces: list[Piece]) -> IndexArray:
    """Return the largest index of every mode, -1 if there is no observation."""
    found = [coords.astype(np.int64).max(axis=0, initial=-1) for coords, _ in pieces]
    largest: IndexArray = np.max(found, axis=0)
    return largest


def _merge(pieces: Sequence[Piece], shape: Shape, allow_negative: bool) -> tuple[Shard, Totals]:
    """Collapse all observations of the cells of a shard."""
    coords, values = _join(pieces, len(shape))
    return collapse_shard(coords.astype(np.int64), values, shape, allow_negative=allow_negative)


def _open(made: tuple[Shard, Totals], device: Device) -> Shard | DeviceShard:
    """Return a shard in the memory of the worker, or move it to its CUDA device."""
    shard, totals = made
    if not shard.n_cells or not device.wants_cuda(max(shard.n_cells, totals.n)):
        return shard
    from intensor.backends.cuda.shard import DeviceShard  # noqa: PLC0415  (imports numba.cuda)

    return DeviceShard(shard)


def _ask(
    shard: Shard | DeviceShard, method: str, arguments: tuple[Any, ...], options: dict[str, Any]
) -> tuple[Any, float]:
    """Return the answer of a shard, and the seconds that this worker compiled meanwhile."""
    before = COMPILING.seconds()
    answer = getattr(shard, method)(*arguments, workers=Workers(1), **options)
    return answer, COMPILING.seconds() - before
