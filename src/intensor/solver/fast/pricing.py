"""Pricing: many new vertices at a time, from many starts in bit lanes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from intensor._arrays import FlagArray, FloatArray, WordArray
from intensor.backends.base import Cells
from intensor.kernels.lanes import join_lanes, mix_starts, split_lanes
from intensor.runtime.budget import Budget
from intensor.solver.fast.gram_set import GramSet, key
from intensor.solver.fast.tuning import TUNING, Effort, Tuning

ENTRY_SHARE = 0.3
"""A vertex is proposed when it gains at least this share of what the best one gains."""
NEWEST_VERTICES = 16  # number of vertices, counted from the last, that count as the newest
REFINING_SWEEPS = 2  # sweeps of a refinement
COMPLEMENTED_LANES = np.uint64(0x8080808080808080)
"""Lanes whose vertex is replaced by its complement before it is perturbed."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Proposals:
    """New vertices with their signs, best first, and the best gain of any start, new or not."""

    flags: FlagArray
    signs: FloatArray
    best: float


class Priced(Protocol):
    """The vertices or components in use, as far as pricing needs them."""

    @property
    def cells(self) -> Cells:
        """The cells, with the gradient on them."""

    @property
    def product(self) -> float:
        """Gradient times iterate."""

    @property
    def flags(self) -> FlagArray:
        """(k, sum(shape)) vertices to start from."""

    @property
    def signs(self) -> FloatArray:
        """(k,) their signs, 1 or -1."""

    @property
    def known(self) -> Container[bytes]:
        """Keys of the vertices that are not to be proposed."""


class Pricing:
    """Alternating minimisation from a mixture of starts.

    Half of the starts are active vertices with some indices flipped, which finds vertices that
    random starts miss late in a run. Every other one is among the newest, the rest are of any age,
    and a few are complements. The other half are random, some sparse and some dense. In the signed
    polytope every batch is done twice, the second time for vertices with a negative sign.
    """

    def __init__(
        self, rng: np.random.Generator, *, signed: bool = False, tuning: Tuning = TUNING
    ) -> None:
        self.runs = 0  # number of descents so far
        self._signs = (1.0, -1.0) if signed else (1.0,)
        self._rng = rng
        self._tuning = tuning

    def propose(self, active: Priced, effort: Effort, budget: Budget) -> Proposals:
        """Return the new vertices among those that gain nearly as much as the best."""
        best = -np.inf
        found: dict[bytes, tuple[float, FlagArray, float]] = {}
        for batch, sign in itertools.product(range(effort.batches), self._signs):
            lanes = self._starts(active, effort.starts, sign, perturb=batch % 2 == 0)
            values = self._descend(active.cells, lanes, effort, sign, budget)
            self.runs += effort.starts
            best = max(best, float(active.product - values.min()))
            floor = max(ENTRY_SHARE * best, 0.0)
            chosen = np.argsort(values, kind="stable")
            chosen = chosen[active.product - values[chosen] > floor]
            flags = np.empty((chosen.size, lanes.size), dtype=np.uint8)
            split_lanes(lanes, chosen, flags)
            most = len(found) + effort.max_vertices
            for row, value in zip(flags, values[chosen].tolist(), strict=True):
                name = key(row, sign)
                if name not in active.known:
                    found[name] = (value, row, sign)
                    if len(found) == most:
                        break
            if budget.spent:
                break
        ranked = sorted(found.values(), key=lambda candidate: candidate[0])
        kept = [
            (row, sign)
            for value, row, sign in ranked[: effort.max_vertices]
            if active.product - value > ENTRY_SHARE * best
        ]
        return _proposals(kept, best, active)

    def refine(self, active: GramSet, least: float) -> Proposals:
        """Return vertices that would do better than some in use.

        Late in a run a new vertex of the linear model is worth only a small weight: most of the
        remaining error is a few wrong indices of vertices that have weight. They are found with the
        curvature taken into account, vertex by vertex, with all others unchanged. The objective
        must fall by at least ``least``.
        """
        found: dict[bytes, tuple[FlagArray, float]] = {}
        best = -np.inf
        for sign in self._signs:
            used = np.flatnonzero((active.weights > 0.0) & (active.signs == sign))
            if used.size > 64:
                used = self._rng.choice(used, 64, replace=False)
            if used.size == 0:
                continue
            lanes = np.zeros(int(active.cells.offsets[-1]), dtype=np.uint64)
            join_lanes(active.flags, used, lanes)
            weights = active.weights[used]
            values = active.cells.refine(lanes, weights, REFINING_SWEEPS, negative=sign < 0.0)
            self.runs += used.size
            falls = weights * (active.exchange_costs(used) - values)
            best = max(best, float(falls.max()))
            chosen = np.flatnonzero(falls > least)
            flags = np.empty((chosen.size, lanes.size), dtype=np.uint8)
            split_lanes(lanes, chosen, flags)
            for row in flags:
                if key(row, sign) not in active.known:
                    found[key(row, sign)] = (row, sign)
        return _proposals(list(found.values()), best, active)

    def _starts(self, active: Priced, count: int, sign: float, *, perturb: bool) -> WordArray:
        """Return one start per lane; with ``perturb`` the first half are perturbed vertices."""
        lanes = np.zeros(int(active.cells.offsets[-1]), dtype=np.uint64)
        noise = self._rng.integers(0, 2**64, size=(4, lanes.size), dtype=np.uint64)
        known = np.zeros_like(lanes)
        alike = np.flatnonzero(active.signs == sign) if perturb else np.empty(0, dtype=np.int64)
        n_known = count // 2 if alike.size else 0
        if n_known:
            chosen = self._rng.integers(0, alike.size, size=n_known)
            chosen[::2] = alike.size - 1 - chosen[::2] % NEWEST_VERTICES
            join_lanes(active.flags, alike[np.maximum(chosen, 0)], known)
            known ^= COMPLEMENTED_LANES
        mix_starts(noise, known, n_known, lanes)
        return lanes

    def _descend(
        self, cells: Cells, lanes: WordArray, effort: Effort, sign: float, budget: Budget
    ) -> FloatArray:
        """Descend from the starts in the lanes; ask the budget between sweeps that take long."""
        negative, tuning = sign < 0.0, self._tuning
        limited = math.isfinite(budget.remaining)
        most = tuning.max_unchecked_cells_limited if limited else tuning.max_unchecked_cells
        longest = tuning.max_unchecked_indices_limited if limited else tuning.max_unchecked_indices
        if lanes.size <= longest and cells.n_cells <= most:
            return cells.descend(lanes, effort.starts, effort.sweeps, negative=negative)
        # Sweep by sweep, with the same bits: a lane stays as it is once its value stops falling.
        values = np.full(effort.starts, np.inf)
        falling = np.ones(effort.starts, dtype=bool)
        for sweep in range(effort.sweeps):
            if sweep and budget.spent:
                break
            before = lanes.copy()
            found = cells.descend(lanes, effort.starts, 1, negative=negative)
            live = np.uint64(sum(1 << lane for lane in np.flatnonzero(falling).tolist()))
            lanes &= live
            lanes |= before & ~live
            falling &= found < values
            values[falling] = found[falling]
            if not falling.any():
                break
        return values


def _proposals(
    vertices: Sequence[tuple[FlagArray, float]], best: float, active: Priced
) -> Proposals:
    flags = np.array([row for row, _ in vertices], dtype=np.uint8)
    return Proposals(
        flags=flags.reshape(-1, int(active.cells.offsets[-1])),
        signs=np.array([sign for _, sign in vertices]),
        best=best,
    )
