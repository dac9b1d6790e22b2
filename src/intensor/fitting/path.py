"""The path of radii: one warm engine per fold, a growing radius, an error on held-out cells."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from intensor._arrays import AnyArray, FloatArray, Shape
from intensor.fitting.fold import BOXED, Step
from intensor.fitting.folds import Folds, open_folds
from intensor.fitting.journal import NO_NOTES, Notes
from intensor.fitting.options import Options, Scale
from intensor.fitting.samples import Samples
from intensor.model.model import Model
from intensor.options.ranges import EXTREME
from intensor.runtime.budget import Budget
from intensor.solver.result import Progress
from intensor.solver.snapshot import capture_model, restore_model
from intensor.storage.codec import Branch, Tree

__all__ = [
    "BOXED",
    "CLOSER",
    "NEARLY",
    "RadiusPath",
    "Walk",
    "approach",
    "capture_walk",
    "restore_walk",
    "walk",
]

RATIO = 2.0**0.25
"""From one radius to the next."""
PATIENCE = 3
"""Radii without a better error after which larger ones are not tried; one less when the error
is clearly worse."""
WORTH = 1e-3
"""Share of the error that counts as better."""
NEARLY = 0.01
"""Share of the least error by which that of a smaller radius may exceed it."""
WORSE = 0.02
"""Share of the error that counts as clearly worse."""
CLOSER = (0.5, 0.25, 0.1, 0.05, 0.02)
"""Gaps to stop a fit at, as shares of the mean squared error on held-out cells."""
WORDS = ("transform", "baseline", "metric")
COLUMNS = ("radii", "errors", "objectives", "boxes", "noise", "seconds")
"""Of a path, in a checkpoint."""
STRIDE, SCOUT = 2.0**0.5, 2.0
"""When the remainder is kriged, the error depends less on the radius: the factor from one to the
next, and where scales are compared, in the largest fitted value."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RadiusPath:
    """What each radius was worth on held-out cells.

    Attributes
    ----------
    transform, baseline
        The scale it was walked in, by name.
    metric
        Name of the error.
    radii
        (m,) radii in the fitted scale, growing.
    errors
        (m,) error on held-out cells in the units of the data, mean of the folds.
    objectives
        (m,) mean squared error on the training cells in the fitted scale, mean of the folds.
    boxes
        (m,) boxes in use, mean of the folds.
    noise
        (m,) mean squared error on the held-out cells in the fitted scale, mean of the folds.
    seconds
        (m,) since the walk began.
    kriged
        (m,) whether the error is that with the remainder kriged.
    sampled
        Whether it was walked on a sample of the training cells or in a short time, to choose a
        scale only: its errors compare with those of other such paths.
    """

    transform: str
    baseline: str
    metric: str
    radii: FloatArray
    errors: FloatArray
    objectives: FloatArray
    boxes: FloatArray
    noise: FloatArray
    seconds: FloatArray
    kriged: AnyArray
    sampled: bool = False

    @property
    def best(self) -> int:
        """Place of the radius to take: the smallest whose error is nearly the least.

        A larger one costs boxes and time, and a difference of a hundredth is hardly more than
        the choice of the held-out cells.
        """
        return int(np.argmax(self.errors <= (1.0 + NEARLY) * self.errors.min()))

    @property
    def radius(self) -> float:
        """The radius to take."""
        return float(self.radii[self.best])

    @property
    def error(self) -> float:
        """Its error."""
        return float(self.errors[self.best])

    @property
    def remainder(self) -> str:
        """What to do with what the boxes leave: "none" or "kriging"."""
        return "kriging" if self.kriged[self.best] else "none"

    def __len__(self) -> int:
        return int(self.radii.size)


class Walk(NamedTuple):
    """What a walk along the radii found.

    Attributes
    ----------
    path
        The error at every radius.
    models
        Of the folds, at a radius that is about the best.
    cut
        Whether a limit ended the fit at the first radius: its errors are those of an unfinished
        model, and say nothing about noise.
    kriging_seconds
        How long kriging took at most; infinite when there was no time for it.
    """

    path: RadiusPath
    models: tuple[Model, ...]
    cut: bool = False
    kriging_seconds: float = 0.0


