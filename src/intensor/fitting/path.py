"""The path of radii: one warm engine per fold, a growing radius, an error on held-out cells."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from intensor._arrays import AnyArray, FloatArray, Shape
from intensor._text import one_line
from intensor.fitting.fold import Request, Step
from intensor.fitting.folds import Folds
from intensor.fitting.options import RemainderMethod, Scale
from intensor.model.model import Model
from intensor.options.ranges import LARGEST_MAGNITUDE
from intensor.runtime.budget import Budget
from intensor.solver.loop import Callback
from intensor.solver.snapshot import MAX_MAGNITUDE, capture_fields, capture_model, restore_model
from intensor.storage.reader import Getter, Tree, TreeReader, read_fields

RADIUS_RATIO = 2.0**0.25
"""Factor from one radius to the next."""
KRIGED_RADIUS_RATIO = 2.0**0.5
"""The same factor when the remainder is kriged: the error then depends less on the radius."""
SCOUTED_RADIUS_RATIO = 2.0
"""Radius for comparing scales if the remainder is kriged, as a multiple of the largest value."""
MAX_RADII_WITHOUT_GAIN = 3
"""A walk ends after this many radii without a better error, or one fewer if the last error is
clearly worse."""
HOPEFUL_RADII = 4
"""Radii that are tried before a walk is given up because another kind of terms does better."""
MIN_GAIN = 1e-3
"""Smallest relative decrease of the error that counts as better."""
NEARLY_BEST = 0.01
"""Errors up to this share above the least one count as nearly the best."""
CLEARLY_WORSE = 0.02
"""Errors more than this share above the least one count as clearly worse."""
GAP_SHARES = (0.5, 0.25, 0.1, 0.05, 0.02)
"""Gaps at which a fit may stop, as shares of the mean squared error on held-out cells."""
PATH_TEXTS = ("transform", "baseline", "metric")
"""Attributes of a path that are text."""
PATH_COLUMNS = ("radii", "errors", "objectives", "boxes", "noise", "seconds")
"""Attributes of a path that are arrays of numbers, one for each radius."""
GRADED_COLUMNS = ("limits", "sweeps", "rounds", "singles", "averages", "scores")
"""Such attributes that describe graded components, and are all 0 for boxes."""
WALK_FIELDS: dict[str, Getter] = {
    "cut": TreeReader.flag,
    "kriging_seconds": TreeReader.number,
    "members": partial(TreeReader.count, least=1),
    "variance": TreeReader.amount,
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RadiusPath:
    """How well each radius predicted held-out cells.

    Attributes
    ----------
    transform, baseline, metric
        Names of the scale in which the path was walked, and of the error.
    radii
        (m,) radii in the fitted scale, growing.
    errors
        (m,) error on held-out cells in the units of the data, mean of the folds.
    objectives, noise
        (m,) mean squared error on training and held-out cells in the fitted scale, mean of folds.
    boxes
        (m,) number of boxes, mean of the folds.
    seconds
        (m,) seconds since the walk began.
    kriged
        (m,) whether the error includes the kriged remainder.
    limits
        (m,) largest number of graded components; all 0 for boxes, whose number is not limited.
    sweeps
        (m,) sweeps over all graded components at that number, with those of the step that this one
        went on from.
    rounds
        (m,) rounds in which kriging improved covariances.
    singles, averages
        (m,) for graded components, error of one model and of the average of a few, mean of the
        folds: ``errors`` are those expected of more of them.
    scores
        (m,) what graded components of one scale are compared by: the error in the units of the data
        and the error in the fitted scale together.
    sampled
        Whether the path was walked on a sample of the training cells or in a short time, only to
        choose a scale: its errors compare with those of other such paths.
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
    limits: FloatArray
    sweeps: FloatArray
    rounds: FloatArray
    singles: FloatArray
    averages: FloatArray
    scores: FloatArray
    sampled: bool = False

    @property
    def best(self) -> int:
        """Index of the radius to take: the smallest whose error is nearly the least.

        A larger radius costs boxes and time, and held-out cells cannot tell such errors apart. With
        graded components, it is the one of the least score.
        """
        if self.graded:
            return int(np.argmin(self.scores))
        return int(np.argmax(self.errors <= (1.0 + NEARLY_BEST) * self.errors.min()))

    @property
    def graded(self) -> bool:
        """Whether the terms are graded components."""
        return bool(self.limits.any())

    @property
    def max_components(self) -> int | None:
        """Largest number of graded components to take; None for boxes."""
        return int(self.limits[self.best]) if self.graded else None

    @property
    def radius(self) -> float:
        """The radius to take."""
        return float(self.radii[self.best])

    @property
    def error(self) -> float:
        """Error at the radius to take."""
        return float(self.errors[self.best])

    @property
    def remainder(self) -> str:
        """Name of the method for the remainder of the boxes: "none" or "kriging"."""
        return "kriging" if self.kriged[self.best] else "none"

    def __len__(self) -> int:
        return int(self.radii.size)

    def __repr__(self) -> str:
        return one_line(
            f"RadiusPath ({self.transform}, {self.baseline}): {len(self)} steps up to radius "
            f"{self.radii.max():.4g}, best {self.radius:.4g} with {self.metric} {self.error:.4g}"
        )


