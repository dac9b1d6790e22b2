"""The cells of a problem on a CUDA device; see ``Cells`` for what can be asked of them."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape, WordArray
from intensor.backends.base import BoundSums, Cells
from intensor.backends.cpu import CpuCells
from intensor.backends.cuda import gram, sums
from intensor.backends.cuda.blocks import TILE, grid_of
from intensor.backends.cuda.device import array_module, check_room, for_kernels, to_host
from intensor.backends.cuda.lanes import lane_sums, lane_sums_runs, switch_lanes
from intensor.backends.cuda.observations import DeviceObservations
from intensor.backends.packed_cells import distinct, pack_sample
from intensor.kernels.lanes import still_falling
from intensor.problem.objective import scaled_constant
from intensor.problem.vertex import mode_offsets
from intensor.runtime.threads import Workers

__all__ = ["CudaCells"]

ON_HOST = 1 << 18
"""Cells of a sample up to which CPU threads are as fast."""
WHOLE = 2.0**61
"""The sum of the sizes of all costs, as a whole number, stays below it."""
RUNS = 4
"""Cells with the same indices of the modes up to one, from which on that mode is summed in runs."""
PER_CELL = 16
"""Bytes that a cell takes next to the observations: target and cost."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Views:
    """The arrays of ``CudaCells`` as kernels take them; ``sums`` mode by mode."""

    rows: Any
    targets: Any
    costs: Any
    shares: Any
    totals: Any
    vertex_totals: Any
    sums: list[Any]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Moving:
    """Lanes on the device.

    Attributes
    ----------
    table, origins
        (sum(shape), 1) bits of the lanes, and of the vertices that they shall take the place of.
    weights, exchange
        (64,) weights of these, and whether there are any.
    sign, scale
        Costs are taken times the sign and counted in whole multiples of ``1 / scale``.
    """

    table: Any
    origins: Any
    weights: Any
    exchange: bool
    sign: float
    scale: float


