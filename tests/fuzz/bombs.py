"""Small files that unpack to very large ones, made without ever holding their content."""

from __future__ import annotations

import struct
import zlib

BLOCK = 1 << 20


def deflate(start: bytes, block: bytes, times: int) -> tuple[bytes, int, int]:
    """Return a raw DEFLATE stream of a start and a block many times, its CRC and its length.

    A full flush ends on a byte and forgets what came before, so that the packed block can be
    repeated as it is.
    """
    first = zlib.compressobj(9, zlib.DEFLATED, -15)
    head = first.compress(start) + first.flush(zlib.Z_FULL_FLUSH)
    one = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = one.compress(block) + one.flush(zlib.Z_FULL_FLUSH)
    last = zlib.compressobj(9, zlib.DEFLATED, -15)
    check = zlib.crc32(start)
    for _ in range(times):
        check = zlib.crc32(block, check)
    return head + body * times + last.flush(), check, len(start) + times * len(block)


def gzip_bomb(start: bytes, piece: bytes, size: int) -> bytes:
    """Return a gzip file of a start and a piece that is repeated up to a size."""
    block = piece * (BLOCK // len(piece))
    packed, check, length = deflate(start, block, size // len(block))
    return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + packed + struct.pack("<II", check, length)


def zip_bomb(members: list[tuple[str, bytes, int]]) -> bytes:
    """Return a zip archive whose members are a start and then a number of MiB of zeros."""
    members_part, directory = b"", b""
    for name, start, times in members:
        packed, check, length = deflate(start, bytes(BLOCK), times)
        letters = name.encode()
        fields = struct.pack(
            "<HHHHHIIIHH", 20, 0, 8, 0, 33, check, len(packed), length, len(letters), 0
        )
        directory += b"PK\x01\x02\x14\0" + fields + bytes(10) + struct.pack("<I", len(members_part))
        directory += letters
        members_part += b"PK\x03\x04" + fields + letters + packed
    count = len(members)
    end = struct.pack("<HHHHIIH", 0, 0, count, count, len(directory), len(members_part), 0)
    return members_part + directory + b"PK\x05\x06" + end


def zlib_bomb(start: bytes, size: int) -> bytes:
    """Return a zlib stream of a start and many zeros."""
    packed, _, length = deflate(start, bytes(BLOCK), size // BLOCK)
    low, high = _adler(start, length - len(start))
    return b"\x78\x9c" + packed + struct.pack(">I", high << 16 | low)


def _adler(start: bytes, zeros: int) -> tuple[int, int]:
    """Return both halves of the Adler-32 of a start followed by zeros."""
    check = zlib.adler32(start)
    low, high = check & 0xFFFF, check >> 16
    return low, (high + zeros * low) % 65521