def walk(
    pairs: Sequence[tuple[Samples, Samples]],
    scale: Scale,
    options: Options,
    *,
    budget: Budget,
    watch: Callable[[str, Progress], bool],
    scouting: bool = False,
    client: Any = None,
    notes: Notes = NO_NOTES,
) -> Walk:
    """Walk up the radii until held-out cells are predicted no better.

    Parameters
    ----------
    pairs
        Training and held-out observations, one pair per fold.
    watch
        Called with a word on where the walk stands and the progress of the solve; False ends
        it.
    scouting
        The path is to compare scales only: where the remainder is kriged one radius will do.
    client
        Of a Dask cluster, over which folds and radii are spread.
    notes
        Of steps that were taken before the fit was killed; they are not taken again.
    """
    with open_folds(pairs, scale, options, client=client, notes=notes) as folds:
        rows: list[tuple[float, ...]] = []
        least, since = math.inf, 0
        best: tuple[Model, ...] = ()
        taken, kriging_seconds, cut = math.inf, 0.0, False
        for radius, steps in _walk(folds, _radii(folds, options, scouting), budget, watch):
            if rows and any(step.cut for step in steps):
                break  # cut off half-way: not comparable with the others
            cut = any(step.cut for step in steps)
            kriging_seconds = max(kriging_seconds, *(step.kriging_seconds for step in steps))
            error = float(np.mean([step.error for step in steps]))
            rows.append(
                (
                    radius,
                    error,
                    float(np.mean([step.objective for step in steps])),
                    float(np.mean([len(step.model) for step in steps])),
                    float(np.mean([step.noise for step in steps])),
                    max(step.seconds for step in steps),
                    float(np.mean([step.kriged for step in steps])),
                )
            )
            since = 0 if error < (1.0 - WORTH) * least else since + 1
            if not best or error < (1.0 - NEARLY) * taken:
                best, taken = tuple(step.model for step in steps), error
            least = min(least, error)
            enough = since >= PATIENCE - (error > (1.0 + WORSE) * least)
            if cut or enough or not any(step.binds for step in steps):
                break
            if budget.spent and not folds.remembers:
                break
    radii, found, objectives, boxes, noise, seconds, kriged = map(np.array, zip(*rows, strict=True))
    path = RadiusPath(
        transform=scale.transform.name,
        baseline="additive" if scale.additive else "none",
        metric=options.metric,
        radii=radii,
        errors=found,
        objectives=objectives,
        boxes=boxes,
        noise=noise,
        seconds=seconds,
        kriged=kriged > 0.5,
    )
    return Walk(path, best, cut, kriging_seconds)


def approach(
    pairs: Sequence[tuple[Samples, Samples]],
    scale: Scale,
    options: Options,
    path: RadiusPath,
    models: Sequence[Model],
    *,
    budget: Budget,
    watch: Callable[[str, Progress], bool],
    client: Any = None,
    notes: Notes = NO_NOTES,
) -> tuple[tuple[float, float], ...]:
    """Fit at the radius of a path ever more closely, and say what each step is worth.

    On noisy data a fit can be too close: the last boxes follow the noise. So the gap at which
    to stop is chosen like the radius is, by what held-out cells say.

    Parameters
    ----------
    models
        Those of the path, from which to go on when the remainder is kriged: the fit of all
        observations will do so too.

    Returns
    -------
    Pairs of a gap, in the fitted scale, and the error on held-out cells, mean of the folds. A limit
    may have cut off the last one, which is closer than the one before all the same. There is none
    at all when the first was cut off, since it says nothing then.
    """
    noise, radius = float(path.noise[path.best]), path.radius
    options = replace(options, remainder=path.remainder)
    steps: list[tuple[float, float]] = []
    starts = models if path.remainder != "none" else ()
    with open_folds(pairs, scale, options, starts, client=client, notes=notes) as folds:
        for share in CLOSER:
            watch_here = partial(watch, f"gap {share * noise:.3g}")
            found = folds.approach(radius, share * noise, budget, watch_here)
            cut = any(step.cut for step in found)
            if cut and not steps:
                break
            steps.append((share * noise, float(np.mean([step.error for step in found]))))
            if cut or steps[-1][1] > (1.0 + WORSE) * min(error for _, error in steps):
                break
            if budget.spent and not folds.remembers:
                break
    return tuple(steps)


def capture_walk(found: Walk) -> Tree:
    """Return what a walk found as a tree."""
    path = found.path
    return {
        **{name: getattr(path, name) for name in WORDS},
        **{name: getattr(path, name) for name in COLUMNS},
        "kriged": np.asarray(path.kriged, dtype=np.uint8),
        "models": [capture_model(model) for model in found.models],
        "cut": bool(found.cut),
        "kriging_seconds": float(found.kriging_seconds),
    }


def restore_walk(saved: Branch, shape: Shape) -> Walk:
    """Return what a walk found again."""
    models = tuple(restore_model(model, shape) for model in saved.branches("models"))
    radii = saved.finite_array("radii", (None,))
    if not radii.size or not models:
        raise saved.damaged("a walk has no step")
    parts: dict[str, Any] = {name: saved.word(name) for name in WORDS}
    for name in COLUMNS:
        parts[name] = saved.array(name, "<f8", (radii.size,))
    kriged = saved.array("kriged", "|u1", (radii.size,)) > 0
    return Walk(
        RadiusPath(**parts, kriged=kriged),
        models,
        saved.flag("cut") if "cut" in saved else False,
        saved.number("kriging_seconds") if "kriging_seconds" in saved else 0.0,
    )


def _walk(
    folds: Folds,
    radii: Iterator[float],
    budget: Budget,
    watch: Callable[[str, Progress], bool],
) -> Iterator[tuple[float, Sequence[Step]]]:
    """Yield every radius with what the folds came to, computed as many ahead as folds can."""
    while some := list(itertools.islice(radii, folds.ahead)):
        yield from zip(some, folds.walk_to(some, budget, watch), strict=False)


def _radii(folds: Folds, options: Options, scouting: bool) -> Iterator[float]:
    """Yield the radius that is given, or growing ones from the largest fitted value."""
    if options.radius is not None:
        yield options.radius
        return
    radius, ratio = folds.largest, RATIO
    if folds.kriges:
        ratio = STRIDE
        if scouting:
            yield min(SCOUT * radius, EXTREME)
            return
    for _ in range(options.most_radii):
        yield radius
        if radius >= EXTREME:
            return
        radius = min(radius * ratio, EXTREME)
