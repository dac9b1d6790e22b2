"""Cells in shards, and the observations they come from.

A hash of its cell decides the shard of an observation, so that every cell is in one shard.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape, WordArray
from intensor.backends.base import (
    BoundSums,
    CellsElsewhere,
    NormalEquations,
    descend_by_mode,
)
from intensor.backends.cpu import CpuCells
from intensor.backends.packed_cells import pack_cells, pack_sample
from intensor.backends.sharded.shard import (
    Shard,
    State,
    WeightedBoxes,
    WeightedComponents,
    make_shard,
)
from intensor.data.observations import Observations, observe
from intensor.errors import SettingError
from intensor.kernels.hashing import FIRST_FACTOR, INCREMENT
from intensor.problem.layout import position_type
from intensor.problem.vertex import mode_offsets
from intensor.runtime.threads import Workers

MAX_FETCHED_CELLS = 1 << 22
"""Most cells that are fetched into memory for an exact oracle."""


class Shards(Protocol):
    """All shards of a problem, which can be asked the same question."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of cells of each shard."""

    def ask(self, method: str, *arguments: Any, **options: Any) -> list[Any]:
        """Call a method of every shard and return the answers in order.

        The argument ``workers`` is added where the method runs.
        """


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShardedObservations:
    """Unique cells in shards, every cell in one of them; the rest is as in ``Observations``."""

    shape: Shape
    shards: Shards
    n: int
    within: float
    mean_square: float
    lowest: float  # smallest value
    highest: float  # largest value

    @property
    def n_cells(self) -> int:
        """Number of distinct cells observed, u."""
        return sum(self.shards.sizes)

    def host(self, *, max_cells: int = MAX_FETCHED_CELLS) -> Observations:
        """Fetch all cells into memory; raise when there are too many."""
        if self.n_cells > max_cells:
            raise SettingError(
                f"{self.n_cells} cells in shards are too many to be fetched for an exact oracle; "
                "use exact='off' or 'auto'"
            )
        rows, means, counts = _joined(self.shards.ask("fetch"))
        coords = rows.astype(np.int64) - mode_offsets(self.shape)[:-1]
        order = np.lexsort(coords.T[::-1])
        return Observations(
            shape=self.shape,
            coords=tuple(
                coords[order, mode].astype(np.min_scalar_type(length - 1))
                for mode, length in enumerate(self.shape)
            ),
            counts=counts[order],
            means=means[order],
            n=self.n,
            within=self.within,
            mean_square=self.mean_square,
        )


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
        hashed *= FIRST_FACTOR
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


