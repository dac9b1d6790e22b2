"""Observations on a CUDA device, collapsed there into unique cells as ``data`` does on the CPU."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numba.cuda
import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape
from intensor.backends.cuda.device import array_module, check_device, check_memory, to_host
from intensor.backends.cuda.thread_blocks import TILE, add_up, grid_of
from intensor.backends.select import on_device
from intensor.data.checks import check_coords, check_shape, check_values
from intensor.data.observations import Observations
from intensor.errors import CoordinateError, NegativeValueError, SettingError, ValuesError
from intensor.problem.layout import position_type, positions
from intensor.problem.vertex import mode_offsets

cuda: Any = numba.cuda

COLLAPSING_BYTES = 40
"""Bytes of device memory per observation that collapsing takes in addition to the observations."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DeviceObservations:
    """Unique cells in lexicographic order, on the device; the rest is as in ``Observations``."""

    shape: Shape
    rows: Any  # (p, u) positions of each cell's indices in flags and lanes
    counts: Any  # (u,) how often each cell was observed; a single 1 if always once
    means: Any  # (u,) mean of the observed values of each cell
    n: int
    within: float
    mean_square: float
    shares: Any = None  # (u,) how much each cell counts; None if that is ``counts / n``

    @property
    def n_cells(self) -> int:
        """Number of distinct cells observed, u."""
        return int(self.means.size)

    @property
    def observed_once(self) -> bool:
        """Whether every cell was observed once."""
        return int(self.counts.size) < self.n_cells

    def select(self, chosen: Any) -> DeviceObservations:
        """Return the chosen cells, with shares that sum to 1 again."""
        xp = array_module()
        counts = self.counts if self.observed_once else self.counts[chosen]
        shares = None if self.shares is None else self.shares[chosen]
        return replace(
            self,
            rows=xp.ascontiguousarray(self.rows[:, chosen]),
            counts=counts,
            means=self.means[chosen],
            n=int(chosen.size) if self.observed_once else int(counts.sum()),
            shares=None if shares is None else shares / shares.sum(),
        )

    def by_falling_counts(self, ranks: IndexArray) -> IndexArray:
        """Return the cells of these ranks, which are sorted, in the order of falling counts."""
        if self.observed_once:
            return ranks
        xp = array_module()
        cells = np.empty(ranks.size, dtype=np.int64)
        passed = 0
        for count in range(int(self.counts.max()), 0, -1):
            alike = xp.flatnonzero(self.counts == count)
            first, last = np.searchsorted(ranks, (passed, passed + int(alike.size)))
            cells[first:last] = to_host(alike[xp.asarray(ranks[first:last] - passed)])
            passed += int(alike.size)
        return cells

    def host(self) -> Observations:
        """Copy the observations to the memory of the host."""
        offsets = mode_offsets(self.shape)
        once = self.observed_once
        counts = np.ones(self.n_cells, dtype=np.uint8) if once else to_host(self.counts)
        return Observations(
            shape=self.shape,
            coords=tuple(
                (to_host(self.rows[mode]).astype(np.int64) - offsets[mode]).astype(
                    np.min_scalar_type(length - 1)
                )
                for mode, length in enumerate(self.shape)
            ),
            counts=counts,
            means=to_host(self.means),
            n=self.n,
            within=self.within,
            mean_square=self.mean_square,
            shares=None if self.shares is None else to_host(self.shares),
        )


def upload(observations: Observations) -> DeviceObservations:
    """Copy collapsed observations to the device."""
    xp = array_module()
    repeated = int(observations.counts.max()) > 1
    return DeviceObservations(
        shape=observations.shape,
        rows=xp.asarray(np.ascontiguousarray(positions(observations.coords, observations.shape).T)),
        counts=xp.asarray(observations.counts if repeated else np.ones(1, dtype=np.uint8)),
        means=xp.asarray(observations.means),
        n=observations.n,
        within=observations.within,
        mean_square=observations.mean_square,
        shares=None if observations.shares is None else xp.asarray(observations.shares),
    )


