"""Files of the other formats that were crafted by hand, by name."""

from __future__ import annotations

import bz2
import gzip
import io
import struct
import zlib

import numpy as np
import pyarrow as pa
import scipy.sparse

from fuzz.bombs import BLOCK, gzip_bomb, zlib_bomb
from fuzz.damage import Rng, flip_bits, grow_varint, position, resize, set_bytes
from fuzz.seeds import mat_bytes, parquet_bytes

LONG = 10_000_000


def crafted_csv() -> dict[str, bytes]:
    """Return texts that are no tables, or very strange ones."""
    names = b",".join(b"c%d" % column for column in range(200_000))
    return {
        "nothing": b"",
        "a newline": b"\n",
        "zeros": bytes(1000),
        "a long line": b"a,value\n" + b"x" * LONG + b",1\n",
        "a long name": b"x" * LONG + b",value\na,1\n",
        "a longer name": b"x" * 2 * LONG + b",value\na,1\n",
        "long labels": b"a,value\n"
        + b"".join(b"%d" % i + b"y" * 100_000 + b",1\n" for i in range(50)),
        "a long comment": b"a,value\n" + b"," * LONG + b"\n",
        "many names": names + b",value\n" + b"1," * 200_000 + b"1\n",
        "many names, no row": names + b",value\n",
        "same names": b"a," * 1_000_000 + b"value\n",
        "open quote": b'a,value\n"' + b"x,1\n" * 100_000,
        "open quote in the header": b'"a,value\n' + b"x,1\n" * 200_000,
        "bomb": gzip_bomb(b"a,value\n", b"x,1\n", 300_000_000),
        "bomb of one line": gzip_bomb(b"a,value\n", b"y", 300_000_000),
        "bomb in the header": gzip_bomb(b"", b"a", 300_000_000),
        "packed twice": gzip.compress(gzip.compress(b"a,value\nx,1\n")),
        "utf-16": "a,value\nx,1\n".encode("utf-16"),
        "utf-32": "a,value\nx,1\n".encode("utf-32"),
        "lone surrogate": b"a,value\n\xed\xa0\x80,1\n",
        "overlong": b"a,value\n\xc0\xaf,1\n",
        "carriage returns": b"a,value\rx,1\ry,2\r",
        "mixed ends": b"a,value\nx,1\ry,2\r\nz,3\n",
        "formulas": b"a,value\n=cmd|' /C calc'!A0,1\n@SUM(1),2\n+1,3\n\"-1+1\",4\n",
        "escape sequences": b"a,value\n\x1b[2J,1\n\x1b]0;owned\x07,x\n",
        "huge numbers": b"a,value\n" + b"9" * 400 + b",1\n" + b"9" * 4000 + b",2\n",
        "numbers that are none": b"a,value\nnan,nan\ninf,inf\n-inf,1e309\n",
        "mixed labels": b"a,value\n1,1\n2,1\nx,1\n2024-01-01,1\ntrue,1\n",
        "late text": b"a,value\n" + b"1,1\n" * 300_000 + b"x,1\n",
        "value twice": b"value,value\n1,2\n",
        "value in quotes": b'"value","a"\n"1","x"\n',
        "dates": b"a,value\n9999-12-31,1\n0001-01-01,2\n292278-01-01,3\n",
        "times": b"a,value\n2024-01-01T00:00:00Z,1\n2024-01-01T00:00:00+14:00,2\n",
        "a wide row": b"a,value\nx,1\n" + b",".join([b"1"] * 500_000) + b"\n",
        "a bar": b"a|value\nx|1\n",
    }


