"""The walk of graded components: more and more of them, then other radii, with warm engines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from intensor._arrays import FloatArray
from intensor.fitting.fold import FIRST_SWEEPS, Request, Step
from intensor.fitting.folds import Folds
from intensor.fitting.graded_fold import count_members, error_of_average, split_error
from intensor.fitting.options import RemainderMethod
from intensor.fitting.path import RadiusPath, Walk, make_path
from intensor.model.model import Model
from intensor.options.ranges import LARGEST_MAGNITUDE
from intensor.runtime.budget import Budget
from intensor.solver.loop import Callback

FIRST_RADIUS_RATIO = 4.0
"""Radius at which numbers of components are compared, as a multiple of the largest value. The
number is the stronger regulariser, and a small radius keeps peaked profiles from forming."""
RADIUS_STEP = 2.0
"""Factor between two radii that are compared at the chosen number of components."""
MAX_SIZES_WITHOUT_GAIN, FEW_COMPONENTS = 1, 16
"""A walk ends after this many numbers of components without a better error, one more up to
``FEW_COMPONENTS``: the time of a step grows with the square of the number."""
MAX_EXTRAPOLATION = 2
"""Errors are compared as those of averages of at most this many times as many models as a fold has:
farther extrapolation would rest on the outliers of single models."""
MIN_CELLS_PER_COMPONENT = 2
"""Fewest training cells per component."""
LEAST_ERROR = 1e-300  # errors of perfect folds, whose logarithm must be finite
MIN_SIZE_GAIN = 5e-3
"""Smallest relative decrease of the error for which more components are worth their time."""
MAX_SWEEP_WORK, MIN_AFFORDABLE_SIZE = 2 * 10**9, 64
"""Most multiplications in a sweep over one mode, and the number of components that is always
affordable."""


def component_counts(most: int) -> Iterator[int]:
    """Yield 1, 2, 4, 8, 16, ... up to ``most``.

    Examples
    --------
    >>> list(component_counts(20))
    [1, 2, 4, 8, 16, 20]
    """
    size = 1
    while size < most:
        yield size
        size *= 2
    yield most


class ComponentWalk:
    """The steps of a walk so far: their errors, and the best models."""

    def __init__(self, folds: Folds, budget: Budget, callback: Callback) -> None:
        self._folds = folds
        self._budget = budget
        self._callback = callback
        self.members = count_members(folds.specs[0])
        # a remainder that was asked for is part of every error
        self._always_krige = folds.specs[0].remainder is RemainderMethod.KRIGING
        self.rows: list[dict[str, Any]] = []
        self.models: tuple[Model, ...] = ()
        self.predicted: tuple[FloatArray, ...] = ()
        self.least = math.inf
        self._last_is_best = False
        self.cut = False
        self.kriging_seconds = 0.0

    @property
    def over(self) -> bool:
        """Whether there is no time for another step."""
        return self.cut or (self._budget.spent and not self._folds.knows_next_step)

    def take(
        self,
        radius: float,
        size: int,
        *,
        more: int = 0,
        from_best: bool = False,
        kriged: bool = False,
        rounds: int = 0,
    ) -> float:
        """Take a step with all folds and return its score, infinite if a limit cut it off.

        It begins with the components of the last step, or of the best one, and takes
        ``FIRST_SWEEPS`` sweeps, or as many ``more`` than the best step had.
        """
        request = Request(
            radius,
            max_components=size,
            sweeps=more or FIRST_SWEEPS,
            keep=self._last_is_best,
            from_kept=from_best and not self._last_is_best,
            kriged=kriged or self._always_krige,
            rounds=rounds,
        )
        sweeps = request.sweeps + (int(self._best_row["sweeps"]) if from_best else 0)
        (steps,) = self._folds.take([request], self._budget, self._callback)
        cut = any(step.cut for step in steps)
        if cut and self.rows:
            return math.inf
        self.cut = cut
        self.kriging_seconds = max(self.kriging_seconds, *(step.kriging_seconds for step in steps))
        error = _geometric_mean([self._expected_error(step) for step in steps])
        score = _geometric_mean([self._score(step) for step in steps])
        self.rows.append(
            {
                "radii": radius,
                "errors": error,
                "objectives": np.mean([step.objective for step in steps]),
                "boxes": np.mean([len(step.model) for step in steps]) / self.members,
                "noise": np.mean([step.noise for step in steps]),
                "seconds": max(step.seconds for step in steps),
                "kriged": np.mean([step.kriged for step in steps]) > 0.5,
                "limits": float(size),
                "sweeps": float(sweeps),
                "rounds": float(rounds),
                "singles": np.mean([step.single_error for step in steps]),
                "averages": np.mean([step.average_error for step in steps]),
                "scores": score,
            }
        )
        self._last_is_best = score < self.least
        if self._last_is_best:
            self.models = tuple(step.model for step in steps)
            self.predicted = tuple(step.predicted for step in steps)
            self.least = score
        return score

    def _expected_error(self, step: Step) -> float:
        """Return the error that the average of as many models as the last fit may have.

        Kriging takes out most of what models of different seeds differ in, so that more of them
        would not lower its error much.
        """
        if step.kriged:
            return step.error
        return error_of_average(
            step.single_error, step.average_error, self.members, self.n_compared
        )

    def _score(self, step: Step) -> float:
        """Return what numbers and radii of one scale are compared by.

        It is the mean, by ratios, of the errors in the units of the data and in the fitted scale.
        A few large values rule the first, so that it alone would be too noisy.
        """
        expected = self._expected_error(step)
        ratio = expected / step.average_error if step.average_error > 0.0 else 1.0
        return math.sqrt(expected * ratio * math.sqrt(step.noise))

    def find_variance(self) -> float:
        """Return the variance of the error of one model at the best step; 0 after kriging."""
        row = self._best_row
        if self.members == 1 or row["kriged"]:
            return 0.0
        return split_error(float(row["singles"]), float(row["averages"]), self.members)[1]

    @property
    def n_compared(self) -> int:
        """Number of models whose average errors are those of."""
        return min(self._folds.max_averaged, MAX_EXTRAPOLATION * self.members)

    @property
    def _best_row(self) -> dict[str, Any]:
        return min(self.rows, key=lambda row: float(row["scores"]))

    @property
    def best(self) -> tuple[float, int]:
        """Radius and number of components of the least error."""
        return float(self._best_row["radii"]), int(self._best_row["limits"])


def walk_components(
    folds: Folds,
    *,
    budget: Budget,
    callback: Callback,
    one_radius: bool = False,
    like: RadiusPath | None = None,
) -> Walk:
    """Walk up the numbers of components until held-out cells are predicted no better.

    Then try larger radii and more sweeps at the best number, and kriging at the best of all. With
    ``one_radius`` only a few numbers are tried, and kriging, which is enough to compare scales.
    With ``like``, the walk goes straight to where the path of another scale ended.
    """
    walk = ComponentWalk(folds, budget, callback)
    given = folds.options.radius
    radius = given or min(FIRST_RADIUS_RATIO * folds.largest_value, LARGEST_MAGNITUDE)
    if like is not None:
        _follow(walk, radius, like, may_krige=folds.may_krige)
    else:
        _grow(walk, radius, folds, scouting=one_radius)
        if given is None and not one_radius:
            _raise_radius(walk, folds.options.effort.max_radius_steps)
        if not one_radius:
            _polish(walk, folds.options.effort.max_polishing_steps)
        seldom = folds.kriges_seldom
        if folds.may_krige and not walk.over and not (seldom and one_radius):
            _krige(walk, folds, once=one_radius or seldom)
    return Walk(
        folds.scale,
        make_path(folds, walk.rows),
        walk.models,
        walk.predicted,
        walk.cut,
        walk.kriging_seconds,
        walk.members,
        walk.find_variance(),
    )


def _geometric_mean(errors: Sequence[float]) -> float:
    """Return the mean of errors by their ratios: folds may hold out cells of unlike difficulty."""
    return float(np.exp(np.mean(np.log(np.maximum(errors, LEAST_ERROR)))))


def _grow(walk: ComponentWalk, radius: float, folds: Folds, *, scouting: bool) -> None:
    """Raise the number of components until the error no longer falls."""
    effort = folds.options.effort
    most = min(effort.max_components, _affordable_size(folds))
    without_gain, least = 0, math.inf
    most = folds.options.max_components or most
    few = [size for size in effort.scouted_sizes if size < most] or [most]
    for size in few if scouting else component_counts(most):
        error = walk.take(radius, size)
        without_gain = 0 if error < (1.0 - MIN_SIZE_GAIN) * least else without_gain + 1
        least = min(least, error)
        patience = MAX_SIZES_WITHOUT_GAIN + (size <= FEW_COMPONENTS)
        if walk.over or without_gain >= patience:
            break
    if not scouting:
        _refine_size(walk, radius, most)


def _refine_size(walk: ComponentWalk, radius: float, most: int) -> None:
    """Try a number of components between the best one and twice as many."""
    between = 3 * walk.best[1] // 2
    if not walk.over and walk.best[1] < between < most:
        walk.take(radius, between, from_best=True)


def _follow(walk: ComponentWalk, first_radius: float, like: RadiusPath, *, may_krige: bool) -> None:
    """Take the steps that lead to the number of components and the radius of another path.

    The radius is the same multiple of the first one. Half of the components come first, since fewer
    may be enough in this scale.
    """
    size = int(like.limits[like.best])
    radius = min(first_radius * like.radius / float(like.radii[0]), LARGEST_MAGNITUDE)
    for number in sorted({max(1, size // 2), size}):
        if walk.over:
            return
        walk.take(radius, number)
    if may_krige and not walk.over:
        rounds = int(like.rounds[like.best])
        walk.take(*walk.best, more=1, from_best=True, kriged=True, rounds=rounds)


def _affordable_size(folds: Folds) -> int:
    """Return the largest number of components that is tried, by the work of a sweep.

    The work grows with the square of the number. A moderate number is tried on any data.
    """
    n_cells = min(spec.split.training.n_cells for spec in folds.specs)
    affordable = max(MIN_AFFORDABLE_SIZE, math.isqrt(MAX_SWEEP_WORK // n_cells))
    return max(1, min(n_cells // MIN_CELLS_PER_COMPONENT, affordable))


def _krige(walk: ComponentWalk, folds: Folds, *, once: bool) -> None:
    """Try kriging at the best number and radius, then more components in a larger radius.

    Kriging takes from a model which indices are alike. A model that is too rich to predict well
    itself can still tell more about that. Last come rounds, which fit the covariances to the
    observed cells.
    """
    radius, size = walk.best
    before = walk.take(radius, size, more=1, from_best=True, kriged=True)
    if once or not walk.rows[-1]["kriged"]:
        return
    most = min(folds.options.effort.max_kriged_components, _affordable_size(folds))
    most = folds.options.max_components or most
    while not walk.over and 2 * size <= most:
        size *= 2
        if folds.options.radius is None:
            radius = min(RADIUS_STEP * radius, LARGEST_MAGNITUDE)
        score = walk.take(radius, size, kriged=True)
        if not score < before:
            break
        before = score
    for rounds in folds.options.effort.kriging_rounds:
        before = walk.least
        if (
            walk.over
            or not walk.take(*walk.best, more=1, from_best=True, kriged=True, rounds=rounds)
            < (1.0 - MIN_SIZE_GAIN) * before
        ):
            break


def _polish(walk: ComponentWalk, most: int) -> None:
    """Go on sweeping at the best number and radius for as long as the error falls.

    More sweeps follow the noise of noisy data, and find the last digits of clean data.
    """
    sweeps = FIRST_SWEEPS
    for _ in range(most):
        if walk.over:
            break
        before = walk.least
        error = walk.take(*walk.best, more=sweeps, from_best=True)
        if not error < (1.0 - MIN_SIZE_GAIN) * before:
            break
        sweeps *= 2


def _raise_radius(walk: ComponentWalk, most: int) -> None:
    """Raise the radius at the best number of components for as long as the error falls.

    A smaller one is not tried: few components need no other bound, and many are tried at the first
    radius, which is small.
    """
    for _ in range(most):
        radius, size = walk.best
        if walk.over or radius * RADIUS_STEP > LARGEST_MAGNITUDE:
            break
        before = walk.least
        if not walk.take(radius * RADIUS_STEP, size, from_best=True) < before:
            break
