"""Several solutions of one problem: which of them count, and their average."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from intensor.data.observations import Observations
from intensor.model.arithmetic import average_models
from intensor.solver.finish import mean_squared_error
from intensor.solver.result import Counters, Result, Seconds, Status

CUT_SHORT = (Status.TIME_LIMIT, Status.INTERRUPTED, Status.STOPPED, Status.ITERATION_LIMIT)
"""Statuses of solves that a limit or a user stopped before they were done."""
MAX_OBJECTIVE_RATIO = 1.1
"""An unfinished solution is averaged with the best one when its objective is at most this many
times as large."""
LOCAL_MINIMUM_RATIO = 1.2
"""A graded solution whose objective is more than this many times the least is left out, unless the
number of solutions was given."""


def drop_unfinished(results: list[Result]) -> list[Result]:
    """Return the results without those that a limit cut off far from the best."""
    least = min(result.objective for result in results)
    return [
        result
        for result in results
        if result.status not in CUT_SHORT or result.objective <= MAX_OBJECTIVE_RATIO * least
    ]


def drop_local_minima(results: list[Result]) -> list[Result]:
    """Return the results of graded solves without those that ended far above the best."""
    least = min(result.objective for result in results)
    return [result for result in results if result.objective <= LOCAL_MINIMUM_RATIO * least]


def average_results(results: Sequence[Result], observations: Observations) -> Result:
    """Return the averaged model with its own objective and the best of the proven bounds."""
    if len(results) == 1:
        return results[0]
    model = average_models([result.model for result in results])
    objective = mean_squared_error(model, observations)
    proven = max(results, key=lambda result: result.bound)
    within = objective - proven.bound <= proven.tolerance
    unfinished = [result.status for result in results if result.status is not Status.OPTIMAL]
    return replace(
        proven,
        status=Status.OPTIMAL if within else (unfinished or [Status.STALLED])[0],
        objective=objective,
        model=model,
        trace=results[0].trace,
        counters=Counters(**add_up([result.counters for result in results])),
        seconds=Seconds(**add_up([result.seconds for result in results])),
    )


def add_up(records: Sequence[Counters | Seconds]) -> dict[str, Any]:
    """Return the sums of all fields of some records."""
    names = [field.name for field in fields(records[0])]
    return {name: sum(getattr(record, name) for record in records) for name in names}
