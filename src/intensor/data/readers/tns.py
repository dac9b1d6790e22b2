"""FROSTT ``.tns`` files: a line per cell, its indices and its value, with blanks between them.

Chunks of text are brought into the form that pyarrow's parser knows (single blanks, no
comments) and parsed by it; lines are looked at one by one only to say which of them is wrong.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, NoReturn

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv

from intensor._arrays import AnyArray
from intensor.data.readers.cells import Cells, start_index
from intensor.data.readers.csv_rows import MISSING, NUMBER
from intensor.data.readers.kinds import at_line, open_bytes
from intensor.data.readers.numbers import BadRow, NumberColumn, check_values
from intensor.errors import CoordinateError, EmptyDataError, FileFormatError

__all__ = ["read"]

CHUNK = 1 << 22
LONGEST_LINE = 1 << 16
LARGEST = 2**31 - 1
MOST_FIELDS = 4096
"""Of a line: no tensor has so many modes."""
COMMENT = re.compile(rb"[#%][^\n]*")
BLANKS = re.compile(rb" {2,}")
EDGES = re.compile(rb" *\n *")
TO_BLANK = bytes.maketrans(b"\t\r\v\f", b"    ")


def read(
    path: Any,
    *,
    value: str | None,
    weight: str | None,
    one_based: bool | None,
    n_modes: int | None,
) -> Cells:
    """Read the cells of a tensor; repeated ones stay repeated.

    Parameters
    ----------
    value
        What to call the values.
    weight
        Not possible in this format.
    one_based
        Whether indices begin at 1; None to take them so unless there is a 0 among them.
    n_modes
        Of cells that may come without values; None when values are needed.
    """
    if weight is not None:
        raise FileFormatError(f"{path}: a .tns file has no weights")
    name = "value" if value is None else value
    try:
        width = _first_width(path)
        n = width - 1 if n_modes is None else n_modes
        if width > MOST_FIELDS:
            raise FileFormatError(
                f"{path}: has lines of more than {MOST_FIELDS} numbers; expected indices and a "
                "value"
            )
        if n < 1 or width not in ({n + 1} if n_modes is None else {n, n + 1}):
            wanted = "indices and a value" if n_modes is None else f"{n} indices"
            raise FileFormatError(f"{path}: has lines of {width} numbers; expected {wanted}")
        chunks: list[list[AnyArray]] = [[] for _ in range(n)]
        values = NumberColumn()
        lowest, n_rows = LARGEST, 0
        for batch in _batches(path, width, n):
            for mode in range(n):
                indices = batch.column(mode)
                if indices.null_count:
                    _explain(path, width, n_modes=n)
                column = indices.to_numpy()
                low, high = int(column.min()), int(column.max())
                if low < 0 or high > LARGEST or (one_based and low == 0):
                    _reject(column, n_rows, 1 if one_based else 0)
                lowest = min(lowest, low)
                chunks[mode].append(column.astype(np.min_scalar_type(high)))
            if width > n and n_modes is None:
                numbers = batch.column(n).fill_null(float("nan")).to_numpy()
                check_values(name, numbers, n_rows)
                values.add(numbers)
            n_rows += batch.num_rows
    except BadRow as problem:
        raise problem.error(at_line(path, _find_line(path, problem.row), problem.problem)) from None
    except (EOFError, OSError, zlib.error) as problem:
        raise FileFormatError(f"{path}: cannot be unpacked ({problem})") from None
    first = start_index(lowest, one_based)
    columns = tuple(_joined(parts, first) for parts in chunks)
    return Cells(
        columns=columns,
        shape=tuple(int(column.max()) + 1 for column in columns),
        name=name,
        values=values.finish() if n_modes is None else None,
        weights=None,
    )


def _joined(parts: list[AnyArray], first: int) -> AnyArray:
    """Return one column of indices from 0, and empty the list."""
    column = parts[0] if len(parts) == 1 else np.concatenate(parts)
    parts.clear()
    if first:
        column -= column.dtype.type(first)
    return column


def _reject(column: AnyArray, first_row: int, least: int) -> NoReturn:
    row = int(np.argmax((column < least) | (column > LARGEST)))
    raise BadRow(
        first_row + row,
        f"the index {column[row]} is out of range; expected {least} to {LARGEST:.3g}",
        CoordinateError,
    )


def _batches(path: Any, width: int, n_modes: int) -> Iterator[pa.Table]:
    names = [f"c{place}" for place in range(width)]
    kinds = [pa.int64()] * n_modes + [pa.float64()] * (width - n_modes)
    for chunk in _chunks(path):
        text = _tidied(chunk)
        if not text:
            continue
        try:
            yield arrow_csv.read_csv(
                io.BytesIO(text),
                read_options=arrow_csv.ReadOptions(column_names=names),
                parse_options=arrow_csv.ParseOptions(delimiter=" ", quote_char=False),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=dict(zip(names, kinds, strict=True)), null_values=list(MISSING)
                ),
            ).combine_chunks()
        except pa.ArrowInvalid as problem:
            _explain(path, width, n_modes, problem)


def _chunks(path: Any) -> Iterator[bytes]:
    """Yield the file in pieces of whole lines."""
    with open_bytes(path) as file:
        while chunk := file.read(CHUNK):
            if not chunk.endswith(b"\n"):
                rest = file.readline(LONGEST_LINE)
                if len(rest) == LONGEST_LINE and not rest.endswith(b"\n"):
                    raise FileFormatError(f"{path}: has a line that is far too long for a cell")
                chunk += rest
            yield chunk


def _tidied(chunk: bytes) -> bytes:
    """Return lines without comments, with single blanks between numbers and none around them."""
    text = chunk.translate(TO_BLANK)
    if b"#" in text or b"%" in text:
        text = COMMENT.sub(b"", text)
    if b"  " in text:
        text = BLANKS.sub(b" ", text)
    if b" \n" in text or b"\n " in text:
        text = EDGES.sub(b"\n", text)
    return text.strip(b" \n")


def _lines(file: BinaryIO) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the number of each line that is not blank, from 1, and its fields."""
    for number, line in enumerate(iter(lambda: file.readline(CHUNK), b""), start=1):
        # what lies beyond is not cut, so that a very long line takes no more room than its bytes
        fields = COMMENT.sub(b"", line).split(maxsplit=MOST_FIELDS)
        if fields:
            yield number, fields


