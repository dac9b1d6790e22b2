"""``intensor.complete``: fills the missing cells of any container, and returns the fit with it."""

from __future__ import annotations

import difflib
import inspect
import numbers
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from intensor._arrays import FloatArray, IndexArray
from intensor.containers.base import Container, open_container
from intensor.errors import DenseTooLargeError, NothingToFillWarning, SettingError
from intensor.fitting.entry import Watch, fit
from intensor.fitting.options import Options, check_options
from intensor.fitting.record import Fit
from intensor.model.predictor import UnseenCells, index_counts, known_cells
from intensor.options.unseen import Unseen, as_unseen
from intensor.runtime.memory import require_memory

__all__ = ["complete", "fit_options"]

CELLS = ("missing", "all")
"""Values of the option ``cells``."""
CELLS_AT_ONCE = 1 << 20
"""Missing cells that are predicted at once, so that their coordinates take little memory."""
BYTES_PER_FILLED_CELL = 16
"""Bytes that a filled cell takes: the prediction, and its position in the container."""


def complete(
    data: Any,
    *,
    value: str | None = None,
    modes: Iterable[str] | None = None,
    weight: str | None = None,
    cells: str = "missing",
    unseen: str = "warn",
    callback: Watch | None = None,
    **options: Any,
) -> tuple[Any, Fit]:
    """Fill in the missing cells and return the same kind of container, with the fit.

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
        What to do about an index without a single observation. "warn" and "mean" predict the
        average over the observed indices of that mode; "warn" also issues an
        ``UnseenIndexWarning``. "error" raises an ``UnseenIndexError`` before the fit.
    callback
        Called with a word on what is being done and its ``Progress``; False ends the solve.
    **options
        How to fit, by the names that ``TensorCompleter`` has for them: radius, transform,
        baseline, remainder, n_solutions, validation, scoring, n_radii, version, tol, rtol,
        max_iterations, time_limit, random_state, threads, exact, device, checkpoint,
        checkpoint_every, resume.

    Returns
    -------
    completed
        A new container of the same type. Observed values stay as they were; a type that holds
        integers only becomes floating when predictions enter it.
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
    chosen = as_unseen(unseen)
    started = time.perf_counter()
    checked = fit_options(options)
    container = open_container(data, value=value, modes=modes, weight=weight, every=cells == "all")
    coords, values, weights = container.table.observed()
    if container.n_missing == 0:
        warnings.warn(
            "the data has no missing cell, so that nothing is filled in; the fit predicts any "
            'cell (and cells="all" returns those that a table or sparse array does not list)',
            NothingToFillWarning,
            stacklevel=2,
        )
    require_memory(
        BYTES_PER_FILLED_CELL * container.n_missing,
        f"filling in {container.n_missing} cells",
        advice='predict the cells you need with the fit of cells="missing", a block at a time',
        error=DenseTooLargeError,
    )
    _report_unseen(container, coords, weights, chosen)
    found = fit(
        coords,
        values,
        checked,
        sample_weight=weights,
        labels=container.table.labels,
        watch=callback,
        spent=time.perf_counter() - started,
    )
    return container.fill(_predict(found, container)), found


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


def _report_unseen(
    container: Container, coords: IndexArray, weights: FloatArray | None, unseen: Unseen
) -> None:
    """Raise or warn if a cell to fill has an index without observations, before the fit."""
    if unseen is Unseen.MEAN:
        return
    labels, source = container.table.labels, container.table.source
    counts = index_counts(tuple(coords.T), labels.shape, weights)
    found = UnseenCells()
    for part in _parts(container.n_missing, CELLS_AT_ONCE):
        found.add(known_cells(container.missing(part), counts, labels.shape))

    def describe(row: int, mode: int) -> str:
        index = container.missing(slice(row, row + 1))[0, mode]
        (label,) = labels.indices[mode][index : index + 1].tolist()
        prefix = "" if source is None else f"{source.path}: "
        return f"{prefix}no observation has the label {label!r} in mode {labels.modes[mode]!r}"

    found.report(unseen, describe, stacklevel=4)


def _predict(found: Fit, container: Container, at_once: int = CELLS_AT_ONCE) -> FloatArray:
    """Predict the missing cells, a part at a time."""
    predicted = np.empty(container.n_missing)
    for part in _parts(predicted.size, at_once):
        predicted[part] = found.predictor.predict(container.missing(part), unseen=Unseen.MEAN)
    return predicted


def _parts(n_cells: int, at_once: int) -> Iterator[slice]:
    for start in range(0, n_cells, at_once):
        yield slice(start, min(start + at_once, n_cells))
