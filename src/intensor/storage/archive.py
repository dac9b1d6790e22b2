"""Reading ``.npz`` archives from strangers: no pickle, no more memory than the file is worth."""

from __future__ import annotations

import contextlib
import math
import os
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from intensor._arrays import AnyArray
from intensor.errors import FileFormatError
from intensor.storage.limits import largest_decompressed_size

ARCHIVE = "a NumPy archive (.npz)"
COMPRESSION_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Compression methods that NumPy writes. The zip library decompresses others without a limit."""
DAMAGE_ERRORS = (
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
"""Errors that the readers of zip archives and of NumPy headers raise on damaged files."""


def list_entries(path: Any) -> list[str]:
    """Return the names of the arrays in an archive, without reading any of them."""
    with _opened(path, ARCHIVE) as archive:
        return list(_entries_by_name(archive))


def read_archive(
    path: Any, names: list[str] | None = None, *, compressed: bool = True, kind: str = ARCHIVE
) -> dict[str, AnyArray]:
    """Return arrays of an archive by name, all of them by default.

    Names that the archive lacks are left out. Entries, which may be ``compressed``, are checked
    before they are read: the size that an array's header claims must agree with the size of its
    entry, and the size of the entry with the size of the file. Messages call the file a ``kind``.
    """
    methods = COMPRESSION_METHODS if compressed else COMPRESSION_METHODS[:1]
    with _opened(path, kind) as archive:
        entries = _entries_by_name(archive)
        wanted = list(entries) if names is None else [name for name in names if name in entries]
        for name in wanted:
            if entries[name].compress_type not in methods:
                raise FileFormatError(
                    f"entry {name!r} is compressed by method {entries[name].compress_type}; "
                    "expected a file as numpy.savez writes it"
                )
        claimed = sum(entries[name].file_size for name in wanted)
        if not compressed and claimed > os.path.getsize(path):
            raise FileFormatError(f"claims {claimed} bytes, more than it has; it is damaged")
        if compressed and claimed > (largest := largest_decompressed_size(path)):
            raise FileFormatError(
                f"claims to unpack to {claimed} bytes; expected at most {largest} from a file of "
                "its size (save it without compression, or as a list of cells)"
            )
        return {name: _read_entry(archive, entries[name], name) for name in wanted}


@contextlib.contextmanager
def _opened(path: Any, kind: str) -> Iterator[zipfile.ZipFile]:
    """Open an archive; every error while it is read names the file."""
    try:
        with zipfile.ZipFile(Path(path)) as archive:
            yield archive
    except FileFormatError as problem:
        raise FileFormatError(f"{path}: {problem}") from None
    except DAMAGE_ERRORS as problem:
        reason = " ".join(str(problem).split())[:200] or type(problem).__name__
        raise FileFormatError(
            f"{path}: cannot be read as {kind}, it is truncated, damaged or something else "
            f"({reason})"
        ) from problem


def _entries_by_name(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the entries by the names of their arrays."""
    entries: dict[str, zipfile.ZipInfo] = {}
    for entry in archive.infolist():
        name = entry.filename.removesuffix(".npy")
        if name in entries or name == entry.filename:
            raise FileFormatError(
                f"has the entry {entry.filename!r}, which does not belong in {ARCHIVE}"
            )
        entries[name] = entry
    return entries


def _read_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str) -> AnyArray:
    with archive.open(entry) as file:
        shape, fortran, dtype = _read_header(file)
        if dtype.hasobject:
            raise FileFormatError(
                f"entry {name!r} holds Python objects, which are never read; expected numbers"
            )
        size = math.prod(shape) * dtype.itemsize
        if size > entry.file_size:
            raise FileFormatError(
                f"entry {name!r} claims {size} bytes but has {entry.file_size}; the file is damaged"
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
    """Return the shape, the order and the type that the header of an array claims."""
    stream: BinaryIO = file
    version = np.lib.format.read_magic(stream)
    with warnings.catch_warnings():
        # NumPy warns of old files and of odd Python in a header; to us both are only data
        warnings.simplefilter("ignore")
        if version == (1, 0):
            return np.lib.format.read_array_header_1_0(stream)
        if version in {(2, 0), (3, 0)}:
            return np.lib.format.read_array_header_2_0(stream)
    raise ValueError(f"version {version} of the .npy format is not known")
