"""Tables as text: streamed through pyarrow's parser, with line numbers for what is wrong.

The file is parsed block by block and each block is encoded at once, so that indices and values
stay in memory, but never the table. pyarrow does not count lines, so a file that it rejects is read
a second time, row by row, to find the line to blame.
"""

from __future__ import annotations

import csv as python_csv
import gzip
import re
import zlib
from collections.abc import Iterator
from itertools import islice
from typing import Any, BinaryIO, NamedTuple, NoReturn

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv

from intensor.data.checks import BadRow
from intensor.data.columns import Choice
from intensor.data.encoding import TableBuilder, label_type
from intensor.data.readers.files import (
    Request,
    at_line,
    check_unique,
    choose,
    open_bytes,
    row_error,
    shorten,
)
from intensor.data.table import Table
from intensor.errors import EmptyDataError, FileFormatError

BLOCK_BYTES = 1 << 20
"""Bytes of text that are parsed at once; no row may be longer."""
IN_COLUMN = re.compile(r"In CSV column #(\d+)")
"""Start of pyarrow's message about a column that it cannot convert."""
MISSING_TEXTS = ("", "NA", "NaN", "nan", "null")
"""Ways to write a missing value."""
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity|nan)", re.IGNORECASE)
"""Text that is read as a number."""
MAX_LINE_BYTES = 1 << 24
"""Most bytes of a line; longer ones are taken for damage."""
MAX_COLUMNS = 4096
"""Most columns; more are taken for damage, since each costs memory even without rows."""
DELIMITERS = (",", "\t", ";", "|")
"""Characters that may separate columns; the header shows which one does."""
LONE_RETURN = re.compile(r"\r(?!\n)")
"""A carriage return that ends a line for pyarrow but not for Python."""


class _Header(NamedTuple):
    """The first row of a file."""

    names: list[str]  # of the columns, without blanks around them
    n_lines: int  # as pyarrow counts them: a carriage return within a name ends one, too
    delimiter: str


def read(
    path: Any, request: Request, *, delimiter: str | None = None, block_bytes: int = BLOCK_BYTES
) -> Table:
    """Read a table; see ``read_table``. Without a delimiter the header is to show it."""
    header = _read_header(path, delimiter)
    check_unique(path, header.names)
    choice = choose(path, header.names, request)
    reader = _Reader(path, header, choice, block_bytes)
    return reader.read(request.text_modes()).finish(path, header.names)


