"""A fit from start to end: check the observations, choose by validation, combine solutions."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from intensor._arrays import Shape
from intensor.data.checks import check_coords, check_not_tiny, check_values, check_weights
from intensor.data.labels import Labels, number_labels
from intensor.errors import ValidationWarning
from intensor.fitting.choose import MIN_HELD_OUT, choose
from intensor.fitting.combine import Choice, combine
from intensor.fitting.journal import Journal
from intensor.fitting.kriging import MAX_MODE_LENGTH, check_kriging
from intensor.fitting.options import Options, RemainderMethod
from intensor.fitting.record import Fit, Validation, expand_fit
from intensor.fitting.samples import Samples
from intensor.fitting.session import Session
from intensor.runtime.budget import Budget, listen_for_interrupt
from intensor.runtime.memory import expanding_bytes, fitting_bytes, require_memory
from intensor.runtime.threads import one_blas_thread
from intensor.solver.loop import Callback
from intensor.solver.result import warn_if_empty
from intensor.solver.variants import FAST

REFIT_ADVICE = "the earlier fit has a kriged remainder or a smooth field; fit these data anew"
"""Advice for observations that cannot be fitted as those of an earlier fit were."""
POOR_SPREADS = 2.0
"""Standard errors by which the held-out error must be above that of the mean for a warning."""


def fit(
    coords: ArrayLike,
    values: ArrayLike,
    options: Options,
    *,
    shape: Iterable[int] | None = None,
    sample_weight: ArrayLike | None = None,
    labels: Labels | None = None,
    callback: Callback | None = None,
    client: Any = None,
    spent: float = 0.0,
    choice: Choice | None = None,
) -> Fit:
    """Choose all that the options leave open by validation, then fit all observations.

    Arguments mean the same as in ``complete``. ``spent`` are the seconds of the time limit that the
    caller has used to get the observations ready. With a ``choice`` nothing is left to choose.
    """
    journal = Journal(options.checkpoint)
    budget = Budget(options.solver.time_limit, before=journal.elapsed + spent)
    lengths = shape if labels is None else labels.shape
    samples = _check_samples(coords, values, options, shape=lengths, sample_weight=sample_weight)
    if options.remainder is RemainderMethod.KRIGING:
        check_kriging(samples, **({} if choice is None else {"advice": REFIT_ADVICE}))
    with listen_for_interrupt(budget), contextlib.closing(journal), one_blas_thread():
        session = Session(
            samples, options, budget=budget, journal=journal, callback=callback, client=client
        )
        chosen = choose(session) if choice is None else choice
        found = combine(session, chosen, labels or number_labels((samples.full or samples).shape))
    if samples.values.any():
        warn_if_empty(found.result)
    if found.validation is not None:
        _warn_if_poor(found.validation)
    found = replace(found, clip=options.clip)
    return found if samples.full is None else expand_fit(found, samples.full)


def _warn_if_poor(validation: Validation) -> None:
    """Warn of a fit that predicts held-out cells worse than their mean, beyond chance."""
    error, of_mean = validation.expected_error, validation.error_of_mean
    chance = POOR_SPREADS * (validation.spread or 0.0)
    few = validation.folds * validation.held_out < MIN_HELD_OUT
    if of_mean is None or few or not error > of_mean + chance:
        return
    warnings.warn(
        f"the fit predicts held-out cells worse than their mean does: {validation.metric} "
        f"{error:.4g}, of the mean {of_mean:.4g}; allow more time (time_limit) or other choices "
        '(remainder="auto", n_solutions="auto"), or take it that these modes do not tell values',
        ValidationWarning,
        stacklevel=3,
    )


def _check_samples(
    coords: ArrayLike,
    values: ArrayLike,
    options: Options,
    *,
    shape: Iterable[int] | None,
    sample_weight: ArrayLike | None,
) -> Samples:
    """Check the observations, once for the entire fit, and put them in order.

    Observations of weight 0 are dropped. Long modes are cut down to the indices that occur, unless
    kriging was asked for: then the tensor is refused.
    """
    cells, lengths = check_coords(coords, shape)
    numbers = check_values(values, cells.shape[0], allow_negative=False)
    check_not_tiny(numbers)
    weights = None if sample_weight is None else check_weights(sample_weight, numbers.size)
    kriging = options.remainder is RemainderMethod.KRIGING
    condensing = max(lengths) > MAX_MODE_LENGTH and not kriging
    _require_memory(numbers.size, lengths, options, condensing=condensing)
    samples = Samples(coords=cells, values=numbers, weights=weights, shape=lengths)
    if weights is not None and not weights.all():
        samples = samples.part(weights > 0.0)
    return (samples.condensed() if condensing else samples).in_order()


def _require_memory(n: int, lengths: Shape, options: Options, *, condensing: bool) -> None:
    """Refuse a fit that would need more memory than there is."""
    occurring = tuple(min(length, n) for length in lengths) if condensing else lengths
    needed = fitting_bytes(n, occurring, walk=FAST, solve=options.version)
    if condensing:
        needed += 2 * expanding_bytes(lengths)
    require_memory(
        needed,
        f"a fit of {n} observations in a tensor of {sum(lengths)} indices",
        advice="fit some of the observations, or solve from files with a radius of your own "
        "(intensor.solve with a path and memory_limit)",
        limit=options.memory_limit,
    )
