"""FROSTT ``.tns`` files: a line per cell, its indices and its value, with blanks between them.

Chunks of text are brought into the form that pyarrow's parser knows (single blanks, no comments)
and parsed by it. Lines are read one by one only to find the one to blame.
"""

from __future__ import annotations

import io
import itertools
import re
import zlib
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv

from intensor._arrays import AnyArray
from intensor.data.checks import BadRow, find_bad_value
from intensor.data.readers.csv import MISSING_TEXTS, NUMBER
from intensor.data.readers.files import Request, at_line, open_bytes, row_error, shorten
from intensor.data.readers.tensors import start_index, tensor_table
from intensor.data.table import Table, join_chunks
from intensor.errors import CoordinateError, EmptyDataError, FileFormatError

CHUNK_BYTES = 1 << 22
"""Bytes of text that are parsed at once."""
MAX_LINE_BYTES = 1 << 16
"""Most bytes by which a line may reach beyond its chunk."""
MAX_INDEX = 2**31 - 1
"""Largest index."""
MAX_FIELDS = 4096
"""Most numbers on a line; no tensor has that many modes."""
COMMENT = re.compile(rb"[#%][^\n]*")
BLANKS = re.compile(rb" {2,}")
EDGES = re.compile(rb" *\n *")
TO_BLANK = bytes.maketrans(b"\t\r\v\f", b"    ")
"""Translation of all white space but the end of a line to blanks."""


def read(path: Any, request: Request, *, chunk_bytes: int = CHUNK_BYTES) -> Table:
    """Read the cells of a tensor; repeated ones stay repeated.

    Indices begin at 1 unless the request says otherwise or there is a 0 among them.
    """
    if request.weight is not None:
        raise FileFormatError(f"{path}: a .tns file has no weights")
    name = "value" if request.value is None else request.value
    try:
        width, n_modes = _widths(path, request)
        chunks: list[list[AnyArray]] = [[] for _ in range(n_modes)]
        values: list[AnyArray] = []
        lowest, n_rows = MAX_INDEX, 0
        for batch in _batches(path, width, n_modes, chunk_bytes):
            for mode, parts in enumerate(chunks):
                if batch.column(mode).null_count:
                    _explain(path, width, n_modes)
                column = batch.column(mode).to_numpy()
                low, high = int(column.min()), int(column.max())
                if low < 0 or high > MAX_INDEX or (request.one_based and low == 0):
                    _reject(column, n_rows, 1 if request.one_based else 0)
                lowest = min(lowest, low)
                parts.append(column.astype(np.min_scalar_type(high)))
            if not request.cells_only:
                numbers = batch.column(n_modes).fill_null(float("nan")).to_numpy()
                bad = find_bad_value(numbers)
                if bad is not None:
                    raise bad.within(n_rows, f"{name!r}")
                values.append(numbers.copy())  # it may be a view into a larger buffer
            n_rows += batch.num_rows
    except BadRow as bad:
        line = next((line for line, _ in itertools.islice(_lines(path), bad.row, None)), None)
        raise row_error(bad, at_line(path, line, bad.text)) from None
    except (EOFError, OSError, zlib.error) as problem:
        raise FileFormatError(f"{path}: cannot be unpacked ({problem})") from None
    first = start_index(lowest, request.one_based)
    columns = [join_chunks(parts) for parts in chunks]
    for column in columns if first else ():
        np.subtract(column, first, out=column)
    shape = tuple(int(column.max()) + 1 for column in columns)
    numbers = None if request.cells_only else join_chunks(values)
    return tensor_table(path, columns, shape, request, name=name, values=numbers)


def _widths(path: Any, request: Request) -> tuple[int, int]:
    """Return the number of fields per line and the number of modes."""
    width = next((len(fields) for _, fields in _lines(path)), None)
    if width is None:
        raise EmptyDataError(f"{path}: has no cells")
    if width > MAX_FIELDS:
        raise FileFormatError(
            f"{path}: has lines of more than {MAX_FIELDS} numbers; expected indices and a value"
        )
    n_modes = len(request.modes or ()) if request.cells_only else width - 1
    allowed = {n_modes, n_modes + 1} if request.cells_only else {n_modes + 1}
    if n_modes < 1 or width not in allowed:
        wanted = f"{n_modes} indices" if request.cells_only else "indices and a value"
        raise FileFormatError(f"{path}: has lines of {width} numbers; expected {wanted}")
    return width, n_modes


