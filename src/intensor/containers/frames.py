"""Long tables: a row per observation, labels of any type, through narwhals.

pandas, polars and pyarrow are used through one interface, and none of them is imported unless the
data comes from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import narwhals as nw
import numpy as np

from intensor._arrays import FloatArray, IndexArray
from intensor.containers.arrays import fitting_dtype
from intensor.containers.base import TableContainer, check_exact, check_observed
from intensor.data.checks import find_bad_weight, raise_bad
from intensor.data.columns import choose_columns
from intensor.data.doubts import warn_of_doubts
from intensor.data.labels import Labels
from intensor.data.series import encode_series, open_frame, read_numbers
from intensor.data.table import Table
from intensor.errors import EmptyDataError, LabelError, ValuesError
from intensor.options import declared

Frame = nw.DataFrame[Any]


class Predicting(Protocol):
    """A fit, as far as tables are concerned."""

    @property
    def labels(self) -> Labels:
        """Names of modes and indices."""

    def predict(self, coords: Any, *, unseen: str) -> FloatArray:
        """Return predictions for the cells of a table."""


class FrameContainer(TableContainer):
    """A table of pandas, polars or pyarrow with a row per observation, also as narwhals has it."""

    def __init__(
        self,
        data: Any,
        frame: Frame,
        *,
        value: str | None,
        modes: Iterable[str] | None,
        weight: str | None,
        every: bool,
        advice: Callable[[], str] = str,
    ) -> None:
        self._data, self._frame = data, frame
        self._choice = choose_columns(
            frame.columns, value=value, modes=modes, weight=weight, advice=advice
        )
        if len(frame) == 0:
            raise EmptyDataError("the table has no row; expected at least one observation")
        table = self._read()
        if modes is None:
            there = ~np.isnan(table.values)
            observed = [codes[there] for codes in table.codes]
            warn_of_doubts(observed, table.labels, lambda kept: f"modes={kept!r}", stacklevel=5)
        if every:
            self._check_repeatable()
        super().__init__(table, every=every)
        integers = frame.get_column(self._choice.value).dtype.is_integer()
        if integers and (every or self.n_missing):
            check_exact(table.values)

    def _read(self) -> Table:
        """Return all rows, with labels encoded and numbers checked."""
        modes, value, weight = self._choice
        encoded = [encode_series(self._frame.get_column(mode)) for mode in modes]
        values = check_observed(
            read_numbers(self._frame.get_column(value), role="value"),
            lambda row: f"the value in row {row} of column {value!r}",
        )
        weights = None
        if weight is not None:
            weights = read_numbers(self._frame.get_column(weight), role="weight")
            there = np.flatnonzero(~np.isnan(values))
            raise_bad(
                find_bad_weight(weights[there]),
                lambda row: f"the weight in row {there[row]} of column {weight!r}",
            )
        return Table(
            labels=Labels(
                modes=tuple(map(str, modes)),
                indices=tuple(column.labels for column in encoded),
                value=str(value),
            ),
            codes=tuple(column.codes for column in encoded),
            values=values,
            weights=weights,
        )

    def fill(self, predicted: FloatArray) -> Any:
        """Return a table of the same kind."""
        if self._every:
            return self._all_rows(super().fill(predicted))
        if self.n_missing == 0:
            return self._data
        rows = np.flatnonzero(np.isnan(self.table.values))
        return fill_column(self._frame, self._choice.value, rows, predicted).to_native()

    def _all_rows(self, filled: Table) -> Any:
        """Return the table of all cells: modes and value, in the order of the columns.

        Rows of the given table are repeated, so that every type stays as it is.
        """
        modes, value, _ = self._choice
        rows = [  # np.unique finds the first row of each label
            np.unique(codes, return_index=True)[1][wanted]
            for codes, wanted in zip(self.table.codes, filled.codes, strict=True)
        ]
        kept = [name for name in self._frame.columns if name in {value, *modes}]
        table = nw.maybe_reset_index(self._frame.select(nw.col(*kept))[rows[0], :])
        labels = [
            nw.maybe_reset_index(self._frame.get_column(name)[chosen])
            for name, chosen in zip(modes, rows, strict=True)
        ]
        table = table.with_columns(*labels)
        return fill_column(table, value, np.arange(len(filled)), filled.values).to_native()

    def _check_repeatable(self) -> None:
        """Raise when the rows of a column cannot be repeated, as Arrow cannot for some types."""
        import pyarrow as pa  # noqa: PLC0415

        for name in (*self._choice.modes, self._choice.value):
            series = self._frame.get_column(name)
            try:
                series[[0, 0]]
            except (pa.ArrowException, TypeError, ValueError) as problem:
                raise LabelError(
                    f'the rows of column {name!r} cannot be repeated for cells="all", since its '
                    f"type does not allow it ({problem}); convert it to a plain one, such as string"
                ) from None


def fill_column(table: Frame, name: Any, rows: IndexArray, numbers: FloatArray) -> Frame:
    """Return a table with other values in some rows of a column, in a type that can hold them."""
    series = table.get_column(name)
    small = series.dtype == nw.Float32
    kept = fitting_dtype(np.dtype(np.float32 if small else np.float64), numbers)
    if series.dtype != (nw.Float32 if kept == np.float32 else nw.Float64):
        if series.dtype.is_numeric() or series.dtype == nw.Boolean:
            series = series.cast(nw.Float64())
        else:
            series = _new_series(table, series.name, read_numbers(series, role="value"))
    return table.with_columns(series.scatter(rows, numbers.astype(kept)).alias(name))


def predict_frame(fit: Predicting, frame: Any, *, unseen: str = declared.UNSEEN.default) -> Any:
    """Return a table of cells with a column of predictions, of the same kind.

    The table of pandas, polars or pyarrow has a column for each mode of the fit, by its name;
    others are kept, and one that is named like the values of the fit is replaced. Labels without an
    observation in the fit are treated as in ``Fit.predict``: "mean", "warn" or "error".

    Examples
    --------
    >>> import pyarrow as pa
    >>> from intensor import complete
    >>> from intensor.containers.frames import predict_frame
    >>> known = pa.table({"shop": ["a", "a", "b"], "day": [1, 2, 1], "value": [2.0, 2.0, 2.0]})
    >>> _, fit = complete(known, cells="all", radius=2.0)
    >>> predicted = predict_frame(fit, pa.table({"day": [2], "shop": ["a"]}))
    >>> predicted.column_names, round(predicted["value"][0].as_py(), 6)
    (['day', 'shop', 'value'], 2.0)
    """
    table = open_frame(frame)
    if table is None:
        raise ValuesError(
            f"cells are a {type(frame).__name__}; expected a table of pandas, polars or pyarrow"
        )
    series = _new_series(table, fit.labels.value, fit.predict(frame, unseen=unseen))
    return table.with_columns(series).to_native()


def _new_series(table: Frame, name: Any, numbers: FloatArray) -> nw.Series[Any]:
    """Return a new column of numbers for a table."""
    series = nw.new_series("new", numbers, nw.Float64(), backend=table.implementation)
    return series.alias(name)
