"""One fold of a validation: an engine that walks along the radii, and held-out cells."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from intensor._arrays import Shape
from intensor.fitting.kriging import can_krige, krige
from intensor.fitting.metrics import measure
from intensor.fitting.options import Options, Scale
from intensor.fitting.preparation import Prepared, prepare
from intensor.fitting.samples import Samples, sample
from intensor.model.model import Model
from intensor.model.predictor import Predictor
from intensor.oracles.cascade import FreeBoundOracle
from intensor.runtime.budget import Budget
from intensor.solver.fast.corrective import ADMISSION_SHARE_WITHOUT_PROOF
from intensor.solver.fast.engine import FastEngine
from intensor.solver.loop import drive
from intensor.solver.result import Progress
from intensor.solver.settings import Settings
from intensor.solver.snapshot import capture_model, capture_trace, restore_model, restore_trace
from intensor.solver.variants import FAST
from intensor.storage.codec import Branch, Tree

__all__ = ["BOXED", "Fold", "Step", "capture_step", "remainder_of", "restore_step"]

ROUGH = 0.5
"""A radius is left when the best new vertex is estimated to gain less than this share of the
error: enough to compare radii by what they predict."""
NOISE = 0.25
"""Nor is a gain worth the work below this share of the error on held-out cells: once noise is
fitted, the training error alone would ask for more and more."""
LOOSER = 4.0
"""Times that this share is when the remainder is kriged: boxes then only have to tell which
indices are alike."""
BOXED = 1 << 16
"""Observations that boxes are fitted to on a path whose remainder is kriged; all are kriged."""
SLACK = 1e-3
"""Share of the radius that must stay unused for it to bind no longer."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Step:
    """What a fold came to.

    Attributes
    ----------
    error
        On the held-out cells, in the units of the data.
    objective, noise
        Mean squared error in the fitted scale, on the training and on the held-out cells.
    kriged
        Whether the error is that with the remainder kriged.
    binds
        Whether a larger radius could change the fit.
    model
        The boxes.
    progress
        Of the solver in the end.
    cut
        Whether a limit may have ended it: it does not compare with others then.
    seconds
        Of its budget, in the end.
    kriging_seconds
        How many of them kriging took; infinite when there was no time for it.
    """

    error: float
    objective: float
    noise: float
    kriged: bool
    binds: bool
    model: Model
    progress: Progress | None
    cut: bool
    seconds: float
    kriging_seconds: float = 0.0


def capture_step(step: Step) -> Tree:
    """Return a step as a tree."""
    return {
        "error": step.error,
        "objective": step.objective,
        "noise": step.noise,
        "kriged": bool(step.kriged),
        "binds": bool(step.binds),
        "model": capture_model(step.model),
        "progress": capture_trace(() if step.progress is None else (step.progress,)),
        "seconds": step.seconds,
        "kriging_seconds": step.kriging_seconds,
    }


def restore_step(saved: Branch, shape: Shape) -> Step:
    """Return a step that came to its own end again."""
    rows = restore_trace(saved.branch("progress"))
    return Step(
        error=saved.number("error"),
        objective=saved.number("objective"),
        noise=saved.number("noise"),
        kriged=saved.flag("kriged"),
        binds=saved.flag("binds"),
        model=restore_model(saved.branch("model"), shape),
        progress=rows[-1] if rows else None,
        cut=False,
        seconds=saved.finite("seconds"),
        kriging_seconds=saved.number("kriging_seconds") if "kriging_seconds" in saved else 0.0,
    )