def crafted_tns() -> dict[str, bytes]:
    """Return cells that are none, or far too many."""
    return {
        "nothing": b"",
        "zeros": bytes(1000),
        "a long line": b"1 " * (LONG // 2) + b"1\n",
        "a long number": b"1 1 " + b"9" * LONG + b"\n",
        "a long index": b"9" * LONG + b" 1 1\n",
        "a long second line": b"1 1 1\n" + b"1 " * (LONG // 2) + b"\n",
        "a long comment": b"#" * LONG + b"\n1 1 1\n",
        "blanks": b" " * LONG + b"\n",
        "newlines": b"\n" * 1_000_000,
        "huge index": b"1000000000000000000 1 1.0\n",
        "beyond 64 bits": b"18446744073709551616 1 1.0\n",
        "large index": b"2147483647 2147483647 1.0\n",
        "just too many": b"16777215 1 1.0\n1 16777215 1\n",
        "many": b"16777200 1 1.0\n",
        "negative": b"-1 1 1\n",
        "no index": b"nan 1 1\nNA 2 2\n",
        "null index": b"1 1 1\nnull 2 2\n",
        "fraction": b"1.5 1 1\n",
        "bomb": gzip_bomb(b"", b"1 1 1\n", 300_000_000),
        "bomb of one line": gzip_bomb(b"", b"1 ", 300_000_000),
        "bomb of comments": gzip_bomb(b"", b"#", 300_000_000),
        "carriage returns": b"1 1 1\r2 2 2\r",
        "64 modes": b" ".join([b"1"] * 65) + b"\n",
        "5000 modes": b" ".join([b"1"] * 5001) + b"\n",
        "quotes": b'"1" 1 1\n',
        "both bases": b"0 1 1\n1 1 1\n",
        "values": b"1 1 nan\n1 2 inf\n1 3 1e309\n",
        "negative value": b"1 1 -1e-300\n",
    }


def _element(kind: int, size: int, data: bytes = b"") -> bytes:
    return struct.pack("<II", kind, size) + data


def crafted_mat() -> dict[str, bytes]:
    """Return MATLAB files with headers that lie."""
    start = b"MATLAB 5.0".ljust(116) + bytes(8) + struct.pack("<HH", 0x0100, 0x4D49)
    good = mat_bytes({"dense": np.ones((2, 3))})
    matrix = good[128:]
    shape = struct.pack("<ii", 2, 3)

    def with_shape(*lengths: int) -> bytes:
        packed = struct.pack(f"<{len(lengths)}i", *lengths)
        return good.replace(shape, packed[:8]) if len(lengths) == 2 else good

    made = {
        "nothing": b"",
        "header alone": start,
        "zeros": bytes(1000),
        "bomb": _mat_bomb(start, "<d", 9, 6, 60_000_000),
        "narrow bomb": _mat_bomb(start, "<B", 2, 9, 100_000_000),
        "not a bomb but noise": start + _element(15, 40, bz2.compress(b"x" * 10)[:40]),
        "claims 4 GB": start + _element(14, 2**32 - 8, matrix[8:]),
        "claims 2 GB": start + _element(14, 2**31 - 8, matrix[8:]),
        "packed claims 4 GB": start + _element(15, 2**32 - 8, zlib.compress(matrix)),
        "packed, inside 4 GB": _packed(start, _element(14, 2**32 - 8, matrix[8:])),
        "packed twice": _packed(
            start, _element(15, len(zlib.compress(matrix)), zlib.compress(matrix))
        ),
        "packed bomb with a small claim": _packed(
            start, zlib_bomb(matrix, 300_000_000), packed=True
        ),
        "no element": start + bytes(64),
        "unknown element": start + _element(99, 8, bytes(8)),
        "version 4 of 10^9": struct.pack("<5i", 0, 10**9, 10**9, 0, 2) + b"a\0" + bytes(16),
        "version 4 of 2^31": struct.pack("<5i", 0, 2**31 - 1, 1, 0, 2) + b"a\0" + bytes(16),
        "version 4, negative": struct.pack("<5i", 0, -1, 3, 0, 2) + b"a\0" + bytes(16),
        "version 4, long name": struct.pack("<5i", 0, 1, 1, 0, 2**31 - 1) + b"a\0" + bytes(16),
        "version 4, sparse": struct.pack("<5i", 2, 3, 3, 0, 2) + b"a\0" + bytes(72),
        "hdf5": b"\x89HDF\r\n\x1a\n" + bytes(600),
        "version 7.3": b"MATLAB 7.3 MAT-file".ljust(116) + bytes(12),
        "big-endian mark": start[:124] + b"\x01\x00MI" + matrix,
        "hidden names": good.replace(b"dense", b"\x1b[2J\0"),
        "sparse": mat_bytes({"dense": _sparse()}),
        "complex": mat_bytes({"dense": np.ones((2, 2)) * 1j}),
        "object": mat_bytes({"dense": np.array([[1, "a"]], dtype=object)}),
        "text": mat_bytes({"dense": "long_labels"}),
        "empty": mat_bytes({"dense": np.empty((0, 10**6))}),
        "same name": good + matrix,
    }
    for lengths in (
        (2**31 - 1, 2**31 - 1),
        (-1, 3),
        (0, 2**31 - 1),
        (10**9, 1),
        (1, 10**7),
        (0, 0),
    ):
        made[f"shape {lengths}"] = with_shape(*lengths)
        made[f"packed shape {lengths}"] = _packed(start, with_shape(*lengths)[128:])
    return made


def _mat_bomb(start: bytes, kind: str, element: int, matrix: int, length: int) -> bytes:
    """Return a packed matrix of zeros whose tags all agree."""
    n_bytes = -(-length * struct.calcsize(kind) // BLOCK) * BLOCK
    length = n_bytes // struct.calcsize(kind)
    parts = (
        _element(6, 8, struct.pack("<II", matrix, 0))
        + _element(5, 8, struct.pack("<ii", length, 1))
        + _element(1, 5, b"dense\0\0\0")
        + _element(element, n_bytes)
    )
    head = _element(14, len(parts) + n_bytes, parts)
    return _packed(start, zlib_bomb(head, n_bytes), packed=True)


def _packed(start: bytes, inside: bytes, *, packed: bool = False) -> bytes:
    packed = inside if packed else zlib.compress(inside)
    return start + _element(15, len(packed), packed)


def _sparse():
    return scipy.sparse.eye(3)


def damage_packed(blob: bytes, rng: Rng) -> bytes:
    """Damage one element of a MATLAB file inside of its compression."""
    change = (flip_bits, resize, set_bytes)[int(rng.integers(0, 3))]
    elements, at = [], 128
    while at + 8 <= len(blob):
        kind, size = struct.unpack_from("<II", blob, at)
        elements.append((kind, blob[at + 8 : at + 8 + size]))
        at += 8 + size
    if not elements or all(kind != 15 for kind, _ in elements):
        return blob[:128] + change(blob[128:], rng)
    chosen = position(elements, rng)
    made = blob[:128]
    for number, (kind, data) in enumerate(elements):
        if number == chosen and kind == 15:
            data = zlib.compress(change(zlib.decompress(data), rng))  # noqa: PLW2901
        made += _element(kind, len(data), data)
    return made


def crafted_parquet() -> dict[str, bytes]:
    """Return Parquet files with footers that lie, and tables that unpack to far more."""
    small = pa.table({"a": ["x", "y"], "value": [1.0, 2.0]})
    good = parquet_bytes(small)
    rows = 40_000_000
    constant = pa.table(
        {
            "a": pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int8)), ["x"]),
            "value": pa.array(np.zeros(rows, np.int8)),
        }
    )
    long_labels = pa.table({"a": ["x" * LONG, "y" * LONG], "value": [1.0, 2.0]})
    names = pa.table({**{f"c{index}": [1] for index in range(12_000)}, "value": [1.0]})
    nested = pa.table({"a": [{"b": 1}], "c": [[1, 2]], "value": [1.0]})
    return {
        "nothing": b"",
        "magic alone": b"PAR1PAR1",
        "zeros": bytes(1000),
        "footer of 4 GB": good[:-8] + struct.pack("<I", 2**32 - 1) + b"PAR1",
        "footer of 2 GB": good[:-8] + struct.pack("<I", 2**31 - 1) + b"PAR1",
        "footer of nothing": good[:-8] + struct.pack("<I", 0) + b"PAR1",
        "encrypted footer": good[:-4] + b"PARE",
        "rows without end": parquet_bytes(constant, row_group_size=rows, compression="zstd"),
        "long labels": parquet_bytes(long_labels),
        "12000 columns": parquet_bytes(names),
        "nested": parquet_bytes(nested),
        "bytes as labels": parquet_bytes(pa.table({"a": [b"\xff", b"\0"], "value": [1.0, 2.0]})),
        "same column twice": parquet_bytes(
            pa.table([pa.array([1]), pa.array([2]), pa.array([1.0])], names=["a", "a", "value"])
        ),
        "hostile names": parquet_bytes(pa.table({"\x1b[2J<script>\u202e": [1], "value": [1.0]})),
        "empty name": parquet_bytes(pa.table({"": [1], "value": [1.0]})),
        "an extension type": _extension(),
        "arrow file": _arrow_file(small),
        "extremes": parquet_bytes(
            pa.table(
                {
                    "a": pa.array([-(2**63), 2**63 - 1]),
                    "u": pa.array([2**64 - 1, 0], pa.uint64()),
                    "t": pa.array([-(2**63), 2**63 - 1], pa.timestamp("us")),
                    "value": [1.0, 2.0],
                }
            )
        ),
        "not finite": parquet_bytes(pa.table({"a": [np.inf, np.nan], "value": [np.inf, 1e300]})),
        "large decimals": parquet_bytes(
            pa.table({"a": pa.array([1, 2]), "value": pa.array([10**70, 1], pa.decimal256(76, 0))})
        ),
    }


