"""The candidates of a fit: scales, each with the error of its walk along the radii.

Several scales are first scouted, on a sample or in a short time, and only the best are walked in
full. Decisions that depend on the clock are recorded, so that a fit that is continued repeats them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from intensor.fitting.blend import rank
from intensor.fitting.combine import warn_no_kriging
from intensor.fitting.component_path import walk_components
from intensor.fitting.fold import FoldSpec
from intensor.fitting.folds import open_folds
from intensor.fitting.kriging import can_krige
from intensor.fitting.options import RemainderMethod, Scale
from intensor.fitting.path import RadiusPath, Walk, capture_walk, restore_walk, walk
from intensor.fitting.preparation import Split, thinned
from intensor.fitting.samples import sample
from intensor.fitting.session import Session
from intensor.options.unseen import Unseen
from intensor.runtime.budget import Budget

WALKING_SHARE = 0.5
"""Share of the remaining time that walking all candidates may take."""
SCOUTING_SHARE = 0.5
"""Share of that time that scouting may take."""
BRIEF_SHARE = 0.02
"""All scales are walked in full if scouting took less than this share of the time for walking."""
MAX_BOX_FINALISTS = 2
"""Most scales of boxes that are walked in full after all were scouted."""
HOPELESS_TERMS_RATIO = 1.5
"""Graded components are walked briefly when their scouted error is above this multiple of that of a
predictor without terms."""
HOPELESS_RATIO = 1.1
"""Boxes are given up when their error stays above this multiple of that of graded components."""
MAX_COMPANION_RATIO = 1.25
"""Largest ratio of the scouted error of a scale that follows the best one to the least."""


class Candidates:
    """The scales of a fit, which are compared on held-out cells."""

    def __init__(
        self, session: Session, held_out: list[Split], *, reference_error: float = math.inf
    ) -> None:
        self._session = session
        self._reference_error = reference_error  # least error of predictors without terms
        self._options = session.options
        self._effort = session.options.effort
        self._journal = session.journal
        self._splits = held_out
        self._budget = session.reserve("walking", WALKING_SHARE)  # for scale and radius
        training = held_out[0].training
        graded = session.options.scales[0].graded
        self._scouting_rows = (
            self._effort.graded_scouting_rows if graded else self._effort.scouting_rows
        )
        # whether scales are scouted in any case
        self._large = graded or len(training) > self._scouting_rows
        self._can_krige = can_krige(training)
        self._scouted_splits: Sequence[Split] = held_out
        self._scouted: list[Walk] = []  # walks of all scales that were scouted, the best first

    def walk(self) -> tuple[list[RadiusPath], list[Walk]]:
        """Return the paths that were only scouted, and the walks to choose from.

        Graded components come first. Boxes take far longer on many observations, so they are tried
        beside them on few, and in the best scale alone.
        """
        graded = [scale for scale in self._options.scales if scale.graded]
        boxes = [scale for scale in self._options.scales if not scale.graded]
        scouted, walks = self._walk_scales(graded or boxes)
        self._warn_if_never_kriged(walks)
        if not graded:
            return scouted, self._walk_again_without_kriging(walks)
        folds = self._splits[: len(walks[0].predicted)]  # fewer if scales were only scouted
        best = walks[rank(walks, folds, self._options.scoring)[0]]
        if boxes:
            walks += self._walk_boxes_too(best, boxes)
        return scouted, walks + self._walk_companions(best, [one.scale for one in walks])

    def _walk_companions(self, best: Walk, walked: Sequence[Scale]) -> list[Walk]:
        """Walk other scales that were nearly as good when scouted to where the best one ended."""
        if self._options.n_solutions is not None or best.cut or not best.scale.graded:
            return []
        if self._hopeless:
            return []
        most = MAX_COMPANION_RATIO * min((one.path.error for one in self._scouted), default=0.0)
        others = [
            one.scale for one in self._scouted if one.scale not in walked and one.path.error <= most
        ]
        found = []
        for scale in others[: self._effort.max_companions]:
            if self._journal.decide(f"no companion, {scale.name}", self._budget.spent):
                break
            found.append(self._walk("companion", self._splits, scale, self._budget, like=best.path))
        return [one for one in found if not one.cut]

    def _walk_boxes_too(self, best: Walk, scales: Sequence[Scale]) -> list[Walk]:
        """Walk boxes in the scale of the best graded walk, if there are few observations."""
        if len(self._splits[0].training) > self._effort.max_rows_for_both:
            return []
        same = [
            scale
            for scale in scales
            if scale.transform is best.scale.transform and scale.additive == best.scale.additive
        ]
        hopeless = HOPELESS_RATIO * best.path.error
        return [
            one
            for one in self._walk_in_turn("boxes too", same, hopeless_error=hopeless, optional=True)
            if not one.cut
        ]

    def _walk_scales(self, scales: Sequence[Scale]) -> tuple[list[RadiusPath], list[Walk]]:
        limited = self._large or math.isfinite(self._budget.remaining)
        if not self._journal.decide("scouting", len(scales) > 1 and limited):
            return [], self._walk_in_turn("foremost", scales)
        walks, finished = self._scout(scales)
        if finished:
            return [], walks
        scouted = [replace(one.path, sampled=True) for one in walks]
        if self._journal.decide("only scouted", self._budget.spent):
            return scouted, [self._predict_all(self._scouted[0])._replace(cut=True)]
        finalists = self._pick_finalists()
        return scouted, self._walk_in_turn("foremost", finalists, one_radius=self._hopeless)

    def _predict_all(self, walked: Walk) -> Walk:
        """Return a scouted walk with predictions of all held-out cells of the folds it saw."""
        if self._scouted_splits is self._splits:
            return walked
        predicted = tuple(
            scouted.prepared(walked.scale, self._session.choosing)
            .predictor(model)
            .predict(thinned(split.held.coords), unseen=Unseen.MEAN)
            for scouted, split, model in zip(
                self._scouted_splits, self._splits, walked.models, strict=False
            )
        )
        return walked._replace(predicted=predicted)

    @property
    def _hopeless(self) -> bool:
        """Whether terms predict so much worse than references that a full walk is not worth it."""
        if not self._scouted or not self._options.blends:
            return False
        return self._scouted[0].error > HOPELESS_TERMS_RATIO * self._reference_error

    def _scout(self, scales: Sequence[Scale]) -> tuple[list[Walk], bool]:
        """Compare all scales in part of the time; say whether their walks count as full."""
        budget = Budget(SCOUTING_SHARE * self._budget.remaining, within=self._budget)
        scouted_splits = self._splits
        if self._large and scales[0].graded:
            scouted_splits = self._splits[: self._effort.scouted_folds]
        if self._large and len(self._splits[0].training) > self._scouting_rows:
            most, seed = self._scouting_rows, self._options.solver.seed
            first = self._splits[0]
            training = sample(first.training, most, seed=seed)
            scouted_splits = [Split(training, sample(first.held, most, seed=seed))]
        one_radius = self._options.remainder is not RemainderMethod.NONE and self._can_krige
        one_radius |= scales[0].graded and self._large
        walks = self._walk_all("scout", scales, budget, scouted_splits, one_radius=one_radius)
        brief = budget.elapsed < BRIEF_SHARE * self._budget.remaining
        if self._journal.decide("briefly", one_radius and not self._large and brief):
            scouted_splits = self._splits
            walks = self._walk_all("walk", scales, budget, scouted_splits)
            one_radius = False
        self._scouted_splits = scouted_splits
        order = rank(walks, scouted_splits, self._options.scoring)
        self._scouted = [walks[number] for number in order]
        unfinished = self._large or one_radius or budget.spent
        return walks, not self._journal.decide("scouted", unfinished)

    def _pick_finalists(self) -> list[Scale]:
        """Return the best scale, and runners-up if they are not clearly worse."""
        best, *others = self._scouted
        most_walked = self._effort.max_finalists if best.scale.graded else MAX_BOX_FINALISTS
        most = self._effort.max_runner_up_ratio * best.path.error
        runners_up = [one.scale for one in others[: most_walked - 1] if one.path.error <= most]
        return [best.scale, *runners_up]

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

        The first scale is always walked, the others as long as there is time for choosing.
        """
        walk_one = partial(self._walk, stage, held_out, one_radius=one_radius)
        if self._session.client is not None:
            # imported here, because a fit at the exit of the interpreter cannot import it
            from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

            with ThreadPoolExecutor(len(scales)) as pool:
                return list(pool.map(walk_one, scales, itertools.repeat(budget)))
        found: list[Walk] = []
        for number, scale in enumerate(scales):
            late = bool(found) and self._budget.spent
            if self._journal.decide(f"no {stage}, {scale.name}", late):
                break
            own = Budget(budget.remaining / (len(scales) - number), within=budget)
            found.append(walk_one(scale, own))
        return found

    def _walk_in_turn(
        self,
        stage: str,
        scales: Sequence[Scale],
        *,
        remainder: RemainderMethod | None = None,
        hopeless_error: float = math.inf,
        optional: bool = False,
        one_radius: bool = False,
    ) -> list[Walk]:
        """Walk the first scale, and the others as long as there is time for another such walk.

        If the walks are ``optional``, the first also needs time.
        """
        found: list[Walk] = []
        seconds = 0.0
        for scale in scales:
            needed = optional or bool(found)
            late = seconds > self._budget.remaining or (needed and self._budget.spent)
            if self._journal.decide(f"no {stage}, {scale.name}", late):
                break
            started = self._budget.elapsed
            found.append(
                self._walk(
                    stage,
                    self._splits,
                    scale,
                    self._budget,
                    remainder=remainder,
                    hopeless_error=hopeless_error,
                    one_radius=one_radius,
                )
            )
            seconds = self._budget.elapsed - started
        return found

    def _walk(
        self,
        stage: str,
        held_out: Sequence[Split],
        scale: Scale,
        budget: Budget,
        *,
        one_radius: bool = False,
        remainder: RemainderMethod | None = None,
        hopeless_error: float = math.inf,
        like: RadiusPath | None = None,
    ) -> Walk:
        """Walk one scale, or recall the walk from the journal."""
        session, name = self._session, f"{stage}, {scale.name}"
        saved = self._journal.recall(name)
        if saved is not None:
            return restore_walk(saved, scale, session.samples.shape)
        journal, callback = self._journal.section(name), session.callback_for(scale)
        own, remainder = journal.budget(budget), remainder or self._options.remainder
        specs = [
            FoldSpec(split=split, scale=scale, options=self._options, remainder=remainder)
            for split in held_out
        ]
        with open_folds(specs, client=session.client, journal=journal) as folds:
            if scale.graded:
                found = walk_components(
                    folds, budget=own, callback=callback, one_radius=one_radius, like=like
                )
            else:
                found = walk(
                    folds,
                    budget=own,
                    callback=callback,
                    one_radius=one_radius,
                    hopeless_error=hopeless_error,
                )
        self._journal.record({name: capture_walk(found)})
        return found

    def _walk_again_without_kriging(self, walks: list[Walk]) -> list[Walk]:
        """Walk again if boxes were fitted to a sample because of kriging, which does not help."""
        sampled = len(self._splits[0].training) > self._effort.max_boxed_rows
        may_krige = self._can_krige and self._options.remainder is RemainderMethod.AUTO
        in_use = any(one.remainder is RemainderMethod.KRIGING for one in walks)
        if not sampled or not may_krige or in_use:
            return walks
        if self._journal.decide("no boxes", self._budget.spent):
            return walks
        scales = [one.scale for one in walks]
        again = self._walk_in_turn("boxes", scales, remainder=RemainderMethod.NONE)
        return walks if again[0].cut else again

    def _warn_if_never_kriged(self, walks: Sequence[Walk]) -> None:
        """Warn when a limit kept validation from looking at the remainder at all."""
        unknown = all(math.isinf(one.kriging_seconds) for one in walks)
        auto = self._options.remainder is RemainderMethod.AUTO
        if unknown and auto and not self._session.choosing.interrupted:
            warn_no_kriging(self._options, "to see whether kriging what the boxes leave helps")
