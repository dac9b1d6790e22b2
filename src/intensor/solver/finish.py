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

CUT_OFF = (Status.TIME_LIMIT, Status.INTERRUPTED)
"""Statuses of runs that ended at a moment that nobody could foresee, with any model."""
MIN_CONSTANT_GAIN = 1e-3
"""Share of its objective by which a constant must be better to replace the model of a run."""
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
    A run that was cut off returns the best constant if that is better than its model.
    """
    state = engine.state
    scale = settings.radius**2
    tolerance = settings.tolerance(observations.mean_square)
    factors, weights = engine.vertices()
    weights = weights / max(1.0, math.fsum(np.abs(weights)))  # steps round, and that adds up
    model = _as_model(factors, weights, observations, settings)
    threads = settings.threads
    objective = mean_squared_error(model, observations, threads)
    bound = state.bound * scale
    if status in CUT_OFF:
        constant = constant_model(observations, settings, above=objective)
        if constant is not None:
            model, objective = constant, mean_squared_error(constant, observations, threads)
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


def constant_model(observations: Data, settings: Settings, *, above: float) -> Model | None:
    """Return the best model with the same value everywhere, if its objective is well below another.

    It is the box of all cells, times the mean of the observations or the nearest value that the
    radius allows. Its objective at a value c is ``mean square - 2 c mean + c^2``.
    """
    square = observations.mean_square

    def build(value: float) -> Model:
        ones = np.ones((1, sum(observations.shape)), dtype=np.uint8)
        return _as_model(ones, np.array([value / settings.radius]), observations, settings)

    if isinstance(observations, Observations):
        mean = inner(observations.cell_shares(), observations.means)
    else:  # cells are elsewhere: the objective at one value tells the mean
        size = min(settings.radius, math.sqrt(square))
        if size == 0.0:
            return None
        error = mean_squared_error(build(size), observations, settings.threads)
        mean = (square + size**2 - error) / (2.0 * size)
    lowest = -settings.radius if settings.signed else 0.0
    value = min(max(mean, lowest), settings.radius)
    lower = square - 2.0 * value * mean + value**2 < (1.0 - MIN_CONSTANT_GAIN) * above
    return build(value) if lower else None


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
