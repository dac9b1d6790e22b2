"""How far a compressed file may expand: enough for any honest file, far too little for a bomb."""

from __future__ import annotations

import gzip
import io
import os
from typing import Any, BinaryIO, cast

BYTES_FOR_ANY_FILE = 1 << 26  # bytes that any file may decompress to, however small it is
BYTES_PER_BYTE = 200
"""Further bytes that a file may decompress to, per byte on disk. Real data compresses to a tenth
of its size, sometimes to a fiftieth; zeros, which hold nothing, compress to a thousandth."""
MEMORY_PER_TEXT_BYTE = 4
"""Bytes of memory that one byte of text may need: "1 1\\n" is an index and a number."""


def largest_decompressed_size(path: Any) -> int:
    """Return the number of bytes that the file at a path may decompress to."""
    return BYTES_FOR_ANY_FILE + BYTES_PER_BYTE * os.path.getsize(path)


def open_gzip(path: Any) -> BinaryIO:
    """Open a gzipped text; reading too much for its size is an ``OSError``, like other damage."""
    largest = largest_decompressed_size(path) // MEMORY_PER_TEXT_BYTE
    return cast(BinaryIO, io.BufferedReader(_BoundedGzip(path, largest), 1 << 16))


class _BoundedGzip(io.RawIOBase):
    """The content of a gzipped file, up to a number of bytes."""

    def __init__(self, path: Any, largest: int) -> None:
        self._file = gzip.open(path, "rb")  # noqa: SIM115  (closed with this one)
        self._largest = self._left = largest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count: int = self._file.readinto(buffer)
        self._left -= count
        if self._left < 0:
            raise OSError(
                f"it holds more than {self._largest} bytes, which is too much for its size; "
                "unpack it first"
            )
        return count

    def close(self) -> None:
        self._file.close()
        super().close()
