"""Kriging: what the boxes leave is alike in cells that are alike, and so it can be predicted.

What baseline and boxes leave of the observed cells, r, is taken for

    r = f + e,    f ~ N(0, K_1 x K_2 x ... x K_p),    e ~ N(0, noise / weight of the cell)

with one covariance matrix per mode: a cell resembles another as much as their indices do in
every mode. The expected f of all cells given r is the remainder; it solves a linear system with
the observed cells as unknowns, by conjugate gradients, whose products are one matrix product
per mode. The covariances are found by a few rounds of expectation and maximisation; the
expectation is taken over one draw from the conditional distribution, which is plenty, since an
entry of K_k is an average over all cells that share a pair of indices.

The tensor is dense here, so this is for tensors that fit in memory and are not too sparse.
Boxes give what is sharp and what many cells share; this gives what is smooth.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import solve_triangular

from intensor.arrays import AnyArray, FloatArray
from intensor.budget import Budget
from intensor.data.observations import Observations
from intensor.model.model import Model
from intensor.model.remainder import Remainder

__all__ = ["ROUNDS", "can_krige", "expected_seconds", "krige"]

ROUNDS = 4
"""Of expectation and maximisation; more of them follow the noise."""
MOST_CELLS = 1 << 22
SPARSEST = 32.0
"""Cells of the tensor per observed cell, at most."""
LONGEST = 4096
"""Indices of a mode, at most: its covariance matrix is inverted."""
STEPS, CLOSE = 200, 1e-3
"""Conjugate gradients: steps at most, and the size of the error, relative, to end at."""
LAST_STEPS = 400
"""Steps at most of the last system, whose solution is the remainder."""
LIKE = 0.5
"""How much alike two indices are to begin with."""
SHARE = 0.8
"""How much of the mean square is not noise, to begin with."""
PRIOR = 1.0
"""A covariance of d indices is pulled towards one where all pairs are equally alike as if so
many times d observations of every index had said that."""
JITTER = 1e-6
SPEED = 2e10
"""Multiplications and additions a second in matrix products, with care."""


def can_krige(observations: Observations) -> bool:
    """Say whether the tensor is small and dense enough."""
    cells = math.prod(observations.shape)
    return (
        len(observations.shape) > 1
        and max(observations.shape) <= LONGEST
        and cells <= min(MOST_CELLS, SPARSEST * observations.n_cells)
    )


def expected_seconds(observations: Observations) -> float:
    """Return how long kriging takes at most, about."""
    products = ROUNDS * STEPS + LAST_STEPS
    return 2.0 * products * math.prod(observations.shape) * sum(observations.shape) / SPEED


def krige(
    observations: Observations,
    model: Model,
    *,
    budget: Budget,
    seed: int = 0,
    rounds: int = ROUNDS,
) -> Remainder:
    """Return what is expected of every cell beyond a model.

    Parameters
    ----------
    observations
        What the model was fitted to.
    budget
        When it is interrupted, the remainder is what was found so far. Time limits do not count
        here: half a remainder would be worse than none.
    rounds
        How often the covariances are improved.
    """
    columns = tuple(column.astype(np.int64) for column in observations.coords)
    left = observations.means - model.evaluate(columns)
    size = float(np.sqrt(np.mean(left**2)))
    field = np.zeros(observations.shape, dtype=np.float32)
    if not size > 0.0 or not math.isfinite(size):
        return Remainder(field=field)
    weights = observations.cell_shares() * float(observations.n_cells)
    kriging = _Kriging(observations.shape, columns, left / size, weights, seed)
    for _ in range(rounds):
        if budget.interrupted:
            break
        kriging.improve(budget)
    return Remainder(field=kriging.expected(budget).astype(np.float64) * size)


class _Kriging:
    """Covariances on their way, with the observed cells on a dense grid."""

    def __init__(
        self,
        shape: tuple[int, ...],
        columns: tuple[AnyArray, ...],
        left: FloatArray,
        weights: FloatArray,
        seed: int,
    ) -> None:
        self._shape = shape
        self._at = columns
        self._known = np.zeros(shape, dtype=np.float32)
        self._known[columns] = 1.0
        self._left = np.zeros(shape, dtype=np.float32)
        self._left[columns] = left
        self._inverse_weights = np.zeros(shape, dtype=np.float32)
        self._inverse_weights[columns] = 1.0 / weights
        self._weights = weights
        square = float(weights @ left**2) / float(weights.sum())
        self._noise = (1.0 - SHARE) * square
        self._covariances = [
            ((1.0 - LIKE) * np.eye(length) + LIKE).astype(np.float32) for length in shape
        ]
        self._covariances[0] *= np.float32(SHARE * square)
        random = np.random.default_rng([seed, 3])
        self._drawn_field = random.standard_normal(shape, dtype=np.float32)
        self._drawn_noise = random.standard_normal(shape, dtype=np.float32)
        self._drawn_solution = np.zeros(shape, dtype=np.float32)

    def expected(self, budget: Budget) -> AnyArray:
        """Return the expected field of all cells."""
        start = np.zeros_like(self._left)
        solution = self._solve(self._left, start, LAST_STEPS, budget)
        return _multiply(solution, self._covariances)

    def improve(self, budget: Budget) -> None:
        """Draw a field given what is known, and take its covariances and noise."""
        roots = [_root(covariance) for covariance in self._covariances]
        field = _multiply(self._drawn_field, [root.astype(np.float32) for root in roots])
        noise = self._drawn_noise * np.sqrt(self._noise * self._inverse_weights)
        apart = self._known * (self._left - field) - noise
        self._drawn_solution = self._solve(apart, self._drawn_solution, STEPS, budget)
        field += _multiply(self._drawn_solution, self._covariances)
        error = (self._left - field)[self._at].astype(np.float64)
        self._noise = max(
            float(self._weights @ error**2) / float(self._weights.sum()),
            JITTER * float(np.mean(self._left[self._at].astype(np.float64) ** 2)),
        )
        for mode in range(len(self._shape)):
            covariance = self._pull(_mode_covariance(field, roots, mode))
            if mode:  # the size of the field is that of the first mode's
                covariance /= np.trace(covariance) / len(covariance)
            self._covariances[mode] = covariance.astype(np.float32)
            roots[mode] = _root(covariance)

    def _pull(self, covariance: FloatArray) -> FloatArray:
        """Pull a covariance towards one where all pairs of indices are equally alike."""
        length = len(covariance)
        if length == 1:
            return covariance
        diagonal = np.trace(covariance) / length
        target = np.full_like(covariance, (covariance.sum() / length - diagonal) / (length - 1))
        np.fill_diagonal(target, diagonal)
        seen = self._at[0].size / length
        share = seen / (seen + PRIOR * length)
        return share * covariance + (1.0 - share) * target

    def _solve(self, right: AnyArray, start: AnyArray, steps: int, budget: Budget) -> AnyArray:
        """Solve (known K known + noise / weights) x = right by conjugate gradients."""
        noise = np.float32(self._noise) * self._inverse_weights

        def operate(x: AnyArray) -> AnyArray:
            return self._known * _multiply(x, self._covariances) + noise * x

        solution = start.copy()
        error = right - operate(solution)
        direction = error.copy()
        square, goal = _dot(error, error), CLOSE**2 * _dot(right, right)
        for _ in range(steps):
            if square <= goal or budget.interrupted:
                break
            image = operate(direction)
            step = np.float32(square / _dot(direction, image))
            solution += step * direction
            error -= step * image
            before, square = square, _dot(error, error)
            direction = error + np.float32(square / before) * direction
        return solution


def _dot(one: AnyArray, other: AnyArray) -> float:
    return float(np.vdot(one, other))


def _multiply(field: AnyArray, matrices: list[AnyArray]) -> AnyArray:
    """Multiply a tensor by one matrix per mode."""
    for mode, matrix in enumerate(matrices):
        field = _multiply_mode(field, matrix, mode)
    return field


def _multiply_mode(field: AnyArray, matrix: AnyArray, mode: int) -> AnyArray:
    shape = field.shape
    if mode == len(shape) - 1:
        product: AnyArray = field.reshape(-1, shape[-1]) @ matrix.T
    else:
        product = np.matmul(matrix, field.reshape(math.prod(shape[:mode]), shape[mode], -1))
    return product.reshape(shape)


def _root(covariance: AnyArray) -> FloatArray:
    """Return a lower triangular L with L L' the covariance, or very nearly so."""
    matrix = covariance.astype(np.float64)
    jitter = JITTER * np.trace(matrix) / len(matrix)
    for _ in range(8):
        try:
            return np.linalg.cholesky(matrix + jitter * np.eye(len(matrix)))
        except np.linalg.LinAlgError:  # single precision can cost a tiny eigenvalue its sign
            jitter *= 10.0
    return np.diag(np.sqrt(np.diag(matrix)))


def _mode_covariance(field: AnyArray, roots: list[FloatArray], mode: int) -> FloatArray:
    """Return the covariance of one mode's slabs, what other modes have in common taken out."""
    for other, root in enumerate(roots):
        if other != mode:
            inverse = solve_triangular(root, np.eye(len(root)), lower=True)
            field = _multiply_mode(field, inverse.astype(np.float32), other)
    slabs = np.moveaxis(field, mode, 0).reshape(field.shape[mode], -1).astype(np.float64)
    covariance: FloatArray = slabs @ slabs.T / slabs.shape[1]
    return covariance