class ShardedCells(CellsElsewhere):
    """Cells of which every shard sums over its own; see ``Cells`` for the methods."""

    def __init__(self, data: ShardedObservations, radius: float, workers: Workers) -> None:
        super().__init__(
            data.shape, data.n_cells, within=data.within, radius=radius, workers=workers
        )
        self._data = data
        self._ask = data.shards.ask
        none = np.zeros((sum(data.shape), 1), dtype=np.uint64)
        self._state = self._at(WeightedBoxes(words=none, weights=np.zeros(64)))

    def evaluate(self, words: WordArray, count: int, weights: FloatArray) -> tuple[float, float]:
        """Move the gradient to a weighted sum of vertices; return its error and product."""
        n_words = max(1, -(-count // 64))
        sent = words[:, :n_words].copy(), weights[: 64 * n_words].copy()
        return self._move_to(WeightedBoxes(words=sent[0], weights=sent[1]))

    def evaluate_components(self, factors: FloatArray, weights: FloatArray) -> tuple[float, float]:
        """Move the gradient to a weighted sum of components; return its error and product."""
        return self._move_to(_copied(factors, weights))

    def normal_equations(
        self, mode: int, factors: FloatArray, weights: FloatArray, low: int, high: int
    ) -> NormalEquations:
        """Return the normal equations of the indices low..high-1 of a mode."""
        state = self._at(_copied(factors, weights))
        asked = self._ask("normal_equations", state, mode, low, high)
        matrices, slopes, errors = zip(*asked, strict=True)
        return NormalEquations(
            sum(matrices[1:], matrices[0]), sum(slopes[1:], slopes[0]), float(sum(errors))
        )

    def shared(self, words: WordArray, first: int, last: int) -> FloatArray:
        """Return the (last - first, last) shares of the cells that two vertices have in common."""
        counts = self._ask("gram", words[:, : -(-last // 64)].copy(), first, last)
        return sum(counts, np.zeros((last - first, last))) * self._state.one_share

    def vertex_sums(self, words: WordArray, first: int, last: int, out_sums: FloatArray) -> None:
        """Write the sums of the gradient over vertices first..last-1 to the same positions."""
        if first < last:
            sent = words[:, : -(-last // 64)].copy()
            asked = self._ask("vertex_sums", self._state, sent, first, last)
            out_sums[first:last] = sum(asked, np.zeros(last - first))

    def _descend(
        self, lanes: WordArray, weights: FloatArray, count: int, sweeps: int, *, negative: bool
    ) -> FloatArray:
        options: dict[str, Any] = {"negative": negative}
        if weights.any():
            options |= {"origins": lanes.copy(), "weights": weights}

        def sum_shards(lanes: WordArray, live: np.uint64, mode: int) -> FloatArray:
            asked = self._ask("mode_sums", self._state, lanes, live, mode, **options)
            total: FloatArray = sum(asked[1:], asked[0])
            return total

        return descend_by_mode(sum_shards, self.offsets, lanes, count, sweeps)

    def bound_sums(self) -> BoundSums:
        """Return the sums that make up the free bound, at the current gradient."""
        return BoundSums(*map(sum, zip(*self._ask("bound_sums", self._state), strict=True)))

    def iterate(self) -> FloatArray:
        """Return the (u,) values of the evaluated sum, in the order of ``host``."""
        here = CpuCells(pack_cells(self._data.host(), self._radius), self._workers)
        self._state.iterate.evaluate(here)
        return here.iterate()

    def sample(self, size: int, rng: np.random.Generator) -> CpuCells:
        """Return about ``size`` random cells in memory, the same ones however shards are cut."""
        share = -math.expm1(-size / self.n_cells)  # share drawn when cells may be drawn twice
        threshold = np.uint64(min(int(share * 2.0**64), 2**64 - 1))
        drawn: list[Shard] = []
        while not sum(shard.n_cells for shard in drawn):
            drawn = self._ask("draw", rng.integers(0, 2**64, dtype=np.uint64), threshold)
        rows, means, counts = _joined(drawn)
        order = np.lexsort((*rows.T[::-1], -counts.astype(np.int64)))
        packed = pack_sample(
            shape=self.shape,
            rows=rows[order],
            targets=means[order] / self._radius,
            counts=counts[order],
            shares=None,
            constant=self.constant,
        )
        return CpuCells(packed, self._workers)

    def _move_to(self, iterate: WeightedBoxes | WeightedComponents) -> tuple[float, float]:
        """Move the gradient to an iterate; return its error and product."""
        self._state = self._at(iterate)
        error, product = sum(self._ask("evaluate", self._state), np.zeros(2)).tolist()
        return error, product

    def _at(self, iterate: WeightedBoxes | WeightedComponents) -> State:
        return State(iterate=iterate, radius=self._radius, one_share=1.0 / self._data.n)


def _copied(factors: FloatArray, weights: FloatArray) -> WeightedComponents:
    """Return components that do not change when those of the solver do."""
    return WeightedComponents(
        factors=np.array(factors, order="C"), weights=np.array(weights, order="C")
    )


def _joined(shards: list[Shard]) -> tuple[AnyArray, FloatArray, AnyArray]:
    """Return rows, means and counts of all cells, the counts in the smallest unsigned type."""
    counts = np.concatenate([shard.counts.astype(np.int64) for shard in shards])
    return (
        np.concatenate([shard.rows for shard in shards]),
        np.concatenate([shard.means for shard in shards]),
        counts.astype(np.min_scalar_type(int(counts.max()))),
    )
