"""SiLRTC: simple low-rank tensor completion, by the trace norms of all unfoldings.

The problem, over a tensor X that holds the known values and one matrix M_i for each mode, is

    minimise  sum_i alpha_i ||M_i||_* + beta_i / 2 ||X_(i) - M_i||^2

with X_(i) the unfolding of X along mode i. It is convex. Block coordinate descent solves for each
block exactly: M_i is X_(i) with its singular values lowered by alpha_i / beta_i, and the unknown
cells of X become the average of the folded M_i, weighted by beta_i. Liu, Musialski, Wonka and Ye,
"Tensor completion for estimating missing values in visual data", IEEE Transactions on Pattern
Analysis and Machine Intelligence 35 (2013), algorithm 1.

Left open there, and chosen here:

- Repeated cells are averaged first; values are divided by their root mean square.
- alpha_i = 1/p, and one beta for all modes, so that all singular values are lowered by the same.
- That amount is chosen on held-out known cells among FRACTIONS of the largest singular value of the
  unfoldings of the known cells. It goes down, and each solve starts from the one before; the first
  starts with 0 in all unknown cells. After PATIENCE amounts in a row without a smaller error,
  smaller ones are not tried. Then all known cells are solved for along the same path.
- A solve ends when a step moves X by less than TOLERANCE of the amount: steps get shorter with it.
- The prediction is X, so that known cells keep their values. Values below 0 become 0.

FaLRTC and HaLRTC of the same paper solve the problem of beta -> infinity, where all M_i are
unfoldings of X. They are faster there; SiLRTC comes to the same limit as its amount goes to 0.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.contenders.base import Completion, Contender
from benchmarks.contenders.dense_algebra import fold, known_cells, shrink, unfold
from benchmarks.contenders.rank_choice import PATIENCE, check_dense, hold_out, quiet
from benchmarks.problems import Problem

FRACTIONS = tuple(2.0**-k for k in range(1, 11))
TOLERANCE = 1e-3
MOST_STEPS = 2000
MOST_CELLS = 20_000_000


def steps(
    filled: NDArray, known: NDArray, amount: float, deadline: float = math.inf
) -> Iterator[tuple[float, float]]:
    """Do block coordinate descent on an array, in place, until the clock says stop.

    Parameters
    ----------
    filled
        The tensor, with the known values at the known cells.
    known
        Mask of these.
    amount
        alpha_i / beta_i of every mode.
    deadline
        By ``time.perf_counter``; looked at after each mode, and a step that is late is dropped.

    Yields
    ------
    After each step over all blocks, the objective over beta,
    ``sum_i amount ||M_i||_* + ||X_(i) - M_i||^2 / 2``, and how far X moved.
    """
    n_modes = filled.ndim
    unknown = ~known
    while True:
        average = np.zeros_like(filled)
        squares = norms = 0.0
        for mode in range(n_modes):
            lowered, norm = shrink(unfold(filled, mode), amount)
            average += fold(lowered, mode, filled.shape)
            squares += float(np.vdot(lowered, lowered))
            norms += norm
            if time.perf_counter() > deadline:
                return
        average /= n_modes
        moved = float(np.linalg.norm(average[unknown] - filled[unknown]))
        filled[unknown] = average[unknown]
        # sum_i ||X - M_i||^2 from sums that are there already: no M_i needs to be kept.
        distance = squares - 2.0 * n_modes * float(np.vdot(average, filled))
        distance += n_modes * float(np.vdot(filled, filled))
        yield amount * norms + distance / 2.0, moved


def solve(filled: NDArray, known: NDArray, *, amount: float, deadline: float) -> tuple[bool, int]:
    """Step until X rests, in place; return whether the clock let it, and the number of steps."""
    count = 0
    for _, moved in steps(filled, known, amount, deadline):
        count += 1
        if moved <= TOLERANCE * amount or count == MOST_STEPS:
            return True, count
    return False, count


def largest_singular_value(tensor: NDArray) -> float:
    """Return that of all unfoldings."""
    found = 0.0
    for mode in range(tensor.ndim):
        matrix = unfold(tensor, mode)
        matrix = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
        found = max(found, float(np.linalg.eigvalsh(matrix @ matrix.T)[-1]))
    return found**0.5


def choose_fraction(problem: Problem, *, seed: int, deadline: float) -> tuple[int, str]:
    """Return the place in FRACTIONS that predicts held-out cells best, and what was tried."""
    training, held = hold_out(problem, seed)
    part = dataclasses.replace(
        problem, coords=problem.coords[training], values=problem.values[training]
    )
    filled, known, unit = known_cells(part)
    largest = largest_singular_value(filled)
    cells, truth = tuple(problem.coords[held].T), problem.values[held] / unit
    errors: list[float] = []
    for fraction in FRACTIONS:
        ended, _ = solve(filled, known, amount=fraction * largest, deadline=deadline)
        errors.append(float(np.mean((np.maximum(filled[cells], 0.0) - truth) ** 2)))
        if not ended or len(errors) - 1 - int(np.argmin(errors)) >= PATIENCE:
            break
    words = ", ".join(f"1/{round(1.0 / one)}" for one in FRACTIONS[: len(errors)])
    return int(np.argmin(errors)), words if ended else f"{words} where time ended"


def _complete(problem: Problem, seconds: float, seed: int, threads: int) -> Completion:
    began = time.perf_counter()
    check_dense(problem, MOST_CELLS)
    with quiet(threads):
        # Both paths are as long: half of the time for either, unless choosing takes less.
        place, tried = choose_fraction(problem, seed=seed, deadline=began + seconds / 2)
        filled, known, unit = known_cells(problem)
        largest = largest_singular_value(filled)
        n_steps = 0
        for fraction in FRACTIONS[: place + 1]:
            ended, more = solve(filled, known, amount=fraction * largest, deadline=began + seconds)
            n_steps += more
            if not ended:
                break
        if n_steps == 0:
            raise TimeoutError(f"SiLRTC made no step within {seconds:g} s; give it more time")
        predicted = np.maximum(filled[tuple(problem.asked.T)] * unit, 0.0)
    words = f"amount 1/{round(1.0 / FRACTIONS[place])} of {tried}"
    if not ended:
        words += f"; solving ended at 1/{round(1.0 / fraction)} by the clock"
    return Completion(predicted=predicted, seconds=time.perf_counter() - began, chosen=words)


CONTENDER = Contender(name="SiLRTC", complete=_complete, most_cells=MOST_CELLS)
