"""One shard of the cells, and the sums over it.

Nothing is remembered from one call to the next: what a sum depends on comes with the call. So a
shard may be loaded anew at any time, on another machine too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape, WordArray
from intensor.backends.base import BoundSums
from intensor.backends.packed_cells import count_planes
from intensor.backends.sharded.draw import drawn_cells
from intensor.data.observations import Observations
from intensor.kernels.lanes import lane_products, lane_sums, lane_sums_around, lanes_between
from intensor.kernels.packed import fit_cells, gram_rows, pack_members
from intensor.problem.layout import positions
from intensor.problem.vertex import mode_offsets
from intensor.runtime.threads import Workers

__all__ = ["Exchange", "Picked", "Shard", "State", "make_shard"]

Work = Callable[[slice, AnyArray, FloatArray, FloatArray], FloatArray]
BLOCK = 1 << 16
"""Cells that are summed over at a time; a multiple of 64."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class State:
    """Where the solver stands: a weighted sum of vertices, in units of the radius.

    Attributes
    ----------
    words
        (sum(shape), n_words) transposed bits of the vertices.
    weights
        (64 n_words,) their weights.
    radius
        The unit.
    one_share
        What a single observation counts.
    """

    words: WordArray
    weights: FloatArray
    radius: float
    one_share: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Exchange:
    """Vertices in use that others shall take the place of, one per lane, and their weights."""

    lanes: WordArray
    weights: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Picked:
    """Some cells of a shard."""

    rows: AnyArray
    means: FloatArray
    counts: AnyArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shard:
    """Cells with those observed most often first.

    Attributes
    ----------
    shape
        Lengths of the modes.
    rows
        (u, p) positions of each cell's indices in flags and lanes.
    means, counts
        (u,) mean of the observed values, and how often each cell was observed.
    """

    shape: Shape
    rows: AnyArray
    means: FloatArray
    counts: AnyArray

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return int(self.means.size)

    def evaluate(self, state: State, workers: Workers) -> FloatArray:
        """Return the sums of share (x - target)^2 and of gradient times x."""

        def take(part: slice, rows: AnyArray, costs: FloatArray, totals: FloatArray) -> FloatArray:
            return totals

        return _added(self._each(state, workers, take), np.zeros(2))

    def mode_sums(
        self,
        state: State,
        lanes: WordArray,
        live: np.uint64,
        mode: int,
        exchange: Exchange | None,
        workers: Workers,
        *,
        negative: bool = False,
    ) -> FloatArray:
        """Return the (r, 64) cost of each index of a mode, lane by lane."""
        low, high = mode_offsets(self.shape)[mode : mode + 2].tolist()
        found = np.zeros((high - low, 64))

        def add_up(
            part: slice, rows: AnyArray, costs: FloatArray, totals: FloatArray
        ) -> FloatArray:
            out = np.empty_like(found)
            if negative:
                costs = -costs
            if exchange is None:
                lane_sums(rows, costs, lanes, live, mode, low, 0, costs.size, out)
                return out
            origins = np.empty(costs.size, dtype=np.uint64)
            lane_products(rows, exchange.lanes, ~np.uint64(0), 0, rows.shape[1], origins)
            shares = self.counts[part] * state.one_share
            weights = exchange.weights
            lane_sums_around(
                rows, costs, shares, origins, weights, lanes, live, mode, low, 0, costs.size, out
            )
            return out

        return _added(self._each(state, workers, add_up), found)

    def gram(self, words: WordArray, first: int, last: int, workers: Workers) -> FloatArray:
        """Return the (last - first, last) numbers of observations that vertices have in common."""
        found = np.zeros((last - first, last))

        def count(part: slice) -> FloatArray:
            rows = np.ascontiguousarray(self.rows[part])
            n_words = -(-rows.shape[0] // 64)
            members = np.zeros((last, n_words), dtype=np.uint64)
            for start in range(0, last, 64):
                stop = min(start + 64, last)
                lanes = lanes_between(words, start, stop)
                pack_members(rows, lanes, stop - start, 0, n_words, members[start:stop])
            out = np.zeros((last, last))
            gram_rows(members, count_planes(self.counts[part]), first, last, 1.0, out)
            return out[first:]

        return _added(_in_order(count, list(self._parts()), workers), found)

    def vertex_sums(
        self, state: State, words: WordArray, first: int, last: int, workers: Workers
    ) -> FloatArray:
        """Return the (last - first,) sums of the gradient over vertices."""
        found = np.zeros(last - first)

        def add_up(
            part: slice, rows: AnyArray, costs: FloatArray, totals: FloatArray
        ) -> FloatArray:
            out = np.zeros((int(mode_offsets(self.shape)[1]), 64))
            every = ~np.uint64(0)
            sums = []
            for start in range(first, last, 64):
                stop = min(start + 64, last)
                lanes = lanes_between(words, start, stop)
                lane_sums(rows, costs, lanes, every, 0, 0, 0, costs.size, out)
                on = np.arange(64, dtype=np.uint64)
                chosen = (lanes[: len(out), np.newaxis] >> on) & np.uint64(1)
                sums.append((out * chosen).sum(axis=0)[: stop - start])
            total: FloatArray = np.concatenate(sums)
            return total

        return _added(self._each(state, workers, add_up), found)

    def bound_sums(self, state: State, workers: Workers) -> BoundSums:
        """Return what the free bound is made of."""

        def add_up(
            part: slice, rows: AnyArray, costs: FloatArray, totals: FloatArray
        ) -> FloatArray:
            at_targets = costs * (self.means[part] / state.radius)
            shares = self.counts[part] * state.one_share
            return np.array(
                [
                    np.minimum(costs, 0.0).sum(),
                    at_targets.sum(),
                    np.abs(at_targets).sum(),
                    (costs * (costs / shares)).sum(),
                ]
            )

        return BoundSums(*_added(self._each(state, workers, add_up), np.zeros(4)).tolist())

    def pick(self, places: IndexArray) -> Picked:
        """Return some cells."""
        return Picked(rows=self.rows[places], means=self.means[places], counts=self.counts[places])

    def draw(self, seed: np.uint64, limit: np.uint64, workers: Workers) -> Picked:
        """Return random cells, which ones depends on seed and cell alone."""

        def look(part: slice) -> IndexArray:
            places = drawn_cells(np.ascontiguousarray(self.rows[part]), seed, limit)
            found: IndexArray = part.start + places
            return found

        found = list(_in_order(look, list(self._parts()), workers))
        return self.pick(np.concatenate(found) if found else np.empty(0, dtype=np.int64))

    def _parts(self) -> Iterator[slice]:
        for start in range(0, self.n_cells, BLOCK):
            yield slice(start, min(start + BLOCK, self.n_cells))

    def _each(self, state: State, workers: Workers, work: Work) -> Iterator[FloatArray]:
        """Yield what some work makes of every block: its rows, its gradient, its totals."""

        def do(part: slice) -> FloatArray:
            rows = np.ascontiguousarray(self.rows[part])
            costs, totals = np.empty(rows.shape[0]), np.empty(2)
            fit_cells(
                rows,
                state.words,
                state.words.shape[1],
                state.weights,
                self.means[part] / state.radius,
                self.counts[part] * state.one_share,
                0,
                rows.shape[0],
                costs,
                totals,
            )
            return work(part, rows, costs, totals)

        return _in_order(do, list(self._parts()), workers)


def make_shard(observations: Observations) -> Shard:
    """Return the cells of observations as a shard."""
    order = np.argsort(observations.counts.max() - observations.counts, kind="stable")
    columns = tuple(column[order] for column in observations.coords)
    return Shard(
        shape=observations.shape,
        rows=positions(columns, observations.shape),
        means=observations.means[order],
        counts=observations.counts[order],
    )


def _added(parts: Iterator[FloatArray], out: FloatArray) -> FloatArray:
    """Add all parts to an array."""
    for part in parts:
        out += part
    return out


def _in_order(
    work: Callable[[slice], AnyArray], parts: list[slice], workers: Workers
) -> Iterator[AnyArray]:
    """Yield what work makes of every part, as many at a time as there are threads."""
    for start in range(0, len(parts), workers.threads):
        some = parts[start : start + workers.threads]
        made: dict[int, AnyArray] = {}

        def do(place: int, some: list[slice] = some, made: dict[int, AnyArray] = made) -> None:
            made[place] = work(some[place])

        workers.run(do, len(some))
        yield from (made[place] for place in range(len(some)))