def _extension() -> bytes:
    """Return a file whose schema asks for a type that old versions of Arrow unpickled."""
    field = pa.field(
        "a",
        pa.int64(),
        metadata={
            b"ARROW:extension:name": b"arrow.py_extension_type",
            b"ARROW:extension:metadata": b"cposix\nsystem\n(S'mkdir executed'\ntR.",
        },
    )
    schema = pa.schema([field, pa.field("value", pa.float64())])
    return parquet_bytes(pa.table([pa.array([1]), pa.array([1.0])], schema=schema))


def _arrow_file(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    with pa.ipc.new_file(buffer, table.schema) as file:
        file.write_table(table)
    return buffer.getvalue()


def damage_footer(blob: bytes, rng: Rng) -> bytes:
    """Damage the footer of a Parquet file alone."""
    length = struct.unpack_from("<I", blob, len(blob) - 8)[0]
    start = len(blob) - 8 - length
    change = (flip_bits, set_bytes, grow_varint)[int(rng.integers(0, 3))]
    footer = change(blob[start:-8], rng)
    return blob[:start] + footer + struct.pack("<I", len(footer)) + b"PAR1"


def damage_pages(blob: bytes, rng: Rng) -> bytes:
    """Damage pages of a Parquet file, whose length stays as it is."""
    length = struct.unpack_from("<I", blob, len(blob) - 8)[0]
    start = len(blob) - 8 - length
    change = (flip_bits, set_bytes)[int(rng.integers(0, 2))]
    return blob[:4] + change(blob[4:start], rng) + blob[start:]
