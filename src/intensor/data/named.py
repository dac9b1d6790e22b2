"""Cells given by name: columns of a table, looked up among the labels of a fit.

This is the one place that decides how cells are read. A table holds labels: its columns are matched
with the modes by name, in any order, and other columns are passed over. An array of integers holds
positions, counted from 0, with a column per mode. Whatever is neither is refused, so that a label
is never taken for a position.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray
from intensor.data.checks import check_coords, check_values, check_weights
from intensor.data.columns import encode_known, find_column, numbers_of
from intensor.data.labels import Labels, as_labels, check_same_kind, look_up
from intensor.errors import CoordinateError, EmptyDataError, LabelError, SettingError, ValuesError

if TYPE_CHECKING:
    import narwhals as nw

__all__ = ["NamedCells", "named_cells", "observed_cells", "refuse_tables"]

POSITIONS = "for positions pass an (n, p) array of integers, such as table.to_numpy()"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NamedCells:
    """The cells of a table, by the labels of a fit.

    Attributes
    ----------
    coords
        (n, p) indices, -1 for a label that is not known.
    columns
        Names of the columns of the modes, as the table has them.
    table
        Where they were read.
    """

    coords: IndexArray
    columns: tuple[Any, ...]
    table: _Table

    def label(self, row: int, mode: int) -> Any:
        """Return the label in a row of the column of a mode."""
        return self.table.label(self.columns[mode], row)


class _Table(Protocol):
    """Columns by name."""

    @property
    def names(self) -> Sequence[Any]:
        """The names, in the order of the table."""

    def __len__(self) -> int: ...

    def codes(self, name: Any, known: AnyArray) -> IndexArray:
        """Return the place of each label of a column among known ones, -1 for others."""

    def numbers(self, name: Any, role: str) -> FloatArray:
        """Return a column of numbers, NaN where there is none."""

    def label(self, name: Any, row: int) -> Any:
        """Return one entry of a column."""


class _Frame:
    """A table of pandas, polars or pyarrow."""

    def __init__(self, frame: nw.DataFrame[Any]) -> None:
        self._frame = frame
        self.names = frame.columns

    def __len__(self) -> int:
        return len(self._frame)

    def codes(self, name: Any, known: AnyArray) -> IndexArray:
        return encode_known(self._frame.get_column(name), known)

    def numbers(self, name: Any, role: str) -> FloatArray:
        return numbers_of(self._frame.get_column(name), role=role)

    def label(self, name: Any, row: int) -> Any:
        return self._frame.get_column(name)[row]


class _Columns:
    """A mapping from names to columns, or a structured array."""

    def __init__(self, columns: Mapping[Any, Any]) -> None:
        self._columns = {name: _as_column(name, column) for name, column in columns.items()}
        self.names = list(self._columns)
        lengths = {name: column.size for name, column in self._columns.items()}
        if len(set(lengths.values())) > 1:
            raise LabelError(f"the columns differ in length: {lengths}; expected equal lengths")

    def __len__(self) -> int:
        return int(next(iter(self._columns.values())).size) if self._columns else 0

    def codes(self, name: Any, known: AnyArray) -> IndexArray:
        try:
            column = as_labels(self._columns[name])
        except LabelError as problem:
            raise LabelError(f"column {name!r}: {problem}") from None
        codes = look_up(known, column)
        check_same_kind(known, column, codes, name=str(name))
        return codes

    def numbers(self, name: Any, role: str) -> FloatArray:
        column = self._columns[name]
        try:
            return column.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ValuesError(
                f"the {role} column {name!r} has dtype {column.dtype}; expected numbers"
            ) from None

    def label(self, name: Any, row: int) -> Any:
        return self._columns[name][row]


def named_cells(data: Any, labels: Labels) -> NamedCells | None:
    """Return the cells of a table by the labels of a fit, None for what is no table.

    Parameters
    ----------
    data
        A table of pandas, polars or pyarrow, a mapping from names to columns, or a structured
        array; anything else is left to be read as positions.
    labels
        Names of the modes, which the columns must have, and of their indices.

    Raises
    ------
    LabelError
        When the table has no column for a mode, or when the names of rows or columns of
        something else would get lost if it were read as positions.
    """
    table = _open(data)
    if table is None:
        return None
    if len(set(labels.modes)) < len(labels.modes):
        raise LabelError(
            f"modes of the fit have the same name ({', '.join(map(repr, labels.modes))}), so "
            f"columns of a table cannot be matched with them; {POSITIONS}"
        )
    try:
        columns = tuple(find_column(mode, table.names, role="mode") for mode in labels.modes)
    except LabelError as problem:
        raise LabelError(
            f"{problem} (a table is read by the names of its columns, which must be those of the "
            f"modes; {POSITIONS})"
        ) from None
    coords = np.empty((len(table), len(columns)), dtype=np.int64)
    for mode, (name, known) in enumerate(zip(columns, labels.indices, strict=True)):
        coords[:, mode] = table.codes(name, known)
    return NamedCells(coords=coords, columns=columns, table=table)


def observed_cells(
    data: Any, values: Any, labels: Labels, *, sample_weight: Any = None
) -> tuple[IndexArray, FloatArray, FloatArray | None]:
    """Return coordinates, values and weights of observations of what a fit is of.

    Parameters
    ----------
    data
        A table, whose labels the fit must know, or an (n, p) array of positions.
    values
        (n,) numbers. With a table also the name of a column, or None for the one that is called
        as the values of the fit are; rows without a value in it are then left out.
    sample_weight
        (n,) numbers, or None for all the same. With a table also the name of a column.
    """
    found = named_cells(data, labels)
    if found is None:
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
    rows = np.ones(len(found.coords), dtype=bool)
    if values is None or isinstance(values, str):
        values = _column(found.table, labels.value if values is None else values, "value")
        rows = ~np.isnan(values)
        if not rows.any():
            raise EmptyDataError("the table has no row with a value; expected at least one")
    if isinstance(sample_weight, str):
        sample_weight = _column(found.table, sample_weight, "weight")
    _check_known(found, rows, labels)
    if not len(rows):
        raise EmptyDataError("the table has no row; expected at least one observation")
    numbers = check_values(
        values if rows.all() else values[rows], int(rows.sum()), allow_negative=True
    )
    weights = None
    if sample_weight is not None:
        weights = check_weights(sample_weight, rows.size)[rows]
    return found.coords[rows], numbers, weights


def refuse_tables(data: Any) -> None:
    """Raise for a table where only positions make sense: labels must not be taken for them."""
    if _open(data) is not None:
        raise CoordinateError(
            f"the cells are a {type(data).__name__}, a table with named columns, but a model alone "
            f"knows no labels; call fit.predict(table) of a fit, or {POSITIONS}"
        )


def _check_known(found: NamedCells, rows: AnyArray, labels: Labels) -> None:
    """Raise when an observation has a label that the fit does not know."""
    strange = (found.coords < 0) & rows[:, np.newaxis]
    if strange.any():
        row, mode = (int(place) for place in np.argwhere(strange)[0])
        count = int(strange.any(axis=1).sum())
        raise LabelError(
            f"row {row} has the label {found.label(row, mode)!r} in column "
            f"{found.columns[mode]!r}, which the fit does not know, as {count} of "
            f"{int(rows.sum())} observations do; give the data that it was fitted to"
        )


def _column(table: _Table, name: str, role: str) -> FloatArray:
    return table.numbers(find_column(name, table.names, role=f"{role}s"), role)


def _open(data: Any) -> _Table | None:
    """Return a table, None for an array or nested sequences, or raise for what is in between."""
    if isinstance(data, np.ndarray):
        if data.dtype.names is None:
            return None
        return _Columns({name: data[name] for name in data.dtype.names})
    if isinstance(data, Mapping):
        return _Columns(data)
    if isinstance(data, (list, tuple)):
        _refuse_named_rows(data)
        return None
    return _open_frame(data)


def _open_frame(data: Any) -> _Table | None:
    import narwhals as nw  # noqa: PLC0415  (only where it is needed)

    if type(data).__name__ == "RecordBatch" and hasattr(data, "schema"):
        import pyarrow as pa  # noqa: PLC0415

        data = pa.Table.from_batches([data])
    try:
        frame = nw.from_native(data, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError:
        raise LabelError(
            "two columns of the table have the same name; expected distinct names"
        ) from None
    if isinstance(frame, nw.DataFrame):
        return _Frame(frame)
    kind = type(data)  # asked in place of the data, which may have to be computed to answer
    if any(hasattr(kind, name) for name in ("columns", "column_names", "data_vars")):
        raise LabelError(
            f"cells are a {kind.__qualname__} of {kind.__module__.split('.')[0]}, a table that "
            "cannot be read here; expected one of pandas, polars or pyarrow in memory (call "
            f"collect() or compute() first), or {POSITIONS}"
        )
    return None


def _refuse_named_rows(data: Sequence[Any]) -> None:
    """Raise for a list of rows or columns that have names: those would be lost."""
    first = data[0] if len(data) else None
    named = isinstance(first, Mapping) or hasattr(first, "_fields")
    if named or type(first).__name__ in ("Series", "ChunkedArray", "Row"):
        raise LabelError(
            f"cells are a list of {type(first).__name__} objects, of which it is not certain "
            "whether they hold labels or positions; make a table of them (e.g. pandas.DataFrame) "
            f"for labels, or {POSITIONS}"
        )


def _as_column(name: Any, column: Any) -> AnyArray:
    """Return a column as an array; what lists hold keeps its type."""
    try:
        array = np.asarray(column)
    except ValueError as problem:
        raise LabelError(f"column {name!r} cannot be read as an array ({problem})") from None
    if array.ndim != 1:
        raise LabelError(
            f"column {name!r} has shape {array.shape}; expected one dimension, an entry per row"
        )
    kept: dict[str, type | tuple[type, ...]] = {"U": str, "f": (float, np.floating)}
    wanted = kept.get(array.dtype.kind)
    if (
        wanted is not None
        and isinstance(column, (list, tuple))
        and not all(isinstance(entry, wanted) for entry in column)
    ):
        array = np.empty(len(column), dtype=object)
        array[:] = column
    return array
