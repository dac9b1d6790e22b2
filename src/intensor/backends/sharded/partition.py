"""Observations in any order, split into shards so that every cell is in one of them.

A hash of its cell decides the bucket of an observation. Each bucket is then collapsed into a shard.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from intensor._arrays import FloatArray, IndexArray, Shape
from intensor.backends.sharded.cells import ShardedObservations, Shards
from intensor.backends.sharded.shard import Shard, make_shard
from intensor.data.observations import observe
from intensor.data.readers.dataset import Batch
from intensor.problem.layout import position_type

INCREMENT = np.uint64(0x9E3779B97F4A7C15)
FACTOR = np.uint64(0xBF58476D1CE4E5B9)


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the observations of one or more shards."""

    n: int = 0
    within: float = 0.0  # sum of squared deviations from the mean of their cell
    square: float = 0.0  # sum of squared values
    lowest: float = math.inf  # smallest value
    highest: float = -math.inf  # largest value

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.n + other.n,
            self.within + other.within,
            self.square + other.square,
            min(self.lowest, other.lowest),
            max(self.highest, other.highest),
        )

    def observations(self, shape: Shape, shards: Shards) -> ShardedObservations:
        """Return the observations with these totals."""
        return ShardedObservations(
            shape=shape,
            shards=shards,
            n=self.n,
            within=self.within / self.n,
            mean_square=self.square / self.n,
            lowest=self.lowest,
            highest=self.highest,
        )


def bucket_of(coords: IndexArray, n_buckets: int) -> IndexArray:
    """Return the bucket of each row, which depends on its cell alone.

    Examples
    --------
    >>> bucket_of(np.array([[3, 4], [4, 3], [3, 4]]), 1000).tolist()
    [209, 502, 209]
    """
    hashed = np.zeros(coords.shape[0], dtype=np.uint64)
    for mode in range(coords.shape[1]):
        hashed ^= coords[:, mode].astype(np.uint64)
        hashed *= FACTOR
        hashed ^= hashed >> np.uint64(31)
        hashed += INCREMENT
    return (hashed % np.uint64(n_buckets)).astype(np.int64)


def collapse_shard(
    coords: IndexArray, values: FloatArray, shape: Shape, *, allow_negative: bool
) -> tuple[Shard, Totals]:
    """Collapse all observations of some cells into a shard; there may be none."""
    if not values.size:
        empty = Shard(
            shape=shape,
            rows=np.empty((0, len(shape)), dtype=position_type(shape)),
            means=np.empty(0),
            counts=np.empty(0, dtype=np.uint8),
        )
        return empty, Totals()
    observations = observe(coords, values, shape=shape, allow_negative=allow_negative)
    n, within, square = observations.n, observations.within, observations.mean_square
    totals = Totals(n, within * n, square * n, float(values.min()), float(values.max()))
    return make_shard(observations), totals


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
