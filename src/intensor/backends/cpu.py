"""Cells in memory, summed over by CPU threads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from intensor._arrays import FloatArray, IndexArray, Shape, WordArray
from intensor.backends.base import BoundSums
from intensor.backends.descent import descend_by_mode
from intensor.backends.packed_cells import PackedCells
from intensor.kernels.lanes import (
    descend_lanes,
    lane_products,
    lane_sums,
    lane_sums_around,
    lanes_between,
)
from intensor.kernels.packed import (
    fit_cells,
    gram_rows,
    gram_rows_weighted,
    member_sums,
    pack_members,
)
from intensor.runtime.threads import Workers, blocks_of, evenly

__all__ = ["CpuCells"]

CAPACITY = 64
"""Vertices that there is room for at first."""
MOST_SUMS = 1 << 19
"""Indices of the longest mode, over all blocks, that sums are kept for: 256 MiB of them."""


class CpuCells:
    """The cells of a problem; see ``Cells`` for what can be asked of them.

    Attributes
    ----------
    packed
        The cells themselves.
    costs
        (u,) gradient on the cells.
    """

    def __init__(self, packed: PackedCells, workers: Workers) -> None:
        self.packed = packed
        self.costs: FloatArray = np.empty(packed.n_cells)
        self._workers = workers
        self._blocks = blocks_of(packed.n_cells)
        self._totals = np.zeros((len(self._blocks), 2))
        self._members: WordArray = np.zeros((CAPACITY, packed.n_words), dtype=np.uint64)
        self._lane_blocks = blocks_of(packed.n_cells, share=4)
        if len(self._lane_blocks) * max(packed.shape) > MOST_SUMS:
            self._lane_blocks = [(0, packed.n_cells)]
        self._sums: FloatArray = np.empty((len(self._lane_blocks), max(packed.shape), 64))

    @property
    def shape(self) -> Shape:
        """Lengths of the modes."""
        return self.packed.shape

    @property
    def offsets(self) -> IndexArray:
        """(p + 1,) where each mode begins in flags and lanes."""
        return self.packed.offsets

    @property
    def n_cells(self) -> int:
        """Number of cells, u."""
        return self.packed.n_cells

    @property
    def constant(self) -> float:
        """The part of the objective that no model changes."""
        return self.packed.constant

    def evaluate(self, words: WordArray, count: int, weights: FloatArray) -> tuple[float, float]:
        """Move the gradient to a weighted sum of vertices; return its error and product."""
        packed = self.packed

        def fit(block: int) -> None:
            fit_cells(
                packed.rows,
                words,
                -(-count // 64),
                weights,
                packed.targets,
                packed.shares,
                *self._blocks[block],
                self.costs,
                self._totals[block],
            )

        self._workers.run(fit, len(self._blocks))
        error, product = self._totals.sum(axis=0).tolist()
        return error, product

    def add(self, words: WordArray, first: int, last: int, out_gram: FloatArray) -> None:
        """Take in up to 64 vertices, those of numbers first..last-1, and fill their Gram rows."""
        packed = self.packed
        lanes = lanes_between(words, first, last)
        if last > len(self._members):
            self._members = _enlarged(self._members, len(out_gram))
        members = self._members[first:last]

        def pack(block: int) -> None:
            low, high = self._blocks[block]
            pack_members(packed.rows, lanes, last - first, low // 64, -(-high // 64), members)

        self._workers.run(pack, len(self._blocks))
        pieces = evenly(first, last, len(self._blocks))

        def multiply(piece: int) -> None:
            low, high = pieces[piece], pieces[piece + 1]
            if packed.weighted:
                gram_rows_weighted(self._members, packed.shares, low, high, out_gram)
            else:
                gram_rows(self._members, packed.extra, low, high, packed.one_share, out_gram)

        self._workers.run(multiply, len(self._blocks))

    def keep(self, places: IndexArray) -> None:
        """Let go of all vertices but these; they are numbered anew."""
        self._members[: places.size] = self._members[places]

    def vertex_sums(self, words: WordArray, first: int, last: int, out_sums: FloatArray) -> None:
        """Write the sum of the gradient over vertices first..last-1 into these places."""
        pieces = evenly(first, last, len(self._blocks))

        def sum_up(piece: int) -> None:
            member_sums(self._members, self.costs, pieces[piece], pieces[piece + 1], out_sums)

        self._workers.run(sum_up, len(self._blocks))

    def descend(
        self, lanes: WordArray, count: int, sweeps: int, *, negative: bool = False
    ) -> FloatArray:
        """Minimise over a vertex in all lanes: in one go on few cells, block by block on many."""
        packed = self.packed
        costs = -self.costs if negative else self.costs
        if len(self._lane_blocks) == 1:
            values = np.empty(64)
            descend_lanes(
                packed.rows, packed.offsets, costs, count, sweeps, self._sums[0], lanes, values
            )
            found: FloatArray = values[:count]
            return found

        def sum_block(
            lanes: WordArray, live: np.uint64, mode: int, low: int, block: int, out: FloatArray
        ) -> None:
            lane_sums(packed.rows, costs, lanes, live, mode, low, *self._lane_blocks[block], out)

        return self._descend_in_blocks(sum_block, lanes, count, sweeps)

    def refine(
        self, lanes: WordArray, weights: FloatArray, sweeps: int, *, negative: bool = False
    ) -> FloatArray:
        """Exchange vertices in use for better ones, each as if the others stayed as they are."""
        packed, count = self.packed, weights.size
        costs = -self.costs if negative else self.costs
        every = np.uint64((1 << count) - 1)
        started = lanes.copy()
        origins = np.empty(packed.n_cells, dtype=np.uint64)

        def find(block: int) -> None:
            part = slice(*self._blocks[block])
            rows = packed.rows[part]
            lane_products(rows, started, every, 0, rows.shape[1], origins[part])

        self._workers.run(find, len(self._blocks))
        padded = np.zeros(64)
        padded[:count] = weights

        def sum_block(
            lanes: WordArray, live: np.uint64, mode: int, low: int, block: int, out: FloatArray
        ) -> None:
            lane_sums_around(
                packed.rows,
                costs,
                packed.shares,
                origins,
                padded,
                lanes,
                live,
                mode,
                low,
                *self._lane_blocks[block],
                out,
            )

        return self._descend_in_blocks(sum_block, lanes, count, sweeps)

    def _descend_in_blocks(
        self, sum_block: Callable[..., None], lanes: WordArray, count: int, sweeps: int
    ) -> FloatArray:
        """Descend with sums that each block of cells contributes to."""

        def sum_blocks(lanes: WordArray, live: np.uint64, mode: int) -> FloatArray:
            low, high = self.packed.offsets[mode : mode + 2].tolist()
            sums = self._sums[:, : high - low]

            def add_up(block: int) -> None:
                sum_block(lanes, live, mode, low, block, sums[block])

            self._workers.run(add_up, len(self._lane_blocks))
            total: FloatArray = sums.sum(axis=0)
            return total

        return descend_by_mode(sum_blocks, self.packed.offsets, lanes, count, sweeps)

    def bound_sums(self) -> BoundSums:
        """Return what the free bound is made of, at the gradient."""
        packed, costs = self.packed, self.costs
        at_targets = costs * packed.targets
        return BoundSums(
            cheapest=float(np.minimum(costs, 0.0).sum()),
            product=float(at_targets.sum()),
            size=float(np.abs(at_targets).sum()),
            square=float((costs * (costs / packed.shares)).sum()),
        )

    def rescale(self, factor: float) -> None:
        """Let the radius be ``factor`` times what it was; ``evaluate`` must follow."""
        self.packed = self.packed.rescaled(factor)

    def sample(self, size: int, rng: np.random.Generator) -> CpuCells:
        """Return about ``size`` random cells as a problem of its own."""
        return CpuCells(self.packed.sample(size, rng), self._workers)

    def iterate(self) -> FloatArray:
        """Return the (u,) values of the evaluated sum, in the order of the observations."""
        packed = self.packed
        x = np.empty(packed.n_cells)
        x[packed.order] = self.costs / (2.0 * packed.shares) + packed.targets
        return x


def _enlarged(members: WordArray, capacity: int) -> WordArray:
    larger = np.zeros((capacity, members.shape[1]), dtype=np.uint64)
    larger[: len(members)] = members
    return larger
