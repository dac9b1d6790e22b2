"""Tensor train by alternating least squares on coordinates, as in teneva."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import teneva
from numpy.typing import NDArray

from benchmarks.contenders.base import Completion, Contender
from benchmarks.contenders.rank_choice import CHUNK, Predict, complete_by_rank
from benchmarks.problems import Problem

SWEEPS = 1_000_000
"""Never reached: the clock or the tolerance comes first."""
CHANGE = 1e-10
"""Relative change of the tensor in a sweep to stop at."""
RIDGE = 1e-9
"""Of the least squares, for values of at most 1; teneva's own, 1e-3, keeps it from exact data."""


def _fit(training: Problem, rank: int, seconds: float, seed: int) -> Predict:
    end = time.perf_counter() + seconds
    unit = float(training.values.max()) or 1.0
    # Values are nonnegative: from a start of both signs, ALS ends in far worse minima.
    start = teneva.rand(list(training.shape), rank, a=0.0, b=1.0, seed=seed)

    def late(cores: list[NDArray], info: dict[str, Any], more: dict[str, Any]) -> bool:
        return time.perf_counter() > end

    cores = teneva.als(
        training.coords,
        training.values / unit,
        start,
        nswp=SWEEPS,
        e=CHANGE,
        info={},
        lamb=RIDGE,
        cb=late,
        allow_skip_cores=True,  # an index without observations keeps its random start
    )

    def predict(cells: NDArray) -> NDArray:
        parts = range(0, len(cells), CHUNK)
        found = [teneva.get_many(cores, cells[first : first + CHUNK]) for first in parts]
        return unit * np.concatenate(found) if found else np.empty(0)

    return predict


def _complete(problem: Problem, seconds: float, seed: int, threads: int) -> Completion:
    return complete_by_rank(problem, seconds, seed, threads, fit=_fit)


CONTENDER = Contender(name="teneva als", complete=_complete)
