"""Which mode plays which part in an exact search, and the way back from its answer to flags.

The longest mode gives the columns, which are read off the signs of their sums; the next one gives
the rows, which are cut into blocks; the third gives the slabs; any others are counted
through (``rest``). Indices without a negative cost are left out: having one on never pays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intensor._arrays import AnyArray, FlagArray, FloatArray, IndexArray
from intensor.data.observations import Observations
from intensor.problem.vertex import mode_offsets
from intensor.runtime.threads import one_blas_thread


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Arrangement:
    """The parts of the modes, longest first among those that have any index left."""

    # For each part (columns, rows, slabs, rest...) the positions in a vertex's flags of the indices
    # that were kept, in the order of the search
    kept: tuple[IndexArray, ...]
    # For each part, (u,) position of each cell's index in ``kept``; minus one if it was left out
    positions: tuple[IndexArray, ...]
    n_flags: int  # Length of a vertex

    @property
    def lengths(self) -> tuple[int, ...]:
        """Number of indices of each part: columns, rows, slabs, rest..."""
        return tuple(max(1, part.size) for part in self.kept)

    def dense(self, numbers: AnyArray) -> AnyArray:
        """Return the costs as a tensor (rest..., slabs, rows, columns), zero where unobserved."""
        inside = np.all([positions >= 0 for positions in self.positions], axis=0)
        tensor = np.zeros(self.lengths[::-1], dtype=numbers.dtype)
        tensor[tuple(positions[inside] for positions in self.positions[::-1])] = numbers[inside]
        return tensor

    def ordered(self, part: int, order: IndexArray) -> Arrangement:
        """Return this arrangement with the indices of a part in another order."""
        where = np.empty(order.size + 1, dtype=np.int64)
        where[order] = np.arange(order.size)
        where[-1] = -1  # for cells that were left out
        kept, positions = list(self.kept), list(self.positions)
        kept[part] = self.kept[part][order]
        positions[part] = where[self.positions[part]]
        return Arrangement(kept=tuple(kept), positions=tuple(positions), n_flags=self.n_flags)

    def flags(self, chosen: list[AnyArray]) -> FlagArray:
        """Return the vertex with the chosen indices (0 or 1 for each of every part) on."""
        flags = np.zeros(self.n_flags, dtype=np.uint8)
        for part, on in zip(self.kept, chosen, strict=True):
            flags[part] = on[: part.size]
        return flags


def arrange(observations: Observations, costs: FloatArray) -> Arrangement:
    """Return the parts that the modes play for costs of which some are negative.

    A tensor of one mode gets rows of its own, a single one that holds every cell.
    """
    negative = costs < 0.0
    offsets = mode_offsets(observations.shape)
    parts: list[tuple[IndexArray, IndexArray]] = []
    for mode, column in enumerate(observations.coords):
        used = np.zeros(observations.shape[mode], dtype=bool)
        used[column[negative]] = True
        kept = np.flatnonzero(used)
        where = np.full(used.size, -1, dtype=np.int64)
        where[kept] = np.arange(kept.size)
        parts.append((offsets[mode] + kept, where[column]))
    parts.sort(key=lambda part: -part[0].size)
    if len(parts) == 1:
        parts.append((np.empty(0, dtype=np.int64), np.zeros(costs.size, dtype=np.int64)))
    return Arrangement(
        kept=tuple(part[0] for part in parts),
        positions=tuple(part[1] for part in parts),
        n_flags=int(offsets[-1]),
    )


def weights_of(arrangement: Arrangement, part: int, costs: FloatArray) -> FloatArray:
    """Return the sum of absolute costs of each index of a part."""
    positions = arrangement.positions[part]
    inside = positions >= 0
    length = arrangement.lengths[part]
    weights: FloatArray = np.bincount(
        positions[inside], np.abs(costs[inside]), minlength=length
    ).astype(np.float64)
    return weights


def distribute_rows(arrangement: Arrangement, costs: FloatArray, blocks: int) -> IndexArray:
    """Return an order of the rows that makes the blocks of neighbouring rows resemble each other.

    Rows are ranked by their weight in the leading singular vector and dealt out to the blocks
    in turn. Blocks that resemble each other agree on the columns sooner than blocks that
    each hold rows of one kind.
    """
    n_columns, n_rows = arrangement.lengths[:2]
    columns, rows = arrangement.positions[:2]
    inside = (columns >= 0) & (rows >= 0)
    cells = rows[inside] * n_columns + columns[inside]
    shares = costs[inside] / np.abs(costs).max()
    matrix = np.bincount(cells, shares, minlength=n_rows * n_columns).reshape(n_rows, n_columns)
    with one_blas_thread():
        leading = np.linalg.eigh(matrix @ matrix.T)[1][:, -1]
    rank = np.empty(n_rows, dtype=np.int64)
    rank[np.argsort(leading, kind="stable")] = np.arange(n_rows)
    return np.argsort(rank % blocks, kind="stable")


def with_ground(costs: AnyArray, axis: int) -> AnyArray:
    """Return costs with a slab of zeros in front along an axis: the one that is always on."""
    ground = np.zeros_like(np.take(costs, [0], axis=axis))
    return np.concatenate((ground, costs), axis=axis)
