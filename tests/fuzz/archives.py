"""Ways to damage NumPy archives below the surface: members with good checksums and bad content."""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import zipfile

import numpy as np

from fuzz.bombs import BLOCK, zip_bomb
from fuzz.damage import NUMBERS, Rng, flip_bits, insert, position, resize, truncate

DTYPES = (
    "<f8",
    ">i8",
    "|O",
    "|S0",
    "<U9",
    "|V0",
    "|V8",
    "<c16",
    "<f2",
    "<f16",
    "<M8[ns]",
    "|b1",
    "<i8",
    "<u8",
    "f8,O",
)
DESCRIPTIONS = (
    "[('a', '<f8'), ('b', '<i4')]",
    "[('a', '|O')]",
    "('<f8', (1000000000,))",
    "[('a', '<f8', (10**9,))]",
    "__import__('os').system('touch executed')",
    "'<f8' if 1 else 2",
    "'\\d'",
    "1if 1else 2",
    "None",
    "[[[[" * 60 + "]]]]" * 60,
    "('O', {'aligned': True})",
    "{'names': ['a'], 'formats': ['<f8'], 'offsets': [2**40]}",
)
SHAPES = (
    "()",
    "(1000000000000000000,)",
    "(0, 1000000000000000000)",
    "(1000000000, 0)",
    "(-1,)",
    "(4294967296, 4294967296, 4294967296)",
    "(9223372036854775807, 2)",
    "(True,)",
    "(1.0,)",
    "(1,) * 70",
    "(" + "1," * 70 + ")",
    "(0,)",
    "[2, 2]",
    "3",
    "(10L,)",
    "('2',)",
    "None",
    "(2,)",
    "(1, 3)",
)


class Payload:
    """Unpickling this makes a folder called ``executed``."""

    def __reduce__(self):
        return os.mkdir, ("executed",)


def npy(header: str, data: bytes, *, version: tuple[int, int] = (1, 0)) -> bytes:
    """Return a ``.npy`` file with any header."""
    text = header.encode("latin-1", "replace")
    length_format = "<H" if version == (1, 0) else "<I"
    text = text + b" " * (-(len(text) + 10 + 2 * (length_format == "<I") + 1) % 64) + b"\n"
    return (
        b"\x93NUMPY" + bytes(version) + struct.pack(length_format, len(text) & 0xFFFF) + text + data
    )


def header_of(descr: str, fortran: str, shape: str) -> str:
    """Return the text of a ``.npy`` header."""
    return f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}"


