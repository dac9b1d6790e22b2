"""Averaging: several models of the same problem, from different seeds, are one better model.

Away from the observed cells the optimum is not unique. The polytope is convex, so the average
of models is feasible; the objective is convex, so its error is at most theirs on average; and a
bound that holds for the problem holds for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from intensor.data.observations import Observations
from intensor.model.model import Model, build_model
from intensor.solver.loop import mean_squared_error
from intensor.solver.result import Counters, Result, Seconds, Status

__all__ = ["average_models", "average_results"]


def average_models(models: Sequence[Model]) -> Model:
    """Return the mean of models of one polytope, equal vertices merged."""
    if len(models) == 1:
        return models[0]
    first = models[0]
    return build_model(
        np.concatenate([model.vertices.flags() for model in models]),
        np.concatenate([model.weights for model in models]) / len(models),
        shape=first.shape,
        radius=first.radius,
        signed=first.signed,
    )


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
        counters=Counters(
            iterations=sum(result.counters.iterations for result in results),
            local_steps=sum(result.counters.local_steps for result in results),
            altmin_runs=sum(result.counters.altmin_runs for result in results),
            exact_calls=sum(result.counters.exact_calls for result in results),
            drops=sum(result.counters.drops for result in results),
        ),
        seconds=Seconds(
            setup=sum(result.seconds.setup for result in results),
            solve=sum(result.seconds.solve for result in results),
        ),
    )
