"""What readers of all formats need: the format of a file, opening it, and what to read from it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO

from intensor.data.checks import BadRow
from intensor.data.columns import (
    Choice,
    can_be_listed,
    choose_columns,
    choose_modes,
    describe_melt,
    melting_code,
    quote_name,
)
from intensor.data.labels import Labels
from intensor.errors import EmptyDataError, FileFormatError, InputError, LabelError, ValuesError
from intensor.storage.limits import open_gzip


class Format(StrEnum):
    """Formats of data files."""

    CSV = "csv"
    TSV = "tsv"
    PARQUET = "parquet"
    TNS = "tns"
    NPZ = "npz"
    MAT = "mat"

    @property
    def has_columns(self) -> bool:
        """Whether files hold a table with labels; the others hold indices only."""
        return self in (Format.CSV, Format.TSV, Format.PARQUET)


SUFFIXES = {
    ".csv": Format.CSV,
    ".txt": Format.CSV,
    ".tsv": Format.TSV,
    ".tab": Format.TSV,
    ".parquet": Format.PARQUET,
    ".pq": Format.PARQUET,
    ".tns": Format.TNS,
    ".npz": Format.NPZ,
    ".mat": Format.MAT,
}
"""Format by suffix."""
GZIP_FORMATS = (Format.CSV, Format.TSV, Format.TNS)
"""Formats that may be gzipped."""
MIN_WIDE_COLUMNS = 3
"""Fewest columns beside the labels with which a table without values may be a wide one."""
GZIP_MAGIC = b"\x1f\x8b"
"""First bytes of a gzipped file."""
BINARY_MAGIC = {
    b"PAR1": "a Parquet file",
    b"PK\x03\x04": "a zip archive (.npz, .xlsx)",
    b"\x89HDF": "an HDF5 file",
    b"MATLAB": "a MATLAB file",
    b"\x93NUMPY": "a NumPy array (.npy)",
    b"ARROW1": "an Arrow file",
}
"""First bytes of files that are not text, and what such a file is."""
MAX_QUOTED_MESSAGE = 200
"""Most characters of another package's message that ours repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to read from a file."""

    value: str | None = None  # column or array of the values
    modes: Sequence[str] | None = None  # columns, or names for the modes of a file of indices
    weight: str | None = None  # column or array of the weights
    one_based: bool | None = None  # whether indices begin at 1; None leaves it to the format
    like: Labels | None = None  # columns are read as labels of the same kinds as these
    cells_only: bool = False  # whether only cells are read, which may come without values

    def text_modes(self) -> set[str]:
        """Return the modes whose labels must be read as text."""
        if self.like is None:
            return set()
        known = zip(self.like.modes, self.like.indices, strict=True)
        return {mode for mode, labels in known if labels.dtype == object}


def find_format(path: Any, kind: str | None) -> Format:
    """Return the format that is named, or else the one that the suffix says."""
    if kind is not None:
        if kind not in list(Format):
            names = ", ".join(repr(name.value) for name in Format)
            raise FileFormatError(f"{path}: the kind is {kind!r}; expected one of {names}")
        return Format(kind)
    name = Path(path).name.lower()
    found = SUFFIXES.get(Path(name.removesuffix(".gz")).suffix)
    if found is None or (name.endswith(".gz") and found not in GZIP_FORMATS):
        raise FileFormatError(
            f"{path}: the suffix does not say what it is; expected .csv, .tsv, .parquet, .tns, "
            ".npz or .mat (or name the kind)"
        )
    return found


def check_path(path: Any) -> Any:
    """Return a path as text or a ``Path``, or raise if it is none."""
    if isinstance(path, bytes):
        return os.fsdecode(path)
    if not isinstance(path, (str, os.PathLike)):
        raise FileFormatError(f"{path!r}: is not the path of a file")
    return path


def check_file(path: Any) -> None:
    """Raise one sentence that says why a file cannot be opened, if it cannot."""
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISREG(mode):
            with open(path, "rb") as file:
                empty = not file.read(1)
    except FileNotFoundError:
        raise FileFormatError(f"{path}: there is no such file") from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise FileFormatError(f"{path}: cannot be opened ({reason})") from None
    if stat.S_ISDIR(mode):
        raise FileFormatError(f"{path}: is a folder; expected a file")
    if not stat.S_ISREG(mode):  # a pipe or a device can be read only once
        raise FileFormatError(
            f"{path}: is not a regular file; expected one, which may be read more than once (save "
            "what a pipe or a device holds to a file first)"
        )
    if empty:
        raise EmptyDataError(f"{path}: is empty")


def open_bytes(path: Any) -> BinaryIO:
    """Open a text file, unpacked if it is gzipped, or raise if it is not text."""
    with open(path, "rb") as file:
        start = file.read(8)
    for magic, description in BINARY_MAGIC.items():
        if start.startswith(magic):
            raise FileFormatError(
                f"{path}: is {description}; expected a text file, as its suffix says"
            )
    if start.startswith(GZIP_MAGIC):
        return open_gzip(path)
    if str(path).lower().endswith(".gz"):
        raise FileFormatError(f"{path}: is not gzipped, though its suffix says so")
    return open(path, "rb")


@contextmanager
def choosing_from(path: Any) -> Iterator[None]:
    """Turn an error about the choice of columns into one about the file."""
    try:
        yield
    except LabelError as problem:
        raise FileFormatError(f"{path}: {problem}") from None


def choose(path: Any, names: Sequence[str], request: Request) -> Choice:
    """Return the columns to read among the distinct names of a file."""
    with choosing_from(path):
        if request.cells_only:
            return Choice(choose_modes(names, request.modes))
        return choose_columns(
            names,
            value=request.value,
            modes=request.modes,
            weight=request.weight,
            advice=lambda: _advise(names, request),
        )


def _advise(names: Sequence[str], request: Request) -> str:
    """Return how to make a table long that may be wide; its types are not known yet."""
    kept = list(names[:1] if request.modes is None else choose_modes(names, request.modes))
    held = [name for name in names if name not in kept]
    if len(held) < MIN_WIDE_COLUMNS or not can_be_listed(kept):
        return ""
    return describe_melt(held, f"{melting_code('table.melt', kept)}, with a table of pandas")


def check_unique(path: Any, names: Sequence[str]) -> None:
    """Raise when two columns have the same name once blanks around it are gone."""
    first_positions: dict[str, int] = {}
    for position, name in enumerate(names):
        first = first_positions.setdefault(name, position)
        if first != position:
            raise LabelError(
                f"{path}: columns {first + 1} and {position + 1} are both called "
                f"{quote_name(name)} (blanks around a name do not count); rename one of them"
            )


def at_line(path: Any, line: int | None, problem: str) -> str:
    """Return a sentence that says what is wrong and where."""
    return f"{path}: {problem}" if line is None else f"{path}, line {line}: {problem}"


def row_error(problem: BadRow, message: str) -> InputError:
    """Return the error for a bad row; numbers that cannot be used are a fault of the file."""
    return (FileFormatError if problem.error is ValuesError else problem.error)(message)


def shorten(problem: object) -> str:
    """Return the message of another package on one line, without its tail."""
    return " ".join(str(problem).split())[:MAX_QUOTED_MESSAGE]
