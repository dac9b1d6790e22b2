"""Shards in files: memory holds only one block of cells at a time."""

from __future__ import annotations

import contextlib
import math
import shutil
import tempfile
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape
from intensor.backends.sharded.cells import (
    ShardedObservations,
    Totals,
    bucket_of,
    collapse_shard,
)
from intensor.backends.sharded.shard import Shard
from intensor.data.readers.dataset import Batch, Dataset
from intensor.errors import MemoryLimitError
from intensor.runtime.threads import Workers

BYTES_PER_ROW = 200
"""Most bytes per observation of up to three modes that collapsing takes."""
BYTES_PER_FURTHER_MODE = 32
"""Bytes per observation that every mode after the third adds."""
BUCKET_SHARE = 0.4
"""Share of the memory beyond ``BASE_BYTES`` that collapsing a bucket may take."""
BASE_BYTES = 1 << 28
"""Bytes for the interpreter and its libraries."""
MIN_BUCKET_BYTES = 1 << 24
"""Fewest bytes for collapsing a bucket."""
ARRAYS = ("rows", "means", "counts")
"""Arrays of a shard; each of them is a file."""
MAX_BUCKETS = 4096
"""Most buckets; each of them is a file."""


class Buckets:
    """Observations in an existing folder, in one file per future shard."""

    def __init__(self, folder: Path, n_modes: int, n_buckets: int) -> None:
        self._paths = [folder / f"bucket-{number}" for number in range(n_buckets)]
        self._kind = np.dtype([("coords", np.uint32, (n_modes,)), ("value", np.float64)])
        self._highest: IndexArray = np.full(n_modes, -1, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._paths)

    def add(self, batches: Iterable[Batch]) -> None:
        """Distribute observations over the buckets."""
        for batch in batches:
            if not batch.values.size:
                continue
            np.maximum(self._highest, batch.coords.max(axis=0), out=self._highest)
            owners = bucket_of(batch.coords, len(self))
            order = np.argsort(owners, kind="stable")
            rows = np.empty(order.size, dtype=self._kind)
            rows["coords"], rows["value"] = batch.coords[order], batch.values[order]
            ends = np.searchsorted(owners[order], np.arange(len(self) + 1))
            for number, path in enumerate(self._paths):
                part = rows[ends[number] : ends[number + 1]]
                if part.size:
                    with path.open("ab") as file:
                        part.tofile(file)

    @property
    def shape(self) -> Shape:
        """The smallest shape that holds all coordinates."""
        return tuple((self._highest + 1).tolist())

    def take(self, number: int) -> tuple[IndexArray, FloatArray] | None:
        """Return the observations of a bucket and delete its file; None if there are none."""
        path = self._paths[number]
        if not path.exists():
            return None
        rows = np.fromfile(path, dtype=self._kind)
        path.unlink()
        return rows["coords"].astype(np.int64), np.ascontiguousarray(rows["value"])


class FileArray:
    """An array in a ``.npy`` file, from which slices and chosen rows are read."""

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
    """Shards of these sizes in a folder that is deleted with the last reference to them."""

    def __init__(
        self, folder: Path, shape: Shape, sizes: tuple[int, ...], threads: int | None
    ) -> None:
        self.sizes = sizes
        self._workers = Workers(threads)
        self._shards = []
        for number in range(len(sizes)):
            arrays: Any = {name: FileArray(folder / f"{name}-{number}.npy") for name in ARRAYS}
            self._shards.append(Shard(shape=shape, **arrays))
        self._finalizer = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)

    def ask(self, method: str, *arguments: Any, **options: Any) -> list[Any]:
        """Call a method of every shard and return the answers in order."""
        options["workers"] = self._workers
        return [getattr(shard, method)(*arguments, **options) for shard in self._shards]


def observe_on_disk(
    dataset: Dataset,
    *,
    shape: Shape | None,
    allow_negative: bool,
    memory_limit: int,
    threads: int | None,
) -> ShardedObservations:
    """Collapse a dataset of any size into shards on disk, with at most ``memory_limit`` bytes.

    If the shape is None, it is the smallest one that holds the coordinates.
    """
    n_modes = len(dataset.modes)
    n_buckets = count_buckets(dataset.n_rows, n_modes, memory_limit)
    folder = Path(tempfile.mkdtemp(prefix="intensor-"))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        buckets = Buckets(folder, n_modes, n_buckets)
        for file in dataset.files:
            buckets.add(dataset.batches(file, shape=shape, allow_negative=allow_negative))
        lengths = buckets.shape if shape is None else shape
        sizes: list[int] = []
        totals = Totals()
        for number in range(n_buckets):
            found = buckets.take(number)
            if found is None:
                continue
            shard, shard_totals = collapse_shard(*found, lengths, allow_negative=allow_negative)
            del found
            for name in ARRAYS:
                np.save(folder / f"{name}-{len(sizes)}.npy", getattr(shard, name))
            sizes.append(shard.n_cells)
            totals += shard_totals
        shards = DiskShards(folder, lengths, tuple(sizes), threads)
        stack.pop_all()
    return totals.observations(lengths, shards)


def count_buckets(n_rows: int, n_modes: int, memory_limit: int) -> int:
    """Return the number of buckets for which each can be collapsed within a memory limit."""
    needed = n_rows * (BYTES_PER_ROW + BYTES_PER_FURTHER_MODE * max(0, n_modes - 3))
    bucket_bytes = BUCKET_SHARE * (memory_limit - BASE_BYTES)
    least = max(MIN_BUCKET_BYTES, needed / MAX_BUCKETS)
    if bucket_bytes < least:
        enough = BASE_BYTES + least / BUCKET_SHARE
        raise MemoryLimitError(
            f"{n_rows} observations of {n_modes} modes cannot be handled within "
            f"{memory_limit / 2**20:.0f} MiB; {math.ceil(enough / 2**20)} MiB would do"
        )
    return math.ceil(needed / bucket_bytes)
