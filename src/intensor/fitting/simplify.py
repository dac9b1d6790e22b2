"""A model with few components in the place of a fit, and what that costs on held-out cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from intensor.data.checks import check_not_tiny, check_values
from intensor.data.lookup import observed_cells
from intensor.errors import SettingError
from intensor.fitting.averaging import average_results
from intensor.fitting.holding_out import splits
from intensor.fitting.kriging import MAX_MODE_LENGTH, krige
from intensor.fitting.options import Scale
from intensor.fitting.preparation import Prepared, Split, prepare
from intensor.fitting.record import Fit, expand_fit
from intensor.fitting.samples import Samples
from intensor.fitting.scoring import RMSE, SCORINGS, Scoring
from intensor.model.model import Model, build_model, describe_terms
from intensor.model.predictor import Predictor
from intensor.options import declared
from intensor.options.ranges import HeldOut, check_at_least
from intensor.options.unseen import Unseen
from intensor.oracles.cascade import ExactChoice, find_exact
from intensor.problem.reindex import FullTensor
from intensor.problem.vertex import mode_offsets
from intensor.runtime.budget import Budget, listen_for_interrupt
from intensor.solver.engine import Version
from intensor.solver.finish import mean_squared_error
from intensor.solver.graded.engine import Graded
from intensor.solver.loop import run
from intensor.solver.result import Result, proven_status
from intensor.solver.settings import Settings
from intensor.solver.variants import FAST

FINAL_SHARE = 0.4
"""Share of the time limit for the model that is returned; the rest is for measuring errors."""
SAME_DATA = 1e-9
"""Largest relative difference between two objectives of one model on the same observations."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Simplified:
    """A fit with few components, with its error beside that of the full one.

    Attributes
    ----------
    fit
        The fit with at most as many components as asked for. It has no remainder and no validation;
        objective, bound and gap are its own.
    metric
        Name of the errors, which are in the units of the data.
    error, error_of_full
        Errors on held-out cells of a model of this size, and of one like the full fit. Both are
        fitted to the other cells. None when no cell could be held out, or time ran out.
    held_out
        Number of observations that were predicted without having been seen, in all folds together.
    """

    fit: Fit
    metric: str
    error: float | None
    error_of_full: float | None
    held_out: int

    def __repr__(self) -> str:
        terms = describe_terms(self.fit.model)
        if self.error is None or self.error_of_full is None:
            return f"<Simplified to {terms}: errors on held-out cells are not known>"
        return (
            f"<Simplified to {terms}: {self.metric} {self.error:.6g} on {self.held_out} held-out "
            f"observations, {self.error_of_full:.6g} of the full fit>"
        )


