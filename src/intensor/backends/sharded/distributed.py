"""Shards on the workers of a Dask cluster.

Observations are spread over the workers once, by a hash of their cell. From then on a round sends
bits of vertices and brings back vectors of length ``sum(shape)``. A shard is the result of
tasks that the scheduler can run again, so a lost worker costs time and nothing else.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from dask.sizeof import sizeof
from distributed import CancelledError, Client, KilledWorker
from distributed.comm.core import CommClosedError

from intensor._arrays import FloatArray, IndexArray, Shape
from intensor.backends.select import CPU, Device
from intensor.backends.sharded.cells import ShardedObservations
from intensor.backends.sharded.partition import Totals, bucket_of, collapse
from intensor.backends.sharded.shard import Picked, Shard, make_shard
from intensor.data.observations import Observations
from intensor.data.readers.dataset import Batch, Dataset
from intensor.errors import (
    ClusterError,
    EmptyDataError,
    IntensorError,
    SettingError,
    WorkerLostError,
)
from intensor.problem.layout import position_type
from intensor.runtime.stopwatch import COMPILING
from intensor.runtime.threads import Workers

if TYPE_CHECKING:
    from intensor.backends.cuda.shard import DeviceShard

__all__ = [
    "ATTEMPTS",
    "LOST",
    "PATIENCE",
    "DaskShards",
    "check_workers",
    "cluster_errors",
    "is_open",
    "observe_on_workers",
    "spread_cells",
]

ATTEMPTS = 4
"""How often a round is tried when workers are lost in the middle of it."""
PATIENCE = 20.0
"""Seconds to wait for workers that are started again when all were lost in the middle of things."""
LOST = (CancelledError, KilledWorker, TimeoutError, OSError)
"""What a round raises when something it needs is gone."""
GONE = ("cancelled", "lost", "error")
"""States of a future that will never have a result."""

CLOSED = (
    "the client is closed: someone closed it, or its scheduler ended; keep both until the work is "
    "done, and start it again with a new client"
)

Piece = tuple[IndexArray, FloatArray]


class DaskShards:
    """Shards that are futures.

    Parameters
    ----------
    client
        Of the cluster.
    shards
        A future of a ``Shard`` each.
    sizes
        Cells of each.
    reload
        Makes the futures anew, when what they were made from was lost with a worker.

    Attributes
    ----------
    rounds
        Rounds so far.
    """

    def __init__(
        self,
        client: Client,
        shards: Sequence[Any],
        sizes: tuple[int, ...],
        reload: Callable[[], Sequence[Any]] | None = None,
    ) -> None:
        self.sizes = sizes
        self.rounds = 0
        self._client = client
        self._shards = list(shards)
        self._reload = reload

    def ask(self, what: str, *arguments: Any, **words: Any) -> list[Any]:
        """Return what a method of ``Shard`` says, for each of them in order."""
        self.rounds += 1
        start = time.perf_counter()

        def submit() -> list[Any]:
            return [
                self._client.submit(_ask, shard, what, arguments, words, pure=False)
                for shard in self._shards
            ]

        answers = self._gather(submit)
        COMPILING.add(start, max((seconds for _, seconds in answers), default=0.0))
        return [answer for answer, _ in answers]

    def pick(self, places: list[IndexArray]) -> list[Picked]:
        """Return some cells of each."""

        def submit() -> list[Any]:
            return [
                self._client.submit(_pick, shard, here, pure=False)
                for shard, here in zip(self._shards, places, strict=True)
            ]

        return self._gather(submit)

    def _gather(self, submit: Callable[[], list[Any]]) -> list[Any]:
        """Run a round, again when workers are lost, and return its results in order."""
        problem: BaseException | None = None
        for _ in range(ATTEMPTS):
            check_workers(self._client, patience=PATIENCE)
            try:
                with cluster_errors(self._client):
                    if any(shard.status in GONE for shard in self._shards):
                        self._shards = self._loaded_again()
                    return list(self._client.gather(submit()))
            except LOST as lost:
                problem = lost
        raise WorkerLostError(
            f"workers were lost in each of {ATTEMPTS} attempts at a round; the last one said: "
            f"{problem!r}"
        ) from problem

    def _loaded_again(self) -> list[Any]:
        if self._reload is None:
            raise WorkerLostError(
                "a worker was lost with observations that cannot be loaded again; give a Parquet "
                "dataset or a Dask DataFrame that can be"
            )
        return list(self._reload())


def observe_on_workers(
    client: Client,
    source: Dataset | Any,
    *,
    shape: Shape | None,
    value: str | None = None,
    allow_negative: bool = False,
    device: Device = CPU,
) -> ShardedObservations:
    """Spread observations over the workers of a cluster, every cell on one of them.

    Parameters
    ----------
    source
        A Parquet dataset that all workers can read, a Dask DataFrame, or (coords, values) here.
    shape
        Mode lengths; by default the smallest that hold the coordinates.
    value
        Name of the column of values of a DataFrame.
    device
        Where workers sum over their cells (see ``solve``).
    """
    with _loading(client):
        return _observe(client, source, shape, value, allow_negative, device)


def _observe(
    client: Client,
    source: Dataset | Any,
    shape: Shape | None,
    value: str | None,
    allow_negative: bool,
    device: Device,
) -> ShardedObservations:
    n_shards = check_workers(client)
    if isinstance(source, Dataset):
        pieces = [
            client.submit(_read, source, file, shape, allow_negative, n_shards, pure=False)
            for file in source.files
        ]
    elif isinstance(source, tuple):
        return _from_memory(client, source, n_shards, shape, allow_negative, device)
    else:
        modes = tuple(name for name in source.columns if name != value)
        frames = client.compute(source.to_delayed())
        dataset = Dataset(files=(), modes=modes, value=str(value), n_rows=0)
        pieces = [
            client.submit(_split_frame, dataset, frame, shape, allow_negative, n_shards)
            for frame in frames
        ]
    if shape is None:
        extents = client.gather(client.map(_extent, pieces, pure=False))
        shape = tuple((np.max(extents, axis=0) + 1).tolist())
    owned = [
        [client.submit(_take, piece, place, pure=False) for piece in pieces]
        for place in range(n_shards)
    ]
    made = [client.submit(_merge, mine, shape, allow_negative, pure=False) for mine in owned]
    return _finish(client, made, shape, device, None)


def spread_cells(
    client: Client, observations: Observations, device: Device = CPU
) -> ShardedObservations:
    """Spread cells that are collapsed already, without weights, over the workers of a cluster."""
    n_shards = check_workers(client)
    owners = bucket_of(np.stack(observations.coords, axis=1), n_shards)
    chosen = [owners == place for place in np.unique(owners).tolist()]
    parts = [
        make_shard(
            replace(
                observations,
                coords=tuple(column[mine] for column in observations.coords),
                counts=observations.counts[mine],
                means=observations.means[mine],
            )
        )
        for mine in chosen
    ]

    def load() -> list[Any]:
        sent = client.scatter([(part, Totals()) for part in parts], hash=False)
        return [client.submit(_shard_of, one, device, pure=False) for one in sent]

    sizes = tuple(part.n_cells for part in parts)
    with _loading(client):
        shards = DaskShards(client, load(), sizes, load)
    return ShardedObservations(
        shape=observations.shape,
        shards=shards,
        n=observations.n,
        within=observations.within,
        mean_square=observations.mean_square,
        lowest=float(observations.means.min()),
        highest=float(observations.means.max()),
    )


@contextlib.contextmanager
def _loading(client: Client) -> Iterator[None]:
    """Say what happened when the cluster fails before there is anything to go on from."""
    try:
        with cluster_errors(client):
            yield
    except (CancelledError, KilledWorker, CommClosedError, TimeoutError) as lost:
        raise WorkerLostError(
            f"workers were lost while observations were spread over them: {lost!r}; they may have "
            "too little memory"
        ) from lost


def is_open(client: Client) -> bool:
    """Whether a client can still be used, as far as it knows."""
    return client.status not in ("closing", "closed")


@contextlib.contextmanager
def cluster_errors(client: Client) -> Iterator[None]:
    """Say what happened when a client is closed, or its scheduler ends, in the middle of things.

    Calls that are under way then raise whatever they come across. Other errors pass.
    """
    try:
        yield
    except IntensorError:
        raise
    except Exception as error:
        if is_open(client):
            raise
        raise ClusterError(f"{CLOSED} ({error!r})") from error


def check_workers(client: Client, *, patience: float = 0.0) -> int:
    """Return how many threads the workers have together; raise when there are none.

    Parameters
    ----------
    patience
        Seconds to wait for the first of them.
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
    if not is_open(client):
        raise ClusterError(CLOSED)
    try:
        with cluster_errors(client):
            threads = sum(client.nthreads().values())
            if threads == 0 and patience > 0.0:
                with contextlib.suppress(TimeoutError):
                    client.wait_for_workers(1, timeout=patience)
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


