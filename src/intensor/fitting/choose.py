"""The first part of a fit: choose scale, radius, remainder and tolerance on held-out cells.

A candidate is a scale, and its score is the error of its walk along the radii. Where there are
several, all are scouted first, on a sample or in a short time, and only the best are walked in
full. Every decision that depends on the clock goes through the journal, so that a fit that is
continued decides as before.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from intensor.fitting.combine import Choice, average_models, solve_seeds, warn_no_kriging
from intensor.fitting.fold import FoldSpec
from intensor.fitting.folds import open_folds
from intensor.fitting.kriging import can_krige
from intensor.fitting.options import RemainderMethod, Scale
from intensor.fitting.path import RadiusPath, Walk, approach, capture_walk, restore_walk, walk
from intensor.fitting.preparation import Split
from intensor.fitting.record import Validation
from intensor.fitting.samples import sample, splits
from intensor.fitting.scoring import Scoring
from intensor.fitting.session import Session
from intensor.model.model import Model
from intensor.runtime.budget import Budget

__all__ = ["choose"]

MIN_HELD_OUT = 20
"""Fewest held-out cells needed to choose the tolerance by validation."""
WALKING_SHARE, TOLERANCE_SHARE, AVERAGING_SHARE = 0.5, 0.4, 0.3
"""Shares of the remaining time: for scale and radius, then for the tolerance, then for measuring
how much averaging gains."""
SCOUTING_SHARE = 0.5
"""Share of the time for scale and radius that scouting may take."""
BRIEF_SHARE = 0.02
"""All scales are walked in full when scouting took less than this share of the time for scale and
radius."""
MAX_FINALISTS = 2
"""Most scales that are walked in full after all were scouted."""


def choose(session: Session) -> Choice:
    """Choose what the user has left open, as far as there is time for it."""
    options = session.options
    held_out = _hold_out(session)
    if held_out:
        return _Chooser(session, held_out).choose()
    kriging = options.remainder is RemainderMethod.KRIGING
    return Choice(
        scale=options.scales[0],
        radius=options.radius,
        remainder=RemainderMethod.KRIGING if kriging else RemainderMethod.NONE,
    )


def _hold_out(session: Session) -> list[Split]:
    """Hold cells out if there is anything to choose, and time for it.

    A single cell leaves nothing to validate with. Small data is validated in any case.
    """
    options, journal = session.options, session.journal
    chosen = options.radius is not None and len(options.scales) == 1
    if chosen and options.n_solutions == 1 and options.remainder is not RemainderMethod.AUTO:
        return []
    large = len(session.samples) > session.effort.scouting_rows
    if journal.choose("no splits", large and session.budget.spent):
        return []
    pairs = splits(
        session.samples, folds=options.folds, share=options.share, seed=options.solver.seed
    )
    found = [Split(training, held) for training, held in pairs]
    return [] if journal.choose("no validation", large and session.budget.spent) else found


class _Chooser:
    """Chooses among candidates by their errors on held-out cells."""

    def __init__(self, session: Session, held_out: list[Split]) -> None:
        self._session = session
        self._options = session.options
        self._journal = session.journal
        self._splits = held_out
        self._budget = session.reserve("walking", WALKING_SHARE)  # for scale and radius
        training = held_out[0].training
        self._large = len(training) > session.effort.scouting_rows
        self._can_krige = can_krige(training)

    def choose(self) -> Choice:
        """Choose scale and radius, then the tolerance, and measure how much averaging gains."""
        options = self._options
        scouted, walks = self._walk_scales()
        self._warn_if_never_kriged(walks)
        walks = self._walk_again_without_kriging(walks)
        best = int(np.argmin([one.path.error for one in walks]))
        walked = walks[best]
        validation = Validation(
            metric=options.scoring.name,
            folds=len(self._splits),
            held_out=float(np.mean([len(split.held) for split in self._splits])),
            paths=(*scouted, *(one.path for one in walks)),
            chosen=len(scouted) + best,
            error_of_mean=_error_of_mean(options.scoring, self._splits),
        )
        validation = self._choose_tolerance(walked, validation)
        validation = self._measure_averaging(walked, validation)
        kriging = options.remainder is RemainderMethod.KRIGING
        return Choice(
            scale=walked.scale,
            radius=walked.path.radius,
            remainder=options.remainder if kriging else walked.remainder,
            walked=walked,
            validation=validation,
        )

    # --- scale and radius

    def _walk_scales(self) -> tuple[list[RadiusPath], list[Walk]]:
        """Return the paths that were only scouted, and the walks to choose from."""
        scales = self._options.scales
        limited = self._large or math.isfinite(self._budget.remaining)
        if not self._journal.choose("scouting", len(scales) > 1 and limited):
            return [], self._walk_in_turn("foremost", scales)
        walks, finished = self._scout()
        if finished:
            return [], walks
        scouted = [replace(one.path, sampled=True) for one in walks]
        if self._journal.choose("only scouted", self._budget.spent):
            best = min(walks, key=lambda one: one.path.error)
            return scouted, [best._replace(cut=True)]
        return scouted, self._walk_in_turn("foremost", self._finalists(walks))

    def _scout(self) -> tuple[list[Walk], bool]:
        """Compare all scales in part of the time; say whether their walks are as good as full."""
        scales, effort = self._options.scales, self._session.effort
        budget = Budget(SCOUTING_SHARE * self._budget.remaining, within=self._budget)
        scouted_splits = self._splits
        if self._large:
            first, seed = self._splits[0], self._options.solver.seed
            parts = (first.training, first.held)
            some = (sample(part, effort.scouting_rows, seed=seed) for part in parts)
            scouted_splits = [Split(*some)]
        one_radius = self._options.remainder is not RemainderMethod.NONE and self._can_krige
        walks = self._walk_all("scout", scales, budget, scouted_splits, one_radius=one_radius)
        brief = budget.elapsed < BRIEF_SHARE * self._budget.remaining
        if self._journal.choose("briefly", one_radius and not self._large and brief):
            walks = self._walk_all("walk", scales, budget, self._splits)
            one_radius = False
        unfinished = self._large or one_radius or budget.spent
        return walks, not self._journal.choose("scouted", unfinished)

    def _finalists(self, scouted: Sequence[Walk]) -> list[Scale]:
        """Return the best scale, and the runner-up where it is not clearly worse."""
        errors = np.array([one.path.error for one in scouted])
        order = np.argsort(errors, kind="stable")[:MAX_FINALISTS].tolist()
        most = self._session.effort.runner_up_ratio * errors[order[0]]
        return [scouted[one].scale for one in order if one == order[0] or errors[one] <= most]

    def _walk_all(
        self,
        stage: str,
        scales: Sequence[Scale],
        budget: Budget,
        held_out: Sequence[Split],
        *,
        one_radius: bool = False,
    ) -> list[Walk]:
        """Walk all scales, each in an even share of the time, or at the same time on a cluster.

        The first one is always walked, the others while there is time for choosing at all.
        """

        def walk_one(number: int, n_sharing: int = 1) -> Walk:
            return self._walk(
                stage, scales[number], budget, held_out, n_sharing=n_sharing, one_radius=one_radius
            )

        if self._session.client is not None:
            # imported here, because a fit at the exit of the interpreter cannot import it
            from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

            with ThreadPoolExecutor(len(scales)) as pool:
                return list(pool.map(walk_one, range(len(scales))))
        found: list[Walk] = []
        for number, scale in enumerate(scales):
            late = bool(found) and self._budget.spent
            if self._journal.choose(f"no {stage}, {scale.name}", late):
                break
            found.append(walk_one(number, len(scales) - number))
        return found

    def _walk_in_turn(
        self, stage: str, scales: Sequence[Scale], *, remainder: RemainderMethod | None = None
    ) -> list[Walk]:
        """Walk the first scale, and each other one while there is time for another such walk."""
        found: list[Walk] = []
        seconds = 0.0
        for scale in scales:
            late = seconds > self._budget.remaining or (bool(found) and self._budget.spent)
            if self._journal.choose(f"no {stage}, {scale.name}", late):
                break
            started = self._budget.elapsed
            found.append(self._walk(stage, scale, self._budget, self._splits, remainder=remainder))
            seconds = self._budget.elapsed - started
        return found

    def _walk(
        self,
        stage: str,
        scale: Scale,
        budget: Budget,
        held_out: Sequence[Split],
        *,
        n_sharing: int = 1,
        one_radius: bool = False,
        remainder: RemainderMethod | None = None,
    ) -> Walk:
        """Walk one scale, or recall the walk from the journal."""
        session, name = self._session, f"{stage}, {scale.name}"
        saved = self._journal.recall(name)
        if saved is not None:
            return restore_walk(saved, scale, session.samples.shape)
        notes = self._journal.under(name)
        own = Budget(
            budget.remaining / n_sharing + notes.seconds, within=budget, before=notes.seconds
        )
        specs = [self._fold(split, scale, remainder) for split in held_out]
        with open_folds(specs, client=session.client, notes=notes) as folds:
            callback = session.report_scale(scale)
            found = walk(folds, budget=own, callback=callback, one_radius=one_radius)
        self._journal.record({name: capture_walk(found)})
        return found

    def _fold(
        self,
        split: Split,
        scale: Scale,
        remainder: RemainderMethod | None = None,
        start: Model | None = None,
    ) -> FoldSpec:
        """Return a fold; by default the options say what to do with the remainder."""
        return FoldSpec(
            split=split,
            scale=scale,
            options=self._options,
            remainder=remainder or self._options.remainder,
            start=start,
            effort=self._session.effort,
        )

    def _walk_again_without_kriging(self, walks: list[Walk]) -> list[Walk]:
        """Walk again where boxes were fitted to a sample to allow for kriging, which is no use."""
        sampled = len(self._splits[0].training) > self._session.effort.boxed_rows
        may_krige = self._can_krige and self._options.remainder is RemainderMethod.AUTO
        in_use = any(one.remainder is RemainderMethod.KRIGING for one in walks)
        if not sampled or not may_krige or in_use:
            return walks
        if self._journal.choose("no boxes", self._budget.spent):
            return walks
        scales = [one.scale for one in walks]
        again = self._walk_in_turn("boxes", scales, remainder=RemainderMethod.NONE)
        return walks if again[0].cut else again

    def _warn_if_never_kriged(self, walks: Sequence[Walk]) -> None:
        """Say so when a limit kept validation from looking at the remainder at all."""
        unknown = all(math.isinf(one.kriging_seconds) for one in walks)
        auto = self._options.remainder is RemainderMethod.AUTO
        if unknown and auto and not self._session.choosing.interrupted:
            warn_no_kriging(self._options, "to see whether kriging what the boxes leave helps")

    # --- the tolerance, and averages

    def _choose_tolerance(self, walked: Walk, validation: Validation) -> Validation:
        """Find out how closely to fit at the chosen radius.

        A walk that was cut off says nothing about noise, and there is no time to fit closely then.
        With a kriged remainder, folds go on from the models of the walk, as the last fit will.
        """
        session, name = self._session, "approach"
        n_held_out = sum(split.held.n_cells for split in self._splits)
        late = walked.cut or session.budget.spent
        if not self._options.adaptive or late or n_held_out < MIN_HELD_OUT:
            return validation
        saved = self._journal.recall(name)
        if saved is not None:
            gaps = saved.finite_array("gaps", (None,))
            errors = saved.array("errors", "<f8", gaps.shape)
            pairs = zip(gaps.tolist(), errors.tolist(), strict=True)
            return replace(validation, approach=tuple(pairs))
        notes = self._journal.under(name)
        budget = session.reserve("approaching", TOLERANCE_SHARE)
        budget = Budget(budget.remaining + notes.seconds, within=budget, before=notes.seconds)
        warm = walked.remainder is RemainderMethod.KRIGING
        specs = [
            self._fold(split, walked.scale, walked.remainder, model if warm else None)
            for split, model in itertools.zip_longest(self._splits, walked.models)
        ]
        with open_folds(specs, client=session.client, notes=notes) as folds:
            callback = session.report_scale(walked.scale)
            found = approach(folds, walked.path, budget=budget, callback=callback)
        gaps, errors = np.array(found).reshape(-1, 2).T
        self._journal.record({name: {"gaps": gaps, "errors": errors}})
        return replace(validation, approach=found)

    def _measure_averaging(self, walked: Walk, validation: Validation) -> Validation:
        """Fit the training parts as often as asked, and compare one solution with the average."""
        session, options = self._session, self._options
        if options.n_solutions == 1 or walked.remainder is not RemainderMethod.NONE:
            return validation
        if self._journal.choose("no averages", session.budget.spent):
            return validation
        single, averaged = [], []
        budget = session.reserve("averaging", AVERAGING_SHARE)
        for fold, split in enumerate(self._splits):
            results = solve_seeds(
                session,
                split.prepared(walked.scale),
                radius=walked.path.radius,
                tolerance=validation.tolerance,
                walked=walked,
                budget=Budget(budget.remaining / (len(self._splits) - fold), within=budget),
                name=f"average {fold}",
                stage="validation, fit",
            )
            models = [result.model for result in results]
            errors = [self._held_out_error(model, split, walked.scale) for model in models]
            single.append(float(np.mean(errors)))
            averaged.append(self._held_out_error(average_models(models), split, walked.scale))
        return replace(validation, single=float(np.mean(single)), averaged=float(np.mean(averaged)))

    def _held_out_error(self, model: Model, split: Split, scale: Scale) -> float:
        held = split.held
        predicted = split.prepared(scale).predictor(model).predict(held.coords, unseen="mean")
        return self._options.scoring.measure(held.values, predicted, held.weights)


def _error_of_mean(scoring: Scoring, held_out: Sequence[Split]) -> float:
    """Return the error on held-out cells of the mean of all others."""
    errors = []
    for split in held_out:
        training, held = split.training, split.held
        mean = float(np.average(training.values, weights=training.weights))
        errors.append(scoring.measure(held.values, np.full(len(held), mean), held.weights))
    return float(np.mean(errors))
