"""The solver loop: blended conditional gradients, the same for every version."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from intensor.backends.select import Data
from intensor.model.model import Model
from intensor.oracles.base import Oracle
from intensor.runtime.budget import Budget
from intensor.solver.checkpoint import NO_SNAPSHOTS, Snapshots
from intensor.solver.engine import Engine, State, Version
from intensor.solver.finish import finish
from intensor.solver.result import Progress, Result, Seconds, Status
from intensor.solver.settings import Settings

Callback = Callable[[Progress], bool | None]
TOLERANCE_SHARE = 0.999999
"""Share of the tolerance that a gap may take: the recomputed objective may round up."""
FINISH_SECONDS_PER_ENTRY = 5e-9
"""Estimated seconds per index and term that it takes to make a model of what an engine holds. So
much of the time limit is left for it, which matters for long modes."""
IDLE_LIMIT = 2000
"""Iterations without a lower objective or a better bound after which a solve has stalled."""


def run(
    observations: Data,
    *,
    version: Version,
    exact: Oracle,
    settings: Settings,
    budget: Budget,
    callback: Callback | None = None,
    start: Model | None = None,
    snapshots: Snapshots = NO_SNAPSHOTS,
) -> Result:
    """Minimise the objective over the polytope, with bounds that the ``exact`` oracle proves.

    The engine begins with the vertices of the model ``start``, if its version has warm starts.
    ``snapshots`` sees every round, and may restore the state that an earlier run had reached.
    """
    engine = version.engine(observations, exact=exact, settings=settings)
    with contextlib.closing(engine), contextlib.closing(snapshots):
        if start is not None and not snapshots.resumes:
            engine.start_from(start, budget)
        return drive(
            engine,
            observations,
            version=version,
            settings=settings,
            budget=budget,
            callback=callback,
            snapshots=snapshots,
        )


def drive(
    engine: Engine,
    observations: Data,
    *,
    version: Version,
    settings: Settings,
    budget: Budget,
    callback: Callback | None = None,
    snapshots: Snapshots = NO_SNAPSHOTS,
) -> Result:
    """Improve the iterate of an engine until there is a reason to stop."""
    trace, setup = snapshots.open(engine, budget)
    state = engine.state
    tolerance = settings.tolerance(observations.mean_square)
    scale = settings.radius**2
    target = version.tolerance_share * tolerance / scale

    def find_reason() -> Status | None:
        found = stop_reason(state, settings, target, budget)
        finishing = FINISH_SECONDS_PER_ENTRY * engine.n_active * sum(observations.shape)
        late = found is None and budget.remaining < finishing
        return Status.TIME_LIMIT if late else found

    status = find_reason()
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
        status = find_reason()
        if status is Status.WITHIN_TOLERANCE:  # make sure that it is not so by rounding alone
            engine.recombine()
            status = find_reason()
        snapshots.keep(engine, trace, setup, budget)
        if stopped and status is None:
            status = Status.STOPPED

    # The target is below the tolerance; a solve that missed the target may still be within it.
    if state.value - state.bound <= TOLERANCE_SHARE * tolerance / scale:
        status = Status.WITHIN_TOLERANCE
    return finish(
        engine,
        observations,
        version=version,
        settings=settings,
        status=status,
        trace=trace,
        seconds=Seconds(setup=setup, solve=budget.elapsed - setup),
    )


def stop_reason(
    state: State, settings: Settings, tolerance: float, budget: Budget
) -> Status | None:
    """Return why the solve must end now, or None; the tolerance is in the units of the state.

    Whether a gap within the tolerance is OPTIMAL is decided by the final numbers (``finish``).
    """
    if state.value - state.bound <= tolerance:
        return Status.WITHIN_TOLERANCE
    if budget.interrupted:
        return Status.INTERRUPTED
    if budget.spent:
        return Status.TIME_LIMIT
    if settings.max_iterations is not None and state.iterations >= settings.max_iterations:
        return Status.ITERATION_LIMIT
    if state.exhausted or state.idle > IDLE_LIMIT:
        return Status.STALLED
    return None


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