def archive(members: list[tuple[str, bytes]], method: int = zipfile.ZIP_STORED) -> bytes:
    """Return a zip archive; names may repeat."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as file:
        for name, blob in members:
            info = zipfile.ZipInfo("x")
            info.filename = name
            info.compress_type = method
            file.NameToInfo.clear()
            file.writestr(info, blob)
    return buffer.getvalue()


def members_of(blob: bytes) -> list[tuple[str, bytes]]:
    """Return names and contents of the members of a valid archive."""
    with zipfile.ZipFile(io.BytesIO(blob)) as file:
        return [(info.filename, file.read(info)) for info in file.infolist()]


def _one_member(blob: bytes, rng: Rng, change) -> bytes:
    members = members_of(blob)
    at = position(members, rng)
    members[at] = (members[at][0], change(members[at][1], rng))
    packed = rng.random() < 0.3
    return archive(members, zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED)


def damage_member(blob: bytes, rng: Rng) -> bytes:
    """Damage the bytes of one member, with a good checksum over them."""
    change = (flip_bits, insert, truncate, resize)[int(rng.integers(0, 4))]
    return _one_member(blob, rng, change)


def damage_data(blob: bytes, rng: Rng) -> bytes:
    """Damage numbers of one member and leave its header alone."""

    def change(member: bytes, rng: Rng) -> bytes:
        start = 10 + struct.unpack_from("<H", member, 8)[0]
        data = bytearray(member[start:])
        for _ in range(int(rng.integers(1, 4))):
            if len(data) >= 8:
                at = position(data[:-7], rng) // 8 * 8
                odd = (np.nan, np.inf, -np.inf, -1.0, 1e308, -0.0, 5e-324, 1e80, float(2**53))
                if rng.random() < 0.5:
                    struct.pack_into("<d", data, at, odd[int(rng.integers(0, len(odd)))])
                else:
                    integer = int(rng.choice([-1, 2**63 - 1, -(2**63), 10**18, 2**31, 2**24, 0, 1]))
                    struct.pack_into("<q", data, at, integer)
            elif data:
                data[position(data, rng)] = int(rng.integers(0, 256))
        return member[:start] + bytes(data)

    return _one_member(blob, rng, change)


def change_header(blob: bytes, rng: Rng) -> bytes:
    """Give one member another ``.npy`` header."""

    def change(member: bytes, rng: Rng) -> bytes:
        start = 10 + struct.unpack_from("<H", member, 8)[0]
        descr = repr(DTYPES[int(rng.integers(0, len(DTYPES)))])
        if rng.random() < 0.3:
            descr = DESCRIPTIONS[int(rng.integers(0, len(DESCRIPTIONS)))]
        shape = SHAPES[int(rng.integers(0, len(SHAPES)))]
        fortran = ("False", "True", "1", "None")[int(rng.integers(0, 4))]
        old = member[10:start].decode("latin-1")
        header = header_of(descr, fortran, shape)
        if rng.random() < 0.4:  # all else as it was
            header = old.split("'shape'")[0] + f"'shape': {shape}, }}"
        versions = ((1, 0), (1, 0), (2, 0), (3, 0), (9, 9))
        return npy(header, member[start:], version=versions[int(rng.integers(0, len(versions)))])

    return _one_member(blob, rng, change)


def change_members(blob: bytes, rng: Rng) -> bytes:
    """Drop a member, repeat one, or rename one to that of another or to a hostile path."""
    members = members_of(blob)
    at, other = position(members, rng), position(members, rng)
    names = ("../escaped.npy", "/escaped.npy", "..\\escaped.npy", "C:\\escaped.npy", "a/../b.npy")
    kind = int(rng.integers(0, 6))
    if kind == 0:
        del members[at]
    elif kind == 1:
        members.append(members[at])
    elif kind == 2:
        members.append((names[int(rng.integers(0, len(names)))], members[at][1]))
    elif kind == 3:
        members[at] = (names[int(rng.integers(0, len(names)))], members[at][1])
    elif kind == 4:
        members[at] = (members[at][0], members[other][1])
    else:
        members.append(("", b"") if rng.random() < 0.5 else ("folder/", b""))
    return archive(members)


def change_directory(blob: bytes, rng: Rng) -> bytes:
    """Damage a field of a local header, of the directory or of its end."""
    made = bytearray(blob)
    marks = [b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"]
    starts = [at for mark in marks for at in _all(blob, mark)]
    at = starts[position(starts, rng)] + 4 + 2 * int(rng.integers(0, 21))
    if at + 8 > len(made):
        return flip_bits(blob, rng)
    width = int(rng.choice([2, 4, 8]))
    claim = int(rng.choice([0, 1, 12, 14, 99, 0xFFFF, 2**31, 2**32 - 1, 2**62]))
    made[at : at + width] = (claim & (256**width - 1)).to_bytes(width, "little")
    return bytes(made)


def _all(blob: bytes, mark: bytes) -> list[int]:
    found, at = [], blob.find(mark)
    while at >= 0:
        found.append(at)
        at = blob.find(mark, at + 1)
    return found


def change_json(blob: bytes, rng: Rng) -> bytes:
    """Replace a value of a model's header by something else, or drop a key."""
    members = members_of(blob)
    for at, (name, member) in enumerate(members):
        if name == "header.npy":
            start = 10 + struct.unpack_from("<H", member, 8)[0]
            header = json.loads(member[start:])
            for _ in range(int(rng.integers(1, 3))):
                _change_value(header, rng)
            members[at] = (name, header_member(json.dumps(header)))
    return archive(members)


