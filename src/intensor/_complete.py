"""The front door for data in containers: what is missing in comes back filled, with its fit."""

from __future__ import annotations

import difflib
import inspect
import numbers
import time
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from intensor._arrays import FloatArray
from intensor.containers.base import Container, open_container
from intensor.errors import DenseTooLargeError, NothingToFillWarning, SettingError
from intensor.fitting.fit import fit
from intensor.fitting.options import Options, check_options
from intensor.fitting.record import Fit
from intensor.model.predictor import UNSEEN
from intensor.runtime.memory import require_memory
from intensor.solver.loop import Callback

__all__ = ["complete", "fit_options"]

CELLS = ("missing", "all")
CELLS_AT_ONCE = 1 << 20
"""Missing cells that are predicted at a time, so that their coordinates take little room."""
FILLED = 16
"""Bytes that a cell which is filled in takes: the prediction, and its place in the container."""


def complete(
    data: Any,
    *,
    value: str | None = None,
    modes: Iterable[str] | None = None,
    weight: str | None = None,
    cells: str = "missing",
    unseen: str = "mean",
    callback: Callback | None = None,
    **options: Any,
) -> tuple[Any, Fit]:
    """Fill in what is missing and return the same kind of container, with the fit.

    Parameters
    ----------
    data
        A NumPy array with NaN, a masked array, a long table (pandas, polars or pyarrow) with a
        row per observation, an xarray ``DataArray``, a ``sparse.COO`` or a SciPy sparse array.
    value
        Of a table: the column of the values; by default the one called "value". Null or NaN in
        it is a missing value, to be filled.
    modes
        Of a table: the columns whose labels say which cell it is; by default all others.
    weight
        Of a table: a column that says how much each row counts; by default all the same.
    cells
        "missing" fills the cells that are there and have no value: NaN, masked, null. "all"
        returns every cell, also those that a table or sparse array does not list.
    unseen
        For an index without a single observation: "mean" predicts the average over the observed
        indices of that mode, "error" raises.
    callback
        Called with a ``Progress`` after every iteration, whose ``stage`` says what is being solved;
        returning False ends the fit with the best model so far.
    **options
        How to fit, by the names that ``TensorCompleter`` has for them: radius, transform,
        baseline, remainder, n_solutions, validation, scoring, n_radii, version, tol, rtol,
        max_iterations, time_limit, random_state, threads, exact, device, checkpoint,
        checkpoint_every, resume.

    Returns
    -------
    completed
        A new container of the same type. What was observed is as it was; a type that holds whole
        numbers only becomes floating when predictions enter it.
    fit
        Predicts any cell, with certificate and labels.

    Examples
    --------
    >>> import numpy as np
    >>> from intensor import complete
    >>> table = np.outer([1.0, 2.0, 4.0], [1.0, 3.0, 2.0])
    >>> table[1, 2] = np.nan
    >>> completed, fit = complete(table, radius=12.0)
    >>> bool(np.isnan(completed).any()), completed[2].tolist(), fit.status.name
    (False, [4.0, 12.0, 8.0], 'OPTIMAL')

    A long table, with labels:

    >>> import polars as pl
    >>> trips = pl.DataFrame(
    ...     {"city": ["Oslo", "Oslo", "Rome"], "month": [1, 2, 1], "trips": [3.0, 2.0, 3.0]}
    ... )
    >>> completed, fit = complete(trips, value="trips", cells="all", radius=3.0)
    >>> completed.select("city", "month").rows()
    [('Oslo', 1), ('Oslo', 2), ('Rome', 1), ('Rome', 2)]
    >>> completed["trips"].null_count(), fit.labels.modes
    (0, ('city', 'month'))
    """
    if cells not in CELLS:
        raise SettingError(f"cells is {cells!r}; expected 'missing' or 'all'")
    if unseen not in UNSEEN:
        raise SettingError(f"unseen is {unseen!r}; expected 'error' or 'mean'")
    started = time.perf_counter()
    checked = fit_options(options)
    container = open_container(data, value=value, modes=modes, weight=weight, every=cells == "all")
    observed = container.observed
    if container.n_missing == 0:
        warnings.warn(
            "the data has no missing cell, so that nothing is filled in; the fit predicts any "
            'cell (and cells="all" returns those that a table or sparse array does not list)',
            NothingToFillWarning,
            stacklevel=2,
        )
    require_memory(
        FILLED * container.n_missing,
        f"filling in {container.n_missing} cells",
        advice='predict the cells you need with the fit of cells="missing", a block at a time',
        error=DenseTooLargeError,
    )
    found = fit(
        observed.coords,
        observed.values,
        checked,
        sample_weight=observed.weights,
        labels=observed.labels,
        callback=callback,
        spent=time.perf_counter() - started,
    )
    return container.fill(_predict(found, container, unseen)), found


def fit_options(words: Mapping[str, Any]) -> Options:
    """Return the options that words stand for, with the seed drawn from ``random_state``."""
    named = dict(words)
    known = [name for name in inspect.signature(check_options).parameters if name != "seed"]
    for word in named:
        if word not in (*known, "random_state"):
            near = difflib.get_close_matches(word, [*known, "random_state"], n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(known)}"
            raise SettingError(f"there is no option {word!r}; {hint}")
    return check_options(seed=_seed(named.pop("random_state", 0)), **named)


def _seed(random_state: Any) -> int:
    """Return a seed: the integer that is given, or one drawn from what is given."""
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        return int(random_state)
    if random_state is None:
        random_state = np.random.default_rng()
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    raise SettingError(
        f"random_state is {random_state!r}; expected an integer >= 0, a RandomState, a Generator "
        "or None"
    )


def _predict(found: Fit, container: Container, unseen: str) -> FloatArray:
    """Predict what is missing, a part at a time."""
    predicted = np.empty(container.n_missing)
    for start in range(0, predicted.size, CELLS_AT_ONCE):
        part = slice(start, min(start + CELLS_AT_ONCE, predicted.size))
        predicted[part] = found.predict(container.missing(part), unseen=unseen)
    return predicted
