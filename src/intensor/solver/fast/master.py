"""The master problem: the exact best weights of the active vertices, in Gram space.

Minimise ``w'Gw - 2b'w`` over ``w >= 0, sum w <= 1`` (the zero vertex takes what is left). The
method is a primal active set with a Cholesky factor of the support's Gram matrix that is
updated, never recomputed: a vertex comes or goes in O(k^2).

Two things make it exact where others break down. It works on *changes* of the weights, from
the half-gradient ``q = Gw - b`` that the caller computed on the cells: near a perfect fit q is
tiny and known to full relative precision, while ``Gw`` and ``b`` are not. And a tiny ridge on
the changes keeps the factor positive definite when vertices are dependent; since it acts on
the change and not on the weights, it only makes each call a proximal step, and the steps
converge to the optimum of the problem without ridge.

With many vertices in use, weight is exchanged between pairs first (``exchange``), which is
nearly always enough; the factor is computed anew when it is not.
"""

from __future__ import annotations

import math
import time

import numpy as np

from intensor._arrays import FlagArray, FloatArray, IndexArray
from intensor.runtime.compiling import njit
from intensor.runtime.threads import one_blas_thread
from intensor.solver.fast.exchange import exchange
from intensor.storage.codec import Branch, Tree

__all__ = ["Master"]

RIDGE = 1e-12
"""Of the mean diagonal of the Gram matrix."""
CROWD = 256
"""Vertices in use from which on weight is first exchanged between pairs."""
EXCHANGES = 4
"""Most exchanges, per vertex."""
ENOUGH = 32.0
"""Times the tolerance that exchanges may leave: new vertices gain more than the rest would."""
PAUSE = 8
"""Calls for which exchanges are left out when they were not enough."""
WANTED = 0.1
"""Vertices that gain at least this share of the most wanted one enter together with it."""
FAST = {"reassoc", "contract"}
"""Sums in the master may be reordered: no bound ever sees them."""


class Master:
    """Weights of the active vertices with the factor of their support.

    Attributes
    ----------
    weights
        (capacity,) current weights; zero off the support.
    support
        (capacity,) places of the vertices in use, in the order of the factor.
    size
        How many there are.
    full
        Whether the weights sum to 1, so that the zero vertex has none.
    rounds
        Times that vertices entered, since the start.
    """

    def __init__(self, capacity: int) -> None:
        self.weights: FloatArray = np.zeros(capacity)
        self.support: IndexArray = np.zeros(capacity, dtype=np.int64)
        self.size = 0
        self.full = False
        self.rounds = 0
        self._factor: FloatArray = np.zeros((capacity, capacity))
        self._factored = True
        self._pause = 0
        self._pace = 0.0

    def grow(self, capacity: int) -> None:
        """Make room for more vertices."""
        old = self.weights.size
        self.weights = np.concatenate((self.weights, np.zeros(capacity - old)))
        self.support = np.concatenate((self.support, np.zeros(capacity - old, dtype=np.int64)))
        if self.size >= CROWD or not self._factored:
            self._factor = np.zeros((0, 0))  # exchanges do without, and it would be large
            self._factored = False
            return
        factor = np.zeros((capacity, capacity))
        factor[:old, :old] = self._factor
        self._factor = factor

    def renumber(self, places: IndexArray) -> None:
        """Follow vertices that moved: the one at i is now at ``places[i]``."""
        used = self.support[: self.size].copy()
        weights = self.weights[used]
        self.support[: self.size] = places[used]
        self.weights[:] = 0.0
        self.weights[self.support[: self.size]] = weights

    def capture(self, count: int) -> Tree:
        """Return the weights of ``count`` vertices and the factor, which no one can compute anew.

        Updates leave other roundings in a factor than a fresh one has.
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

    def restore(self, saved: Branch, count: int) -> None:
        """Take over the weights of ``count`` vertices; there is room for them."""
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
        self._pause = saved.count("pause", most=PAUSE)
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

        Parameters
        ----------
        gram
            (>= count, >= count) Gram matrix.
        half_gradient
            (>= count,) at the current weights; changed along with them.
        tolerance
            On the half-gradient, in the units of the objective.
        seconds
            How much time there is. Many vertices whose exact weights are expected to take longer
            get what exchanges come to.
        """
        if self.size >= CROWD:
            hurried = self._pace * self.size**2 > seconds
            if self._pause == 0 or hurried:
                if self._exchange(gram, count, half_gradient, tolerance) or hurried:
                    return
                self._pause = PAUSE
            self._pause -= 1
        started, size = time.perf_counter(), self.size
        ridge = RIDGE * max(float(np.trace(gram[:count, :count])) / max(count, 1), 1e-300)
        if not self._factored:
            self._refactor(gram, ridge)
        self.size, self.full, rounds = _improve(
            gram,
            count,
            half_gradient,
            ridge,
            tolerance,
            10 * count + 1000,
            self._factor,
            self.support,
            self.size,
            self.full,
            self.weights,
        )
        self.rounds += rounds
        if size >= CROWD:
            self._pace = (time.perf_counter() - started) / max(size, 1) ** 2

    def _exchange(
        self, gram: FloatArray, count: int, half_gradient: FloatArray, tolerance: float
    ) -> bool:
        """Exchange weight between pairs; say whether that was enough."""
        most = EXCHANGES * count
        _, apart = exchange(gram, count, tolerance, most, half_gradient, self.weights)
        used = np.flatnonzero(self.weights[:count])
        self.size = used.size
        self.support[: self.size] = used
        self.full = float(self.weights[used].sum()) >= 1.0 - 1e-14
        self._factored = False
        self.rounds += 1
        return apart <= ENOUGH * tolerance

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


