"""Cells that are somewhere else, in shards; see ``Cells`` for what can be asked of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from intensor._arrays import FloatArray, IndexArray, Shape, WordArray
from intensor.backends.base import BoundSums
from intensor.backends.cpu import CpuCells
from intensor.backends.descent import descend_by_mode
from intensor.backends.packed_cells import pack_cells, pack_sample
from intensor.backends.sharded.shard import Exchange, Picked, State
from intensor.data.observations import Observations
from intensor.errors import SettingError
from intensor.problem.objective import scaled_constant
from intensor.problem.vertex import mode_offsets
from intensor.runtime.threads import Workers

__all__ = ["ShardedCells", "ShardedObservations", "Shards"]

FETCHED = 1 << 22
"""Cells up to which they are fetched for an exact oracle."""


class Shards(Protocol):
    """Where the shards are, and how to ask all of them."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Cells of each."""
        ...

    def ask(self, what: str, *arguments: Any, **words: Any) -> list[Any]:
        """Return what a method of ``Shard`` says, for each of them in order.

        Methods that sum over cells are given ``workers`` where they run.
        """
        ...

    def pick(self, places: list[IndexArray]) -> list[Picked]:
        """Return some cells of each."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShardedObservations:
    """Unique cells in shards, each cell in one of them.

    Attributes
    ----------
    shape
        Lengths of the modes.
    shards
        Where the cells are.
    n, within, mean_square
        As in ``Observations``.
    lowest, highest
        The extreme values.
    """

    shape: Shape
    shards: Shards
    n: int
    within: float
    mean_square: float
    lowest: float
    highest: float

    @property
    def n_cells(self) -> int:
        """Number of distinct cells observed, u."""
        return sum(self.shards.sizes)

    def host(self) -> Observations:
        """Fetch all cells, if there are few enough."""
        if self.n_cells > FETCHED:
            raise SettingError(
                f"{self.n_cells} cells in shards are too many to be fetched for an exact oracle; "
                "use exact='off' or 'auto'"
            )
        picked = self.shards.pick([np.arange(size) for size in self.shards.sizes])
        offsets = mode_offsets(self.shape)
        coords = np.concatenate([one.rows for one in picked]).astype(np.int64) - offsets[:-1]
        counts = np.concatenate([one.counts.astype(np.int64) for one in picked])
        order = np.lexsort(coords.T[::-1])
        return Observations(
            shape=self.shape,
            coords=tuple(
                coords[order, mode].astype(np.min_scalar_type(length - 1))
                for mode, length in enumerate(self.shape)
            ),
            counts=counts[order].astype(np.min_scalar_type(int(counts.max()))),
            means=np.concatenate([one.means for one in picked])[order],
            n=self.n,
            within=self.within,
            mean_square=self.mean_square,
        )


class ShardedCells:
    """Sums over all shards; what travels are vertices and vectors of length ``sum(shape)``.

    Parameters
    ----------
    data
        The observations.
    radius
        The unit of values.
    workers
        For samples, which are solved here.
    """

    def __init__(self, data: ShardedObservations, radius: float, workers: Workers) -> None:
        self._data = data
        self._radius = radius
        self._workers = workers
        self.offsets: IndexArray = mode_offsets(data.shape)
        self.constant = scaled_constant(data.within, radius**2)
        self._state = self._at(np.zeros((int(self.offsets[-1]), 1), dtype=np.uint64), np.zeros(64))

    @property
    def shape(self) -> Shape:
        """Lengths of the modes."""
        return self._data.shape

    @property
    def n_cells(self) -> int:
        """Number of cells, u."""
        return self._data.n_cells

    def evaluate(self, words: WordArray, count: int, weights: FloatArray) -> tuple[float, float]:
        """Move the gradient to a weighted sum of vertices; return its error and product."""
        n_words = max(1, -(-count // 64))
        self._state = self._at(words[:, :n_words].copy(), weights[: 64 * n_words].copy())
        totals = sum(self._data.shards.ask("evaluate", self._state), np.zeros(2))
        error, product = totals.tolist()
        return error, product

    def add(self, words: WordArray, first: int, last: int, out_gram: FloatArray) -> None:
        """Fill the Gram rows of vertices first..last-1."""
        table = words[:, : -(-last // 64)].copy()
        counts = sum(
            self._data.shards.ask("gram", table, first, last), np.zeros((last - first, last))
        )
        out_gram[first:last, :last] = counts * self._state.one_share
        out_gram[:last, first:last] = out_gram[first:last, :last].T

    def keep(self, places: IndexArray) -> None:
        """Vertices are not kept here."""

    def vertex_sums(self, words: WordArray, first: int, last: int, out_sums: FloatArray) -> None:
        """Write the sum of the gradient over vertices first..last-1 into these places."""
        if first < last:
            table = words[:, : -(-last // 64)].copy()
            asked = self._data.shards.ask("vertex_sums", self._state, table, first, last)
            out_sums[first:last] = sum(asked, np.zeros(last - first))

    def descend(
        self, lanes: WordArray, count: int, sweeps: int, *, negative: bool = False
    ) -> FloatArray:
        """Minimise over a vertex in all lanes, a mode at a time."""
        return self._descend(lanes, count, sweeps, None, negative=negative)

    def refine(
        self, lanes: WordArray, weights: FloatArray, sweeps: int, *, negative: bool = False
    ) -> FloatArray:
        """Exchange vertices in use for better ones, each as if the others stayed as they are."""
        padded = np.zeros(64)
        padded[: weights.size] = weights
        exchange = Exchange(lanes=lanes.copy(), weights=padded)
        return self._descend(lanes, weights.size, sweeps, exchange, negative=negative)

    def _descend(
        self,
        lanes: WordArray,
        count: int,
        sweeps: int,
        exchange: Exchange | None,
        *,
        negative: bool,
    ) -> FloatArray:
        def sum_shards(lanes: WordArray, live: np.uint64, mode: int) -> FloatArray:
            asked = self._data.shards.ask(
                "mode_sums", self._state, lanes, live, mode, exchange, negative=negative
            )
            total: FloatArray = sum(asked[1:], asked[0])
            return total

        return descend_by_mode(sum_shards, self.offsets, lanes, count, sweeps)

    def bound_sums(self) -> BoundSums:
        """Return what the free bound is made of, at the gradient."""
        asked = self._data.shards.ask("bound_sums", self._state)
        return BoundSums(
            cheapest=sum(one.cheapest for one in asked),
            product=sum(one.product for one in asked),
            size=sum(one.size for one in asked),
            square=sum(one.square for one in asked),
        )

    def rescale(self, factor: float) -> None:
        """Let the radius be ``factor`` times what it was; ``evaluate`` must follow."""
        self._radius *= factor
        self.constant = scaled_constant(self.constant, factor**2)

    def iterate(self) -> FloatArray:
        """Return the (u,) values of the evaluated sum, in the order of ``host``."""
        here = CpuCells(pack_cells(self._data.host(), self._radius), self._workers)
        here.evaluate(self._state.words, self._state.weights.size, self._state.weights)
        return here.iterate()

    def sample(self, size: int, rng: np.random.Generator) -> CpuCells:
        """Return about ``size`` random cells as a problem of its own, in memory.

        Which ones does not depend on how the cells are spread over shards.
        """
        share = -math.expm1(-size / self.n_cells)  # of the cells, when some are drawn twice
        limit = np.uint64(min(int(share * 2.0**64), 2**64 - 1))
        picked: list[Picked] = []
        while not sum(one.means.size for one in picked):
            seed = rng.integers(0, 2**64, dtype=np.uint64)
            picked = self._data.shards.ask("draw", seed, limit)
        counts = np.concatenate([one.counts.astype(np.int64) for one in picked])
        rows = np.concatenate([one.rows for one in picked])
        order = np.lexsort((*rows.T[::-1], -counts))
        packed = pack_sample(
            shape=self.shape,
            rows=rows[order],
            targets=np.concatenate([one.means for one in picked])[order] / self._radius,
            counts=counts[order].astype(np.min_scalar_type(int(counts.max()))),
            shares=None,
            constant=self.constant,
        )
        return CpuCells(packed, self._workers)

    def _at(self, words: WordArray, weights: FloatArray) -> State:
        one_share = 1.0 / self._data.n
        return State(words=words, weights=weights, radius=self._radius, one_share=one_share)
