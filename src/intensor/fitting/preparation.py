"""Values made ready for the solver: transformed, main effects taken out, collapsed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray, inner
from intensor.data.checks import check_values, check_weights
from intensor.data.observations import Observations, observe_groups
from intensor.errors import NegativeValueError
from intensor.fitting.options import Scale
from intensor.fitting.samples import Samples
from intensor.model.baseline import Baseline, fit_baseline
from intensor.model.model import Model
from intensor.model.predictor import Predictor, Remainder, index_counts
from intensor.model.transform import Transform
from intensor.runtime.budget import Budget
from intensor.runtime.threads import Workers

MAX_KEPT_PREDICTIONS = 1 << 17
"""Most predictions of held-out observations that are kept to blend and compare scales by."""
MIN_FIRST_RADIUS = 1e-60
"""Smallest radius at which a path begins; it is used when every value is 0."""


def thinned(column: AnyArray) -> AnyArray:
    """Return evenly spaced rows of an array about all held-out observations, if it is long."""
    return column[:: max(1, -(-len(column) // MAX_KEPT_PREDICTIONS))]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prepared:
    """Observations in the fitted scale, with the way back."""

    observations: Observations
    transform: Transform
    baseline: Baseline | None  # main effects that were taken out of the values
    counts: FloatArray  # (sum(shape),) total weight of the observations of each index
    largest_value: float  # in size, in the fitted scale

    @property
    def signed(self) -> bool:
        """Whether boxes must be able to count negatively."""
        return self.baseline is not None

    def predictor(self, model: Model, remainder: Remainder | None = None) -> Predictor:
        """Return the predictor of a model that was fitted to these observations."""
        return Predictor(
            model=model,
            counts=self.counts,
            transform=self.transform,
            baseline=self.baseline,
            remainder=remainder,
        )


@dataclass(slots=True, eq=False)
class Split:
    """Observations to train on and observations held out.

    The training part is kept in the scale that was asked for last: the walk, the search for the
    tolerance and the averages all use it. It is not pickled.
    """

    training: Samples
    held: Samples
    # number of the piece with which each held-out observation was held out; None if all differ
    pieces: IndexArray | None = None
    _last: tuple[Scale, Prepared] | None = field(default=None, init=False)

    def prepared(self, scale: Scale, budget: Budget | None = None) -> Prepared:
        """Return the training part in a scale; what a spent budget has cut short is not kept."""
        last = self._last
        if last is not None and last[0].prepares_like(scale):
            return last[1]
        made = prepare(self.training, scale, budget)
        if budget is None or not budget.spent:
            self._last = scale, made
        return made

    def __reduce__(self) -> tuple[type[Split], tuple[Samples, Samples, IndexArray | None]]:
        return Split, (self.training, self.held, self.pieces)


def prepare(samples: Samples, scale: Scale, budget: Budget | None = None) -> Prepared:
    """Transform checked observations of positive weight, and take main effects out if asked to.

    When the budget is spent, main effects are those that were found by then, or 0.
    """
    transform, weights = scale.transform, samples.weights
    fitted = transform.apply(samples.values)
    if fitted.min() < 0.0 and not scale.additive:
        row = int(np.argmin(fitted))
        raise NegativeValueError(
            f"the {transform.name} transform of the value {samples.values[row]} is {fitted[row]}; "
            "expected numbers >= 0, since the model is nonnegative in the fitted scale (use "
            'another transform, or baseline="additive", which allows any)'
        )
    if fitted is not samples.values:
        fitted = check_values(fitted, fitted.size, allow_negative=True)
    if weights is not None:  # those of a part may all be the same: they are scaled again
        weights = check_weights(weights, len(samples))
    observations = observe_groups(
        samples.groups(), fitted, weights=weights, shape=samples.shape, workers=Workers(1)
    )
    baseline = None
    largest = float(fitted.max())
    if scale.additive:
        baseline = fit_baseline(observations, budget=budget)
        cells = tuple(column.astype(np.int64) for column in observations.coords)
        left = observations.means - baseline.evaluate(cells)
        mean_square = inner(observations.cell_shares() * left, left) + observations.within
        observations = replace(observations, means=left, mean_square=mean_square)
        largest = float(np.abs(left).max())
    return Prepared(
        observations=observations,
        transform=transform,
        baseline=baseline,
        counts=index_counts(tuple(samples.coords.T), samples.shape, samples.weights),
        largest_value=max(largest, MIN_FIRST_RADIUS),
    )
