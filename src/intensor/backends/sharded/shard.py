"""One shard of the cells, and the sums over it.

A shard remembers nothing between calls: everything that a sum depends on comes with the call. It
can therefore be loaded again at any time, also on another machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape, WordArray
from intensor.backends.base import BoundSums, bound_sums_in
from intensor.backends.packed_cells import count_planes
from intensor.data.observations import Observations
from intensor.kernels.gram import gram_rows, pack_members
from intensor.kernels.hashing import draw_cells
from intensor.kernels.lanes import lane_products, lane_sums, lane_sums_around
from intensor.kernels.sums import fit_cells
from intensor.problem.layout import positions
from intensor.problem.vertex import lanes_between, mode_offsets
from intensor.runtime.threads import Workers

CELLS_AT_ONCE = 1 << 16
"""Number of cells of a shard that are summed over at a time; a multiple of 64."""
EVERY_LANE = ~np.uint64(0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class State:
    """The solver's current iterate: a weighted sum of vertices, in units of the radius."""

    words: WordArray  # (sum(shape), n_words) transposed bits of the vertices
    weights: FloatArray  # (64 n_words,)
    radius: float  # the unit of the weights and of the targets
    one_share: float  # share of a single observation


class _Block(NamedTuple):
    """Some cells of a shard with the gradient on them."""

    rows: AnyArray
    targets: FloatArray
    shares: FloatArray
    costs: FloatArray
    totals: FloatArray  # the sums of share (x - target)^2 and of gradient times x


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shard:
    """Cells in order of falling counts."""

    shape: Shape
    rows: AnyArray  # (u, p) positions of each cell's indices in flags and lanes
    means: FloatArray  # (u,) mean of the observed values
    counts: AnyArray  # (u,) how often each cell was observed
    cells_at_once: int = CELLS_AT_ONCE

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return int(self.means.size)

    def __sizeof__(self) -> int:
        """Return the bytes of the arrays: schedulers leave large objects where they are."""
        return sum(int(array.nbytes) for array in (self.rows, self.means, self.counts))

    def evaluate(self, state: State, *, workers: Workers) -> FloatArray:
        """Return the sums of share (x - target)^2 and of gradient times x."""
        return self._sum(state, lambda block: block.totals, np.zeros(2), workers)

    def mode_sums(
        self,
        state: State,
        lanes: WordArray,
        live: np.uint64,
        mode: int,
        *,
        workers: Workers,
        origins: WordArray | None = None,
        weights: FloatArray | None = None,
        negative: bool = False,
    ) -> FloatArray:
        """Return the (r, 64) cost of each index of a mode, lane by lane.

        ``origins`` are lanes of vertices in use that are to be exchanged, with their (64,) weights.
        """
        low, high = mode_offsets(self.shape)[mode : mode + 2].tolist()

        def add_up(block: _Block) -> FloatArray:
            rows, costs = block.rows, -block.costs if negative else block.costs
            sums = np.empty((high - low, 64))
            if origins is None or weights is None:
                lane_sums(rows, costs, lanes, live, mode, low, sums)
                return sums
            inside = np.empty(costs.size, dtype=np.uint64)
            lane_products(rows, origins, EVERY_LANE, 0, rows.shape[1], inside)
            exchanged = (block.shares, inside, weights)
            lane_sums_around(rows, costs, *exchanged, lanes, live, mode, low, sums)
            return sums

        return self._sum(state, add_up, np.zeros((high - low, 64)), workers)

    def gram(self, words: WordArray, first: int, last: int, *, workers: Workers) -> FloatArray:
        """Return the (last - first, last) numbers of observations that vertices have in common."""

        def count(part: slice) -> FloatArray:
            rows = self.rows[part]
            n_words = -(-rows.shape[0] // 64)
            members = np.zeros((last, n_words), dtype=np.uint64)
            for start in range(0, last, 64):
                stop = min(start + 64, last)
                lanes = lanes_between(words, start, stop)
                pack_members(rows, lanes, stop - start, 0, n_words, members[start:stop])
            out = np.zeros((last, last))
            gram_rows(members, count_planes(self.counts[part]), first, last, 1.0, out)
            return out[first:]

        return sum(self._each_part(count, workers), np.zeros((last - first, last)))

    def vertex_sums(
        self, state: State, words: WordArray, first: int, last: int, *, workers: Workers
    ) -> FloatArray:
        """Return the (last - first,) sums of the gradient over vertices."""
        bits = np.arange(64, dtype=np.uint64)

        def add_up(block: _Block) -> FloatArray:
            sums = np.zeros((self.shape[0], 64))
            found = []
            for start in range(first, last, 64):
                lanes = lanes_between(words, start, min(start + 64, last))
                lane_sums(block.rows, block.costs, lanes, EVERY_LANE, 0, 0, sums)
                on = (lanes[: len(sums), np.newaxis] >> bits) & np.uint64(1)
                found.append((sums * on).sum(axis=0))
            return np.concatenate(found)[: last - first]

        return self._sum(state, add_up, np.zeros(last - first), workers)

    def bound_sums(self, state: State, *, workers: Workers) -> BoundSums:
        """Return the sums that make up the free bound."""

        def add_up(block: _Block) -> FloatArray:
            return np.array(bound_sums_in(block.costs, block.targets, block.shares))

        return BoundSums(*self._sum(state, add_up, np.zeros(4), workers).tolist())

    def draw(self, seed: np.uint64, threshold: np.uint64, *, workers: Workers) -> Shard:
        """Return random cells; whether a cell is drawn depends on it and the seed alone.

        The threshold is the share of cells to draw, times 2^64.
        """

        def look(part: slice) -> IndexArray:
            rows = self.rows[part]
            cells = np.empty(len(rows), dtype=np.int64)
            count = draw_cells(rows, seed, threshold, cells)
            return cells[:count] + int(part.start)

        chosen = [np.empty(0, dtype=np.int64), *self._each_part(look, workers)]
        return self._some(np.concatenate(chosen))

    def fetch(self, *, workers: Workers) -> Shard:
        """Return all cells in memory."""
        return self._some(slice(0, self.n_cells))

    def _some(self, chosen: slice | IndexArray) -> Shard:
        return replace(
            self, rows=self.rows[chosen], means=self.means[chosen], counts=self.counts[chosen]
        )

    def _sum(
        self, state: State, work: Callable[[_Block], FloatArray], zero: FloatArray, workers: Workers
    ) -> FloatArray:
        """Add up the results of some work on every block, in the order of the blocks."""

        def do(part: slice) -> FloatArray:
            rows = self.rows[part]
            targets, shares = self.means[part] / state.radius, self.counts[part] * state.one_share
            costs, totals = np.empty(rows.shape[0]), np.empty(2)
            n_words = state.words.shape[1]
            fit_cells(rows, state.words, n_words, state.weights, targets, shares, costs, totals)
            return work(_Block(rows, targets, shares, costs, totals))

        return sum(self._each_part(do, workers), zero)

    def _each_part(self, work: Callable[[slice], AnyArray], workers: Workers) -> Iterator[AnyArray]:
        """Yield the result of some work on every part, one part per thread at a time."""
        starts = range(0, self.n_cells, self.cells_at_once)
        parts = [slice(start, min(start + self.cells_at_once, self.n_cells)) for start in starts]
        for first in range(0, len(parts), workers.threads):
            some = parts[first : first + workers.threads]
            results: list[Any] = [None] * len(some)

            def do(piece: int, some: list[slice] = some, results: list[Any] = results) -> None:
                results[piece] = work(some[piece])

            workers.run(do, len(some))
            yield from results


def make_shard(observations: Observations, *, cells_at_once: int = CELLS_AT_ONCE) -> Shard:
    """Return the cells of observations as a shard."""
    order = np.argsort(observations.counts.max() - observations.counts, kind="stable")
    return Shard(
        shape=observations.shape,
        rows=positions(observations.coords, observations.shape, order),
        means=observations.means[order],
        counts=observations.counts[order],
        cells_at_once=cells_at_once,
    )
