"""Looking cells up: from the columns of a table to indices, by the labels of a fit.

This module alone decides how cells are read. A table holds labels: its columns are matched
with the modes by name, in any order, and other columns are passed over. An array of integers holds
positions, counted from 0, with a column per mode. Anything else is refused, so that
a label is never taken for a position.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray
from intensor.data.any_table import POSITIONS, AnyTable, open_any_table
from intensor.data.checks import check_coords, check_values, check_weights
from intensor.data.columns import find_column
from intensor.data.labels import Encoded, Labels, check_same_kind, look_up
from intensor.errors import CoordinateError, EmptyDataError, LabelError, SettingError, ValuesError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelledCells:
    """The cells of a table, looked up among the labels of a fit."""

    coords: IndexArray  # (n, p) indices, -1 for a label that the fit does not know
    columns: tuple[Any, ...]  # names of the columns of the modes, as the table has them
    encoded: tuple[Encoded, ...]  # the labels of each mode in the table
    table: AnyTable

    def describe(self, row: int, mode: int) -> str:
        """Return a clause such as "row 3 has the label 'x' in column 'a'"."""
        codes, labels = self.encoded[mode]
        (label,) = labels[codes[row : row + 1]].tolist()
        return f"{self.table.where(row)} has the label {label!r} in column {self.columns[mode]!r}"


def look_up_cells(data: Any, labels: Labels) -> LabelledCells | None:
    """Return the cells of a table by the labels of a fit, or None if the data is no table.

    The table must have a column for every mode. What ``open_any_table`` does not know is left to be
    read as positions, and refused if the names of its rows or columns would get lost.
    """
    table = open_any_table(data)
    if table is None:
        return None
    columns = find_mode_columns(table, labels)
    coords = np.empty((len(table), len(columns)), dtype=np.int64)
    encoded = tuple(table.encoded(name) for name in columns)
    for mode, (column, known) in enumerate(zip(encoded, labels.indices, strict=True)):
        found = look_up(known, column.labels)
        try:
            check_same_kind(known, column.labels, found, name=str(columns[mode]))
        except LabelError as problem:
            raise LabelError(f"{table.prefix}{problem}") from None
        coords[:, mode] = found[column.codes]
    return LabelledCells(coords=coords, columns=columns, encoded=encoded, table=table)


def find_mode_columns(table: AnyTable, labels: Labels) -> tuple[Any, ...]:
    """Return the columns of a table that are named like the modes of a fit."""
    if len(set(labels.modes)) < len(labels.modes):
        raise LabelError(
            f"modes of the fit have the same name ({', '.join(map(repr, labels.modes))}), so "
            f"columns of a table cannot be matched with them; {POSITIONS}"
        )
    try:
        return tuple(find_column(mode, table.names, role="mode") for mode in labels.modes)
    except LabelError as problem:
        raise LabelError(
            f"{problem} (a table is read by the names of its columns, which must be those of the "
            f"modes; {POSITIONS})"
        ) from None


def observed_cells(
    data: Any, values: Any, labels: Labels, *, sample_weight: Any = None
) -> tuple[IndexArray, FloatArray, FloatArray | None]:
    """Return coordinates, values and weights of observations, by the labels of a fit.

    The data is a table, whose labels the fit must know, or an (n, p) array of positions. Values and
    weights are (n,) numbers. With a table they may also be names of columns; by default the values
    are in the one that is named like those of the fit, and rows without a value are left out.
    """
    found = look_up_cells(data, labels)
    if found is None:
        return _observed_positions(data, values, labels, sample_weight)
    table = found.table
    rows = np.ones(len(table), dtype=bool)
    if values is None or isinstance(values, str):
        values = read_column(table, values or table.value or labels.value, "value")
        rows = ~np.isnan(values)
        if not rows.any():
            raise EmptyDataError("the table has no row with a value; expected at least one")
    if sample_weight is None:
        sample_weight = table.weight
    if isinstance(sample_weight, str):
        sample_weight = read_column(table, sample_weight, "weight")
    _check_known(found, rows)
    if not len(rows):
        raise EmptyDataError("the table has no row; expected at least one observation")
    numbers = check_values(
        values if rows.all() else values[rows], int(rows.sum()), allow_negative=True
    )
    weights = None
    if sample_weight is not None:
        weights = check_weights(sample_weight, rows.size)[rows]
    return found.coords[rows], numbers, weights


def _observed_positions(
    data: Any, values: Any, labels: Labels, sample_weight: Any
) -> tuple[IndexArray, FloatArray, FloatArray | None]:
    """Return observations whose cells are an array of positions."""
    for name, given in (("values", values), ("sample_weight", sample_weight)):
        if isinstance(given, str):
            raise SettingError(
                f"{name} is {given!r}, the name of a column, but the cells are no table; "
                "expected an array of numbers"
            )
    if values is None:
        raise ValuesError("there are no values; expected one per row of coords")
    cells, _ = check_coords(data, labels.shape)
    numbers = check_values(values, len(cells), allow_negative=True)
    weights = None if sample_weight is None else check_weights(sample_weight, numbers.size)
    return cells, numbers, weights


def refuse_tables(data: Any) -> None:
    """Raise for a table where positions are needed, so that no label is taken for a position."""
    if open_any_table(data) is not None:
        raise CoordinateError(
            f"the cells are a {type(data).__name__}, a table with named columns, but a model alone "
            f"knows no labels; call fit.predict(table) of a fit, or {POSITIONS}"
        )


def _check_known(found: LabelledCells, rows: AnyArray) -> None:
    """Raise when an observation has a label that the fit does not know."""
    unknown = (found.coords < 0) & rows[:, np.newaxis]
    if unknown.any():
        row, mode = map(int, np.argwhere(unknown)[0])
        count = int(unknown.any(axis=1).sum())
        raise LabelError(
            f"{found.describe(row, mode)}, which the fit does not know, so that fit and data do "
            f"not fit together; {count} of {int(rows.sum())} observations have such a label (give "
            "the data that it was fitted to)"
        )


def read_column(table: AnyTable, name: str, role: str) -> FloatArray:
    """Return a column of values or weights by its name."""
    return table.numbers(find_column(name, table.names, role=f"{role}s"), role)
