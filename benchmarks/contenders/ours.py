"""intensor by its automatic path: radius and baseline are chosen on held-out known cells.

So it is told no more than the peers, which choose a rank in the same way.
"""

from __future__ import annotations

import time
import warnings
from functools import cache

import intensor
from benchmarks.contenders.base import Completion, Contender
from benchmarks.problems import Problem

SOLUTIONS = 4
"""Models to average."""
RTOL = 1e-12
"""Gap to reach, of the mean square of the values: exact data is solved out."""


def _complete(problem: Problem, seconds: float, seed: int, threads: int) -> Completion:
    warm_up()
    began = time.perf_counter()
    completer = intensor.TensorCompleter(
        radius="auto",
        baseline="auto",
        n_solutions=SOLUTIONS,
        rtol=RTOL,
        exact="off",  # proofs cost time and change no prediction
        unseen="mean",
        shape=problem.shape,
        time_limit=seconds,
        random_state=seed,
        threads=threads,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        completer.fit(problem.coords, problem.values)
    taken = time.perf_counter() - began
    tried = 0 if completer.path_ is None else len(completer.path_)
    averaged = completer.fit_.n_solutions
    return Completion(
        predicted=completer.predict(problem.asked),
        seconds=taken,
        chosen=f"radius {completer.radius_:.4g} of {tried}, baseline {_baseline(completer)}, "
        f"{averaged} models averaged",
        boxes=len(completer.model_.weights),
        objective=completer.objective_,
        gap=completer.gap_,
    )


def _baseline(completer: intensor.TensorCompleter) -> str:
    return "none" if completer.fit_.predictor.baseline is None else "additive"


@cache
def warm_up() -> None:
    """Load compiled code once, off the clock: no import of a peer is on it either."""
    data = intensor.planted((4, 4, 4), 60)
    intensor.TensorCompleter(n_solutions=2, exact="off").fit(data.coords, data.values)


CONTENDER = Contender(name="intensor", complete=_complete)