class CudaCells:
    """Cells on the device: sums by kernels, nothing but vertices and sums travels.

    Parameters
    ----------
    data
        The observations on the device.
    radius
        The unit of values.
    workers
        For samples that are small enough for the host.
    """

    def __init__(self, data: DeviceObservations, radius: float, workers: Workers) -> None:
        check_room(PER_CELL * data.n_cells, f"solving for {data.n_cells} cells")
        self._xp = array_module()
        self._data = data
        self._radius = radius
        self._workers = workers
        self.offsets: IndexArray = mode_offsets(data.shape)
        self.constant = scaled_constant(data.within, radius**2)
        self._targets = data.means / radius
        self._costs = self._xp.empty(data.n_cells)
        self._largest = 0.0
        if data.shares is None:
            self._shares, self._one_share = data.counts, 1.0 / data.n
        else:
            self._shares, self._one_share = data.shares, 1.0
        self._most_counts = float(self._shares.max())
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
        table = self._send(narrow(first_vertices(words, n_words, count), count))
        weight_sums = self._send(byte_sums(weights[: 64 * n_words]))
        for first in range(0, n_words, sums.AT_ONCE):
            last = min(first + sums.AT_ONCE, n_words)
            n_bytes = min(8 * (last - first), max(1, -(-count // 8) - 8 * first))
            sums.fit_cells[self._grid, TILE, 0, 2048 * n_bytes](
                self._views.rows,
                table,
                first,
                last,
                weight_sums,
                self._views.targets,
                self._views.shares,
                self._step,
                self._one_share,
                last < n_words,
                self._views.costs,
                self._views.totals,
            )
        totals = to_host(self._totals)
        self._largest = float(totals[:, 2].max())
        error, product = totals[:, :2].sum(axis=0).tolist()
        return error, product

    def add(self, words: WordArray, first: int, last: int, out_gram: FloatArray) -> None:
        """Fill the Gram rows of vertices first..last-1."""
        weighted = self._data.shares is not None
        common = self.common(words, first, last)
        common *= 1.0 / WHOLE if weighted else self._one_share
        out_gram[first:last, :last] = common
        out_gram[:last, first:last] = common.T

    def common(self, words: WordArray, first: int, last: int) -> FloatArray:
        """Return how many observations vertices first..last-1 and all up to them have in common.

        Shares, where there are any, are whole numbers here, ``WHOLE`` for all cells together.
        """
        n_words = -(-last // 64)
        table = self._send(narrow(words[:, :n_words], last))
        weighted = self._data.shares is not None
        planes = (int(self._most_counts) - 1).bit_length()
        common = np.empty((last - first, last))
        for left in range(first // 64, n_words):
            for right in range(n_words):
                found = self._xp.zeros((64, 64), dtype=np.int64)
                if weighted:
                    gram.gram_block_weighted[self._grid, TILE](
                        self._views.rows, table, left, right, self._views.shares, WHOLE, found
                    )
                else:
                    n_right = min(last - 64 * right, 64)
                    gram.gram_block[self._grid, TILE](
                        self._views.rows,
                        table,
                        left,
                        max(first - 64 * left, 0),
                        min(last - 64 * left, 64),
                        right,
                        n_right,
                        (n_right - 1).bit_length(),
                        self._views.shares,
                        self._step,
                        planes,
                        found,
                    )
                rows = slice(max(first, 64 * left), min(last, 64 * left + 64))
                columns = slice(64 * right, min(last, 64 * right + 64))
                block = to_host(found)[rows.start - 64 * left : rows.stop - 64 * left]
                common[rows.start - first : rows.stop - first, columns] = block[
                    :, : columns.stop - columns.start
                ]
        return common

    def keep(self, places: IndexArray) -> None:
        """Vertices are not kept here."""

    def vertex_sums(self, words: WordArray, first: int, last: int, out_sums: FloatArray) -> None:
        """Write the sum of the gradient over vertices first..last-1 into these places."""
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

    def descend(
        self, lanes: WordArray, count: int, sweeps: int, *, negative: bool = False
    ) -> FloatArray:
        """Minimise over a vertex in all lanes; costs are counted as whole numbers."""
        return self._descend(lanes, np.zeros(count), sweeps, negative=negative)

    def refine(
        self, lanes: WordArray, weights: FloatArray, sweeps: int, *, negative: bool = False
    ) -> FloatArray:
        """Exchange vertices in use for better ones, each as if the others stayed as they are."""
        return self._descend(lanes, weights, sweeps, negative=negative)

    def _descend(
        self, lanes: WordArray, weights: FloatArray, sweeps: int, *, negative: bool
    ) -> FloatArray:
        """Go round the modes until no lane's value falls any more."""
        count = weights.size
        table = self._xp.array(narrow(lanes[:, np.newaxis], count))
        moving = self._moving(for_kernels(table), lanes, weights, negative)
        live = np.uint64((1 << count) - 1)
        values = np.full(64, np.inf)
        for _ in range(sweeps):
            for mode, (low, high) in enumerate(itertools.pairwise(self.offsets.tolist())):
                reached = self._xp.zeros(64, dtype=np.int64)
                self._sum_mode(mode, moving, live, count)
                switch_lanes[-(-(high - low) // TILE), TILE](
                    self._views.sums[mode], live, count, low, moving.table, for_kernels(reached)
                )
            live = np.uint64(still_falling(live, to_host(reached) / moving.scale, values))
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

        With ``origins`` these are vertices in use, which others shall take the place of.
        """
        chosen = np.zeros(64) if weights is None else weights
        start = lanes if origins is None else origins
        moving = self._moving(self._send(lanes[:, np.newaxis]), start, chosen, negative)
        self._sum_mode(mode, moving, live, 64)
        part = self._sums[: self.shape[mode]]
        found: FloatArray = to_host(part) / moving.scale
        part[:] = 0
        return found

    def _moving(
        self, table: Any, origins: WordArray, weights: FloatArray, negative: bool
    ) -> _Moving:
        """Send what is to be known of lanes, next to their bits on the device."""
        curvature = float(weights.max()) * self._one_share * self._most_counts
        room = (self._largest + curvature) * self.n_cells
        padded = np.zeros(64)
        padded[: weights.size] = weights
        return _Moving(
            table=table,
            origins=self._send(narrow(origins[:, np.newaxis], weights.size)),
            weights=self._send(padded),
            exchange=bool(padded.any()),
            sign=-1.0 if negative else 1.0,
            scale=min(WHOLE / max(room, np.finfo(np.float64).tiny), 1e300),
        )

    def _sum_mode(self, mode: int, moving: _Moving, live: np.uint64, count: int) -> None:
        """Add the cost of each index of a mode, as whole numbers, to sums that are zero."""
        shared = (
            self._views.rows,
            self._views.costs,
            self._views.shares,
            self._step,
            self._one_share,
            moving.sign,
            moving.scale,
            moving.origins,
            moving.weights,
            moving.table,
            live,
        )
        place = (mode, int(self.offsets[mode]), self._views.sums[mode])
        if self.n_cells >= RUNS * math.prod(self.shape[: mode + 1]):
            width = 16 if count <= 16 else 32 if count <= 32 else 64
            lane_sums_runs[self._grid, TILE](*shared, width, moving.exchange, *place)
        else:
            lane_sums[self._grid, TILE](*shared, *place)

    def bound_sums(self) -> BoundSums:
        """Return what the free bound is made of, at the gradient."""
        sums.bound_sums[self._grid, TILE](
            self._views.costs,
            self._views.targets,
            self._views.shares,
            self._step,
            self._one_share,
            self._views.totals,
        )
        return BoundSums(*to_host(self._totals).sum(axis=0).tolist())

    def rescale(self, factor: float) -> None:
        """Let the radius be ``factor`` times what it was; ``evaluate`` must follow."""
        self._radius *= factor
        self._targets /= factor
        self.constant = scaled_constant(self.constant, factor**2)

    def iterate(self) -> FloatArray:
        """Return the (u,) values of the evaluated sum, in the order of the observations."""
        shares = self._one_share * self._shares
        x: FloatArray = to_host(self._costs / (2.0 * shares) + self._targets)
        return x

    def sample(self, size: int, rng: np.random.Generator) -> Cells:
        """Return about ``size`` random cells as a problem of its own.

        They are those that the host would draw, whose cells come in the order of their counts.
        """
        xp, data = self._xp, self._data
        chosen = distinct(rng.integers(0, self.n_cells, size=size))
        places = xp.asarray(self._places(chosen))
        shares = None if data.shares is None else data.shares[places]
        once = data.counts.size < self.n_cells
        if chosen.size > ON_HOST:
            counts = data.counts if once else data.counts[places]
            part = DeviceObservations(
                shape=data.shape,
                rows=xp.ascontiguousarray(data.rows[:, places]),
                counts=counts,
                means=data.means[places],
                n=chosen.size if once else int(counts.sum()),
                within=data.within,
                mean_square=data.mean_square,
                shares=None if shares is None else shares / shares.sum(),
            )
            return CudaCells(part, self._radius, self._workers)
        packed = pack_sample(
            shape=data.shape,
            rows=np.ascontiguousarray(to_host(data.rows[:, places]).T),
            targets=to_host(self._targets[places]),
            counts=np.ones(chosen.size, dtype=np.uint8) if once else to_host(data.counts[places]),
            shares=None if shares is None else to_host(shares),
            constant=self.constant,
        )
        return CpuCells(packed, self._workers)

    def _places(self, chosen: IndexArray) -> IndexArray:
        """Return where the chosen cells are, when counted in the order of falling counts."""
        counts = self._data.counts
        if counts.size == 1:
            return chosen
        places = np.empty(chosen.size, dtype=np.int64)
        passed = 0
        for count in range(int(counts.max()), 0, -1):
            alike = self._xp.flatnonzero(counts == count)
            first, last = np.searchsorted(chosen, (passed, passed + int(alike.size)))
            ranks = self._xp.asarray(chosen[first:last] - passed)
            places[first:last] = to_host(alike[ranks])
            passed += int(alike.size)
        return places

    def _send(self, array: AnyArray) -> Any:
        """Copy an array to the device, for kernels."""
        return for_kernels(self._xp.array(np.ascontiguousarray(array)))


def first_vertices(words: WordArray, n_words: int, count: int) -> WordArray:
    """Return a copy of some words with no bit set from vertex ``count`` on."""
    copied = words[:, :n_words].copy()
    copied[:, -1] &= np.uint64((1 << (count - 64 * (n_words - 1))) - 1)
    return copied


def narrow(words: WordArray, count: int) -> AnyArray:
    """Return words of no more bits than there are vertices: more of them fit into a cache."""
    return words.astype(np.uint32 if count <= 32 else np.uint64)


def byte_sums(weights: FloatArray) -> FloatArray:
    """Return (n_bytes, 256) sums: for every eight weights, of every set of them."""
    of_bytes = weights.reshape(-1, 8)
    found = np.zeros((len(of_bytes), 256))
    for bit in range(8):
        size = 1 << bit
        found[:, size : 2 * size] = found[:, :size] + of_bytes[:, bit, np.newaxis]
    return found
