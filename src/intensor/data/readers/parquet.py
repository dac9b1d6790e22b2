"""Tables in Parquet files: batch by batch, and only the columns that are needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from intensor._arrays import AnyArray
from intensor.data.labels import Labels
from intensor.data.readers.coding import LabelColumn, finish_cells, finish_table, label_type
from intensor.data.readers.kinds import check_unique, pick_columns, pick_modes
from intensor.data.readers.numbers import BadRow, NumberColumn, check_values, check_weights
from intensor.data.table import Table
from intensor.errors import EmptyDataError, FileFormatError
from intensor.storage.limits import room_of

__all__ = ["BROKEN", "INDEX", "broken", "check_count", "read", "read_cells"]

ROWS = 1 << 17
"""Rows of a batch."""
BROKEN = (pa.ArrowException, OSError, UnicodeDecodeError)
"""What pyarrow raises on damaged files."""
INDEX = "__index_level_"
"""Columns that pandas writes for its index."""


def read(
    path: Any,
    *,
    value: str | None,
    modes: Sequence[str] | None,
    weight: str | None,
    like: Labels | None,
) -> Table:
    """Read a table; see ``read_table``."""
    columns = _columns(path)
    chosen, wanted, heavy = pick_columns(
        path, list(columns), value=value, modes=modes, weight=weight
    )
    names = [wanted] if heavy is None else [wanted, heavy]
    for name in names:
        _check_numeric(path, name, columns[name].type)
    labels, numbers = _collect(path, columns, chosen, names, like)
    return finish_table(path, labels, numbers, value=wanted)


def read_cells(path: Any, *, modes: Sequence[str], like: Labels | None) -> tuple[AnyArray, ...]:
    """Read columns of labels; see ``intensor.data.readers.read_cells``."""
    columns = _columns(path)
    labels, _ = _collect(path, columns, pick_modes(path, list(columns), modes), [], like)
    return finish_cells(path, labels)


def _columns(path: Any) -> dict[str, pa.Field]:
    """Return the columns by their stripped names."""
    try:
        with parquet.ParquetFile(path) as file:
            schema, n_rows = file.schema_arrow, file.metadata.num_rows
        fields = [field for field in schema if not field.name.startswith(INDEX)]
        names = [field.name.strip() for field in fields]
    except BROKEN as problem:
        raise broken(path, problem) from None
    # long runs of the same pack to nothing, so that the rows of a file are no measure of its size
    if 8 * n_rows > room_of(path):
        raise FileFormatError(
            f"{path}: claims {n_rows} rows; expected at most {room_of(path) // 8} in a file of its "
            "size (write it without dictionaries and compression)"
        )
    check_unique(path, names)
    return dict(zip(names, fields, strict=True))


def _check_numeric(path: Any, name: str, kind: pa.DataType) -> None:
    numeric = (
        pa.types.is_integer,
        pa.types.is_floating,
        pa.types.is_boolean,
        pa.types.is_decimal,
        pa.types.is_null,
    )
    if not any(is_it(kind) for is_it in numeric):
        raise FileFormatError(f"{path}: column {name!r} is of type {kind}; expected numbers")


def _collect(
    path: Any,
    columns: dict[str, pa.Field],
    modes: Sequence[str],
    names: Sequence[str],
    like: Labels | None,
) -> tuple[list[LabelColumn], list[NumberColumn]]:
    """Encode the columns of labels and gather those of numbers (values, then weights)."""
    labels = [LabelColumn(name) for name in modes]
    numbers = [NumberColumn() for _ in names]
    texts = {
        mode
        for mode, known in (zip(like.modes, like.indices, strict=True) if like else ())
        if known.dtype == object
    }
    n_rows = 0
    try:
        for batch in _batches(path, [columns[name] for name in (*modes, *names)]):
            for label, array in zip(labels, batch.columns, strict=False):
                text = label.name in texts and label_type(array.type) != pa.string()
                label.add(array.cast(pa.string()) if text else array)
            for place, name in enumerate(names):
                array = batch.columns[len(labels) + place].cast(pa.float64(), safe=False)
                filled = array.fill_null(float("nan")).to_numpy()
                (check_weights if place else check_values)(name, filled, n_rows)
                numbers[place].add(filled)
            n_rows += batch.num_rows
    except BadRow as problem:
        raise problem.error(f"{path}, row {problem.row + 1}: {problem.problem}") from None
    except BROKEN as problem:
        raise broken(path, problem) from None
    if n_rows == 0:
        raise EmptyDataError(f"{path}: has columns but no rows")
    return labels, numbers


def _batches(path: Any, fields: list[pa.Field]) -> Iterator[pa.RecordBatch]:
    texts = [field.name for field in fields if pa.types.is_string(field.type)]
    n_rows = 0
    with parquet.ParquetFile(path, read_dictionary=texts) as file:
        for batch in file.iter_batches(batch_size=ROWS, columns=[field.name for field in fields]):
            chosen = batch.select([field.name for field in fields])
            chosen.validate(full=True)  # a damaged page may decode to indices beyond its words
            n_rows += batch.num_rows
            yield chosen
        check_count(file, n_rows)


def check_count(file: parquet.ParquetFile, n_rows: int) -> None:
    """Raise when a file gave fewer rows than it says it has: damaged pages may just end early."""
    if n_rows != file.metadata.num_rows:
        raise pa.ArrowInvalid(f"it has {n_rows} rows where {file.metadata.num_rows} were expected")


def broken(path: Any, problem: BaseException) -> FileFormatError:
    """Return the error that says what pyarrow said of a damaged file."""
    words = " ".join(str(problem).split())[:200]
    return FileFormatError(f"{path}: cannot be read as a Parquet file ({words})")
