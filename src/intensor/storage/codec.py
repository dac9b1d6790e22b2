"""One format for checkpoints and model files: a JSON header and arrays in one ``.npz``.

A model file names its arrays itself (``write_entries``). A checkpoint is a tree of any depth
(``write_tree``): in its header an array is ``{"@": "run.engine.flags"}``, the name of its entry.
Nothing is compressed, so that a file can never ask for more memory than it takes on disk.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from intensor._arrays import AnyArray
from intensor.errors import FileFormatError
from intensor.storage.archive import read_archive
from intensor.storage.atomic import atomic_write
from intensor.storage.reader import CHECKPOINT, FileKind, Tree, TreeReader

HEADER = "header"
ARRAY_KEY = "@"
MAX_HEADER_BYTES = 1 << 26  # largest header that is read; anything long is in arrays


def write_entries(
    path: Any, header: Tree, arrays: Mapping[str, AnyArray], *, single_writer: bool = False
) -> None:
    """Write a header and arrays; what was at the path stays until all of it is on disk.

    A text of the header with half a character in it is a ``UnicodeEncodeError``.
    """
    text = json.dumps(_encode(header, "", {}), ensure_ascii=False, allow_nan=False)
    content = np.frombuffer(text.encode(), dtype=np.uint8)
    entries = {
        name: array.astype(array.dtype.newbyteorder("<"), copy=False)
        for name, array in arrays.items()
    }
    with (
        atomic_write(path, single_writer=single_writer) as temporary,
        open(temporary, "wb") as file,
    ):
        np.savez(file, allow_pickle=False, **{HEADER: content}, **entries)


def read_entries(path: Any, kind: FileKind) -> tuple[Tree, dict[str, AnyArray]]:
    """Return the header and the arrays of a file, or raise the error of the expected kind."""
    try:
        arrays = read_archive(path, compressed=False, kind=f"a {kind.noun}")
    except FileFormatError as problem:
        raise kind.error(f"{problem}{kind.remedy}") from None
    raw = arrays.pop(HEADER, None)
    other = f"is not a {kind.noun} of intensor"
    if raw is None or raw.dtype != np.uint8 or raw.ndim != 1:
        raise kind.refused(path, f"{other} (it has no header)")
    if raw.size > MAX_HEADER_BYTES:
        raise kind.damaged(path, f"its header has {raw.size} bytes")
    try:
        header = json.loads(raw.tobytes().decode())
        json.dumps(header, ensure_ascii=False).encode()  # fails on half a character
    except (ValueError, RecursionError):
        raise kind.damaged(path, "its header is not JSON") from None
    if not isinstance(header, dict) or header.get("format") != kind.format:
        raise kind.refused(path, f"{other} (its header says something else)")
    return header, arrays


def write_tree(path: Any, tree: Tree) -> None:
    """Write a tree as one file, again and again under the same name (see ``write_entries``)."""
    arrays: dict[str, AnyArray] = {}
    write_entries(path, _encode(tree, "", arrays), arrays, single_writer=True)


def read_tree(path: Any) -> TreeReader:
    """Read the tree of a checkpoint (see ``read_entries``)."""
    header, arrays = read_entries(path, CHECKPOINT)
    try:
        tree = _decode(header, arrays)
    except (LookupError, TypeError, RecursionError):
        raise CHECKPOINT.damaged(path, "its header names an array that is not there") from None
    return TreeReader(tree, path)


def _encode(value: Any, name: str, arrays: dict[str, AnyArray]) -> Any:
    """Return a tree as JSON can express it, and add its arrays to ``arrays`` under their names."""
    if isinstance(value, dict):
        return {
            key: _encode(part, f"{name}.{key}" if name else key, arrays)
            for key, part in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_encode(part, f"{name}.{index}", arrays) for index, part in enumerate(value)]
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return {ARRAY_KEY: name}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _decode(value: Any, arrays: dict[str, AnyArray]) -> Any:
    """Return the tree of a header, with the arrays that it names."""
    if isinstance(value, dict):
        if ARRAY_KEY in value:
            return arrays[value[ARRAY_KEY]]
        return {name: _decode(part, arrays) for name, part in value.items()}
    if isinstance(value, list):
        return [_decode(part, arrays) for part in value]
    return value
