"""NumPy archives with a list of cells, or with a dense array that has NaN for missing."""

from __future__ import annotations

from typing import Any

from intensor.data.readers.files import Request
from intensor.data.readers.tensors import read_arrays, wanted_arrays
from intensor.data.table import Table
from intensor.errors import FileFormatError
from intensor.storage.archive import list_entries, read_archive


def read(path: Any, request: Request) -> Table:
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
