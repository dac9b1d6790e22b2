"""MATLAB files up to version 7: a list of cells, or an array that has NaN for missing.

The reader is our own. It knows arrays of numbers only, of versions 4 and 5 to 7 of the format, and
believes no length that the file claims. SciPy's reader does more, but a damaged file may make it
crash the process.
"""

from __future__ import annotations

import itertools
import math
import os
import struct
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol

import numpy as np

from intensor._arrays import AnyArray, Shape
from intensor.data.readers.files import Request, shorten
from intensor.data.readers.tensors import read_arrays, wanted_arrays
from intensor.data.table import Table
from intensor.errors import FileFormatError
from intensor.storage.limits import largest_decompressed_size

HDF5 = b"\x89HDF\r\n\x1a\n"
"""First bytes of an HDF5 file, which MATLAB files of version 7.3 are."""
HEADER_BYTES = 128
"""Bytes of the header of version 5; its last two tell the order of bytes."""
MATRIX, PACKED = 14, 15
"""Types of elements: an array, and an array that is packed."""
INTEGER_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 12: "i8", 13: "u8"}
STORED_TYPES = INTEGER_TYPES | {7: "f4", 9: "f8"}
"""Types of numbers in version 5."""
NUMBER_CLASSES = range(6, 16)
"""Classes of arrays of numbers: double, single and integers."""
COMPLEX_FLAG = 1 << 11
"""Flag of an array of complex numbers."""
STORED_TYPES_4 = ("f8", "f4", "i4", "i2", "u2", "u1")
"""Types of numbers in version 4."""
MAX_NAME_BYTES = 4096
"""Most bytes of the name of a variable."""
MAX_MODES = 64
"""Most modes of an array."""
READ_BYTES = 1 << 16
"""Packed bytes that are read at once."""


def read(path: Any, request: Request) -> Table:
    """Read ``coords`` and ``values``, or a single array of numbers, as from ``.npz`` files.

    Indices begin at 1 unless the request says otherwise or there is a 0 among them.
    """
    with open(path, "rb") as file:
        start = file.read(1024)
    if HDF5 in start or b"MATLAB 7.3 MAT-file" in start:
        raise FileFormatError(
            f"{path}: is a MATLAB file of version 7.3 (HDF5), which cannot be read; save it with "
            "save(..., '-v7')"
        )
    elements = read_elements(path)
    for element in elements:  # passing over one of these would be a guess
        named = element.name in ("coords", "values", "shape", request.value, request.weight)
        if named and not element.numeric:
            raise FileFormatError(f"{path}: {element.name!r} is no array of numbers; expected one")
    names = [element.name for element in elements if element.numeric]
    chosen = wanted_arrays(path, names, request)
    found = {element.name: element.array for element in read_elements(path, chosen)}
    arrays = {name: array for name in chosen if (array := found[name]) is not None}
    return read_arrays(path, arrays, request, one_based=request.one_based)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Element:
    """A variable of a file."""

    name: str
    shape: Shape
    numeric: bool  # whether it is an array of real numbers; other arrays are never read
    array: AnyArray | None  # the numbers, if they were asked for


class _Stream(Protocol):
    def read(self, size: int, /) -> bytes: ...


def read_elements(path: Any, names: Collection[str] = ()) -> list[Element]:
    """Return all variables of a file, with the numbers of those that are named.

    Functions below raise a ``ValueError`` where the file is damaged or no MATLAB file, or where an
    array claims more than the file can hold.
    """
    try:
        with open(path, "rb") as file:
            start = file.read(HEADER_BYTES)
            size, limit = os.path.getsize(path), largest_decompressed_size(path)
            if 0 in start[:4]:
                file.seek(0)
                return list(_version_4(file, size, names))
            order = {b"IM": "<", b"MI": ">"}.get(start[126:])
            if order is None:
                raise ValueError("it has no mark of a MATLAB file")
            return list(_version_5(file, order, size, limit, names))
    except (ValueError, OSError, OverflowError, MemoryError, zlib.error) as problem:
        text = shorten(problem) or type(problem).__name__
        raise FileFormatError(
            f"{path}: cannot be read as a MATLAB file (.mat), it is truncated, damaged or "
            f"something else ({text})"
        ) from problem


def _version_5(
    file: BinaryIO, order: str, size: int, limit: int, names: Collection[str]
) -> Iterator[Element]:
    while tag := file.read(8):
        kind, length = struct.unpack(f"{order}II", _check_length(tag, 8))
        end = file.tell() + length
        if end > size:
            raise ValueError(f"an element claims {length} bytes, the file has {size}")
        if kind == PACKED:
            stream = _Unpacked(file, length)
            kind, length = struct.unpack(f"{order}II", _exactly(stream, 8))
            if length:
                yield _matrix(stream, kind, order, limit, names)
        elif length:
            yield _matrix(file, kind, order, min(limit, 8 * length), names)
        file.seek(end)