def simplify(
    fit: Fit,
    n: int,
    coords: Any,
    values: Any = None,
    *,
    sample_weight: Any = None,
    validation: Any = declared.VALIDATION.default,
    exact: str = "off",
    time_limit: float | None = declared.TIME_LIMIT.default,
    seed: int = declared.SEED.default,
    threads: int | None = declared.THREADS.default,
) -> Simplified:
    """Return a fit with at most n components; ``Fit.simplify`` describes the arguments."""
    most = check_at_least("n", n, 1, integer=True)
    held_out: HeldOut = declared.VALIDATION.check(validation)
    limit = declared.TIME_LIMIT.check(time_limit)
    work = _Simplifying(
        most=most,
        exact=find_exact(exact),
        settings=Settings(
            radius=fit.radius,
            time_limit=limit,
            seed=declared.SEED.check(seed),
            threads=declared.THREADS.check(threads),
            signed=fit.model.signed,
        ),
    )
    samples = _read_samples(fit, coords, values, sample_weight)
    if most > len(samples):
        raise SettingError(
            f"n is {most}, more than the {len(samples)} observations; expected at most one "
            "component per observation"
        )
    scoring = RMSE if fit.validation is None else SCORINGS.get(fit.validation.metric, RMSE)
    budget = Budget(limit)
    with listen_for_interrupt(budget):
        found = work.replace_model(
            fit, samples, Budget(FINAL_SHARE * budget.remaining, within=budget)
        )
        pairs = splits(samples, folds=held_out.folds, share=held_out.share, seed=work.settings.seed)
        folds = [Split(*parts) for parts in pairs]
        errors = work.measure(fit, folds, scoring, budget)
    return Simplified(
        fit=found,
        metric=scoring.name,
        error=errors[0] if errors else None,
        error_of_full=errors[1] if errors else None,
        held_out=sum(len(split.held) for split in folds) if errors else 0,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Simplifying:
    """How models are solved: their number of components and the settings of the solver."""

    most: int
    exact: ExactChoice
    settings: Settings

    def replace_model(self, fit: Fit, samples: Samples, budget: Budget) -> Fit:
        """Return the fit of all observations with few components, with the better bound."""
        prepared = prepare(samples, _scale_of(fit))
        start = _condense(fit.model, samples.full)
        result = self.solve(prepared, start, budget)
        same = _is_fitted_to(start, fit.objective, prepared)
        found = Fit(
            predictor=prepared.predictor(result.model),
            result=result,
            labels=fit.labels,
            n=len(samples),
            clip=fit.clip,
        )
        found = found if samples.full is None else expand_fit(found, samples.full)
        return _take_bound(found, fit.result, prepared) if same else found

    def measure(
        self, fit: Fit, folds: Sequence[Split], scoring: Scoring, budget: Budget
    ) -> tuple[float, float] | None:
        """Return the errors of the small and of the full model, or None if there was no time."""
        scale, errors = _scale_of(fit), []
        for number, split in enumerate(folds):
            share = Budget(budget.remaining / (len(folds) - number), within=budget)
            prepared, held = split.prepared(scale), split.held
            # The start is fitted to the training cells alone: it knows nothing of held-out ones.
            full = self._fit_like(fit, prepared, Budget(0.7 * share.remaining, within=share))
            small = prepared.predictor(self.solve(prepared, full.model, share).model)
            if budget.spent:
                return None
            predicted = [one.predict(held.coords, unseen=Unseen.MEAN) for one in (small, full)]
            errors.append([scoring.measure(held.values, one, held.weights) for one in predicted])
        if not errors:
            return None
        error, error_of_full = np.mean(errors, axis=0).tolist()
        return error, error_of_full

    def solve(self, prepared: Prepared, start: Model, budget: Budget) -> Result:
        """Return the better of two solves: from the heaviest terms of a model, and from nothing.

        The number of components makes the problem one with local minima, and neither start is
        always the better one.
        """
        version = Graded(name="graded", max_components=self.most)
        first = self._run(
            prepared, version, Budget(0.5 * budget.remaining, within=budget), start=start
        )
        if budget.spent:
            return first
        second = self._run(prepared, version, budget)
        best, other = sorted((first, second), key=lambda result: result.objective)
        if other.bound > best.bound:  # a bound is one on the problem, whoever proved it
            best = _with_bound(best, other, prepared)
        return best

    def _fit_like(self, fit: Fit, prepared: Prepared, budget: Budget) -> Predictor:
        """Fit training cells in the way of the full fit: as many solutions, and kriging."""
        version: Version = FAST
        if len(fit.model.components):
            size = math.ceil(len(fit.model) / fit.n_solutions)
            version = Graded(name="graded", max_components=size)
        results: list[Result] = []
        for seed in range(fit.n_solutions):
            if results and budget.spent:
                break
            part = Budget(budget.remaining / (fit.n_solutions - seed), within=budget)
            settings = replace(
                self.settings, tol=fit.result.tolerance, seed=self.settings.seed + seed
            )
            results.append(self._run(prepared, version, part, settings=settings))
        model = average_results(results, prepared.observations).model
        remainder = None
        if fit.predictor.remainder is not None:
            threads, seed = self.settings.threads, self.settings.seed
            remainder = krige(
                prepared.observations, model, budget=budget, threads=threads, seed=seed, rough=True
            )
        return prepared.predictor(model, remainder)

    def _run(
        self,
        prepared: Prepared,
        version: Version,
        budget: Budget,
        *,
        start: Model | None = None,
        settings: Settings | None = None,
    ) -> Result:
        chosen = self.settings if settings is None else settings
        oracle = self.exact.oracle(
            prepared.observations,
            patient=version.patient,
            threads=chosen.threads,
            time_limit=chosen.time_limit,
            device=chosen.device,
        )
        return run(
            prepared.observations,
            version=version,
            exact=oracle,
            settings=chosen,
            budget=budget,
            start=start,
        )


def _read_samples(fit: Fit, coords: Any, values: Any, sample_weight: Any) -> Samples:
    """Return checked observations in order, without unused indices if modes are long."""
    cells, numbers, weights = observed_cells(
        coords, values, fit.labels, sample_weight=sample_weight
    )
    numbers = check_values(numbers, numbers.size, allow_negative=False)
    check_not_tiny(numbers)
    samples = Samples(coords=cells, values=numbers, weights=weights, shape=fit.shape)
    if weights is not None and not weights.all():
        samples = samples.part(weights > 0.0)
    return (samples.condensed() if max(fit.shape) > MAX_MODE_LENGTH else samples).in_order()


def _scale_of(fit: Fit) -> Scale:
    """Return the transform of a fit, and whether it has a baseline."""
    predictor = fit.predictor
    return Scale(transform=predictor.transform, additive=predictor.baseline is not None)


def _condense(model: Model, full: FullTensor | None) -> Model:
    """Return a model without the indices that the observations do not have."""
    if full is None:
        return model
    starts = mode_offsets(full.shape)[:-1].tolist()
    kept = [start + used for start, used in zip(starts, full.kept, strict=True)]
    return build_model(
        np.ascontiguousarray(model.as_factors()[np.concatenate(kept)].T),
        model.weights,
        shape=full.condensed,
        radius=model.radius,
        signed=model.signed,
    )


def _is_fitted_to(model: Model, objective: float, prepared: Prepared) -> bool:
    """Say whether a model has its objective on these observations: then they are those of it."""
    found = mean_squared_error(model, prepared.observations)
    rounding = SAME_DATA * max(found, objective) + 1e-13 * prepared.observations.mean_square
    return abs(found - objective) <= rounding


def _take_bound(fit: Fit, full: Result, prepared: Prepared) -> Fit:
    """Return a fit with the bound of another result on the same problem, if that is higher."""
    if full.bound <= fit.result.bound:
        return fit
    return replace(fit, result=_with_bound(fit.result, full, prepared))


def _with_bound(result: Result, other: Result, prepared: Prepared) -> Result:
    """Return a result with the bound and the witness of another one."""
    status = proven_status(
        result.objective,
        other.bound,
        tolerance=result.tolerance,
        observations=prepared.observations,
    )
    return replace(
        result,
        status=status or result.status,
        bound=min(other.bound, result.objective),
        witness=other.witness,
        bound_source=other.bound_source,
    )
