"""MATLAB files up to version 7: a list of cells, or an array that has NaN for missing."""

from __future__ import annotations

import math
import os
import zlib
from typing import Any

import numpy as np
import scipy.io
from scipy.io.matlab import MatReadError

from intensor.arrays import AnyArray
from intensor.data.formats.cells import Cells, from_arrays, from_dense, pick
from intensor.errors import FileFormatError

__all__ = ["read"]

INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
NUMERIC = {"double", "single", "logical", *INTEGERS}
MOST_SQUEEZED = 1100
HDF5 = b"\x89HDF\r\n\x1a\n"
BROKEN = (
    MatReadError,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
    TypeError,
    LookupError,
    RuntimeError,
    MemoryError,
    OverflowError,
    AttributeError,
)
"""What SciPy's reader raises on damaged files."""


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
    names = _list_numeric(path)
    chosen = pick(path, names, value=value, weight=weight, cells_only=n_modes is not None)
    arrays = _load(path, chosen)
    if "coords" in arrays:
        return from_arrays(path, arrays, value=value, weight=weight, one_based=one_based)
    ((name, array),) = arrays.items()
    return from_dense(path, name, array)


def _list_numeric(path: Any) -> list[str]:
    """Return the names of the arrays of numbers, none of them larger than the file can hold."""
    with open(path, "rb") as file:
        start = file.read(1024)
    if start.startswith(HDF5) or HDF5 in start or b"MATLAB 7.3 MAT-file" in start:
        raise FileFormatError(
            f"{path}: is a MATLAB file of version 7.3 (HDF5), which cannot be read; save it with "
            "save(..., '-v7')"
        )
    try:
        listed = scipy.io.whosmat(path)
    except BROKEN as problem:
        raise _broken(path, problem) from problem
    most = MOST_SQUEEZED * os.path.getsize(path)
    for name, shape, _ in listed:
        if math.prod(shape) > most:
            raise FileFormatError(f"{path}: {name!r} claims to be larger than it can be")
    return [name for name, _, kind in listed if kind in NUMERIC]


def _load(path: Any, names: list[str]) -> dict[str, AnyArray]:
    try:
        content = scipy.io.loadmat(path, variable_names=names)
        arrays = {name: np.asarray(content[name]) for name in names}
    except BROKEN as problem:
        raise _broken(path, problem) from problem
    for name, array in arrays.items():
        if array.dtype.kind not in "biuf":
            raise FileFormatError(f"{path}: {name!r} has the type {array.dtype}; expected numbers")
    return arrays


def _broken(path: Any, problem: BaseException) -> FileFormatError:
    words = " ".join(str(problem).split())[:200] or type(problem).__name__
    return FileFormatError(
        f"{path}: cannot be read as a MATLAB file (.mat), it is truncated, damaged or something "
        f"else ({words})"
    )
