"""The solver loop: blended conditional gradients, the same for every version."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable

import numpy as np

from intensor._arrays import FlagArray, FloatArray, inner
from intensor.backends.select import Data, open_cells
from intensor.data.observations import Observations
from intensor.model.model import Model, build_model
from intensor.oracles.base import Oracle
from intensor.runtime.budget import Budget
from intensor.runtime.threads import Workers
from intensor.solver.checkpoint import Keeper
from intensor.solver.engine import Engine, Version
from intensor.solver.result import Counters, Progress, Result, Seconds, Status
from intensor.solver.settings import Settings
from intensor.solver.termination import stop_reason

__all__ = ["Callback", "drive", "mean_squared_error", "run"]

CELLS_AT_ONCE = 1 << 15
Callback = Callable[[Progress], bool | None]
KEEPS_NOTHING = Keeper()


def run(
    observations: Data,
    *,
    version: Version,
    exact: Oracle,
    settings: Settings,
    budget: Budget,
    callback: Callback | None = None,
    start: Model | None = None,
    keeper: Keeper = KEEPS_NOTHING,
) -> Result:
    """Minimise the objective over the polytope (see ``solve`` for the meaning of it all).

    Parameters
    ----------
    start
        A model whose vertices to begin with, with the best weights for these observations; for
        engines that can.
    keeper
        Told of every round; it may put the engine where a run that was killed had come to.
    """
    engine = version.engine(observations, exact=exact, settings=settings)
    with contextlib.closing(engine), contextlib.closing(keeper):
        if start is not None and not keeper.resumes:
            engine.start_from(start, budget)
        return drive(
            engine,
            observations,
            version=version,
            settings=settings,
            budget=budget,
            callback=callback,
            keeper=keeper,
        )


def drive(
    engine: Engine,
    observations: Data,
    *,
    version: Version,
    settings: Settings,
    budget: Budget,
    callback: Callback | None = None,
    keeper: Keeper = KEEPS_NOTHING,
) -> Result:
    """Improve the iterate of an engine until there is a reason to stop."""
    trace, setup = keeper.open(engine, budget)
    state = engine.state
    tolerance = settings.tolerance(observations.mean_square)
    scale = settings.radius**2
    target = version.tolerance_share * tolerance / scale

    status = stop_reason(state, settings, target, budget)
    while status is None:
        if engine.local_gap() >= state.phi:
            engine.local_step()
            state.local_steps += 1
            kind = "local"
        else:
            engine.separate(budget)
            kind = "separation"
        state.count()
        trace.append(_progress(engine, kind, scale, budget))
        stopped = callback is not None and callback(trace[-1]) is False
        status = stop_reason(state, settings, target, budget)
        if status is Status.OPTIMAL:  # not by grace of accumulated rounding
            engine.recombine()
            status = stop_reason(state, settings, target, budget)
        keeper.keep(engine, trace, setup, budget)
        if stopped and status is None:
            status = Status.STOPPED

    if state.value - state.bound <= 0.999999 * tolerance / scale:  # though not as far as aimed
        status = Status.OPTIMAL
    flags, weights = engine.vertices()
    weights = weights / max(1.0, math.fsum(np.abs(weights)))  # steps round, and that adds up
    model = _as_model(flags, weights, observations, settings)
    objective = mean_squared_error(model, observations, settings.threads)
    bound = state.bound * scale
    if status is Status.OPTIMAL and objective - bound > tolerance:
        status = Status.STALLED  # the tolerance is less than what rounding makes of the model
    witness = state.witness
    return Result(
        status=status,
        objective=objective,
        bound=bound,
        model=model,
        witness=None
        if witness is None
        else _as_model(witness.flags, witness.weights, observations, settings),
        bound_source="within-cell variance" if witness is None else witness.source,
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
        seconds=Seconds(setup=setup, solve=budget.elapsed - setup),
    )


def _progress(engine: Engine, kind: str, scale: float, budget: Budget) -> Progress:
    state = engine.state
    return Progress(
        iteration=state.iterations,
        step=kind,
        active=engine.n_active,
        objective=scale * state.value,
        bound=scale * state.bound,
        phi=scale * state.phi,
        pricing_gap=scale * state.gain,
        seconds=budget.elapsed,
    )


def _as_model(
    flags: FlagArray, weights: FloatArray, observations: Data, settings: Settings
) -> Model:
    return build_model(
        flags,
        settings.radius * weights,
        shape=observations.shape,
        radius=settings.radius,
        signed=settings.signed,
    )


def mean_squared_error(model: Model, observations: Data, threads: int | None = 1) -> float:
    """Return the objective of a model, computed from nothing but its vertices and weights."""
    if not isinstance(observations, Observations):
        cells = open_cells(observations, 1.0, Workers(1))
        words = model.vertices.words
        weights = np.zeros(64 * words.shape[1])
        weights[: len(model)] = model.weights
        return cells.evaluate(words, len(model), weights)[0] + cells.constant
    shares = observations.cell_shares()
    starts = range(0, observations.n_cells, CELLS_AT_ONCE)
    errors = np.zeros(len(starts))

    def add_up(number: int) -> None:
        part = slice(starts[number], starts[number] + CELLS_AT_ONCE)
        predicted = model.evaluate(tuple(column[part] for column in observations.coords))
        residual = predicted - observations.means[part]
        errors[number] = inner(shares[part] * residual, residual)

    workers = Workers(threads)
    try:
        workers.run(add_up, len(starts))
    finally:
        workers.close()
    return float(errors.sum()) + observations.within
