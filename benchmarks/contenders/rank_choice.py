"""The rank of a factorisation, chosen on known cells only, within the time of the whole method."""

from __future__ import annotations

import contextlib
import io
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.contenders.base import Completion
from benchmarks.problems import Problem

RANKS = (1, 2, 3, 5, 8, 10, 15, 20, 30)
"""Tried in this order, while the error on held-out cells falls."""
DOUBLING, DOUBLING_PATIENCE = (1, 2, 4, 8, 16, 32), 2
"""Ranks that double, for methods that choose more than the rank, and the patience with them."""
HELD_OUT = 0.1
"""Share of the known cells that are held out."""
CHOOSING = 0.6
"""Share of the time for choosing; the rest, and what choosing left over, is for the last fit."""
PATIENCE = 3
"""Ranks in a row without a smaller error after which larger ones are not tried."""
CHUNK = 1 << 16
"""Cells that are predicted at a time."""

Predict = Callable[[NDArray], NDArray]
"""From (m, p) cells to (m,) numbers."""
Fit = Callable[[Problem, int, float, int], Predict]
"""Called with known cells, a rank, the seconds it may take, and a seed. The problem it gets asks
about no cell."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Tried:
    rank: int
    error: float
    predict: Predict


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Choice:
    tried: list[_Tried]
    failed: list[int]

    @property
    def best(self) -> _Tried:
        return min(self.tried, key=lambda one: one.error)

    def describe(self, kind: str, note: str) -> str:
        ranks = ", ".join(str(one.rank) for one in self.tried)
        words = f"{kind}, " if kind else ""
        words += f"rank {self.best.rank} of {ranks}{note}"
        if self.failed:
            words += f"; failed: {', '.join(map(str, self.failed))}"
        return words


def complete_by_rank(
    problem: Problem,
    seconds: float,
    seed: int,
    threads: int,
    *,
    fit: Fit,
    ranks: Sequence[int] = RANKS,
) -> Completion:
    """Choose a rank on held-out cells, fit all known cells with it, and predict.

    A rank whose fit fails or predicts no number is passed over. Predictions are clipped at 0: all
    methods are told that the values are not negative. The clock stops before the cells that are
    asked about are predicted.

    Parameters
    ----------
    problem, seconds, seed, threads
        As of any contender.
    fit
        Fits one rank; expected to keep to the seconds it is given.
    ranks
        To try, growing.
    """
    return complete_by_kind(problem, seconds, seed, threads, fits={"": fit}, ranks=ranks)


def complete_by_kind(
    problem: Problem,
    seconds: float,
    seed: int,
    threads: int,
    *,
    fits: Mapping[str, Fit],
    ranks: Sequence[int] = RANKS,
    patience: int = PATIENCE,
) -> Completion:
    """Choose a kind of factorisation and its rank on held-out cells, as ``complete_by_rank``.

    Parameters
    ----------
    problem, seconds, seed, threads, ranks
        As of ``complete_by_rank``; the kinds share the time for choosing.
    fits
        Fits of one rank, by the names of their kinds.
    patience
        Ranks in a row without a smaller error after which larger ones are not tried.
    """
    began = time.perf_counter()
    known = _without_answers(problem, np.ones(len(problem.values), dtype=bool))
    chosen: dict[str, _Choice] = {}
    broken: list[RuntimeError] = []
    with quiet(threads):
        for kind, fit in fits.items():
            try:
                chosen[kind] = _try_ranks(known, seconds / len(fits), seed, fit, ranks, patience)
            except RuntimeError as error:
                broken.append(error)
        if not chosen:
            raise broken[-1]
        kind = min(chosen, key=lambda one: chosen[one].best.error)
        best = chosen[kind].best
        left = seconds - (time.perf_counter() - began)
        predict, note = _fit_all(known, left, seed, fits[kind], best)
        taken = time.perf_counter() - began
        predicted = predict(problem.asked)
    words = [chosen[kind].describe(kind, note)]
    words += [choice.describe(name, ", worse") for name, choice in chosen.items() if name != kind]
    return Completion(predicted=predicted, seconds=taken, chosen="; ".join(words))


@contextlib.contextmanager
def quiet(threads: int) -> Iterator[None]:
    """Let nothing be printed or warned of, and keep linear algebra to so many threads."""
    nowhere = io.StringIO()
    with (
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
        threadpool_limits(threads),
    ):
        warnings.simplefilter("ignore")
        yield


def check_dense(problem: Problem, most_cells: int) -> None:
    """Raise MemoryError when a problem is too large to be held as a dense array."""
    if problem.n_cells > most_cells:
        raise MemoryError(
            f"needs the dense tensor: {problem.n_cells:.3g} cells, more than {most_cells:.3g}"
        )


def cp_predictor(weights: NDArray, factors: Sequence[NDArray]) -> Predict:
    """Return the function that predicts cells from the factors of a CP decomposition.

    Parameters
    ----------
    weights
        (rank,) of the components.
    factors
        (r_k, rank) each.
    """

    def predict(cells: NDArray) -> NDArray:
        found = np.empty(len(cells))
        for first in range(0, len(cells), CHUNK):
            some = cells[first : first + CHUNK]
            products = np.broadcast_to(weights, (len(some), len(weights))).copy()
            for mode, factor in enumerate(factors):
                products *= factor[some[:, mode]]
            found[first : first + CHUNK] = products.sum(axis=1)
        return found

    return predict


def hold_out(problem: Problem, seed: int) -> tuple[NDArray, NDArray]:
    """Return masks of the observations to train with and to validate with.

    All observations of a cell are on the same side; at least one cell is on either.
    """
    cells, which = np.unique(problem.coords, axis=0, return_inverse=True)
    if len(cells) < 2:
        raise ValueError(f"{len(cells)} known cells; choosing a rank needs at least 2")
    count = max(1, round(HELD_OUT * len(cells)))
    # A stream of its own: not the one that an instance was drawn from with the same seed.
    rng = np.random.default_rng([seed, len(cells)])
    chosen = np.zeros(len(cells), dtype=bool)
    chosen[rng.choice(len(cells), count, replace=False)] = True
    held = chosen[which.ravel()]
    return ~held, held


def _try_ranks(
    known: Problem, seconds: float, seed: int, fit: Fit, ranks: Sequence[int], patience: int
) -> _Choice:
    """Return the ranks tried, with their errors on held-out cells, and the ranks that failed."""
    end = time.perf_counter() + CHOOSING * seconds
    training, held = hold_out(known, seed)
    part = _without_answers(known, training)
    tried: list[_Tried] = []
    failed: list[int] = []
    why: Exception | None = None
    for place, rank in enumerate(ranks):
        left = end - time.perf_counter()
        if (tried or failed) and left <= 0.0:
            break
        try:
            predict = _checked(fit(part, rank, max(left, 0.0) / (len(ranks) - place), seed))
            error = _rmse(predict(known.coords[held]), known.values[held])
        except Exception as problem:  # a factorisation may fail in any way; others may not
            failed.append(rank)
            why = problem
            continue
        tried.append(_Tried(rank=rank, error=error, predict=predict))
        best = int(np.argmin([one.error for one in tried]))
        if len(tried) - 1 - best >= patience:
            break
    if not tried:
        told = ", ".join(map(str, failed))
        raise RuntimeError(f"every rank of {told} failed, the last with: {why}") from why
    return _Choice(tried=tried, failed=failed)


def _fit_all(
    known: Problem, seconds: float, seed: int, fit: Fit, best: _Tried
) -> tuple[Predict, str]:
    """Fit all known cells, or stay with the fit of the chosen rank where that turns out worse.

    Worse on the known cells: the clock ended it early, or it fell into another local minimum.
    """
    if seconds <= 0.0:
        return best.predict, ", no time to fit again"
    try:
        predict = _checked(fit(known, best.rank, seconds, seed))
        error = _rmse(predict(known.coords), known.values)
    except Exception:  # as above
        return best.predict, ", fitting again failed"
    if error > _rmse(best.predict(known.coords), known.values):
        return best.predict, ", fitting again was worse"
    return predict, ""


def _without_answers(problem: Problem, kept: NDArray) -> Problem:
    """Return a problem of some observations that asks about no cell."""
    return Problem(
        name=problem.name,
        shape=problem.shape,
        coords=problem.coords[kept],
        values=problem.values[kept],
        asked=np.empty((0, len(problem.shape)), dtype=np.int64),
        truth=np.empty(0),
    )


def _checked(predict: Predict) -> Predict:
    """Clip predictions at 0, and refuse those that are no numbers."""

    def checked(cells: NDArray) -> NDArray:
        found = predict(cells)
        if not np.isfinite(found).all():
            raise FloatingPointError("predictions are no numbers")
        return np.maximum(found, 0.0)

    return checked


def _rmse(predicted: NDArray, values: NDArray) -> float:
    return float(np.sqrt(np.mean((predicted - values) ** 2)))
