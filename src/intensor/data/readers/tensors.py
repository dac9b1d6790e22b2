"""Tensors in files (``.tns``, ``.npz``, ``.mat``), as tables whose labels are indices.

NumPy archives are read here, and MATLAB files hold the same arrays: a list of cells, or a dense
array that has NaN for missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from intensor._arrays import AnyArray, FloatArray, Shape
from intensor.data.checks import BadRow, find_bad_value, find_bad_weight
from intensor.data.columns import find_column
from intensor.data.encoding import encode_integers
from intensor.data.labels import Labels
from intensor.data.readers.files import Request, check_unique, choosing_from, row_error
from intensor.data.table import Source, Table, smallest_unsigned
from intensor.errors import CoordinateError, EmptyDataError, FileFormatError
from intensor.storage.archive import list_entries, read_archive
from intensor.storage.limits import largest_decompressed_size

MIN_INDICES_ALLOWED = 1 << 24
"""Number of indices that any tensor may have, however few its cells are."""
INDICES_PER_CELL = 64
"""Number of indices that each cell of the file adds to that."""


def read_npz(path: Any, request: Request) -> Table:
    """Read ``coords``, ``values`` and perhaps ``shape`` and weights, or a single dense array.

    Indices begin at 0 unless the request says otherwise.
    """
    names = list_entries(path)
    if "header" in names and "words" in names:
        raise FileFormatError(f"{path}: is a model file; expected data")
    arrays = read_archive(path, wanted_arrays(path, names, request))
    for name, array in arrays.items():
        if array.dtype.kind not in "biuf" and "coords" not in arrays:
            raise FileFormatError(f"{path}: {name!r} has the type {array.dtype}; expected numbers")
    return read_arrays(path, arrays, request, one_based=bool(request.one_based))


def start_index(lowest: int, one_based: bool | None) -> int:
    """Return the first index of a file: 1, unless the caller says 0 or a 0 occurs."""
    if one_based is None:
        return 0 if lowest == 0 else 1
    return 1 if one_based else 0


def tensor_table(
    path: Any,
    columns: Sequence[AnyArray],
    shape: Shape,
    request: Request,
    *,
    name: str,
    values: FloatArray | None,
    weights: FloatArray | None = None,
) -> Table:
    """Return the cells of a tensor as a table.

    ``columns`` are p arrays of n indices counted from 0, ``name`` is that of the values, and there
    are n values, or None for cells without values.
    """
    if request.cells_only:
        return _cells_table(path, columns, request)
    if values is None:
        raise FileFormatError(f"{path}: has cells but no values")
    if values.size == 0:
        raise EmptyDataError(f"{path}: has no cells")
    if np.isnan(values).all():
        raise EmptyDataError(f"{path}: {name!r} has no value at all")
    _check_shape(path, shape, values.size)
    modes = request.modes
    names = tuple(f"mode_{mode}" for mode in range(len(shape))) if modes is None else tuple(modes)
    if len(names) != len(shape):
        raise FileFormatError(
            f"{path}: has {len(shape)} modes, but {len(names)} names were given for them"
        )
    check_unique(path, names)
    return Table(
        labels=Labels(
            modes=names, indices=tuple(np.arange(length) for length in shape), value=name
        ),
        codes=tuple(
            column.astype(smallest_unsigned(length), copy=False)
            for column, length in zip(columns, shape, strict=True)
        ),
        values=values,
        weights=weights,
        source=Source(path=path, weight=None if weights is None else request.weight),
    )


def _cells_table(path: Any, columns: Sequence[AnyArray], request: Request) -> Table:
    """Return cells without values; only indices that occur get a label."""
    modes = tuple(request.modes or ())
    if len(columns) != len(modes):
        raise FileFormatError(f"{path}: has cells of {len(columns)} modes; expected {len(modes)}")
    encoded = [encode_integers(column) for column in columns]
    return Table(
        labels=Labels(
            modes=modes, indices=tuple(column.labels.astype(np.int64) for column in encoded)
        ),
        codes=tuple(column.codes for column in encoded),
        values=np.full(columns[0].size, np.nan),
        source=Source(path=path),
    )


def _check_shape(path: Any, shape: Shape, n_cells: int) -> None:
    """Raise when a tensor with few cells claims very many indices."""
    if not shape or min(shape) < 1:
        raise FileFormatError(f"{path}: has the shape {shape}; expected at least one index a mode")
    if sum(shape) > MIN_INDICES_ALLOWED + INDICES_PER_CELL * n_cells:
        raise FileFormatError(
            f"{path}: has {n_cells} cells but {sum(shape)} indices, shape {shape}; write it as "
            "a .csv file, where only indices that occur count"
        )


def wanted_arrays(path: Any, names: Sequence[str], request: Request) -> list[str]:
    """Return which arrays of numbers to read: those of a list of cells, or a single dense one."""
    value, weight = request.value, request.weight
    with choosing_from(path):
        for name, role in ((value, "values"), (weight, "weights")):
            if name is not None:
                find_column(name, names, role=role, kind="array")
    if "coords" in names and value != "coords":
        wanted = ["coords", "values" if value is None else value]
        if wanted[1] not in names and not request.cells_only:
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


def read_arrays(
    path: Any, arrays: Mapping[str, AnyArray], request: Request, *, one_based: bool | None
) -> Table:
    """Return the table that a list of cells describes, or a single dense array."""
    if "coords" in arrays:
        return _from_coords(path, arrays, request, one_based=one_based)
    ((name, array),) = arrays.items()
    return _from_dense(path, name, array, request)


def _from_dense(path: Any, name: str, array: AnyArray, request: Request) -> Table:
    """Return all cells of a dense array; NaN stands for a cell to be filled."""
    if array.ndim == 0:
        raise FileFormatError(f"{path}: {name!r} is a single number; expected an array")
    if not array.size:
        raise EmptyDataError(f"{path}: {name!r} has shape {array.shape}, and so no cells")
    _check_size(path, name, array)
    values = _as_floats(array).reshape(-1)
    columns = [
        np.broadcast_to(along.astype(smallest_unsigned(along.size)), array.shape).reshape(-1)
        for along in np.ix_(*map(np.arange, array.shape))
    ]
    bad = find_bad_value(values)
    if bad is not None:
        cell = tuple(int(index) for index in np.unravel_index(bad.row, array.shape))
        raise row_error(bad, f"{path}, cell {cell}: {name!r} {bad.text}")
    return tensor_table(path, columns, array.shape, request, name=name, values=values)


def _from_coords(
    path: Any, arrays: Mapping[str, AnyArray], request: Request, *, one_based: bool | None
) -> Table:
    """Return the cells of ``coords``, with ``values`` and perhaps ``shape`` and weights."""
    _check_size(path, "coords", arrays["coords"])
    coords = _as_integers(path, "coords", arrays["coords"])
    if coords.ndim != 2 or coords.shape[1] < 1:
        raise FileFormatError(
            f"{path}: 'coords' has shape {coords.shape}; expected (n, p), a row per cell"
        )
    if not coords.size:
        raise EmptyDataError(f"{path}: has no cells")
    lowest = int(coords.min())
    first = start_index(lowest, one_based)
    if lowest < first:
        row, mode = map(int, np.argwhere(coords < first)[0])
        raise CoordinateError(
            f"{path}: coords[{row}, {mode}] is {coords[row, mode]}; expected at least {first}"
        )
    columns = [column - first for column in coords.T]
    name = "values" if request.value is None else request.value
    values = _vector(path, name, arrays, len(coords))
    weights = None if request.weight is None else _vector(path, request.weight, arrays, len(coords))
    if values is not None:
        _check_row(path, find_bad_value(values), f"{name!r}")
    if weights is not None:
        _check_row(path, find_bad_weight(weights), f"the weight in {request.weight!r}")
    shape = _stated_shape(path, arrays, tuple(int(column.max()) + 1 for column in columns))
    return tensor_table(path, columns, shape, request, name=name, values=values, weights=weights)


def _stated_shape(path: Any, arrays: Mapping[str, AnyArray], least: Shape) -> Shape:
    """Return the shape that a file states, or the least one if it states none."""
    if "shape" not in arrays:
        return least
    stated = tuple(_as_integers(path, "shape", arrays["shape"]).reshape(-1).tolist())
    if len(stated) != len(least) or any(a > b for a, b in zip(least, stated, strict=True)):
        raise FileFormatError(f"{path}: 'shape' is {stated}, which cells up to {least} do not fit")
    return stated


def _vector(path: Any, name: str, arrays: Mapping[str, AnyArray], n: int) -> FloatArray | None:
    """Return one number per cell, if the file has them; vectors of MATLAB are matrices."""
    if name not in arrays:
        return None
    array = arrays[name]
    if array.size != n or max(array.shape, default=0) != n:
        raise FileFormatError(
            f"{path}: {name!r} has shape {array.shape}; expected ({n},), one per row of 'coords'"
        )
    if array.dtype.kind not in "biuf":
        raise FileFormatError(f"{path}: {name!r} has the type {array.dtype}; expected numbers")
    return _as_floats(array.reshape(-1))


def _check_row(path: Any, bad: BadRow | None, subject: str) -> None:
    if bad is not None:
        raise row_error(bad, f"{path}, row {bad.row} of coords: {subject} {bad.text}")


def _check_size(path: Any, name: str, array: AnyArray) -> None:
    """Raise when the numbers of a packed file would take far more memory than its size allows."""
    needed, allowed = 8 * array.size, largest_decompressed_size(path)
    if needed > allowed:
        raise FileFormatError(
            f"{path}: {name!r} has {array.size} numbers, which take {needed} bytes; expected at "
            f"most {allowed} from a file of its size (save it without compression)"
        )


def _as_floats(array: AnyArray) -> FloatArray:
    """Return an array as float64; what that cannot hold becomes infinite without a warning."""
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(array, dtype=np.float64)


def _as_integers(path: Any, name: str, array: AnyArray) -> AnyArray:
    """Return indices as int64; MATLAB stores them as floats, which must be whole numbers."""
    if array.dtype.kind == "f":
        numbers = _as_floats(array)
        if bool((np.abs(numbers) < 2.0**53).all()):
            integers = numbers.astype(np.int64)
            if np.array_equal(integers, numbers):
                return integers
    if array.dtype.kind == "u" and array.size and int(array.max()) >= 2**63:
        raise FileFormatError(
            f"{path}: {name!r} has the entry {int(array.max())}; expected numbers below 2^63"
        )
    if array.dtype.kind not in "iu":
        raise FileFormatError(
            f"{path}: {name!r} has the type {array.dtype} or entries that are not whole; expected "
            "integers"
        )
    return array.astype(np.int64, copy=False)
