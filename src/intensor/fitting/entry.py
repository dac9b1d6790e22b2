"""The front door of fitting: observations and options in, a fit out."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from intensor.backends.select import Data
from intensor.data.checks import (
    check_coords,
    check_not_tiny,
    check_values,
    check_weights,
    warn_above_radius,
)
from intensor.data.labels import Labels, number_labels
from intensor.data.observations import Observations
from intensor.errors import RemainderWarning, SettingError
from intensor.fitting.averaging import average_models, average_results
from intensor.fitting.journal import Journal
from intensor.fitting.kriging import (
    LONGEST,
    MOST_CELLS,
    SPARSEST,
    can_krige,
    krige,
)
from intensor.fitting.metrics import measure
from intensor.fitting.options import Options, Scale
from intensor.fitting.path import (
    BOXED,
    RadiusPath,
    Walk,
    approach,
    capture_walk,
    restore_walk,
    walk,
)
from intensor.fitting.preparation import Prepared, prepare
from intensor.fitting.record import Fit, Validation, spread_fit
from intensor.fitting.samples import Samples, sample, splits
from intensor.model.model import Model, shrunk
from intensor.model.predictor import Predictor
from intensor.model.remainder import Remainder
from intensor.runtime.budget import Budget, listen_for_interrupt
from intensor.runtime.memory import fitting_bytes, require_memory, spreading_bytes
from intensor.solver.loop import mean_squared_error, run
from intensor.solver.result import Progress, Result, Status, warn_if_empty
from intensor.solver.snapshot import capture_result, restore_result
from intensor.solver.variants import FAST

__all__ = ["Watch", "fit"]

LEAST_RTOL = 1e-9
"""The gap that is small enough even where held-out cells are predicted perfectly."""
TOLD = 20
"""Held-out cells from which on they are asked how close a fit should be."""
SCOUTED = 1 << 14
"""Observations that are enough to choose between scales; the radius is then chosen on all."""
SCOUTING = 0.5
"""Share of the time for the radius that choosing a scale may take."""
BRIEFLY = 0.02
"""Share of the time for the radius: when all scales are looked at in less, all are walked too."""
FOREMOST, CLEARLY = 2, 1.1
"""Scales that are walked after all were looked at, and how many times the least error is so much
worse that a scale is not."""
WALKING, APPROACHING, AVERAGING = 0.5, 0.4, 0.3
"""Shares of the time that is left: for the radius, then the gap, then what averaging gains."""
SPREAD = 1 << 20
"""Cells from which on the workers of a cluster sum over them; a round of messages takes as long
as summing over fewer."""
KRIGING, KRIGING_AT_MOST = 0.2, 0.7
"""Largest shares of the time for the last fit that a close and a rough kriging may reserve."""
KRIGING_CLOSELY, KRIGING_ROUGHLY = 6.0, 3.0
"""Seconds reserved for a close and a rough kriging, per second that validation needed for it."""
CUT_SHORT = (Status.TIME_LIMIT, Status.INTERRUPTED, Status.STOPPED, Status.ITERATION_LIMIT)
"""Statuses of solves that a limit or a user stopped before they were done."""
MOST_ABOVE_BEST = 1.1
"""Largest ratio of objectives, to that of the best solution, at which an unfinished solution is
still averaged with it."""
GRACE = 0.8
"""Most seconds that kriging may take after Ctrl-C."""
SCRATCH_RATIO = 2.0
"""Estimated time of a fit from scratch, as a multiple of the time that the walk took. With less
time left, the fit starts from the model of the walk."""
Watch = Callable[[str, Progress], bool | None]
"""Called with a word on what is being done ("radius 3.2", "fit", "fit 2 of 4") and the progress
of that solve; returning False ends the fit, with the best so far."""


def fit(
    coords: ArrayLike,
    values: ArrayLike,
    options: Options,
    *,
    shape: Iterable[int] | None = None,
    sample_weight: ArrayLike | None = None,
    labels: Labels | None = None,
    watch: Watch | None = None,
    client: Any = None,
    spent: float = 0.0,
) -> Fit:
    """Choose what is left to choose by validation, then fit all observations.

    Parameters
    ----------
    coords, values, shape, sample_weight
        As in ``solve``.
    options
        See ``check_options``.
    labels
        Names of modes and indices; numbers by default.
    watch
        Called with the progress.
    client
        Of a Dask cluster, over which folds, radii and scales are spread, and the cells of the last
        fit where there are many.
    spent
        Seconds of the time limit that the caller has used to get the observations ready.
    """
    journal = Journal(options.checkpoint)
    budget = Budget(options.solver.time_limit, before=journal.elapsed + spent)
    cells, lengths = check_coords(coords, shape if labels is None else labels.shape)
    numbers = check_values(values, cells.shape[0], allow_negative=False)
    check_not_tiny(numbers)
    weights = None if sample_weight is None else check_weights(sample_weight, numbers.size)
    condensing = max(lengths) > LONGEST and options.remainder != "kriging"
    needed = fitting_bytes(numbers.size, lengths, walk=FAST, solve=options.version)
    if condensing:
        most = tuple(min(length, numbers.size) for length in lengths)
        needed = fitting_bytes(numbers.size, most, walk=FAST, solve=options.version)
        needed += 2 * spreading_bytes(lengths)
    require_memory(
        needed,
        f"a fit of {numbers.size} observations in a tensor of {sum(lengths)} indices",
        advice="fit some of the observations, or solve from files with a radius of your own "
        "(intensor.solve with a path and memory_limit)",
        limit=options.memory_limit,
    )
    samples = Samples(coords=cells, values=numbers, weights=weights, shape=lengths)
    if weights is not None and not weights.all():
        samples = samples.part(weights > 0.0)
    if condensing:
        samples = samples.condensed()
    if samples.whole is not None:  # a remainder could not be spread
        options = replace(options, remainder="none")
    # Errors on held-out rows are sums too: in the order of the rows their last bits would depend on
    # it, and so could a choice between two fits.
    samples = samples.in_order()
    with listen_for_interrupt(budget), contextlib.closing(journal):
        found = _Fitting(samples, options, budget, watch, client, journal).fit(
            labels or number_labels(lengths)
        )
    if numbers.any():
        warn_if_empty(found.result)
    return found if samples.whole is None else spread_fit(found, samples.whole)


class _Fitting:
    """One fit on its way."""

    def __init__(
        self,
        samples: Samples,
        options: Options,
        budget: Budget,
        watch: Watch | None,
        client: Any,
        journal: Journal,
    ) -> None:
        self._samples = samples
        self._options = options
        self._budget = budget
        self._watch = watch
        self._client = client
        self._walked: Model | None = None
        self._walked_seconds = 0.0
        self._kriging_seconds = 0.0
        self._choosing = Budget(within=budget)
        self._journal = journal
        journal.begin(samples, options, budget, self._choosing)
        self._enough = False

    def fit(self, labels: Labels) -> Fit:
        options = self._options
        scale, radius, validation = options.scales[0], options.radius, None
        remainder = "none" if options.remainder == "auto" else options.remainder
        if remainder == "kriging":
            _check_kriging(prepare(self._samples, scale))
        pairs = self._split()
        if pairs:
            scale, radius, validation = self._validate(pairs)
            remainder = remainder if remainder == "kriging" else validation.path.remainder
        prepared = prepare(self._samples, scale)
        if options.radius is not None:
            means = prepared.observations.means
            warn_above_radius(np.abs(means) if prepared.signed else means, options.radius)
        results = self._solve_all(
            prepared,
            radius or prepared.largest,
            None if validation is None else validation.tolerance,
            "fit",
            self._before_kriging(self._budget, remainder),
            warm=remainder != "none",
        )
        result = average_results(results, prepared.observations)
        result = self._best_seen(result, prepared)
        return Fit(
            predictor=self._predictor(prepared, result.model, remainder),
            result=result,
            labels=labels,
            n=len(self._samples),
            n_solutions=len(results),
            validation=validation,
        )

    def _split(self) -> list[tuple[Samples, Samples]]:
        """Hold cells out for what is left to choose, if there is anything and time for it.

        A single cell leaves nothing to validate with. Small data is validated in any case.
        """
        options = self._options
        chosen = options.radius is not None and len(options.scales) == 1
        if chosen and options.n_solutions == 1 and options.remainder != "auto":
            return []
        large = len(self._samples) > SCOUTED
        if self._journal.choose("no splits", large and self._budget.spent):
            return []
        pairs = list(
            splits(
                self._samples,
                folds=options.folds,
                share=options.share,
                seed=options.solver.seed,
            )
        )
        return [] if self._journal.choose("no validation", large and self._budget.spent) else pairs

    def _validate(self, pairs: list[tuple[Samples, Samples]]) -> tuple[Scale, float, Validation]:
        """Choose scale and radius, and measure what averaging gains."""
        options = self._options
        journal = self._journal
        whole = self._part("walking", WALKING)
        scales = options.scales
        scouted: list[RadiusPath] = []
        walked: list[Walk] = []
        large = len(pairs[0][0]) > SCOUTED
        scouting = len(scales) > 1 and (large or math.isfinite(whole.remaining))
        if journal.choose("scouting", scouting):
            seed = options.solver.seed
            some = Budget(SCOUTING * whole.remaining, within=whole)
            first = pairs
            if large:
                training, held = (sample(part, SCOUTED, seed=seed) for part in pairs[0])
                first = [(training, held)]
            kriging = options.remainder != "none" and can_krige(pairs[0][0])
            walked = self._walk_all("scout", first, scales, some, until=whole, scouting=kriging)
            briefly = kriging and not large and some.elapsed < BRIEFLY * whole.remaining
            if journal.choose("briefly", briefly):
                walked = self._walk_all("walk", pairs, scales, some, until=whole)
                kriging = False
            if journal.choose(
                "scouted", large or kriging or some.spent
            ):  # else all of them came to their ends
                scouted = [replace(one.path, sampled=True) for one in walked]
                late = journal.choose("only scouted", whole.spent)
                foremost = min(walked, key=lambda one: one.path.error)
                walked = [foremost._replace(cut=True)] if late else []
                scales = _foremost(scales, scouted)
        walked = walked or self._walk_foremost("foremost", pairs, scales, whole)
        self._warn_if_never_kriged(walked)
        fooled = len(pairs[0][0]) > BOXED and can_krige(pairs[0][0]) and options.remainder == "auto"
        if fooled and not any(one.path.kriged[one.path.best] for one in walked):
            # Boxes were fitted to a sample for the sake of kriging, which is of no use here.
            self._options = options = replace(options, remainder="none")
            if not self._journal.choose("no boxes", whole.spent):
                again = self._walk_foremost("boxes", pairs, scales, whole)
                walked = walked if again[0].cut else again
        best = int(np.argmin([one.path.error for one in walked]))
        scale, chosen = scales[best], walked[best]
        self._remember(chosen, len(pairs))
        validation = Validation(
            metric=options.metric,
            folds=len(pairs),
            held_out=float(np.mean([len(held) for _, held in pairs])),
            paths=(*scouted, *(one.path for one in walked)),
            chosen=len(scouted) + best,
            error_of_mean=_error_of_the_mean(options.metric, pairs),
        )
        # A walk that was cut off says nothing about noise, and there is no time to fit closely.
        late = chosen.cut or self._budget.spent
        if options.adaptive and not late and sum(held.n_cells for _, held in pairs) >= TOLD:
            closer = self._approach(pairs, scale, validation.path, chosen.models)
            validation = replace(validation, approach=closer)
        averages = options.n_solutions > 1 and validation.path.remainder == "none"
        if averages and not journal.choose("no averages", self._budget.spent):
            validation = self._measure_averaging(pairs, scale, validation)
        return scale, validation.path.radius, validation

    def _approach(
        self,
        pairs: list[tuple[Samples, Samples]],
        scale: Scale,
        path: RadiusPath,
        models: tuple[Model, ...],
    ) -> tuple[tuple[float, float], ...]:
        """Find out how closely to fit at the radius of a path."""
        name = "approach"
        saved = self._journal.recall(name)
        if saved is not None:
            gaps = saved.finite_array("gaps", (None,))
            errors = saved.array("errors", "<f8", gaps.shape)
            return tuple(zip(gaps.tolist(), errors.tolist(), strict=True))
        notes = self._journal.under(name)
        whole = self._part("approaching", APPROACHING)
        before = notes.seconds
        found = approach(
            pairs,
            scale,
            self._options,
            path,
            models,
            budget=Budget(whole.remaining + before, within=whole, before=before),
            watch=self._watch_path(scale),
            client=self._client,
            notes=notes,
        )
        gaps, errors = np.array(found).reshape(-1, 2).T
        self._journal.record({name: {"gaps": gaps, "errors": errors}}, whole=name)
        return found

    def _walk_all(
        self,
        stage: str,
        pairs: list[tuple[Samples, Samples]],
        scales: tuple[Scale, ...],
        whole: Budget,
        *,
        until: Budget | None = None,
        scouting: bool = False,
    ) -> list[Walk]:
        """Walk a path for every scale, with an even share of the time each.

        The first one is always walked, the others as long as ``until`` is not spent either.
        What was walked in this stage before, the journal knows. On a cluster all of them are
        walked at the same time.
        """

        def walk_one(place: int) -> Walk:
            left = 1 if self._client is not None else len(scales) - place
            name = f"{stage}, {scales[place].name}"
            saved = self._journal.recall(name)
            if saved is not None:
                return restore_walk(saved, self._samples.shape)
            notes = self._journal.under(name)
            before = notes.seconds
            found = walk(
                pairs,
                scales[place],
                self._options,
                budget=Budget(whole.remaining / left + before, within=whole, before=before),
                watch=self._watch_path(scales[place]),
                scouting=scouting,
                client=self._client,
                notes=notes,
            )
            self._journal.record({name: capture_walk(found)}, whole=name)
            return found

        places = range(len(scales))
        if self._client is None:
            found: list[Walk] = []
            for place in places:
                late = bool(found) and (whole if until is None else until).spent
                if self._journal.choose(f"no {stage}, {scales[place].name}", late):
                    break
                found.append(walk_one(place))
            return found
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  (not at exit)

        with ThreadPoolExecutor(len(scales)) as pool:
            return list(pool.map(walk_one, places))

    def _walk_foremost(
        self,
        stage: str,
        pairs: list[tuple[Samples, Samples]],
        scales: tuple[Scale, ...],
        whole: Budget,
    ) -> list[Walk]:
        """Walk the path of the first scale, and of the others while there is time for as much."""
        walked: list[Walk] = []
        took = 0.0
        for scale in scales:
            late = took > whole.remaining or (bool(walked) and whole.spent)
            if self._journal.choose(f"no {stage}, {scale.name}", late):
                break
            start = whole.elapsed
            walked += self._walk_all(stage, pairs, (scale,), whole)
            took = whole.elapsed - start
        return walked

    def _measure_averaging(
        self, pairs: list[tuple[Samples, Samples]], scale: Scale, validation: Validation
    ) -> Validation:
        """Fit the training parts as often as asked, and compare one with the average."""
        single, averaged = [], []
        whole = self._part("averaging", AVERAGING)
        for place, (training, held) in enumerate(pairs):
            prepared = prepare(training, scale)
            budget = Budget(whole.remaining / (len(pairs) - place), within=whole)
            results = self._solve_all(
                prepared,
                validation.path.radius,
                validation.tolerance,
                f"average {place}",
                budget,
                "validation, ",
            )
            models = [result.model for result in results]

            def error(model: Model, prepared: Prepared = prepared, held: Samples = held) -> float:
                predicted = prepared.predictor(model).predict(held.coords, unseen="mean")
                return measure(self._options.metric, held.values, predicted, held.weights)

            single.append(float(np.mean([error(model) for model in models])))
            averaged.append(error(average_models(models)))
        return replace(validation, single=float(np.mean(single)), averaged=float(np.mean(averaged)))

    def _remember(self, walked: Walk, folds: int) -> None:
        """Remember the model of a walk, and how long it and kriging took."""
        path = walked.path
        self._walked = walked.models[0]
        self._walked_seconds = float(path.seconds[path.best]) / folds
        self._kriging_seconds = walked.kriging_seconds

    def _warn_if_never_kriged(self, walked: Sequence[Walk]) -> None:
        """Say so when a limit kept validation from looking at the remainder at all."""
        unknown = all(math.isinf(one.kriging_seconds) for one in walked)
        if unknown and self._options.remainder == "auto" and not self._choosing.interrupted:
            self._warn_no_kriging("to see whether kriging what the boxes leave helps")

    def _before_kriging(self, whole: Budget, remainder: str) -> Budget:
        """Return a budget that leaves some time for the remainder."""
        needed = 0.0
        if remainder != "none" and math.isfinite(whole.remaining):
            needed = max(
                min(KRIGING_CLOSELY * self._kriging_seconds, KRIGING * whole.remaining),
                min(KRIGING_ROUGHLY * self._kriging_seconds, KRIGING_AT_MOST * whole.remaining),
            )
        return Budget(whole.remaining - needed, within=whole)

    def _predictor(self, prepared: Prepared, model: Model, remainder: str) -> Predictor:
        """Return what predicts with a model, what it leaves kriged if that is wanted."""
        kriged: Remainder | None = None
        if remainder != "none":
            kriged = self._krige(prepared, model)
            if kriged is None:
                self._warn_no_kriging("to krige what the boxes leave, which is left out")
        return prepared.predictor(model, kriged)

    def _krige(self, prepared: Prepared, model: Model) -> Remainder | None:
        """Krige closely, or roughly where there is too little time; None when there is none.

        Roughly is how the validation did it, so that the choice holds for it too. After Ctrl-C
        it may take another moment, which is enough where tensors are small.
        """
        budget = Budget(GRACE) if self._budget.interrupted else self._budget

        def attempt(*, rough: bool) -> Remainder | None:
            solver = self._options.solver
            return krige(
                prepared.observations,
                model,
                budget=budget,
                threads=solver.threads,
                seed=solver.seed,
                rough=rough,
            )

        if math.isinf(budget.remaining):
            return attempt(rough=False)
        started = budget.elapsed
        found = attempt(rough=True)
        took = budget.elapsed - started
        if found is not None and KRIGING_CLOSELY * took <= budget.remaining:
            found = attempt(rough=False) or found
        return found

    def _warn_no_kriging(self, what: str) -> None:
        limit = self._options.solver.time_limit
        within = "before the fit was stopped" if limit is None else f"within {limit:g} s"
        warnings.warn(
            f"there was no time {what}, {within}; allow more time (time_limit), or do without "
            '(remainder="none")',
            RemainderWarning,
            stacklevel=2,
        )

    def _best_seen(self, result: Result, prepared: Prepared) -> Result:
        """Return a result that was cut short, with the model of the walk if that is better."""
        walked = self._walked
        if walked is None or result.status not in CUT_SHORT:
            return result
        model = shrunk(walked, result.model.radius)
        objective = mean_squared_error(model, prepared.observations, self._options.solver.threads)
        if objective >= result.objective:
            return result
        return replace(result, model=model, objective=objective)

    def _part(self, name: str, share: float) -> Budget:
        """Return a share of the time that is left; the same one when the fit is continued."""
        limit, elapsed = self._options.solver.time_limit or math.inf, self._budget.elapsed
        saved = self._journal.recall(name)
        if saved is not None and saved.number("limit") == limit:
            until = saved.number("until")
        else:
            until = elapsed + share * self._budget.remaining
            self._journal.record({name: {"limit": limit, "until": until}})
        return Budget(until - elapsed, within=self._choosing)

    def _solve_all(
        self,
        prepared: Prepared,
        radius: float,
        tolerance: float | None,
        name: str,
        whole: Budget,
        word: str = "",
        warm: bool = False,
    ) -> list[Result]:
        """Solve once per seed; a warm start goes on from the model of the walk.

        The name is that of the solves in the journal.
        """
        options = self._options
        exact = options.exact.oracle(
            prepared.observations,
            patient=options.version.patient,
            threads=options.solver.threads,
            time_limit=options.solver.time_limit,
            device=options.solver.device,
        )
        data: Data = prepared.observations
        if self._client is not None and can_spread(prepared.observations, options):
            from intensor.backends.sharded.distributed import (  # noqa: PLC0415  (distributed)
                spread_cells,
            )

            data = spread_cells(self._client, prepared.observations, options.solver.device)
        solver = replace(options.solver, radius=radius, signed=prepared.signed)
        if tolerance is not None:
            solver = replace(solver, rtol=LEAST_RTOL, tol=max(solver.tol, tolerance))
        results: list[Result] = []
        for place in range(options.n_solutions):
            if results and (whole.spent or self._enough):
                break
            many = options.n_solutions > 1
            late = whole.spent or self._enough  # go on from where the walk was, and no further
            share = whole.remaining / (options.n_solutions - place)
            short = share < SCRATCH_RATIO * self._walked_seconds
            go_on = late or ((warm or short) and not place and options.version.warm_start)
            entry = f"{name}, {place}"
            saved = self._journal.recall(entry)
            begin = self._walked if go_on and saved is None else None
            if saved is not None and "result" in saved:
                results.append(restore_result(saved.branch("result"), data.shape))
                continue
            before = saved.branch("run").finite("seconds") if saved is not None else 0.0
            result = run(
                data,
                version=FAST if begin is not None else options.version,
                exact=exact,
                start=begin,
                settings=replace(solver, seed=solver.seed + place),
                budget=Budget(share + before, within=whole, before=before),
                callback=self._watching(
                    f"{word}fit {place + 1} of {options.n_solutions}" if many else f"{word}fit"
                ),
                keeper=self._journal.keeper(entry),
            )
            if result.status is not Status.ITERATION_LIMIT:  # which another call may raise
                self._journal.record({entry: {"result": capture_result(result)}})
            results.append(result)
        return _worth_averaging(results)

    def _watch_path(self, scale: Scale) -> Callable[[str, Progress], bool]:
        several = len(self._options.scales) > 1

        def watch(word: str, progress: Progress) -> bool:
            return self._tell(f"{scale.name}, {word}" if several else word, progress)

        return watch

    def _watching(self, word: str) -> Callable[[Progress], bool]:
        return lambda progress: self._tell(word, progress)

    def _tell(self, word: str, progress: Progress) -> bool:
        """Pass the progress on; when told to stop, end all choosing too."""
        if self._watch is not None and self._watch(word, progress) is False:
            self._enough = self._choosing.interrupted = True
        return not self._enough


def _worth_averaging(results: list[Result]) -> list[Result]:
    """Return the results without those that a limit cut off far from the best."""
    least = min(result.objective for result in results)
    return [
        result
        for result in results
        if result.status not in CUT_SHORT or result.objective <= MOST_ABOVE_BEST * least
    ]


def _error_of_the_mean(metric: str, pairs: Sequence[tuple[Samples, Samples]]) -> float:
    """Return the error on held-out cells of the mean of all others."""
    errors = []
    for training, held in pairs:
        mean = float(np.average(training.values, weights=training.weights))
        guess = np.full(len(held), mean)
        errors.append(measure(metric, held.values, guess, held.weights))
    return float(np.mean(errors))


def _foremost(scales: tuple[Scale, ...], scouted: Sequence[RadiusPath]) -> tuple[Scale, ...]:
    """Return the best scale, and the second best where it is not clearly worse."""
    errors = np.array([path.error for path in scouted])
    best, *others = np.argsort(errors, kind="stable")[:FOREMOST].tolist()
    return tuple(scales[one] for one in (best, *others) if errors[one] <= CLEARLY * errors[best])


def can_spread(observations: Observations, options: Options) -> bool:
    """Whether a fit gains from having its cells on the workers of a cluster."""
    return (
        observations.n_cells >= SPREAD and observations.shares is None and options.version.anywhere
    )


def _check_kriging(prepared: Prepared) -> None:
    """Refuse a tensor that kriging cannot hold."""
    if not can_krige(prepared.observations):
        shape = prepared.observations.shape
        raise SettingError(
            f"remainder is 'kriging', which needs a tensor of at most {MOST_CELLS} cells, of "
            f"which at least one in {SPARSEST:g} is observed, and at least two modes of at most "
            f"{LONGEST} indices; got {' x '.join(map(str, shape))} with "
            f"{prepared.observations.n_cells} observed cells (use 'none' or 'auto')"
        )
