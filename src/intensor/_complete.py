"""The front door for data in containers: what is missing in comes back filled, with its fit."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from typing import Any, Unpack

import numpy as np

from intensor._arrays import FloatArray
from intensor.containers.base import Container, open_container
from intensor.errors import DenseTooLargeError, NothingToFillWarning
from intensor.fitting.fit import fit
from intensor.fitting.options import fit_options
from intensor.fitting.record import Fit
from intensor.options import declared
from intensor.options.keywords import FitOptions
from intensor.options.option import documented
from intensor.runtime.memory import require_memory
from intensor.solver.loop import Callback

__all__ = ["complete"]

CELLS_AT_ONCE = 1 << 20
"""Missing cells that are predicted at a time, so that their coordinates take little room."""
FILLED = 16
"""Bytes that a cell which is filled in takes: the prediction, and its place in the container."""


@documented(declared.COMPLETE_OPTIONS)
def complete(
    data: Any,
    *,
    value: str | None = declared.VALUE.default,
    modes: Iterable[str] | None = declared.MODES.default,
    weight: str | None = declared.WEIGHT.default,
    cells: str = declared.CELLS.default,
    unseen: str = declared.UNSEEN.default,
    callback: Callback | None = declared.CALLBACK.default,
    client: Any = declared.CLIENT.default,
    **options: Unpack[FitOptions],
) -> tuple[Any, Fit]:
    """Fill in what is missing and return the same kind of container, with the fit.

    Parameters
    ----------
    data
        A NumPy array with NaN, a masked array, a long table (pandas, polars or pyarrow) with a
        row per observation, an xarray ``DataArray``, a ``sparse.COO`` or a SciPy sparse array.
    {options}
    random_state
        Another name of ``seed``, with what ``TensorCompleter`` accepts for it.

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
    declared.CELLS.check(cells)
    unseen = declared.UNSEEN.check(unseen)
    declared.CALLBACK.check(callback)
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
        limit=checked.memory_limit,
        error=DenseTooLargeError,
    )
    found = fit(
        observed.coords,
        observed.values,
        checked,
        sample_weight=observed.weights,
        labels=observed.labels,
        callback=callback,
        client=client,
        spent=time.perf_counter() - started,
    )
    return container.fill(_predict(found, container, unseen)), found


def _predict(found: Fit, container: Container, unseen: str) -> FloatArray:
    """Predict what is missing, a part at a time."""
    predicted = np.empty(container.n_missing)
    for start in range(0, predicted.size, CELLS_AT_ONCE):
        part = slice(start, min(start + CELLS_AT_ONCE, predicted.size))
        predicted[part] = found.predict(container.missing(part), unseen=unseen)
    return predicted
