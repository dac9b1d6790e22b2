"""The same as ``pyttb_gcp`` with nonnegative factors."""

from __future__ import annotations

from benchmarks.contenders.base import Completion, Contender
from benchmarks.contenders.pyttb_gcp import MOST_CELLS, complete
from benchmarks.problems import Problem


def _complete(problem: Problem, seconds: float, seed: int, threads: int) -> Completion:
    return complete(problem, seconds, seed, threads, lowest=0.0)


CONTENDER = Contender(name="pyttb gcp_opt, nonneg.", complete=_complete, most_cells=MOST_CELLS)
