"""Masked CP of tensorly: nonnegative or of any sign, and of a rank, as held-out cells choose."""

from __future__ import annotations

from benchmarks.contenders import tensorly_nonnegative, tensorly_parafac
from benchmarks.contenders.base import Completion, Contender
from benchmarks.contenders.rank_choice import (
    DOUBLING,
    DOUBLING_PATIENCE,
    check_dense,
    complete_by_kind,
)
from benchmarks.problems import Problem

MOST_CELLS = tensorly_parafac.MOST_CELLS
FITS = {"nonnegative": tensorly_nonnegative.fit, "any sign": tensorly_parafac.fit}


def _complete(problem: Problem, seconds: float, seed: int, threads: int) -> Completion:
    check_dense(problem, MOST_CELLS)
    return complete_by_kind(
        problem, seconds, seed, threads, fits=FITS, ranks=DOUBLING, patience=DOUBLING_PATIENCE
    )


CONTENDER = Contender(name="masked CP, tensorly", complete=_complete, most_cells=MOST_CELLS)
