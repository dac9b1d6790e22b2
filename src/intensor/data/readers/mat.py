"""MATLAB files up to version 7: a list of cells, or an array that has NaN for missing."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

from intensor._arrays import AnyArray
from intensor.data.readers.cells import Cells, from_arrays, from_dense, pick
from intensor.data.readers.mat_elements import Element, read_elements
from intensor.errors import FileFormatError

__all__ = ["read"]

HDF5 = b"\x89HDF\r\n\x1a\n"


def read(
    path: Any,
    *,
    value: str | None,
    weight: str | None,
    one_based: bool | None,
    n_modes: int | None,
) -> Cells:
    """Read ``coords`` and ``values``, or a single array of numbers; see ``npz.read``.

    Indices begin at 1 unless told otherwise or unless there is a 0 among them.
    """
    names = _list_numeric(path, also=("coords", "values", "shape", value, weight))
    chosen = pick(path, names, value=value, weight=weight, cells_only=n_modes is not None)
    arrays = _load(path, chosen)
    if "coords" in arrays:
        return from_arrays(path, arrays, value=value, weight=weight, one_based=one_based)
    ((name, array),) = arrays.items()
    return from_dense(path, name, array)


def _list_numeric(path: Any, *, also: Sequence[str | None]) -> list[str]:
    """Return the names of the arrays of numbers.

    Parameters
    ----------
    also
        Names that must be numbers if they are there: to pass over one would be a guess.
    """
    with open(path, "rb") as file:
        start = file.read(1024)
    if start.startswith(HDF5) or HDF5 in start or b"MATLAB 7.3 MAT-file" in start:
        raise FileFormatError(
            f"{path}: is a MATLAB file of version 7.3 (HDF5), which cannot be read; save it with "
            "save(..., '-v7')"
        )
    elements = _elements(path, ())
    for element in elements:
        if element.name in also and not element.numeric:
            raise FileFormatError(f"{path}: {element.name!r} is no array of numbers; expected one")
    return [element.name for element in elements if element.numeric]


def _load(path: Any, names: list[str]) -> dict[str, AnyArray]:
    found = {element.name: element.array for element in _elements(path, names)}
    return {name: array for name in names if (array := found[name]) is not None}


def _elements(path: Any, names: Sequence[str]) -> list[Element]:
    try:
        return read_elements(path, names)
    except (ValueError, OSError, OverflowError, MemoryError, zlib.error) as problem:
        raise _broken(path, problem) from problem


def _broken(path: Any, problem: BaseException) -> FileFormatError:
    words = " ".join(str(problem).split())[:200] or type(problem).__name__
    return FileFormatError(
        f"{path}: cannot be read as a MATLAB file (.mat), it is truncated, damaged or something "
        f"else ({words})"
    )
