"""One fold of a validation: an engine that goes from step to step, and held-out cells."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from intensor._arrays import FloatArray, Shape
from intensor.fitting.kriging import can_krige, krige
from intensor.fitting.options import Options, RemainderMethod, Scale
from intensor.fitting.preparation import Split, prepare, thinned
from intensor.fitting.samples import sample
from intensor.model.model import Model
from intensor.model.predictor import Predictor
from intensor.options.unseen import Unseen
from intensor.oracles.cascade import FreeBoundOracle
from intensor.runtime.budget import Budget
from intensor.solver.fast.corrective import ADMISSION_SHARE_WITHOUT_PROOF
from intensor.solver.fast.engine import FastEngine
from intensor.solver.loop import Callback, drive
from intensor.solver.result import Progress
from intensor.solver.settings import Settings
from intensor.solver.snapshot import (
    capture_fields,
    capture_model,
    capture_trace,
    restore_model,
    restore_trace,
)
from intensor.solver.variants import FAST
from intensor.storage.reader import Getter, Tree, TreeReader, read_fields

MIN_UNUSED_RADIUS = 1e-3
"""A radius no longer binds when at least this share of it is unused."""
STEP_FIELDS: dict[str, Getter] = {
    **dict.fromkeys(
        ("error", "average_error", "single_error", "objective", "noise", "kriging_seconds"),
        TreeReader.number,
    ),
    **dict.fromkeys(("kriged", "binds"), TreeReader.flag),
    "seconds": TreeReader.finite,
}


FIRST_SWEEPS = 8
"""Sweeps at the largest number of graded components: enough to compare numbers and radii."""


class Request(NamedTuple):
    """A request to a fold: a rough fit at a radius, or a fit with a gap as its tolerance."""

    radius: float
    gap: float | None = None
    max_components: int | None = None  # largest number of graded components; None for boxes
    sweeps: int = FIRST_SWEEPS  # most sweeps over all graded components
    keep: bool = False  # whether to keep the components of the last step, as the best so far
    from_kept: bool = False  # whether to begin with the components that were kept
    kriged: bool = True  # whether to see what kriging adds, where it is possible
    rounds: int = 0  # rounds in which kriging improves covariances

    @property
    def stage(self) -> str:
        """Name of a solve for this request in reports of progress."""
        if self.max_components is not None:
            return f"radius {self.radius:.4g}, {self.max_components} components"
        return f"radius {self.radius:.4g}" if self.gap is None else f"gap {self.gap:.3g}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FoldSpec:
    """Everything that a fold is made of."""

    split: Split
    scale: Scale
    options: Options
    remainder: RemainderMethod  # used if the tensor is small enough to be kriged
    start: Model | None = None  # the fold begins with the vertices of this model

    @property
    def largest_value(self) -> float:
        """Largest size of a training value in the fitted scale."""
        return self.split.prepared(self.scale).largest_value

    @property
    def may_krige(self) -> bool:
        """Whether the remainder may be kriged, which needs a small tensor."""
        return self.remainder is not RemainderMethod.NONE and can_krige(self.split.training)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Step:
    """The answer of one fold to one request."""

    error: float  # on the held-out cells, in the units of the data
    average_error: float  # the same without kriging
    single_error: float  # the same of a single graded model, on average; of the model for boxes
    objective: float  # mean squared error on the training cells, in the fitted scale
    noise: float  # mean squared error on the held-out cells, in the fitted scale
    kriged: bool  # whether the error includes the kriged remainder
    binds: bool  # whether a larger radius could change the fit
    model: Model
    predicted: (
        FloatArray  # predictions of held-out observations (``thinned``), in units of the data
    )
    progress: Progress | None  # the last one of the solver; None when it made no iteration
    cut: bool  # whether a limit may have ended the step early: it does not compare with others
    seconds: float  # of the budget that were used when the step ended
    kriging_seconds: float  # infinite when there was no time for kriging


def capture_step(step: Step) -> Tree:
    """Return a step as a tree."""
    return {
        **capture_fields(step, STEP_FIELDS),
        "model": capture_model(step.model),
        "predicted": step.predicted,
        "progress": capture_trace(() if step.progress is None else (step.progress,)),
    }


def restore_step(saved: TreeReader, shape: Shape) -> Step:
    """Return a step from a tree; only steps that no limit cut off are saved."""
    rows = restore_trace(saved.branch("progress"))
    return Step(
        **read_fields(saved, STEP_FIELDS),
        model=restore_model(saved.branch("model"), shape),
        predicted=saved.finite_array("predicted", (None,)),
        progress=rows[-1] if rows else None,
        cut=False,
    )


class Fold:
    """An engine on the training part of a split that goes on from each step to the next."""

    def __init__(self, spec: FoldSpec) -> None:
        self._spec = spec
        self._may_krige = spec.may_krige
        self._prepared = self._boxed = spec.split.prepared(spec.scale)
        training, most = spec.split.training, spec.options.effort.max_boxed_rows
        if self._may_krige and len(training) > most:
            some = sample(training, most, seed=spec.options.solver.seed)
            self._boxed = prepare(some, spec.scale)
        self._engine: FastEngine | None = None
        self._noise = 0.0

    def step(self, request: Request, budget: Budget, callback: Callback) -> Step:
        """Fit the training part and measure the error on the held-out cells."""
        effort, settings = self._spec.options.effort, self._settings(request.radius)
        if request.gap is None:
            ratio = effort.kriging_gap_ratio if self._may_krige else 1.0
            share, gap = effort.training_gap, ratio * effort.held_out_gap * self._noise
        else:
            settings = replace(settings, tol=request.gap, rtol=0.0)
            share, gap = 0.0, ADMISSION_SHARE_WITHOUT_PROOF * request.gap
        engine = self._engine_at(settings, budget)
        observations = self._boxed.observations
        last: Progress | None = None

        def go_on(progress: Progress) -> bool:
            nonlocal last
            last = progress
            small = max(share * (progress.objective - observations.within), gap)
            enough = progress.step == "separation" and progress.pricing_gap <= small
            return callback(progress) is not False and not enough

        result = drive(
            engine, observations, version=FAST, settings=settings, budget=budget, callback=go_on
        )
        return self._measure(result.model, result.objective, last, budget)

    def _measure(
        self,
        model: Model,
        objective: float,
        progress: Progress | None,
        budget: Budget,
        *,
        krige_too: bool = True,
        rounds: int = 0,
    ) -> Step:
        """Return the step that ends with a model, with its remainder kriged if that is better."""
        error, self._noise, predicted = self._score(self._boxed.predictor(model))
        unkriged = error
        kriged, kriging_seconds = False, 0.0
        if self._may_krige and krige_too:
            started, solver = budget.elapsed, self._spec.options.solver
            remainder = krige(
                self._prepared.observations,
                model,
                budget=budget,
                threads=solver.threads,
                seed=solver.seed,
                rounds=rounds,
                rough=True,
            )
            kriging_seconds = math.inf if remainder is None else budget.elapsed - started
            if remainder is not None:
                other, _, kriged_too = self._score(self._prepared.predictor(model, remainder))
                if other < error or self._spec.remainder is RemainderMethod.KRIGING:
                    kriged, error, predicted = True, other, kriged_too
        used = float(np.abs(model.weights).sum())
        return Step(
            error=error,
            average_error=unkriged,
            single_error=unkriged,
            objective=objective,
            noise=self._noise,
            kriged=kriged,
            # with a kriged remainder, an unused part of the radius says nothing
            binds=self._may_krige or used > (1.0 - MIN_UNUSED_RADIUS) * model.radius,
            model=model,
            predicted=thinned(predicted),
            progress=progress,
            cut=budget.spent,
            seconds=budget.elapsed,
            kriging_seconds=kriging_seconds,
        )

    def _settings(self, radius: float) -> Settings:
        signed, solver = self._prepared.signed, self._spec.options.solver
        return replace(solver, radius=radius, signed=signed, max_iterations=None)

    def _engine_at(self, settings: Settings, budget: Budget) -> FastEngine:
        """Return the engine at the radius of the settings; the first call makes it."""
        if self._engine is not None:
            self._engine.rescale(settings)
        else:
            self._engine = self._new_engine(settings)
            if self._spec.start is not None:
                self._engine.start_from(self._spec.start, budget)
        return self._engine

    def _new_engine(self, settings: Settings) -> FastEngine:
        observations = self._boxed.observations
        return FastEngine(observations, exact=FreeBoundOracle(observations), settings=settings)

    def _score(self, predictor: Predictor) -> tuple[float, float, FloatArray]:
        """Return the error on the held-out cells, the mean squared one in the fitted scale, and the
        predictions.
        """
        held = self._spec.split.held
        fitted = predictor.fitted(held.coords, unseen=Unseen.MEAN)
        apart = fitted - predictor.transform.apply(held.values)
        noise = float(np.average(apart**2, weights=held.weights))
        predicted = predictor.transform.undo(fitted)
        error = self._spec.options.scoring.measure(held.values, predicted, held.weights)
        return error, noise, predicted

    def capture(self) -> Tree:
        """Return the state of the fold after a step."""
        return {
            "engine": None if self._engine is None else self._engine.capture(),
            "noise": self._noise,
        }

    def restore(self, saved: TreeReader) -> None:
        """Take over the state of another fold of the same spec, before the first step."""
        engine = saved.branch("engine")
        radii = engine.finite_array("radii", (None,))
        if not radii.size or radii.min() <= 0.0:
            raise saved.damaged("a fold has no radius")
        self._engine = self._new_engine(self._settings(float(radii[0])))
        self._engine.restore(engine)
        self._noise = saved.finite("noise")

    def close(self) -> None:
        """Let go of the engine."""
        if self._engine is not None:
            self._engine.close()
