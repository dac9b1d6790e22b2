"""Fitting observations as an earlier fit was fitted, with nothing left to choose."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from intensor.containers.like import NewObservations, read_like
from intensor.data.checks import check_values, warn_largest_above_radius
from intensor.data.labels import Labels
from intensor.errors import SettingError
from intensor.fitting.combine import Choice
from intensor.fitting.fit import fit as fit_observations
from intensor.fitting.options import Options, RemainderMethod, check_options
from intensor.fitting.recipe import PART_FIELDS, Part, Recipe
from intensor.fitting.record import Fit
from intensor.options import declared
from intensor.solver.loop import Callback
from intensor.solver.progress import show_progress


def refit(
    fit: Fit,
    data: Any,
    values: Any = None,
    *,
    sample_weight: Any = None,
    time_limit: float | None = declared.TIME_LIMIT.default,
    seed: int | None = None,
    threads: int | None = declared.THREADS.default,
    exact: str | None = None,
    callback: Callback | None = declared.CALLBACK.default,
    verbose: bool = declared.VERBOSE.default,
) -> Fit:
    """Return a fit of observations like another one; ``Fit.refit`` describes the arguments."""
    started = time.perf_counter()
    recipe = _recipe_of(fit)
    options = _make_options(
        recipe,
        clip=fit.clip,
        time_limit=time_limit,
        seed=recipe.seed if seed is None else seed,
        threads=threads,
        exact=recipe.exact if exact is None else exact,
    )
    called, shown = declared.CALLBACK.check(callback), declared.VERBOSE.check(verbose)
    found = read_like(data, values, fit.labels, sample_weight=sample_weight)
    _warn_of_larger_values(recipe, found)
    with show_progress(called, verbose=shown) as report:
        return fit_observations(
            found.coords,
            found.values,
            options,
            sample_weight=found.weights,
            labels=found.labels,
            callback=report,
            spent=time.perf_counter() - started,
            choice=_make_choice(recipe, same=_same_labels(fit.labels, found.labels)),
        )


def _recipe_of(fit: Fit) -> Recipe:
    if fit.recipe is None:
        raise SettingError(
            "this fit does not know how it was made, so it cannot be made again: it comes from a "
            "model file of an earlier version, is a partner of another fit, or was simplified; "
            "call refit of a fit that intensor.fit or complete returned, or fit the data anew"
        )
    return fit.recipe


def _make_options(recipe: Recipe, **given: Any) -> Options:
    """Return the options of a fit for which everything is chosen."""
    checked = check_options(
        transform="none",
        baseline="none",
        version=recipe.version,
        tol=recipe.tol,
        rtol=recipe.rtol,
        max_iterations=recipe.max_iterations,
        **given,
    )
    return replace(
        checked,
        scales=tuple(part.scale for part in recipe.parts),
        remainder=RemainderMethod.KRIGING if recipe.dense else RemainderMethod.NONE,
        n_solutions=(recipe.parts[0].n_solutions or 1) if recipe.keep_all else None,
    )


def _make_choice(recipe: Recipe, *, same: bool) -> Choice:
    """Return a recipe as the choice of a fit.

    Boxes to start from belong to the labels of the earlier fit: ``same`` says whether the new
    observations have them too.
    """
    first, *others = (_choose_part(part, same=same) for part in recipe.parts)
    return replace(first, partners=tuple(others), references=recipe.references)


def _choose_part(part: Part, *, same: bool) -> Choice:
    fields = {name: getattr(part, name) for name in (*PART_FIELDS, "scale", "remainder")}
    return Choice(**fields, start=part.start if same else None)


def _same_labels(ours: Labels, theirs: Labels) -> bool:
    pairs = zip(ours.indices, theirs.indices, strict=True)
    return ours is theirs or all(np.array_equal(one, other) for one, other in pairs)


def _warn_of_larger_values(recipe: Recipe, found: NewObservations) -> None:
    """Warn if values are larger than those of the earlier fit, and than its radius allows.

    With a baseline the radius bounds what the main effects leave, which is not known here.
    """
    chosen = recipe.parts[0]
    if chosen.radius is None or chosen.scale.additive:
        return
    values = check_values(found.values, len(found.coords), allow_negative=False)
    largest = float(values.max())
    if largest > recipe.largest:
        fitted = float(chosen.scale.transform.apply(np.array([largest]))[0])
        warn_largest_above_radius(fitted, chosen.radius)
