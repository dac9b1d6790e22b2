"""Ways to damage bytes: each takes some bytes and a random generator, and returns other bytes."""

from __future__ import annotations

import gzip
import re
import struct
import zlib

import numpy as np

Rng = np.random.Generator

SIZES = (0, 1, -1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 2**31 - 1, -(2**31), 10**9, 2**32 - 1)
"""Lengths that a header may claim, as 32 bits."""
NUMBERS = (
    b"nan",
    b"inf",
    b"-inf",
    b"1e309",
    b"-0",
    b"-0.0",
    b"1e-400",
    str(2**31).encode(),
    str(2**53 + 1).encode(),
    str(2**63).encode(),
    str(-(2**63)).encode(),
    str(2**64).encode(),
    str(10**18).encode(),
    b"9" * 400,
    b"9" * 5000,
    b"0x10",
    b"1_000",
    b"NA",
    b"",
    b"-1",
    b"1e70",
    b"1e71",
    "\u0663".encode(),
)
SPLINTERS = (
    b"\0",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\xff\xfe",
    b"\xc0\x80",
    b'"',
    b"'",
    b"\r",
    b"\n\n",
    b"\x1a",
    b"\xe2\x80\xa8",
    b"\x1b[2J",
    b",,,,",
    b"\t",
    b"\\",
)
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:e-?\d+)?")


def position(blob: bytes, rng: Rng) -> int:
    """Return a random position in the bytes."""
    return int(rng.integers(0, max(1, len(blob))))


def flip_bits(blob: bytes, rng: Rng) -> bytes:
    """Flip one to eight bits."""
    made = bytearray(blob or b"\0")
    for _ in range(int(rng.integers(1, 9))):
        made[position(made, rng)] ^= 1 << int(rng.integers(0, 8))
    return bytes(made)


def set_bytes(blob: bytes, rng: Rng) -> bytes:
    """Overwrite one to sixteen bytes in a row."""
    made = bytearray(blob or b"\0")
    start = position(made, rng)
    for at in range(start, min(len(made), start + int(rng.integers(1, 17)))):
        made[at] = int(rng.choice([0, 0xFF, 0x80, 0x7F, int(rng.integers(0, 256))]))
    return bytes(made)


def delete(blob: bytes, rng: Rng) -> bytes:
    """Leave out a stretch."""
    start = position(blob, rng)
    return blob[:start] + blob[start + int(rng.integers(1, 40)) :]


def insert(blob: bytes, rng: Rng) -> bytes:
    """Insert random bytes, or bytes that often cause trouble."""
    start = position(blob, rng)
    more = rng.bytes(int(rng.integers(1, 40)))
    if rng.random() < 0.5:
        more = SPLINTERS[int(rng.integers(0, len(SPLINTERS)))]
    return blob[:start] + more + blob[start:]


def truncate(blob: bytes, rng: Rng) -> bytes:
    """Cut off the end, or the beginning."""
    cut = position(blob, rng)
    return blob[cut:] if rng.random() < 0.2 else blob[:cut]


def repeat(blob: bytes, rng: Rng) -> bytes:
    """Repeat a block."""
    start = position(blob, rng)
    end = start + int(rng.integers(1, 200))
    return blob[:end] + blob[start:end] * int(rng.integers(1, 200)) + blob[end:]


def swap(blob: bytes, rng: Rng) -> bytes:
    """Exchange two blocks."""
    low, middle, high = sorted(position(blob, rng) for _ in range(3))
    return blob[:low] + blob[middle:high] + blob[low:middle] + blob[high:]


def resize(blob: bytes, rng: Rng) -> bytes:
    """Overwrite 4 or 8 aligned bytes with a length that makes no sense."""
    made = bytearray(blob.ljust(16, b"\0"))
    size = SIZES[int(rng.integers(0, len(SIZES)))]
    wide = rng.random() < 0.3
    at = position(made[: -8 if wide else -4], rng) // 4 * 4
    if wide:
        claim = int(rng.choice([10**18, 2**63 - 1, -1, 2**40]))
        struct.pack_into("<q", made, at, claim)
    else:
        struct.pack_into("<I", made, at, size & 0xFFFFFFFF)
    return bytes(made)


def grow_varint(blob: bytes, rng: Rng) -> bytes:
    """Replace a byte by a very large variable-length integer."""
    at = position(blob, rng)
    claims = (b"\xff\xff\xff\xff\x0f", b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x80" * 12)
    return blob[:at] + claims[int(rng.integers(0, len(claims)))] + blob[at + 1 :]


def change_numbers(blob: bytes, rng: Rng) -> bytes:
    """Replace one to three numbers in a text by numbers that are hard to read."""
    for _ in range(int(rng.integers(1, 4))):
        found = list(NUMBER.finditer(blob))
        if not found:
            return insert(blob, rng)
        one = found[int(rng.integers(0, len(found)))]
        number = NUMBERS[int(rng.integers(0, len(NUMBERS)))]
        blob = blob[: one.start()] + number + blob[one.end() :]
    return blob


def change_fields(blob: bytes, rng: Rng) -> bytes:
    """Exchange, drop or repeat fields of some line of a text."""
    lines = blob.split(b"\n")
    at = position(lines, rng)
    mark = next((one for one in (b",", b"\t", b";", b" ") if one in lines[at]), b",")
    fields = lines[at].split(mark)
    kind = int(rng.integers(0, 5))
    if kind == 0:
        fields = fields[:-1]
    elif kind == 1:
        fields = fields * int(rng.integers(2, 6))
    elif kind == 2:
        fields = fields[::-1]
    elif kind == 3:
        fields[position(fields, rng)] = SPLINTERS[int(rng.integers(0, len(SPLINTERS)))] * 3
    else:
        fields[position(fields, rng)] = b"  "
    lines[at] = mark.join(fields)
    return b"\n".join(lines)


def lengthen(blob: bytes, rng: Rng) -> bytes:
    """Make one line very long, now and then as long as ten million bytes."""
    at = position(blob, rng)
    length = 10_000_000 if rng.random() < 0.02 else int(rng.integers(1000, 200_000))
    letter = (b"x", b",", b" ", b'"', b"1,", b"1 ", b"\0")[int(rng.integers(0, 7))]
    return blob[:at] + letter * (length // len(letter)) + blob[at:]


def unpacked(blob: bytes) -> bytes:
    """Return the content of a gzipped seed; other bytes unchanged."""
    try:
        return gzip.decompress(blob)
    except (OSError, EOFError, zlib.error):
        return blob


def in_text(change):
    """Return a mutator that works inside gzip, so that the parser sees the damage."""

    def mutate(blob: bytes, rng: Rng) -> bytes:
        text = unpacked(blob)
        made = change(text, rng)
        return made if text is blob else gzip.compress(made, mtime=0)

    mutate.__name__ = change.__name__
    return mutate


BYTES = (flip_bits, set_bytes, delete, insert, truncate, repeat, swap, resize)
TEXT = (*map(in_text, (change_numbers, change_fields, insert, delete, lengthen)), *BYTES)