class Fold:
    """One training part with an engine that walks along, and its held-out cells."""

    def __init__(
        self,
        training: Samples,
        held: Samples,
        scale: Scale,
        options: Options,
        start: Model | None = None,
    ) -> None:
        self._held = held
        self._start = start
        self.prepared = prepare(training, scale)
        self._options = options
        self._engine: FastEngine | None = None
        self._remainder = remainder_of(options, self.prepared)
        self._boxed = self.prepared
        if self._remainder != "none" and len(training) > BOXED:
            self._boxed = prepare(sample(training, BOXED, seed=options.solver.seed), scale)
        self._noise = 0.0

    def walk_to(self, radius: float, budget: Budget, watch: Callable[[Progress], bool]) -> Step:
        """Fit at a radius, roughly."""
        settings = self._settings(radius)
        loose = 1.0 if self._remainder == "none" else LOOSER
        return self._improve(settings, ROUGH, loose * NOISE * self._noise, budget, watch)

    def approach(
        self, radius: float, gap: float, budget: Budget, watch: Callable[[Progress], bool]
    ) -> Step:
        """Fit at a radius with a gap as the tolerance."""
        settings = replace(self._settings(radius), tol=gap, rtol=0.0)
        return self._improve(settings, 0.0, ADMISSION_SHARE_WITHOUT_PROOF * gap, budget, watch)

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
    ) -> Step:
        """Go on until a vertex gains less than a share of the error, or less than a gap."""
        observations = self._boxed.observations
        if self._engine is None:
            exact = FreeBoundOracle(observations)
            self._engine = FastEngine(observations, exact=exact, settings=settings)
            if self._start is not None:
                self._engine.start_from(self._start, budget)
        else:
            self._engine.rescale(settings)

        last: Progress | None = None

        def go_on(progress: Progress) -> bool:
            nonlocal last
            last = progress
            small = max(share * (progress.objective - observations.within), gap)
            enough = progress.step == "separation" and progress.pricing_gap <= small
            return watch(progress) and not enough

        result = drive(
            self._engine,
            observations,
            version=FAST,
            settings=settings,
            budget=budget,
            callback=go_on,
        )
        model = result.model
        error, self._noise = self._score(self._boxed.predictor(model))
        used_kriging, started = False, budget.elapsed
        remainder = None
        if self._remainder != "none":
            remainder = krige(
                self.prepared.observations,
                model,
                budget=budget,
                threads=settings.threads,
                seed=settings.seed,
                rough=True,
            )
        kriging_seconds = budget.elapsed - started
        if remainder is None:
            kriging_seconds = 0.0 if self._remainder == "none" else math.inf
        else:
            kriged, _ = self._score(self.prepared.predictor(model, remainder))
            if kriged < error or self._remainder == "kriging":
                used_kriging, error = True, kriged
        return Step(
            error=error,
            objective=result.objective,
            noise=self._noise,
            kriged=used_kriging,
            binds=self._binds(model),
            model=model,
            progress=last,
            cut=budget.spent,
            seconds=budget.elapsed,
            kriging_seconds=kriging_seconds,
        )

    def _score(self, predictor: Predictor) -> tuple[float, float]:
        """Return the held-out error, and the mean squared one in the fitted scale."""
        fitted = predictor.fitted(self._held.coords, unseen="mean")
        apart = fitted - predictor.transform.apply(self._held.values)
        noise = float(np.average(apart**2, weights=self._held.weights))
        predicted = predictor.transform.undo(fitted)
        error = measure(self._options.metric, self._held.values, predicted, self._held.weights)
        return error, noise

    def _binds(self, model: Model) -> bool:
        """Whether a larger radius could change the fit."""
        if self._remainder != "none":  # what is left unused says nothing then
            return True
        return float(np.abs(model.weights).sum()) > (1.0 - SLACK) * model.radius

    def capture(self) -> Tree:
        """Return where the fold stands, after a step."""
        return {
            "engine": None if self._engine is None else self._engine.capture(),
            "noise": self._noise,
        }

    def restore(self, saved: Branch) -> None:
        """Go on from where another fold of the same parts stood, in the place of a first step."""
        engine = saved.branch("engine")
        radii = engine.finite_array("radii", (None,))
        if not radii.size or radii.min() <= 0.0:
            raise saved.damaged("a fold has no radius")
        observations, exact = self._boxed.observations, FreeBoundOracle(self._boxed.observations)
        settings = self._settings(float(radii[0]))
        self._engine = FastEngine(observations, exact=exact, settings=settings)
        self._engine.restore(engine)
        self._noise = saved.finite("noise")

    def close(self) -> None:
        """Let go of the engine."""
        if self._engine is not None:
            self._engine.close()


def remainder_of(options: Options, prepared: Prepared) -> str:
    """Return what may be done with the remainder: kriging needs a tensor that is small."""
    return options.remainder if can_krige(prepared.observations) else "none"
