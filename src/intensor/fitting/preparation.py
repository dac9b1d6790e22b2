"""Values made ready for the solver: transformed, main effects taken out, collapsed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from intensor._arrays import FloatArray, inner
from intensor.data.observations import Observations, observe
from intensor.errors import NegativeValueError
from intensor.fitting.options import Scale
from intensor.fitting.samples import Samples
from intensor.model.baseline import Baseline, fit_baseline
from intensor.model.model import Model
from intensor.model.predictor import Predictor, index_counts
from intensor.model.remainder import Remainder
from intensor.model.transform import Transform

__all__ = ["Prepared", "prepare"]

TINY = 1e-60
"""Radius to begin with when every value is 0."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prepared:
    """Observations in the fitted scale, with the way back.

    Attributes
    ----------
    observations
        What the boxes are fitted to.
    transform, baseline
        What was done to the values.
    counts
        (sum(shape),) observations of each index, by their weight.
    largest
        Largest size of a value in the fitted scale.
    """

    observations: Observations
    transform: Transform
    baseline: Baseline | None
    counts: FloatArray
    largest: float

    @property
    def signed(self) -> bool:
        """Whether boxes must be able to count negatively."""
        return self.baseline is not None

    def predictor(self, model: Model, remainder: Remainder | None = None) -> Predictor:
        """Return what predicts with a model that was fitted to these observations."""
        return Predictor(
            model=model,
            counts=self.counts,
            transform=self.transform,
            baseline=self.baseline,
            remainder=remainder,
        )


def prepare(samples: Samples, scale: Scale) -> Prepared:
    """Transform the values and take main effects out, if the scale says so."""
    if samples.weights is not None and not samples.weights.all():
        samples = samples.part(samples.weights > 0.0)
    transform = scale.transform
    fitted = transform.apply(samples.values)
    if fitted.min() < 0.0 and not scale.additive:
        row = int(np.argmin(fitted))
        raise NegativeValueError(
            f"the {transform.name} transform of the value {samples.values[row]} is {fitted[row]}; "
            "expected numbers >= 0, since the model is nonnegative in the fitted scale (use "
            'another transform, or baseline="additive", which allows any)'
        )
    observations = observe(
        samples.coords,
        fitted,
        shape=samples.shape,
        allow_negative=True,
        sample_weight=samples.weights,
    )
    baseline = None
    largest = float(fitted.max())
    if scale.additive:
        baseline = fit_baseline(observations)
        left = observations.means - baseline.evaluate(
            tuple(column.astype(np.int64) for column in observations.coords)
        )
        shares = observations.cell_shares()
        observations = replace(
            observations,
            means=left,
            mean_square=inner(shares * left, left) + observations.within,
        )
        largest = float(np.abs(left).max())
    return Prepared(
        observations=observations,
        transform=transform,
        baseline=baseline,
        counts=index_counts(tuple(samples.coords.T), samples.shape, samples.weights),
        largest=max(largest, TINY),
    )
