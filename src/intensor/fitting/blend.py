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
from intensor.fitting.path import Walk
from intensor.fitting.preparation import Split
from intensor.fitting.scoring import RMSE, Scoring

MAX_ERROR_RATIO = 1.2
"""Largest error of a member of a blend, as a multiple of the least error of all."""
SHARES = 20
"""Shares of a blend are multiples of one over this number: held-out cells tell no finer ones."""
MIN_BLEND_GAIN = 2e-3
"""Relative decrease of the score that another member must bring."""
LEAST_SCORE = 1e-300  # of perfect predictions, whose logarithm must be finite


class Blend(NamedTuple):
    """Shares of walks, and the error of the blend on the held-out cells."""

    shares: FloatArray  # (number of walks,), at least 0, with sum 1
    error: float


def score_walk(walk: Walk, held_out: Sequence[Split], scoring: Scoring) -> float:
    """Return what walks of different scales are compared by.

    It is the score of the predictions at the best step, lowered by what the average of as many
    models as the last fit has is expected to gain.
    """
    pairs = list(zip(held_out, walk.predicted, strict=False))
    measured = _mean([_measure(split, values, scoring) for split, values in pairs])
    gain = walk.path.error / measured if measured > 0.0 else 1.0
    return gain * _mean([_score(split, values, scoring) for split, values in pairs])


def blend_walks(walks: Sequence[Walk], held_out: Sequence[Split], scoring: Scoring) -> Blend:
    """Choose the shares of walks on the held-out cells.

    Walks are added one at a time, with repetition, always the one that lowers the score the most,
    and counted. That is slow to give weight to noise.
    """
    scores = [score_walk(one, held_out, scoring) for one in walks]
    best = int(np.argmin(scores))
    most = MAX_ERROR_RATIO * walks[best].path.error
    members = [
        number
        for number, one in enumerate(walks)
        if number == best or (one.path.error <= most and not one.cut and not walks[best].cut)
    ]
    counts = np.zeros(len(walks))
    counts[best] = 1.0
    least = _score_blend(walks, counts, held_out, scoring)
    found = counts.copy()
    while len(members) > 1 and counts.sum() < SHARES:
        trials = []
        for member in members:
            more = counts.copy()
            more[member] += 1.0
            trials.append((_score_blend(walks, more, held_out, scoring), member))
        score, member = min(trials)
        counts[member] += 1.0
        if score < (1.0 - MIN_BLEND_GAIN) * least:
            least, found = score, counts.copy()
    shares = found / found.sum()
    errors = [_measure(split, values, scoring) for split, values in _mixed(walks, shares, held_out)]
    return Blend(shares, _mean(errors))


def _score_blend(
    walks: Sequence[Walk], counts: FloatArray, held_out: Sequence[Split], scoring: Scoring
) -> float:
    mixed = _mixed(walks, counts / counts.sum(), held_out)
    return _mean([_score(split, values, scoring) for split, values in mixed])


def _mixed(
    walks: Sequence[Walk], shares: FloatArray, held_out: Sequence[Split]
) -> list[tuple[Split, FloatArray]]:
    """Return the held-out cells of each fold with the predictions of a blend."""
    used = np.flatnonzero(shares).tolist()
    return [
        (split, sum((shares[one] * walks[one].predicted[fold] for one in used), np.zeros(())))
        for fold, split in enumerate(held_out[: len(walks[used[0]].predicted)])
    ]


def _measure(split: Split, predicted: FloatArray, scoring: Scoring) -> float:
    return scoring.measure(split.held.values, predicted, split.held.weights)


def _score(split: Split, predicted: FloatArray, scoring: Scoring) -> float:
    """Return the error, and for the RMSE its mean by ratios with that of the square roots.

    A few large values rule the RMSE, so that it alone would be too noisy to choose by.
    """
    error = _measure(split, predicted, scoring)
    if scoring is not RMSE:
        return error
    roots = scoring.measure(
        np.sqrt(split.held.values), np.sqrt(np.maximum(predicted, 0.0)), split.held.weights
    )
    return math.sqrt(error * roots)


def _mean(errors: Sequence[float]) -> float:
    """Return the mean of errors by their ratios, as walks compare them."""
    return float(np.exp(np.mean(np.log(np.maximum(errors, LEAST_SCORE)))))
