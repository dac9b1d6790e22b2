"""Rows of a CSV file one by one with their line numbers: slow, for the header and for errors."""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

from intensor.data.readers.kinds import at_line, open_bytes
from intensor.errors import EmptyDataError, FileFormatError

__all__ = ["DELIMITERS", "MISSING", "NUMBER", "find_line", "read_header", "rows"]

MISSING = ("", "NA", "NaN", "nan", "null")
"""How a value that is not there may be written."""
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity|nan)", re.IGNORECASE)
LONGEST_LINE = 1 << 24
MOST_COLUMNS = 4096
"""More are taken for damage: every one of them costs room, with or without rows."""
DELIMITERS = (",", "\t", ";", "|")
"""Of a table as text; which one it is, its header must show."""
LONE_RETURN = re.compile(r"\r(?!\n)")


def rows(path: Any, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line on which each row starts, from 1, and its fields; blank lines are no rows."""
    with open_bytes(path) as file:
        reader = csv.reader(_lines(path, file), delimiter=delimiter)
        start = 1
        try:
            for fields in reader:
                if fields:
                    yield start, fields
                start = reader.line_num + 1
        except csv.Error as problem:
            raise FileFormatError(at_line(path, start, f"cannot be read ({problem})")) from None


def read_header(path: Any, delimiter: str | None) -> tuple[list[str], int, str]:
    """Return the stripped names of the columns, the lines they take, and the delimiter.

    Lines are counted as pyarrow does, to which a carriage return within a name ends one, too.

    Without a delimiter it is the one of comma, tab, semicolon and bar that cuts the header
    into most columns, and not within quotes.
    """
    if delimiter is not None:
        return _first_row(path, delimiter)
    candidates = [mark for mark in DELIMITERS if _keeps_quotes(path, mark)] or DELIMITERS
    return max((_first_row(path, mark) for mark in candidates), key=lambda row: len(row[0]))


def _keeps_quotes(path: Any, delimiter: str) -> bool:
    """Say whether every quoted name of the header ends where a delimiter or the line begins."""
    with open_bytes(path) as file:
        try:
            return any(csv.reader(_lines(path, file), delimiter=delimiter, strict=True))
        except csv.Error:
            return False


def find_line(path: Any, delimiter: str, row: int) -> int | None:
    """Return the line on which a row of data starts; rows count from 0, below the header."""
    for place, (line, _) in enumerate(rows(path, delimiter)):
        if place == row + 1:
            return line
    return None


def _first_row(path: Any, delimiter: str) -> tuple[list[str], int, str]:
    with open_bytes(path) as file:
        reader = csv.reader(_lines(path, file), delimiter=delimiter)
        try:
            for fields in reader:
                if len(fields) > MOST_COLUMNS:
                    words = f"has {len(fields)} columns; expected at most {MOST_COLUMNS}"
                    raise FileFormatError(at_line(path, 1, words))
                if fields:
                    within = sum(len(LONE_RETURN.findall(field)) for field in fields)
                    return [field.strip() for field in fields], reader.line_num + within, delimiter
        except csv.Error as problem:
            raise FileFormatError(at_line(path, 1, f"cannot be read ({problem})")) from None
    raise EmptyDataError(f"{path}: is empty")


def _lines(path: Any, file: BinaryIO) -> Iterator[str]:
    """Yield lines as text, or say which is not UTF-8, not text, or far too long."""
    number = 0
    while line := _line(path, file):
        number += 1
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if len(line) == LONGEST_LINE:
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
    """Read a line, as much of it as a line may have."""
    try:
        return file.readline(LONGEST_LINE)
    except (EOFError, OSError, zlib.error, gzip.BadGzipFile) as problem:
        raise FileFormatError(f"{path}: cannot be unpacked ({problem})") from None