class Walk(NamedTuple):
    """A walk along the radii of one scale.

    It is cut when a limit ended the fit at the first radius. The errors are then those of an
    unfinished model, and say nothing about noise.
    """

    scale: Scale
    path: RadiusPath
    models: tuple[Model, ...]  # one per fold, at a radius that is nearly the best
    predicted: tuple[FloatArray, ...]  # predictions of held-out observations, as in ``models``
    cut: bool = False
    kriging_seconds: float = 0.0  # the most at any radius; infinite when there was no time for it
    members: int = 1  # models whose average was measured
    variance: float = 0.0  # of the error of one of them, in squared units of the error
    plain: bool = False

    @property
    def error(self) -> float:
        """Error on held-out cells at the radius to take."""
        return self.path.error

    @property
    def remainder(self) -> RemainderMethod:
        """Method for the remainder at the radius to take."""
        return RemainderMethod(self.path.remainder)

    @property
    def seconds_per_fold(self) -> float:
        """Seconds that one fold took up to the radius to take."""
        return float(self.path.seconds[self.path.best]) / len(self.models)


class _Progression:
    """The radii of a walk so far: their errors, the best models, and whether to go on."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.models: tuple[Model, ...] = ()
        self.predicted: tuple[FloatArray, ...] = ()
        self.cut = False
        self.kriging_seconds = 0.0
        self.least = self._error_of_models = math.inf
        self._n_without_gain = 0

    def add(self, radius: float, steps: Sequence[Step]) -> bool:
        """Add the steps of all folds at a radius; return whether a larger radius may help."""
        cut = any(step.cut for step in steps)
        if self.rows and cut:
            return False  # cut off half-way, so not comparable with the others
        self.cut = cut
        self.kriging_seconds = max(self.kriging_seconds, *(step.kriging_seconds for step in steps))
        error = float(np.mean([step.error for step in steps]))
        self.rows.append(
            {
                "radii": radius,
                "errors": error,
                "objectives": np.mean([step.objective for step in steps]),
                "boxes": np.mean([len(step.model) for step in steps]),
                "noise": np.mean([step.noise for step in steps]),
                "seconds": max(step.seconds for step in steps),
                "kriged": np.mean([step.kriged for step in steps]) > 0.5,
                **dict.fromkeys(GRADED_COLUMNS, 0.0),
            }
        )
        better = error < (1.0 - MIN_GAIN) * self.least
        self._n_without_gain = 0 if better else self._n_without_gain + 1
        if not self.models or error < (1.0 - NEARLY_BEST) * self._error_of_models:
            self.models, self._error_of_models = tuple(step.model for step in steps), error
            self.predicted = tuple(step.predicted for step in steps)
        self.least = min(self.least, error)
        clearly_worse = error > (1.0 + CLEARLY_WORSE) * self.least
        enough = self._n_without_gain >= MAX_RADII_WITHOUT_GAIN - clearly_worse
        return not cut and not enough and any(step.binds for step in steps)


def walk(
    folds: Folds,
    *,
    budget: Budget,
    callback: Callback,
    one_radius: bool = False,
    hopeless_error: float = math.inf,
) -> Walk:
    """Walk up the radii until held-out cells are predicted no better.

    With ``one_radius``, a single radius is tried if the remainder is kriged: that is enough to
    compare scales. A walk also ends when, after a few radii, every error is above
    ``hopeless_error``. The callback ends a solve when it returns False.
    """
    progression = _Progression()
    for radius, steps in _take_steps(folds, _grow_radii(folds, one_radius), budget, callback):
        if not progression.add(radius, steps) or (budget.spent and not folds.knows_next_step):
            break
        if len(progression.rows) >= HOPEFUL_RADII and progression.least > hopeless_error:
            break
    return Walk(
        folds.scale,
        make_path(folds, progression.rows),
        progression.models,
        progression.predicted,
        progression.cut,
        progression.kriging_seconds,
    )


def make_path(folds: Folds, rows: Sequence[Mapping[str, Any]]) -> RadiusPath:
    """Return the path of the scale of some folds from its steps, each a value per column."""
    columns: dict[str, Any] = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    return RadiusPath(
        transform=folds.scale.transform.name,
        baseline="additive" if folds.scale.additive else "none",
        metric=folds.options.scoring.name,
        **columns,
    )


def _take_steps(
    folds: Folds, radii: Iterator[float], budget: Budget, callback: Callback
) -> Iterator[tuple[float, Sequence[Step]]]:
    """Yield every radius with the steps of all folds, several radii at a time on a cluster."""
    while some := list(itertools.islice(radii, folds.ahead)):
        requests = [Request(radius) for radius in some]
        yield from zip(some, folds.take(requests, budget, callback), strict=True)


def _grow_radii(folds: Folds, one_radius: bool) -> Iterator[float]:
    """Yield the radius that is given, or growing ones from the largest fitted value."""
    options, radius = folds.options, folds.largest_value
    if options.radius is not None:
        yield options.radius
    elif folds.may_krige and one_radius:
        yield min(SCOUTED_RADIUS_RATIO * radius, LARGEST_MAGNITUDE)
    else:
        ratio = KRIGED_RADIUS_RATIO if folds.may_krige else RADIUS_RATIO
        for _ in range(options.n_radii):
            yield radius
            if radius >= LARGEST_MAGNITUDE:
                break
            radius = min(radius * ratio, LARGEST_MAGNITUDE)


def approach(
    folds: Folds, path: RadiusPath, *, budget: Budget, callback: Callback
) -> tuple[tuple[float, float], ...]:
    """Fit at the radius of a path ever more closely, and measure how well each fit predicts.

    On noisy data a fit can be too close: the last boxes follow the noise. So the gap at which to
    stop is chosen on held-out cells, as the radius is.

    This returns pairs of a gap, in the fitted scale, and the error on held-out cells, mean of the
    folds. A limit may have cut off the last fit, which is still closer than the one before. There
    is no pair when the first fit was cut off, since it says nothing then.
    """
    noise = float(path.noise[path.best])
    found: list[tuple[float, float]] = []
    for share in GAP_SHARES:
        request = Request(path.radius, gap=share * noise)
        (steps,) = folds.take([request], budget, callback)
        cut = any(step.cut for step in steps)
        if cut and not found:
            break
        error = float(np.mean([step.error for step in steps]))
        found.append((share * noise, error))
        worse = error > (1.0 + CLEARLY_WORSE) * min(error for _, error in found)
        if cut or worse or (budget.spent and not folds.knows_next_step):
            break
    return tuple(found)


def read_path(saved: TreeReader, kriged_type: str) -> Tree:
    """Return the attributes of a path except ``sampled``, from a checkpoint or a model file."""
    radii = saved.finite_array("radii", (None,), largest=MAX_MAGNITUDE)
    if not (radii.size and (radii > 0.0).all()):
        raise saved.damaged(f"{saved.prefix}radii are not all positive, or there are none")
    return {
        **{name: saved.text(name) for name in PATH_TEXTS},
        **{name: saved.array(name, "<f8", radii.shape) for name in PATH_COLUMNS},
        **{name: _read_graded(saved, name, radii.shape) for name in GRADED_COLUMNS},
        "kriged": saved.array("kriged", kriged_type, radii.shape) > 0,
    }


def _read_graded(saved: TreeReader, name: str, shape: Shape) -> FloatArray:
    """Return a column of graded components, which paths of boxes need not have."""
    if name not in saved:
        return np.zeros(shape)
    if name not in ("limits", "sweeps", "rounds"):
        return saved.array(name, "<f8", shape)
    counts: FloatArray = saved.finite_array(name, shape, largest=MAX_MAGNITUDE)
    if (counts < 0.0).any():
        raise saved.damaged(f"{saved.prefix}{name} has numbers below 0")
    return counts


def capture_walk(found: Walk) -> Tree:
    """Return a walk as a tree."""
    return {
        **capture_fields(found.path, (*PATH_TEXTS, *PATH_COLUMNS, *GRADED_COLUMNS)),
        **capture_fields(found, WALK_FIELDS),
        "kriged": np.asarray(found.path.kriged, dtype=np.uint8),
        "models": [capture_model(model) for model in found.models],
        "predicted": [{"values": values} for values in found.predicted],
    }


def restore_walk(saved: TreeReader, scale: Scale, shape: Shape) -> Walk:
    """Return a walk of a scale from a tree."""
    models = tuple(restore_model(model, shape) for model in saved.branches("models"))
    if not models:
        raise saved.damaged("a walk has no models")
    predicted = tuple(fold.finite_array("values", (None,)) for fold in saved.branches("predicted"))
    path = RadiusPath(**read_path(saved, "|u1"))
    return Walk(scale, path, models, predicted, **read_fields(saved, WALK_FIELDS))
