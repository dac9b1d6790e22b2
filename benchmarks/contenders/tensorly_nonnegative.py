"""Nonnegative CP decomposition by multiplicative updates with a mask, as in tensorly.

Of tensorly's two, ``non_negative_parafac`` takes a mask; ``non_negative_parafac_hals`` has no such
argument (version 0.10) and would fit missing cells as zeros, so it cannot take part.
"""

from __future__ import annotations

import time

import tensorly
from tensorly.decomposition import non_negative_parafac

from benchmarks.contenders.base import Completion, Contender
from benchmarks.contenders.rank_choice import Predict, check_dense, complete_by_rank, cp_predictor
from benchmarks.problems import Problem, dense_of

MOST_CELLS = 20_000_000
TOLERANCE = 1e-10
"""Change of the relative error to stop at; see ``tensorly_parafac``."""
MOST = 200
"""Iterations between two looks at the clock, at most: the function has neither a time limit nor
a callback, so it is called again from where it was."""
SHARE = 0.1
"""Of the time, that one call should take at most."""


def fit(training: Problem, rank: int, seconds: float, seed: int) -> Predict:
    """Fit one rank to the known cells within the seconds."""
    began = time.perf_counter()
    tensor, mask = dense_of(training)
    known = tensorly.tensor(mask.astype(float))
    model = "random"
    count = 2  # the error is compared with the one before: a single iteration never ends
    while True:
        started = time.perf_counter()
        model, errors = non_negative_parafac(
            tensorly.tensor(tensor),
            rank,
            n_iter_max=count,
            init=model,
            tol=TOLERANCE,
            random_state=seed,
            return_errors=True,
            mask=known,
        )
        now = time.perf_counter()
        left = seconds - (now - began)
        if len(errors) < count or left <= 0.0:
            return cp_predictor(*model)
        each = (now - started) / count
        count = int(min(MOST, max(2, min(SHARE * seconds, left) / each)))


def _complete(problem: Problem, seconds: float, seed: int, threads: int) -> Completion:
    check_dense(problem, MOST_CELLS)
    return complete_by_rank(problem, seconds, seed, threads, fit=fit)


CONTENDER = Contender(name="tensorly nonnegative", complete=_complete, most_cells=MOST_CELLS)
