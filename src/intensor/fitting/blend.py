"""Blends: the predictions of several candidates, each with the share that held-out cells give it.

One candidate is seldom right for all cells, and the held-out errors of good ones differ by less
than chance. So the predictions of a few are combined instead of betting on one. A share of 0 leaves
a candidate out, and two that err in different cells predict better than either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from intensor._arrays import FloatArray, IndexArray
from intensor.fitting.component_path import MAX_EXTRAPOLATION
from intensor.fitting.preparation import Split, thinned
from intensor.fitting.scoring import RMSE, Scoring

MAX_ERROR_RATIO = 1.5
"""Largest error of a member of a blend, as a multiple of the least error of all."""
MIN_SHARE = 0.04
"""Least share of a member of a blend; smaller ones go to the others."""
MAX_BLENDED_CELLS = 1 << 15
"""Most held-out observations of a fold by which shares are chosen."""
MAX_FIRST_RATIO, MAX_RISE_RATIO = 1.1, 1.02
"""Largest error of the candidate that a blend begins with, and of the blend, as multiples of the
least error of all candidates."""
ERROR_WEIGHT = 2.0 / 3.0
"""Weight of the error in the score, against that of the error of square roots."""
STEPS = (0.05, 0.1, 0.2, 0.35, 0.5)
"""Parts of the prediction that may go to a member at a time: held-out cells tell no finer ones."""
MAX_STEPS = 12  # most times that a part of the prediction goes to a member
MIN_BLEND_GAIN = 1e-3
"""Relative decrease of the score that such a step must bring."""
LEAST_KEPT_SHARE = 0.5
"""Least share of a squared error that averages of more models are expected to keep."""
LEAST_SCORE = 1e-300  # of perfect predictions, whose logarithm must be finite


class Entrant(Protocol):
    """A candidate, as a blend sees it."""

    @property
    def error(self) -> float:
        """Error on held-out cells that its last fit is expected to have."""

    @property
    def predicted(self) -> tuple[FloatArray, ...]:
        """Predictions of the held-out observations of each fold, thinned."""

    @property
    def cut(self) -> bool:
        """Whether a limit cut it off, so that its error does not compare with others."""

    @property
    def members(self) -> int:
        """Number of models whose average made the predictions."""

    @property
    def variance(self) -> float:
        """Variance of the error of one of these models."""

    @property
    def plain(self) -> bool:
        """Whether it is so simple that no blend may be worse on the held-out cells."""


class Blend(NamedTuple):
    """Shares of candidates, and the error of the blend on the held-out cells."""

    shares: FloatArray  # (number of candidates,), at least 0, with sum 1
    error: float
    spread: float  # standard error of the error


class _HeldOut(NamedTuple):
    """Held-out observations of a fold, with the predictions of all candidates."""

    values: FloatArray
    weights: FloatArray | None
    pieces: IndexArray  # observations of a piece were held out together
    predicted: FloatArray  # (number of candidates, number of observations)

    def errors(self, predicted: FloatArray, scoring: Scoring) -> list[float]:
        """Return the error, and for the RMSE that of the square roots too."""
        errors = [scoring.measure(self.values, predicted, self.weights)]
        if scoring is RMSE:
            roots = np.sqrt(self.values), np.sqrt(np.maximum(predicted, 0.0))
            errors.append(scoring.measure(*roots, self.weights))
        return errors


def _collect(
    entrants: Sequence[Entrant], held_out: Sequence[Split], most: int = MAX_BLENDED_CELLS
) -> list[_HeldOut]:
    """Return the held-out observations of each fold that candidates have predicted."""
    found = []
    for split, *predicted in zip(held_out, *(one.predicted for one in entrants), strict=True):
        weights, values = split.held.weights, thinned(split.held.values)
        some = slice(None, None, max(1, -(-values.size // most)))
        found.append(
            _HeldOut(
                values[some],
                None if weights is None else thinned(weights)[some],
                thinned(np.arange(len(split.held)) if split.pieces is None else split.pieces)[some],
                np.array([column[some] for column in predicted]),
            )
        )
    return found


def rank(entrants: Sequence[Entrant], held_out: Sequence[Split], scoring: Scoring) -> list[int]:
    """Return the numbers of candidates, the best first.

    They are compared by their scores, except those whose error alone is far above the least.
    """
    errors = [one.error for one in entrants]
    if any(one.cut for one in entrants):  # which may have predicted other cells
        return sorted(range(len(entrants)), key=lambda number: errors[number])
    folds = _collect(entrants, held_out)
    most = MAX_FIRST_RATIO * min(errors)
    scores = []
    for number, one in enumerate(entrants):
        measured = _means([fold.errors(fold.predicted[number], scoring) for fold in folds])
        expected = one.error / measured[0] if measured[0] > 0.0 else 1.0  # with more models
        scores.append(_score([expected * error for error in measured]))
    return sorted(range(len(entrants)), key=lambda number: (errors[number] > most, scores[number]))


def blend(entrants: Sequence[Entrant], held_out: Sequence[Split], scoring: Scoring) -> Blend:
    """Choose the shares of candidates on the held-out cells.

    Candidates that a limit cut off have no share, unless that is all there is. The error that is
    reported for a fold is that of shares which all other folds chose, if there are several.
    """
    finished = [number for number, one in enumerate(entrants) if not one.cut]
    if not finished:
        return single(entrants, held_out, scoring, rank(entrants, held_out, scoring)[0])
    found = _blend_finished([entrants[number] for number in finished], held_out, scoring)
    shares = np.zeros(len(entrants))
    shares[finished] = found.shares
    return found._replace(shares=shares)


def _blend_finished(
    entrants: Sequence[Entrant], held_out: Sequence[Split], scoring: Scoring
) -> Blend:
    folds = _collect(entrants, held_out)
    chooser = _Chooser(entrants, held_out, scoring)
    shares = chooser.choose(folds)
    fair = [
        chooser.choose([*folds[:number], *folds[number + 1 :]]) if len(folds) > 1 else shares
        for number in range(len(folds))
    ]
    return chooser.report(shares, folds, fair)


def single(
    entrants: Sequence[Entrant], held_out: Sequence[Split], scoring: Scoring, chosen: int
) -> Blend:
    """Return the blend in which one candidate has it all."""
    shares, only = np.eye(len(entrants))[chosen], entrants[chosen]
    if only.cut:
        return Blend(shares, only.error, math.inf)
    folds, whole = _collect([only], held_out), np.ones(1)
    found = _Chooser([only], held_out, scoring).report(whole, folds, [whole] * len(folds))
    return found._replace(shares=shares)


class _Chooser:
    """Chooses shares of candidates by the errors of their blends on some folds."""

    def __init__(
        self, entrants: Sequence[Entrant], held_out: Sequence[Split], scoring: Scoring
    ) -> None:
        self._entrants = entrants
        self._scoring = scoring
        self._first = rank(entrants, held_out, scoring)[0]

    def choose(self, folds: Sequence[_HeldOut]) -> FloatArray:
        """Return the shares that predict the held-out cells of some folds best.

        Their error there is at most ``MAX_RISE_RATIO`` times that of the best candidate, and not
        above that of any plain candidate.
        """
        units = np.eye(len(self._entrants))
        alone = [self._measure(unit, folds)[0] for unit in units]
        members = self._find_members(self._first)
        plain = [number for number, one in enumerate(self._entrants) if one.plain]
        best = min((*members, *plain), key=lambda number: alone[number])
        most = min([MAX_RISE_RATIO * alone[best], *(alone[number] for number in plain)])
        for first in (self._first, best):
            shares = self._improve(first, folds, most)
            shares = np.where(shares < MIN_SHARE, 0.0, shares)
            shares /= shares.sum()
            if self._measure(shares, folds)[0] <= most:
                return shares
        only: FloatArray = units[best]
        return only

    def _improve(self, first: int, folds: Sequence[_HeldOut], most: float) -> FloatArray:
        """Begin with one candidate, and give parts of the prediction to others.

        It is always the step that lowers the score the most. The error itself never rises above
        ``most``, unless it begins there.
        """
        members = self._find_members(first)
        units = np.eye(len(self._entrants))
        shares: FloatArray = units[first]
        errors = self._measure(shares, folds)
        for _ in range(MAX_STEPS if len(members) > 1 else 0):
            trials = [
                (1.0 - step) * shares + step * units[member] for member in members for step in STEPS
            ]
            measured = [self._measure(trial, folds) for trial in trials]
            allowed = [
                number
                for number, found in enumerate(measured)
                if found[0] <= max(most, errors[0])
                and _score(found) < (1.0 - MIN_BLEND_GAIN) * _score(errors)
            ]
            if not allowed:
                break
            chosen = min(allowed, key=lambda number: _score(measured[number]))
            shares, errors = trials[chosen], measured[chosen]
        return shares

    def _find_members(self, first: int) -> list[int]:
        """Return the candidates that may have a share beside the first one."""
        most = MAX_ERROR_RATIO * self._entrants[first].error
        return [
            number
            for number, one in enumerate(self._entrants)
            if number == first or (one.error <= most and not one.cut)
        ]

    def _measure(self, shares: FloatArray, folds: Sequence[_HeldOut]) -> list[float]:
        errors = _means([fold.errors(shares @ fold.predicted, self._scoring) for fold in folds])
        return [self._ratio_of_last_fit(shares, errors[0]) * error for error in errors]

    def report(
        self, shares: FloatArray, folds: Sequence[_HeldOut], fair: Sequence[FloatArray]
    ) -> Blend:
        """Return shares with the error that they are expected to have, and its spread.

        ``fair`` are the shares by which each fold is predicted.
        """
        scoring = self._scoring
        predicted = [own @ fold.predicted for own, fold in zip(fair, folds, strict=True)]
        errors = [
            scoring.measure(fold.values, column, fold.weights)
            for fold, column in zip(folds, predicted, strict=True)
        ]
        error = _means([[one] for one in errors])[0]
        relative = _relative_spread(
            [
                scoring.losses(fold.values, column)
                for fold, column in zip(folds, predicted, strict=True)
            ],
            [scoring.counted(fold.values, fold.weights) for fold in folds],
            [fold.pieces for fold in folds],
        )
        ratio = self._ratio_of_last_fit(shares, error)
        power = 0.5 if scoring.squared else 1.0
        return Blend(shares, ratio * error, power * relative * ratio * error)

    def _ratio_of_last_fit(self, shares: FloatArray, error: float) -> float:
        """Return what the error of a blend is multiplied by when the last fit has more models.

        Every walk averages a few models, so that a blend of two has twice as many as one of them.
        The last fit has as many in all, whatever the shares. Without this, blends would look better
        because of their numbers alone.
        """
        fall = 0.0
        for share, one in zip(shares.tolist(), self._entrants, strict=True):
            number = MAX_EXTRAPOLATION * one.members  # as in the errors of walks
            fall += one.variance * (share**2 / one.members - share / number)
        square = error**2
        return math.sqrt(max(1.0 - fall / square, LEAST_KEPT_SHARE)) if square > 0.0 else 1.0


def _relative_spread(
    losses: Sequence[FloatArray], weights: Sequence[FloatArray], pieces: Sequence[IndexArray]
) -> float:
    """Return the standard error of the mean loss, as a share of it.

    Observations that were held out together err together, so pieces are what is counted.
    """
    parts = list(zip(losses, weights, pieces, strict=True))
    sums = np.concatenate([np.bincount(own, column * weight) for column, weight, own in parts])
    totals = np.concatenate([np.bincount(own, weight) for _, weight, own in parts])
    if not sums.sum() > 0.0:
        return 0.0
    mean = sums.sum() / totals.sum()
    return float(np.sqrt(((sums - mean * totals) ** 2).sum()) / sums.sum())


def _means(parts: Sequence[Sequence[float]]) -> list[float]:
    """Return the means over the folds of each kind of error, by ratios, as walks compare them."""
    kinds = np.log(np.maximum(np.array(parts), LEAST_SCORE))
    means: list[float] = np.exp(kinds.mean(axis=0)).tolist()
    return means


def _score(errors: Sequence[float]) -> float:
    """Return what candidates are compared by: the error, and for the RMSE that of roots too.

    A few large values rule the RMSE, so that it alone would be too noisy to choose by, and a choice
    should not buy it with the errors of all other values.
    """
    if len(errors) == 1:
        return errors[0]
    error, of_roots = errors
    return float(error**ERROR_WEIGHT * of_roots ** (1.0 - ERROR_WEIGHT))
