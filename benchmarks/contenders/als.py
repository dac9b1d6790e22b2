"""ALS: a CP model fitted to the known cells by alternating least squares.

The problem, over factors U_1, ..., U_p of R columns each, is

    minimise  sum over known cells x of (values[x] - sum_r U_1[x_1, r] ... U_p[x_p, r])^2.

With all factors but one fixed, every row of the free one is a linear least-squares problem of R
unknowns over the known cells with that index: Kolda and Bader, "Tensor decompositions and
applications", SIAM Review 51 (2009), section 3.4; for missing cells, Tomasi and Bro, "PARAFAC and
missing values", Chemometrics and Intelligent Laboratory Systems 75 (2005).

Left open there, and chosen here:

- Repeated cells are averaged first, so that each cell counts once.
- A ridge of 1e-8 of the mean diagonal of all normal matrices of a mode keeps rows with fewer cells
  than R solvable; a row without cells becomes 0.
- Factors start uniform on [0, 1), as values are nonnegative, and share their norms evenly.
- A fit ends when the residual is 1e-9 of the values, when it falls by less than 1e-5 of itself over
  ten sweeps, or after 2000 sweeps. Of STARTS fits from random factors, the one with the smallest
  residual on the cells it was fitted to is kept.
- The rank is the one that predicts held-out known cells best.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from benchmarks.contenders.base import Completion, Contender
from benchmarks.contenders.rank_choice import Predict, complete_by_rank, cp_predictor
from benchmarks.problems import Problem

RIDGE = 1e-8
EXACT = 1e-9
STALLED = 1e-5
LOOK_BACK = 10
MOST_SWEEPS = 2000
STARTS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The cells of a problem in the order of their index in one mode.

    Attributes
    ----------
    mode
        Which.
    coords, values
        (n, p) cells and (n,) values in that order.
    ends
        (rows + 1,) where the cells of each row begin and end.
    """

    mode: int
    coords: NDArray
    values: NDArray
    ends: NDArray

    @classmethod
    def of(cls, mode: int, length: int, coords: NDArray, values: NDArray) -> Rows:
        """Sort cells by row."""
        order = np.argsort(coords[:, mode], kind="stable")
        counts = np.bincount(coords[:, mode], minlength=length)
        return cls(mode, coords[order], values[order], np.concatenate([[0], np.cumsum(counts)]))


def products(factors: list[NDArray], coords: NDArray, skip: int | None = None) -> NDArray:
    """Return the (n, R) products of factor rows at cells, without one mode."""
    out = np.ones((len(coords), factors[0].shape[1]))
    for mode, factor in enumerate(factors):
        if mode != skip:
            out *= factor[coords[:, mode]]
    return out


def least_squares_rows(rows: Rows, design: NDArray) -> NDArray:
    """Solve for all rows of one factor at once, by their normal equations.

    A product of matrices for each row is several times faster than sums over all outer products.

    Parameters
    ----------
    design
        (n, R) products of the other factors' rows.

    Returns
    -------
    (rows, R) factor.
    """
    length, rank = len(rows.ends) - 1, design.shape[1]
    normal, wanted = np.empty((length, rank, rank)), np.empty((length, rank))
    for row, (start, end) in enumerate(pairwise(rows.ends.tolist())):
        part = design[start:end]
        np.matmul(part.T, part, out=normal[row])
        np.matmul(rows.values[start:end], part, out=wanted[row])
    diagonal = np.arange(rank)
    ridge = RIDGE * normal[:, diagonal, diagonal].mean()
    normal[:, diagonal, diagonal] += ridge or 1.0
    return np.linalg.solve(normal, wanted[..., None])[..., 0]


def balance(factors: list[NDArray]) -> None:
    """Give the columns of a component the same norm in every mode; the model stays as it is."""
    norms = np.array([np.linalg.norm(factor, axis=0) for factor in factors])
    alive = (norms > 0.0).all(axis=0)
    shared = np.exp(np.mean(np.log(np.where(alive, norms, 1.0)), axis=0))
    for mode, norm in enumerate(norms):
        factors[mode] = factors[mode] * np.where(alive, shared / np.where(alive, norm, 1.0), 1.0)


def average_repeats(problem: Problem) -> tuple[NDArray, NDArray]:
    """Return the known cells, each once, and the mean of the values given for each."""
    cells, which = np.unique(problem.coords, axis=0, return_inverse=True)
    which = which.ravel()
    return cells, np.bincount(which, problem.values) / np.bincount(which)


def fit_factors(
    coords: NDArray,
    values: NDArray,
    shape: tuple[int, ...],
    *,
    rank: int,
    deadline: float,
    rng: np.random.Generator,
) -> tuple[list[NDArray], float]:
    """Sweep over the modes until the residual no longer falls, or the clock says stop.

    Parameters
    ----------
    coords, values
        (n, p) cells, each once, and (n,) values.
    deadline
        By ``time.perf_counter``; at least one sweep is made.

    Returns
    -------
    The factors, and the norm of the residual.
    """
    factors = [rng.random((length, rank)) for length in shape]
    modes = [Rows.of(mode, length, coords, values) for mode, length in enumerate(shape)]
    size = np.linalg.norm(values)
    residuals: list[float] = []
    while len(residuals) < MOST_SWEEPS:
        for rows in modes:
            design = products(factors, rows.coords, skip=rows.mode)
            factors[rows.mode] = least_squares_rows(rows, design)
        fitted = np.einsum("nr,nr->n", design, factors[-1][rows.coords[:, -1]])
        residuals.append(float(np.linalg.norm(rows.values - fitted)))
        balance(factors)
        if residuals[-1] <= EXACT * size or time.perf_counter() > deadline:
            break
        if len(residuals) > LOOK_BACK:
            before = residuals[-1 - LOOK_BACK]
            if before - residuals[-1] < STALLED * before:
                break
    return factors, residuals[-1]


def _fit(training: Problem, rank: int, seconds: float, seed: int) -> Predict:
    end = time.perf_counter() + seconds
    cells, values = average_repeats(training)
    exact = EXACT * np.linalg.norm(values)
    least = np.inf
    for start in range(STARTS):
        now = time.perf_counter()
        if start > 0 and (now > end or least <= exact):
            break
        rng = np.random.default_rng([seed, rank, start])
        deadline = now + (end - now) / (STARTS - start)
        found, residual = fit_factors(
            cells, values, training.shape, rank=rank, deadline=deadline, rng=rng
        )
        if start == 0 or residual < least:
            factors, least = found, residual
    return cp_predictor(np.ones(rank), factors)


def _complete(problem: Problem, seconds: float, seed: int, threads: int) -> Completion:
    return complete_by_rank(problem, seconds, seed, threads, fit=_fit)


CONTENDER = Contender(name="ALS", complete=_complete)
