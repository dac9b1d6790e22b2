"""Why a solve ends, and which reason wins."""

import pytest

from intensor.runtime.budget import Budget
from intensor.solver.result import Status
from intensor.solver.settings import Settings
from intensor.solver.state import State
from intensor.solver.termination import IDLE_LIMIT, stop_reason

FAR = {"value": 1.0, "bound": 0.0}


def reason(state, *, budget=None, max_iterations=None):
    settings = Settings(radius=1.0, max_iterations=max_iterations)
    return stop_reason(state, settings, 0.1, budget or Budget())


def interrupted(seconds=None):
    budget = Budget(seconds)
    budget.interrupted = True
    return budget


@pytest.mark.parametrize(
    ("state", "limits", "status"),
    [
        (State(**FAR), {}, None),
        (State(value=0.6, bound=0.5), {}, Status.OPTIMAL),
        (State(**FAR), {"budget": Budget(0.0)}, Status.TIME_LIMIT),
        (State(**FAR), {"budget": interrupted(0.0)}, Status.INTERRUPTED),
        (State(**FAR, iterations=7), {"max_iterations": 7}, Status.ITERATION_LIMIT),
        (State(**FAR, iterations=6), {"max_iterations": 7}, None),
        (State(**FAR, exhausted=True), {}, Status.STALLED),
        (State(**FAR, idle=IDLE_LIMIT), {}, None),
        (State(**FAR, idle=IDLE_LIMIT + 1), {}, Status.STALLED),
        (State(**FAR, exhausted=True), {"budget": Budget(0.0)}, Status.TIME_LIMIT),
        (State(value=0.5, bound=0.5), {"budget": interrupted()}, Status.OPTIMAL),
    ],
)
def test_the_reason_to_stop(state, limits, status):
    assert reason(state, **limits) is status
