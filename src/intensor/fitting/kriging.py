"""Kriging: boxes tell which indices are alike, and cells that are alike predict each other.

The targets y of the observed cells (in the fitted scale, without the baseline) are modelled as

    y = mean + f + e,    f ~ N(0, K_1 x K_2 x ... x K_p),    e ~ N(0, noise / weight of the cell)

with one covariance matrix per mode: two cells are alike when their indices are alike in every mode.
The first covariances are those of the tensor of the boxes, which is known in every cell. They are
found mode by mode, each with the covariances of the other modes removed, in several passes.

The expected f of all cells given y is R u, where R is the product of roots of the covariances, K_k
= R_k R_k', and u minimises ``|u|^2 + sum over observed cells of weight (y - R u)^2 / noise``. That
is a linear system in u, solved by conjugate gradients, whose products are one matrix product per
mode. With roots along the eigenvectors, the system would be diagonal if all cells were observed;
that diagonal is the preconditioner, and tens of steps are enough however small the noise. (In the
system with the observed cells as unknowns, no diagonal helps: an eigenvector that is cut down to
the observed cells is no longer smooth, and hundreds of steps are needed.) Numbers are double.

Rounds of expectation and maximisation then fit covariances and noise to the observed cells. The
expectation is taken over one draw from the conditional distribution, which is enough, since an
entry of K_k is an average over all cells that share a pair of indices.

The tensor is dense here, so this is for tensors that fit in memory and are not too sparse.
"""

from __future__ import annotations

import contextlib
import math

import numpy as np

from intensor._arrays import AnyArray, FloatArray, Shape, inner
from intensor.data.observations import Observations
from intensor.errors import SettingError
from intensor.fitting.fields import MAX_PIECE, FieldAlgebra, OutOfTimeError
from intensor.fitting.samples import Samples
from intensor.model.model import Model
from intensor.model.predictor import Remainder
from intensor.runtime.budget import Budget

ROUNDS = 1
"""Number of rounds of expectation and maximisation for boxes, whose edges they smooth."""
ROUNDS_WITHOUT_BOXES = 4
"""Fewest rounds when there is no box to take the first covariances from."""
FIRST_CORRELATION, FIRST_SIGNAL_SHARE = 0.5, 0.8
"""Correlation of two indices, and share of the variance that is not noise, before the first round
when there is no box."""
COVARIANCE_PASSES = 3
"""Number of passes over the modes to find the covariances of the tensor of the boxes."""
RIDGE = 0.01
"""Share of the mean variance that is added to every variance of the tensor of the boxes, because
boxes leave small differences out."""
FIRST_NOISE = 0.5
"""Noise before the first round, as a share of the mean squared error of the boxes."""
MAX_CELLS = 1 << 22
"""Most cells of a tensor that is kriged."""
MAX_CELLS_PER_OBSERVED = 32.0
"""Most cells of the tensor per observed cell."""
MAX_MODE_LENGTH = 4096
"""Most indices of a mode, because the root of its covariance matrix is inverted."""
MAX_STEPS, TOLERANCE = 100, 1e-3
"""Most steps of conjugate gradients, and the relative size of the error at which they end."""
MAX_LAST_STEPS, LAST_TOLERANCE = 300, 1e-5
"""The same for the last system, whose solution gives the prediction."""
MAX_ROUGH_STEPS, ROUGH_TOLERANCE = 80, 1e-3
"""The same for a prediction that is only compared with others."""
COMPONENTS_AT_ONCE = 32  # graded components that are added to the dense tensor at a time
MAX_EIGEN_LENGTH = 1024
"""Most indices of a mode whose root is along the eigenvectors of its covariance; longer ones, which
would take too long, have triangular roots and need more steps."""
MIN_NOISE = 1e-6
"""Least noise, as a share of the mean square of the targets."""
PRIOR = 1.0
"""A covariance of d indices is pulled towards one in which all pairs are equally alike, with the
weight of ``PRIOR * d`` observations of every index."""
MIN_VARIATION = 1e-9
"""Targets count as constant when they differ from their mean by at most this share of its size or
of the size of the boxes."""


def can_krige(observations: Observations | Samples) -> bool:
    """Say whether a tensor is small and dense enough to be kriged.

    A remainder cannot be expanded from the indices that occur to all of them.
    """
    if isinstance(observations, Samples) and observations.full is not None:
        return False
    cells = math.prod(observations.shape)
    return (
        len(observations.shape) > 1
        and max(observations.shape) <= MAX_MODE_LENGTH
        and cells <= min(MAX_CELLS, MAX_CELLS_PER_OBSERVED * observations.n_cells)
    )


