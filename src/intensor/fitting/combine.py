"""The last part of a fit: solve all observations, average the solutions, krige the remainder.

Away from the observed cells the optimum is not unique, so several solutions from different seeds
are averaged. The polytope is convex, so their average is feasible; the objective is convex, so its
error is at most theirs on average; and a bound that holds for the problem holds for it.
"""

from __future__ import annotations

import contextlib
import math
import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from intensor.backends.select import Data
from intensor.data.checks import warn_above_radius
from intensor.data.labels import Labels
from intensor.data.observations import Observations
from intensor.errors import RemainderWarning
from intensor.fitting.averaging import (
    CUT_SHORT,
    add_up,
    average_results,
    drop_local_minima,
    drop_unfinished,
)
from intensor.fitting.fold import FIRST_SWEEPS
from intensor.fitting.folds import with_stage
from intensor.fitting.graded_fold import graded_settings, graded_version
from intensor.fitting.kriging import ROUNDS, krige
from intensor.fitting.options import Options, RemainderMethod, Scale
from intensor.fitting.path import Walk
from intensor.fitting.preparation import Prepared, prepare
from intensor.fitting.recipe import PART_FIELDS, Part, Recipe
from intensor.fitting.record import Fit, Validation
from intensor.fitting.references import Reference
from intensor.fitting.session import Session
from intensor.fitting.without_terms import fit_references
from intensor.model.arithmetic import shrunk
from intensor.model.model import Model, join_models
from intensor.model.predictor import Remainder
from intensor.model.transform import IDENTITY
from intensor.oracles.base import Oracle
from intensor.oracles.cascade import FreeBoundOracle
from intensor.runtime.budget import Budget
from intensor.runtime.threads import Workers
from intensor.solver.engine import Version
from intensor.solver.finish import FREE_BOUND, mean_squared_error
from intensor.solver.graded.proof import prove_at
from intensor.solver.loop import run
from intensor.solver.result import Counters, Progress, Result, Seconds, Status, proven_status
from intensor.solver.settings import Settings
from intensor.solver.snapshot import capture_result, restore_result
from intensor.solver.variants import FAST

CLOSE_KRIGING_RATIO, ROUGH_KRIGING_RATIO = 6.0, 3.0
"""Seconds reserved for close and for rough kriging, per second that kriging took in validation."""
MAX_CLOSE_KRIGING_SHARE, MAX_ROUGH_KRIGING_SHARE = 0.2, 0.7
"""Largest shares of the remaining time that close and rough kriging may reserve."""
KRIGING_GRACE_SECONDS = 0.8
"""Most seconds that kriging may take after Ctrl-C."""

