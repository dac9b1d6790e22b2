"""Generalised CP decomposition with the Gaussian loss and a mask, as in pyttb, by L-BFGS-B.

The dense tensor is held. With a lower bound of 0 the factors are nonnegative.
"""

from __future__ import annotations

import time

import numpy as np
import pyttb
from pyttb.gcp.fg_setup import setup
from pyttb.gcp.handles import Objectives
from pyttb.gcp.optimizers import LBFGSB

from benchmarks.contenders.base import Completion, Contender
from benchmarks.contenders.rank_choice import Predict, check_dense, complete_by_rank, cp_predictor
from benchmarks.problems import Problem, dense_of

MOST_CELLS = 20_000_000
ITERATIONS = 20_000
"""pyttb keeps a time for each, so this many are also a length; its own limit is 1000."""
PRECISION = 10.0
"""Relative change of the loss to stop at, in units of the machine's rounding."""
GRADIENT = 1e-12
"""Largest entry of the gradient to stop at; SciPy's 1e-5 ends too early for exact data."""


def fit(training: Problem, rank: int, seconds: float, seed: int, *, lowest: float) -> Predict:
    """Fit factors that are at least ``lowest`` in every entry."""
    end = time.perf_counter() + seconds
    tensor, mask = dense_of(training)
    data = pyttb.tensor(tensor)

    def stop_late(point: np.ndarray) -> None:
        if time.perf_counter() > end:
            raise StopIteration  # SciPy then returns what it has

    loss, slope, _ = setup(Objectives.GAUSSIAN, data)
    model, _, _ = pyttb.gcp_opt(
        data,
        rank,
        (loss, slope, lowest),
        LBFGSB(maxiter=ITERATIONS, factr=PRECISION, pgtol=GRADIENT, callback=stop_late),
        init=_start(training, rank, seed),
        mask=mask,
        printitn=0,
    )
    return cp_predictor(model.weights, model.factor_matrices)


def complete(
    problem: Problem, seconds: float, seed: int, threads: int, *, lowest: float
) -> Completion:
    """Complete a problem with factors that are at least ``lowest``."""
    check_dense(problem, MOST_CELLS)

    def bounded(training: Problem, rank: int, seconds: float, seed: int) -> Predict:
        return fit(training, rank, seconds, seed, lowest=lowest)

    return complete_by_rank(problem, seconds, seed, threads, fit=bounded)


def _start(training: Problem, rank: int, seed: int) -> list[np.ndarray]:
    """Return random factors whose mean product is the mean of the values.

    As pyttb's own start, but seeded, and with the norm of what is known rather than of a tensor
    that has 0 where nothing is known.
    """
    rng = np.random.default_rng([seed, rank])
    modes = len(training.shape)
    size = (max(float(training.values.mean()), 1e-12) / rank) ** (1.0 / modes)
    return [2.0 * size * rng.uniform(size=(length, rank)) for length in training.shape]


def _complete(problem: Problem, seconds: float, seed: int, threads: int) -> Completion:
    return complete(problem, seconds, seed, threads, lowest=-np.inf)


CONTENDER = Contender(name="pyttb gcp_opt", complete=_complete, most_cells=MOST_CELLS)
