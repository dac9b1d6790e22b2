"""The cells of a problem on a CUDA device; see ``Cells`` for the methods."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray, WordArray
from intensor.backends.base import BoundSums, Cells
from intensor.backends.cpu import CpuCells
from intensor.backends.cuda import gram, sums
from intensor.backends.cuda.device import array_module, check_memory, for_kernels, to_host
from intensor.backends.cuda.lanes import lane_sums, lane_sums_runs, switch_lanes
from intensor.backends.cuda.observations import DeviceObservations
from intensor.backends.cuda.thread_blocks import TILE, grid_of, narrow
from intensor.backends.elsewhere import CellsElsewhere
from intensor.backends.packed_cells import distinct, pack_sample
from intensor.kernels.lanes import still_falling
from intensor.runtime.threads import Workers

__all__ = ["CudaCells"]

MAX_HOST_SAMPLE = 1 << 18
"""Largest number of cells of a sample that is solved in memory, where CPU threads are as fast."""
INTEGER_RANGE = 2.0**61
"""Bound on the sum of the sizes of all costs once they are scaled to integers."""
MIN_RUN_CELLS = 4
"""Fewest cells per combination of a mode's index and the earlier ones to sum the mode in runs."""
BYTES_PER_CELL = 16
"""Bytes of target and cost of a cell, which come on top of the observations."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Views:
    """The arrays of ``CudaCells`` in the form that kernels take; ``sums`` mode by mode."""

    rows: Any
    targets: Any
    costs: Any
    shares: Any
    totals: Any
    vertex_totals: Any
    sums: list[Any]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Descent:
    """Lanes on the device, and what kernels need to know to sum over them.

    Attributes
    ----------
    lanes, origins
        (sum(shape), 1) bits of the lanes, and of the vertices that are to be exchanged for them.
    weights, exchange
        (64,) weights of the vertices to exchange, and whether there are any.
    sign, scale
        Costs are multiplied by the sign and counted in integer multiples of ``1 / scale``.
    """

    lanes: Any
    origins: Any
    weights: Any
    exchange: bool
    sign: float
    scale: float


class CudaCells(CellsElsewhere):
    """Cells on the device, summed over by kernels; only vertices and sums travel.

    Parameters
    ----------
    data
        The observations on the device.
    radius
        Unit of the values.
    workers
        Threads for samples that are solved in memory.
    max_host_sample
        Largest number of cells of such a sample.
    """

    def __init__(
        self,
        data: DeviceObservations,
        radius: float,
        workers: Workers,
        *,
        max_host_sample: int = MAX_HOST_SAMPLE,
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
        if data.shares is None:
            self._shares, self._one_share = data.counts, 1.0 / data.n
        else:
            self._shares, self._one_share = data.shares, 1.0
        self._largest_share = float(self._shares.max())
        self._step = int(self._shares.size > 1 or data.n_cells == 1)
        self._grid = grid_of(data.n_cells)
        self._totals = self._xp.zeros((self._grid, 4))
        self._vertex_totals = self._xp.zeros((self._grid, 64))
        self._sums = self._xp.zeros((max(data.shape), 64), dtype=np.int64)
        self._views = _Views(
            rows=for_kernels(data.rows),
            targets=for_kernels(self._targets),
            costs=for_kernels(self._costs),
            shares=for_kernels(self._shares),
            totals=for_kernels(self._totals),
            vertex_totals=for_kernels(self._vertex_totals),
            sums=[for_kernels(self._sums[:length]) for length in data.shape],
        )
        self._cell_shares = (self._views.shares, self._step, self._one_share)

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
        totals = to_host(self._totals)
        self._largest_cost = float(totals[:, 2].max())
        error, product = totals[:, :2].sum(axis=0).tolist()
        return error, product

    def shared(self, words: WordArray, first: int, last: int) -> FloatArray:
        """Return the (last - first, last) shares of the cells that two vertices have in common."""
        weighted = self._data.shares is not None
        common = self.common(words, first, last)
        common *= 1.0 / INTEGER_RANGE if weighted else self._one_share
        return common

    def common(self, words: WordArray, first: int, last: int) -> FloatArray:
        """Return the (last - first, last) numbers of observations that vertices have in common.

        With weights, it returns shares as integers instead, ``INTEGER_RANGE`` for all cells.
        """
        first_word, n_words = first // 64, -(-last // 64)
        table = self._send(narrow(words[:, :n_words], last))
        blocks = self._xp.zeros((n_words - first_word, n_words, 64, 64), dtype=np.int64)
        for left in range(first_word, n_words):
            low, high = max(first - 64 * left, 0), min(last - 64 * left, 64)
            for right in range(n_words):
                n_right = min(last - 64 * right, 64)
                found = blocks[left - first_word, right]
                self._count_common(table, (left, low, high), (right, n_right), found)
        counts = to_host(blocks).swapaxes(1, 2).reshape(-1, 64 * n_words)
        common: FloatArray = counts[first - 64 * first_word :][: last - first, :last].astype(float)
        return common

    def _count_common(
        self, table: Any, left: tuple[int, int, int], right: tuple[int, int], out_counts: Any
    ) -> None:
        """Count the observations that vertices of two words have in common.

        Parameters
        ----------
        left
            A word, and the first and last + 1 of its vertices.
        right
            Another word, and the number of its vertices.
        """
        rows, shares = self._views.rows, self._views.shares
        if self._data.shares is not None:
            gram.gram_block_weighted[self._grid, TILE](
                rows, table, left[0], right[0], shares, INTEGER_RANGE, out_counts
            )
            return
        digits = (right[1] - 1).bit_length()
        planes = (int(self._largest_share) - 1).bit_length()
        gram.gram_block[self._grid, TILE](
            rows, table, *left, *right, digits, shares, self._step, planes, out_counts
        )

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
        found: FloatArray = values[:count]
        return found

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
        """Return the (r, 64) cost of each index of a mode, lane by lane.

        ``origins`` are vertices in use that are to be exchanged, and ``weights`` (64,) theirs.
        """
        chosen = np.zeros(64) if weights is None else weights
        start = lanes if origins is None else origins
        descent = self._descent(
            self._send(lanes[:, np.newaxis]), start, chosen, 64, negative=negative
        )
        self._sum_mode(mode, descent, live, 64)
        part = self._sums[: self.shape[mode]]
        found: FloatArray = to_host(part) / descent.scale
        part[:] = 0
        return found

    def _descent(
        self, lanes: Any, origins: WordArray, weights: FloatArray, count: int, *, negative: bool
    ) -> _Descent:
        """Send everything about ``count`` lanes but their bits, which are on the device."""
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
        """Add the cost of each index of a mode, as an integer, to sums that are zero."""
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
        """Return about ``size`` random cells as a problem of its own.

        The cells are those that ``CpuCells`` would draw: it counts them by falling counts.
        """
        xp, data = self._xp, self._data
        drawn = distinct(rng.integers(0, self.n_cells, size=size))
        once = data.counts.size < self.n_cells
        chosen = xp.asarray(drawn if once else self._by_falling_counts(drawn))
        shares = None if data.shares is None else data.shares[chosen]
        if drawn.size > self._max_host_sample:
            counts = data.counts if once else data.counts[chosen]
            part = DeviceObservations(
                shape=data.shape,
                rows=xp.ascontiguousarray(data.rows[:, chosen]),
                counts=counts,
                means=data.means[chosen],
                n=drawn.size if once else int(counts.sum()),
                within=data.within,
                mean_square=data.mean_square,
                shares=None if shares is None else shares / shares.sum(),
            )
            return CudaCells(part, self._radius, self._workers)
        packed = pack_sample(
            shape=data.shape,
            rows=np.ascontiguousarray(to_host(data.rows[:, chosen]).T),
            targets=to_host(self._targets[chosen]),
            counts=np.ones(drawn.size, dtype=np.uint8) if once else to_host(data.counts[chosen]),
            shares=None if shares is None else to_host(shares),
            constant=self.constant,
        )
        return CpuCells(packed, self._workers)

    def _by_falling_counts(self, ranks: IndexArray) -> IndexArray:
        """Return the cells of these ranks in the order of falling counts."""
        counts = self._data.counts
        cells = np.empty(ranks.size, dtype=np.int64)
        passed = 0
        for count in range(int(counts.max()), 0, -1):
            alike = self._xp.flatnonzero(counts == count)
            first, last = np.searchsorted(ranks, (passed, passed + int(alike.size)))
            cells[first:last] = to_host(alike[self._xp.asarray(ranks[first:last] - passed)])
            passed += int(alike.size)
        return cells

    def _send(self, array: AnyArray) -> Any:
        """Copy an array to the device, for kernels."""
        return for_kernels(self._xp.array(np.ascontiguousarray(array)))
