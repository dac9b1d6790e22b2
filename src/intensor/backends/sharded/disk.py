"""Shards in files: memory holds one block of cells at a time, whatever their number."""

from __future__ import annotations

import contextlib
import math
import shutil
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from intensor._arrays import AnyArray, IndexArray, Shape
from intensor.backends.sharded.cells import ShardedObservations
from intensor.backends.sharded.partition import Buckets, Totals, collapse
from intensor.backends.sharded.shard import Picked, Shard
from intensor.data.readers.dataset import Dataset
from intensor.errors import MemoryLimitError
from intensor.runtime.threads import Workers

__all__ = ["DiskShards", "FileArray", "observe_on_disk"]

PER_ROW = 200
"""Bytes that collapsing takes for an observation, at most, for three modes or fewer."""
PER_MODE = 32
"""More of them for each further mode."""
SHARE = 0.4
"""Of the memory limit, for the observations that are being collapsed."""
LEAST = 1 << 28
"""Bytes below which no limit can be kept: the interpreter and its libraries need as much."""
LEAST_ROOM, MOST_BUCKETS = 1 << 24, 4096
"""Bytes for a bucket at least, and how many there may be."""


class FileArray:
    """An array in a file, of which slices and chosen places are read.

    Parameters
    ----------
    path
        A ``.npy`` file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        header = np.load(path, mmap_mode="r")
        self.shape, self.dtype, self.size = header.shape, header.dtype, header.size
        self._start = int(header.offset)
        self._row = int(header.dtype.itemsize * np.prod(header.shape[1:], dtype=np.int64))

    def __getitem__(self, part: slice | IndexArray) -> AnyArray:
        if isinstance(part, slice):
            first, last, _ = part.indices(self.shape[0])
            found = np.fromfile(
                self._path,
                dtype=self.dtype,
                offset=self._start + first * self._row,
                count=(last - first) * self._row // self.dtype.itemsize,
            )
            return found.reshape(-1, *self.shape[1:])
        chosen: AnyArray = np.load(self._path, mmap_mode="r")[part]
        return chosen


class DiskShards:
    """Shards in a folder that is deleted with the last reference to them.

    Parameters
    ----------
    folder
        Where the shards are.
    shape
        Lengths of the modes.
    sizes
        Cells of each shard.
    threads
        For the sums.
    """

    def __init__(
        self, folder: Path, shape: Shape, sizes: tuple[int, ...], threads: int | None
    ) -> None:
        self.sizes = sizes
        self._workers = Workers(threads)
        self._shards = [_load(folder, shape, place) for place in range(len(sizes))]
        self._finalizer = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)

    def ask(self, what: str, *arguments: Any, **words: Any) -> list[Any]:
        """Return what a method of ``Shard`` says, for each of them in order."""
        workers = self._workers
        return [
            getattr(shard, what)(*arguments, workers=workers, **words) for shard in self._shards
        ]

    def pick(self, places: list[IndexArray]) -> list[Picked]:
        """Return some cells of each."""
        return [shard.pick(here) for shard, here in zip(self._shards, places, strict=True)]


def observe_on_disk(
    dataset: Dataset,
    *,
    shape: Shape | None,
    allow_negative: bool,
    memory_limit: int,
    threads: int | None,
    told: Callable[[str], None] = lambda word: None,
) -> ShardedObservations:
    """Collapse a dataset of any size into shards on disk.

    Parameters
    ----------
    shape
        Mode lengths; by default the smallest that hold the coordinates.
    memory_limit
        Bytes that may be used.
    told
        Called with a word on what is being done.
    """
    n_modes = len(dataset.modes)
    n_buckets = count_buckets(dataset.n_rows, n_modes, memory_limit)
    folder = Path(tempfile.mkdtemp(prefix="intensor-"))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        buckets = Buckets(folder, n_modes, n_buckets)
        for file in dataset.files:
            told(f"reading {file.name}")
            buckets.add(dataset.batches(file, shape=shape, allow_negative=allow_negative))
        lengths = buckets.shape if shape is None else shape
        sizes: list[int] = []
        totals = Totals()
        for place in range(n_buckets):
            told(f"collapsing {place + 1} of {n_buckets}")
            found = buckets.take(place)
            if found is None:
                continue
            shard, of_shard = collapse(*found, lengths, allow_negative=allow_negative)
            del found
            _save(folder, shard, len(sizes))
            sizes.append(shard.n_cells)
            totals += of_shard
        shards = DiskShards(folder, lengths, tuple(sizes), threads)
        stack.pop_all()
    return ShardedObservations(
        shape=lengths,
        shards=shards,
        n=totals.n,
        within=totals.within / totals.n,
        mean_square=totals.square / totals.n,
        lowest=totals.lowest,
        highest=totals.highest,
    )


def count_buckets(n_rows: int, n_modes: int, memory_limit: int) -> int:
    """Return into how many buckets rows go for each to be collapsed within a limit."""
    per_row = PER_ROW + PER_MODE * max(0, n_modes - 3)
    room = SHARE * (memory_limit - LEAST)
    least = max(LEAST_ROOM, n_rows * per_row / MOST_BUCKETS)
    if room < least:
        needed = LEAST + least / SHARE
        raise MemoryLimitError(
            f"{n_rows} observations of {n_modes} modes cannot be handled within "
            f"{memory_limit / 2**20:.0f} MiB; {math.ceil(needed / 2**20)} MiB would do"
        )
    return math.ceil(n_rows * per_row / room)


def _save(folder: Path, shard: Shard, place: int) -> None:
    for name in ("rows", "means", "counts"):
        np.save(folder / f"{name}-{place}.npy", getattr(shard, name))


def _load(folder: Path, shape: Shape, place: int) -> Shard:
    arrays: dict[str, Any] = {
        name: FileArray(folder / f"{name}-{place}.npy") for name in ("rows", "means", "counts")
    }
    return Shard(shape=shape, **arrays)
