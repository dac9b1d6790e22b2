"""Masked CP of pyttb: nonnegative or of any sign, and of a rank, as held-out cells choose."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.contenders import pyttb_gcp
from benchmarks.contenders.base import Completion, Contender
from benchmarks.contenders.rank_choice import (
    DOUBLING,
    DOUBLING_PATIENCE,
    check_dense,
    complete_by_kind,
)
from benchmarks.problems import Problem

MOST_CELLS = pyttb_gcp.MOST_CELLS
FITS = {
    "nonnegative": partial(pyttb_gcp.fit, lowest=0.0),
    "any sign": partial(pyttb_gcp.fit, lowest=-np.inf),
}


def _complete(problem: Problem, seconds: float, seed: int, threads: int) -> Completion:
    check_dense(problem, MOST_CELLS)
    return complete_by_kind(
        problem, seconds, seed, threads, fits=FITS, ranks=DOUBLING, patience=DOUBLING_PATIENCE
    )


CONTENDER = Contender(name="masked CP, pyttb", complete=_complete, most_cells=MOST_CELLS)
