"""Three ways to price the indices of one mode with all others fixed: the heart of AltMin.

The cost of index a of mode k is the sum of the costs of the cells with ``x_k = a`` whose
other modes are all on. The three ways add the same numbers in the same order, so they agree
to the last bit; they loop over different things.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from intensor._arrays import FlagArray, FloatArray
from intensor.data.observations import Observations
from intensor.kernels.sums import contract_by_index
from intensor.problem.layout import cell_matrix
from intensor.problem.vertex import mode_offsets, mode_slices


class Contraction(Protocol):
    """Prices the indices of a mode."""

    def __init__(self, observations: Observations) -> None: ...

    def index_costs(self, mode: int, flags: FlagArray, costs: FloatArray) -> FloatArray:
        """Return the (r_mode,) costs of the indices of a mode for (u,) costs of cells.

        The mode's own (of sum(shape)) flags do not matter.
        """
        ...


class PerCell:
    """A plain loop over the cells: the paper's original way."""

    def __init__(self, observations: Observations) -> None:
        self._coords = observations.coords
        self._indices = [column.tolist() for column in observations.coords]
        self._slices = mode_slices(observations.shape)
        self._lengths = observations.shape

    def index_costs(self, mode: int, flags: FlagArray, costs: FloatArray) -> FloatArray:
        """Return the costs of the indices of a mode, one addition per cell."""
        on = np.ones(costs.size, dtype=bool)  # whether all other modes of a cell are on
        for other, column in enumerate(self._coords):
            if other != mode:
                on &= flags[self._slices[other]].view(bool)[column]
        sums = [0.0] * self._lengths[mode]
        for index, cost in zip(self._indices[mode], np.where(on, costs, 0.0).tolist(), strict=True):
            sums[index] += cost
        return np.array(sums)


class PerIndexRemembered:
    """A compiled loop over the indices with their cells remembered: "Index" and "Pattern"."""

    def __init__(self, observations: Observations) -> None:
        self._cells = cell_matrix(observations.coords, observations.shape)
        self._offsets = mode_offsets(observations.shape)
        self._orders = []
        self._starts = []
        for column, length in zip(observations.coords, observations.shape, strict=True):
            order = np.argsort(column, kind="stable")
            self._orders.append(order.astype(np.int32 if order.size < 2**31 else np.int64))
            self._starts.append(np.searchsorted(column[order], np.arange(length + 1)))
        self._sums = [np.empty(length) for length in observations.shape]

    def index_costs(self, mode: int, flags: FlagArray, costs: FloatArray) -> FloatArray:
        """Return the costs of the indices of a mode (valid until the next call for it)."""
        out = self._sums[mode]
        contract_by_index(
            self._cells,
            self._offsets,
            self._orders[mode],
            self._starts[mode],
            mode,
            flags,
            costs,
            out,
        )
        return out