def kriging_work(shape: Shape) -> int:
    """Return the multiplications of a step of kriging, which say how long it takes."""
    return math.prod(shape) * sum(shape)


def check_kriging(samples: Samples, *, advice: str = "use remainder='none' or 'auto'") -> None:
    """Raise if a tensor is too large or too sparse to be kriged."""
    if not can_krige(samples):
        raise SettingError(
            f"kriging needs a tensor of at most {MAX_CELLS} cells, of which at least one in "
            f"{MAX_CELLS_PER_OBSERVED:g} is observed, and at least two modes of at most "
            f"{MAX_MODE_LENGTH} indices; got {' x '.join(map(str, samples.shape))} with "
            f"{samples.n_cells} observed cells ({advice})"
        )


def krige(
    observations: Observations,
    model: Model,
    *,
    budget: Budget,
    threads: int | None = 1,
    seed: int = 0,
    rounds: int = 0,
    rough: bool = False,
    max_piece: int = MAX_PIECE,
) -> Remainder | None:
    """Return the expected difference between every cell and the prediction of a model.

    If the budget is spent before the end, None is returned: half a remainder would be worse than
    none. The covariances of the boxes are improved in ``rounds``. With ``rough``, the last system
    is solved less closely, which is enough to compare models.
    """
    algebra = FieldAlgebra(budget, threads, max_piece=max_piece)
    with contextlib.suppress(OutOfTimeError), algebra.running():
        columns = tuple(column.astype(np.int64) for column in observations.coords)
        shares = observations.cell_shares()
        mean = inner(shares, observations.means)
        targets = observations.means - mean
        boxes = _to_dense(model, algebra) - mean
        size = float(np.abs(targets).max())
        if size <= MIN_VARIATION * max(abs(mean), float(np.abs(boxes).max())):
            return Remainder(field=-boxes)  # all targets equal their mean
        square = inner(shares, ((boxes[columns] - targets) / size) ** 2)
        if not square > 0.0:
            return Remainder(field=np.zeros(observations.shape))  # the boxes explain everything
        if np.ptp(boxes) == 0.0:
            rounds = max(rounds, ROUNDS_WITHOUT_BOXES) if rounds else 0
        kriging = Kriging(
            boxes / size,
            columns,
            targets=targets / size,
            weights=shares * float(observations.n_cells),
            noise=FIRST_NOISE * square,
            seed=seed,
            algebra=algebra,
        )
        for _ in range(rounds):
            kriging.improve()
        expected = kriging.expected(rough=rough)
        return Remainder(field=expected.astype(np.float64) * size - boxes)
    return None


def _to_dense(model: Model, algebra: FieldAlgebra) -> FloatArray:
    """Return the tensor of a model, with every cell."""
    dense = np.zeros(model.shape)
    n_boxes = len(model.vertices)
    for number in range(n_boxes):
        algebra.check()
        dense[np.ix_(*model.vertices.box(number))] += model.weights[number]
    for start in range(0, len(model.components), COMPONENTS_AT_ONCE):
        algebra.check()
        part = slice(start, start + COMPONENTS_AT_ONCE)
        dense += model.components.dense_sum(model.weights[n_boxes:], part)
    return dense