def _from_memory(
    client: Client,
    source: Piece,
    n_shards: int,
    shape: Shape | None,
    allow_negative: bool,
    device: Device,
) -> ShardedObservations:
    """Cut observations that are here into shards, and keep them for when a worker is lost."""
    coords, values = source
    lengths = tuple((coords.max(axis=0) + 1).tolist()) if shape is None else shape
    owners = bucket_of(coords, n_shards)
    mine = [owners == place for place in range(n_shards)]

    def load() -> list[Any]:
        sent = client.scatter([(coords[rows], values[rows]) for rows in mine], hash=False)
        return [
            client.submit(_merge, [piece], lengths, allow_negative, pure=False) for piece in sent
        ]

    def reload() -> list[Any]:
        return [client.submit(_shard_of, one, device, pure=False) for one in load()]

    return _finish(client, load(), lengths, device, reload)


def _finish(
    client: Client,
    made: Sequence[Any],
    shape: Shape,
    device: Device,
    reload: Callable[[], Sequence[Any]] | None,
) -> ShardedObservations:
    """Learn what the shards hold."""
    described = client.gather(client.map(_describe, made, pure=False))
    totals = sum((one for _, one in described[1:]), described[0][1])
    if totals.n == 0:
        raise EmptyDataError("there is no observation in any partition")
    shards = [client.submit(_shard_of, one, device, pure=False) for one in made]
    return ShardedObservations(
        shape=shape,
        shards=DaskShards(client, shards, tuple(size for size, _ in described), reload),
        n=totals.n,
        within=totals.within / totals.n,
        mean_square=totals.square / totals.n,
        lowest=totals.lowest,
        highest=totals.highest,
    )