def observe_on_device(
    coords: Any, values: Any, *, shape: Iterable[int] | None = None, allow_negative: bool = False
) -> DeviceObservations:
    """Check raw observations and collapse them into unique cells, on the device.

    ``coords`` are (n, p) integers, or a sequence of p device arrays of n integers each, which saves
    memory. By default, the shape is the smallest one that holds the coordinates.
    """
    check_device()
    xp = array_module()
    if not on_device(values):
        cells, lengths = check_coords(coords, shape)
        numbers = xp.asarray(check_values(values, cells.shape[0], allow_negative=allow_negative))
        columns = tuple(
            xp.asarray(cells[:, mode].astype(np.min_scalar_type(length - 1)))
            for mode, length in enumerate(lengths)
        )
    else:
        columns = _columns(coords, xp)
        numbers = _numbers(values, columns[0].size, allow_negative, xp)
        lengths = _lengths(columns, shape)
    if math.prod(lengths) >= 2**63:
        raise SettingError(
            f"a tensor of shape {lengths} has more than 2^63 cells; use device='cpu' for it"
        )
    n = int(numbers.size)
    check_memory(COLLAPSING_BYTES * n, f"collapsing {n} observations")
    keys = fold_keys(columns, lengths, xp)
    order, starts = group(keys, math.prod(lengths), xp)
    u = int(starts.size)
    keys, offsets = keys[starts], mode_offsets(lengths).tolist()
    rows = xp.empty((len(lengths), u), dtype=position_type(lengths))
    for mode in reversed(range(len(lengths))):
        rows[mode] = offsets[mode] + keys % lengths[mode]
        keys //= lengths[mode]
    del keys
    most = int(xp.diff(starts, append=xp.asarray([n])).max())
    counts = xp.empty(u, dtype=np.min_scalar_type(most))
    means = xp.empty(u)
    totals = xp.zeros((grid_of(u), 2))
    collapse_cells[grid_of(u), TILE](order, starts, numbers, counts, means, totals)
    within, square = to_host(totals).sum(axis=0).tolist()
    return DeviceObservations(
        shape=lengths,
        rows=rows,
        counts=counts if most > 1 else xp.ones(1, dtype=np.uint8),
        means=means,
        n=n,
        within=within / n,
        mean_square=square / n,
    )


def _columns(coords: Any, xp: Any) -> tuple[AnyArray, ...]:
    """Return device coordinates mode by mode."""
    if isinstance(coords, Sequence):
        columns = tuple(xp.asarray(column) for column in coords)
    else:
        table = xp.asarray(coords)
        if table.ndim != 2:
            raise CoordinateError(f"coords has shape {table.shape}; expected (n, p) integers")
        columns = tuple(xp.ascontiguousarray(table[:, mode]) for mode in range(table.shape[1]))
    sizes = {column.shape for column in columns}
    if not columns or len(sizes) > 1 or len(columns[0].shape) != 1 or columns[0].size == 0:
        raise CoordinateError(
            f"coords has columns of shapes {sorted(sizes)}; expected one array of n integers per "
            "mode, all of the same length and at least 1"
        )
    for mode, column in enumerate(columns):
        if column.dtype.kind not in "iu":
            raise CoordinateError(f"coords of mode {mode} are {column.dtype}; expected integers")
    return columns


def _lengths(columns: tuple[AnyArray, ...], shape: Iterable[int] | None) -> Shape:
    """Check all coordinates; return the mode lengths."""
    known = None if shape is None else check_shape(shape)
    if known is not None and len(known) != len(columns):
        raise CoordinateError(
            f"coords has {len(columns)} column(s) but shape {known} has {len(known)} mode(s); "
            "expected a column per mode"
        )
    found = []
    for mode, column in enumerate(columns):
        low, high = int(column.min()), int(column.max())
        if low < 0 or (known is not None and high >= known[mode]):
            allowed = "at least 0" if known is None else f"from 0 to {known[mode] - 1}"
            raise CoordinateError(
                f"coords of mode {mode} go from {low} to {high}; the mode allows indices {allowed}"
            )
        found.append(high + 1)
    return check_shape(found) if known is None else known