class Kriging:
    """Covariances that rounds improve, with the observed cells on a dense grid.

    The first covariances are given, or they are those of the tensor of the ``boxes``.
    """

    def __init__(
        self,
        boxes: FloatArray,
        columns: tuple[AnyArray, ...],
        *,
        covariances: list[FloatArray] | None = None,
        targets: FloatArray,
        weights: FloatArray,
        noise: float,
        seed: int,
        algebra: FieldAlgebra,
    ) -> None:
        shape = boxes.shape
        self._algebra = algebra
        self._shape = shape
        self._at = columns
        self._known = np.zeros(shape)
        self._known[columns] = 1.0
        self._targets = np.zeros(shape)
        self._targets[columns] = targets
        self._inverse_weights = np.zeros(shape)
        self._inverse_weights[columns] = 1.0 / weights
        self._weights = weights
        square = inner(weights, targets**2) / float(weights.sum())
        self._least_noise = max(MIN_NOISE * square, float(np.finfo(np.float64).tiny))
        self._noise = max(noise, self._least_noise)
        self._covariances = covariances or self._first_covariances(boxes)
        random = np.random.default_rng([seed, 3])
        self._drawn_field = random.standard_normal(shape)
        self._drawn_noise = random.standard_normal(shape)

    def _first_covariances(self, boxes: FloatArray) -> list[AnyArray]:
        """Return the covariances of a tensor that is known in every cell."""
        covariances = [np.eye(length) for length in self._shape]
        if np.ptp(boxes) == 0.0:
            covariances = [
                (1.0 - FIRST_CORRELATION) * one + FIRST_CORRELATION for one in covariances
            ]
            covariances[0] *= FIRST_SIGNAL_SHARE * self._noise / FIRST_NOISE
            return covariances
        roots = list(covariances)
        for _ in range(COVARIANCE_PASSES):
            for mode, length in enumerate(self._shape):
                covariance = self._pull(self._mode_covariance(boxes, roots, mode))
                covariance += RIDGE * np.trace(covariance) / length * np.eye(length)
                covariances[mode], roots[mode] = self._normalise(covariance, mode)
        return covariances

    def expected(self, *, rough: bool = False) -> AnyArray:
        """Return the expected field of all cells, closely, or only to compare it with others."""
        if rough:
            return self._expect(self._targets, MAX_ROUGH_STEPS, ROUGH_TOLERANCE)
        return self._expect(self._targets, MAX_LAST_STEPS, LAST_TOLERANCE)

    def improve(self, tolerance: float = TOLERANCE) -> None:
        """Draw a field given the observed cells, and take over its covariances and noise."""
        roots = [self._algebra.root(covariance) for covariance in self._covariances]
        field = self._algebra.multiply(self._drawn_field, roots)
        noise = self._drawn_noise * np.sqrt(self._noise * self._inverse_weights)
        apart = self._known * (self._targets - field) - noise
        field += self._expect(apart, MAX_STEPS, tolerance)
        error = (self._targets - field)[self._at].astype(np.float64)
        square = inner(self._weights, error**2) / float(self._weights.sum())
        self._noise = max(square, self._least_noise)
        for mode in range(len(self._shape)):
            covariance = self._pull(self._mode_covariance(field, roots, mode))
            covariance, roots[mode] = self._normalise(covariance, mode)
            self._covariances[mode] = covariance

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

    def _normalise(self, covariance: FloatArray, mode: int) -> tuple[FloatArray, FloatArray]:
        """Return a covariance and its root; that of the first mode holds the size of the field."""
        if mode:
            covariance = covariance / (np.trace(covariance) / len(covariance))
        return covariance, self._algebra.root(covariance)

    def _mode_covariance(self, field: AnyArray, roots: list[FloatArray], mode: int) -> FloatArray:
        """Return the covariance of a mode's slabs, with those of the other modes removed."""
        for other, root in enumerate(roots):
            if other != mode:
                inverse = self._algebra.inverse(root).astype(field.dtype)
                field = self._algebra.multiply_mode(field, inverse, other)
        slabs = np.moveaxis(field, mode, 0).reshape(field.shape[mode], -1).astype(np.float64)
        return self._algebra.square(slabs) / slabs.shape[1]

    def _expect(self, targets: AnyArray, max_steps: int, tolerance: float) -> AnyArray:
        """Return the expected field of all cells, given targets in the observed ones.

        Conjugate gradients solve ``u + R' W R u = R' W targets``, with W the weights of observed
        cells over the noise. The preconditioner takes every cell to be observed with the mean of W.
        """
        precision = np.zeros(self._shape)
        precision[self._at] = self._weights / self._noise
        roots, variances = self._roots()
        transposed = [np.ascontiguousarray(root.T) for root in roots]
        scale = 1.0 / (1.0 + variances * float(precision.mean()))

        def gather(field: AnyArray) -> AnyArray:
            return self._algebra.multiply(precision * field, transposed)

        error = gather(targets)
        solution = np.zeros(self._shape)
        towards = scale * error
        direction = towards.copy()
        product = _dot(error, towards)
        goal = tolerance**2 * product
        for _ in range(max_steps):
            if product <= goal:
                break
            image = direction + gather(self._algebra.multiply(direction, roots))
            step = product / _dot(direction, image)
            solution += step * direction
            error -= step * image
            towards = scale * error
            before, product = product, _dot(error, towards)
            direction = towards + product / before * direction
        return self._algebra.multiply(solution, roots)

    def _roots(self) -> tuple[list[FloatArray], FloatArray]:
        """Return a root of every covariance, and the variances of the coordinates they belong to.

        Along the eigenvectors, variances are products of eigenvalues.
        """
        roots: list[FloatArray] = []
        variances: FloatArray = np.ones(())
        for covariance in self._covariances:
            self._algebra.check()
            if len(covariance) > MAX_EIGEN_LENGTH:
                roots.append(self._algebra.root(covariance))
            else:
                values, vectors = self._algebra.eigen(covariance)
                roots.append(vectors * np.sqrt(np.maximum(values, 0.0)))
            variances = np.multiply.outer(variances, (roots[-1] ** 2).sum(axis=0))
        return roots, variances


def _dot(one: AnyArray, other: AnyArray) -> float:
    return float(np.vdot(one, other))
