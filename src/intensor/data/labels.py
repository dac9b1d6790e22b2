"""Labels: the names of modes and indices, and how to find an index by its label."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from intensor._arrays import AnyArray, IndexArray, Shape
from intensor._text import one_line
from intensor.errors import LabelError

NO_LABEL = (
    "has no label{column}; expected one in every row (drop such rows, or give them a label of "
    "their own)"
)
"""Message about a missing label; the row stands before it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Labels:
    """Names of the modes and of every index.

    Attributes
    ----------
    modes
        p names, one per mode (the columns of a table).
    indices
        p arrays: entry i of the k-th is the label of index i of mode k. Numbers, dates and
        truth values keep their type; all others, including strings, are arrays of objects.
    value
        Name of the values.
    """

    modes: tuple[str, ...]
    indices: tuple[AnyArray, ...]
    value: str = "value"

    @property
    def shape(self) -> Shape:
        """Lengths of the modes."""
        return tuple(column.size for column in self.indices)

    @property
    def plain(self) -> bool:
        """Whether the label of every index is its number."""
        return all(
            column.dtype.kind in "iu" and np.array_equal(column, np.arange(column.size))
            for column in self.indices
        )

    def __repr__(self) -> str:
        pairs = zip(self.modes, self.shape, strict=False)
        modes = " x ".join(f"{mode} ({length})" for mode, length in pairs)
        return one_line(f"Labels of {self.value}: {modes}")

    def encode(self, columns: Sequence[ArrayLike]) -> IndexArray:
        """Return (n, p) indices of labels given mode by mode, -1 where a label is not known."""
        if len(columns) != len(self.modes):
            raise LabelError(f"got {len(columns)} columns; expected one per mode: {self.modes}")
        coords = [
            look_up(known, np.asarray(column))
            for known, column in zip(self.indices, columns, strict=True)
        ]
        return np.stack(coords, axis=1)

    def decode(self, coords: ArrayLike) -> tuple[AnyArray, ...]:
        """Return the labels of (n, p) indices, mode by mode."""
        cells = np.asarray(coords)
        if cells.ndim != 2 or cells.shape[1] != len(self.modes) or cells.dtype.kind not in "iu":
            raise LabelError(
                f"coords has shape {cells.shape} and dtype {cells.dtype}; expected (n, "
                f"{len(self.modes)}) integers, a column per mode"
            )
        if cells.size and cells.min() < 0:
            raise LabelError("an index is below 0: it has no label")
        for mode, length in enumerate(self.shape):
            if cells.size and int(cells[:, mode].max()) >= length:
                raise LabelError(
                    f"an index of mode {mode} is {int(cells[:, mode].max())}, beyond the last one "
                    f"with a label, {length - 1}"
                )
        return tuple(known[cells[:, mode]] for mode, known in enumerate(self.indices))


class Encoded(NamedTuple):
    """A column of labels as indices."""

    codes: AnyArray  # (n,) index of each row's label
    labels: AnyArray  # (k,) the distinct labels, in order


def number_labels(shape: Iterable[int], *, value: str = "value") -> Labels:
    """Return labels that name every index by its number."""
    lengths = tuple(shape)
    return Labels(
        modes=tuple(f"mode_{mode}" for mode in range(len(lengths))),
        indices=tuple(np.arange(length) for length in lengths),
        value=value,
    )


def factorise(column: ArrayLike) -> Encoded:
    """Return the index of each entry among the sorted distinct labels, and those labels.

    Examples
    --------
    >>> codes, labels = factorise(["b", "a", "b"])
    >>> codes.tolist(), labels.tolist()
    ([1, 0, 1], ['a', 'b'])
    """
    array = as_labels(column)
    if array.dtype != object:
        known, codes = np.unique(array, return_inverse=True)
        return Encoded(codes.reshape(-1).astype(np.int64), known)
    numbers: dict[Any, int] = {}
    raw = np.fromiter(
        (numbers.setdefault(label, len(numbers)) for label in array), np.int64, array.size
    )
    rank, known = sort_labels(list(numbers))
    return Encoded(rank[raw], known)


def sort_labels(labels: list[Any]) -> Encoded:
    """Return the rank of each of some distinct labels, and the labels in order.

    Labels of several kinds have no order and keep that of appearance.
    """
    try:
        order = sorted(range(len(labels)), key=labels.__getitem__)
    except TypeError:
        order = list(range(len(labels)))
    rank = np.empty(len(labels), dtype=np.int64)
    rank[order] = np.arange(len(labels))
    return Encoded(rank, object_array([labels[number] for number in order]))


