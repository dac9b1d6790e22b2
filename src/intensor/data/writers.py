"""Writing tables and tensors; a file is written completely or not at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.io
from numpy.typing import ArrayLike
from pyarrow import csv, parquet

from intensor._arrays import AnyArray, FloatArray
from intensor.data.checks import check_coords
from intensor.data.readers.csv import DELIMITERS
from intensor.data.readers.files import Format, check_path, find_format, shorten
from intensor.errors import FileFormatError, LabelError, ValuesError
from intensor.storage.atomic import atomic_write


def write_table(path: Any, columns: Mapping[str, ArrayLike], *, kind: str | None = None) -> None:
    """Write columns of equal length as CSV, TSV or Parquet; a NaN becomes an empty field."""
    path = check_path(path)
    found = find_format(path, kind)
    if not found.has_columns:
        raise FileFormatError(
            f"{path}: columns cannot be written as .{found}; expected .csv, .tsv or .parquet"
        )
    arrays = {name: _as_arrow(path, name, np.asarray(column)) for name, column in columns.items()}
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) != 1:
        raise LabelError(f"{path}: columns must be of one length to be written; got {lengths}")
    try:
        table = pa.table(arrays)
    except UnicodeEncodeError as problem:
        raise LabelError(f"{path}: the name of a column is no valid text ({problem})") from None
    with atomic_write(path) as temporary:
        if found is Format.PARQUET:
            parquet.write_table(table, temporary)
        else:
            delimiter = "\t" if found is Format.TSV else ","
            _write_text(table, path, temporary, delimiter, header=True)


def write_tensor(
    path: Any,
    coords: ArrayLike,
    values: ArrayLike,
    shape: Iterable[int],
    *,
    kind: str | None = None,
) -> None:
    """Write cells of a tensor as ``.tns``, ``.npz`` or ``.mat``.

    Parameters
    ----------
    coords
        (n, p) indices counted from 0; ``.tns`` and ``.mat`` files count from 1.
    values
        (n,) values.
    """
    path = check_path(path)
    found = find_format(path, kind)
    if found.has_columns:
        raise FileFormatError(
            f"{path}: a tensor cannot be written as .{found}; expected .tns, .npz or .mat"
        )
    cells, lengths = check_coords(coords, shape)
    try:
        numbers: FloatArray = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise ValuesError(f"values cannot be written; expected real numbers ({problem})") from None
    if numbers.shape != (len(cells),):
        raise ValuesError(f"values has shape {numbers.shape}; expected ({len(cells)},)")
    with atomic_write(path) as temporary:
        if found is Format.TNS:
            table = pa.table(
                [*(pa.array(column + 1) for column in cells.T), pa.array(numbers)],
                names=[f"c{position}" for position in range(cells.shape[1] + 1)],
            )
            _write_text(table, path, temporary, " ", header=False)
            return
        with open(temporary, "wb") as file:
            if found is Format.NPZ:
                np.savez(file, allow_pickle=False, coords=cells, values=numbers, shape=lengths)
            else:
                scipy.io.savemat(
                    file,
                    {
                        "coords": cells + 1,
                        "values": numbers[:, np.newaxis],
                        "shape": np.array(lengths, dtype=np.int64),
                    },
                    do_compression=True,
                )


def _write_text(
    table: pa.Table, path: Any, temporary: Path, delimiter: str, *, header: bool
) -> None:
    quoted = header and _needs_quotes(table, delimiter)
    options = csv.WriteOptions(
        include_header=quoted, delimiter=delimiter, quoting_style="needed" if quoted else "none"
    )
    packed = "gzip" if str(path).lower().endswith(".gz") else None
    with pa.output_stream(str(temporary), compression=packed) as file:
        if header and not quoted:
            file.write((delimiter.join(table.column_names) + "\n").encode())
        csv.write_csv(table, file, options)


def _needs_quotes(table: pa.Table, delimiter: str) -> bool:
    """Say whether a name or a string could be read as something else without quotes.

    Arrow quotes every string or none. An empty string must differ from a missing value. Names must
    not contain another delimiter, nor begin the file with a byte-order mark.
    """
    special = re.compile(f'[{re.escape(delimiter)}"\r\n]|^$|^\\s|\\s$')
    in_names = re.compile(f"[{re.escape(''.join(DELIMITERS))}]|^\ufeff")
    if any(special.search(name) or in_names.search(name) for name in table.column_names):
        return True
    strings = [
        column
        for column in table.columns
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    ]
    return any(
        pc.any(pc.match_substring_regex(column, special.pattern)).as_py() for column in strings
    )


def _as_arrow(path: Any, name: str, column: AnyArray) -> pa.Array:
    """Return a column as an Arrow array; labels of several kinds are written as strings."""
    try:
        try:
            array = pa.array(column, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            if column.dtype.kind != "O":
                raise
            array = pa.array([None if label is None else str(label) for label in column])
    except (pa.ArrowException, UnicodeEncodeError) as problem:
        raise LabelError(
            f"{path}: column {name!r} cannot be written ({shorten(problem)})"
        ) from None
    if pa.types.is_binary(array.type):
        raise LabelError(
            f"{path}: column {name!r} holds bytes, which cannot be written; decode them"
        )
    return array
