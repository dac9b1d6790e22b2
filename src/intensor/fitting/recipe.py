"""How a fit was made: all that was chosen for it, kept with it so that it can be made again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from intensor._arrays import AnyArray, Shape
from intensor._text import one_line
from intensor.fitting.options import BASELINES, RemainderMethod, Scale
from intensor.fitting.references import Kind, Reference, restore_reference
from intensor.model.model import Model
from intensor.model.transform import TRANSFORMS
from intensor.options.ranges import check_radius
from intensor.solver.snapshot import (
    capture_factors,
    capture_fields,
    count_components,
    restore_model,
)
from intensor.storage.reader import Getter, Tree, TreeReader, read_fields

MAX_COUNT = 1_000_000
"""Largest number of solutions, components, sweeps or rounds that a file may ask for."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Part:
    """How one model of terms was fitted.

    Attributes
    ----------
    scale
        Transform, baseline and kind of terms.
    share
        Share of the prediction, before members that there was no time for were left out.
    radius
        Radius in the fitted scale; None for the largest fitted value.
    remainder
        Whether the remainder was kriged.
    max_components, sweeps
        Largest number of graded components and of sweeps over them; None and of no effect for
        boxes.
    rounds
        Rounds in which kriging improved covariances.
    n_solutions
        Number of solutions to average; None for one.
    tolerance
        Gap at which to stop, in the fitted scale; None for that of the recipe.
    start
        Boxes that the first solve went on from; None if it started from nothing.
    """

    scale: Scale
    share: float
    radius: float | None
    remainder: RemainderMethod
    max_components: int | None
    sweeps: int
    rounds: int
    n_solutions: int | None
    tolerance: float | None
    start: Model | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recipe:
    """All that was given or chosen for a fit.

    Attributes
    ----------
    parts
        How each model of terms was fitted, the chosen one first.
    references
        Predictors without terms, with their shares of the prediction.
    largest
        Largest observed value, in the units of the data.
    version, exact
        Names of the version of the solver and of the exact oracle.
    tol, rtol, max_iterations, seed
        Options of every solve.
    keep_all
        Whether all solutions are averaged, since their number was given, or those that ended far
        above the best are left out.
    """

    parts: tuple[Part, ...]
    references: tuple[tuple[Reference, float], ...]
    largest: float
    version: int | str
    exact: str
    tol: float
    rtol: float
    max_iterations: int | None
    seed: int
    keep_all: bool

    @property
    def dense(self) -> bool:
        """Whether something is predicted that is known in every cell: a remainder or a field."""
        kinds = {reference.kind for reference, _ in self.references}
        kriged = any(part.remainder is RemainderMethod.KRIGING for part in self.parts)
        return kriged or not kinds.isdisjoint({Kind.INTERPOLATION, Kind.FIELD})

    def __repr__(self) -> str:
        names = [part.scale.name for part in self.parts]
        names += [reference.name for reference, _ in self.references]
        return one_line(f"Recipe: {'; '.join(names)}")


def _read_optional(get: Getter) -> Getter:
    """Return a getter that returns None where there is no value."""
    return lambda saved, name: get(saved, name) if name in saved else None


_read_count = partial(TreeReader.count, most=MAX_COUNT)
_read_positive_count = partial(TreeReader.count, least=1, most=MAX_COUNT)
PART_FIELDS: dict[str, Getter] = {
    "share": TreeReader.amount,
    "radius": _read_optional(TreeReader.amount),
    "max_components": _read_optional(_read_positive_count),
    "sweeps": _read_count,
    "rounds": _read_count,
    "n_solutions": _read_optional(_read_positive_count),
    "tolerance": _read_optional(TreeReader.amount),
}
RECIPE_FIELDS: dict[str, Getter] = {
    "largest": TreeReader.amount,
    "exact": TreeReader.printable,
    "tol": TreeReader.amount,
    "rtol": TreeReader.amount,
    "max_iterations": _read_optional(TreeReader.count),
    "seed": TreeReader.count,
    "keep_all": TreeReader.flag,
}


