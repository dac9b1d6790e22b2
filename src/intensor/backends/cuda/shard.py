"""A shard whose cells are summed over on a CUDA device, the twin of ``sharded.shard``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np

from intensor._arrays import FloatArray, WordArray
from intensor.backends.base import BoundSums, NormalEquations
from intensor.backends.cuda.cells import CudaCells
from intensor.backends.cuda.device import array_module
from intensor.backends.cuda.mode_order import ModeOrder
from intensor.backends.cuda.observations import DeviceObservations
from intensor.backends.sharded.shard import Shard, State, WeightedComponents
from intensor.runtime.threads import Workers


class DeviceShard:
    """The cells of a shard on a device.

    As with ``Shard``, an answer depends only on the call. The last state is kept so that it is not
    evaluated again, and so is the order of the cells in every mode that was asked for. It is
    pickled as the shard in memory, which must have at least one cell.
    """

    def __init__(self, shard: Shard) -> None:
        xp = array_module()
        self._shard = shard
        once = int(shard.counts.max()) == 1
        self._data = DeviceObservations(
            shape=shard.shape,
            rows=xp.asarray(np.ascontiguousarray(shard.rows.T)),
            counts=xp.asarray(np.ones(1, dtype=np.uint8) if once else shard.counts),
            means=xp.asarray(shard.means),
            n=1,
            within=0.0,
            mean_square=0.0,
        )
        self._state: State | None = None
        self._totals = np.zeros(2)
        self._orders: dict[int, ModeOrder] = {}
        self._cells = self._open(1.0, 1.0)
        self._units = (1.0, 1.0)  # radius and share of a single observation, of these cells

    def __reduce__(self) -> tuple[Any, ...]:
        return DeviceShard, (self._shard,)

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return self._shard.n_cells

    def __sizeof__(self) -> int:
        return self._shard.__sizeof__()

    def evaluate(self, state: State, *, workers: Workers) -> FloatArray:
        """Return the sums of share (x - target)^2 and of gradient times x."""
        self._move_to(state)
        return self._totals

    def mode_sums(
        self,
        state: State,
        lanes: WordArray,
        live: np.uint64,
        mode: int,
        *,
        workers: Workers,
        **options: Any,
    ) -> FloatArray:
        """Return the (r, 64) cost of each index of a mode, lane by lane."""
        self._move_to(state)
        return self._cells.mode_sums(lanes, live, mode, **options)

    def gram(self, words: WordArray, first: int, last: int, *, workers: Workers) -> FloatArray:
        """Return the (last - first, last) numbers of observations that vertices have in common."""
        return self._cells.common(words, first, last)

    def vertex_sums(
        self, state: State, words: WordArray, first: int, last: int, *, workers: Workers
    ) -> FloatArray:
        """Return the (last - first,) sums of the gradient over vertices."""
        self._move_to(state)
        found = np.zeros(last)
        self._cells.vertex_sums(words, first, last, found)
        return found[first:]

    def bound_sums(self, state: State, *, workers: Workers) -> BoundSums:
        """Return the sums that make up the free bound."""
        self._move_to(state)
        return self._cells.bound_sums()

    def normal_equations(
        self, state: State, mode: int, low: int, high: int, *, workers: Workers
    ) -> NormalEquations:
        """Return the normal equations of the indices low..high-1 of a mode at some components."""
        components = cast(WeightedComponents, state.iterate)
        self._use_units(state)
        return self._cells.normal_equations(mode, components.factors, components.weights, low, high)

    def draw(self, seed: np.uint64, threshold: np.uint64, *, workers: Workers) -> Shard:
        """Return random cells; whether a cell is drawn depends on it and the seed alone."""
        return self._shard.draw(seed, threshold, workers=workers)

    def fetch(self, *, workers: Workers) -> Shard:
        """Return all cells in memory."""
        return self._shard

    def _move_to(self, state: State) -> None:
        """Evaluate a state unless it was the last one to be evaluated."""
        if self._state is None or not self._state.same(state):
            self._use_units(state)
            self._totals = np.array(state.iterate.evaluate(self._cells))
            self._state = state

    def _use_units(self, state: State) -> None:
        """Open the cells again if their radius is not that of a state; no state is known then."""
        units = (state.radius, state.one_share)
        if units != self._units:
            self._cells = self._open(*units)
            self._state, self._units = None, units

    def _open(self, radius: float, one_share: float) -> CudaCells:
        data = replace(self._data, n=round(1.0 / one_share))
        return CudaCells(data, radius, Workers(1), orders=self._orders)
