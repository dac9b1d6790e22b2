"""Smooth fields: kriging whose covariances fall with the distance between indices.

Hours, dates and positions have an order, and neighbours are alike. Here that is learnt from the
observed cells alone, without a model of terms. The correlation of two cells that differ in one mode
only is measured at growing distances, and a curve is fitted to it,

    correlation at distance h in mode k = signal * (floor_k + (1 - floor_k) * matern(h / length_k)),

where ``signal`` is the share of the variance that is not noise. A mode without an order has a
length near 0: all its indices are then equally alike, as the floor says. The product of the curves
of all modes is the covariance of two cells, and the expected field follows as in ``kriging``.
"""

from __future__ import annotations

import contextlib
import math
from typing import NamedTuple

import numpy as np

from intensor._arrays import AnyArray, FloatArray, Shape, inner
from intensor.data.observations import Observations
from intensor.fitting.fields import MAX_PIECE, FieldAlgebra, OutOfTimeError
from intensor.fitting.kriging import Kriging
from intensor.model.predictor import SMOOTH_FIELD, Remainder
from intensor.runtime.budget import Budget

ROUGH, SMOOTH = 0.5, 1.5
"""Smoothness of Matern's covariance: of fields with kinks, and of fields with slopes everywhere."""
DISTANCES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Distances at which correlations are measured."""
SIGNAL_SHARES = (0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999)
"""Shares of the variance that may be signal."""
LENGTHS = (0.3, *(2.0 ** (step / 2.0) for step in range(16)))
"""Lengths over which correlations may fall; with the first one, no two indices are neighbours."""
MAX_FLOOR = 0.999  # largest correlation of indices that are far apart
OWN_SHARE = 1e-6
"""Share of the variance of an index that it shares with no other, so that matrices have roots."""
MIN_VARIANCE = 1e-12
"""Least variance of the targets, as a share of the square of the largest, that can be smoothed."""


class Curve(NamedTuple):
    """How the correlation of two indices of a mode falls with their distance."""

    length: float
    floor: float

    def matrix(self, n: int, smoothness: float) -> FloatArray:
        """Return the correlations of all pairs of n indices."""
        distances = np.abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(np.float64)
        falling = matern(distances / self.length, smoothness)
        correlations = self.floor + (1.0 - self.floor) * falling
        return (1.0 - OWN_SHARE) * correlations + OWN_SHARE * np.eye(n)


class Correlations(NamedTuple):
    """Correlations of cells that differ in one mode, measured on the observed ones."""

    distances: FloatArray
    measured: FloatArray  # at each distance
    pairs: FloatArray  # of observed cells at each distance
    overall: float  # over all pairs of cells of a fibre
    length: int  # of the mode


def smooth(
    observations: Observations,
    *,
    smoothness: float,
    rounds: int = 0,
    noise_ratio: float = 1.0,
    budget: Budget,
    threads: int | None = 1,
    seed: int = 0,
    rough: bool = False,
    max_piece: int = MAX_PIECE,
) -> Remainder | None:
    """Return the expected value of every cell, given the observed ones.

    The observations are in the fitted scale, without their main effects. In ``rounds``, covariances
    are fitted to the observed cells one by one, no longer as functions of the distance. The noise
    that correlations tell is multiplied by ``noise_ratio``. None is returned if the budget is spent
    before the end. With ``rough``, the field is less close.
    """
    algebra = FieldAlgebra(budget, threads, max_piece=max_piece)
    with contextlib.suppress(OutOfTimeError), algebra.running():
        columns = tuple(column.astype(np.int64) for column in observations.coords)
        shares = observations.cell_shares()
        mean = inner(shares, observations.means)
        targets = observations.means - mean
        size = float(np.abs(targets).max())
        variance = inner(shares, (targets / size) ** 2) if size > 0.0 else 0.0
        if variance <= MIN_VARIANCE:
            return Remainder(field=np.full(observations.shape, mean), method=SMOOTH_FIELD)
        targets = targets / size
        signal, curves = fit_curves(
            measure_correlations(columns, targets, observations.shape, algebra), smoothness
        )
        covariances = [
            curve.matrix(length, smoothness)
            for curve, length in zip(curves, observations.shape, strict=True)
        ]
        covariances[0] = covariances[0] * signal * variance
        kriging = Kriging(
            np.zeros(observations.shape),
            columns,
            covariances=covariances,
            targets=targets,
            weights=shares * float(observations.n_cells),
            noise=noise_ratio * (1.0 - signal) * variance,
            seed=seed,
            algebra=algebra,
        )
        for _ in range(rounds):
            kriging.improve()
        expected = kriging.expected(rough=rough)
        return Remainder(field=expected.astype(np.float64) * size + mean, method=SMOOTH_FIELD)
    return None


def matern(distances: FloatArray, smoothness: float) -> FloatArray:
    """Return Matern's correlation at distances in units of its length.

    Examples
    --------
    >>> matern(np.array([0.0, 1.0]), ROUGH).round(4).tolist()
    [1.0, 0.3679]
    """
    if smoothness == ROUGH:
        return np.exp(-distances)
    scaled = math.sqrt(3.0) * distances
    falling: FloatArray = (1.0 + scaled) * np.exp(-scaled)
    return falling


def measure_correlations(
    columns: tuple[AnyArray, ...], targets: FloatArray, shape: Shape, algebra: FieldAlgebra
) -> list[Correlations]:
    """Return the correlations of observed cells along every mode."""
    values, known = np.zeros(shape), np.zeros(shape)
    values[columns], known[columns] = targets, 1.0
    variance = float(targets @ targets) / targets.size
    found = []
    for mode, length in enumerate(shape):
        algebra.check()
        along, there = np.moveaxis(values, mode, 0), np.moveaxis(known, mode, 0)
        distances = [distance for distance in DISTANCES if distance < length]
        pairs = [float(np.vdot(there[d:], there[:-d])) for d in distances]
        products = [float(np.vdot(along[d:], along[:-d])) for d in distances]
        sums, counts = along.sum(axis=0), there.sum(axis=0)
        n_pairs = float((counts * (counts - 1.0)).sum())
        overall = float((sums**2).sum()) - float(targets @ targets)
        found.append(
            Correlations(
                distances=np.array(distances, dtype=np.float64),
                measured=np.array(products) / np.maximum(pairs, 1.0) / variance,
                pairs=np.array(pairs),
                overall=overall / n_pairs / variance if n_pairs > 0.0 else 0.0,
                length=length,
            )
        )
    return found


def fit_curves(
    correlations: list[Correlations], smoothness: float
) -> tuple[float, tuple[Curve, ...]]:
    """Return the share of signal and the curve of every mode that fit the correlations best."""
    trials = []
    for signal in SIGNAL_SHARES:
        fitted = [_fit_curve(one, signal, smoothness) for one in correlations]
        trials.append(
            (sum(error for error, _ in fitted), signal, tuple(curve for _, curve in fitted))
        )
    _, signal, curves = min(trials)
    return signal, curves


def _fit_curve(one: Correlations, signal: float, smoothness: float) -> tuple[float, Curve]:
    """Return the best curve of a mode for a share of signal, after its error.

    The floor is such that the mean over all pairs of a fibre is the measured one. The error is a
    mean over distances, by the roots of the numbers of pairs.
    """
    weights = np.sqrt(one.pairs)
    total = float(weights.sum())
    apart = np.arange(1.0, one.length)
    fitted = []
    for length in LENGTHS:
        mean = 0.0
        if apart.size:
            mean = float(np.average(matern(apart / length, smoothness), weights=one.length - apart))
        overall = min(max(one.overall / signal, 0.0), 1.0)
        floor = min(max((overall - mean) / (1.0 - mean), 0.0), MAX_FLOOR) if mean < 1.0 else 0.0
        curve = floor + (1.0 - floor) * matern(one.distances / length, smoothness)
        square = (signal * curve - one.measured) ** 2
        error = float(weights @ square) / total if total > 0.0 else 0.0
        fitted.append((error, Curve(length, floor)))
    return min(fitted)
