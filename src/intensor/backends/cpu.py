"""Cells in memory, summed over by CPU threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from intensor._arrays import FloatArray, IndexArray, WordArray
from intensor.backends.base import (
    BoundSums,
    NormalEquations,
    bound_sums_in,
    descend_by_mode,
)
from intensor.backends.packed_cells import IndexedCells, PackedCells
from intensor.kernels.components import fit_components, normal_equations
from intensor.kernels.gram import gram_rows, gram_rows_weighted, pack_members
from intensor.kernels.lanes import descend_lanes, lane_products, lane_sums, lane_sums_around
from intensor.kernels.sums import fit_cells, member_sums
from intensor.problem.vertex import lanes_between
from intensor.runtime.threads import Workers, blocks_of, evenly

INITIAL_CAPACITY = 64
"""Number of vertices for which memory is allocated at first."""
LANE_BLOCK_RATIO = 4
"""Ratio of the block size of descents to that of other sums: descents do less per cell."""
MAX_SUMMED_INDICES = 1 << 19
"""Largest product of longest mode and blocks for which descents use blocks: 256 MiB of sums."""


class CpuCells:
    """The cells of a problem in memory; see ``Cells`` for the methods.

    ``costs`` (u,) is the gradient on the cells. Blocks of at least ``block_cells`` cells are summed
    over on different threads.
    """

    def __init__(
        self, packed: PackedCells, workers: Workers, *, block_cells: int | None = None
    ) -> None:
        self.shape, self.offsets, self.n_cells = packed.shape, packed.offsets, packed.n_cells
        self.packed = packed
        self.costs: FloatArray = np.empty(packed.n_cells)
        self._workers = workers
        self._block_cells = block_cells
        blocks = blocks_of(packed.n_cells, min_cells=block_cells)
        self._blocks = [slice(*block) for block in blocks]
        self._totals = np.zeros((len(blocks), 2))
        self._by_index: dict[int, IndexedCells] = {}
        self._members: WordArray = np.zeros((INITIAL_CAPACITY, packed.n_words), dtype=np.uint64)
        lane_blocks = blocks_of(packed.n_cells, LANE_BLOCK_RATIO, min_cells=block_cells)
        if len(lane_blocks) * max(packed.shape) > MAX_SUMMED_INDICES:
            lane_blocks = [(0, packed.n_cells)]
        self._lane_blocks = [slice(*block) for block in lane_blocks]
        self._sums: FloatArray = np.empty((len(lane_blocks), max(packed.shape), 64))

    @property
    def constant(self) -> float:
        """The part of the objective that no model can change."""
        return self.packed.constant

    def evaluate(self, words: WordArray, count: int, weights: FloatArray) -> tuple[float, float]:
        """Move the gradient to a weighted sum of vertices; return its error and product."""
        packed, n_words = self.packed, -(-count // 64)

        def fit(block: int) -> None:
            part = self._blocks[block]
            rows, targets, shares = packed.rows[part], packed.targets[part], packed.shares[part]
            costs, totals = self.costs[part], self._totals[block]
            fit_cells(rows, words, n_words, weights, targets, shares, costs, totals)

        self._workers.run(fit, len(self._blocks))
        error, product = self._totals.sum(axis=0).tolist()
        return error, product

    def evaluate_components(self, factors: FloatArray, weights: FloatArray) -> tuple[float, float]:
        """Move the gradient to a weighted sum of components; return its error and product."""
        packed = self.packed

        def fit(block: int) -> None:
            part = self._blocks[block]
            rows, targets, shares = packed.rows[part], packed.targets[part], packed.shares[part]
            costs, totals = self.costs[part], self._totals[block]
            fit_components(rows, factors, weights, targets, shares, costs, totals)

        self._workers.run(fit, len(self._blocks))
        error, product = self._totals.sum(axis=0).tolist()
        return error, product

    def normal_equations(
        self, mode: int, factors: FloatArray, weights: FloatArray, low: int, high: int
    ) -> NormalEquations:
        """Return the normal equations of the indices low..high-1 of a mode."""
        cells = self._cells_by_index(mode)
        count, size = weights.size, high - low
        matrices, slopes = np.empty((size, count, count)), np.empty((size, count))
        errors = np.empty(size)
        pieces = cells.pieces(low, high, len(self._blocks))

        def sum_up(piece: int) -> None:
            first, last = pieces[piece], pieces[piece + 1]
            part = slice(first - low, last - low)
            normal_equations(
                cells.rows,
                cells.targets,
                cells.shares,
                cells.starts[first : last + 1],
                mode,
                factors,
                weights,
                int(self.offsets[mode]) + first,
                matrices[part],
                slopes[part],
                errors[part],
            )

        self._workers.run(sum_up, len(pieces) - 1)
        return NormalEquations(matrices, slopes, float(errors.sum()))

    def _cells_by_index(self, mode: int) -> IndexedCells:
        """Return the cells in order of their index of a mode; the first call sorts them."""
        if mode not in self._by_index:
            self._by_index[mode] = self.packed.by_index(mode)
        return self._by_index[mode]

    def add(self, words: WordArray, first: int, last: int, out_gram: FloatArray) -> None:
        """Add the vertices first..last-1, at most 64 of them, and fill their Gram rows."""
        packed = self.packed
        lanes = lanes_between(words, first, last)
        if last > len(self._members):
            larger = np.zeros((len(out_gram), packed.n_words), dtype=np.uint64)
            larger[: len(self._members)] = self._members
            self._members = larger
        members = self._members[first:last]

        def pack(block: int) -> None:
            part = self._blocks[block]
            first_word, last_word = part.start // 64, -(-part.stop // 64)
            pack_members(packed.rows, lanes, last - first, first_word, last_word, members)

        self._workers.run(pack, len(self._blocks))
        pieces = evenly(first, last, len(self._blocks))

        def multiply(piece: int) -> None:
            low, high = pieces[piece], pieces[piece + 1]
            if packed.weighted:
                gram_rows_weighted(self._members, packed.shares, low, high, out_gram)
            else:
                gram_rows(self._members, packed.extra, low, high, packed.one_share, out_gram)

        self._workers.run(multiply, len(self._blocks))

    def keep(self, kept: IndexArray) -> None:
        """Forget all vertices but those with these numbers, which are renumbered in order."""
        self._members[: kept.size] = self._members[kept]

    def vertex_sums(self, words: WordArray, first: int, last: int, out_sums: FloatArray) -> None:
        """Write the sums of the gradient over vertices first..last-1 to the same positions."""
        pieces = evenly(first, last, len(self._blocks))

        def sum_up(piece: int) -> None:
            member_sums(self._members, self.costs, pieces[piece], pieces[piece + 1], out_sums)

        self._workers.run(sum_up, len(self._blocks))

    def descend(
        self, lanes: WordArray, count: int, sweeps: int, *, negative: bool = False
    ) -> FloatArray:
        """Descend in all lanes: in one call on few cells, block by block on many."""
        packed = self.packed
        costs = -self.costs if negative else self.costs
        if len(self._lane_blocks) == 1:
            values = np.empty(64)
            descend_lanes(
                packed.rows, packed.offsets, costs, count, sweeps, self._sums[0], lanes, values
            )
            return values[:count]

        def sum_block(part: slice, *where: Any) -> None:
            lane_sums(packed.rows[part], costs[part], *where)

        return self._descend_in_blocks(sum_block, lanes, count, sweeps)

    def refine(
        self, lanes: WordArray, weights: FloatArray, sweeps: int, *, negative: bool = False
    ) -> FloatArray:
        """Exchange vertices in use for better ones, each as if the others stayed the same."""
        packed, count = self.packed, weights.size
        costs = -self.costs if negative else self.costs
        every = np.uint64((1 << count) - 1)
        started = lanes.copy()
        origins = np.empty(packed.n_cells, dtype=np.uint64)

        def find(block: int) -> None:
            part = self._blocks[block]
            rows = packed.rows[part]
            lane_products(rows, started, every, 0, rows.shape[1], origins[part])

        self._workers.run(find, len(self._blocks))
        padded = np.zeros(64)
        padded[:count] = weights

        def sum_block(part: slice, *where: Any) -> None:
            rows, shares = packed.rows[part], packed.shares[part]
            lane_sums_around(rows, costs[part], shares, origins[part], padded, *where)

        return self._descend_in_blocks(sum_block, lanes, count, sweeps)

    def _descend_in_blocks(
        self, sum_block: Callable[..., None], lanes: WordArray, count: int, sweeps: int
    ) -> FloatArray:
        """Descend with sums over all blocks.

        ``sum_block`` is called with a block of cells, lanes, live lanes, a mode, the position at
        which it begins and the (r, 64) sums to fill.
        """

        def sum_blocks(lanes: WordArray, live: np.uint64, mode: int) -> FloatArray:
            low, high = self.packed.offsets[mode : mode + 2].tolist()
            sums = self._sums[:, : high - low]

            def add_up(block: int) -> None:
                sum_block(self._lane_blocks[block], lanes, live, mode, low, sums[block])

            self._workers.run(add_up, len(self._lane_blocks))
            total: FloatArray = sums.sum(axis=0)
            return total

        return descend_by_mode(sum_blocks, self.packed.offsets, lanes, count, sweeps)

    def bound_sums(self) -> BoundSums:
        """Return the sums that make up the free bound, at the current gradient."""
        return bound_sums_in(self.costs, self.packed.targets, self.packed.shares)

    def rescale(self, factor: float) -> None:
        """Multiply the radius by ``factor``; ``evaluate`` must be called next."""
        self.packed = self.packed.rescaled(factor)
        self._by_index = {mode: one.rescaled(factor) for mode, one in self._by_index.items()}

    def sample(self, size: int, rng: np.random.Generator) -> CpuCells:
        """Return about ``size`` random cells as a smaller problem."""
        packed = self.packed.sample(size, rng)
        return CpuCells(packed, self._workers, block_cells=self._block_cells)

    def iterate(self) -> FloatArray:
        """Return the (u,) values of the evaluated sum, in the order of the observations."""
        packed = self.packed
        x = np.empty(packed.n_cells)
        x[packed.order] = self.costs / (2.0 * packed.shares) + packed.targets
        return x