@njit(cache=True, nogil=True, fastmath=FAST)
def _solve_transposed(factor: FloatArray, size: int, out: FloatArray) -> None:
    """Solve R'y = out for the upper triangular factor R."""
    for i in range(size):
        row = factor[i]
        out[i] /= row[i]
        value = out[i]
        for j in range(i + 1, size):
            out[j] -= row[j] * value


@njit(cache=True, nogil=True, fastmath=FAST)
def _solve_plain(factor: FloatArray, size: int, out: FloatArray) -> None:
    """Solve Ry = out."""
    for i in range(size - 1, -1, -1):
        row = factor[i]
        total = 0.0
        for j in range(i + 1, size):
            total += row[j] * out[j]
        out[i] = (out[i] - total) / row[i]


@njit(cache=True, nogil=True)
def _append(
    gram: FloatArray,
    ridge: float,
    vertex: int,
    size: int,
    column: FloatArray,
    factor: FloatArray,
    support: IndexArray,
) -> None:
    """Give the factor a column for one more vertex."""
    for i in range(size):
        column[i] = gram[vertex, support[i]]  # symmetric, and contiguous this way
    _solve_transposed(factor, size, column)
    left = gram[vertex, vertex] + ridge
    for i in range(size):
        factor[i, size] = column[i]
        left -= column[i] * column[i]
    factor[size, size] = np.sqrt(max(left, ridge))
    support[size] = vertex


@njit(cache=True, nogil=True)
def _delete(place: int, size: int, factor: FloatArray, support: IndexArray) -> None:
    """Take a column out of the factor and make it triangular again by rotations."""
    for i in range(place, size - 1):
        support[i] = support[i + 1]
    for i in range(size):
        row = factor[i]
        for j in range(max(place, i - 1), size - 1):
            row[j] = row[j + 1]
    for i in range(place, size - 1):
        upper, lower = factor[i], factor[i + 1]
        length = np.hypot(upper[i], lower[i])
        cosine, sine = upper[i] / length, lower[i] / length
        upper[i] = length
        for j in range(i + 1, size - 1):
            above, below = upper[j], lower[j]
            upper[j] = cosine * above + sine * below
            lower[j] = cosine * below - sine * above


@njit(cache=True, nogil=True, fastmath=FAST)
def _solve_both(factor: FloatArray, size: int, out: FloatArray, ones: FloatArray) -> None:
    """Solve R'Ry = out and R'Ry = 1 in one pass over the factor."""
    ones[:size] = 1.0
    for i in range(size):
        row = factor[i]
        out[i] /= row[i]
        ones[i] /= row[i]
        value, unit = out[i], ones[i]
        for j in range(i + 1, size):
            out[j] -= row[j] * value
            ones[j] -= row[j] * unit
    for i in range(size - 1, -1, -1):
        row = factor[i]
        total, units = 0.0, 0.0
        for j in range(i + 1, size):
            total += row[j] * out[j]
            units += row[j] * ones[j]
        out[i] = (out[i] - total) / row[i]
        ones[i] = (ones[i] - units) / row[i]