def _first_width(path: Any) -> int:
    with open_bytes(path) as file:
        for _, fields in _lines(file):
            return len(fields)
    raise EmptyDataError(f"{path}: has no cells")


def _find_line(path: Any, row: int) -> int | None:
    with open_bytes(path) as file:
        for place, (line, _) in enumerate(_lines(file)):
            if place == row:
                return line
    return None


def _explain(path: Any, width: int, n_modes: int, problem: object = "") -> NoReturn:
    """Find the line that cannot be used, and raise what is wrong with it."""
    with open_bytes(path) as file:
        for line, fields in _lines(file):
            wrong = _wrong(fields, width, n_modes)
            if wrong:
                raise FileFormatError(at_line(path, line, wrong)) from None
    words = " ".join(str(problem).split())[:200]
    raise FileFormatError(f"{path}: cannot be read as a .tns file ({words})") from None


def _wrong(fields: list[bytes], width: int, n_modes: int) -> str | None:
    """Say what is wrong with the fields of a line, if anything is."""
    if len(fields) != width:
        return f"has {len(fields)} numbers; expected {width}, as in the first line"
    texts = [field[:60].decode(errors="replace") for field in fields]
    for text in texts[:n_modes]:
        if not re.fullmatch(r"-?\d{1,18}", text):
            return f"has the index {text!r}; expected a whole number up to {LARGEST:.3g}"
    for text in texts[n_modes:]:
        if text not in MISSING and not NUMBER.fullmatch(text):
            return f"has the value {text!r}; expected a number"
    return None
