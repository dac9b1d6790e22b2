"""Files in and out: CSV, TSV, Parquet, FROSTT ``.tns``, NumPy ``.npz`` and MATLAB ``.mat``.

Tables (CSV, TSV, Parquet) have a column per mode and one of values; tensors (the others) have
indices. Every problem with a file is an error of one sentence that begins with its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from intensor._arrays import AnyArray
from intensor.data.labels import Labels
from intensor.data.readers.kinds import TABLES, TENSORS, check_file, check_path, find_kind
from intensor.data.table import Table
from intensor.errors import FileFormatError

__all__ = ["read_cells", "read_table", "write_table", "write_tensor"]


def read_table(
    path: Any,
    *,
    value: str | None = None,
    modes: Sequence[str] | None = None,
    weight: str | None = None,
    kind: str | None = None,
    one_based: bool | None = None,
    like: Labels | None = None,
) -> Table:
    """Read observations and cells to be filled.

    Parameters
    ----------
    path
        ``.csv``, ``.tsv``, ``.txt`` (any of them also ``.gz``), ``.parquet``, ``.tns``
        (``.tns.gz``), ``.npz`` or ``.mat``.
    value
        Column of the values, "value" by default; a row without one is a cell to be filled.
    modes
        Columns of the labels; by default all but the values and the weights. For tensors,
        which have no columns, names for the modes.
    weight
        Column of the weights, if there is one.
    kind
        "csv", "tsv", "parquet", "tns", "npz" or "mat", when the suffix does not say it.
    one_based
        Whether indices of a ``.tns`` or ``.mat`` file begin at 1; by default they do unless
        there is a 0 among them. Those of ``.npz`` begin at 0 unless told otherwise.
    like
        Labels that the file is to be compared with: its columns are read as labels of the same
        kinds (``12`` as the string "12" where the labels are strings).
    """
    path = check_path(path)
    found = find_kind(path, kind)
    check_file(path)
    if found in ("csv", "tsv"):
        from intensor.data.readers import csv  # noqa: PLC0415  (pyarrow is heavy)

        return csv.read(path, value=value, modes=modes, weight=weight, kind=found, like=like)
    if found == "parquet":
        from intensor.data.readers import parquet  # noqa: PLC0415

        return parquet.read(path, value=value, modes=modes, weight=weight, like=like)
    from intensor.data.readers import tensors  # noqa: PLC0415

    return tensors.read(
        path, kind=found, value=value, modes=modes, weight=weight, one_based=one_based
    )


def read_cells(
    path: Any,
    *,
    modes: Sequence[str],
    kind: str | None = None,
    one_based: bool | None = None,
    like: Labels | None = None,
) -> tuple[AnyArray, ...]:
    """Read the labels of cells, mode by mode, in the order of the file.

    Parameters
    ----------
    path, kind, one_based, like
        As in ``read_table``.
    modes
        Columns to read. A tensor must have as many modes; a column of values is passed over.
    """
    path = check_path(path)
    found = find_kind(path, kind)
    check_file(path)
    if found in ("csv", "tsv"):
        from intensor.data.readers import csv  # noqa: PLC0415

        return csv.read_cells(path, modes=modes, kind=found, like=like)
    if found == "parquet":
        from intensor.data.readers import parquet  # noqa: PLC0415

        return parquet.read_cells(path, modes=modes, like=like)
    from intensor.data.readers import tensors  # noqa: PLC0415

    return tensors.read_cells(path, kind=found, modes=modes, one_based=one_based)


def write_table(path: Any, columns: Mapping[str, ArrayLike], *, kind: str | None = None) -> None:
    """Write columns of equal length as CSV, TSV or Parquet; a NaN becomes an empty field."""
    path = check_path(path)
    found = find_kind(path, kind)
    if found not in TABLES:
        raise FileFormatError(
            f"{path}: columns cannot be written as .{found}; expected .csv, .tsv or .parquet"
        )
    from intensor.data import writers as writing  # noqa: PLC0415

    writing.write_columns(path, columns, kind=found)


def write_tensor(
    path: Any,
    coords: ArrayLike,
    values: ArrayLike,
    shape: Iterable[int],
    *,
    kind: str | None = None,
) -> None:
    """Write cells of a tensor as ``.tns``, ``.npz`` or ``.mat``.

    Parameters
    ----------
    coords
        (n, p) indices counted from 0; ``.tns`` and ``.mat`` files count from 1.
    values
        (n,) values.
    """
    path = check_path(path)
    found = find_kind(path, kind)
    if found not in TENSORS:
        raise FileFormatError(
            f"{path}: a tensor cannot be written as .{found}; expected .tns, .npz or .mat"
        )
    from intensor.data import writers as writing  # noqa: PLC0415

    writing.write_cells(path, coords, values, tuple(shape), kind=found)