MIN_RTOL = 1e-9
"""Relative gap that is small enough even where held-out cells are predicted perfectly."""
UNFINISHED = (Status.TIME_LIMIT, Status.INTERRUPTED, Status.STOPPED)
"""Statuses of partners that are left out of a blend: they are not what was chosen."""
PROOF_SECONDS = 2.0
"""Seconds that the proof of a graded model may take, beyond those that the fit took."""
MIN_KEPT_SHARE = 0.5
"""Least sum of the shares of members that were fitted in time for their shares to be raised."""
SCRATCH_RATIO = 2.0
"""Estimated time of a fit from scratch, as a multiple of the time of the walk. With less time left,
the fit starts from the model of the walk."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Choice:
    """Scale, radius and remainder of the last fit, given by the user or chosen by validation."""

    scale: Scale
    radius: float | None  # in the fitted scale; None for the largest fitted value
    remainder: RemainderMethod  # NONE or KRIGING, never AUTO
    max_components: int | None = None  # largest number of graded components; None for boxes
    sweeps: int = FIRST_SWEEPS  # most sweeps over all graded components
    rounds: int = ROUNDS  # in which kriging improves covariances
    n_solutions: int | None = None  # number of solutions to average; None for one
    tolerance: float | None = None  # gap at which to stop; None for that of the options
    walked: Walk | None = None  # on which the radius was chosen
    start: Model | None = None  # that a solve may go on from, in the place of that of the walk
    validation: Validation | None = None
    share: float = 1.0  # of the fit in the prediction
    partners: tuple[Choice, ...] = ()  # other scales whose fits have a share too
    references: tuple[tuple[Reference, float], ...] = ()  # with their shares
    fallback: Reference | None = None  # takes the place of members that there is no time for

    @property
    def starting_model(self) -> Model | None:
        """The model that a solve may go on from."""
        return self.walked.models[0] if self.start is None and self.walked else self.start


def combine(session: Session, choice: Choice, labels: Labels) -> Fit:
    """Fit all observations as chosen, once per member of the blend.

    References come first, since they take little time. Every member has an even part of the time
    that is left then. Partners that there is no time for are left out, and their shares go to the
    others, or to the main effects or the mean if little is left of the blend. A fit that the
    callback has ended is STOPPED, whatever its solves reached: something was not chosen or fitted
    as it would have been. The recipe is what was chosen, with all members.
    """
    members = (choice, *choice.partners)
    references = fit_references(session, choice.references, labels)
    fits: list[Fit] = []
    for number, member in enumerate(members):
        if number and (session.budget.spent or session.stopped):
            break
        part = session.budget.remaining / (len(members) - number)
        budget = Budget(part, within=session.budget)
        name = f"fit of partner {number}" if number else "fit"
        found = _fit_member(session, member, labels, budget, name=name)
        if not number or found.status not in UNFINISHED:
            fits.append(found)
    first, *others = (*_merge_members(session, fits), *references)
    if session.stopped and first.status is not Status.INTERRUPTED:
        first = replace(first, result=replace(first.result, status=Status.STOPPED))
    first = replace(first, recipe=_write_recipe(session, choice))
    total = math.fsum(one.share for one in (first, *others))
    if choice.fallback is not None and total < MIN_KEPT_SHARE:
        others += fit_references(session, [(choice.fallback, 1.0 - total)], labels)
        total = 1.0
    if not total > 0.0:  # nothing but the chosen member is left
        return replace(first, share=1.0)
    partners = tuple(replace(one, share=one.share / total) for one in others)
    return replace(first, share=first.share / total, partners=partners)


def _write_recipe(session: Session, choice: Choice) -> Recipe:
    """Return all that must be known to fit other observations in the same way."""
    options, solver = session.options, session.options.solver
    parts = []
    for one in (choice, *choice.partners):
        warm = one.remainder is RemainderMethod.KRIGING and options.version.warm_start
        parts.append(
            Part(
                **{name: getattr(one, name) for name in (*PART_FIELDS, "scale", "remainder")},
                start=one.starting_model if warm and one.max_components is None else None,
            )
        )
    return Recipe(
        parts=tuple(parts),
        references=choice.references,
        largest=float(session.samples.values.max()),
        version=options.version.name,
        exact=options.exact.name,
        keep_all=options.n_solutions is not None,
        **{name: getattr(solver, name) for name in ("tol", "rtol", "max_iterations", "seed")},
    )


def _merge_members(session: Session, fits: Sequence[Fit]) -> list[Fit]:
    """Return members with terms, the chosen one first.

    Fits in the units of the data that differ in their terms alone are one: the weighted mean of
    models is a model, whose radius is the weighted mean of theirs.
    """
    groups: dict[object, list[Fit]] = {}
    for number, one in enumerate(fits):
        plain = one.predictor.transform is IDENTITY and one.share > 0.0
        key = ("plain", one.predictor.baseline is None) if plain else number
        groups.setdefault(key, []).append(one)
    return [group[0] if len(group) == 1 else _merge(session, group) for group in groups.values()]


def _merge(session: Session, fits: Sequence[Fit]) -> Fit:
    """Return one fit in the place of several in the same scale."""
    first, total = fits[0], math.fsum(one.share for one in fits)
    parts = [one.share / total for one in fits]
    model = join_models(
        [one.model for one in fits],
        [part * one.model.weights for part, one in zip(parts, fits, strict=True)],
        radius=math.fsum(part * one.radius for part, one in zip(parts, fits, strict=True)),
        signed=first.model.signed,
    )
    scale = Scale(transform=IDENTITY, additive=first.predictor.baseline is not None)
    prepared = prepare(session.samples, scale)
    within = prepared.observations.within
    objective = mean_squared_error(model, prepared.observations)
    tolerance = first.result.tolerance
    proven = proven_status(
        objective, within, tolerance=tolerance, observations=prepared.observations
    )
    cut = [one.status for one in fits if one.status in CUT_SHORT]
    # bounds of other radii say nothing about this one
    result = replace(
        first.result,
        status=proven or (cut or [Status.STALLED])[0],
        objective=objective,
        bound=within,
        bound_source=FREE_BOUND,
        model=model,
        witness=None,
        counters=Counters(**add_up([one.result.counters for one in fits])),
        seconds=Seconds(**add_up([one.result.seconds for one in fits])),
    )
    fields = [
        part * one.predictor.remainder.field
        for part, one in zip(parts, fits, strict=True)
        if one.predictor.remainder is not None
    ]
    result = prove(session, prepared, result)
    remainder = Remainder(field=np.sum(fields, axis=0)) if fields else None
    return replace(
        first,
        predictor=prepared.predictor(result.model, remainder),
        result=result,
        n_solutions=sum(one.n_solutions for one in fits),
        share=total,
    )


def _fit_member(session: Session, choice: Choice, labels: Labels, own: Budget, *, name: str) -> Fit:
    """Fit all observations in one scale: solve, average, krige."""
    prepared = prepare(session.samples, choice.scale, session.budget)
    given = session.options.radius
    if given is not None:
        means = prepared.observations.means
        warn_above_radius(np.abs(means) if prepared.signed else means, given)
    results = solve_seeds(
        session,
        prepared,
        radius=choice.radius or prepared.largest_value,
        tolerance=choice.tolerance,
        walked=choice.walked,
        start=choice.starting_model,
        budget=_reserve_for_kriging(own, choice),
        name=name,
        warm=choice.remainder is RemainderMethod.KRIGING,
        n=choice.n_solutions or 1,
        max_components=choice.max_components,
        sweeps=choice.sweeps,
    )
    result = average_results(results, prepared.observations)
    if choice.max_components is not None:
        result = prove(session, prepared, result)
    result = _prefer_walked_model(result, choice.walked, prepared, session.options.solver.threads)
    remainder = None
    if choice.remainder is RemainderMethod.KRIGING:
        remainder = _krige(session, prepared, result.model, choice.rounds, own)
    return Fit(
        predictor=prepared.predictor(result.model, remainder),
        result=result,
        labels=labels,
        n=len(session.samples),
        n_solutions=len(results),
        validation=choice.validation,
        share=choice.share,
    )


def solve_seeds(
    session: Session,
    prepared: Prepared,
    *,
    radius: float,
    tolerance: float | None,
    walked: Walk | None,
    start: Model | None,
    budget: Budget,
    name: str,
    stage: str = "fit",
    warm: bool = False,
    n: int = 1,
    max_components: int | None = None,
    sweeps: int = FIRST_SWEEPS,
) -> list[Result]:
    """Solve ``n`` times, with a seed each and an even share of the time that is left.

    ``tolerance`` is the gap to reach, None for that of the options. The first solve may go on from
    the model ``start``: if asked to (``warm``), or if there is too little time to start from
    scratch. ``name`` and ``stage`` name these solves in the journal and in reports of progress.
    """
    options, journal = session.options, session.journal
    data = _distribute(session, prepared.observations)
    settings = replace(options.solver, radius=radius, signed=prepared.signed)
    version, exact = options.version, _exact_oracle(session, prepared)
    if max_components is not None:  # the average is proven, not every solution
        version, exact = graded_version(max_components, sweeps), FreeBoundOracle(data)
        settings = graded_settings(settings)
    if tolerance is not None:  # from validation; it replaces the relative one
        settings = replace(settings, rtol=MIN_RTOL, tol=max(settings.tol, tolerance))
    results: list[Result] = []
    if max_components is not None and not budget.spent and not session.stopped:
        results = _solve_together(
            session, data, version, settings, budget, name=name, stage=stage, n=n
        )
        kept = drop_unfinished(results)
        return kept if options.n_solutions is not None else drop_local_minima(kept)
    for seed in range(n):
        late = budget.spent or session.stopped
        if results and late:
            break
        share = budget.remaining / (n - seed)
        entry = f"{name}, {seed}"
        saved = journal.recall(entry)
        if saved is not None and "result" in saved:
            results.append(restore_result(saved.branch("result"), data.shape))
            continue
        short = walked is not None and share < SCRATCH_RATIO * walked.seconds_per_fold
        first = (warm or short) and seed == 0 and version.warm_start and max_components is None
        origin = start if saved is None and (late or first) else None
        before = saved.branch("run").finite("seconds") if saved is not None else 0.0
        result = run(
            data,
            version=version if origin is None else _version_from(origin, max_components),
            exact=exact,
            start=origin,
            settings=replace(settings, seed=settings.seed + seed),
            budget=Budget(share + before, within=budget, before=before),
            callback=with_stage(session.report, f"{stage} {seed + 1} of {n}" if n > 1 else stage),
            snapshots=journal.snapshots(entry),
        )
        if result.status is not Status.ITERATION_LIMIT:  # which another call may raise
            journal.record({entry: {"result": capture_result(result)}})
        results.append(result)
    return drop_unfinished(results)


def _solve_together(
    session: Session,
    data: Data,
    version: Version,
    settings: Settings,
    budget: Budget,
    *,
    name: str,
    stage: str,
    n: int,
) -> list[Result]:
    """Solve once per seed, several at a time on different threads, as long as there is time."""
    journal, lock = session.journal, threading.Lock()
    found: list[Result | None] = [None] * n

    def report(progress: Progress) -> bool:
        with lock:
            return session.report(progress)

    def solve_one(seed: int) -> None:
        entry = f"{name}, {seed}"
        saved = journal.recall(entry)
        if saved is not None and "result" in saved:
            found[seed] = restore_result(saved.branch("result"), data.shape)
            return
        if seed and (budget.spent or session.stopped):
            return
        result = run(
            data,
            version=version,
            exact=FreeBoundOracle(data),
            settings=replace(settings, seed=settings.seed + seed),
            budget=Budget(within=budget),
            callback=with_stage(report, f"{stage} {seed + 1} of {n}" if n > 1 else stage),
        )
        if result.status not in CUT_SHORT:
            journal.record({entry: {"result": capture_result(result)}})
        found[seed] = result

    with contextlib.closing(Workers(settings.threads)) as workers:
        workers.run(solve_one, n)
    return [result for result in found if result is not None]


def _version_from(start: Model, max_components: int | None) -> Version:
    """Return the version that goes on from a model, with room for all its components."""
    return FAST if max_components is None else graded_version(max(1, len(start)), FIRST_SWEEPS)


def _exact_oracle(session: Session, prepared: Prepared) -> Oracle:
    options = session.options
    return options.exact.oracle(
        prepared.observations,
        patient=options.version.patient,
        threads=options.solver.threads,
        time_limit=options.solver.time_limit,
        device=options.solver.device,
    )


def prove(session: Session, prepared: Prepared, result: Result) -> Result:
    """Ask the exact oracle how far an averaged graded model is from the optimum.

    A proof may take as long as the fit has taken so far, and a moment more.
    """
    oracle, budget = _exact_oracle(session, prepared), session.budget
    if isinstance(oracle, FreeBoundOracle) or session.stopped or budget.spent:
        return result
    own = Budget(PROOF_SECONDS + budget.elapsed, within=budget)
    settings = replace(session.options.solver, radius=result.model.radius, signed=prepared.signed)
    proven = prove_at(
        result.model, prepared.observations, exact=oracle, settings=settings, budget=own
    )
    if proven is None or proven.bound <= result.bound:
        return result
    status = proven_status(
        result.objective,
        proven.bound,
        tolerance=result.tolerance,
        observations=prepared.observations,
    )
    return replace(
        result,
        bound=proven.bound,
        witness=result.model,
        bound_source=proven.source,
        status=status or result.status,
    )


def _distribute(session: Session, observations: Observations) -> Data:
    """Return the cells: on the workers of a cluster if there are many, otherwise here."""
    many = observations.n_cells >= session.options.effort.min_distributed_cells
    counted = observations.shares is None
    if session.client is None or not (many and counted and session.options.version.anywhere):
        return observations
    from intensor.backends.sharded.distributed import (  # noqa: PLC0415  (imports distributed)
        distribute_cells,
    )

    return distribute_cells(session.client, observations, session.options.solver.device)


def _prefer_walked_model(
    result: Result, walked: Walk | None, prepared: Prepared, threads: int | None
) -> Result:
    """Replace the model of a result that was cut short by that of the walk, if that is better."""
    if walked is None or result.status not in CUT_SHORT:
        return result
    model = shrunk(walked.models[0], result.model.radius)
    objective = mean_squared_error(model, prepared.observations, threads)
    if objective >= result.objective:
        return result
    return replace(result, model=model, objective=objective)


def _reserve_for_kriging(budget: Budget, choice: Choice) -> Budget:
    """Return a budget that leaves some time for the remainder."""
    reserved = 0.0
    kriges = choice.remainder is RemainderMethod.KRIGING and math.isfinite(budget.remaining)
    if kriges and choice.walked is None:  # nobody knows how long it takes
        reserved = MAX_CLOSE_KRIGING_SHARE * budget.remaining
    elif kriges and choice.walked is not None:
        needed, left = choice.walked.kriging_seconds, budget.remaining
        reserved = max(
            min(CLOSE_KRIGING_RATIO * needed, MAX_CLOSE_KRIGING_SHARE * left),
            min(ROUGH_KRIGING_RATIO * needed, MAX_ROUGH_KRIGING_SHARE * left),
        )
    return Budget(budget.remaining - reserved, within=budget)


def _krige(
    session: Session, prepared: Prepared, model: Model, rounds: int, own: Budget
) -> Remainder | None:
    """Krige closely, or roughly where there is too little time; warn when there is none.

    Validation kriges roughly too, so its choice still holds. After Ctrl-C kriging may take another
    moment, which is enough for small tensors.
    """
    budget = Budget(KRIGING_GRACE_SECONDS) if session.budget.interrupted else own
    solver = session.options.solver

    def attempt(*, rough: bool) -> Remainder | None:
        return krige(
            prepared.observations,
            model,
            budget=budget,
            threads=solver.threads,
            seed=solver.seed,
            rough=rough,
            rounds=0 if rough else rounds,
        )

    if math.isinf(budget.remaining):
        found = attempt(rough=False)
    else:
        started = budget.elapsed
        found = attempt(rough=True)
        seconds = budget.elapsed - started
        if found is not None and CLOSE_KRIGING_RATIO * seconds <= budget.remaining:
            found = attempt(rough=False) or found
    if found is None:
        warn_no_kriging(session.options, "to krige what the boxes leave, which is left out")
    return found


def warn_no_kriging(options: Options, purpose: str) -> None:
    """Warn that there was no time for kriging."""
    limit = options.solver.time_limit
    within = "before the fit was stopped" if limit is None else f"within {limit:g} s"
    warnings.warn(
        f"there was no time {purpose}, {within}; allow more time (time_limit), or do without "
        '(remainder="none")',
        RemainderWarning,
        stacklevel=2,
    )