def _read(
    dataset: Dataset, file: Path, shape: Shape | None, allow_negative: bool, n_shards: int
) -> list[Piece]:
    """Read a file and cut it by the owners of its cells."""
    batches = dataset.batches(file, shape=shape, allow_negative=allow_negative)
    return _cut(batches, len(dataset.modes), n_shards)


def _split_frame(
    dataset: Dataset, frame: Any, shape: Shape | None, allow_negative: bool, n_shards: int
) -> list[Piece]:
    """Cut a partition of a DataFrame."""
    batch = dataset.check_frame(frame, shape=shape, allow_negative=allow_negative)
    return _cut([batch], len(dataset.modes), n_shards)


def _cut(batches: Iterable[Batch], n_modes: int, n_shards: int) -> list[Piece]:
    pieces: list[list[Piece]] = [[] for _ in range(n_shards)]
    for batch in batches:
        owners = bucket_of(batch.coords, n_shards)
        for place, mine in enumerate(pieces):
            rows = owners == place
            mine.append((batch.coords[rows].astype(np.uint32), batch.values[rows]))
    return [_joined(mine, n_modes) for mine in pieces]


def _joined(pieces: Sequence[Piece], n_modes: int) -> Piece:
    if not pieces:
        return np.empty((0, n_modes), dtype=np.uint32), np.empty(0)
    coords, values = zip(*pieces, strict=True)
    return np.concatenate(coords), np.concatenate(values)


def _extent(pieces: list[Piece]) -> IndexArray:
    """Return the largest index of every mode."""
    highest = [coords.max(axis=0).astype(np.int64) for coords, _ in pieces if len(coords)]
    n_modes = pieces[0][0].shape[1]
    largest: IndexArray = np.max(highest, axis=0) if highest else np.full(n_modes, -1)
    return largest


def _take(pieces: list[Piece], place: int) -> Piece:
    return pieces[place]


def _merge(pieces: Sequence[Piece], shape: Shape, allow_negative: bool) -> tuple[Shard, Totals]:
    """Collapse all observations of the cells of a shard."""
    coords, values = _joined(pieces, len(shape))
    if not values.size:
        empty = Shard(
            shape=shape,
            rows=np.empty((0, len(shape)), dtype=position_type(shape)),
            means=np.empty(0),
            counts=np.empty(0, dtype=np.uint8),
        )
        return empty, Totals()
    return collapse(coords.astype(np.int64), values, shape, allow_negative=allow_negative)


def _describe(made: tuple[Shard, Totals]) -> tuple[int, Totals]:
    shard, totals = made
    return shard.n_cells, totals


def _shard_of(made: tuple[Shard, Totals], device: Device) -> Shard | DeviceShard:
    """Return a shard where its cells shall be summed over: in memory or on a device."""
    shard, totals = made
    if not shard.n_cells or not device.wants_cuda(max(shard.n_cells, totals.n)):
        return shard
    from intensor.backends.cuda.shard import DeviceShard  # noqa: PLC0415  (imports numba.cuda)

    return DeviceShard(shard)


def _ask(
    shard: Shard | DeviceShard, what: str, arguments: tuple[Any, ...], words: dict[str, Any]
) -> tuple[Any, float]:
    """Return what a shard says, and for how many seconds this worker compiled meanwhile."""
    before = COMPILING.seconds()
    answer = getattr(shard, what)(*arguments, workers=Workers(1), **words)
    return answer, COMPILING.seconds() - before


def _pick(shard: Shard | DeviceShard, places: IndexArray) -> Picked:
    return shard.pick(places)


@sizeof.register(Shard)
def _size_of(shard: Shard) -> int:
    """Tell the scheduler how much there is to move: it then leaves shards where they are."""
    return sum(int(array.nbytes) for array in (shard.rows, shard.means, shard.counts))
