"""When the loop stops, and why."""

from __future__ import annotations

from intensor.runtime.budget import Budget
from intensor.solver.result import Status
from intensor.solver.settings import Settings
from intensor.solver.state import State

IDLE_LIMIT = 2000
"""Iterations without a lower objective or a better bound after which a solve has stalled."""


def stop_reason(
    state: State, settings: Settings, tolerance: float, budget: Budget
) -> Status | None:
    """Return why the solve must end now, or None.

    Parameters
    ----------
    tolerance
        The gap to reach, in the units of the state.
    """
    if state.value - state.bound <= tolerance:
        return Status.OPTIMAL
    if budget.interrupted:
        return Status.INTERRUPTED
    if budget.spent:
        return Status.TIME_LIMIT
    if settings.max_iterations is not None and state.iterations >= settings.max_iterations:
        return Status.ITERATION_LIMIT
    if state.exhausted or state.idle > IDLE_LIMIT:
        return Status.STALLED
    return None
