"""TNCP: a CP model of the filled-in tensor, with trace norms on its factors.

The problem, over a tensor X that holds the known values, factors U_n of R columns, and a copy M_n
of each factor, is

    minimise    sum_n alpha_n ||M_n||_* + lambda / 2 ||X - [[U_1, ..., U_p]]||^2
    subject to  M_n = U_n for every mode n.

R is only an upper bound: the trace norms lower the rank. The alternating direction method of
multipliers solves for one block after the other, with duals Y_n and a growing penalty eta:

    U_n = (lambda X_(n) B_n + eta M_n + Y_n) (lambda B_n' B_n + eta I)^-1,
          B_n the Khatri-Rao product of the other factors;
    M_n = U_n - Y_n / eta with its singular values lowered by alpha_n / eta;
    X   = [[U_1, ..., U_p]] in the unknown cells;
    Y_n = Y_n + eta (M_n - U_n).

Liu, Shang, Jiao, Cheng and Cheng, "Trace norm regularized CANDECOMP/PARAFAC decomposition with
missing data", IEEE Transactions on Cybernetics 45 (2015).

Left open there, or not comparable between data sets, and chosen here:

- Repeated cells are averaged first; values are divided by their root mean square.
- alpha_n = 1/p. lambda is one of STRENGTHS times N^(1/(2p) - 1), N the number of cells: the norms
  of the factors and the squared distance then weigh the same in tensors of any size.
- lambda is chosen on held-out known cells with R = FIRST_RANK, then R with that lambda. lambda
  grows; after PATIENCE values in a row without a smaller error, larger ones are not tried.
- eta begins at 1e-4 and grows by 5 % each step up to 1e10. That ends the method in any case, as
  factors cannot move once eta is large: M_n = U_n holds then, but the point is only near to a
  stationary one. (Growth that stops early leads to one, many more steps later.)
- Duals and copies begin at 0, factors uniform on [0, 1) and then scaled to fit the known cells.
- A solve ends when X changes by less than 1e-6 of its norm and M_n - U_n is less than 1e-6 of U_n.
- The prediction is X: the model, but known cells keep their values. Values below 0 become 0.
"""

from __future__ import annotations

import dataclasses
import math
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.contenders.base import Completion, Contender
from benchmarks.contenders.dense_algebra import from_factors, known_cells, project, shrink
from benchmarks.contenders.rank_choice import (
    PATIENCE,
    Predict,
    check_dense,
    complete_by_rank,
    cp_predictor,
    hold_out,
    quiet,
)
from benchmarks.problems import Problem

STRENGTHS = (1e1, 1e2, 1e3, 1e4, 1e5)
FIRST_RANK = 10
RANKS = (5, 10, 20, 30)
FIRST_PENALTY, LAST_PENALTY, GROWTH = 1e-4, 1e10, 1.05
TOLERANCE = 1e-6
MOST_STEPS = 1000
MOST_CELLS = 20_000_000
CHOOSING_STRENGTH = 0.4
"""Share of the time for choosing lambda."""


@dataclass(slots=True, eq=False)
class State:
    """All blocks of the method.

    Attributes
    ----------
    factors, copies, duals
        U_n, M_n and Y_n, each (length, R).
    filled
        X: the known values, and the model elsewhere.
    penalty
        eta.
    """

    factors: list[NDArray]
    copies: list[NDArray]
    duals: list[NDArray]
    filled: NDArray
    penalty: float = FIRST_PENALTY

    @property
    def apart(self) -> float:
        """The largest ||M_n - U_n|| / ||U_n||; 0 where both are 0."""
        found = [
            (np.linalg.norm(copy - factor), np.linalg.norm(factor))
            for copy, factor in zip(self.copies, self.factors, strict=True)
        ]
        return max(float(far / size) if size else float(far) for far, size in found)


def start(tensor: NDArray, known: NDArray, rank: int, rng: np.random.Generator) -> State:
    """Draw factors, and fill the unknown cells with their model."""
    factors = [rng.random((length, rank)) for length in tensor.shape]
    drawn = from_factors(factors)[known]
    scale = float(np.vdot(tensor[known], drawn) / np.vdot(drawn, drawn))
    factors = [factor * abs(scale) ** (1.0 / tensor.ndim) for factor in factors]
    return State(
        factors=factors,
        copies=[np.zeros_like(factor) for factor in factors],
        duals=[np.zeros_like(factor) for factor in factors],
        filled=np.where(known, tensor, from_factors(factors)),
    )


