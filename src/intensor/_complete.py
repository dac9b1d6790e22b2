"""``intensor.complete``: fills the missing cells of any container and returns the fit too."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any, Unpack

import numpy as np

from intensor._arrays import FloatArray, IndexArray
from intensor._fit import DataFit
from intensor.containers import Container, open_container
from intensor.errors import DenseTooLargeError, NothingToFillWarning
from intensor.fitting.record import Fit, predict_cells
from intensor.model.predictor import UnseenCells, index_counts, known_cells
from intensor.options import declared
from intensor.options.declared import FitOptions
from intensor.options.option import documented
from intensor.options.unseen import Unseen
from intensor.runtime.memory import require_memory
from intensor.solver.loop import Callback

CELLS_AT_ONCE = 1 << 20
"""Number of cells that are predicted at once, so that their coordinates take little memory."""
BYTES_PER_FILLED_CELL = 16
"""Bytes that a filled cell takes: the prediction, and its position in the container."""


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
    verbose: bool = declared.VERBOSE.default,
    client: Any = declared.CLIENT.default,
    **options: Unpack[FitOptions],
) -> tuple[Any, Fit]:
    """Fill in the missing cells and return the same kind of container, with the fit.

    What is not given is chosen on held-out cells, which lie like the missing ones. The prediction
    is a blend of the candidates that are good together: models of terms in several scales, main
    effects, interpolation and a smooth field. ``fit.validation`` says what error to expect of it. A
    radius that is given asks for one problem and its proof.

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
    declared.CELLS.check(cells)
    chosen = declared.UNSEEN.check(unseen)
    work = DataFit(options, callback=callback, verbose=verbose, client=client)
    container = open_container(data, value=value, modes=modes, weight=weight, every=cells == "all")
    coords, values, weights = container.table.observed()
    if container.n_missing == 0:
        warnings.warn(
            "the data has no missing cell, so that nothing is filled in; the fit predicts any "
            'cell (and cells="all" returns those that a table or sparse array does not list); '
            "intensor.fit returns the fit alone",
            NothingToFillWarning,
            stacklevel=2,
        )
    require_memory(
        BYTES_PER_FILLED_CELL * container.n_missing,
        f"filling in {container.n_missing} cells",
        advice='predict the cells you need with the fit of cells="missing", a block at a time',
        limit=work.options.memory_limit,
        error=DenseTooLargeError,
    )
    _report_unseen(container, coords, weights, chosen)
    found = work.run(container.table.labels, coords, values, weights)
    return container.fill(_predict(found, container)), found


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
        predicted[part] = predict_cells(found, container.missing(part), unseen=Unseen.MEAN)
    return predicted


def _parts(n_cells: int, at_once: int) -> Iterator[slice]:
    for start in range(0, n_cells, at_once):
        yield slice(start, min(start + at_once, n_cells))