def object_array(entries: Sequence[Any]) -> AnyArray:
    """Return entries as an array of objects, each of them as it is."""
    array = np.empty(len(entries), dtype=object)
    array[:] = entries
    return array


def as_labels(column: ArrayLike) -> AnyArray:
    """Return a column of labels as an array of numbers, dates or objects; none may be missing."""
    array = np.asarray(column)
    if array.ndim != 1:
        raise LabelError(f"a column of labels has shape {array.shape}; expected one dimension")
    if array.dtype.kind not in "biufmM":
        array = array.astype(object)
        missing = np.fromiter(map(_is_missing, array), bool, array.size)
    elif array.dtype.kind in "fmM":
        missing = np.isnan(array) if array.dtype.kind == "f" else np.isnat(array)
    else:
        return array
    if missing.any():
        raise LabelError(f"row {int(np.argmax(missing))} " + NO_LABEL.format(column=""))
    return array


def _is_missing(label: Any) -> bool:
    """Say whether a label is None, NaN, NaT or the NA of pandas."""
    try:
        return label is None or bool(label != label)  # noqa: PLR0124  (NaN and NaT)
    except TypeError:  # comparing the NA of pandas raises
        return True


def look_up(known: AnyArray, column: AnyArray) -> IndexArray:
    """Return the index of each entry among the known labels, -1 for entries that are not known.

    Numbers are compared exactly, whatever their types: 2^53 + 1 is not the float 2^53.
    """
    if known.size == 0 or column.size == 0:
        return np.full(column.size, -1, dtype=np.int64)
    if known.dtype.kind == "M" and column.dtype == object:
        with contextlib.suppress(ValueError, TypeError):
            column = column.astype(known.dtype)
    if known.dtype == object or column.dtype.kind not in "biufmM":
        indices = {label: index for index, label in enumerate(known.tolist())}
        codes = (_index_of(indices, label) for label in column.tolist())
        return np.fromiter(codes, np.int64, column.size)
    comparable, exact = _as_type(column, known.dtype)
    if comparable is None:
        return np.full(column.size, -1, dtype=np.int64)
    order = np.argsort(known, kind="stable")
    nearest = np.searchsorted(known, comparable, sorter=order)
    nearest = order[np.minimum(nearest, known.size - 1)]
    return np.where(exact & (known[nearest] == comparable), nearest, -1).astype(np.int64)


def check_same_kind(known: AnyArray, column: AnyArray, codes: IndexArray, *, name: str) -> None:
    """Raise when no label of a column is known because it holds text instead of numbers, say.

    Such a column is a mistake, not a list of new labels, so it is refused even where new labels
    are allowed.
    """
    ours, theirs = _kind(known), _kind(column)
    if not codes.size or (codes >= 0).any() or ours == theirs or None in (ours, theirs):
        return
    raise LabelError(
        f"column {name!r} holds {theirs} (the first is {column[:1].tolist()[0]!r}), but the labels "
        f"of the fit are {ours} (such as {known[:1].tolist()[0]!r}); convert the column first"
    )


def _kind(labels: AnyArray) -> str | None:
    """Return "numbers", "dates" or "text"; None for labels of several kinds or of a rare one."""
    if labels.dtype.kind in "iuf":
        return "numbers"
    if labels.dtype.kind == "M":
        return "dates"
    text = labels.dtype.kind in "UO" and all(isinstance(label, str) for label in labels.tolist())
    return "text" if text else None


def _index_of(indices: dict[Any, int], label: Any) -> int:
    try:
        return indices.get(label, -1)
    except TypeError:  # a list, like anything else without a hash, is no label
        return -1


def _as_type(column: AnyArray, dtype: np.dtype[Any]) -> tuple[AnyArray | None, AnyArray]:
    """Return a column in another type (None if that cannot be), and which entries stay equal."""
    ours, theirs = dtype.kind, column.dtype.kind
    if column.dtype == dtype or ours == theirs == "f":
        return column, np.ones(column.size, dtype=bool)
    if ours != theirs and (ours in "mM" or theirs in "mM"):
        return None, np.zeros(column.size, dtype=bool)
    with np.errstate(invalid="ignore"):
        converted = column.astype(dtype)
        exact = converted.astype(column.dtype) == column
    if "f" in (ours, theirs) and "b" not in (ours, theirs):
        # floats round the largest integer up to one that its type cannot hold
        integer, floats = (dtype, column) if theirs == "f" else (column.dtype, converted)
        exact &= np.abs(floats) < np.iinfo(integer).max + 1.0
    elif ours in "iu" and theirs in "iu":  # from 2^63 on, signed and unsigned wrap into each other
        exact &= (converted < 0) == (column < 0)
    return converted, exact
