"""Pictures with missing values: demosaicing and inpainting, against interpolation and peers."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import intensor
from benchmarks.contenders import NAMES, Completion, find
from benchmarks.contenders.ours import warm_up
from benchmarks.images.pictures import (
    CLASSICAL,
    MASKS,
    PEAK,
    TASKS,
    bilinear,
    keep,
    lift,
    load,
    task_name,
)
from benchmarks.images.report import BLEND, PATCHES, PLAIN, losses, report
from benchmarks.ledger import Row
from benchmarks.machine import cores
from benchmarks.problems import Problem, dense_of, from_dense
from benchmarks.runs import Run
from benchmarks.scoring import score
from benchmarks.sections import Options, Section

NAME = "images"
SECONDS = {64: 10.0, 128: 20.0}
"""Time limit of every method, by the side of the picture."""
FOR_BAYER, FOR_HOLES = ("Malvar filters",), ("biharmonic",)
LIFTED_PEERS = {"ALS, patches": "ALS"}
"""A peer that works on coordinates, on the same tensor of patches."""
VALIDATING = 0.4
"""Share of the time for the fit that the weight of a mean is chosen with."""
SEED = 7


def methods(mask: str) -> list[str]:
    """Return the methods that apply to a mask, in the order of their runs."""
    unfit = FOR_HOLES if mask == "Bayer" else FOR_BAYER
    peers = [name for name in NAMES if not name.startswith("intensor")]
    named = [*CLASSICAL, PLAIN, PATCHES, BLEND, *LIFTED_PEERS, *peers]
    return [name for name in named if name not in unfit]


def runs(options: Options) -> list[Run]:
    """Return all methods on all pictures and masks; nothing is random but the methods' starts."""
    threads = max(1, cores() // options.jobs)
    return [
        Run(
            section=NAME,
            task=task_name(picture, side, mask),
            method=method,
            rep=0,
            call=complete_picture,
            arguments={
                "picture": picture,
                "side": side,
                "mask": mask,
                "method": method,
                "seconds": SECONDS[side],
                "threads": threads,
                "store": options.out / "pictures",
            },
            limit=SECONDS[side],
            expected=1.0 if method in CLASSICAL else 0.6 * SECONDS[side],
        )
        for picture, side, mask in TASKS
        for method in methods(mask)
    ]


def complete_picture(
    picture: str,
    side: int,
    mask: str,
    method: str,
    *,
    seconds: float,
    threads: int,
    store: Path,
) -> Row:
    """Complete one picture with one method, keep it for the report, and score what was unknown."""
    image = load(picture, side)
    known = MASKS[mask](side)
    task = task_name(picture, side, mask)
    problem = from_dense(task, image, known, ~known)
    done = _complete(method, problem, image * known, known, seconds, threads)
    predicted = np.clip(done.predicted, 0.0, PEAK)
    errors = score(problem.truth, predicted, peak=PEAK)  # refuses what is no number
    filled = image.copy()
    filled[~known] = predicted
    keep(store, task, method, filled)
    told = {name: getattr(done, name) for name in ("boxes", "objective", "gap")}
    return {
        **errors,
        **{name: value for name, value in told.items() if value is not None},
        "seconds": done.seconds,
        "chosen": done.chosen,
    }


def _complete(
    method: str,
    problem: Problem,
    seen: NDArray,
    known: NDArray,
    seconds: float,
    threads: int,
) -> Completion:
    """Call a method; ``seen`` is the picture with 0 where nothing is known."""
    if method in CLASSICAL:
        began = time.perf_counter()
        filled = CLASSICAL[method](seen, known)
        return Completion(predicted=filled[~known], seconds=time.perf_counter() - began)
    if method == PLAIN:
        return fit(problem, seconds, threads)
    if method == PATCHES:
        return lifted(problem, fit, seconds, threads)
    if method == BLEND:
        return blended(problem, seconds, threads)
    if method in LIFTED_PEERS:
        peer = find(LIFTED_PEERS[method])
        return lifted(
            problem, lambda *told: peer.complete(*told[:2], SEED, told[2]), seconds, threads
        )
    return find(method).complete(problem, seconds, SEED, threads)


def fit(problem: Problem, seconds: float, threads: int) -> Completion:
    """Fit with the library's defaults: radius and gap chosen on held-out cells."""
    warm_up()
    began = time.perf_counter()
    completer = intensor.TensorCompleter(
        exact="off",  # proofs cost time and change no prediction
        unseen="mean",
        shape=problem.shape,
        time_limit=seconds,
        random_state=SEED,
        threads=threads,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        completer.fit(problem.coords, problem.values)
    return Completion(
        predicted=completer.predict(problem.asked),
        seconds=time.perf_counter() - began,
        chosen=f"radius {completer.radius_:.4g}",
        boxes=len(completer.model_.weights),
        objective=completer.objective_,
        gap=completer.gap_,
    )


def lifted(
    problem: Problem,
    complete: Callable[[Problem, float, int], Completion],
    seconds: float,
    threads: int,
) -> Completion:
    """Complete the tensor of patches and merge the copies of each pixel."""
    patches = lift(problem)
    done = complete(patches.problem, seconds, threads)
    return Completion(
        predicted=patches.merge(done.predicted),
        seconds=done.seconds,
        chosen=f"patches of {patches.patch} x {patches.patch}, {done.chosen}",
        boxes=done.boxes,
        objective=done.objective,
        gap=done.gap,
    )


def blended(problem: Problem, seconds: float, threads: int) -> Completion:
    """Return a mean of patches and bilinear, with the weight that held-out pixels ask for.

    A tenth of the known pixels is held out; both predict it from the others, and the weight is
    that of least squares between 0 and 1.
    """
    began = time.perf_counter()
    pixels = problem.coords[:, 0] * problem.shape[1] + problem.coords[:, 1]
    seen = np.unique(pixels)
    held = np.random.default_rng(SEED).permutation(seen)[: max(1, len(seen) // 10)]
    out = np.isin(pixels, held)
    inner = replace(
        problem,
        coords=problem.coords[~out],
        values=problem.values[~out],
        asked=problem.coords[out],
        truth=problem.values[out],
    )
    first = lifted(inner, fit, VALIDATING * seconds, threads).predicted
    second = interpolated(inner)
    apart = first - second
    size = float(apart @ apart)
    weight = float(np.clip(apart @ (inner.truth - second) / size, 0.0, 1.0)) if size else 0.0
    left = max(0.1, seconds - (time.perf_counter() - began))
    done = lifted(problem, fit, left, threads)
    return Completion(
        predicted=weight * done.predicted + (1.0 - weight) * interpolated(problem),
        seconds=time.perf_counter() - began,
        chosen=f"weight {weight:.2f}, {done.chosen}",
        boxes=done.boxes,
    )


def interpolated(problem: Problem) -> NDArray:
    """Return the bilinear values of the cells that are asked about."""
    tensor, known = dense_of(problem)
    return bilinear(tensor, known)[tuple(problem.asked.T)]


SECTION = Section(
    name=NAME,
    title="Pictures: demosaicing and inpainting",
    runs=runs,
    report=report,
    losses=losses,
)
