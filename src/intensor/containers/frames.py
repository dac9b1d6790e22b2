"""Long tables: a row per observation, labels of any type, through narwhals.

pandas, polars and pyarrow are spoken to in one language, and none of them is imported unless the
data comes from it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from intensor._arrays import FloatArray, IndexArray
from intensor.containers.base import Observed, check_exact, check_observed, check_size
from intensor.containers.dense import fitting_dtype
from intensor.data.columns import encode, find_column, numbers_of
from intensor.data.doubts import warn_of_doubts
from intensor.data.labels import Labels
from intensor.data.observations import observe
from intensor.errors import (
    EmptyDataError,
    LabelError,
    SettingError,
    ValuesError,
)
from intensor.fitting.record import Fit
from intensor.model.predictor import UNSEEN

__all__ = ["FrameContainer", "is_frame", "predict_frame"]

Frame = nw.DataFrame[Any]


def is_frame(data: Any) -> bool:
    """Say whether narwhals knows it as a table that is in memory."""
    try:
        return isinstance(_wrap(data), nw.DataFrame)
    except TypeError:
        return False


def _wrap(data: Any) -> Frame:
    try:
        return nw.from_native(data, eager_only=True)
    except nw.exceptions.DuplicateError:
        raise LabelError(
            "two columns of the table have the same name; expected distinct names"
        ) from None


class FrameContainer:
    """A table with a row per observation.

    Parameters
    ----------
    value, modes, weight
        Names of columns.
    every
        Whether the result has a row for every combination of labels.
    """

    def __init__(
        self,
        data: Any,
        *,
        value: str | None,
        modes: Iterable[str] | None,
        weight: str | None,
        every: bool,
    ) -> None:
        self._data, self._frame, self._every = data, _wrap(data), every
        self._value, self._modes, self._weight = _choose(
            self._frame.columns, value=value, modes=modes, weight=weight
        )
        if len(self._frame) == 0:
            raise EmptyDataError("the table has no row; expected at least one observation")
        self._columns = [encode(self._frame.get_column(mode)) for mode in self._modes]
        self._coords = np.stack([column.codes for column in self._columns], axis=1)
        numbers = numbers_of(self._frame.get_column(self._value), role="value")
        self._rows = np.flatnonzero(np.isnan(numbers))
        there = np.flatnonzero(~np.isnan(numbers))

        def where(place: int) -> str:
            return f"in row {there[place]} of column {self._value!r}"

        self.observed = Observed(
            coords=self._coords[there],
            values=check_observed(numbers[there], where),
            weights=self._weights(there),
            labels=Labels(
                modes=tuple(map(str, self._modes)),
                indices=tuple(column.labels for column in self._columns),
                value=str(self._value),
            ),
        )
        if modes is None:
            warn_of_doubts(
                tuple(self.observed.coords.T),
                self.observed.labels,
                lambda kept: f"modes={kept!r}",
                stacklevel=4,
            )
        if every:
            self._check_repeatable()
            self._cells, self._values, self._unknown = self._all_cells()
        if (every or self.n_missing) and self._frame.get_column(self._value).dtype.is_integer():
            check_exact(self.observed)

    @property
    def n_missing(self) -> int:
        """Number of cells to predict: rows without a value, or combinations without one."""
        return len(self._unknown) if self._every else len(self._rows)

    def missing(self, part: slice) -> IndexArray:
        """Return some of the cells to predict."""
        if self._every:
            return self._cells[self._unknown[part]]
        return self._coords[self._rows[part]]

    def fill(self, predicted: FloatArray) -> Any:
        """Return a table of the same kind."""
        if self._every:
            return self._all_rows(predicted)
        if self.n_missing == 0:
            return self._data
        return self._with_values(self._frame, self._rows, predicted).to_native()

    def _weights(self, there: IndexArray) -> FloatArray | None:
        """Return the weights of the rows that have a value."""
        if self._weight is None:
            return None
        weights = numbers_of(self._frame.get_column(self._weight), role="weight")[there]
        wrong = ~((weights >= 0.0) & np.isfinite(weights))
        if wrong.any():
            place = int(np.argmax(wrong))
            raise ValuesError(
                f"the weight in row {there[place]} of column {self._weight!r} is {weights[place]}; "
                "expected a number >= 0"
            )
        return weights

    def _with_values(self, table: Frame, rows: IndexArray, numbers: FloatArray) -> Frame:
        """Return a table with other values in some rows, in a type that can hold them."""
        series = table.get_column(self._value)
        small = series.dtype == nw.Float32
        kept = np.dtype(np.float32) if small else np.dtype(np.float64)
        if small and fitting_dtype(kept, numbers) != kept:
            small, kept = False, np.dtype(np.float64)
        if not (small or series.dtype == nw.Float64):
            series = self._as_float64(table, series)
        changed = series.scatter(rows, numbers.astype(kept))
        return table.with_columns(changed.alias(self._value))

    def _as_float64(self, table: Frame, series: nw.Series[Any]) -> nw.Series[Any]:
        if series.dtype.is_numeric() or series.dtype == nw.Boolean:
            return series.cast(nw.Float64())
        return _new_series(table, self._value, numbers_of(series, role="value"))

    def _all_cells(self) -> tuple[IndexArray, FloatArray, IndexArray]:
        """Return all cells in order, the mean of what was observed, and where nothing was."""
        observed, shape = self.observed, self.observed.labels.shape
        n_cells = check_size(shape)
        cells = np.stack(np.unravel_index(np.arange(n_cells), shape), axis=1)
        means = observe(
            observed.coords, observed.values, shape=shape, sample_weight=observed.weights
        )
        places = np.ravel_multi_index(
            tuple(column.astype(np.int64) for column in means.coords), shape
        )
        values = np.full(n_cells, np.nan)
        values[places] = means.means
        return cells, values, np.flatnonzero(np.isnan(values))

    def _all_rows(self, predicted: FloatArray) -> Any:
        """Return the table of all cells: modes and value, in the order of the columns.

        Rows of the table that was given are repeated, so that every type stays as it is.
        """
        values = self._values.copy()
        values[self._unknown] = predicted
        rows = [column.first[self._cells[:, mode]] for mode, column in enumerate(self._columns)]
        kept = {self._value, *self._modes}
        frame = self._frame.select(nw.col(*(name for name in self._frame.columns if name in kept)))
        table = nw.maybe_reset_index(frame[rows[0], :])
        labels = [
            nw.maybe_reset_index(self._frame.get_column(name)[chosen])
            for name, chosen in zip(self._modes, rows, strict=True)
        ]
        table = self._with_values(table.with_columns(*labels), np.arange(values.size), values)
        return table.to_native()

    def _check_repeatable(self) -> None:
        """Raise when the rows of a column cannot be repeated: Arrow cannot do so for all types."""
        import pyarrow as pa  # noqa: PLC0415

        for name in (*self._modes, self._value):
            series = self._frame.get_column(name)
            try:
                series[[0, 0]]
            except (pa.ArrowException, TypeError, ValueError) as problem:
                raise LabelError(
                    f'the rows of column {name!r} cannot be repeated for cells="all", since its '
                    f"type does not allow it ({problem}); convert it to a plain one, such as string"
                ) from None


def predict_frame(fit: Fit, frame: Any, *, unseen: str = "error") -> Any:
    """Return a table of cells with a column of predictions, of the same kind.

    Parameters
    ----------
    frame
        A table of pandas, polars or pyarrow with a column for each mode of the fit, by its name;
        others are kept. A column that is called as the values of the fit are is replaced.
    unseen
        For labels without an observation in the fit: "error", or "mean" for the average over
        the observed indices of that mode.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from intensor import complete
    >>> from intensor.containers.frames import predict_frame
    >>> known = pa.table({"shop": ["a", "a", "b"], "day": [1, 2, 1], "value": [2.0, 2.0, None]})
    >>> _, fit = complete(known, radius=2.0)
    >>> predicted = predict_frame(fit, pa.table({"day": [2], "shop": ["a"]}))
    >>> predicted.column_names, round(predicted["value"][0].as_py(), 6)
    (['day', 'shop', 'value'], 2.0)
    """
    if unseen not in UNSEEN:
        raise SettingError(f"unseen is {unseen!r}; expected 'error' or 'mean'")
    if not is_frame(frame):
        raise ValuesError(
            f"cells are a {type(frame).__name__}; expected a table of pandas, polars or pyarrow"
        )
    table = _wrap(frame)
    series = _new_series(table, fit.labels.value, fit.predict(frame, unseen=unseen))
    return table.with_columns(series).to_native()


def _choose(
    columns: Sequence[Any], *, value: Any, modes: Iterable[Any] | None, weight: Any
) -> tuple[Any, list[Any], Any]:
    """Return the columns of values, modes and weights."""
    if value is None and "value" not in columns:
        near = difflib.get_close_matches("value", list(map(str, columns)), n=1)
        hint = f"did you mean value={near[0]!r}? " if near else ""
        raise LabelError(
            f'there is no column called "value"; {hint}say which one holds the values with '
            f"value=..., the columns are {', '.join(map(repr, columns))}"
        )
    values = find_column("value" if value is None else value, columns, role="values")
    weights = None if weight is None else find_column(weight, columns, role="weights")
    if modes is None:
        chosen = [name for name in columns if name not in (values, weights)]
    else:
        listed = _as_list(modes)
        chosen = [find_column(name, columns, role="modes") for name in listed]
    taken = [values, *chosen] if weights is None else [values, *chosen, weights]
    twice = next((name for name in taken if taken.count(name) > 1), None)
    if twice is not None:
        raise LabelError(
            f"column {twice!r} is asked for twice, as value, mode or weight; expected different "
            "columns"
        )
    texts = [str(name) for name in chosen]
    twin = next((name for name in chosen if texts.count(str(name)) > 1), None)
    if twin is not None:
        raise LabelError(
            f"two columns are called {str(twin)!r} when their names are written as text, as names "
            "of modes are; rename one of them, or name the modes that you want"
        )
    if not chosen:
        raise LabelError(
            f"the table has no column beside the values in {values!r}; expected at least one "
            "column of labels"
        )
    return values, chosen, weights


def _as_list(modes: Any) -> list[Any]:
    """Return the names of modes that were given as one name or several."""
    if isinstance(modes, str):
        return [modes]
    try:
        return list(modes)
    except TypeError:
        raise SettingError(
            f"modes is {modes!r}; expected the names of columns, e.g. modes=['user', 'item']"
        ) from None


def _new_series(table: Frame, name: Any, numbers: FloatArray) -> nw.Series[Any]:
    """Return a new column of numbers for a table."""
    series = nw.new_series("new", numbers, nw.Float64(), backend=table.implementation)
    return series.alias(name)