class _Reader:
    """Reads the rows of a file whose columns have been chosen."""

    def __init__(self, path: Any, header: _Header, choice: Choice, block_bytes: int) -> None:
        self._path, self._header, self._choice = path, header, choice
        self._block_bytes = block_bytes
        self._modes = [header.names.index(name) for name in choice.modes]
        numbers = (choice.value, choice.weight)
        self._numbers = [header.names.index(name) for name in numbers if name is not None]

    def read(self, text_modes: set[str]) -> TableBuilder:
        """Read all rows; columns of labels that turn out to be text are read as text."""
        types: dict[int, pa.DataType] = dict.fromkeys(self._numbers, pa.float64())
        for position in self._modes:
            if self._header.names[position] in text_modes:
                types[position] = pa.string()
        while True:
            builder = TableBuilder(self._choice)
            mistaken = self._fill(builder, types)
            if mistaken is None:
                return builder
            # Its first rows looked like something else: as text every label stays as it is.
            types[mistaken] = pa.string()

    def _fill(self, builder: TableBuilder, types: dict[int, pa.DataType]) -> int | None:
        """Read all rows, or return the position of a column that must be read as text."""
        wanted = [*self._modes, *self._numbers]
        try:
            for batch in self._batches(wanted, types):
                for position, array in zip(wanted, batch.columns, strict=True):
                    if position not in types and _must_be_text(array):
                        return position
                builder.add(batch.columns)
        except pa.ArrowInvalid as problem:
            match = IN_COLUMN.match(str(problem))
            rejected = int(match.group(1)) if match else -1
            if rejected in self._modes and rejected not in types:
                return rejected
            self._explain(problem)
        except BadRow as problem:
            rows = _rows(self._path, self._header.delimiter)  # the first one is the header
            line = next((line for line, *_ in islice(rows, problem.row + 1, None)), None)
            raise row_error(problem, at_line(self._path, line, problem.text)) from None
        except (EOFError, OSError, zlib.error) as problem:
            raise FileFormatError(f"{self._path}: cannot be unpacked ({problem})") from None
        if builder.n_rows == 0:
            raise EmptyDataError(f"{self._path}: has a header but no rows")
        return None

    def _batches(
        self, wanted: list[int], types: dict[int, pa.DataType]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the wanted columns, block by block, called c0, c1, ... by their position."""
        names = [f"c{position}" for position in range(len(self._header.names))]
        with open_bytes(self._path) as file:
            reader = arrow_csv.open_csv(
                file,
                read_options=arrow_csv.ReadOptions(
                    block_size=self._block_bytes, column_names=names, skip_rows=self._header.n_lines
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self._header.delimiter, newlines_in_values=True
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types={names[position]: kind for position, kind in types.items()},
                    include_columns=[names[position] for position in wanted],
                    null_values=list(MISSING_TEXTS),
                ),
            )
            with reader:
                yield from reader

    def _explain(self, problem: pa.ArrowInvalid) -> NoReturn:
        """Find the row that pyarrow rejected, and raise what is wrong with it."""
        names = self._header.names
        line = None
        for line, _, fields in islice(_rows(self._path, self._header.delimiter), 1, None):
            wrong = None
            if len(fields) != len(names):
                wrong = f"has {len(fields)} fields; expected {len(names)}, as in the header"
            else:
                for position in self._numbers:
                    text = fields[position]
                    if text not in MISSING_TEXTS and not NUMBER.fullmatch(text.strip()):
                        wrong = (
                            f"column {names[position]!r} has {text[:60]!r}; expected a number "
                            "(or nothing, if it is missing)"
                        )
            if wrong is not None:
                raise FileFormatError(at_line(self._path, line, wrong)) from None
        if line is None:
            raise EmptyDataError(f"{self._path}: has a header but no rows") from None
        raise FileFormatError(
            f"{self._path}: cannot be read as a table ({shorten(problem)})"
        ) from None


def _must_be_text(labels: pa.Array) -> bool:
    """Say whether the type that pyarrow chose would change the labels."""
    kind = label_type(labels.type)
    if kind is None or kind == pa.string():
        return bool(labels.type != pa.string())
    if not pa.types.is_floating(kind):
        return False
    # Integers of too many digits become floats, which would make some of them equal.
    return bool((np.abs(labels.drop_null().to_numpy()) >= 2.0**53).any())


def _rows(path: Any, delimiter: str) -> Iterator[tuple[int, int, list[str]]]:
    """Yield the first and the last line of each row, and its fields; skip blank lines."""
    with open_bytes(path) as file:
        reader = python_csv.reader(_lines(path, file), delimiter=delimiter)
        start = 1
        try:
            for fields in reader:
                if fields:
                    yield start, reader.line_num, fields
                start = reader.line_num + 1
        except python_csv.Error as problem:
            raise FileFormatError(at_line(path, start, f"cannot be read ({problem})")) from None


def _read_header(path: Any, delimiter: str | None) -> _Header:
    """Return the header of a file.

    If no delimiter is given, it is the one of comma, tab, semicolon and bar that cuts the header
    into most columns, and not within quotes.
    """
    if delimiter is not None:
        return _first_row(path, delimiter)
    candidates = [mark for mark in DELIMITERS if _keeps_quotes(path, mark)] or DELIMITERS
    return max(
        (_first_row(path, mark) for mark in candidates), key=lambda header: len(header.names)
    )


def _keeps_quotes(path: Any, delimiter: str) -> bool:
    """Say whether every quoted name of the header ends where a delimiter or the line begins."""
    with open_bytes(path) as file:
        try:
            return any(python_csv.reader(_lines(path, file), delimiter=delimiter, strict=True))
        except python_csv.Error:
            return False


def _first_row(path: Any, delimiter: str) -> _Header:
    for _, last_line, fields in _rows(path, delimiter):
        if len(fields) > MAX_COLUMNS:
            message = f"has {len(fields)} columns; expected at most {MAX_COLUMNS}"
            raise FileFormatError(at_line(path, 1, message))
        within = sum(len(LONE_RETURN.findall(field)) for field in fields)
        return _Header([field.strip() for field in fields], last_line + within, delimiter)
    raise EmptyDataError(f"{path}: is empty")


def _lines(path: Any, file: BinaryIO) -> Iterator[str]:
    """Yield lines as text; raise for a line that is not UTF-8, not text, or far too long."""
    number = 0
    while line := _line(path, file):
        number += 1
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if len(line) == MAX_LINE_BYTES:
            raise FileFormatError(at_line(path, number, "is far too long for a row of a table"))
        if b"\0" in line:
            raise FileFormatError(at_line(path, number, "has a byte 0; expected text in UTF-8"))
        try:
            yield line.decode()
        except UnicodeDecodeError as problem:
            byte = line[problem.start]
            raise FileFormatError(
                at_line(path, number, f"is not UTF-8 (byte 0x{byte:02x}); save it as UTF-8")
            ) from None


def _line(path: Any, file: BinaryIO) -> bytes:
    """Read a line, up to the most bytes that a line may have."""
    try:
        return file.readline(MAX_LINE_BYTES)
    except (EOFError, OSError, zlib.error, gzip.BadGzipFile) as problem:
        raise FileFormatError(f"{path}: cannot be unpacked ({problem})") from None
