"""Several solutions of one problem: which of them count, and their average."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from intensor.data.observations import Observations
from intensor.model.arithmetic import average_models
from intensor.solver.finish import mean_squared_error
from intensor.solver.result import Counters, Result, Seconds, Status, proven_status

CUT_SHORT = (Status.TIME_LIMIT, Status.INTERRUPTED, Status.STOPPED, Status.ITERATION_LIMIT)
"""Statuses of solves that a limit or a user stopped before they were done."""
PROVEN = (Status.OPTIMAL, Status.WITHIN_TOLERANCE)
"""Statuses of solves whose gap was proven to be within the tolerance."""
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
        return rename_status(results[0], observations)
    model = average_models([result.model for result in results])
    objective = mean_squared_error(model, observations)
    proven = max(results, key=lambda result: result.bound)
    status = proven_status(
        objective, proven.bound, tolerance=proven.tolerance, observations=observations
    )
    unfinished = [result.status for result in results if result.status not in PROVEN]
    return replace(
        proven,
        status=status or (unfinished or [Status.STALLED])[0],
        objective=objective,
        model=model,
        trace=results[0].trace,
        counters=Counters(**add_up([result.counters for result in results])),
        seconds=Seconds(**add_up([result.seconds for result in results])),
    )


def rename_status(result: Result, observations: Observations) -> Result:
    """Return a result that was within its tolerance with the status that its gap deserves now.

    Checkpoints of earlier versions call every such result OPTIMAL.
    """
    if result.status not in PROVEN:
        return result
    status = proven_status(
        result.objective, result.bound, tolerance=result.tolerance, observations=observations
    )
    status = status or Status.STALLED
    return result if status is result.status else replace(result, status=status)


def add_up(records: Sequence[Counters | Seconds]) -> dict[str, Any]:
    """Return the sums of all fields of some records."""
    names = [field.name for field in fields(records[0])]
    return {name: sum(getattr(record, name) for record in records) for name in names}
