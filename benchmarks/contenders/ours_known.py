"""intensor with the radius of the paper's instances, 1, which a peer has no counterpart to."""

from __future__ import annotations

import time
import warnings

import numpy as np

import intensor
from benchmarks.contenders.base import Completion, Contender
from benchmarks.contenders.ours import RTOL, SOLUTIONS, warm_up
from benchmarks.problems import Problem
from intensor.model.arithmetic import average_models

RADIUS = 1.0
SHORTEST = 1e-3
"""Seconds below which no further model is begun."""


def _complete(problem: Problem, seconds: float, seed: int, threads: int) -> Completion:
    warm_up()
    began = time.perf_counter()
    results: list[intensor.Result] = []
    for place in range(SOLUTIONS):
        left = seconds - (time.perf_counter() - began)
        if results and left <= SHORTEST:
            break
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = intensor.solve(
                problem.coords,
                problem.values,
                shape=problem.shape,
                radius=RADIUS,
                rtol=RTOL,
                time_limit=max(left, SHORTEST) / (SOLUTIONS - place),
                seed=seed + place,
                threads=threads,
                exact="off",
            )
        results.append(result)
    model = average_models([result.model for result in results])
    taken = time.perf_counter() - began
    objective = float(np.mean((model.predict(problem.coords) - problem.values) ** 2))
    return Completion(
        predicted=model.predict(problem.asked),
        seconds=taken,
        chosen=f"radius {RADIUS:g} given, {len(results)} models averaged",
        boxes=len(model.weights),
        objective=objective,
        gap=objective - max(result.bound for result in results),
    )


CONTENDER = Contender(name="intensor, radius 1", complete=_complete)