def header_member(text: str) -> bytes:
    """Return the member that holds a model's header."""
    data = text.encode("utf-8", "surrogatepass")
    return npy(header_of("'|u1'", "False", f"({len(data)},)"), data)


def _change_value(thing, rng: Rng) -> None:
    while True:
        keys = list(thing) if isinstance(thing, dict) else list(range(len(thing)))
        if not keys:
            return
        key = keys[position(keys, rng)]
        if isinstance(thing[key], (dict, list)) and rng.random() < 0.7:
            thing = thing[key]
            continue
        break
    kind = int(rng.integers(0, 12))
    if kind == 0:
        del thing[key]
    else:
        thing[key] = _odd_value(thing[key], rng)


def _odd_value(old, rng: Rng):
    odd = (
        None,
        True,
        -1,
        0,
        10**18,
        2**63,
        10**400,
        float("nan"),
        float("inf"),
        1e308,
        -1e-300,
        "nan",
        "-inf",
        "",
        "\ud800",
        "\x1b[31m<script>\u202e",
        "x" * 100_000,
        [],
        {},
        [old],
        {"a": old},
        [[[[]]]],
        NUMBERS[int(rng.integers(0, len(NUMBERS)))].decode(),
    )
    return odd[int(rng.integers(0, len(odd)))]


ARCHIVES = (
    damage_member,
    damage_data,
    change_header,
    change_members,
    change_directory,
    flip_bits,
    truncate,
    insert,
    resize,
)
MODELS = (change_json, damage_data, *ARCHIVES, change_json)


def bomb(size: int, *, descr: str = "'|u1'") -> bytes:
    """Return an archive with a dense array that inflates to many zeros."""
    times = size // BLOCK
    start = npy(header_of(descr, "False", f"({times * BLOCK},)"), b"")
    return zip_bomb([("dense.npy", start, times)])


def crafted_archives() -> dict[str, bytes]:
    """Return archives that were crafted by hand."""
    payload = pickle.dumps(np.array([Payload()], dtype=object))
    good = npy(header_of("'<f8'", "False", "(2,)"), np.ones(2).tobytes())
    long = npy(header_of("'|u1'", "False", "(10000000,)"), bytes(10_000_000))
    lying = bytearray(archive([("dense.npy", good)]))
    end = lying.rfind(b"PK\x01\x02")
    struct.pack_into("<II", lying, end + 20, 2**32 - 2, 2**32 - 2)
    many = [(f"a{index}.npy", good) for index in range(2000)]
    made = {
        "pickled objects": archive(
            [("dense.npy", npy(header_of("'|O'", "False", "(1,)"), payload))]
        ),
        "pickle alone": archive([("dense.npy", payload)]),
        "pickled coords": archive(
            [
                ("coords.npy", npy(header_of("'|O'", "False", "(1, 1)"), payload)),
                ("values.npy", good),
            ]
        ),
        "no zip but a pickle": pickle.dumps(Payload()),
        "a lone npy": good,
        "bomb of zeros": bomb(2_000_000_000),
        "bomb of bzip2": archive([("dense.npy", long)], zipfile.ZIP_BZIP2),
        "bomb of lzma": archive([("dense.npy", long)], zipfile.ZIP_LZMA),
        "narrow bomb": bomb(60_000_000, descr="'|b1'"),
        "lying sizes": bytes(lying),
        "2000 members": archive(many),
        "nested archive": archive([("dense.npy", archive([("dense.npy", good)]))]),
        "traversal": archive([("../escaped.npy", good)]),
        "absolute": archive([("/escaped.npy", good)]),
        "same name twice": archive([("dense.npy", good), ("dense.npy", good)]),
        "not a member of ours": archive([("dense.txt", b"1")]),
        "encrypted": bytes(archive([("dense.npy", good)])).replace(
            b"PK\x03\x04\x14\x00\x00", b"PK\x03\x04\x14\x00\x01"
        ),
        "nothing": archive([]),
        "signalling": archive(
            [
                (
                    "dense.npy",
                    npy(header_of("'<f4'", "False", "(2,)"), b"\x01\x00\xa0\x7f" + bytes(4)),
                )
            ]
        ),
        "extended": archive(
            [
                (
                    "dense.npy",
                    npy(header_of("'<f16'", "False", "(1,)"), b"\xff" * 8 + b"\xfe\x7f" + bytes(6)),
                )
            ]
        ),
    }
    for shape in SHAPES:
        made[f"shape {shape[:40]}"] = archive(
            [
                (
                    "dense.npy",
                    npy(header_of("'<f8'", "False", shape), b"" if "0" in shape else bytes(16)),
                )
            ]
        )
    for descr in (*DESCRIPTIONS, *map(repr, DTYPES)):
        made[f"descr {descr[:40]}"] = archive(
            [("dense.npy", npy(header_of(descr, "True", "(2,)"), bytes(16)))]
        )
    made["python 2 header"] = archive(
        [("dense.npy", npy(header_of("'<f8'", "False", "(2L,)"), bytes(16)))]
    )
    return made


