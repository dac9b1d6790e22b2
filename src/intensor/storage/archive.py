"""Reading ``.npz`` archives from strangers: no pickle, no more memory than the file is worth."""

from __future__ import annotations

import math
import os
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np

from intensor._arrays import AnyArray
from intensor.errors import FileFormatError
from intensor.storage.limits import room_of

__all__ = ["BROKEN", "list_entries", "read_archive"]

T = TypeVar("T")

ARCHIVE = "a NumPy archive (.npz)"

METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""What NumPy writes. Others are unpacked without a limit by the library, however little is read."""
BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
    SyntaxError,
    TypeError,
    LookupError,
    MemoryError,
    OverflowError,
    tokenize.TokenError,
)
"""What the readers of zip archives and of NumPy's headers raise on damaged ones."""


def list_entries(path: Any) -> list[str]:
    """Return the names of the arrays in an archive, without reading any."""
    return _guarded(path, lambda archive: list(_infos(archive)))


def read_archive(
    path: Any, names: list[str] | None = None, *, packed: bool = True, kind: str = ARCHIVE
) -> dict[str, AnyArray]:
    """Return arrays of an archive by name, all of them by default.

    Entries are looked at before they are read: what an array's header claims must agree with
    the size of the entry, and the size of the entry with what is in the file.

    Parameters
    ----------
    names
        Of the arrays to read; those that are not there are left out.
    packed
        Whether entries may be compressed.
    kind
        What the file is expected to be, for messages.

    Raises
    ------
    FileFormatError
        When the file is truncated, damaged, not a NumPy archive, or holds Python objects.
    """

    def read(archive: zipfile.ZipFile) -> dict[str, AnyArray]:
        infos = _infos(archive)
        wanted = list(infos) if names is None else [name for name in names if name in infos]
        for name in wanted:
            _check_method(infos[name], name, METHODS if packed else METHODS[:1])
        claimed = sum(infos[name].file_size for name in wanted)
        room = room_of(path) if packed else os.path.getsize(path)
        if claimed > room and not packed:
            raise FileFormatError(f"claims {claimed} bytes, more than it has; it is damaged")
        if claimed > room:
            raise FileFormatError(
                f"claims to unpack to {claimed} bytes; expected at most {room} from a file of its "
                "size (save it without compression, or as a list of cells)"
            )
        return {name: _read_entry(archive, infos[name], name) for name in wanted}

    return _guarded(path, read, kind)


def _guarded(path: Any, read: Callable[[zipfile.ZipFile], T], kind: str = ARCHIVE) -> T:
    try:
        with zipfile.ZipFile(Path(path)) as archive:
            return read(archive)
    except FileFormatError as problem:
        raise FileFormatError(f"{path}: {problem}") from None
    except BROKEN as problem:
        raise FileFormatError(
            f"{path}: cannot be read as {kind}, it is truncated, damaged or "
            f"something else ({_one_line(problem)})"
        ) from problem


def _infos(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the entries by the names of their arrays."""
    infos: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        name = info.filename.removesuffix(".npy")
        if name in infos or name == info.filename:
            raise FileFormatError(
                f"has the entry {info.filename!r}, which does not belong in {ARCHIVE}"
            )
        infos[name] = info
    return infos


def _check_method(info: zipfile.ZipInfo, name: str, methods: tuple[int, ...]) -> None:
    if info.compress_type not in methods:
        raise FileFormatError(
            f"entry {name!r} is compressed by method {info.compress_type}; expected a file as "
            "numpy.savez writes it"
        )


def _read_entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> AnyArray:
    with archive.open(info) as file:
        shape, fortran, dtype = _read_header(file)
        if dtype.hasobject:
            raise FileFormatError(
                f"entry {name!r} holds Python objects, which are never read; expected numbers"
            )
        size = math.prod(shape) * dtype.itemsize
        if size > info.file_size:
            raise FileFormatError(
                f"entry {name!r} claims {size} bytes but has {info.file_size}; the file is damaged"
            )
        content = file.read(size + 1)
    if len(content) != size:
        raise FileFormatError(
            f"entry {name!r} has {len(content)} bytes where {size} were expected; the file is "
            "truncated or damaged"
        )
    flat = np.frombuffer(content, dtype=dtype) if size else np.empty(0, dtype=dtype)
    array = flat.reshape(shape, order="F" if fortran else "C")
    return array if dtype.isnative else array.astype(dtype.newbyteorder("="))


def _read_header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    stream: BinaryIO = file
    version = np.lib.format.read_magic(stream)
    with warnings.catch_warnings():
        # of the age of a file, or of odd Python in it: there is nothing to warn of, it is data
        warnings.simplefilter("ignore")
        if version == (1, 0):
            return np.lib.format.read_array_header_1_0(stream)
        if version in {(2, 0), (3, 0)}:
            return np.lib.format.read_array_header_2_0(stream)
    raise ValueError(f"version {version} of the .npy format is not known")


def _one_line(problem: BaseException) -> str:
    return " ".join(str(problem).split())[:200] or type(problem).__name__
