"""The trial of the demo: a data set, a tenth of its cells hidden, predicted three ways."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from intensor._arrays import FloatArray, IndexArray
from intensor.cli.fit import fit_table
from intensor.data.table import Table
from intensor.datasets import flights
from intensor.fitting.options import check_options
from intensor.fitting.record import Fit
from intensor.fitting.samples import Samples, splits
from intensor.fitting.scoring import SCORINGS

__all__ = ["Trial", "run_trial"]

SHARE = 0.1
SEED = 2013
N_EXAMPLES = 6
OPTIONS: dict[str, Any] = {"transform": "sqrt", "n_solutions": 5, "exact": "off"}
"""Chosen on a split of the training cells; no exact oracle, whose kernels take long to compile."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trial:
    """What came out.

    Attributes
    ----------
    fit
        Of the training cells.
    training, held
        The two parts of the observations.
    predicted
        Of the held-out cells.
    errors
        By predictor and metric, on the held-out cells.
    """

    fit: Fit
    training: Samples
    held: Samples
    predicted: FloatArray
    errors: dict[str, dict[str, float]]

    @property
    def total(self) -> int:
        """Cells that are known, hidden ones among them."""
        return len(self.training) + len(self.held)

    @property
    def mean_square(self) -> float:
        """Mean square of what the boxes were fitted to."""
        targets = self.fit.predictor.residual_targets(self.training.coords, self.training.values)
        return float(np.mean(targets**2))

    def examples(self) -> list[tuple[list[str], float, float]]:
        """Return labels, prediction and truth of a few held-out cells."""
        chosen = np.linspace(0, len(self.held) - 1, N_EXAMPLES).astype(int)
        columns = self.fit.labels.decode(self.held.coords[chosen])
        return [
            ([str(label) for label in labels], float(self.predicted[row]), float(true))
            for labels, row, true in zip(
                zip(*columns, strict=True), chosen, self.held.values[chosen], strict=True
            )
        ]


def run_trial(*, quiet: bool) -> Trial:
    """Hide a tenth of the flights, fit the others, predict the hidden ones."""
    table = flights()
    coords, values, _ = table.observed()
    samples = Samples(coords=coords, values=values, weights=None, shape=table.shape)
    training, held = next(splits(samples, folds=1, share=SHARE, seed=SEED))
    fit = fit_table(_as_table(table, training), check_options(**OPTIONS), quiet=quiet)
    predicted = fit.predict(held.coords, unseen="mean")
    guesses = {
        "intensor": predicted,
        "mean of origin and destination": _route_means(training, held.coords),
        "mean of all": np.full(len(held), training.values.mean()),
    }
    return Trial(
        fit=fit,
        training=training,
        held=held,
        predicted=predicted,
        errors={
            name: {
                metric: SCORINGS[metric].measure(held.values, guess)
                for metric in ("rmse", "mae", "mape")
            }
            for name, guess in guesses.items()
        },
    )


def _as_table(table: Table, samples: Samples) -> Table:
    """Return the table with only these observations."""
    return replace(
        table, codes=tuple(samples.coords.T), values=samples.values, weights=samples.weights
    )


def _route_means(training: Samples, cells: IndexArray) -> FloatArray:
    """Predict by the mean of the same origin and destination, or of all where there is none."""
    n_dest = training.shape[1]
    routes = training.coords[:, 0] * n_dest + training.coords[:, 1]
    size = training.shape[0] * n_dest
    counts = np.bincount(routes, minlength=size)
    sums = np.bincount(routes, training.values, minlength=size)
    means: FloatArray = np.where(counts > 0, sums / np.maximum(counts, 1), training.values.mean())
    guesses: FloatArray = means[cells[:, 0] * n_dest + cells[:, 1]]
    return guesses
