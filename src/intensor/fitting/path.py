"""The path of radii: one warm engine per fold, a growing radius, an error on held-out cells."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from intensor.arrays import AnyArray, FloatArray
from intensor.budget import Budget
from intensor.fitting.kriging import can_krige, krige
from intensor.fitting.metrics import measure
from intensor.fitting.options import Options, Scale
from intensor.fitting.preparation import Prepared, prepare
from intensor.fitting.samples import Samples, sample
from intensor.model.model import Model
from intensor.model.predictor import Predictor
from intensor.oracles.cascade import NoSearch
from intensor.solver.fast import UNPROVABLE, FastEngine
from intensor.solver.loop import drive
from intensor.solver.result import Progress
from intensor.solver.settings import Settings

__all__ = ["CLOSER", "NEARLY", "RadiusPath", "approach", "walk"]

RATIO = 2.0**0.25
"""From one radius to the next."""
ROUGH = 0.5
"""A radius is left when the best new vertex is estimated to gain less than this share of the
error: enough to compare radii by what they predict."""
NOISE = 0.25
"""Nor is a gain worth the work below this share of the error on held-out cells: once noise is
fitted, the training error alone would ask for more and more."""
LOOSER = 4.0
"""Times that this share is when the remainder is kriged: boxes then only have to tell which
indices are alike."""
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
BOXED = 1 << 16
"""Observations that boxes are fitted to on a path whose remainder is kriged; all are kriged."""
SLACK = 1e-3
"""Share of the radius that must stay unused for it to bind no longer."""
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


class _Fold:
    """One training part with an engine that walks along, and its held-out cells."""

    def __init__(
        self,
        training: Samples,
        held: Samples,
        scale: Scale,
        options: Options,
        start: Model | None = None,
    ) -> None:
        self.held = held
        self._start = start
        self.prepared = prepare(training, scale)
        self._options = options
        self._engine: FastEngine | None = None
        self._remainder = _remainder(options, self.prepared)
        self._boxed = self.prepared
        if self._remainder != "none" and len(training) > BOXED:
            self._boxed = prepare(sample(training, BOXED, seed=options.solver.seed), scale)
        self.model: Model | None = None
        self.objective = self.noise = 0.0
        self.kriged = self._scored = False

    def walk_to(self, radius: float, budget: Budget, watch: Callable[[Progress], bool]) -> float:
        """Fit at a radius, roughly, and return the error on the held-out cells."""
        settings = self._settings(radius)
        loose = 1.0 if self._remainder == "none" else LOOSER
        return self._improve(settings, ROUGH, loose * NOISE * self.noise, budget, watch)

    def approach(
        self, radius: float, gap: float, budget: Budget, watch: Callable[[Progress], bool]
    ) -> float:
        """Fit at a radius with a gap as the tolerance; return the held-out error."""
        settings = replace(self._settings(radius), tol=gap, rtol=0.0)
        return self._improve(settings, 0.0, UNPROVABLE * gap, budget, watch)

    def _settings(self, radius: float) -> Settings:
        signed = self.prepared.signed
        return replace(self._options.solver, radius=radius, signed=signed, max_iterations=None)

    def _improve(
        self,
        settings: Settings,
        share: float,
        gap: float,
        budget: Budget,
        watch: Callable[[Progress], bool],
    ) -> float:
        """Go on until a vertex gains less than a share of the error, or less than a gap."""
        observations = self._boxed.observations
        if self._engine is None:
            exact = NoSearch(observations)
            self._engine = FastEngine(observations, exact=exact, settings=settings)
            if self._start is not None:
                start = self._start
                self._engine.start_from(start.vertices.flags(), np.sign(start.weights))
        else:
            self._engine.rescale(settings)

        def go_on(progress: Progress) -> bool:
            small = max(share * (progress.objective - observations.within), gap)
            enough = progress.step == "separation" and progress.pricing_gap <= small
            return watch(progress) and not enough

        result = drive(
            self._engine,
            observations,
            version="fast",
            settings=settings,
            budget=budget,
            callback=go_on,
        )
        self.model, self.objective = result.model, result.objective
        error, self.noise = self._score(self._boxed.predictor(self.model))
        self.kriged = False
        if self._remainder != "none" and not (budget.spent and self._scored):
            remainder = krige(
                self.prepared.observations,
                self.model,
                budget=budget,
                seed=settings.seed,
                rough=True,
            )
            kriged, _ = self._score(self.prepared.predictor(self.model, remainder))
            if kriged < error or self._remainder == "kriging":
                self.kriged, error = True, kriged
        self._scored = True
        return error

    def _score(self, predictor: Predictor) -> tuple[float, float]:
        """Return the held-out error, and the mean squared one in the fitted scale."""
        fitted = predictor.fitted(self.held.coords, unseen="mean")
        apart = fitted - predictor.transform.apply(self.held.values)
        noise = float(np.average(apart**2, weights=self.held.weights))
        predicted = predictor.transform.undo(fitted)
        error = measure(self._options.metric, self.held.values, predicted, self.held.weights)
        return error, noise

    @property
    def binds(self) -> bool:
        """Whether a larger radius could change the fit."""
        model = self.model
        if model is None or self._remainder != "none":  # what is left unused says nothing then
            return True
        return float(np.abs(model.weights).sum()) > (1.0 - SLACK) * model.radius

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()


def walk(
    pairs: Sequence[tuple[Samples, Samples]],
    scale: Scale,
    options: Options,
    *,
    budget: Budget,
    watch: Callable[[str, Progress], bool],
    scouting: bool = False,
) -> tuple[RadiusPath, tuple[Model, ...]]:
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

    Returns
    -------
    The path, and the models of the folds at a radius that is about the best.
    """
    with _open_folds(pairs, scale, options) as folds:
        rows: list[tuple[float, ...]] = []
        least, since = math.inf, 0
        best: tuple[Model, ...] = ()
        taken = math.inf
        for place, radius in enumerate(_radii(folds, options, scouting)):
            watch_here = partial(watch, f"radius {radius:.4g}")
            errors = [fold.walk_to(radius, budget, watch_here) for fold in folds]
            if budget.spent and place:
                break  # cut off half-way: not comparable with the others
            error = float(np.mean(errors))
            rows.append(
                (
                    radius,
                    error,
                    float(np.mean([fold.objective for fold in folds])),
                    float(np.mean([len(fold.model or ()) for fold in folds])),
                    float(np.mean([fold.noise for fold in folds])),
                    budget.elapsed,
                    float(np.mean([fold.kriged for fold in folds])),
                )
            )
            since = 0 if error < (1.0 - WORTH) * least else since + 1
            if not best or error < (1.0 - NEARLY) * taken:
                best, taken = tuple(fold.model for fold in folds if fold.model is not None), error
            least = min(least, error)
            enough = since >= PATIENCE - (error > (1.0 + WORSE) * least)
            if budget.spent or enough or not any(fold.binds for fold in folds):
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
    return path, best


