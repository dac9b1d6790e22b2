"""NumPy archives with a list of cells, or with a dense array that has NaN for missing."""

from __future__ import annotations

from typing import Any

from intensor.data.readers.cells import Cells, from_arrays, from_dense, pick
from intensor.errors import FileFormatError
from intensor.storage.archive import list_entries, read_archive

__all__ = ["read"]


def read(
    path: Any,
    *,
    value: str | None,
    weight: str | None,
    one_based: bool | None,
    n_modes: int | None,
) -> Cells:
    """Read ``coords``, ``values`` and perhaps ``shape`` and weights, or a single dense array.

    Parameters
    ----------
    value, weight
        Names of the arrays with the values and the weights.
    one_based
        Whether indices begin at 1; they begin at 0 unless told.
    n_modes
        Of cells that may come without values; None when values are needed.
    """
    names = list_entries(path)
    if "header" in names and "words" in names:
        raise FileFormatError(f"{path}: is a model file; expected data")
    chosen = pick(path, names, value=value, weight=weight, cells_only=n_modes is not None)
    arrays = read_archive(path, chosen)
    if "coords" in arrays:
        return from_arrays(path, arrays, value=value, weight=weight, one_based=bool(one_based))
    ((name, array),) = arrays.items()
    if array.dtype.kind not in "biuf":
        raise FileFormatError(f"{path}: {name!r} has the type {array.dtype}; expected numbers")
    return from_dense(path, name, array)
