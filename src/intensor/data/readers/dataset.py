"""Parquet datasets of cells: one file or a folder of them, of any size, batch by batch."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from intensor._arrays import FloatArray, IndexArray, Shape
from intensor.data.checks import MAX_INDICES, find_bad_value
from intensor.data.readers.files import check_file, check_unique
from intensor.data.readers.parquet import DAMAGE, check_count, damaged, read_fields
from intensor.errors import (
    CoordinateError,
    EmptyDataError,
    FileFormatError,
    InputError,
)

BATCH_ROWS = 1 << 20
"""Rows that are read at once."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch:
    """Some rows of a file: (m, p) coordinates and (m,) values."""

    coords: IndexArray
    values: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dataset:
    """Files with the same columns: a column of whole numbers per mode, and one of values."""

    files: tuple[Path, ...]  # in the order of their names
    modes: tuple[str, ...]
    value: str
    n_rows: int  # of all files together

    def batches(
        self,
        file: Path,
        *,
        shape: Shape | None = None,
        allow_negative: bool = False,
        rows: int = BATCH_ROWS,
    ) -> Iterator[Batch]:
        """Yield the rows of one file; errors name the file and the row."""
        first = 0
        try:
            with parquet.ParquetFile(file) as opened:
                for batch in opened.iter_batches(rows, columns=[*self.modes, self.value]):
                    yield self._checked(file, batch, first, shape, allow_negative)
                    first += batch.num_rows
                check_count(opened, first)
        except DAMAGE as problem:
            raise damaged(file, problem) from None

    def check_frame(
        self, frame: Any, *, shape: Shape | None = None, allow_negative: bool = False
    ) -> Batch:
        """Return the rows of a pandas DataFrame with these columns, checked."""
        columns = [*self.modes, self.value]
        table = pa.Table.from_pandas(frame[columns], preserve_index=False).combine_chunks()
        batches = table.to_batches()
        if not batches:
            return Batch(coords=np.empty((0, len(self.modes)), dtype=np.int64), values=np.empty(0))
        partition = Path("partition")
        for name in self.modes:
            _check_integers(partition, name, table.schema.field(name).type)
        return self._checked(partition, batches[0], 0, shape, allow_negative)

    def _checked(
        self,
        file: Path,
        batch: pa.RecordBatch,
        first: int,
        shape: Shape | None,
        allow_negative: bool,
    ) -> Batch:
        coords = np.empty((batch.num_rows, len(self.modes)), dtype=np.int64)
        for mode, name in enumerate(self.modes):
            column = batch.column(name)
            if column.null_count:
                row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
                raise _bad(file, first + row, f"{name!r} is empty", CoordinateError)
            indices = column.to_numpy(zero_copy_only=False)
            length = MAX_INDICES if shape is None else shape[mode]
            wrong = (indices < 0) | (indices >= length)
            if wrong.any():
                row = int(np.argmax(wrong))
                text = f"{name!r} is {indices[row]}; expected an index from 0 to {length - 1}"
                raise _bad(file, first + row, text, CoordinateError)
            coords[:, mode] = indices
        values = batch.column(self.value).cast(pa.float64(), safe=False)
        numbers: FloatArray = values.fill_null(float("nan")).to_numpy(zero_copy_only=False)
        bad = find_bad_value(numbers, allow_negative=allow_negative, allow_missing=False)
        if bad is not None:
            raise _bad(file, first + bad.row, f"{self.value!r} {bad.text}", bad.error)
        return Batch(coords=coords, values=numbers)


def open_dataset(path: str | Path, value: str) -> Dataset:
    """Check the columns of a Parquet file, or of all files in a folder, without reading rows.

    One column holds the values; all others are coordinates, counted from 0.
    """
    root = Path(path)
    files = tuple(sorted(root.glob("*.parquet"))) if os.path.isdir(root) else (root,)
    if not files:
        raise EmptyDataError(f"{root}: there is no *.parquet file in it")
    found = [_columns(file, value) for file in files]
    first, n_rows = found[0][0], sum(count for _, count in found)
    for file, (columns, _) in zip(files, found, strict=True):
        if set(columns) != set(first):
            raise FileFormatError(
                f"{file}: has the columns {', '.join(columns)}, but {files[0]} has "
                f"{', '.join(first)}; all files of a dataset need the same"
            )
    if n_rows == 0:
        raise EmptyDataError(f"{root}: has columns but no rows")
    modes = tuple(name for name in first if name != value)
    return Dataset(files=files, modes=modes, value=value, n_rows=n_rows)


def _columns(file: Path, value: str) -> tuple[dict[str, pa.DataType], int]:
    """Return the columns of a file with their types, which must be numbers, and its rows."""
    check_file(file)
    fields, n_rows = read_fields(file)
    check_unique(file, [field.name for field in fields])
    columns = {field.name: field.type for field in fields}
    if value not in columns:
        raise FileFormatError(
            f"{file}: has no column {value!r}; its columns are {', '.join(columns)}"
        )
    if len(columns) < 2:
        raise FileFormatError(f"{file}: has no column of coordinates beside {value!r}")
    for name, kind in columns.items():
        if name == value:
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
                raise FileFormatError(f"{file}: column {name!r} is {kind}; expected numbers")
        else:
            _check_integers(file, name, kind)
    return columns, n_rows


def _check_integers(file: Path, name: str, kind: pa.DataType) -> None:
    if not pa.types.is_integer(kind):
        raise FileFormatError(
            f"{file}: column {name!r} is {kind}; expected whole numbers counted from 0 "
            "(number labels first)"
        )


def _bad(file: Path, row: int, text: str, error: type[InputError]) -> InputError:
    return error(f"{file}, row {row + 1}: {text}")
