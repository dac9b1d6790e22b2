"""The cells of a problem on a CUDA device."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from intensor._arrays import AnyArray, FloatArray, WordArray
from intensor.backends.base import BoundSums, Cells, CellsElsewhere, NormalEquations
from intensor.backends.cpu import CpuCells
from intensor.backends.cuda import components, gram, sums
from intensor.backends.cuda.device import array_module, check_memory, for_kernels, to_host
from intensor.backends.cuda.lanes import lane_sums, lane_sums_runs, switch_lanes
from intensor.backends.cuda.mode_order import ModeOrder, sort_by_index
from intensor.backends.cuda.observations import DeviceObservations
from intensor.backends.cuda.thread_blocks import TILE, grid_of, narrow
from intensor.backends.packed_cells import distinct, pack_sample
from intensor.kernels.lanes import still_falling
from intensor.runtime.threads import Workers

MAX_HOST_SAMPLE = 1 << 18
"""Most cells of a sample that is solved in memory, because CPU threads are as fast for it."""
INTEGER_RANGE = 2.0**61
"""Bound on the sum of the sizes of all costs once they are scaled to integers."""
MIN_RUN_CELLS = 4
"""Fewest cells per combination of a mode's index and the earlier ones for ``lane_sums_runs``."""
BYTES_PER_CELL = 16
"""Bytes of the target and the cost of a cell."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Descent:
    """Lanes on the device, and how kernels sum over them."""

    lanes: Any  # (sum(shape), 1) bits of the lanes
    origins: Any  # (sum(shape), 1) bits of the vertices that they will replace
    weights: Any  # (64,) weights of the vertices to exchange
    exchange: bool  # whether there are any
    sign: float  # costs are multiplied by it
    scale: float  # costs are counted in integer multiples of ``1 / scale``


class CudaCells(CellsElsewhere):
    """Cells on the device, summed over by kernels; see ``Cells`` for the methods.

    The radius is the unit of the values. Samples of up to ``max_host_sample`` cells are solved in
    memory, by the workers. ``orders`` are those of the modes by which the cells were sorted before;
    the first normal equations of a mode sort them, and keep 4 bytes per cell.
    """

    def __init__(
        self,
        data: DeviceObservations,
        radius: float,
        workers: Workers,
        *,
        max_host_sample: int = MAX_HOST_SAMPLE,
        orders: dict[int, ModeOrder] | None = None,
    ) -> None:
        check_memory(BYTES_PER_CELL * data.n_cells, f"solving for {data.n_cells} cells")
        super().__init__(
            data.shape, data.n_cells, within=data.within, radius=radius, workers=workers
        )
        self._xp = array_module()
        self._data = data
        self._max_host_sample = max_host_sample
        self._targets = data.means / radius
        self._costs = self._xp.empty(data.n_cells)
        self._largest_cost = 0.0
        self._weighted = data.shares is not None
        self._shares = data.shares if self._weighted else data.counts
        self._one_share = 1.0 if self._weighted else 1.0 / data.n
        self._largest_share = float(self._shares.max())
        self._step = int(self._shares.size > 1 or data.n_cells == 1)
        self._grid = grid_of(data.n_cells)
        self._totals = self._xp.zeros((self._grid, 4))
        self._vertex_totals = self._xp.zeros((self._grid, 64))
        self._sums = self._xp.zeros((max(data.shape), 64), dtype=np.int64)
        self._views = SimpleNamespace(  # the arrays in the form that kernels take
            rows=for_kernels(data.rows),
            targets=for_kernels(self._targets),
            costs=for_kernels(self._costs),
            shares=for_kernels(self._shares),
            totals=for_kernels(self._totals),
            vertex_totals=for_kernels(self._vertex_totals),
            sums=[for_kernels(self._sums[:length]) for length in data.shape],
        )
        self._cell_shares = (self._views.shares, self._step, self._one_share)
        self.orders = {} if orders is None else orders

    def evaluate(self, words: WordArray, count: int, weights: FloatArray) -> tuple[float, float]:
        """Move the gradient to a weighted sum of vertices; return its error and product."""
        views, n_words = self._views, max(1, -(-count // 64))
        table = self._send(narrow(sums.first_vertices(words, n_words, count), count))
        weight_sums = self._send(sums.byte_sums(weights[: 64 * n_words]))
        for first in range(0, n_words, sums.AT_ONCE):
            last = min(first + sums.AT_ONCE, n_words)
            n_bytes = min(8 * (last - first), max(1, -(-count // 8) - 8 * first))
            sums.fit_cells[self._grid, TILE, 0, 2048 * n_bytes](
                *(views.rows, table, first, last, weight_sums, views.targets),
                *self._cell_shares,
                *(last < n_words, views.costs, views.totals),
            )
        return self._read_totals()

    def evaluate_components(self, factors: FloatArray, weights: FloatArray) -> tuple[float, float]:
        """Move the gradient to a weighted sum of components; return its error and product."""
        views = self._views
        components.fit_components[self._grid, TILE](
            views.rows,
            self._send(components.padded(factors)),
            self._send(components.padded(weights[np.newaxis])),
            views.targets,
            *self._cell_shares,
            *(views.costs, views.totals),
        )
        return self._read_totals()

    def _read_totals(self) -> tuple[float, float]:
        """Return error and product of the sum that was evaluated."""
        totals = to_host(self._totals)
        self._largest_cost = float(totals[:, 2].max())
        error, product = totals[:, :2].sum(axis=0).tolist()
        return error, product

    def normal_equations(
        self, mode: int, factors: FloatArray, weights: FloatArray, low: int, high: int
    ) -> NormalEquations:
        """Return the normal equations of the indices low..high-1 of a mode.

        How cells are cut into chunks depends on their number alone, so that an index has the same
        bits in any range of indices.
        """
        xp, views, count = self._xp, self._views, weights.size
        begin, end = self.offsets[mode : mode + 2].tolist()
        if mode not in self.orders:
            self.orders[mode] = sort_by_index(self._data.rows, mode, begin, end)
        order = self.orders[mode]
        most = max(components.MIN_CHUNK, -(-self.n_cells // components.MAX_CHUNKS))
        chunks, starts = order.chunks(low, high, most)
        if not len(chunks):
            zeros = np.zeros((high - low, count, count)), np.zeros((high - low, count))
            return NormalEquations(*zeros, 0.0)
        table, pairs = components.padded(factors), components.pairs_of(count)
        owns = components.padded(weights * factors[begin + low : begin + high])
        columns = components.COLUMNS
        needed = len(chunks) * len(pairs) * columns**2 + (high - low) * count**2
        check_memory(8 * needed, f"normal equations of {high - low} indices")
        parts = xp.empty((len(chunks), len(pairs), columns, columns))
        part_slopes = xp.empty((len(chunks), table.shape[1]))
        errors = xp.empty(len(chunks))
        components.normal_equations[len(chunks) * len(pairs), TILE](
            *(views.rows, for_kernels(order.order), self._send(chunks), self._send(pairs), mode),
            *(self._send(table), self._send(owns), views.targets, *self._cell_shares),
            *map(for_kernels, (parts, part_slopes, errors)),
        )
        matrices, slopes = xp.empty((high - low, count, count)), xp.empty((high - low, count))
        components.add_chunks[grid_of(matrices.size), TILE](
            self._send(starts), *map(for_kernels, (parts, part_slopes, matrices, slopes))
        )
        return NormalEquations(to_host(matrices), to_host(slopes), float(to_host(errors).sum()))

    def shared(self, words: WordArray, first: int, last: int) -> FloatArray:
        """Return the (last - first, last) shares of the cells that two vertices have in common."""
        unit = 1.0 / INTEGER_RANGE if self._weighted else self._one_share
        return self.common(words, first, last) * unit

    def common(self, words: WordArray, first: int, last: int) -> FloatArray:
        """Return the (last - first, last) numbers of observations that vertices have in common.

        With weights, it returns shares in multiples of ``1 / INTEGER_RANGE`` instead.
        """
        first_word, n_words = first // 64, -(-last // 64)
        table = self._send(narrow(words[:, :n_words], last))
        rows, shares = self._views.rows, self._views.shares
        planes = (int(self._largest_share) - 1).bit_length()
        blocks = self._xp.zeros((n_words - first_word, n_words, 64, 64), dtype=np.int64)
        for left in range(first_word, n_words):
            low, high = max(first - 64 * left, 0), min(last - 64 * left, 64)
            for right in range(n_words):
                found = blocks[left - first_word, right]
                if self._weighted:
                    gram.gram_block_weighted[self._grid, TILE](
                        rows, table, left, right, shares, INTEGER_RANGE, found
                    )
                    continue
                n_right = min(last - 64 * right, 64)
                pairs = (left, low, high, right, n_right, (n_right - 1).bit_length())
                gram.gram_block[self._grid, TILE](
                    rows, table, *pairs, shares, self._step, planes, found
                )
        counts = to_host(blocks).swapaxes(1, 2).reshape(-1, 64 * n_words)
        common: FloatArray = counts[first - 64 * first_word :][: last - first, :last].astype(float)
        return common

    def vertex_sums(self, words: WordArray, first: int, last: int, out_sums: FloatArray) -> None:
        """Write the sums of the gradient over vertices first..last-1 to the same positions."""
        if first == last:
            return
        n_words = -(-last // 64)
        table = self._send(narrow(words[:, :n_words], last))
        for word in range(first // 64, n_words):
            sums.vertex_sums[self._grid, TILE](
                self._views.rows, table, word, self._views.costs, self._views.vertex_totals
            )
            found = to_host(self._vertex_totals).sum(axis=0)
            low, high = max(first, 64 * word), min(last, 64 * word + 64)
            out_sums[low:high] = found[low - 64 * word : high - 64 * word]

    def _descend(
        self, lanes: WordArray, weights: FloatArray, count: int, sweeps: int, *, negative: bool
    ) -> FloatArray:
        table = self._xp.array(narrow(lanes[:, np.newaxis], count))
        descent = self._descent(for_kernels(table), lanes, weights, count, negative=negative)
        live = np.uint64((1 << count) - 1)
        values = np.full(64, np.inf)
        for _ in range(sweeps):
            for mode, (low, high) in enumerate(itertools.pairwise(self.offsets.tolist())):
                reached = self._xp.zeros(64, dtype=np.int64)
                self._sum_mode(mode, descent, live, count)
                switch_lanes[-(-(high - low) // TILE), TILE](
                    self._views.sums[mode], live, count, low, descent.lanes, for_kernels(reached)
                )
            live = np.uint64(still_falling(live, to_host(reached) / descent.scale, values))
            if not live:
                break
        lanes[:] = to_host(table)[:, 0]
        return values[:count]

    def mode_sums(
        self,
        lanes: WordArray,
        live: np.uint64,
        mode: int,
        *,
        origins: WordArray | None = None,
        weights: FloatArray | None = None,
        negative: bool = False,
    ) -> FloatArray:
        """Return the (r, 64) cost of each index of a mode, lane by lane; see ``Shard``."""
        sent = self._send(lanes[:, np.newaxis])
        origins = lanes if origins is None else origins
        weights = np.zeros(64) if weights is None else weights
        descent = self._descent(sent, origins, weights, 64, negative=negative)
        self._sum_mode(mode, descent, live, 64)
        part = self._sums[: self.shape[mode]]
        found: FloatArray = to_host(part) / descent.scale
        part[:] = 0
        return found

    def _descent(
        self, lanes: Any, origins: WordArray, weights: FloatArray, count: int, *, negative: bool
    ) -> _Descent:
        """Send origins and weights of ``count`` lanes, whose bits are on the device already."""
        curvature = float(weights.max()) * self._one_share * self._largest_share
        largest_sum = (self._largest_cost + curvature) * self.n_cells
        return _Descent(
            lanes=lanes,
            origins=self._send(narrow(origins[:, np.newaxis], count)),
            weights=self._send(weights),
            exchange=bool(weights.any()),
            sign=-1.0 if negative else 1.0,
            scale=min(INTEGER_RANGE / max(largest_sum, np.finfo(np.float64).tiny), 1e300),
        )

    def _sum_mode(self, mode: int, descent: _Descent, live: np.uint64, count: int) -> None:
        """Fill the sums of a mode, which are 0, with the cost of each index as an integer."""
        shared = (
            self._views.rows,
            self._views.costs,
            *self._cell_shares,
            *(descent.sign, descent.scale, descent.origins, descent.weights, descent.lanes),
            live,
        )
        target = (mode, int(self.offsets[mode]), self._views.sums[mode])
        if self.n_cells >= MIN_RUN_CELLS * math.prod(self.shape[: mode + 1]):
            width = 16 if count <= 16 else 32 if count <= 32 else 64
            lane_sums_runs[self._grid, TILE](*shared, width, descent.exchange, *target)
        else:
            lane_sums[self._grid, TILE](*shared, *target)

    def bound_sums(self) -> BoundSums:
        """Return the sums that make up the free bound, at the current gradient."""
        views = self._views
        sums.bound_sums[self._grid, TILE](
            views.costs, views.targets, *self._cell_shares, views.totals
        )
        return BoundSums(*to_host(self._totals).sum(axis=0).tolist())

    def rescale(self, factor: float) -> None:
        """Multiply the radius by ``factor``; ``evaluate`` must be called next."""
        super().rescale(factor)
        self._targets /= factor

    def iterate(self) -> FloatArray:
        """Return the (u,) values of the evaluated sum, in the order of the observations."""
        shares = self._one_share * self._shares
        x: FloatArray = to_host(self._costs / (2.0 * shares) + self._targets)
        return x

    def sample(self, size: int, rng: np.random.Generator) -> Cells:
        """Return about ``size`` random cells, the same ones as ``CpuCells`` would draw."""
        data = self._data
        drawn = distinct(rng.integers(0, self.n_cells, size=size))
        chosen = self._xp.asarray(data.by_falling_counts(drawn))
        if drawn.size > self._max_host_sample:
            return CudaCells(data.select(chosen), self._radius, self._workers)
        once = data.observed_once
        packed = pack_sample(
            shape=data.shape,
            rows=np.ascontiguousarray(to_host(data.rows[:, chosen]).T),
            targets=to_host(self._targets[chosen]),
            counts=np.ones(drawn.size, dtype=np.uint8) if once else to_host(data.counts[chosen]),
            shares=None if data.shares is None else to_host(data.shares[chosen]),
            constant=self.constant,
        )
        return CpuCells(packed, self._workers)

    def _send(self, array: AnyArray) -> Any:
        """Copy an array to the device, for kernels."""
        return for_kernels(self._xp.array(np.ascontiguousarray(array)))
