"""The master problem: the exact best weights of the active vertices, in Gram space.

Minimise ``w'Gw - 2b'w`` over ``w >= 0, sum w <= 1`` (the zero vertex takes the rest). The
method is a primal active set with a Cholesky factor of the support's Gram matrix that is
updated, never recomputed: a vertex comes or goes in O(k^2).

Two things make it exact where others break down. It works on *changes* of the weights, from
the half-gradient ``q = Gw - b`` that the caller computed on the cells: near a perfect fit q is
tiny and known to full relative precision, while ``Gw`` and ``b`` are not. And a tiny ridge on
the changes keeps the factor positive definite when vertices are dependent; since it acts on
the change and not on the weights, it only makes each call a proximal step, and the steps
converge to the optimum of the problem without ridge.

With many vertices in use, weight is exchanged between pairs first, which is nearly always enough;
the factor is computed anew when it is not. The loops are ``kernels.simplex_weights`` and
``kernels.pair_exchange``.
"""

from __future__ import annotations

import math

import numpy as np

from intensor._arrays import FloatArray, IndexArray
from intensor.kernels.pair_exchange import exchange
from intensor.kernels.simplex_weights import improve_weights
from intensor.runtime.budget import Budget
from intensor.runtime.threads import one_blas_thread
from intensor.solver.fast.tuning import TUNING, Tuning
from intensor.storage.reader import Tree, TreeReader

RELATIVE_RIDGE = 1e-12  # ridge of the factor, as a share of the mean diagonal of the Gram matrix


class Master:
    """Weights of the active vertices, which are zero off the support, with the support's factor."""

    def __init__(self, capacity: int, tuning: Tuning = TUNING) -> None:
        self.weights: FloatArray = np.zeros(capacity)
        self.support: IndexArray = np.zeros(capacity, dtype=np.int64)
        """Indices of the vertices in use, in the order of the factor."""
        self.size = 0  # vertices in use
        self.full = False  # whether the weights sum to 1, so that the zero vertex has none
        self.rounds = 0  # times that vertices entered
        self._factor: FloatArray = np.zeros((capacity, capacity))
        self._factored = True
        self._pause = 0
        self._seconds_per_square = 0.0
        self._tuning = tuning

    def grow(self, capacity: int) -> None:
        """Raise the capacity."""
        old = self.weights.size
        self.weights = np.concatenate((self.weights, np.zeros(capacity - old)))
        self.support = np.concatenate((self.support, np.zeros(capacity - old, dtype=np.int64)))
        if self.size >= self._tuning.exchange_support or not self._factored:
            self._factor = np.zeros((0, 0))  # exchanges do not need it, and it would be large
            self._factored = False
            return
        factor = np.zeros((capacity, capacity))
        factor[:old, :old] = self._factor
        self._factor = factor

    def renumber(self, positions: IndexArray) -> None:
        """Follow vertices that moved: the one at index i is now at ``positions[i]``."""
        used = self.support[: self.size].copy()
        weights = self.weights[used]
        self.support[: self.size] = positions[used]
        self.weights[:] = 0.0
        self.weights[self.support[: self.size]] = weights

    def capture(self, count: int) -> Tree:
        """Return the weights of ``count`` vertices and the factor.

        The factor must be kept: updates leave other roundings in it than a fresh one has.
        """
        size = self.size
        return {
            "weights": self.weights[:count].copy(),
            "support": self.support[:size].copy(),
            "full": bool(self.full),
            "rounds": int(self.rounds),
            "pause": int(self._pause),
            "factor": self._factor[:size, :size].copy() if self._factored else None,
        }

    def restore(self, saved: TreeReader, count: int) -> None:
        """Take over the weights of ``count`` vertices, at most as many as the capacity."""
        weights = saved.finite_array("weights", (count,))
        support = saved.array("support", "<i8", (None,))
        size, used = support.size, np.zeros(count, dtype=bool)
        if size and not 0 <= support.min() <= support.max() < count:
            raise saved.damaged("vertices in use are out of range")
        used[support] = True
        if np.count_nonzero(used) != size or weights[~used].any():
            raise saved.damaged("vertices in use and weights do not agree")
        if (weights < 0.0).any() or weights.sum() > 1.0 + 1e-6:
            raise saved.damaged("weights are not those of a point of the polytope")
        self.weights[:count], self.support[:size], self.size = weights, support, size
        self.full, self.rounds = saved.flag("full"), saved.count("rounds")
        self._pause = saved.count("pause", most=self._tuning.exchange_pause)
        self._factored = "factor" in saved
        self._factor = np.zeros((0, 0))
        if self._factored:
            self._factor = np.zeros((self.weights.size, self.weights.size))
            factor = np.triu(saved.array("factor", "<f8", (size, size)))
            if not (np.isfinite(factor).all() and (np.diag(factor) > 0.0).all()):
                raise saved.damaged("the factor is not one")
            self._factor[:size, :size] = factor

    def solve(
        self,
        gram: FloatArray,
        count: int,
        half_gradient: FloatArray,
        *,
        tolerance: float,
        seconds: float = math.inf,
    ) -> None:
        """Improve the weights until no vertex gains more than the tolerance.

        The tolerance is on the half-gradient, in the units of the objective; the half-gradient is
        changed along with the weights. Where the exact weights of many vertices are expected to
        take more than the ``seconds`` that are left, the weights are those that exchanges find.
        """
        if self.size >= self._tuning.exchange_support:
            hurried = self._seconds_per_square * self.size**2 > seconds
            if self._pause == 0 or hurried:
                if self._exchange(gram, count, half_gradient, tolerance) or hurried:
                    return
                self._pause = self._tuning.exchange_pause
            self._pause -= 1
        clock, size = Budget(), self.size  # does not count compiling
        ridge = RELATIVE_RIDGE * max(float(np.trace(gram[:count, :count])) / max(count, 1), 1e-300)
        if not self._factored:
            self._refactor(gram, ridge)
        self.size, self.full, rounds = improve_weights(
            gram,
            count,
            ridge,
            tolerance,
            10 * count + 1000,
            self.size,
            self.full,
            half_gradient,
            self._factor,
            self.support,
            self.weights,
        )
        self.rounds += rounds
        if size >= self._tuning.exchange_support:
            self._seconds_per_square = clock.elapsed / max(size, 1) ** 2

    def _exchange(
        self, gram: FloatArray, count: int, half_gradient: FloatArray, tolerance: float
    ) -> bool:
        """Exchange weight between pairs; return whether that was enough."""
        max_steps = self._tuning.exchanges_per_vertex * count
        _, apart = exchange(gram, count, tolerance, max_steps, half_gradient, self.weights)
        used = np.flatnonzero(self.weights[:count])
        self.size = used.size
        self.support[: self.size] = used
        self.full = float(self.weights[used].sum()) >= 1.0 - 1e-14
        self._factored = False
        self.rounds += 1
        return apart <= self._tuning.accepted_exchange_gap * tolerance

    def _refactor(self, gram: FloatArray, ridge: float) -> None:
        """Compute the factor of the support anew."""
        used = self.support[: self.size]
        block = gram[np.ix_(used, used)]
        while True:
            try:
                with one_blas_thread():
                    factor = np.linalg.cholesky(block + ridge * np.eye(self.size))
                break
            except np.linalg.LinAlgError:  # dependent vertices: a shorter proximal step will do
                ridge *= 100.0
        if len(self._factor) < self.weights.size:
            self._factor = np.zeros((self.weights.size, self.weights.size))
        self._factor[: self.size, : self.size] = factor.T
        self._factored = True
