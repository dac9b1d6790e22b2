"""Members of a fit that predict without terms: references, fitted to all observations."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from intensor.data.labels import Labels
from intensor.fitting.preparation import prepare
from intensor.fitting.record import Fit
from intensor.fitting.references import Reference, brief_budget, make_predictor
from intensor.fitting.samples import Samples
from intensor.fitting.session import Session
from intensor.model.predictor import Predictor
from intensor.runtime.budget import Budget
from intensor.solver.finish import FREE_BOUND
from intensor.solver.result import Counters, Result, Seconds, Status

MAX_REFERENCE_SHARE = 0.3
"""Largest share of the remaining time that fitting references may take."""


def fit_references(
    session: Session, references: Sequence[tuple[Reference, float]], labels: Labels
) -> list[Fit]:
    """Return a fit for every reference with a share that there is time for."""
    budget = Budget(MAX_REFERENCE_SHARE * session.budget.remaining, within=session.budget)
    solver = session.options.solver
    fits = []
    for reference, share in references:
        prepared = prepare(session.samples, reference.scale, brief_budget(budget))
        predictor = make_predictor(
            reference,
            prepared,
            budget=budget,
            threads=solver.threads,
            seed=solver.seed,
            rough=math.isfinite(budget.remaining),
        )
        if predictor is None:
            continue
        result = _result_without_terms(predictor, session.samples, prepared.observations.within)
        fits.append(
            Fit(
                predictor=predictor,
                result=result,
                labels=labels,
                n=len(session.samples),
                share=share,
            )
        )
    return fits


def _result_without_terms(predictor: Predictor, samples: Samples, within: float) -> Result:
    """Return the result of a member that has no terms, and so nothing to prove."""
    targets = predictor.residual_targets(samples.coords, samples.values)
    return Result(
        status=Status.NO_TERMS,
        objective=float(np.average(targets**2, weights=samples.weights)),
        bound=within,
        model=predictor.model,
        witness=None,
        bound_source=FREE_BOUND,
        tolerance=0.0,
        version="none",
        trace=(),
        counters=Counters(iterations=0, local_steps=0, altmin_runs=0, exact_calls=0, drops=0),
        seconds=Seconds(setup=0.0, solve=0.0),
    )
