"""Tables of any package behind one class: data frames, mappings, structured arrays, files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from intensor._arrays import AnyArray, FloatArray
from intensor.data.labels import Encoded, as_labels, factorise, object_array
from intensor.data.table import Table
from intensor.errors import LabelError, ValuesError

if TYPE_CHECKING:
    import narwhals as nw

POSITIONS = "for positions pass an (n, p) array of integers, such as table.to_numpy()"
"""Advice to callers whose table holds positions and not labels."""
WEIGHTS = "weights"
"""Name of the weights of a table from a file, whatever the file calls them."""


def open_any_table(data: Any) -> AnyTable | None:
    """Return a table with columns by name, or None for an array or nested sequences.

    Raises a ``LabelError`` for anything whose named rows or columns cannot be read.
    """
    if isinstance(data, Table):
        return _FromFile(data)
    if isinstance(data, np.ndarray):
        names = data.dtype.names
        return None if names is None else _Columns({name: data[name] for name in names})
    if isinstance(data, Mapping):
        return _Columns(data)
    if isinstance(data, (list, tuple)):
        _refuse_named_rows(data)
        return None
    from intensor.data.series import open_frame  # noqa: PLC0415  (imports narwhals)

    if type(data).__name__ == "RecordBatch" and hasattr(data, "schema"):
        import pyarrow as pa  # noqa: PLC0415

        data = pa.Table.from_batches([data])
    frame = open_frame(data)
    if frame is not None:
        return _Frame(frame)
    kind = type(data)  # the data itself may have to be computed to answer
    if any(hasattr(kind, name) for name in ("columns", "column_names", "data_vars")):
        raise LabelError(  # the names of its columns would be lost
            f"cells are a {kind.__qualname__} of {kind.__module__.split('.')[0]}, a table that "
            "cannot be read here; expected one of pandas, polars or pyarrow in memory (call "
            f"collect() or compute() first), or {POSITIONS}"
        )
    return None


class AnyTable(ABC):
    """A table of any kind, with columns by name; messages about data in memory count from row 0."""

    names: Sequence[Any]  # of the columns, in the order of the table
    value: str | None = None  # columns of values and weights, if the table knows them
    weight: str | None = None
    prefix = ""  # start of messages about the table

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def encoded(self, name: Any) -> Encoded:
        """Return a column of labels."""

    def distinct(self, name: Any) -> Encoded:
        """Return a column of labels in which every label occurs once, in order."""
        return self.encoded(name)

    @abstractmethod
    def numbers(self, name: Any, role: str) -> FloatArray:
        """Return a column of numbers, NaN where there is none."""

    def where(self, row: int) -> str:
        """Return how messages name a row."""
        return f"row {row}"


class _Frame(AnyTable):
    """A table of pandas, polars or pyarrow."""

    def __init__(self, frame: nw.DataFrame[Any]) -> None:
        self._frame = frame
        self.names = frame.columns

    def __len__(self) -> int:
        return len(self._frame)

    def encoded(self, name: Any) -> Encoded:
        from intensor.data.series import encode_series  # noqa: PLC0415  (imports pyarrow)

        return encode_series(self._frame.get_column(name))

    def numbers(self, name: Any, role: str) -> FloatArray:
        from intensor.data.series import read_numbers  # noqa: PLC0415  (imports pyarrow)

        return read_numbers(self._frame.get_column(name), role=role)


class _Columns(AnyTable):
    """A mapping from names to columns, or a structured array."""

    def __init__(self, columns: Mapping[Any, Any]) -> None:
        self._columns = {name: _as_column(name, column) for name, column in columns.items()}
        self.names = list(self._columns)
        lengths = {name: column.size for name, column in self._columns.items()}
        if len(set(lengths.values())) > 1:
            raise LabelError(f"the columns differ in length: {lengths}; expected equal lengths")

    def __len__(self) -> int:
        return int(next(iter(self._columns.values())).size) if self._columns else 0

    def encoded(self, name: Any) -> Encoded:
        try:
            return Encoded(np.arange(len(self)), as_labels(self._columns[name]))
        except LabelError as problem:
            raise LabelError(f"column {name!r}: {problem}") from None

    def distinct(self, name: Any) -> Encoded:
        try:
            return factorise(self._columns[name])
        except LabelError as problem:
            raise LabelError(f"column {name!r}: {problem}") from None

    def numbers(self, name: Any, role: str) -> FloatArray:
        column = self._columns[name]
        try:
            return column.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ValuesError(
                f"the {role} column {name!r} has dtype {column.dtype}; expected numbers"
            ) from None


class _FromFile(AnyTable):
    """A table that was read from a file; messages name the file and count rows from 1."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.value = table.labels.value
        self.weight = None if table.weights is None else WEIGHTS
        self.prefix = "" if table.source is None else f"{table.source.path}: "
        self.names = (*table.labels.modes, self.value, *([self.weight] if self.weight else ()))

    def __len__(self) -> int:
        return len(self._table)

    def encoded(self, name: Any) -> Encoded:
        mode = self._table.labels.modes.index(name)
        return Encoded(self._table.codes[mode], self._table.labels.indices[mode])

    def numbers(self, name: Any, role: str) -> FloatArray:
        numbers = self._table.weights if role == "weight" else self._table.values
        assert numbers is not None
        return numbers

    def where(self, row: int) -> str:
        source = self._table.source
        return f"row {row}" if source is None else f"{source.path}, row {row + 1}"


def _refuse_named_rows(data: Sequence[Any]) -> None:
    """Raise for a list of rows or columns with names, since the names would be lost."""
    first = data[0] if len(data) else None
    named = isinstance(first, Mapping) or hasattr(first, "_fields")
    if named or type(first).__name__ in ("Series", "ChunkedArray", "Row"):
        raise LabelError(
            f"cells are a list of {type(first).__name__} objects, which may hold labels or "
            "positions; make a table of them (e.g. pandas.DataFrame) "
            f"for labels, or {POSITIONS}"
        )


def _as_column(name: Any, column: Any) -> AnyArray:
    """Return a column as an array; entries of lists keep their types."""
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
        return object_array(column)
    return array