def crafted_models(seed: bytes) -> dict[str, bytes]:
    """Return model files that were crafted by hand."""
    members = members_of(seed)
    header = json.loads(dict(members)["header.npy"][128:])
    others = [(name, blob) for name, blob in members if name != "header.npy"]

    def with_header(text: str) -> bytes:
        return archive([("header.npy", header_member(text)), *others])

    def zeros(times: int) -> bytes:
        return npy(header_of("'|u1'", "False", f"({times * BLOCK},)"), b"")

    plain = [(name, blob, 0) for name, blob in members]
    deep = 200_000
    payload = pickle.dumps(Payload())
    return {
        "deep lists": with_header("[" * deep + "]" * deep),
        "deep objects": with_header('{"a":' * deep + "1" + "}" * deep),
        "deep value": with_header(
            json.dumps(header)[:-1] + ', "x": ' + "[" * deep + "]" * deep + "}"
        ),
        "long number": with_header(
            json.dumps({**header, "n": 1})[:-1] + ', "n": ' + "9" * 10**6 + "}"
        ),
        "huge shape": with_header(json.dumps({**header, "shape": [10**18]})),
        "many modes": with_header(json.dumps({**header, "shape": [1] * 10**5})),
        "long shape": with_header(json.dumps({**header, "shape": [2**31 - 1]})),
        "huge n": with_header(json.dumps({**header, "n": 10**400})),
        "keys twice": with_header(json.dumps(header)[:-1] + ', "format_version": 1}'),
        "escape sequences": with_header(
            json.dumps(
                {
                    **header,
                    "value": "\x1b[2J\x1b]0;owned\x07",
                    "modes": [
                        {**mode, "name": f"\u202e\x1b[31m[red]{index}"}
                        for index, mode in enumerate(header["modes"])
                    ],
                }
            )
        ),
        "long names": with_header(
            json.dumps(
                {
                    **header,
                    "value": "v" * 10**7,
                    "modes": [
                        {**mode, "name": "m" * 10**6 + str(index)}
                        for index, mode in enumerate(header["modes"])
                    ],
                }
            )
        ),
        "another number of modes": with_header(json.dumps({**header, "modes": []})),
        "lone surrogate": with_header(json.dumps({**header, "value": "\ud800"})),
        "surrogate bytes": with_header(
            json.dumps({**header, "value": "\ud800"}, ensure_ascii=False)
        ),
        "no header": archive(others),
        "pickled header": archive(
            [("header.npy", npy(header_of("'|O'", "False", "()"), payload)), *others]
        ),
        "a bomb beside": zip_bomb([*plain, ("more.npy", zeros(400), 400)]),
        "many small bombs": zip_bomb(
            [*plain, *((f"b{index}.npy", zeros(60), 60) for index in range(16))]
        ),
    }
