"""How much a packed file may hold: enough for any honest one, far too little for a bomb."""

from __future__ import annotations

import gzip
import io
import os
from typing import Any, BinaryIO, cast

__all__ = ["open_gzip", "room_of"]

ROOM = 1 << 26
"""Bytes that any file may unpack to."""
RATIO = 200
"""Bytes that every byte of a file may add to that. Text and numbers of real data pack to a
tenth, now and then to a fiftieth; zeros, which hold nothing, to a thousandth."""
OF_TEXT = 4
"""Bytes that a byte of text may become: "1 1\\n" is an index and a number."""


def room_of(path: Any) -> int:
    """Return the bytes that the file at a path may unpack to."""
    return ROOM + RATIO * os.path.getsize(path)


def open_gzip(path: Any) -> BinaryIO:
    """Open a gzipped file; reading beyond its room is an ``OSError``, as other damage is."""
    room = room_of(path) // OF_TEXT
    return cast(BinaryIO, io.BufferedReader(_Bounded(path, room), 1 << 16))


class _Bounded(io.RawIOBase):
    """What a gzipped file holds, up to a number of bytes."""

    def __init__(self, path: Any, room: int) -> None:
        self._file = gzip.open(path, "rb")  # noqa: SIM115  (closed with this one)
        self._room = self._left = room

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count: int = self._file.readinto(buffer)
        self._left -= count
        if self._left < 0:
            raise OSError(
                f"it holds more than {self._room} bytes, which is too much for its size; unpack "
                "it first"
            )
        return count

    def close(self) -> None:
        self._file.close()
        super().close()
