"""The first part of a fit: choose scale, radius, remainder and tolerance on held-out cells."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from intensor.errors import ValidationWarning
from intensor.fitting.blend import Blend, Entrant, blend, rank, single
from intensor.fitting.candidates import Candidates
from intensor.fitting.combine import Choice, solve_seeds
from intensor.fitting.fold import FoldSpec
from intensor.fitting.folds import open_folds
from intensor.fitting.graded_fold import enough_members
from intensor.fitting.holding_out import find_extents, splits
from intensor.fitting.kriging import ROUNDS
from intensor.fitting.options import Options, RemainderMethod, Scale
from intensor.fitting.path import Walk, approach
from intensor.fitting.preparation import Split
from intensor.fitting.record import ReferenceError, Validation, find_tolerance
from intensor.fitting.references import (
    Kind,
    Tried,
    best_plain,
    least_error,
    try_briefly,
    try_references,
)
from intensor.fitting.scoring import Scoring
from intensor.fitting.session import Session
from intensor.model.arithmetic import average_models
from intensor.model.model import Model
from intensor.options.unseen import Unseen
from intensor.runtime.budget import Budget
from intensor.solver.graded.engine import DEFAULT_COMPONENTS

MIN_HELD_OUT = 20
"""Fewest held-out cells needed to choose the tolerance by validation, or to doubt a fit by it."""
WORTHWHILE_SHARE = 0.01
"""Share of the squared error by which more graded models must lower it to be worth their time."""
HOLDING_OUT_SHARE = 0.15
"""Share of the time that finding out which cells to hold out may take."""
TOLERANCE_SHARE, AVERAGING_SHARE = 0.4, 0.3
"""Shares of the remaining time for choosing the tolerance, and then for measuring averages."""


def choose(session: Session) -> Choice:
    """Choose everything that the options leave open, as far as there is time for it."""
    options = session.options
    if options.settled and not options.asks_for_validation:
        return _as_given(options)
    held_out = _hold_out(session)
    if not held_out:
        return _choose_without_validation(session)
    references = try_references(session, held_out)
    terms = Candidates(session, held_out, reference_error=least_error(references))
    scouted, walks = terms.walk()
    walked_folds = min(len(one.predicted) for one in walks)  # fewer if scales were only scouted
    held_out = held_out[:walked_folds]
    references = [one._replace(predicted=one.predicted[:walked_folds]) for one in references]
    found = _blend(options, walks, references, held_out)
    shares, own = found.shares[: len(walks)], found.shares[len(walks) :]
    best = int(np.argmax(shares)) if shares.any() else rank(walks, held_out, options.scoring)[0]
    walked = walks[best]
    validation = Validation(
        metric=options.scoring.name,
        folds=len(held_out),
        held_out=float(np.mean([len(split.held) for split in held_out])),
        paths=(*scouted, *(one.path for one in walks)),
        chosen=len(scouted) + best,
        error_of_mean=next(one.error for one in references if one.reference.kind is Kind.MEAN),
        blended=found.error if np.count_nonzero(found.shares) > 1 else None,
        error=found.error,
        spread=found.spread,
        references=tuple(
            ReferenceError(one.reference.name, one.error, float(share))
            for one, share in zip(references, own, strict=True)
        ),
    )
    members = sorted({best, *np.flatnonzero(shares).tolist()}, key=lambda one: -shares[one])
    approaches = {
        number: _approach(session, held_out, walks[number], f"approach of {number}")
        for number in members
    }
    validation = replace(validation, approach=approaches[best])
    validation = _measure_averaging(session, held_out, walked, validation)
    first, *others = (
        _choose_member(session, walks[number], float(shares[number]), approaches[number])
        for number in members
    )
    return replace(
        first,
        validation=validation,
        partners=tuple(others),
        references=tuple(
            (one.reference, float(share))
            for one, share in zip(references, own, strict=True)
            if share > 0.0
        ),
        fallback=best_plain(references) if options.blends else None,
    )


def _as_given(options: Options) -> Choice:
    """Return the first of everything that the options leave open."""
    kriging, scale = RemainderMethod.KRIGING, options.scales[0]
    size = options.max_components or DEFAULT_COMPONENTS
    return Choice(
        scale=scale,
        radius=options.radius,
        remainder=kriging if options.remainder is kriging else RemainderMethod.NONE,
        max_components=size if scale.graded else None,
        n_solutions=options.n_solutions,
    )


def _choose_without_validation(session: Session) -> Choice:
    """Choose the mean or main effects if there is no time for terms; warn in any case."""
    choice, options = _as_given(session.options), session.options
    if session.samples.n_cells == 1:
        _warn_not_validated("all observations are of one cell, so that no cell can be held out")
        return choice
    brief = try_briefly(session) if options.blends else None
    used = "terms that were fitted in no time" if brief is None else f"the {brief.reference.name}"
    limit = options.solver.time_limit
    within = "the fit was stopped" if limit is None else f"time_limit={limit:g} had passed"
    _warn_not_validated(
        f"{within} before any cell could be held out (reading and sorting the data counts too); "
        f"the prediction is that of {used}, so allow more time"
    )
    if brief is None:
        return choice
    return replace(choice, share=0.0, references=((brief.reference, 1.0),))


def _warn_not_validated(reason: str) -> None:
    warnings.warn(f"the fit could not be validated: {reason}", ValidationWarning, stacklevel=5)


def _choose_member(
    session: Session, walked: Walk, share: float, approach: Sequence[tuple[float, float]]
) -> Choice:
    """Return how to fit the scale of a walk to all observations."""
    path, kriging = walked.path, RemainderMethod.KRIGING
    asked = session.options.remainder is kriging
    return Choice(
        scale=walked.scale,
        radius=path.radius,
        max_components=path.max_components,
        sweeps=int(path.sweeps[path.best]),
        rounds=int(path.rounds[path.best]) if walked.scale.graded else ROUNDS,
        n_solutions=_count_solutions(session, walked, share),
        remainder=kriging if asked else walked.remainder,
        tolerance=find_tolerance(approach),
        walked=walked,
        share=share,
    )


def _blend(
    options: Options,
    walks: Sequence[Walk],
    references: Sequence[Tried],
    held_out: Sequence[Split],
) -> Blend:
    """Return the shares of walks, and then of references, in the prediction.

    Users who say how many solutions to average, or what to do about the remainder, get a model of
    terms alone; the references then only tell how good it is.
    """
    entrants: list[Entrant] = [*walks, *references]
    if options.blends:
        return blend(entrants, held_out, options.scoring)
    if options.n_solutions is None and len(walks) > 1:
        found = blend(walks, held_out, options.scoring)
        return found._replace(shares=np.append(found.shares, np.zeros(len(references))))
    best = rank(walks, held_out, options.scoring)[0]
    return single(entrants, held_out, options.scoring, best)


def _hold_out(session: Session) -> list[Split]:
    """Hold cells out if there is time for it.

    A single cell leaves nothing to validate with. Small data is validated in any case.
    """
    options, journal = session.options, session.journal
    large = len(session.samples) > options.effort.scouting_rows
    if journal.decide("no splits", large and session.budget.spent):
        return []
    extents = _find_extents(session) if large else None
    if journal.decide("no time for splits", large and session.budget.spent):
        return []
    seed = options.solver.seed
    pairs = splits(
        session.samples,
        folds=options.folds,
        share=options.share,
        seed=seed,
        max_folds=options.effort.max_folds,
        extents=extents,
    )
    found = [Split(*parts) for parts in pairs]
    return [] if journal.decide("no validation", large and session.budget.spent) else found


def _find_extents(session: Session) -> tuple[int, ...]:
    """Find the extents of the pieces to hold out in part of the time, or recall them."""
    options, journal = session.options, session.journal
    saved = journal.recall("extents")
    if saved is not None:
        modes = len(session.samples.shape)
        return tuple(saved.array("extents", "<i8", (modes,)).tolist())
    budget = session.reserve("holding out", HOLDING_OUT_SHARE)
    found = find_extents(
        session.samples, share=options.share, seed=options.solver.seed, budget=budget
    )
    journal.record({"extents": {"extents": np.array(found, dtype=np.int64)}})
    return found


def _approach(
    session: Session, held_out: Sequence[Split], walked: Walk, name: str
) -> tuple[tuple[float, float], ...]:
    """Find out how closely to fit boxes at the chosen radius: return gaps and their errors.

    A walk that was cut off says nothing about noise and leaves no time to fit closely. If the
    remainder is kriged, folds go on from the models of the walk, as the last fit will.
    """
    options, journal = session.options, session.journal
    n_held_out = sum(split.held.n_cells for split in held_out)
    late = walked.cut or session.budget.spent
    if walked.scale.graded or not options.adaptive or late or n_held_out < MIN_HELD_OUT:
        return ()
    saved = journal.recall(name)
    if saved is not None:
        gaps = saved.finite_array("gaps", (None,))
        errors = saved.array("errors", "<f8", gaps.shape)
        return tuple(zip(gaps.tolist(), errors.tolist(), strict=True))
    steps = journal.section(name)
    budget = steps.budget(session.reserve("approaching", TOLERANCE_SHARE))
    warm = walked.remainder is RemainderMethod.KRIGING
    specs = [
        FoldSpec(
            split=split,
            scale=walked.scale,
            options=options,
            remainder=walked.remainder,
            start=model if warm else None,
        )
        for split, model in itertools.zip_longest(held_out, walked.models)
    ]
    with open_folds(specs, client=session.client, journal=steps) as folds:
        callback = session.callback_for(walked.scale)
        found = approach(folds, walked.path, budget=budget, callback=callback)
    gaps, errors = np.array(found).reshape(-1, 2).T
    journal.record({name: {"gaps": gaps, "errors": errors}})
    return found


def _measure_averaging(
    session: Session, held_out: Sequence[Split], walked: Walk, validation: Validation
) -> Validation:
    """Fit the training parts as often as asked, and compare one solution with the average."""
    options = session.options
    if walked.scale.graded:
        return _expected_averaging(session, walked, validation)
    if options.n_solutions in (None, 1) or walked.remainder is not RemainderMethod.NONE:
        return validation
    if session.journal.decide("no averages", session.budget.spent):
        return validation
    single, averaged = [], []
    budget = session.reserve("averaging", AVERAGING_SHARE)
    for fold, split in enumerate(held_out):
        results = solve_seeds(
            session,
            split.prepared(walked.scale),
            radius=walked.path.radius,
            tolerance=validation.tolerance,
            walked=walked,
            start=walked.models[0],
            budget=Budget(budget.remaining / (len(held_out) - fold), within=budget),
            name=f"average {fold}",
            stage="validation, fit",
            n=options.n_solutions or 1,
        )
        models = [result.model for result in results]
        *errors, error = (
            _held_out_error(options.scoring, model, split, walked.scale)
            for model in (*models, average_models(models))
        )
        single.append(float(np.mean(errors)))
        averaged.append(error)
    return replace(validation, single=float(np.mean(single)), averaged=float(np.mean(averaged)))


def _expected_averaging(session: Session, walked: Walk, validation: Validation) -> Validation:
    """Take the errors of one graded model and of averages from the walk."""
    path, best = walked.path, walked.path.best
    return replace(validation, single=float(path.singles[best]), averaged=float(path.errors[best]))


def _count_solutions(session: Session, walked: Walk, share: float) -> int | None:
    """Return how many solutions to average in the end, by the share of the prediction."""
    options, path = session.options, walked.path
    if options.n_solutions is not None or not walked.scale.graded:
        return options.n_solutions
    best, n = path.best, len(session.samples)
    tried = options.effort.by_size(options.effort.members, n)
    if path.kriged[best]:  # which takes out most of what models differ in
        return tried
    wanted = enough_members(
        float(path.singles[best]),
        float(path.averages[best]),
        tried,
        options.effort.by_size(options.effort.max_averaged, n),
        share=WORTHWHILE_SHARE,
    )
    return max(tried, math.ceil(share * wanted))  # a single one may end in a local minimum


def _held_out_error(scoring: Scoring, model: Model, split: Split, scale: Scale) -> float:
    held = split.held
    predicted = split.prepared(scale).predictor(model).predict(held.coords, unseen=Unseen.MEAN)
    return scoring.measure(held.values, predicted, held.weights)
