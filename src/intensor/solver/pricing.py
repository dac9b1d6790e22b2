"""Pricing: many new vertices at a time, from many starts in bit lanes."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from intensor.arrays import FlagArray, FloatArray, WordArray
from intensor.budget import Budget
from intensor.kernels.lanes import (
    descend_lanes,
    join_lanes,
    lane_sums,
    mix_starts,
    split_lanes,
    still_falling,
    switch_lanes,
)
from intensor.kernels.threads import Workers, blocks_of
from intensor.solver.gram_set import GramSet, key
from intensor.solver.packed_cells import PackedCells

__all__ = ["CHOOSY", "FEW_CELLS", "MANY_CELLS", "Effort", "Pricing", "Proposals"]

SHARE = 0.3
"""A vertex enters when it gains at least this share of what the best one gains."""


NEWEST = 16
"""Vertices that count as the last winners."""
MOST_SUMS = 1 << 19
"""Indices of the longest mode, over all blocks, that sums are kept for: 256 MiB of them."""
COMPLEMENTS = np.uint64(0x8080808080808080)
"""Lanes whose vertex is replaced by its complement before it is perturbed."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How hard to look: batches, starts in each, sweeps of each, vertices to take at most."""

    batches: int
    starts: int
    sweeps: int
    most: int


HARDER = (Effort(1, 64, 60, 32), Effort(4, 64, 60, 48), Effort(32, 64, 60, 64))
FEW_CELLS = (Effort(1, 32, 8, 6), *HARDER)
MANY_CELLS = (Effort(1, 16, 3, 16), *HARDER)
"""A few short descents do while vertices are easy to find; more are made when they are not."""
CHOOSY = Effort(1, 64, 20, 32)
"""Longer descents from more starts: for when each vertex is dear."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Proposals:
    """New vertices with their signs, best first, and the best gain of any start, new or not."""

    flags: FlagArray
    signs: FloatArray
    best: float


class Pricing:
    """Alternating minimisation from a mixture of starts.

    Half of the starts are active vertices with some indices flipped, which finds what random
    starts miss late in a run: every other one of the newest, the rest of any age, a few of
    them complements. The others are random, sparse and dense ones among them. In the signed
    polytope every batch is done twice, the second time for vertices with a minus.

    Attributes
    ----------
    runs
        Descents made so far.
    """

    def __init__(
        self,
        cells: PackedCells,
        workers: Workers,
        rng: np.random.Generator,
        *,
        signed: bool = False,
    ) -> None:
        self.runs = 0
        self._signs = (1.0, -1.0) if signed else (1.0,)
        self._cells = cells
        self._rng = rng
        self._workers = workers
        self._blocks = blocks_of(cells.n_cells, share=4)
        if len(self._blocks) * max(cells.shape) > MOST_SUMS:
            self._blocks = [(0, cells.n_cells)]
        self._sums: FloatArray = np.empty((len(self._blocks), max(cells.shape), 64))
        self._values: FloatArray = np.empty(64)

    def propose(self, active: GramSet, effort: Effort, budget: Budget) -> Proposals:
        """Return the new vertices among those that gain nearly as much as the best."""
        best = -np.inf
        found: dict[bytes, tuple[float, FlagArray, float]] = {}
        for batch, sign in itertools.product(range(effort.batches), self._signs):
            lanes = self._starts(active, effort.starts, sign, perturb=batch % 2 == 0)
            self._descend(active.costs if sign > 0.0 else -active.costs, effort, lanes)
            self.runs += effort.starts
            values = self._values[: effort.starts]
            best = max(best, float(active.product - values.min()))
            floor = max(SHARE * best, 0.0)
            chosen = np.argsort(values, kind="stable")
            chosen = chosen[active.product - values[chosen] > floor]
            flags = np.empty((chosen.size, lanes.size), dtype=np.uint8)
            split_lanes(lanes, chosen, flags)
            most = len(found) + effort.most
            for row, value in zip(flags, values[chosen].tolist(), strict=True):
                name = key(row, sign)
                if name not in active.known:
                    found[name] = (value, row, sign)
                    if len(found) == most:
                        break
            if budget.spent:
                break
        ranked = sorted(found.values(), key=lambda candidate: candidate[0])
        kept = [one for one in ranked if active.product - one[0] > SHARE * best][: effort.most]
        flags = np.array([row for _, row, _ in kept], dtype=np.uint8)
        return Proposals(
            flags=flags.reshape(-1, int(self._cells.offsets[-1])),
            signs=np.array([sign for _, _, sign in kept]),
            best=best,
        )

    def _descend(self, costs: FloatArray, effort: Effort, lanes: WordArray) -> None:
        """Descend in all lanes: in one go on few cells, block by block on many."""
        cells, values = self._cells, self._values
        count = effort.starts
        if len(self._blocks) == 1:
            descend_lanes(
                cells.rows, cells.offsets, costs, count, effort.sweeps, self._sums[0], lanes, values
            )
            return
        live = np.uint64((1 << count) - 1)
        reached = np.empty(64)
        values[:] = np.inf
        for _ in range(effort.sweeps):
            for mode, (low, high) in enumerate(itertools.pairwise(cells.offsets.tolist())):
                sums = self._sums[:, : high - low]
                self._sum_blocks(costs, lanes, live, mode, low, sums)
                switch_lanes(sums.sum(axis=0), live, count, lanes[low:high], reached)
            live = np.uint64(still_falling(live, reached, values))
            if not live:
                return

    def _sum_blocks(
        self,
        costs: FloatArray,
        lanes: WordArray,
        live: np.uint64,
        mode: int,
        low: int,
        out_sums: FloatArray,
    ) -> None:
        def add_up(block: int) -> None:
            first, last = self._blocks[block]
            out = out_sums[block]
            lane_sums(self._cells.rows, costs, lanes, live, mode, low, first, last, out)

        self._workers.run(add_up, len(self._blocks))

    def _starts(self, active: GramSet, count: int, sign: float, *, perturb: bool) -> WordArray:
        """Return one start per lane; if told so, the first half are perturbed vertices."""
        lanes = np.zeros(int(self._cells.offsets[-1]), dtype=np.uint64)
        noise = self._rng.integers(0, 2**64, size=(4, lanes.size), dtype=np.uint64)
        known = np.zeros_like(lanes)
        alike = np.flatnonzero(active.signs == sign) if perturb else np.empty(0, dtype=np.int64)
        n_known = count // 2 if alike.size else 0
        if n_known:
            chosen = self._rng.integers(0, alike.size, size=n_known)
            chosen[::2] = alike.size - 1 - chosen[::2] % NEWEST
            join_lanes(active.flags, alike[np.maximum(chosen, 0)], known)
            known ^= COMPLEMENTS
        mix_starts(noise, known, n_known, lanes)
        return lanes
