"""Reading trees that nobody vouches for: every value is checked when it is asked for.

A tree is a dictionary of text, truth values, numbers, arrays, lists and trees, as ``codec`` reads
it from a file. ``TreeReader`` has one getter per kind of value; what does not pass is an error that
names the file and the key.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from intensor._arrays import AnyArray, FlagArray
from intensor.errors import CheckpointError, FileFormatError, ModelFileError

Tree = dict[str, Any]
NON_FINITE_NAMES = ("inf", "-inf", "nan")  # as numbers that JSON cannot express are written
MAX_SHOWN_CHARACTERS = 60  # of a wrong value, in a message


@dataclass(frozen=True, slots=True, kw_only=True)
class FileKind:
    """One kind of file that intensor writes."""

    format: str  # the "format" of its header
    noun: str  # its name in messages
    error: type[FileFormatError]  # class of the error for a file that cannot be used
    remedy: str = ""  # end of such a message: what to do about it

    def refused(self, path: Any, reason: str) -> FileFormatError:
        """Return the error for a file that cannot be used."""
        return self.error(f"{path}: {reason}{self.remedy}")

    def damaged(self, path: Any, reason: str) -> FileFormatError:
        """Return the error for a file with something wrong inside."""
        return self.refused(path, f"is a damaged {self.noun} ({reason})")


CHECKPOINT = FileKind(
    format="intensor checkpoint",
    noun="checkpoint",
    error=CheckpointError,
    remedy="; remove it to start anew, or name another file",
)
MODEL_FILE = FileKind(format="intensor model", noun="model file", error=ModelFileError)


class TreeReader:
    """A tree from a file, whose values are checked as they are read.

    Messages name the path and the kind of the file, and the key of a value. ``prefix`` is the part
    of the key that leads to this tree.
    """

    def __init__(
        self, tree: Tree, path: Any, *, kind: FileKind = CHECKPOINT, prefix: str = ""
    ) -> None:
        self.tree = tree
        self.path = path
        self.kind = kind
        self.prefix = prefix

    def __contains__(self, name: str) -> bool:
        return self.tree.get(name) is not None

    def branch(self, name: str) -> TreeReader:
        """Return a reader of a tree within this one."""
        return self._child(self._get(name, dict, "a group of values"), name)

    def branches(self, name: str) -> list[TreeReader]:
        """Return readers of a list of trees."""
        found = self.elements(name)
        if not all(isinstance(one, dict) for one in found):
            raise self._wrong(name, found, "a list of groups of values")
        return [self._child(one, f"{name}.{index}") for index, one in enumerate(found)]

    def elements(self, name: str) -> list[Any]:
        """Return a list, whose elements are not checked."""
        found: list[Any] = self._get(name, list, "a list")
        return found

    def number(self, name: str) -> float:
        """Return a number, which may be infinite or NaN."""
        found = self._get(name, (int, float, str), "a number")
        if isinstance(found, str) and found not in NON_FINITE_NAMES:
            raise self._wrong(name, found, "a number")
        try:
            return float(found)
        except OverflowError:
            raise self.damaged(f"{self._key(name)} is too large for a number") from None

    def finite(self, name: str, *, largest: float = math.inf) -> float:
        """Return a finite number that is no larger in size than a limit."""
        found = self.number(name)
        if not (math.isfinite(found) and abs(found) <= largest):
            raise self._wrong(name, found, "a finite number that is not too large")
        return found

    def amount(self, name: str, *, most: float = math.inf, infinite: bool = False) -> float:
        """Return a number that is not negative, and finite unless ``infinite`` allows more."""
        found = self.number(name)
        if not (0.0 <= found <= most) or (math.isinf(found) and not infinite):
            raise self._wrong(name, found, "a number that is not negative, and in range")
        return found

    def count(self, name: str, *, least: int = 0, most: int = 2**63 - 1) -> int:
        """Return an integer within limits."""
        found: int = self._get(name, int, "an integer")
        if not least <= found <= most:
            raise self._wrong(name, found, f"an integer from {least} to {most}")
        return found

    def flag(self, name: str) -> bool:
        """Return a truth value."""
        found: bool = self._get(name, bool, "true or false")
        return found

    def text(self, name: str, choices: Iterable[str] | None = None) -> str:
        """Return a text, one of the choices if there are any."""
        found: str = self._get(name, str, "text")
        if choices is not None and found not in choices:
            raise self._wrong(name, found, f"one of {', '.join(choices)}")
        return found

    def printable(self, name: str) -> str:
        """Return a text that may be shown on a terminal."""
        found = self.text(name)
        if not found.isprintable():
            raise self._wrong(name, found, "text without control characters")
        return found

    def array(self, name: str, dtype: str | None, shape: tuple[int | None, ...]) -> AnyArray:
        """Return a writable copy of an array; None allows any type, or any length of an axis."""
        found = self._get(name, np.ndarray, "an array")
        if dtype is not None and found.dtype != (wanted := np.dtype(dtype)):
            raise self.damaged(f"{self._key(name)} has type {found.dtype}, expected {wanted}")
        if found.ndim != len(shape) or any(
            length not in (None, actual) for length, actual in zip(shape, found.shape, strict=True)
        ):
            lengths = tuple("any" if length is None else length for length in shape)
            raise self.damaged(f"{self._key(name)} has shape {found.shape}, expected {lengths}")
        return np.array(found, order="C")

    def finite_array(
        self, name: str, shape: tuple[int | None, ...], *, largest: float = math.inf
    ) -> AnyArray:
        """Return a copy of an array of finite numbers, none of them larger in size than a limit."""
        found = self.array(name, "<f8", shape)
        if not (np.isfinite(found) & (np.abs(found) <= largest)).all():
            raise self.damaged(
                f"{self._key(name)} has numbers that are not all finite, or too large"
            )
        return found

    def vertices(self, name: str, length: int) -> FlagArray:
        """Return an array whose rows are vertices with the given number of flags."""
        found: FlagArray = self.array(name, "|u1", (None, length))
        if found.size and found.max() > 1:
            raise self.damaged(f"{self._key(name)} has flags other than 0 and 1")
        return found

    def factors(self, name: str, shape: tuple[int | None, ...]) -> AnyArray:
        """Return a copy of an array of numbers from 0 to 1."""
        found = self.array(name, "<f8", shape)
        if not ((found >= 0.0) & (found <= 1.0)).all():
            raise self.damaged(f"{self._key(name)} has entries that are not numbers from 0 to 1")
        return found

    def damaged(self, reason: str) -> FileFormatError:
        """Return the error to raise when something is wrong with the tree."""
        return self.kind.damaged(self.path, reason)

    def _child(self, tree: Tree, name: str) -> TreeReader:
        return TreeReader(tree, self.path, kind=self.kind, prefix=f"{self.prefix}{name}.")

    def _get(self, name: str, kind: Any, expected: str) -> Any:
        found = self.tree.get(name)
        if found is None:
            raise self.damaged(f"{self._key(name)} is missing, expected {expected}")
        if not isinstance(found, kind) or (isinstance(found, bool) and kind is not bool):
            raise self._wrong(name, found, expected)
        return found

    def _wrong(self, name: str, found: Any, expected: str) -> FileFormatError:
        return self.damaged(
            f"{self._key(name)} is {str(found)[:MAX_SHOWN_CHARACTERS]!r}, expected {expected}"
        )

    def _key(self, name: str) -> str:
        return repr(f"{self.prefix}{name}")


Getter = Callable[[TreeReader, str], Any]
"""A method of a reader that returns the value of a name, after its checks."""


def read_fields(reader: TreeReader, getters: Mapping[str, Getter]) -> dict[str, Any]:
    """Return the values of some names, each by its own getter."""
    return {name: get(reader, name) for name, get in getters.items()}