def _reject(column: AnyArray, first_row: int, least: int) -> NoReturn:
    row = int(np.argmax((column < least) | (column > MAX_INDEX)))
    raise BadRow(
        first_row + row,
        f"the index {column[row]} is out of range; expected {least} to {MAX_INDEX:.3g}",
        CoordinateError,
    )


def _batches(path: Any, width: int, n_modes: int, chunk_bytes: int) -> Iterator[pa.Table]:
    names = [f"c{position}" for position in range(width)]
    kinds = [pa.int64()] * n_modes + [pa.float64()] * (width - n_modes)
    for chunk in _chunks(path, chunk_bytes):
        text = _tidied(chunk)
        if not text:
            continue
        try:
            yield arrow_csv.read_csv(
                io.BytesIO(text),
                read_options=arrow_csv.ReadOptions(column_names=names),
                parse_options=arrow_csv.ParseOptions(delimiter=" ", quote_char=False),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=dict(zip(names, kinds, strict=True)),
                    null_values=list(MISSING_TEXTS),
                ),
            ).combine_chunks()
        except pa.ArrowInvalid as problem:
            _explain(path, width, n_modes, problem)


def _chunks(path: Any, chunk_bytes: int) -> Iterator[bytes]:
    """Yield the file in pieces that end with a line."""
    with open_bytes(path) as file:
        while chunk := file.read(chunk_bytes):
            if not chunk.endswith(b"\n"):
                rest = file.readline(MAX_LINE_BYTES)
                if len(rest) == MAX_LINE_BYTES and not rest.endswith(b"\n"):
                    raise FileFormatError(f"{path}: has a line that is far too long for a cell")
                chunk += rest
            yield chunk


def _tidied(chunk: bytes) -> bytes:
    """Return lines without comments, with single blanks between numbers and no others."""
    text = chunk.translate(TO_BLANK)
    if b"#" in text or b"%" in text:
        text = COMMENT.sub(b"", text)
    if b"  " in text:
        text = BLANKS.sub(b" ", text)
    if b" \n" in text or b"\n " in text:
        text = EDGES.sub(b"\n", text)
    return text.strip(b" \n")


def _lines(path: Any) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the number of each line that is not blank, counted from 1, and its fields."""
    with open_bytes(path) as file:
        for number, line in enumerate(iter(lambda: file.readline(CHUNK_BYTES), b""), start=1):
            # The rest stays in one piece: a very long line takes no more memory than its bytes.
            fields = COMMENT.sub(b"", line).split(maxsplit=MAX_FIELDS)
            if fields:
                yield number, fields


def _explain(path: Any, width: int, n_modes: int, problem: object = "") -> NoReturn:
    """Find the line that cannot be used, and raise what is wrong with it."""
    for line, fields in _lines(path):
        wrong = _find_fault(fields, width, n_modes)
        if wrong:
            raise FileFormatError(at_line(path, line, wrong)) from None
    raise FileFormatError(f"{path}: cannot be read as a .tns file ({shorten(problem)})") from None


def _find_fault(fields: list[bytes], width: int, n_modes: int) -> str | None:
    """Return what is wrong with the fields of a line, or None."""
    if len(fields) != width:
        return f"has {len(fields)} numbers; expected {width}, as in the first line"
    texts = [field[:60].decode(errors="replace") for field in fields]
    for text in texts[:n_modes]:
        if not re.fullmatch(r"-?\d{1,18}", text):
            return f"has the index {text!r}; expected a whole number up to {MAX_INDEX:.3g}"
    for text in texts[n_modes:]:
        if text not in MISSING_TEXTS and not NUMBER.fullmatch(text):
            return f"has the value {text!r}; expected a number"
    return None
