"""The front door of fitting: observations and options in, a fit out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from intensor.budget import Budget, listen_for_interrupt
from intensor.checks import check_coords, check_values, check_weights, warn_above_radius
from intensor.data.labels import Labels, number_labels
from intensor.fitting.averaging import average_models, average_results
from intensor.fitting.metrics import measure
from intensor.fitting.options import Options, Scale
from intensor.fitting.path import walk
from intensor.fitting.preparation import Prepared, prepare
from intensor.fitting.record import Fit, Validation
from intensor.fitting.samples import Samples, splits
from intensor.model.model import Model
from intensor.oracles.cascade import exact_oracle
from intensor.solver.loop import run
from intensor.solver.result import Progress, Result

__all__ = ["Watch", "fit"]

CLOSE = 0.05
"""Share of the mean squared error on held-out cells that the gap may have with ``rtol="auto"``:
what is left to gain on the observations is then small beside what the predictions miss anyway."""
LEAST_RTOL = 1e-9
"""The gap that is small enough even where held-out cells are predicted perfectly."""
WALKING, AVERAGING = 0.5, 0.4
"""Shares of the time that is left for choosing a radius, and then for measuring averages."""
Watch = Callable[[str, Progress], bool | None]
"""Called with a word on what is being done ("radius 3.2", "fit", "fit 2 of 4") and the progress
of that solve; returning False ends it there, with the best so far."""


def fit(
    coords: ArrayLike,
    values: ArrayLike,
    options: Options,
    *,
    shape: Iterable[int] | None = None,
    sample_weight: ArrayLike | None = None,
    labels: Labels | None = None,
    watch: Watch | None = None,
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
    """
    budget = Budget(options.solver.time_limit)
    cells, lengths = check_coords(coords, shape if labels is None else labels.shape)
    numbers = check_values(values, cells.shape[0], allow_negative=False)
    weights = None if sample_weight is None else check_weights(sample_weight, numbers.size)
    samples = Samples(coords=cells, values=numbers, weights=weights, shape=lengths)
    with listen_for_interrupt(budget):
        return _Fitting(samples, options, budget, watch).fit(labels or number_labels(lengths))


class _Fitting:
    """One fit on its way."""

    def __init__(
        self, samples: Samples, options: Options, budget: Budget, watch: Watch | None
    ) -> None:
        self._samples = samples
        self._options = options
        self._budget = budget
        self._watch = watch
        self._walked: Model | None = None

    def fit(self, labels: Labels) -> Fit:
        options = self._options
        scale, radius, validation = options.scales[0], options.radius, None
        if radius is None or len(options.scales) > 1 or options.n_solutions > 1:
            pairs = list(
                splits(
                    self._samples,
                    folds=options.folds,
                    share=options.share,
                    seed=options.solver.seed,
                )
            )
            if pairs:  # a single cell leaves nothing to validate with
                scale, radius, validation = self._validate(pairs)
        prepared = prepare(self._samples, scale)
        if options.radius is not None:
            means = prepared.observations.means
            warn_above_radius(np.abs(means) if prepared.signed else means, options.radius)
        results = self._solve_all(
            prepared, radius or prepared.largest, _noise(validation), Budget(within=self._budget)
        )
        result = average_results(results, prepared.observations)
        return Fit(
            predictor=prepared.predictor(result.model),
            result=result,
            labels=labels,
            n=len(self._samples),
            n_solutions=len(results),
            validation=validation,
        )

    def _validate(self, pairs: list[tuple[Samples, Samples]]) -> tuple[Scale, float, Validation]:
        """Walk a path for every scale, take the best, and measure what averaging gains."""
        options = self._options
        whole = self._part(WALKING)
        walked = []
        for place, scale in enumerate(options.scales):
            left = len(options.scales) - place
            budget = Budget(whole.remaining / left, within=self._budget)
            walked.append(walk(pairs, scale, options, budget=budget, watch=self._watch_path(scale)))
        paths = [path for path, _ in walked]
        chosen = int(np.argmin([path.error for path in paths]))
        scale, self._walked = options.scales[chosen], walked[chosen][1]
        validation = Validation(
            metric=options.metric,
            folds=len(pairs),
            held_out=float(np.mean([len(held) for _, held in pairs])),
            paths=tuple(paths),
            chosen=chosen,
        )
        if options.n_solutions > 1:
            validation = self._measure_averaging(pairs, scale, validation)
        return scale, paths[chosen].radius, validation

    def _measure_averaging(
        self, pairs: list[tuple[Samples, Samples]], scale: Scale, validation: Validation
    ) -> Validation:
        """Fit the training parts as often as asked, and compare one with the average."""
        single, averaged = [], []
        whole = self._part(AVERAGING)
        for place, (training, held) in enumerate(pairs):
            prepared = prepare(training, scale)
            budget = Budget(whole.remaining / (len(pairs) - place), within=self._budget)
            results = self._solve_all(
                prepared, validation.path.radius, _noise(validation), budget, "validation, "
            )
            models = [result.model for result in results]

            def error(model: Model, prepared: Prepared = prepared, held: Samples = held) -> float:
                predicted = prepared.predictor(model).predict(held.coords, unseen="mean")
                return measure(self._options.metric, held.values, predicted, held.weights)

            single.append(float(np.mean([error(model) for model in models])))
            averaged.append(error(average_models(models)))
        return replace(validation, single=float(np.mean(single)), averaged=float(np.mean(averaged)))

    def _part(self, share: float) -> Budget:
        """Return a share of the time that is left."""
        return Budget(share * self._budget.remaining, within=self._budget)

    def _solve_all(
        self, prepared: Prepared, radius: float, noise: float, whole: Budget, word: str = ""
    ) -> list[Result]:
        """Solve once per seed."""
        options = self._options
        exact = exact_oracle(
            options.exact,
            prepared.observations,
            patient=options.version != "fast",
            threads=options.solver.threads,
            time_limit=options.solver.time_limit,
        )
        solver = replace(options.solver, radius=radius, signed=prepared.signed)
        if options.adaptive and noise > 0.0:
            solver = replace(solver, rtol=LEAST_RTOL, tol=max(solver.tol, CLOSE * noise))
        results: list[Result] = []
        for place in range(options.n_solutions):
            if results and whole.spent:
                break
            many = options.n_solutions > 1
            late = whole.spent  # the walk was stopped: go on from where it was, and no further
            results.append(
                run(
                    prepared.observations,
                    version="fast" if late and self._walked else options.version,
                    exact=exact,
                    start=self._walked if late else None,
                    settings=replace(solver, seed=solver.seed + place),
                    budget=Budget(whole.remaining / (options.n_solutions - place), within=whole),
                    callback=self._watching(
                        f"{word}fit {place + 1} of {options.n_solutions}" if many else f"{word}fit"
                    ),
                )
            )
        return results

    def _watch_path(self, scale: Scale) -> Callable[[str, Progress], bool]:
        several = len(self._options.scales) > 1

        def watch(word: str, progress: Progress) -> bool:
            told = f"{scale.name}, {word}" if several else word
            return self._watch is None or self._watch(told, progress) is not False

        return watch

    def _watching(self, word: str) -> Callable[[Progress], bool]:
        return lambda progress: self._watch is None or self._watch(word, progress) is not False


def _noise(validation: Validation | None) -> float:
    """Return the mean squared error on held-out cells, in the fitted scale, if it is known."""
    return 0.0 if validation is None else float(validation.path.noise[validation.path.best])