def step(state: State, unknown: NDArray, strength: float) -> float:
    """Solve for each block once, in place, and return how far X moved.

    Parameters
    ----------
    unknown
        Mask of the cells that are not known.
    strength
        lambda.
    """
    factors, copies, duals, eta = state.factors, state.copies, state.duals, state.penalty
    n_modes, rank = len(factors), factors[0].shape[1]
    grams = [factor.T @ factor for factor in factors]
    for mode in range(n_modes):
        gram = math.prod(grams[:mode] + grams[mode + 1 :])
        wanted = strength * project(state.filled, factors, mode) + eta * copies[mode] + duals[mode]
        factors[mode] = np.linalg.solve(strength * gram + eta * np.eye(rank), wanted.T).T
        grams[mode] = factors[mode].T @ factors[mode]
        copies[mode], _ = shrink(factors[mode] - duals[mode] / eta, 1.0 / (n_modes * eta))
    model = from_factors(factors)[unknown]
    moved = float(np.linalg.norm(model - state.filled[unknown]))
    state.filled[unknown] = model
    for mode in range(n_modes):
        duals[mode] += eta * (copies[mode] - factors[mode])
    state.penalty = min(GROWTH * eta, LAST_PENALTY)
    return moved


def solve(
    tensor: NDArray,
    known: NDArray,
    *,
    rank: int,
    strength: float,
    deadline: float,
    rng: np.random.Generator,
) -> State:
    """Step until X rests and the copies agree with the factors, or the clock says stop."""
    state = start(tensor, known, rank, rng)
    unknown = ~known
    for _ in range(MOST_STEPS):
        moved = step(state, unknown, strength)
        if moved <= TOLERANCE * np.linalg.norm(state.filled) and state.apart <= TOLERANCE:
            break
        if time.perf_counter() > deadline:
            break
    return state


def _fit(training: Problem, rank: int, seconds: float, seed: int, strength: float) -> Predict:
    deadline = time.perf_counter() + seconds
    tensor, known, unit = known_cells(training)
    modes = len(training.shape)
    state = solve(
        tensor,
        known,
        rank=rank,
        strength=strength * training.n_cells ** (1.0 / (2.0 * modes) - 1.0),
        deadline=deadline,
        rng=np.random.default_rng([seed, rank]),
    )
    return cp_predictor(np.full(rank, unit), state.factors)


def choose_strength(problem: Problem, *, seconds: float, seed: int) -> tuple[float, int]:
    """Return the one of STRENGTHS that predicts held-out cells best, and how many were tried."""
    end = time.perf_counter() + seconds
    training, held = hold_out(problem, seed)
    part = dataclasses.replace(
        problem, coords=problem.coords[training], values=problem.values[training]
    )
    errors: list[float] = []
    for place, strength in enumerate(STRENGTHS):
        left = (end - time.perf_counter()) / (len(STRENGTHS) - place)
        if errors and left <= 0.0:
            break
        predicted = _fit(part, FIRST_RANK, left, seed, strength)(problem.coords[held])
        error = np.mean((np.maximum(predicted, 0.0) - problem.values[held]) ** 2)
        errors.append(float(error))
        if len(errors) - 1 - int(np.argmin(errors)) >= PATIENCE:
            break
    return STRENGTHS[int(np.argmin(errors))], len(errors)


def _complete(problem: Problem, seconds: float, seed: int, threads: int) -> Completion:
    began = time.perf_counter()
    check_dense(problem, MOST_CELLS)
    with quiet(threads):
        strength, tried = choose_strength(problem, seconds=CHOOSING_STRENGTH * seconds, seed=seed)
    choosing = time.perf_counter() - began

    def fit(training: Problem, rank: int, left: float, seed: int) -> Predict:
        return _fit(training, rank, left, seed, strength)

    done = complete_by_rank(problem, seconds - choosing, seed, threads, fit=fit, ranks=RANKS)
    tensor, known, unit = known_cells(problem)
    cells = tuple(problem.asked.T)
    told = ", ".join(f"{one:g}" for one in STRENGTHS[:tried])
    return dataclasses.replace(
        done,
        predicted=np.where(known[cells], unit * tensor[cells], done.predicted),
        seconds=choosing + done.seconds,
        chosen=f"lambda {strength:g} of {told}; {done.chosen}",
    )


CONTENDER = Contender(name="TNCP", complete=_complete, most_cells=MOST_CELLS)