def capture_recipe(recipe: Recipe) -> Tree:
    """Return a recipe as a tree without arrays, which ``capture_starts`` returns."""
    return {
        **capture_fields(recipe, RECIPE_FIELDS),
        "version": recipe.version,
        "parts": [_capture_part(part) for part in recipe.parts],
        "references": [
            {**reference.capture(), "share": float(share)} for reference, share in recipe.references
        ],
    }


def capture_starts(recipe: Recipe) -> dict[str, AnyArray]:
    """Return the arrays of the models that parts went on from, by their names in a file."""
    arrays: dict[str, AnyArray] = {}
    for number, part in enumerate(recipe.parts):
        if part.start is None:
            continue
        named = {"words": part.start.vertices.words, **capture_factors(part.start)}
        named["weights"] = np.asarray(part.start.weights, dtype=np.float64)
        arrays |= {start_stem(number) + name: array for name, array in named.items()}
    return arrays


def start_stem(number: int) -> str:
    """Return how the names of the arrays of a start begin."""
    return f"start_{number}_"


def _capture_part(part: Part) -> Tree:
    start = part.start
    return {
        **capture_fields(part, PART_FIELDS),
        "transform": part.scale.transform.name,
        "baseline": BASELINES[part.scale.additive],
        "graded": part.scale.graded,
        "remainder": part.remainder.value,
        "start": None
        if start is None
        else {**capture_fields(start, ("radius", "signed")), **count_components(start)},
    }


def restore_recipe(
    saved: TreeReader, shape: Shape, join_start: Callable[[Tree, str], TreeReader]
) -> Recipe:
    """Return a recipe again, or raise if it is damaged.

    ``join_start`` adds the arrays whose names begin with a stem to a tree.
    """
    parts = []
    for number, one in enumerate(saved.branches("parts")):
        start = None
        if "start" in one:
            start = restore_model(join_start(one.branch("start").tree, start_stem(number)), shape)
        parts.append(_restore_part(one, start))
    if not parts:
        raise saved.damaged("its recipe has no part")
    numbered = isinstance(saved.tree.get("version"), int)
    return Recipe(
        **read_fields(saved, RECIPE_FIELDS),
        version=saved.count("version") if numbered else saved.printable("version"),
        parts=tuple(parts),
        references=tuple(
            _restore_reference(one, len(shape)) for one in saved.branches("references")
        ),
    )


def _restore_part(saved: TreeReader, start: Model | None) -> Part:
    fields: dict[str, Any] = read_fields(saved, PART_FIELDS)
    if fields["radius"] is not None:
        check_radius(fields["radius"])
    scale = Scale(
        transform=TRANSFORMS[saved.text("transform", TRANSFORMS)],
        additive=bool(BASELINES.index(saved.text("baseline", BASELINES))),
        graded=saved.flag("graded"),
    )
    if scale.graded != (fields["max_components"] is not None):
        raise saved.damaged("a part of its recipe has components and is not graded, or none and is")
    if start is not None and start.signed != scale.additive:
        raise saved.damaged("a part of its recipe starts from boxes of another kind")
    kept = [method.value for method in RemainderMethod if method is not RemainderMethod.AUTO]
    remainder = RemainderMethod(saved.text("remainder", kept))
    return Part(**fields, scale=scale, remainder=remainder, start=start)


def _restore_reference(saved: TreeReader, n_modes: int) -> tuple[Reference, float]:
    reference = restore_reference(saved, TRANSFORMS)
    if reference.kind is Kind.INTERPOLATION and not 0 <= reference.mode < n_modes:
        raise saved.damaged(f"its recipe interpolates along mode {reference.mode} of {n_modes}")
    if reference.rounds > MAX_COUNT:
        raise saved.damaged(f"its recipe asks for {reference.rounds} rounds")
    return reference, saved.amount("share")
