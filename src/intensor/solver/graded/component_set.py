"""The components in use: their factors and weights, improved mode by mode.

A component is a weight times one vector per mode with entries in [0, 1]. The hull of all of weight
1 is the hull of all boxes, so components whose weights add up to at most 1 are a point of the
polytope. Besides the weights, the factors move: with all other modes fixed, the best factors and
weights of one mode solve a small convex problem (``kernels.mode_update``).
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterator

import numpy as np

from intensor._arrays import FlagArray, FloatArray, IndexArray
from intensor.backends.base import Cells, NormalEquations
from intensor.backends.cpu import CpuCells
from intensor.kernels.mode_update import improve_mode, improve_within_caps
from intensor.runtime.budget import Budget
from intensor.runtime.threads import evenly, one_blas_thread
from intensor.storage.reader import Tree, TreeReader

MAX_PASSES = 20
"""Most passes over all components in one update of a mode."""
MAX_EQUATION_BYTES = 1 << 28
"""Most bytes of normal equations that are held at a time. Modes with more are improved range by
range, with the weights fixed."""


MAX_PIECE_WORK = 1 << 28
"""Most multiplications of normal equations between two looks at the budget."""


class ComponentSet:
    """Components with their weights, in units where the radius is 1.

    In the signed polytope a component is its factors times its sign; weights are at least 0.
    """

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self.factors: FloatArray = np.zeros((int(cells.offsets[-1]), 0))
        """(sum(shape), k) numbers in [0, 1], a column per component."""
        self.weights: FloatArray = np.zeros(0)
        self.signs: FloatArray = np.ones(0)
        self.drops = 0  # components removed so far
        self.value = self.product = 0.0  # objective, and gradient times iterate
        self.price = 0.0  # price of a unit of the radius, by which the updates of modes go
        self.evaluate()

    def copy(self) -> ComponentSet:
        """Return a set of the same components and cells, which can be changed on its own."""
        twin = copy.copy(self)
        twin.factors, twin.weights = self.factors.copy(), self.weights.copy()
        return twin

    @property
    def count(self) -> int:
        """Number of components."""
        return int(self.weights.size)

    @property
    def signed_weights(self) -> FloatArray:
        """The (k,) weights with their signs."""
        return self.weights * self.signs

    def evaluate(self) -> None:
        """Compute gradient, objective and product on the cells."""
        error, self.product = self.cells.evaluate_components(self.factors, self.signed_weights)
        self.value = error + self.cells.constant

    def add(self, flags: FlagArray, signs: FloatArray) -> None:
        """Take in (m, sum(shape)) boxes with their (m,) signs and weight 0."""
        self.factors = np.ascontiguousarray(np.column_stack((self.factors, flags.T)), np.float64)
        self.weights = np.concatenate((self.weights, np.zeros(len(flags))))
        self.signs = np.concatenate((self.signs, signs))

    def take(self, factors: FloatArray, weights: FloatArray) -> None:
        """Replace all components by (sum(shape), k) factors with (k,) signed weights."""
        self.factors = np.ascontiguousarray(factors, dtype=np.float64)
        self.weights, self.signs = np.abs(weights), np.where(weights < 0.0, -1.0, 1.0)

    def keep(self, kept: IndexArray) -> None:
        """Forget all components but those with these numbers."""
        self.drops += self.count - kept.size
        self.factors = np.ascontiguousarray(self.factors[:, kept])
        self.weights, self.signs = self.weights[kept], self.signs[kept]

    def sweep(self, budget: Budget) -> float:
        """Improve all modes in turn; return by how much the objective fell.

        Components that lose their weight are removed.
        """
        before = self.value
        if self.count and all(length > self._at_once for length in self.cells.shape):
            self._improve_weights()
        for mode in range(len(self.cells.shape)):
            if self.count == 0 or (mode and budget.spent):
                break
            self._improve(mode, budget)
        if not (self.weights > 0.0).all():
            self.keep(np.flatnonzero(self.weights > 0.0))
        return before - self.value

    def rescale(self, factor: float) -> None:
        """Multiply the radius by ``factor``.

        The tensor stays the same as long as the new radius allows it, and shrinks otherwise.
        """
        self.cells.rescale(factor)
        self.weights /= factor
        self.stay_within_radius()
        self.price /= factor  # slopes are in units of the targets
        self.evaluate()

    def stay_within_radius(self) -> None:
        """Scale the weights so that they add up to at most 1."""
        self.weights /= max(1.0, float(self.weights.sum()))

    def merge_equal(self) -> None:
        """Give the weights of components that are equal to the first of them; the tensor stays."""
        first: dict[bytes, int] = {}
        for number in range(self.count):
            name = self.factors[:, number].tobytes() + self.signs[number].tobytes()
            same = first.setdefault(name, number)
            if same != number:
                self.weights[same] += self.weights[number]
        if len(first) < self.count:
            self.keep(np.array(list(first.values()), dtype=np.int64))

    def losses(self) -> FloatArray:
        """Return by about how much the objective rises when each component is removed.

        The weights of all others are taken to adapt, so that of two equal components neither counts
        for much.
        """
        gram = self._weight_equations().matrices[0]
        ridge = 1e-9 * max(float(np.trace(gram)) / max(1, self.count), 1e-300)
        with one_blas_thread():
            inverse: FloatArray = np.linalg.inv(gram + ridge * np.eye(self.count))
        losses: FloatArray = self.weights**2 / np.maximum(np.diag(inverse), 1e-300)
        return losses

    def _weight_equations(self) -> NormalEquations:
        """Return the normal equations of the weights, as those of a mode with a single index.

        The matrix has the sums over cells of products of two components.
        """
        shortest = int(np.argmin(self.cells.shape))
        low, high = self.cells.offsets[shortest : shortest + 2].tolist()
        matrix, slope, error = np.zeros((self.count, self.count)), np.zeros(self.count), 0.0
        for start, stop in self._ranges(high - low):
            equations = self.cells.normal_equations(
                shortest, self.factors, self.signed_weights, start, stop
            )
            factors = self.factors[low + start : low + stop] * self.signs
            matrix += np.einsum("ir,irs,is->rs", factors, equations.matrices, factors)
            slope += np.einsum("ir,ir->r", factors, equations.slopes)
            error += equations.error
        return NormalEquations(matrix[np.newaxis], slope[np.newaxis], error)

    def level_sets(self, rng: np.random.Generator) -> FlagArray:
        """Return a box for every component: the entries above a random height."""
        heights = rng.random(self.count)
        return np.ascontiguousarray((self.factors > heights).T).astype(np.uint8)

    @property
    def _at_once(self) -> int:
        """Number of indices whose normal equations are held at a time."""
        return max(1, MAX_EQUATION_BYTES // (8 * self.count**2))

    def _ranges(self, length: int) -> Iterator[tuple[int, int]]:
        """Yield first and last index of the parts in which a mode is gone through."""
        return itertools.pairwise([*range(0, length, self._at_once), length])

    def _improve_weights(self) -> None:
        """Improve the weights with all factors fixed, which lets new components in.

        No mode does so when all are improved in ranges.
        """
        equations = self._weight_equations()
        weights, state = self.weights[np.newaxis].copy(), np.empty(2)
        improve_mode(
            equations.matrices,
            equations.slopes,
            self.price,
            MAX_PASSES,
            np.ones_like(weights),
            weights,
            state,
        )
        self.price = float(state[0])
        self.value = equations.error + self.cells.constant - float(state[1])
        self.weights = weights[0]

    def _improve(self, mode: int, budget: Budget) -> None:
        """Improve the factors of a mode; if the budget is spent on the way, they may stay."""
        low, high = self.cells.offsets[mode : mode + 2].tolist()
        if high - low > self._at_once:
            self._improve_in_ranges(mode, low, high, budget)
            return
        equations = self._equations(mode, high - low, budget)
        if equations is None:
            return
        matrices, slopes = self._with_signs(equations.matrices, equations.slopes)
        factors = self.factors[low:high]
        weighted = factors * self.weights
        state = np.empty(2)
        improve_mode(matrices, slopes, self.price, MAX_PASSES, factors, weighted, state)
        self.price = float(state[0])
        self.value = equations.error + self.cells.constant - float(state[1])
        self._store(low, high, weighted)

    def _equations(self, mode: int, length: int, budget: Budget) -> NormalEquations | None:
        """Return the normal equations of a mode, or None if the budget is spent before that.

        In memory, they are added up in pieces that take a fraction of a second. Elsewhere, each
        piece would go through all cells.
        """
        work = self.cells.n_cells * self.count**2 if isinstance(self.cells, CpuCells) else 0
        count = max(1, min(length, -(-work // MAX_PIECE_WORK)))
        if count == 1:
            return self.cells.normal_equations(mode, self.factors, self.signed_weights, 0, length)
        parts: list[NormalEquations] = []
        for start, stop in itertools.pairwise(evenly(0, length, count)):
            if parts and budget.spent:
                return None
            parts.append(
                self.cells.normal_equations(mode, self.factors, self.signed_weights, start, stop)
            )
        return NormalEquations(
            np.concatenate([part.matrices for part in parts]),
            np.concatenate([part.slopes for part in parts]),
            math.fsum(part.error for part in parts),
        )

    def _improve_in_ranges(self, mode: int, low: int, high: int, budget: Budget) -> None:
        """Improve the factors of a long mode with the weights fixed, as far as there is time."""
        error, fall = 0.0, 0.0
        weighted = self.factors[low:high] * self.weights
        for start, stop in self._ranges(high - low):
            if start and budget.spent:
                self._store(low, high, weighted)
                self.evaluate()
                return
            equations = self.cells.normal_equations(
                mode, self.factors, self.signed_weights, start, stop
            )
            matrices, slopes = self._with_signs(equations.matrices, equations.slopes)
            error += equations.error
            fall += improve_within_caps(
                matrices, slopes, self.weights, MAX_PASSES, weighted[start:stop]
            )
        self.value = error + self.cells.constant - fall
        self._store(low, high, weighted)

    def _with_signs(
        self, matrices: FloatArray, slopes: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        if self.signs.min() < 0.0:
            matrices *= np.outer(self.signs, self.signs)
            slopes *= self.signs
        return matrices, slopes

    def _store(self, low: int, high: int, weighted: FloatArray) -> None:
        """Split weights times factors of a mode, so that the largest factor is 1."""
        self.weights = weighted.max(axis=0)
        used = self.weights > 0.0
        self.factors[low:high, used] = weighted[:, used] / self.weights[used]

    def capture(self) -> Tree:
        """Return the components and what the next update depends on."""
        return {
            "factors": self.factors.copy(),
            "weights": self.weights.copy(),
            "signs": self.signs.copy(),
            "value": float(self.value),
            "price": float(self.price),
            "drops": int(self.drops),
        }

    def restore(self, saved: TreeReader) -> None:
        """Take over the components of another set of the same cells."""
        length = int(self.cells.offsets[-1])
        factors = saved.finite_array("factors", (length, None))
        weights = saved.finite_array("weights", (factors.shape[1],))
        signs = saved.array("signs", "<f8", weights.shape)
        if factors.size and not 0.0 <= factors.min() <= factors.max() <= 1.0:
            raise saved.damaged("factors are not all between 0 and 1")
        if (weights < 0.0).any() or weights.sum() > 1.0 + 1e-6:
            raise saved.damaged("weights are not those of a point of the polytope")
        if not (np.abs(signs) == 1.0).all():
            raise saved.damaged("signs other than 1 and -1")
        self.factors, self.weights, self.signs = factors.copy(), weights.copy(), signs.copy()
        self.price, self.drops = saved.finite("price"), saved.count("drops")
        self.evaluate()
        self.value = saved.finite("value")  # as the last sweep left it, to the last bit