def _matrix(stream: _Stream, kind: int, order: str, limit: int, names: Collection[str]) -> Element:
    """Return the array that begins here; its numbers may take up to ``limit`` bytes of memory."""
    if kind != MATRIX:
        raise ValueError(f"an element is of type {kind}; expected an array")
    flags = _part(stream, order, most=8)
    (flag,) = struct.unpack(f"{order}I", _check_length(flags[1][:4], 4))
    numeric = flag & 0xFF in NUMBER_CLASSES and not flag & COMPLEX_FLAG
    if flag & 0xFF > NUMBER_CLASSES[-1]:  # functions have no more parts
        return Element(name="", shape=(), numeric=False, array=None)
    lengths = _part(stream, order, most=4 * MAX_MODES)[1]
    shape = struct.unpack(f"{order}{len(lengths) // 4}i", lengths[: len(lengths) // 4 * 4])
    name = _part(stream, order, most=MAX_NAME_BYTES)[1].decode("latin-1")
    n = math.prod(shape)
    if len(shape) < 2 or min(shape) < 0 or 8 * n > limit:
        raise ValueError(f"{name!r} claims the shape {shape}, more than the file can hold")
    array = _numbers(stream, order, name, shape) if numeric and name in names else None
    return Element(name=name, shape=shape, numeric=numeric, array=array)


def _numbers(stream: _Stream, order: str, name: str, shape: Shape) -> AnyArray:
    n = math.prod(shape)
    kind, data = _part(stream, order, most=8 * n)
    if kind not in STORED_TYPES:
        raise ValueError(f"{name!r} has numbers of type {kind}")
    numbers = np.frombuffer(data, dtype=order + STORED_TYPES[kind]) if data else np.empty(0)
    if numbers.size != n:
        raise ValueError(f"{name!r} has {numbers.size} numbers and the shape {shape}")
    return _native(numbers, shape)


def _part(stream: _Stream, order: str, *, most: int) -> tuple[int, bytes]:
    """Return the type and bytes of a part of an array, and skip its padding to eight bytes."""
    tag = _exactly(stream, 8)
    kind, length = struct.unpack(f"{order}II", tag)
    if kind >> 16:  # up to four bytes stand in the tag itself
        length, kind = kind >> 16, kind & 0xFFFF
        return kind, tag[4 : 4 + min(length, 4)]
    if length > most:
        raise ValueError(f"a part of an array claims {length} bytes; expected at most {most}")
    data = _exactly(stream, length)
    stream.read(-length % 8)
    return kind, data


def _version_4(file: BinaryIO, size: int, names: Collection[str]) -> Iterator[Element]:
    order = "<"
    for turn in itertools.count():
        head = file.read(20)
        if not head and turn:
            return
        if not turn and not 0 <= struct.unpack("<i", _check_length(head, 20)[:4])[0] < 5000:
            order = ">"
        code, rows, columns, imaginary, letters = struct.unpack(
            f"{order}5i", _check_length(head, 20)
        )
        stored, text = code // 10 % 10, code % 10
        if not 0 <= code < 5000 or stored >= len(STORED_TYPES_4) or min(rows, columns) < 0:
            raise ValueError("a variable has a head that makes no sense")
        if not 0 < letters <= MAX_NAME_BYTES:
            raise ValueError(f"a name claims {letters} letters")
        name = _exactly(file, letters).rstrip(b"\0").decode("latin-1")
        dtype = np.dtype(order + STORED_TYPES_4[stored])
        length = rows * columns * dtype.itemsize
        end = file.tell() + length * (2 if imaginary else 1)
        if end > size:
            raise ValueError(f"{name!r} claims {rows} x {columns} numbers, more than there are")
        numeric = text == 0 and not imaginary
        array = None
        if numeric and name in names:
            flat = np.frombuffer(_exactly(file, length), dtype=dtype)
            array = _native(flat, (rows, columns))
        yield Element(name=name, shape=(rows, columns), numeric=numeric, array=array)
        file.seek(end)


class _Unpacked:
    """The content of a packed element, unpacked as it is read."""

    def __init__(self, file: BinaryIO, length: int) -> None:
        self._file = file
        self._left = length
        self._rest = b""
        self._unpack = zlib.decompressobj()

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, fewer at the end."""
        parts, missing = [], size
        while missing > 0 and not self._unpack.eof:
            part = self._unpack.decompress(self._rest, missing)
            self._rest = self._unpack.unconsumed_tail
            missing -= len(part)
            parts.append(part)
            if not part and not self._rest:
                self._rest = self._file.read(min(self._left, READ_BYTES))
                self._left -= len(self._rest)
                if not self._rest:
                    break
        return b"".join(parts)


def _exactly(stream: _Stream, size: int) -> bytes:
    return _check_length(stream.read(size), size)


def _check_length(data: bytes, size: int) -> bytes:
    if len(data) != size:
        raise ValueError("it ends too early")
    return data


def _native(numbers: AnyArray, shape: Shape) -> AnyArray:
    """Return an array in the order of bytes of this machine, from its columns."""
    return numbers.astype(numbers.dtype.newbyteorder("="), copy=False).reshape(shape, order="F")
