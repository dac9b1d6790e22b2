"""Reading files: CSV, TSV, Parquet, FROSTT ``.tns``, NumPy ``.npz`` and MATLAB ``.mat``.

Tables (CSV, TSV, Parquet) have a column per mode and one of values; tensors (the others) have
indices. Every problem with a file is an error of one sentence that begins with its name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from intensor.data.labels import Labels
from intensor.data.readers.files import Format, Request, check_file, check_path, find_format
from intensor.data.table import Table

__all__ = ["read_cells", "read_table"]


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
    """Read observations, and cells to be filled: rows without a value.

    The suffix of the path, or ``kind``, is one of csv, tsv, parquet, tns, npz and mat. Texts may be
    gzipped. ``value``, ``modes`` and ``weight`` name columns; by default the values are in "value"
    and all others are modes. Tensors have no columns, so that ``modes`` names their modes. Indices
    of ``.tns`` and ``.mat`` files begin at 1 by default unless there is a 0 among them, those of
    ``.npz`` files at 0. If ``like`` gives labels that the file is to be compared with, its columns
    are read as labels of the same kinds (``12`` as the string "12" where those are strings).
    """
    request = Request(value=value, modes=modes, weight=weight, one_based=one_based, like=like)
    return _read(path, kind, request)


def read_cells(
    path: Any,
    *,
    modes: Sequence[str],
    kind: str | None = None,
    one_based: bool | None = None,
    like: Labels | None = None,
) -> Table:
    """Read cells without their values, in the order of the file; options as in ``read_table``.

    ``modes`` are the columns to read. A tensor must have as many modes; its values are passed over.
    """
    return _read(path, kind, Request(modes=modes, one_based=one_based, like=like, cells_only=True))


def _read(path: Any, kind: str | None, request: Request) -> Table:
    path = check_path(path)
    found = find_format(path, kind)
    check_file(path)
    # Readers are imported when they are needed, since pyarrow is heavy.
    if found in (Format.CSV, Format.TSV):
        from intensor.data.readers import csv  # noqa: PLC0415

        return csv.read(path, request, delimiter="\t" if found is Format.TSV else None)
    if found is Format.PARQUET:
        from intensor.data.readers import parquet  # noqa: PLC0415

        return parquet.read(path, request)
    from intensor.data.readers import mat, tensors, tns  # noqa: PLC0415

    read = {Format.TNS: tns.read, Format.NPZ: tensors.read_npz, Format.MAT: mat.read}[found]
    return read(path, request)
