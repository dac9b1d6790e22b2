"""Wide tables: a column for each index of one mode, as ``pivot`` makes them.

Only a table of pandas says by itself that it is wide: ``pivot``, ``unstack`` and ``crosstab`` name
both its index and its columns. It is read as a matrix. For any other table the error about missing
values says how to make it long, since numbers in several columns may be anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import narwhals as nw
import numpy as np

from intensor._arrays import FloatArray
from intensor.containers.arrays import is_a
from intensor.containers.base import TableContainer, check_exact, check_observed
from intensor.containers.frames import Frame, fill_column
from intensor.data.columns import (
    can_be_listed,
    choose_modes,
    describe_melt,
    melting_code,
    quote_name,
)
from intensor.data.labels import Encoded, Labels
from intensor.data.series import encode_series, read_numbers
from intensor.data.table import Table
from intensor.errors import EmptyDataError, LabelError

VALUE = "value"
"""Name of the values of a wide table, which has none for them."""


def is_wide(data: Any, frame: Frame) -> bool:
    """Say whether a table is a matrix whose index and columns are two modes, without a doubt.

    That is a table of pandas in which both axes have a name, all columns hold numbers and none of
    them is called "value".
    """
    if not is_a(data, "pandas", "DataFrame") or data.index.nlevels > 1 or data.columns.nlevels > 1:
        return False
    named = data.index.name is not None and data.columns.name is not None
    return named and VALUE not in frame.columns and len(_numeric(frame)) == len(frame.columns) > 0


class WideContainer(TableContainer):
    """A matrix of pandas: a row per index of the first mode, a column per index of the second."""

    def __init__(self, data: Any, frame: Frame) -> None:
        self._data, self._frame = data, frame
        modes = (str(data.index.name), str(data.columns.name))
        if modes[0] == modes[1]:
            raise LabelError(
                f"index and columns of the table are both called {quote_name(modes[0])}; expected "
                "different names, which become those of the modes (data.rename_axis(...))"
            )
        if len(frame) == 0:
            raise EmptyDataError("the table has no row; expected at least one observation")
        rows, columns = _encode_axis(data.index), _encode_axis(data.columns)
        numbers = [read_numbers(frame.get_column(name), role="value") for name in frame.columns]
        values = np.stack(numbers, axis=1)
        n_rows, n_columns = values.shape
        checked = check_observed(
            values.reshape(-1),
            lambda cell: (
                f"the value in row {cell // n_columns} of column "
                f"{quote_name(frame.columns[cell % n_columns])}"
            ),
        )
        table = Table(
            labels=Labels(modes=modes, indices=(rows.labels, columns.labels), value=VALUE),
            codes=(np.repeat(rows.codes, n_columns), np.tile(columns.codes, n_rows)),
            values=checked,
        )
        super().__init__(table, every=False)
        for name, column in zip(frame.columns, numbers, strict=True):
            if np.isnan(column).any() and frame.get_column(name).dtype.is_integer():
                check_exact(column)

    def fill(self, predicted: FloatArray) -> Any:
        """Return a table of the same form, without missing values."""
        if self.n_missing == 0:
            return self._data
        filled = np.full(self.table.values.size, np.nan)
        filled[self._gaps] = predicted
        by_column = filled.reshape(len(self._frame), -1).T
        frame = self._frame
        for name, column in zip(self._frame.columns, by_column, strict=True):
            rows = np.flatnonzero(~np.isnan(column))
            if rows.size:
                frame = fill_column(frame, name, rows, column[rows])
        completed = frame.to_native()
        completed.columns = self._data.columns
        return completed


def advise(data: Any, frame: Frame, modes: Iterable[Any] | None) -> str:
    """Return what to do about a table without a column of values, or nothing.

    It may be wide if several columns hold numbers, beside those that are named as modes or hold
    labels of another type. A first column of numbers may be the labels if nothing else is.
    """
    numeric = _numeric(frame)
    index = _index_names(data)
    if modes is not None:
        kept = list(choose_modes(frame.columns, modes))
    else:
        kept = [name for name in frame.columns if name not in numeric]
        if not kept and not index:
            kept = numeric[:1]
    held = [name for name in numeric if name not in kept]
    if len(held) >= 2 and can_be_listed([*index, *kept]):
        return describe_melt(held, _melting_code(data, frame, kept, index))
    if index:
        names = ", ".join(map(quote_name, index))
        return f"the index of the table ({names}) is not read: call data.reset_index() first"
    return ""


def _melting_code(data: Any, frame: Frame, kept: list[Any], index: list[Any]) -> str:
    """Return the line of Python that makes a table long, with the names of its own columns."""
    if getattr(getattr(data, "columns", None), "nlevels", 1) > 1:
        levels = list(range(data.columns.nlevels))
        return f"data.stack({levels}, future_stack=True).rename({VALUE!r}).reset_index()"
    axis = getattr(getattr(data, "columns", None), "name", None)
    if frame.implementation is nw.Implementation.POLARS:
        return melting_code("data.unpivot", kept, axis, parameters=("index", "variable_name"))
    if frame.implementation is nw.Implementation.PYARROW:
        return melting_code("data.to_pandas().melt", kept, axis)
    return melting_code(f"data{'.reset_index()' if index else ''}.melt", [*index, *kept], axis)


def _numeric(frame: Frame) -> list[Any]:
    """Return the columns of numbers."""
    return [name for name in frame.columns if frame.get_column(name).dtype.is_numeric()]


def _index_names(data: Any) -> list[Any]:
    """Return the names of the index of a table of pandas, which is not read."""
    names = getattr(getattr(data, "index", None), "names", None) or ()
    return [name for name in names if name is not None]


def _encode_axis(axis: Any) -> Encoded:
    """Return the labels of the index or the columns of a table of pandas."""
    series = axis.to_series(index=range(len(axis)))
    return encode_series(nw.from_native(series, series_only=True))
