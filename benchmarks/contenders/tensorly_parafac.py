"""CP decomposition by alternating least squares with a mask, as in tensorly.

The dense tensor is held; missing cells are filled in with the model again and again.
"""

from __future__ import annotations

import time

import tensorly
from tensorly.cp_tensor import CPTensor
from tensorly.decomposition import parafac

from benchmarks.contenders.base import Completion, Contender
from benchmarks.contenders.rank_choice import Predict, check_dense, complete_by_rank, cp_predictor
from benchmarks.problems import Problem, dense_of

MOST_CELLS = 20_000_000
TOLERANCE = 1e-10
"""Change of the relative error to stop at; tensorly's own is 1e-8 with at most 100 iterations,
which ends too early when most cells are missing."""
ITERATIONS = 1_000_000
"""Never reached: the clock or the tolerance comes first."""


def fit(training: Problem, rank: int, seconds: float, seed: int) -> Predict:
    """Fit one rank to the known cells within the seconds."""
    end = time.perf_counter() + seconds
    tensor, mask = dense_of(training)

    def late(model: CPTensor, error: float) -> bool:
        return time.perf_counter() > end

    weights, factors = parafac(
        tensorly.tensor(tensor),
        rank,
        n_iter_max=ITERATIONS,
        init="random",
        tol=TOLERANCE,
        random_state=seed,
        mask=tensorly.tensor(mask.astype(float)),
        callback=late,
    )
    return cp_predictor(weights, factors)


def _complete(problem: Problem, seconds: float, seed: int, threads: int) -> Completion:
    check_dense(problem, MOST_CELLS)
    return complete_by_rank(problem, seconds, seed, threads, fit=fit)


CONTENDER = Contender(name="tensorly parafac", complete=_complete, most_cells=MOST_CELLS)
