"""``intensor.fit``: fits a model to any container; ``complete`` fits in the same way."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any, Unpack

from intensor._arrays import FloatArray, IndexArray
from intensor.containers import open_container
from intensor.data.labels import Labels
from intensor.fitting.fit import fit as fit_observations
from intensor.fitting.options import fit_options
from intensor.fitting.record import Fit
from intensor.options import declared
from intensor.options.declared import FitOptions
from intensor.options.option import documented
from intensor.solver.loop import Callback
from intensor.solver.progress import show_progress


@documented(declared.DATA_OPTIONS)
def fit(
    data: Any,
    *,
    value: str | None = declared.VALUE.default,
    modes: Iterable[str] | None = declared.MODES.default,
    weight: str | None = declared.WEIGHT.default,
    callback: Callback | None = declared.CALLBACK.default,
    verbose: bool = declared.VERBOSE.default,
    client: Any = declared.CLIENT.default,
    **options: Unpack[FitOptions],
) -> Fit:
    """Fit a model to what is observed, and fill in nothing.

    It is the fit that ``complete`` returns beside the filled data, with everything chosen on
    held-out cells that is not given. Data in which nothing is missing is fitted without a warning.

    Parameters
    ----------
    data
        Any container that ``complete`` takes: a NumPy array with NaN, a masked array, a long table
        (pandas, polars or pyarrow) with a row per observation, an xarray ``DataArray``, a
        ``sparse.COO`` or a SciPy sparse array.
    {options}
    random_state
        Another name of ``seed``, with what ``TensorCompleter`` accepts for it.

    Returns
    -------
    Fit
        Predicts any cell, with certificate and labels.

    Examples
    --------
    >>> import intensor, polars as pl
    >>> trips = pl.DataFrame(
    ...     {"city": ["Oslo", "Oslo", "Rome"], "month": [1, 2, 1], "trips": [3.0, 2.0, 3.0]}
    ... )
    >>> found = intensor.fit(trips, value="trips", radius=3.0)
    >>> found.predict({"city": ["Rome"], "month": [2]}).round(3).tolist()
    [2.0]
    """
    work = DataFit(options, callback=callback, verbose=verbose, client=client)
    table = open_container(data, value=value, modes=modes, weight=weight).table
    return work.run(table.labels, *table.observed())


class DataFit:
    """A fit that is about to be made: its options are checked before the data is read.

    The time that it takes to read the data counts towards the time limit.
    """

    def __init__(
        self,
        options: Mapping[str, object],
        *,
        callback: Callback | None,
        verbose: bool,
        client: Any,
    ) -> None:
        self._callback = declared.CALLBACK.check(callback)
        self._verbose = declared.VERBOSE.check(verbose)
        self._client = client
        self._started = time.perf_counter()
        self.options = fit_options(options)

    def run(
        self, labels: Labels, coords: IndexArray, values: FloatArray, weights: FloatArray | None
    ) -> Fit:
        """Fit the observations of a container."""
        with show_progress(self._callback, verbose=self._verbose) as callback:
            return fit_observations(
                coords,
                values,
                self.options,
                sample_weight=weights,
                labels=labels,
                callback=callback,
                client=self._client,
                spent=time.perf_counter() - self._started,
            )