def _numbers(values: Any, n: int, allow_negative: bool, xp: Any) -> Any:
    numbers = xp.asarray(values).astype(np.float64, copy=False)
    if numbers.shape != (n,):
        raise ValuesError(f"values has shape {numbers.shape}; expected ({n},), one per observation")
    low, high = float(numbers.min()), float(numbers.max())
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValuesError("values has NaN or infinite entries; leave missing cells out")
    if low < 0.0 and not allow_negative:
        raise NegativeValueError(
            f"values go down to {low}; expected none below 0 (allow_negative=True fits them too)"
        )
    return numbers


@cuda.jit(cache=True)
def collapse_cells(
    order: AnyArray,
    starts: IndexArray,
    values: FloatArray,
    out_counts: AnyArray,
    out_means: FloatArray,
    out_totals: FloatArray,
) -> None:
    """Find the number and the mean of each cell's observations.

    ``order`` (n,) are the observations sorted by cell, and those of cell i begin at ``starts[i]``.
    ``out_totals`` (blocks, 2) is filled with the block's sums of squared deviations from the cell's
    mean and of squared values.
    """
    partial = cuda.shared.array((2, TILE), numba.float64)
    thread = cuda.threadIdx.x
    deviation, square = 0.0, 0.0
    cell = cuda.blockIdx.x * TILE + thread
    while cell < starts.size:
        first = starts[cell]
        last = starts[cell + 1] if cell + 1 < starts.size else order.size
        mean = 0.0
        for position in range(first, last):
            mean += values[order[position]]
        mean /= last - first
        left = 0.0
        for position in range(first, last):
            left += values[order[position]] - mean
        mean += left / (last - first)
        for position in range(first, last):
            value = values[order[position]]
            deviation += (value - mean) * (value - mean)
            square += value * value
        out_means[cell] = mean
        out_counts[cell] = last - first
        cell += cuda.gridDim.x * TILE
    partial[0, thread] = deviation
    partial[1, thread] = square
    add_up(partial)
    if thread < 2:
        out_totals[cuda.blockIdx.x, thread] = partial[thread, 0]


def fold_keys(columns: tuple[AnyArray, ...], shape: Shape, xp: Any) -> IndexArray:
    """Return the number of each observation's cell in the full tensor."""
    keys: IndexArray = xp.zeros(columns[0].shape[0], dtype=np.int64)
    for column, length in zip(columns, shape, strict=True):
        keys *= length
        keys += column.astype(np.int64, copy=False)
    return keys


def group(keys: IndexArray, n_keys: int, xp: Any) -> tuple[AnyArray, IndexArray]:
    """Sort keys below ``n_keys`` in place; return their order and where distinct keys begin."""
    n = keys.size
    row_bits = (n - 1).bit_length()
    kind = np.uint32 if n <= 2**32 else np.int64
    if (n_keys - 1).bit_length() + row_bits <= 63:
        keys <<= row_bits  # with the number of its row in the lowest bits, a key sorts stably
        keys |= xp.arange(n)
        keys.sort()
        order = (keys & ((1 << row_bits) - 1)).astype(kind)
        keys >>= row_bits
    else:
        order = xp.argsort(keys, kind="stable")
        keys[:] = keys[order]
        order = order.astype(kind)
    fresh = xp.empty(n, dtype=bool)
    fresh[0] = True
    xp.not_equal(keys[1:], keys[:-1], out=fresh[1:])
    return order, xp.flatnonzero(fresh)