def approach(
    pairs: Sequence[tuple[Samples, Samples]],
    scale: Scale,
    options: Options,
    path: RadiusPath,
    models: Sequence[Model],
    *,
    budget: Budget,
    watch: Callable[[str, Progress], bool],
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
    Pairs of a gap, in the fitted scale, and the error on held-out cells, mean of the folds.
    """
    noise, radius = float(path.noise[path.best]), path.radius
    options = replace(options, remainder=path.remainder)
    steps: list[tuple[float, float]] = []
    starts = models if path.remainder != "none" else ()
    with _open_folds(pairs, scale, options, starts) as folds:
        for share in CLOSER:
            watch_here = partial(watch, f"gap {share * noise:.3g}")
            errors = [fold.approach(radius, share * noise, budget, watch_here) for fold in folds]
            if budget.spent and steps:
                break
            steps.append((share * noise, float(np.mean(errors))))
            if budget.spent or steps[-1][1] > (1.0 + WORSE) * min(error for _, error in steps):
                break
    return tuple(steps)


@contextlib.contextmanager
def _open_folds(
    pairs: Sequence[tuple[Samples, Samples]],
    scale: Scale,
    options: Options,
    starts: Sequence[Model] = (),
) -> Iterator[list[_Fold]]:
    """Make a fold of every pair, and close their engines in the end."""
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(contextlib.closing(_Fold(training, held, scale, options, start)))
            for (training, held), start in itertools.zip_longest(pairs, starts)
        ]


def _radii(folds: Sequence[_Fold], options: Options, scouting: bool) -> Iterator[float]:
    """Yield the radius that is given, or growing ones from the largest fitted value."""
    if options.radius is not None:
        yield options.radius
        return
    radius = max(fold.prepared.largest for fold in folds)
    ratio = RATIO
    if any(_remainder(options, fold.prepared) != "none" for fold in folds):
        ratio = STRIDE
        if scouting:
            yield SCOUT * radius
            return
    for _ in range(options.most_radii):
        yield radius
        radius *= ratio


def _remainder(options: Options, prepared: Prepared) -> str:
    """Return what may be done with the remainder: kriging needs a tensor that is small."""
    return options.remainder if can_krige(prepared.observations) else "none"
