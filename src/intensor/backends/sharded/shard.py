"""One shard of the cells, and the sums over it.

A shard remembers nothing between calls: everything that a sum depends on comes with the call. It
can therefore be loaded again at any time, also on another machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, cast

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape, WordArray
from intensor.backends.base import BoundSums, Cells, NormalEquations, bound_sums_in
from intensor.backends.packed_cells import count_planes
from intensor.data.observations import Observations
from intensor.kernels.components import fit_components, normal_equations
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
class WeightedBoxes:
    """A weighted sum of vertices."""

    words: WordArray  # (sum(shape), n_words) transposed bits of the vertices
    weights: FloatArray  # (64 n_words,)

    def fit(self, rows: AnyArray, *cells: FloatArray) -> None:
        """Evaluate the sum on some cells; ``cells`` are the last arguments of ``fit_cells``."""
        fit_cells(rows, self.words, self.words.shape[1], self.weights, *cells)

    def evaluate(self, cells: Cells) -> tuple[float, float]:
        """Move the gradient of cells to this sum."""
        return cells.evaluate(self.words, self.weights.size, self.weights)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WeightedComponents:
    """A weighted sum of graded components."""

    factors: FloatArray  # (sum(shape), k)
    weights: FloatArray  # (k,)

    def fit(self, rows: AnyArray, *cells: FloatArray) -> None:
        """Evaluate the sum on some cells; ``cells`` are the last arguments of ``fit_cells``."""
        fit_components(rows, self.factors, self.weights, *cells)

    def evaluate(self, cells: Cells) -> tuple[float, float]:
        """Move the gradient of cells to this sum."""
        return cells.evaluate_components(self.factors, self.weights)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class State:
    """The solver's current iterate, in units of the radius."""

    iterate: WeightedBoxes | WeightedComponents
    radius: float  # the unit of the weights and of the targets
    one_share: float  # share of a single observation

    def same(self, other: State) -> bool:
        """Say whether another state is equal to this one, bit for bit."""
        mine, its = self.iterate, other.iterate
        units = (self.radius, self.one_share) == (other.radius, other.one_share)
        return (
            units
            and type(mine) is type(its)
            and all(
                np.array_equal(getattr(mine, field.name), getattr(its, field.name))
                for field in fields(mine)
            )
        )


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

    def normal_equations(
        self,
        state: State,
        mode: int,
        low: int,
        high: int,
        *,
        workers: Workers,
    ) -> NormalEquations:
        """Return the normal equations of the indices low..high-1 of a mode at some components.

        Every block of ``cells_at_once`` cells is sorted by the index of the mode when it is summed
        over, so that no sorted copy of the shard is kept, and only the indices that occur in a
        block get matrices there. Besides the answer, every thread holds a block of cells and the
        matrices of its indices.
        """
        components = cast(WeightedComponents, state.iterate)
        factors, weights = components.factors, components.weights
        count, first = weights.size, int(mode_offsets(self.shape)[mode]) + low

        def add_up(part: slice) -> tuple[IndexArray, FloatArray, FloatArray, FloatArray]:
            rows, means, counts = self.rows[part], self.means[part], self.counts[part]
            indices = rows[:, mode].astype(np.int64) - first
            order = np.flatnonzero((indices >= 0) & (indices < high - low))
            order = order[np.argsort(rows[order, mode], kind="stable")]
            occurring, starts = np.unique(indices[order], return_index=True)
            size, table, offset = occurring.size, factors, first
            if size < high - low:  # their factors must be next to each other
                table, offset = np.concatenate((factors, factors[first + occurring])), len(factors)
            found = np.empty((size, count, count)), np.empty((size, count)), np.empty(size)
            normal_equations(
                np.take(rows, order, axis=0),
                means[order] / state.radius,
                counts[order] * state.one_share,
                np.append(starts, order.size),
                mode,
                table,
                weights,
                offset,
                *found,
            )
            return occurring, *found

        matrices, slopes = np.zeros((high - low, count, count)), np.zeros((high - low, count))
        error = 0.0
        for indices, its_matrices, its_slopes, errors in self._each_part(add_up, workers):
            matrices[indices] += its_matrices
            slopes[indices] += its_slopes
            error += float(errors.sum())
        return NormalEquations(matrices, slopes, error)

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
            state.iterate.fit(rows, targets, shares, costs, totals)
            return work(_Block(rows, targets, shares, costs, totals))

        return sum(self._each_part(do, workers), zero)

    def _each_part(self, work: Callable[[slice], Any], workers: Workers) -> Iterator[Any]:
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
