"""What is compared on a sub-task: the default call, single candidates, simple predictions."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import intensor
from benchmarks.ledger import Row
from benchmarks.problems import Problem, dense_of
from benchmarks.robustness.draw import SubTask, draw
from benchmarks.scoring import score
from intensor.data.observations import observe
from intensor.errors import SettingError
from intensor.fitting.fit import fit
from intensor.fitting.options import fit_options
from intensor.fitting.record import Fit
from intensor.model.baseline import fit_baseline

__all__ = ["DEFAULT", "SIMPLE", "SINGLES", "interpolate", "run_candidate"]

DEFAULT: dict[str, Any] = {"random_state": 0}
"""Options of the default call: nothing is chosen by hand."""
TRANSFORMS = ("none", "sqrt", "log1p")
SINGLES: dict[str, dict[str, Any]] = {
    f"{transform}, {baseline}, graded{', kriging' if remainder == 'kriging' else ''}": {
        "transform": transform,
        "baseline": baseline,
        "components": "graded",
        "remainder": remainder,
    }
    for remainder in ("none", "kriging")
    for transform in TRANSFORMS
    for baseline in ("none", "additive")
} | {
    "none, none, boxes": {
        "transform": "none",
        "baseline": "none",
        "components": "boxes",
        "remainder": "none",
    }
}
"""Fits in which transform, baseline, kind of terms and remainder are fixed, by their names."""
MAX_MODES = 5
"""Largest number of modes of a source."""
IMPOSSIBLE = "impossible"
"""Status of a candidate that a sub-task does not allow, such as kriging of a sparse tensor."""


def run_candidate(
    number: int, seed: int, data: Path, candidate: str, options: dict[str, Any] | None
) -> Row:
    """Predict the hidden cells of a sub-task in one way; return a line of the table.

    Parameters
    ----------
    number, seed, data
        Which sub-task, and the folder of the data sets.
    candidate
        Name of a simple prediction, or any name if there are options.
    options
        Of a fit; None for a simple prediction.
    """
    task = draw(number, seed=seed, folder=data)
    try:
        found = _predict(task, candidate) if options is None else _fit(task.problem, options)
    except (SettingError, ModeError) as error:
        found = {"status": IMPOSSIBLE, "message": str(error)}
    predicted = found.pop("predicted", None)
    if predicted is not None:
        errors = score(task.problem.truth, predicted)
        found |= {"rmse": errors["rmse"], "mae": errors["mae"]}
    return {**_about(task), **found}


class ModeError(ValueError):
    """A mode that the tensor does not have."""


def _about(task: SubTask) -> Row:
    problem = task.problem
    return {
        "source": task.source,
        "shape": list(problem.shape),
        "kind": task.kind,
        "rate": task.rate,
        "ordered": list(task.ordered),
        "known": len(problem.values),
        "hidden": len(problem.truth),
    }


def _fit(problem: Problem, options: Mapping[str, Any]) -> Row:
    _compile()
    threads = int(os.environ.get("OMP_NUM_THREADS", "0")) or None
    checked = fit_options({"threads": threads, **options})
    start = time.perf_counter()
    found = fit(problem.coords, problem.values, checked, shape=problem.shape)
    seconds = time.perf_counter() - start
    return {
        "predicted": found.predict(problem.asked, unseen="mean"),
        "seconds": seconds,
        **_reported(found),
        "chosen": _describe(found),
    }


def _reported(found: Fit) -> Row:
    """Return the error on held-out cells that a fit reports, its metric, and its spread if any."""
    validation = found.validation
    if validation is None:
        return {}
    error = getattr(validation, "error", None)
    if error is None:
        error = validation.path.error if validation.blended is None else validation.blended
    spread = getattr(validation, "spread", None)
    return {
        "reported": float(error),
        "metric": validation.metric,
        **({} if spread is None else {"spread": float(spread)}),
    }


def _describe(found: Fit) -> str:
    """Return share, scale, terms and remainder of each member in words."""
    words = []
    for member in found.members:
        predictor = member.predictor
        baseline = "none" if predictor.baseline is None else "additive"
        kriged = "" if predictor.remainder is None else ", kriging"
        terms = f"{len(member.model.components)} components"
        if not len(member.model.components):
            terms = f"{len(member.model.vertices)} boxes"
        words.append(
            f"{member.share:.0%} {predictor.transform.name}, {baseline}, {terms} in "
            f"{member.n_solutions} models{kriged}"
        )
    return "; ".join(words)


@cache
def _compile() -> None:
    """Fit something small once per process, so that no compilation is timed."""
    small = intensor.planted((5, 5, 5), 100, noise=0.1)
    for baseline in ("none", "additive"):
        for components in ("boxes", "graded"):
            for remainder in ("none", "kriging"):
                words = {"baseline": baseline, "components": components, "remainder": remainder}
                fit(small.coords, small.values, fit_options({**words, "exact": "off"}))


def _predict(task: SubTask, candidate: str) -> Row:
    start = time.perf_counter()
    predicted = SIMPLE[candidate](task.problem)
    return {"predicted": predicted, "seconds": time.perf_counter() - start}


def predict_mean(problem: Problem) -> NDArray:
    """Predict the mean of the known values everywhere."""
    return np.full(len(problem.truth), problem.values.mean())


def predict_main_effects(problem: Problem) -> NDArray:
    """Predict a mean and an effect per index of every mode, and never less than 0."""
    baseline = fit_baseline(observe(problem.coords, problem.values, shape=problem.shape))
    return np.maximum(baseline.evaluate(tuple(problem.asked.T)), 0.0)


def interpolate(problem: Problem, *, mode: int) -> NDArray:
    """Interpolate linearly along one mode.

    Beyond the first and the last known cell of a fibre its value is kept. A fibre without known
    cells is predicted by the main effects.
    """
    if mode >= len(problem.shape):
        raise ModeError(f"mode {mode} of a tensor of {len(problem.shape)} modes")
    tensor, known = (np.moveaxis(one, mode, -1) for one in dense_of(problem))
    length = tensor.shape[-1]
    places = np.arange(length)
    before = np.maximum.accumulate(np.where(known, places, -1), axis=-1)
    after = np.minimum.accumulate(np.where(known, places, length)[..., ::-1], axis=-1)[..., ::-1]
    fibres = tuple(np.delete(problem.asked, mode, axis=1).T)
    at = problem.asked[:, mode]
    low, high = before[(*fibres, at)], after[(*fibres, at)]
    empty = (low < 0) & (high == length)
    low, high = np.where(low < 0, high, low), np.where(high == length, low, high)
    low, high = np.where(empty, 0, low), np.where(empty, 0, high)
    first, last = tensor[(*fibres, low)], tensor[(*fibres, high)]
    share = (at - low) / np.maximum(high - low, 1)
    return np.where(empty, predict_main_effects(problem), first + share * (last - first))


SIMPLE: dict[str, Callable[[Problem], NDArray]] = {
    "mean": predict_mean,
    "main effects": predict_main_effects,
    **{
        f"interpolation along mode {mode}": partial(interpolate, mode=mode)
        for mode in range(MAX_MODES)
    },
}
"""Predictions without a model, by their names."""
