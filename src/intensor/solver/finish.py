"""From an engine that has stopped to a result: final numbers are recomputed from the model."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence

import numpy as np

from intensor._arrays import FlagArray, FloatArray, inner
from intensor.backends.select import Data, open_cells
from intensor.data.observations import Observations
from intensor.model.model import Model, build_model
from intensor.runtime.threads import Workers
from intensor.solver.engine import Engine, Version
from intensor.solver.result import (
    Counters,
    Progress,
    Result,
    Seconds,
    Status,
    proven_status,
)
from intensor.solver.settings import Settings

CELLS_AT_ONCE = 1 << 15  # cells that are predicted at a time when the objective is recomputed

FREE_BOUND = "within-cell variance"
"""Source of the bound below which no tensor can get, which needs no proof."""


def finish(
    engine: Engine,
    observations: Data,
    *,
    version: Version,
    settings: Settings,
    status: Status,
    trace: Sequence[Progress],
    seconds: Seconds,
) -> Result:
    """Return the model of an engine with its certificate, everything in the units of the data.

    A gap that was within the tolerance is named by the recomputed numbers, OPTIMAL if it is small.
    """
    state = engine.state
    scale = settings.radius**2
    tolerance = settings.tolerance(observations.mean_square)
    factors, weights = engine.vertices()
    weights = weights / max(1.0, math.fsum(np.abs(weights)))  # steps round, and that adds up
    model = _as_model(factors, weights, observations, settings)
    objective = mean_squared_error(model, observations, settings.threads)
    bound = state.bound * scale
    if status is Status.WITHIN_TOLERANCE:
        proven = proven_status(objective, bound, tolerance=tolerance, observations=observations)
        status = proven or Status.STALLED  # if the tolerance is below the rounding of the model
    witness = state.witness
    return Result(
        status=status,
        objective=objective,
        bound=bound,
        model=model,
        witness=None
        if witness is None
        else _as_model(witness.factors, witness.weights, observations, settings),
        bound_source=FREE_BOUND if witness is None else witness.source,
        tolerance=tolerance,
        version=version.name,
        trace=tuple(trace),
        counters=Counters(
            iterations=state.iterations,
            local_steps=state.local_steps,
            altmin_runs=engine.altmin_runs,
            exact_calls=state.exact_calls,
            drops=engine.drops,
        ),
        seconds=seconds,
    )


def _as_model(
    factors: FlagArray | FloatArray, weights: FloatArray, observations: Data, settings: Settings
) -> Model:
    return build_model(
        factors,
        settings.radius * weights,
        shape=observations.shape,
        radius=settings.radius,
        signed=settings.signed,
    )


def mean_squared_error(model: Model, observations: Data, threads: int | None = 1) -> float:
    """Return the objective of a model, computed from nothing but its terms and weights."""
    if not isinstance(observations, Observations):
        cells = open_cells(observations, 1.0, Workers(1))
        if len(model.components):
            return cells.evaluate_components(model.as_factors(), model.weights)[0] + cells.constant
        words = model.vertices.words
        weights = np.zeros(64 * words.shape[1])
        weights[: len(model)] = model.weights
        return cells.evaluate(words, len(model), weights)[0] + cells.constant
    shares = observations.cell_shares()
    starts = range(0, observations.n_cells, CELLS_AT_ONCE)
    errors = np.zeros(len(starts))

    def add_up(block: int) -> None:
        part = slice(starts[block], starts[block] + CELLS_AT_ONCE)
        predicted = model.evaluate(tuple(column[part] for column in observations.coords))
        residual = predicted - observations.means[part]
        errors[block] = inner(shares[part] * residual, residual)

    with contextlib.closing(Workers(threads)) as workers:
        workers.run(add_up, len(starts))
    return float(errors.sum()) + observations.within
