"""Tables in Parquet files: batch by batch, and only the columns that are needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from intensor.data.checks import BadRow
from intensor.data.encoding import TableBuilder, label_type
from intensor.data.readers.files import Request, check_unique, choose, row_error, shorten
from intensor.data.table import Table
from intensor.errors import FileFormatError
from intensor.storage.limits import largest_decompressed_size

BATCH_ROWS = 1 << 17
"""Rows that are read at once."""
DAMAGE = (pa.ArrowException, OSError, UnicodeDecodeError)
"""Exceptions that pyarrow raises for damaged files."""
INDEX_PREFIX = "__index_level_"
"""Start of the names of columns that pandas writes for its index."""
NUMBER_TYPES = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    pa.types.is_decimal,
    pa.types.is_null,
)
"""Types of columns that can hold values and weights."""


def read(path: Any, request: Request, *, batch_rows: int = BATCH_ROWS) -> Table:
    """Read a table; see ``read_table``."""
    fields = _fields(path)
    names = list(fields)
    choice = choose(path, names, request)
    for name in (choice.value, choice.weight):
        if name is not None and not any(is_it(fields[name].type) for is_it in NUMBER_TYPES):
            raise FileFormatError(
                f"{path}: column {name!r} is of type {fields[name].type}; expected numbers"
            )
    builder = TableBuilder(choice)
    text_modes = request.text_modes()
    try:
        for batch in _batches(path, [fields[name] for name in builder.names], batch_rows):
            builder.add(
                [
                    _as_text(array) if name in text_modes else array
                    for name, array in zip(builder.names, batch.columns, strict=True)
                ]
            )
    except BadRow as problem:
        raise row_error(problem, f"{path}, row {problem.row + 1}: {problem.text}") from None
    except DAMAGE as problem:
        raise damaged(path, problem) from None
    return builder.finish(path, names)


def read_fields(path: Any) -> tuple[list[pa.Field], int]:
    """Return the columns of a file, without the index of pandas, and its number of rows."""
    try:
        with parquet.ParquetFile(path) as file:
            schema, n_rows = file.schema_arrow, file.metadata.num_rows
        return [field for field in schema if not field.name.startswith(INDEX_PREFIX)], n_rows
    except DAMAGE as problem:
        raise damaged(path, problem) from None


def _fields(path: Any) -> dict[str, pa.Field]:
    """Return the columns by their stripped names."""
    fields, n_rows = read_fields(path)
    names = [field.name.strip() for field in fields]
    # Long runs of one value pack to nothing, so the file may claim any number of rows.
    largest = largest_decompressed_size(path) // 8
    if n_rows > largest:
        raise FileFormatError(
            f"{path}: claims {n_rows} rows; expected at most {largest} in a file of its "
            "size (write it without dictionaries and compression)"
        )
    check_unique(path, names)
    return dict(zip(names, fields, strict=True))


def _as_text(array: pa.Array) -> pa.Array:
    return array if label_type(array.type) == pa.string() else array.cast(pa.string())


def _batches(path: Any, fields: list[pa.Field], batch_rows: int) -> Iterator[pa.RecordBatch]:
    names = [field.name for field in fields]
    texts = [field.name for field in fields if pa.types.is_string(field.type)]
    n_rows = 0
    with parquet.ParquetFile(path, read_dictionary=texts) as file:
        for batch in file.iter_batches(batch_size=batch_rows, columns=names):
            chosen = batch.select(names)
            chosen.validate(full=True)  # a damaged page may decode to indices beyond its texts
            n_rows += batch.num_rows
            yield chosen
        check_count(file, n_rows)


def check_count(file: parquet.ParquetFile, n_rows: int) -> None:
    """Raise when a file gave fewer rows than it says it has: damaged pages may just end early."""
    if n_rows != file.metadata.num_rows:
        raise pa.ArrowInvalid(f"it has {n_rows} rows where {file.metadata.num_rows} were expected")


def damaged(path: Any, problem: BaseException) -> FileFormatError:
    """Return the error that repeats what pyarrow says about a damaged file."""
    return FileFormatError(f"{path}: cannot be read as a Parquet file ({shorten(problem)})")
