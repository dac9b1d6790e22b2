"""Solves of a fit at one radius, one per seed."""

from __future__ import annotations

from dataclasses import replace

from intensor.backends.select import Data
from intensor.data.observations import Observations
from intensor.fitting.folds import with_stage
from intensor.fitting.path import Walk
from intensor.fitting.preparation import Prepared
from intensor.fitting.session import Session
from intensor.runtime.budget import Budget
from intensor.solver.loop import run
from intensor.solver.result import Result, Status
from intensor.solver.snapshot import capture_result, restore_result
from intensor.solver.variants import FAST

MIN_RTOL = 1e-9
"""Relative gap that is small enough even where held-out cells are predicted perfectly."""
CUT_SHORT = (Status.TIME_LIMIT, Status.INTERRUPTED, Status.STOPPED, Status.ITERATION_LIMIT)
"""Statuses of solves that a limit or a user stopped before they were done."""
MAX_OBJECTIVE_RATIO = 1.1
"""An unfinished solution is averaged with the best one when its objective is at most this many
times as large."""
SCRATCH_RATIO = 2.0
"""Estimated time of a fit from scratch, as a multiple of the time of the walk. With less time left,
the fit starts from the model of the walk."""


def solve_seeds(
    session: Session,
    prepared: Prepared,
    *,
    radius: float,
    tolerance: float | None,
    walked: Walk | None,
    budget: Budget,
    name: str,
    stage: str = "fit",
    warm: bool = False,
) -> list[Result]:
    """Solve once per seed, each with an even share of the time that is left.

    Parameters
    ----------
    tolerance
        The gap to reach; None for that of the options.
    walked
        The first solve may go on from its model: if asked to (``warm``), or if there is too little
        time to start from scratch.
    name, stage
        Names of these solves in the journal and in reports of progress.
    """
    options, journal, n = session.options, session.journal, session.options.n_solutions
    data = _distribute(session, prepared.observations)
    exact = options.exact.oracle(
        prepared.observations,
        patient=options.version.patient,
        threads=options.solver.threads,
        time_limit=options.solver.time_limit,
        device=options.solver.device,
    )
    settings = replace(options.solver, radius=radius, signed=prepared.signed)
    if tolerance is not None:  # from validation; it replaces the relative one
        settings = replace(settings, rtol=MIN_RTOL, tol=max(settings.tol, tolerance))
    results: list[Result] = []
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
        first = (warm or short) and seed == 0 and options.version.warm_start
        start = walked.models[0] if walked and saved is None and (late or first) else None
        before = saved.branch("run").finite("seconds") if saved is not None else 0.0
        result = run(
            data,
            version=FAST if start is not None else options.version,
            exact=exact,
            start=start,
            settings=replace(settings, seed=settings.seed + seed),
            budget=Budget(share + before, within=budget, before=before),
            callback=with_stage(session.report, f"{stage} {seed + 1} of {n}" if n > 1 else stage),
            snapshots=journal.snapshots(entry),
        )
        if result.status is not Status.ITERATION_LIMIT:  # which another call may raise
            journal.record({entry: {"result": capture_result(result)}})
        results.append(result)
    return _drop_unfinished(results)


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


def _drop_unfinished(results: list[Result]) -> list[Result]:
    """Return the results without those that a limit cut off far from the best."""
    least = min(result.objective for result in results)
    return [
        result
        for result in results
        if result.status not in CUT_SHORT or result.objective <= MAX_OBJECTIVE_RATIO * least
    ]
