"""Files with indices in place of labels (``.tns``, ``.npz``, ``.mat``), made into tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from intensor._arrays import AnyArray, Shape
from intensor.data.labels import Labels
from intensor.data.readers import mat, npz, tns
from intensor.data.readers.cells import Cells
from intensor.data.readers.kinds import check_unique
from intensor.data.table import Table, smallest_unsigned
from intensor.errors import EmptyDataError, FileFormatError

__all__ = ["read", "read_cells"]

READERS = {"tns": tns.read, "npz": npz.read, "mat": mat.read}
ROOM = 1 << 24
"""Indices that a tensor may have in any case; beyond that, so many per cell in the file."""
PER_CELL = 64


def read(
    path: Any,
    *,
    kind: str,
    value: str | None,
    modes: Sequence[str] | None,
    weight: str | None,
    one_based: bool | None,
) -> Table:
    """Read a tensor as a table whose labels are indices from 0; see ``read_table``."""
    cells = READERS[kind](path, value=value, weight=weight, one_based=one_based, n_modes=None)
    if cells.values is None:
        raise FileFormatError(f"{path}: has cells but no values")
    if cells.values.size == 0:
        raise EmptyDataError(f"{path}: has no cells")
    if np.isnan(cells.values).all():
        raise EmptyDataError(f"{path}: {cells.name!r} has no value at all")
    shape = _check_room(path, cells)
    names = tuple(f"mode_{mode}" for mode in range(len(shape))) if modes is None else tuple(modes)
    if len(names) != len(shape):
        raise FileFormatError(
            f"{path}: has {len(shape)} modes, but {len(names)} names were given for them"
        )
    check_unique(path, names)
    return Table(
        labels=Labels(
            modes=names, indices=tuple(np.arange(length) for length in shape), value=cells.name
        ),
        codes=tuple(
            column.astype(smallest_unsigned(length), copy=False)
            for column, length in zip(cells.columns, shape, strict=True)
        ),
        values=cells.values,
        weights=cells.weights,
    )


def read_cells(
    path: Any, *, kind: str, modes: Sequence[str], one_based: bool | None
) -> tuple[AnyArray, ...]:
    """Read indices from 0, mode by mode; see ``intensor.data.readers.read_cells``."""
    cells = READERS[kind](path, value=None, weight=None, one_based=one_based, n_modes=len(modes))
    if len(cells.columns) != len(modes):
        raise FileFormatError(
            f"{path}: has cells of {len(cells.columns)} modes; expected {len(modes)}"
        )
    return tuple(column.astype(np.int64) for column in cells.columns)


def _check_room(path: Any, cells: Cells) -> Shape:
    """Return the shape, if a tensor with so few cells may have so many indices."""
    shape = cells.shape
    if not shape or min(shape) < 1:
        raise FileFormatError(f"{path}: has the shape {shape}; expected at least one index a mode")
    if sum(shape) > ROOM + PER_CELL * len(cells):
        raise FileFormatError(
            f"{path}: has {len(cells)} cells but {sum(shape)} indices, shape {shape}; write it as "
            "a .csv file, where only indices that occur count"
        )
    return shape
