"""From observations in any order to shards in which no cell is in two of them.

Every observation goes to the bucket that a hash of its cell says; a bucket is then collapsed
by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from intensor._arrays import FloatArray, IndexArray, Shape
from intensor.backends.sharded.shard import Shard, make_shard
from intensor.data.observations import observe
from intensor.data.readers.dataset import Batch

__all__ = ["Buckets", "Totals", "bucket_of", "collapse"]

STIR = np.uint64(0x9E3779B97F4A7C15)
MIX = np.uint64(0xBF58476D1CE4E5B9)


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the observations of a shard.

    Attributes
    ----------
    n
        How many there are.
    within
        Of squared deviations from the mean of their cell.
    square
        Of squared values.
    lowest, highest
        The extreme values.
    """

    n: int = 0
    within: float = 0.0
    square: float = 0.0
    lowest: float = math.inf
    highest: float = -math.inf

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.n + other.n,
            self.within + other.within,
            self.square + other.square,
            min(self.lowest, other.lowest),
            max(self.highest, other.highest),
        )


def bucket_of(coords: IndexArray, n_buckets: int) -> IndexArray:
    """Return the bucket of each row's cell, which depends on nothing else.

    Examples
    --------
    >>> bucket_of(np.array([[3, 4], [4, 3], [3, 4]]), 1000).tolist()
    [209, 502, 209]
    """
    hashed = np.zeros(coords.shape[0], dtype=np.uint64)
    for mode in range(coords.shape[1]):
        hashed ^= coords[:, mode].astype(np.uint64)
        hashed *= MIX
        hashed ^= hashed >> np.uint64(31)
        hashed += STIR
    return (hashed % np.uint64(n_buckets)).astype(np.int64)


def collapse(
    coords: IndexArray, values: FloatArray, shape: Shape, *, allow_negative: bool
) -> tuple[Shard, Totals]:
    """Make a shard of all observations of its cells."""
    observations = observe(coords, values, shape=shape, allow_negative=allow_negative)
    n = observations.n
    totals = Totals(
        n,
        observations.within * n,
        observations.mean_square * n,
        float(values.min()),
        float(values.max()),
    )
    return make_shard(observations), totals


class Buckets:
    """Observations on disk, in as many files as there will be shards.

    Parameters
    ----------
    folder
        Where to write; it must exist.
    n_modes, n_buckets
        Number of modes and of files.
    """

    def __init__(self, folder: Path, n_modes: int, n_buckets: int) -> None:
        self._paths = [folder / f"bucket-{place}" for place in range(n_buckets)]
        self._kind = np.dtype([("coords", np.uint32, (n_modes,)), ("value", np.float64)])
        self._highest: IndexArray = np.full(n_modes, -1, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._paths)

    def add(self, batches: Iterable[Batch]) -> None:
        """Spread observations over the buckets."""
        for batch in batches:
            if not batch.values.size:
                continue
            np.maximum(self._highest, batch.coords.max(axis=0), out=self._highest)
            owners = bucket_of(batch.coords, len(self))
            order = np.argsort(owners, kind="stable")
            rows = np.empty(order.size, dtype=self._kind)
            rows["coords"], rows["value"] = batch.coords[order], batch.values[order]
            ends = np.searchsorted(owners[order], np.arange(len(self) + 1))
            for place, path in enumerate(self._paths):
                part = rows[ends[place] : ends[place + 1]]
                if part.size:
                    with path.open("ab") as file:
                        part.tofile(file)

    @property
    def shape(self) -> Shape:
        """The smallest shape that holds all coordinates."""
        return tuple((self._highest + 1).tolist())

    def take(self, place: int) -> tuple[IndexArray, FloatArray] | None:
        """Return the observations of a bucket and delete its file; None when there are none."""
        path = self._paths[place]
        if not path.exists():
            return None
        rows = np.fromfile(path, dtype=self._kind)
        path.unlink()
        return rows["coords"].astype(np.int64), np.ascontiguousarray(rows["value"])
