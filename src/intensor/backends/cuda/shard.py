"""A shard whose sums are taken on a CUDA device; a twin of ``shards.shard.Shard``."""

from __future__ import annotations

from typing import Any

import numpy as np

from intensor._arrays import FloatArray, IndexArray, WordArray
from intensor.backends.base import BoundSums
from intensor.backends.cuda.cells import CudaCells
from intensor.backends.cuda.device import array_module
from intensor.backends.cuda.observations import DeviceObservations
from intensor.backends.sharded.shard import Exchange, Picked, Shard, State
from intensor.runtime.threads import Workers

__all__ = ["DeviceShard"]


class DeviceShard:
    """The cells of a shard on a device.

    What comes with a call still decides its answer; the state of the last one is kept to spare its
    evaluation. It travels as the shard it was made of.

    Parameters
    ----------
    shard
        At least one cell, in memory.
    """

    def __init__(self, shard: Shard) -> None:
        xp = array_module()
        self._shard = shard
        once = int(shard.counts.max()) == 1
        self._rows = xp.asarray(np.ascontiguousarray(shard.rows.T))
        self._counts = xp.asarray(np.ones(1, dtype=np.uint8) if once else shard.counts)
        self._means = xp.asarray(shard.means)
        self._state: State | None = None
        self._totals = np.zeros(2)
        self._cells = self._open(1.0, 1.0)

    def __reduce__(self) -> tuple[Any, ...]:
        return DeviceShard, (self._shard,)

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return self._shard.n_cells

    def __sizeof__(self) -> int:
        """Bytes that would travel, for a scheduler to leave shards where they are."""
        held = (self._shard.rows, self._shard.means, self._shard.counts)
        return sum(int(array.nbytes) for array in held)

    def evaluate(self, state: State, workers: Workers) -> FloatArray:
        """Return the sums of share (x - target)^2 and of gradient times x."""
        self._move_to(state)
        return self._totals

    def mode_sums(
        self,
        state: State,
        lanes: WordArray,
        live: np.uint64,
        mode: int,
        exchange: Exchange | None,
        workers: Workers,
        *,
        negative: bool = False,
    ) -> FloatArray:
        """Return the (r, 64) cost of each index of a mode, lane by lane."""
        self._move_to(state)
        return self._cells.mode_sums(
            lanes,
            live,
            mode,
            origins=None if exchange is None else exchange.lanes,
            weights=None if exchange is None else exchange.weights,
            negative=negative,
        )

    def gram(self, words: WordArray, first: int, last: int, workers: Workers) -> FloatArray:
        """Return the (last - first, last) numbers of observations that vertices have in common."""
        return self._cells.common(words, first, last)

    def vertex_sums(
        self, state: State, words: WordArray, first: int, last: int, workers: Workers
    ) -> FloatArray:
        """Return the (last - first,) sums of the gradient over vertices."""
        self._move_to(state)
        found = np.zeros(last)
        self._cells.vertex_sums(words, first, last, found)
        return found[first:]

    def bound_sums(self, state: State, workers: Workers) -> BoundSums:
        """Return what the free bound is made of."""
        self._move_to(state)
        return self._cells.bound_sums()

    def draw(self, seed: np.uint64, limit: np.uint64, workers: Workers) -> Picked:
        """Return random cells, which ones depends on seed and cell alone."""
        return self._shard.draw(seed, limit, workers)

    def pick(self, places: IndexArray) -> Picked:
        """Return some cells."""
        return self._shard.pick(places)

    def _move_to(self, state: State) -> None:
        """Evaluate a state, unless it is the one evaluated last."""
        known = self._state
        if known is not None and _same(known, state):
            return
        if known is None or (known.radius, known.one_share) != (state.radius, state.one_share):
            self._cells = self._open(state.radius, state.one_share)
        count = state.weights.size
        self._totals = np.array(self._cells.evaluate(state.words, count, state.weights))
        self._state = state

    def _open(self, radius: float, one_share: float) -> CudaCells:
        data = DeviceObservations(
            shape=self._shard.shape,
            rows=self._rows,
            counts=self._counts,
            means=self._means,
            n=round(1.0 / one_share),
            within=0.0,
            mean_square=0.0,
        )
        return CudaCells(data, radius, Workers(1))


def _same(one: State, two: State) -> bool:
    return (
        one.radius == two.radius
        and one.one_share == two.one_share
        and np.array_equal(one.weights, two.weights)
        and np.array_equal(one.words, two.words)
    )
