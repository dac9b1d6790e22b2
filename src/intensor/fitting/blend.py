"""Blends: the predictions of several scales, each with the share that held-out cells give it.

One scale is seldom right for all cells, and the held-out errors of good ones differ by less than
chance. So the predictions of a few are combined instead of betting on one. A share of 0 leaves a
scale out, and two that err in different cells predict better than either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from intensor._arrays import FloatArray
from intensor.fitting.component_path import MAX_EXTRAPOLATION
from intensor.fitting.path import Walk
from intensor.fitting.preparation import Split, thinned
from intensor.fitting.scoring import RMSE, Scoring

MAX_ERROR_RATIO = 1.2
"""Largest error of a member of a blend, as a multiple of the least error of all."""
TIED_ERRORS, MAX_TIED_RATIO = 2.0, 1.1
"""Two scales are tied when their losses on held-out cells differ by less than this many standard
errors of the difference, and their errors by less than this ratio."""
STEPS = (0.05, 0.1, 0.2, 0.35, 0.5)
"""Parts of the prediction that may go to a member at a time: held-out cells tell no finer ones."""
MAX_STEPS = 12  # most times that a part of the prediction goes to a member
MIN_BLEND_GAIN = 1e-3
"""Relative decrease of the score that such a step must bring."""
LEAST_KEPT_SHARE = 0.5
"""Least share of a squared error that averages of more models are expected to keep."""
LEAST_SCORE = 1e-300  # of perfect predictions, whose logarithm must be finite


class Blend(NamedTuple):
    """Shares of walks, and the error of the blend on the held-out cells."""

    shares: FloatArray  # (number of walks,), at least 0, with sum 1
    error: float


class _HeldOut(NamedTuple):
    """Held-out observations of a fold, with the predictions of all walks."""

    values: FloatArray
    weights: FloatArray | None
    predicted: FloatArray  # (number of walks, number of observations)

    def errors(self, predicted: FloatArray, scoring: Scoring) -> list[float]:
        """Return the error, and for the RMSE that of the square roots too.

        A few large values rule the RMSE, so that it alone would be too noisy to choose by, and a
        choice should not buy it with the errors of all other values.
        """
        errors = [scoring.measure(self.values, predicted, self.weights)]
        if scoring is RMSE:
            roots = np.sqrt(self.values), np.sqrt(np.maximum(predicted, 0.0))
            errors.append(scoring.measure(*roots, self.weights))
        return errors


def _collect(walks: Sequence[Walk], held_out: Sequence[Split]) -> list[_HeldOut]:
    """Return the held-out observations of each fold that walks have predicted."""
    found = []
    for split, *predicted in zip(held_out, *(one.predicted for one in walks), strict=False):
        weights = split.held.weights
        found.append(
            _HeldOut(
                thinned(split.held.values),
                None if weights is None else thinned(weights),
                np.array(predicted),
            )
        )
    return found


def rank_walks(walks: Sequence[Walk], held_out: Sequence[Split], scoring: Scoring) -> list[int]:
    """Return the numbers of walks of different scales, the best first.

    The error decides, and between errors that are tied with the least, the error of roots.
    """
    folds = _collect(walks, held_out)
    errors = [one.path.error for one in walks]
    least = int(np.argmin(errors))
    tied = [
        errors[number] <= MAX_TIED_RATIO * errors[least]
        and _distance(folds, number, least, scoring) <= TIED_ERRORS
        for number in range(len(walks))
    ]
    finer = [
        _means([fold.errors(fold.predicted[number], scoring) for fold in folds])[-1]
        for number in range(len(walks))
    ]
    return sorted(
        range(len(walks)),
        key=lambda number: (not tied[number], (finer if tied[number] else errors)[number]),
    )


def _distance(folds: Sequence[_HeldOut], one: int, other: int, scoring: Scoring) -> float:
    """Return by how many standard errors the losses of a walk are above those of another."""
    apart = np.concatenate(
        [
            scoring.losses(fold.values, fold.predicted[one])
            - scoring.losses(fold.values, fold.predicted[other])
            for fold in folds
        ]
    )
    spread = float(apart.std()) / math.sqrt(apart.size) if apart.size else 0.0
    return float(apart.mean()) / spread if spread > 0.0 else 0.0


def blend_walks(walks: Sequence[Walk], held_out: Sequence[Split], scoring: Scoring) -> Blend:
    """Choose the shares of walks on the held-out cells.

    The best walk comes first. Then parts of the prediction go to others, one step at a time, always
    the step that lowers the score the most, as long as no error rises.
    """
    folds = _collect(walks, held_out)
    best = rank_walks(walks, held_out, scoring)[0]
    most = MAX_ERROR_RATIO * walks[best].path.error
    members = [
        number
        for number, one in enumerate(walks)
        if number == best or (one.path.error <= most and not one.cut and not walks[best].cut)
    ]

    def measure(shares: FloatArray) -> list[float]:
        errors = _means([fold.errors(shares @ fold.predicted, scoring) for fold in folds])
        return [_ratio_of_last_fit(walks, shares, errors[0]) * error for error in errors]

    units = np.eye(len(walks))
    shares = units[best]
    errors = measure(shares)
    for _ in range(MAX_STEPS if len(members) > 1 else 0):
        trials = [
            (1.0 - step) * shares + step * units[member] for member in members for step in STEPS
        ]
        measured = [measure(trial) for trial in trials]
        allowed = [
            number
            for number, found in enumerate(measured)
            if all(new <= old for new, old in zip(found, errors, strict=True))
            and _score(found) < (1.0 - MIN_BLEND_GAIN) * _score(errors)
        ]
        if not allowed:
            break
        chosen = min(allowed, key=lambda number: _score(measured[number]))
        shares, errors = trials[chosen], measured[chosen]
    return Blend(shares, errors[0])


def _ratio_of_last_fit(walks: Sequence[Walk], shares: FloatArray, error: float) -> float:
    """Return what the error of a blend is multiplied by when the last fit has more models.

    Every walk averages a few models, so that a blend of two has twice as many as one of them. The
    last fit has as many in all, whatever the shares. Without this, blends would look better because
    of their numbers alone.
    """
    fall = 0.0
    for share, walk in zip(shares.tolist(), walks, strict=True):
        number = MAX_EXTRAPOLATION * walk.members  # as in the errors of walks
        fall += walk.variance * (share**2 / walk.members - share / number)
    square = error**2
    return math.sqrt(max(1.0 - fall / square, LEAST_KEPT_SHARE)) if square > 0.0 else 1.0


def _means(parts: Sequence[Sequence[float]]) -> list[float]:
    """Return the means over the folds of each kind of error, by ratios, as walks compare them."""
    kinds = np.log(np.maximum(np.array(parts), LEAST_SCORE))
    means: list[float] = np.exp(kinds.mean(axis=0)).tolist()
    return means


def _score(errors: Sequence[float]) -> float:
    return math.prod(errors) ** (1.0 / len(errors))
