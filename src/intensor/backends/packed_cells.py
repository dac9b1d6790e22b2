"""The observed cells in the form that the kernels take, and samples of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape, WordArray
from intensor.data.observations import Observations
from intensor.problem.layout import positions
from intensor.problem.objective import scaled_constant
from intensor.problem.vertex import mode_offsets
from intensor.runtime.threads import Workers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IndexedCells:
    """Cells in order of their index of one mode."""

    rows: AnyArray  # (u, p) positions of each cell's indices
    targets: FloatArray  # (u,) in units of the radius
    shares: FloatArray  # (u,)
    starts: IndexArray  # (r + 1,) first cell of each index of the mode, and the end of the last

    def pieces(self, low: int, high: int, count: int) -> list[int]:
        """Cut the indices low..high-1 into at most ``count`` ranges of about as many cells.

        Returns the first index of each range, and ``high``.
        """
        first, last = self.starts[low], self.starts[high]
        cells = first + (last - first) * np.arange(1, count) // count
        ends = np.clip(np.searchsorted(self.starts, cells), low, high)
        return [int(end) for end in np.unique(np.concatenate(([low], ends, [high])))]

    def rescaled(self, factor: float) -> IndexedCells:
        """Return the same cells in units of a radius that is ``factor`` times this one."""
        return replace(self, targets=self.targets / factor)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PackedCells:
    """Cells with those observed most often first."""

    shape: Shape
    rows: AnyArray  # (u, p) positions of each cell's indices in flags and lanes, in a small type
    offsets: IndexArray  # (p + 1,) position at which each mode begins in flags and lanes
    targets: FloatArray  # (u,) the value each cell should have, in units of the radius
    shares: FloatArray  # (u,) how much each cell counts
    counts: AnyArray  # (u,) how often each cell was observed
    extra: WordArray  # (n_planes, n_prefix) bit planes of ``counts - 1``
    weighted: bool  # whether the shares differ from ``counts / n``
    constant: float  # the part of the objective that no model can change
    order: AnyArray  # (u,) number of each cell among the observations

    @property
    def n_cells(self) -> int:
        """Number of cells, u."""
        return int(self.targets.size)

    @property
    def n_words(self) -> int:
        """Number of words that hold one bit per cell."""
        return -(-self.n_cells // 64)

    @property
    def one_share(self) -> float:
        """Share of a single observation."""
        return 1.0 / float(self.counts.sum())

    def by_index(self, mode: int) -> IndexedCells:
        """Return the cells in order of their index of a mode, in cell order within an index."""
        low, high = self.offsets[mode : mode + 2].tolist()
        column = self.rows[:, mode]
        order = np.argsort(column, kind="stable")
        starts = np.searchsorted(column[order], np.arange(low, high + 1))
        return IndexedCells(
            rows=np.take(self.rows, order, axis=0),
            targets=self.targets[order],
            shares=self.shares[order],
            starts=starts.astype(np.int64),
        )

    def rescaled(self, factor: float) -> PackedCells:
        """Return the same cells in units of a radius that is ``factor`` times this one."""
        return replace(
            self, targets=self.targets / factor, constant=scaled_constant(self.constant, factor**2)
        )

    def sample(self, size: int, rng: np.random.Generator) -> PackedCells:
        """Return about ``size`` random cells as a smaller problem (repeats count once)."""
        chosen = distinct(rng.integers(0, self.n_cells, size=size))
        packed = pack_sample(
            shape=self.shape,
            rows=np.take(self.rows, chosen, axis=0),
            targets=self.targets[chosen],
            counts=self.counts[chosen],
            shares=self.shares[chosen] if self.weighted else None,
            constant=self.constant,
        )
        return replace(packed, order=self.order[chosen])


def pack_cells(
    observations: Observations, radius: float, workers: Workers | None = None
) -> PackedCells:
    """Arrange the observed cells for the kernels, in units of the radius."""
    order = _most_often_first(observations.counts)
    counts = observations.counts[order]
    targets, shares = np.empty(counts.size), np.empty(counts.size)

    def write(piece: int) -> None:
        if piece == 0:
            np.divide(observations.means[order], radius, out=targets)
        else:
            np.take(observations.cell_shares(), order, out=shares)

    (Workers(1) if workers is None else workers).run(write, 2)
    return PackedCells(
        shape=observations.shape,
        rows=positions(observations.coords, observations.shape, order, workers),
        offsets=mode_offsets(observations.shape),
        targets=targets,
        shares=shares,
        counts=counts,
        extra=count_planes(counts),
        weighted=observations.shares is not None,
        constant=scaled_constant(observations.within, radius**2),
        order=order,
    )


def _most_often_first(counts: AnyArray) -> AnyArray:
    """Return the cells in order of falling counts; cells of equal count stay in order.

    Only the cells observed more than once are sorted; usually there are few of them.
    """
    kind = np.min_scalar_type(counts.size)
    repeated = np.flatnonzero(counts > 1).astype(kind)
    if repeated.size == 0:
        return np.arange(counts.size, dtype=kind)
    more = counts[repeated]
    repeated = repeated[np.argsort(more.max() - more, kind="stable")]
    return np.concatenate((repeated, np.flatnonzero(counts == 1).astype(kind)))


def pack_sample(
    *,
    shape: Shape,
    rows: AnyArray,
    targets: FloatArray,
    counts: AnyArray,
    shares: FloatArray | None,
    constant: float,
) -> PackedCells:
    """Return some cells, given in order of falling counts, as a smaller problem.

    ``shares`` (m,) say how much each cell counts, if not its count; they need not sum to 1.
    """
    return PackedCells(
        shape=shape,
        rows=rows,
        offsets=mode_offsets(shape),
        targets=targets,
        shares=counts / float(counts.sum()) if shares is None else shares / shares.sum(),
        counts=counts,
        extra=count_planes(counts),
        weighted=shares is not None,
        constant=constant,
        order=np.arange(targets.size),
    )


def distinct(numbers: IndexArray) -> IndexArray:
    """Sort numbers in place and return the distinct ones, much faster than ``np.unique``."""
    numbers.sort()
    return numbers[np.concatenate(([True], numbers[1:] != numbers[:-1]))]


def count_planes(counts: AnyArray) -> WordArray:
    """Return the bit planes of ``counts - 1`` up to the last cell observed more than once.

    Row k holds bit k of every count minus 1. Cells must come in order of falling counts.
    """
    repeated = int(np.count_nonzero(counts > 1))
    n_words = -(-repeated // 64)
    more = np.zeros(64 * n_words, dtype=np.int64)
    more[:repeated] = counts[:repeated] - 1
    n_planes = int(more.max(initial=0)).bit_length()
    planes = np.zeros((n_planes, n_words), dtype=np.uint64)
    for plane in range(n_planes):
        digits = ((more >> plane) & 1).astype(np.uint8)
        planes[plane] = np.packbits(digits, bitorder="little").view("<u8")
    return planes
