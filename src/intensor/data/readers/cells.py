"""Cells of a tensor as they come out of a file: indices, values, and checks of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from intensor._arrays import AnyArray, FloatArray, Shape
from intensor.data.readers.kinds import name_problem
from intensor.data.readers.numbers import BadRow, check_values, check_weights
from intensor.data.table import smallest_unsigned
from intensor.errors import CoordinateError, EmptyDataError, FileFormatError
from intensor.storage.limits import room_of

__all__ = ["Cells", "from_arrays", "from_dense", "pick", "start_index"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cells:
    """Indices from 0 mode by mode, with or without values.

    Attributes
    ----------
    columns
        p arrays of n indices, integers of any type.
    shape
        Lengths of the modes.
    name
        What the values are called.
    values, weights
        (n,) numbers, or None.
    """

    columns: tuple[AnyArray, ...]
    shape: Shape
    name: str
    values: FloatArray | None
    weights: FloatArray | None

    def __len__(self) -> int:
        return int(self.columns[0].size)


def start_index(lowest: int, one_based: bool | None) -> int:
    """Return the index that the file calls the first: 1 unless told otherwise or 0 occurs."""
    if one_based is None:
        return 0 if lowest == 0 else 1
    return 1 if one_based else 0


def from_dense(path: Any, name: str, array: AnyArray) -> Cells:
    """Return all cells of a dense array, those to be filled (NaN) among them."""
    if array.ndim == 0:
        raise FileFormatError(f"{path}: {name!r} is a single number; expected an array")
    if not array.size:
        raise EmptyDataError(f"{path}: {name!r} has shape {array.shape}, and so no cells")
    _check_room(path, name, array)
    values = _numbers(array).reshape(-1)
    columns = []
    for axis, length in enumerate(array.shape):
        along = np.arange(length, dtype=smallest_unsigned(length))
        beside = tuple(other for other in range(array.ndim) if other != axis)
        columns.append(np.broadcast_to(np.expand_dims(along, beside), array.shape).reshape(-1))
    try:
        check_values(name, values, 0)
    except BadRow as problem:
        cell = tuple(int(place) for place in np.unravel_index(problem.row, array.shape))
        raise problem.error(f"{path}, cell {cell}: {problem.problem}") from None
    return Cells(columns=tuple(columns), shape=array.shape, name=name, values=values, weights=None)


def from_arrays(
    path: Any,
    arrays: Mapping[str, AnyArray],
    *,
    value: str | None,
    weight: str | None,
    one_based: bool | None,
) -> Cells:
    """Return the cells that ``coords``, ``values`` and perhaps ``shape`` and weights describe."""
    _check_room(path, "coords", arrays["coords"])
    coords = _whole(path, "coords", arrays["coords"])
    if coords.ndim != 2 or coords.shape[1] < 1:
        raise FileFormatError(
            f"{path}: 'coords' has shape {coords.shape}; expected (n, p), a row per cell"
        )
    if not coords.size:
        raise EmptyDataError(f"{path}: has no cells")
    lowest = int(coords.min())
    first = start_index(lowest, one_based)
    if lowest < first:
        row, mode = (int(place) for place in np.argwhere(coords < first)[0])
        raise CoordinateError(
            f"{path}: coords[{row}, {mode}] is {coords[row, mode]}; expected at least {first}"
        )
    columns = tuple(column - first for column in coords.T)
    shape = tuple(int(column.max()) + 1 for column in columns)
    if "shape" in arrays:
        stated = tuple(_whole(path, "shape", arrays["shape"]).reshape(-1).tolist())
        if len(stated) != len(shape) or any(a > b for a, b in zip(shape, stated, strict=True)):
            raise FileFormatError(
                f"{path}: 'shape' is {stated}, which cells up to {shape} do not fit"
            )
        shape = stated
    name = "values" if value is None else value
    values = _vector(path, name, arrays[name], len(coords)) if name in arrays else None
    weights = None if weight is None else _vector(path, weight, arrays[weight], len(coords))
    try:
        if values is not None:
            check_values(name, values, 0)
        if weights is not None:
            check_weights(str(weight), weights, 0)
    except BadRow as problem:
        raise problem.error(f"{path}, row {problem.row} of coords: {problem.problem}") from None
    return Cells(columns=columns, shape=shape, name=name, values=values, weights=weights)


def pick(
    path: Any, names: Sequence[str], *, value: str | None, weight: str | None, cells_only: bool
) -> list[str]:
    """Return which arrays of a file to read: those of a list of cells, or a single dense one.

    Parameters
    ----------
    names
        All arrays of numbers in the file.
    cells_only
        Whether a list of cells may come without values.
    """
    for name in (value, weight):
        if name is not None and name not in names:
            raise name_problem(path, name, names, what="array")
    if "coords" in names and value != "coords":
        wanted = ["coords", "values" if value is None else value]
        if wanted[1] not in names and not cells_only:
            raise FileFormatError(f"{path}: has 'coords' but no 'values'")
        also = ["shape"] if weight is None else ["shape", weight]
        return [name for name in (*wanted, *also) if name in names]
    if weight is not None:
        raise FileFormatError(f"{path}: is a dense array, which cannot have weights")
    if value is None and len(names) != 1:
        listed = ", ".join(repr(name) for name in names[:12]) or "none"
        raise FileFormatError(
            f"{path}: expected 'coords' and 'values', or a single array of numbers; found "
            f"{listed} (name the one with the values)"
        )
    return [names[0] if value is None else value]


def _vector(path: Any, name: str, array: AnyArray, n: int) -> FloatArray:
    """Return one number per cell; MATLAB's vectors are matrices with a side of 1."""
    flat = array.reshape(-1)
    if flat.size != n or max(array.shape, default=0) != n:
        raise FileFormatError(
            f"{path}: {name!r} has shape {array.shape}; expected ({n},), one per row of 'coords'"
        )
    if array.dtype.kind not in "biuf":
        raise FileFormatError(f"{path}: {name!r} has the type {array.dtype}; expected numbers")
    return _numbers(flat)


def _check_room(path: Any, name: str, array: AnyArray) -> None:
    """Raise when narrow numbers of a packed file would become far more than the file is worth."""
    needed, room = 8 * array.size, room_of(path)
    if needed > room:
        raise FileFormatError(
            f"{path}: {name!r} has {array.size} numbers, which take {needed} bytes; expected at "
            f"most {room} from a file of its size (save it without compression)"
        )


def _numbers(array: AnyArray) -> FloatArray:
    """Return an array as float64; what that cannot hold becomes infinite without a word."""
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(array, dtype=np.float64)


def _whole(path: Any, name: str, array: AnyArray) -> AnyArray:
    """Return indices as integers; whole numbers of another type, as MATLAB has them, will do."""
    if array.dtype.kind == "f":
        numbers = _numbers(array)
        if bool((np.abs(numbers) < 2.0**53).all()):
            whole = numbers.astype(np.int64)
            if np.array_equal(whole, numbers):
                return whole
    if array.dtype.kind == "u" and (not array.size or int(array.max()) < 2**63):
        return array.astype(np.int64)
    if array.dtype.kind == "u":
        raise FileFormatError(
            f"{path}: {name!r} has the entry {int(array.max())}; expected numbers below 2^63"
        )
    if array.dtype.kind != "i":
        raise FileFormatError(
            f"{path}: {name!r} has the type {array.dtype} or entries that are not whole; expected "
            "integers"
        )
    return array.astype(np.int64, copy=False)
