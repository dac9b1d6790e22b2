"""A fold whose models are graded: several engines from different seeds, measured as their average.

Away from the observed cells graded models from different starts differ, and their average predicts
far better than any of them. So a step measures the average of a few, and the mean error of one: the
two together tell what the average of more would have (``error_of_average``).
"""

from __future__ import annotations

import contextlib
import math
import threading
from dataclasses import replace

import numpy as np

from intensor.fitting.fold import FIRST_SWEEPS, Fold, FoldSpec, Request, Step
from intensor.model.arithmetic import average_models
from intensor.model.model import Model
from intensor.oracles.cascade import FreeBoundOracle
from intensor.runtime.budget import Budget
from intensor.runtime.threads import Workers
from intensor.solver.finish import mean_squared_error
from intensor.solver.graded.engine import Graded, GradedEngine
from intensor.solver.loop import Callback, drive
from intensor.solver.result import Progress
from intensor.solver.settings import Settings
from intensor.storage.reader import Tree, TreeReader

LEAST_SHARED_PART = 0.7
"""Least part of the squared error of an average of a few models that more models would keep."""
GRADED_RTOL = 1e-6
"""Relative gap of graded fits: what ends them is the number of components."""


def make_fold(spec: FoldSpec) -> Fold:
    """Return a fold for the kind of terms that a spec asks for."""
    return GradedFold(spec) if spec.scale.graded else Fold(spec)


def graded_version(max_components: int, max_sweeps: int) -> Graded:
    """Return the version by which graded models are fitted."""
    return Graded(name="graded", max_components=max_components, max_sweeps=max_sweeps)


def graded_settings(settings: Settings) -> Settings:
    """Return the settings of a graded fit: other limits end it than the gap."""
    return replace(settings, rtol=min(settings.rtol, GRADED_RTOL), max_iterations=None)


def error_of_average(single: float, averaged: float, members: int, count: int) -> float:
    """Return the error that the average of ``count`` models is expected to have.

    The squared error of an average of k independent models is a part that they share plus the
    variance of one over k. Both follow from the error of one and of the average of some.
    """
    if members == 1:
        return averaged
    shared, variance = split_error(single, averaged, members)
    return math.sqrt(shared + variance / count)


def enough_members(single: float, averaged: float, members: int, most: int, *, share: float) -> int:
    """Return how many models to average, at most ``most``.

    With more of them, the squared error would fall by less than the given share.
    """
    if members == 1:
        return 1
    shared, variance = split_error(single, averaged, members)
    if variance <= 0.0:
        return 1
    wanted = variance / (share * shared) if shared > 0.0 else math.inf
    return int(max(1, min(most, math.ceil(min(wanted, most)))))


def split_error(single: float, averaged: float, members: int) -> tuple[float, float]:
    """Return the part of the squared error that models share, and the variance of one of them.

    Errors of few members are rough, so the shared part is never taken to be below a share of the
    squared error of their average.
    """
    variance = max(0.0, (single**2 - averaged**2) / (1.0 - 1.0 / members))
    variance = min(variance, members * (1.0 - LEAST_SHARED_PART) * averaged**2)
    return averaged**2 - variance / members, variance


class GradedFold(Fold):
    """Engines from different seeds on the training part of a split."""

    def __init__(self, spec: FoldSpec) -> None:
        super().__init__(spec)
        self._boxed = self._prepared  # graded models are quick enough for all observations
        self._engines: list[GradedEngine] = []
        self._kept: list[Tree] = []  # components of each member at the best step so far
        self.n_members = count_members(spec)

    def step(self, request: Request, budget: Budget, callback: Callback) -> Step:
        """Fit the training part once per member, and measure the average."""
        if request.max_components is None:
            raise ValueError("a graded fold needs a number of components")
        observations = self._prepared.observations
        settings = graded_settings(self._settings(request.radius))
        version = graded_version(request.max_components, request.sweeps)
        if request.keep:
            self._kept = [engine.position() for engine in self._engines]
        if request.from_kept:
            for engine, position in zip(self._engines, self._kept, strict=False):
                engine.go_to(TreeReader(position, "the fold"))
        last: Progress | None = None
        lock = threading.Lock()

        def note(progress: Progress) -> bool:
            nonlocal last
            with lock:
                last = progress
                return callback(progress) is not False

        found: list[Model | None] = [None] * self.n_members
        engines = [self._member(member, settings, version) for member in range(self.n_members)]

        def fit(member: int) -> None:
            if member and budget.spent:
                return
            result = drive(
                engines[member],
                observations,
                version=version,
                settings=settings,
                budget=budget,
                callback=note,
            )
            found[member] = result.model

        with contextlib.closing(Workers(settings.threads)) as workers:
            workers.run(fit, self.n_members)
        models = [model for model in found if model is not None]
        average = average_models(models)
        step = self._measure(
            average,
            mean_squared_error(average, observations, settings.threads),
            last,
            budget,
            krige_too=request.kriged,
            rounds=request.rounds,
        )
        return replace(step, single_error=self._mean_error(models))

    def _mean_error(self, models: list[Model]) -> float:
        """Return the root mean square of the errors of single models."""
        errors = [self._score(self._prepared.predictor(model))[0] for model in models]
        return float(np.sqrt(np.mean(np.square(errors))))

    def _member(self, member: int, settings: Settings, version: Graded) -> GradedEngine:
        """Return the engine of a member, ready for the settings."""
        if member < len(self._engines):
            self._engines[member].rescale(
                settings, max_components=version.max_components, max_sweeps=version.max_sweeps
            )
        else:
            self._engines.append(self._new_member(member, settings, version))
        return self._engines[member]

    def _new_member(self, member: int, settings: Settings, version: Graded) -> GradedEngine:
        observations = self._prepared.observations
        return version.engine(
            observations,
            exact=FreeBoundOracle(observations),
            settings=replace(settings, seed=settings.seed + member),
        )

    def capture(self) -> Tree:
        """Return the state of the fold after a step."""
        return {
            "members": [engine.capture() for engine in self._engines],
            "kept": self._kept,
            "noise": self._noise,
        }

    def restore(self, saved: TreeReader) -> None:
        """Take over the state of another fold of the same spec, before the first step."""
        for member, state in enumerate(saved.branches("members")):
            radii = state.finite_array("radii", (None,))
            if not radii.size or radii.min() <= 0.0:
                raise saved.damaged("a fold has no radius")
            settings = graded_settings(self._settings(float(radii[0])))
            version = graded_version(state.count("max_components", least=1), FIRST_SWEEPS)
            engine = self._new_member(member, settings, version)
            engine.restore(state)
            self._engines.append(engine)
        self._kept = [position.tree for position in saved.branches("kept")]
        self._noise = saved.finite("noise")

    def close(self) -> None:
        """Let go of the engines."""
        for engine in self._engines:
            engine.close()


def count_members(spec: FoldSpec) -> int:
    """Return how many models a graded fold averages."""
    options = spec.options
    members = options.effort.by_size(options.effort.members, len(spec.split.training))
    return members if options.n_solutions is None else min(members, options.n_solutions)
