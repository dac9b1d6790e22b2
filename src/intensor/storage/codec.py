"""Trees of words, numbers and arrays in one ``.npz``: what a checkpoint is written as.

A tree is a dictionary of words, truth values, numbers, arrays, lists and trees. In the file it is
a JSON header in which an array is named by its place, ``{"@": "run.engine.flags"}``, and the
arrays under these names. Nothing is compressed, so that a file can never ask for more memory than
it takes on disk.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from intensor._arrays import AnyArray, FlagArray
from intensor.errors import CheckpointError, FileFormatError
from intensor.storage.archive import read_archive
from intensor.storage.atomic import atomic_write

__all__ = ["Branch", "Tree", "read_tree", "write_tree"]

Tree = dict[str, Any]
HEADER = "header"
ARRAY = "@"
LONGEST_HEADER = 1 << 26
"""Bytes of JSON that are read: numbers by the thousand are in arrays."""
NOT_FINITE = ("inf", "-inf", "nan")
REMEDY = "remove it to start anew, or name another file"


def write_tree(path: Any, tree: Tree) -> None:
    """Write a tree; what was at the path stays until all of it is on disk.

    Raises
    ------
    FileFormatError
        When the file cannot be written.
    """
    arrays: dict[str, AnyArray] = {}
    text = json.dumps(_as_json(tree, "", arrays), ensure_ascii=False, allow_nan=False)
    header = np.frombuffer(text.encode(), dtype=np.uint8)
    with atomic_write(path, sole=True) as temporary, open(temporary, "wb") as file:
        np.savez(file, allow_pickle=False, **{HEADER: header}, **arrays)


def read_tree(path: Any, expected: str) -> Branch:
    """Read a tree back.

    Parameters
    ----------
    expected
        What its word "format" must be.

    Raises
    ------
    CheckpointError
        When the file is damaged, or something else.
    """
    try:
        entries = read_archive(path, packed=False, kind="a checkpoint")
    except FileFormatError as problem:
        raise CheckpointError(f"{problem}; {REMEDY}") from None
    header = entries.pop(HEADER, None)
    if header is None or header.dtype != np.uint8 or header.ndim != 1:
        raise CheckpointError(f"{path}: is no checkpoint of intensor (it has no header); {REMEDY}")
    if header.size > LONGEST_HEADER:
        raise CheckpointError(f"{path}: has a header of {header.size} bytes; {REMEDY}")
    try:
        tree = _as_tree(json.loads(header.tobytes().decode()), entries)
    except (ValueError, LookupError, TypeError, RecursionError):
        raise CheckpointError(f"{path}: is damaged (its header makes no sense); {REMEDY}") from None
    if not isinstance(tree, dict) or tree.get("format") != expected:
        raise CheckpointError(
            f"{path}: is no checkpoint of intensor (its header says something else); {REMEDY}"
        )
    return Branch(tree, str(path))


class Branch:
    """A tree that was read from a file: what is asked of it is checked first.

    Parameters
    ----------
    tree
        The tree itself.
    path
        Of the file, for messages.
    """

    def __init__(self, tree: Tree, path: str) -> None:
        self.tree = tree
        self.path = path

    def __contains__(self, name: str) -> bool:
        return self.tree.get(name) is not None

    def branch(self, name: str) -> Branch:
        """Return a tree in this one."""
        return Branch(self._get(name, dict), self.path)

    def branches(self, name: str) -> list[Branch]:
        """Return a list of trees."""
        found = self._get(name, list)
        if not all(isinstance(one, dict) for one in found):
            raise self.damaged(f"{name!r} is not a list of parts")
        return [Branch(one, self.path) for one in found]

    def number(self, name: str) -> float:
        """Return a number, which may be infinite."""
        found = self._get(name, (int, float, str))
        if isinstance(found, str) and found not in NOT_FINITE:
            raise self.damaged(f"{name!r} is {found[:60]!r}")
        try:
            return float(found)
        except OverflowError:
            raise self.damaged(f"{name!r} is out of range") from None

    def finite(self, name: str) -> float:
        """Return a finite number."""
        found = self.number(name)
        if not math.isfinite(found):
            raise self.damaged(f"{name!r} is {found}")
        return found

    def count(self, name: str, *, least: int = 0, most: int = 2**63 - 1) -> int:
        """Return a whole number between two others."""
        found: int = self._get(name, int)
        if not least <= found <= most:
            raise self.damaged(f"{name!r} is out of range")
        return found

    def flag(self, name: str) -> bool:
        """Return a truth value."""
        found: bool = self._get(name, bool)
        return found

    def word(self, name: str, words: Iterable[str] | None = None) -> str:
        """Return a word, one of some if they are given."""
        found: str = self._get(name, str)
        if words is not None and found not in words:
            raise self.damaged(f"{name!r} is {found[:60]!r}")
        return found

    def array(self, name: str, kind: str, shape: tuple[int | None, ...]) -> AnyArray:
        """Return a copy of an array of a type and shape, where None allows any length."""
        found = self._get(name, np.ndarray)
        fits = found.ndim == len(shape) and all(
            wanted is None or wanted == length
            for wanted, length in zip(shape, found.shape, strict=True)
        )
        if found.dtype != np.dtype(kind) or not fits:
            wanted = tuple("any" if length is None else length for length in shape)
            raise self.damaged(
                f"{name!r} is {found.dtype} of shape {found.shape}, expected {kind} of {wanted}"
            )
        return np.array(found, order="C")

    def finite_array(self, name: str, shape: tuple[int | None, ...]) -> AnyArray:
        """Return a copy of an array of finite numbers."""
        found = self.array(name, "<f8", shape)
        if not np.isfinite(found).all():
            raise self.damaged(f"{name!r} has numbers that are not finite")
        return found

    def vertices(self, name: str, length: int) -> FlagArray:
        """Return an array whose rows are vertices of so many flags."""
        found: FlagArray = self.array(name, "|u1", (None, length))
        if found.size and found.max() > 1:
            raise self.damaged(f"{name!r} has flags other than 0 and 1")
        return found

    def damaged(self, why: str) -> CheckpointError:
        """Return what to raise when something is wrong with it."""
        return CheckpointError(f"{self.path}: is a damaged checkpoint ({why}); {REMEDY}")

    def _get(self, name: str, kind: Any) -> Any:
        found = self.tree.get(name)
        if not isinstance(found, kind) or (isinstance(found, bool) and kind is not bool):
            raise self.damaged(f"{name!r} is {str(found)[:60]!r}")
        return found


def _as_json(value: Any, place: str, arrays: dict[str, AnyArray]) -> Any:
    """Return what JSON can say of a tree; arrays are put aside under their places."""
    if isinstance(value, dict):
        return {
            name: _as_json(part, f"{place}.{name}" if place else name, arrays)
            for name, part in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_as_json(part, f"{place}.{i}", arrays) for i, part in enumerate(value)]
    if isinstance(value, np.ndarray):
        arrays[place] = value.astype(value.dtype.newbyteorder("<"), copy=False)
        return {ARRAY: place}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _as_tree(value: Any, arrays: dict[str, AnyArray]) -> Any:
    """Put the arrays back into their places."""
    if isinstance(value, dict):
        if ARRAY in value:
            return arrays[value[ARRAY]]
        return {name: _as_tree(part, arrays) for name, part in value.items()}
    if isinstance(value, list):
        return [_as_tree(part, arrays) for part in value]
    return value