@njit(cache=True, nogil=True)
def _direction(
    factor: FloatArray,
    size: int,
    full: bool,
    slope: FloatArray,
    ones: FloatArray,
    out: FloatArray,
) -> float:
    """Fill in the change to the best weights on the support; return the price of the sum."""
    for i in range(size):
        out[i] = -slope[i]
    if not full:
        _solve_transposed(factor, size, out)
        _solve_plain(factor, size, out)
        return 0.0
    _solve_both(factor, size, out, ones)
    total, unit = 0.0, 0.0
    for i in range(size):
        total += out[i]
        unit += ones[i]
    price = total / unit
    for i in range(size):
        out[i] -= price * ones[i]
    return price


@njit(cache=True, nogil=True)
def _longest(
    weights: FloatArray, support: IndexArray, size: int, full: bool, change: FloatArray
) -> tuple[float, int]:
    """Return how far to go, at most 1, and what blocks: a place, -1 nothing, -2 the sum."""
    step, blocking = 1.0, -1
    total, used = 0.0, 0.0
    for i in range(size):
        weight = weights[support[i]]
        total += change[i]
        used += weight
        if weight + step * change[i] < 0.0:
            step, blocking = weight / -change[i], i
    if not full and total > 0.0:
        room = max(0.0, 1.0 - used)
        if step * total > room:
            step, blocking = room / total, -2
    return step, blocking


@njit(cache=True, nogil=True)
def _settle(
    full: bool,
    factor: FloatArray,
    support: IndexArray,
    size: int,
    weights: FloatArray,
    used: FlagArray,
    slope: FloatArray,
    ones: FloatArray,
    change: FloatArray,
    moved: FloatArray,
) -> tuple[int, bool, float]:
    """Go to the best weights on the support, dropping what blocks the way.

    ``slope`` is the half-gradient on the support. A step along the Newton direction scales it
    towards the price, so it is known without touching the Gram matrix.
    """
    price = 0.0
    while size > 0:
        price = _direction(factor, size, full, slope, ones, change)
        step, blocking = _longest(weights, support, size, full, change)
        for i in range(size):
            weights[support[i]] += step * change[i]
            moved[support[i]] += step * change[i]
            slope[i] -= step * (slope[i] + price)
        if blocking == -1:
            break
        if blocking == -2:
            full = True
            continue
        gone = support[blocking]
        moved[gone] -= weights[gone]
        weights[gone] = 0.0
        used[gone] = 0
        _delete(blocking, size, factor, support)
        size -= 1
        for i in range(blocking, size):
            slope[i] = slope[i + 1]
    return size, full, price


@njit(cache=True, nogil=True)
def _improve(
    gram: FloatArray,
    count: int,
    half_gradient: FloatArray,
    ridge: float,
    tolerance: float,
    most: int,
    factor: FloatArray,
    support: IndexArray,
    size: int,
    full: bool,
    weights: FloatArray,
) -> tuple[int, bool, int]:
    """Run the active-set method; return the new size, whether the sum is full, the rounds."""
    change, ones = np.empty(weights.size), np.empty(weights.size)
    slope, moved = np.empty(weights.size), np.zeros(weights.size)
    used = np.zeros(weights.size, dtype=np.uint8)
    for i in range(size):
        used[support[i]] = 1
    for rounds in range(most):
        for i in range(size):
            slope[i] = half_gradient[support[i]]
        size, full, price = _settle(
            full, factor, support, size, weights, used, slope, ones, change, moved
        )
        for vertex in range(count):
            if moved[vertex] != 0.0:
                move = moved[vertex]
                row = gram[vertex]
                for other in range(count):
                    half_gradient[other] += move * row[other]
                moved[vertex] = 0.0
        if full and price < 0.0:
            full = False
            continue
        for vertex in range(count):
            change[vertex] = 0.0 if used[vertex] else half_gradient[vertex] + price
        order = np.argsort(change[:count])
        least = change[order[0]] if count else 0.0
        if not least < -max(tolerance, 0.0):  # nor if any of them is not a number
            return size, full, rounds + 1
        room = 8 + size // 8
        for vertex in order[:room]:
            # A vertex in use has 0, whatever its rounding, and must not enter a second time.
            if used[vertex] or change[vertex] > WANTED * least:
                break
            _append(gram, ridge, vertex, size, ones, factor, support)
            used[vertex] = 1
            size += 1
    return size, full, most
