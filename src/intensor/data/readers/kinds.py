"""Which format a file has, and whether it can be opened at all."""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from intensor.errors import EmptyDataError, FileFormatError, LabelError
from intensor.storage.limits import open_gzip

__all__ = [
    "TABLES",
    "TENSORS",
    "at_line",
    "check_file",
    "check_path",
    "check_unique",
    "find_kind",
    "name_problem",
    "open_bytes",
    "pick_columns",
    "pick_modes",
]

TABLES = ("csv", "tsv", "parquet")
TENSORS = ("tns", "npz", "mat")
SUFFIXES = {
    ".csv": "csv",
    ".txt": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".tns": "tns",
    ".npz": "npz",
    ".mat": "mat",
}
GZIPPED = ("csv", "tsv", "tns")
GZIP_MAGIC = b"\x1f\x8b"
MAGIC = {
    b"PAR1": "a Parquet file",
    b"PK\x03\x04": "a zip archive (.npz, .xlsx)",
    b"\x89HDF": "an HDF5 file",
    b"MATLAB": "a MATLAB file",
    b"\x93NUMPY": "a NumPy array (.npy)",
    b"ARROW1": "an Arrow file",
}
MOST_NAMES = 12
LONGEST_NAME = 100
"""Characters of a name that are shown."""


def find_kind(path: Any, kind: str | None) -> str:
    """Return the kind that is given, or the one that the suffix says."""
    if kind is not None:
        if kind not in (*TABLES, *TENSORS):
            names = ", ".join(repr(name) for name in (*TABLES, *TENSORS))
            raise FileFormatError(f"{path}: the kind is {kind!r}; expected one of {names}")
        return kind
    name = Path(path).name.lower()
    packed = name.endswith(".gz")
    found = SUFFIXES.get(Path(name.removesuffix(".gz")).suffix)
    if found is None or (packed and found not in GZIPPED):
        raise FileFormatError(
            f"{path}: the suffix does not say what it is; expected .csv, .tsv, .parquet, .tns, "
            ".npz or .mat (or name the kind)"
        )
    return found


def check_path(path: Any) -> Any:
    """Return a path as text or a ``Path``, or say that it is none."""
    if isinstance(path, bytes):
        return os.fsdecode(path)
    if not isinstance(path, (str, os.PathLike)):
        raise FileFormatError(f"{path!r}: is not the path of a file")
    return path


def check_file(path: Any) -> None:
    """Say in one sentence why a file cannot be opened, if it cannot."""
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
    if not stat.S_ISREG(mode):  # a pipe or a device, which can be read once at most
        raise FileFormatError(
            f"{path}: is not a regular file; expected one, which may be read more than once (save "
            "what a pipe or a device holds to a file first)"
        )
    if empty:
        raise EmptyDataError(f"{path}: is empty")


def open_bytes(path: Any) -> BinaryIO:
    """Open a text file, unpacked if it is gzipped, or say that it is no text."""
    with open(path, "rb") as file:
        start = file.read(8)
    for magic, words in MAGIC.items():
        if start.startswith(magic):
            raise FileFormatError(f"{path}: is {words}; expected a text file, as its suffix says")
    if start.startswith(GZIP_MAGIC):
        return open_gzip(path)
    if str(path).lower().endswith(".gz"):
        raise FileFormatError(f"{path}: is not gzipped, though its suffix says so")
    return open(path, "rb")


def at_line(path: Any, line: int | None, problem: str) -> str:
    """Return the sentence that says what is wrong and where."""
    return f"{path}: {problem}" if line is None else f"{path}, line {line}: {problem}"


def name_problem(path: Any, wanted: str, names: Sequence[str], *, what: str) -> FileFormatError:
    """Return the error for a column that is not there, with the nearest name that is."""
    # comparing takes time that grows with the square of a length
    lower = {name.lower(): name for name in reversed(names) if len(name) <= LONGEST_NAME}
    word = wanted.lower().strip()[:LONGEST_NAME]
    near = difflib.get_close_matches(word, list(lower), n=1, cutoff=0.5)
    hint = f"; did you mean {lower[near[0]]!r}?" if near else ""
    return FileFormatError(f"{path}: has no {what} {_quoted(wanted)}, only {_listed(names)}{hint}")


def pick_columns(
    path: Any,
    names: Sequence[str],
    *,
    value: str | None,
    modes: Sequence[str] | None,
    weight: str | None,
) -> tuple[tuple[str, ...], str, str | None]:
    """Return the columns of modes, values and weights among the (stripped) names of a file."""
    check_unique(path, names)
    wanted = "value" if value is None else value.strip()
    if wanted not in names:
        problem = name_problem(path, wanted, names, what="column")
        if value is None:
            raise FileFormatError(f"{problem} (name the column of values)")
        raise problem
    heavy = None if weight is None else weight.strip()
    if heavy is not None and heavy not in names:
        raise name_problem(path, heavy, names, what="column")
    if heavy == wanted:
        raise FileFormatError(f"{path}: column {wanted!r} cannot be both the values and weights")
    if modes is None:
        chosen = tuple(name for name in names if name not in (wanted, heavy))
    else:
        chosen = pick_modes(path, names, modes)
        for name in chosen:
            if name in (wanted, heavy):
                raise FileFormatError(f"{path}: column {name!r} cannot be both a mode and numbers")
    if not chosen:
        raise FileFormatError(
            f"{path}: has no column of labels beside {wanted!r}; expected one per mode"
        )
    return chosen, wanted, heavy


def pick_modes(path: Any, names: Sequence[str], modes: Iterable[str]) -> tuple[str, ...]:
    """Return the columns of modes, or say which is not there."""
    chosen = tuple(name.strip() for name in modes)
    for name in chosen:
        if name not in names:
            raise name_problem(path, name, names, what="column")
    if len(set(chosen)) != len(chosen):
        raise FileFormatError(f"{path}: the modes {_listed(chosen)} name a column twice")
    if not chosen:
        raise FileFormatError(f"{path}: no mode was named; expected at least one column of labels")
    return chosen


def check_unique(path: Any, names: Sequence[str]) -> None:
    """Raise when two columns have the same name once blanks around it are gone."""
    seen: dict[str, int] = {}
    for place, name in enumerate(names):
        first = seen.setdefault(name, place)
        if first != place:
            raise LabelError(
                f"{path}: columns {first + 1} and {place + 1} are both called {_quoted(name)} "
                "(blanks around a name do not count); rename one of them"
            )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(_quoted, names[:MOST_NAMES]))
    return shown + (f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else "")


def _quoted(name: str) -> str:
    return repr(name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 3]}...")
