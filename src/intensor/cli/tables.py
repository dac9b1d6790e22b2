"""Tables that the commands read to go with a model, and cells that they write."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from intensor.cli.console import printable, write
from intensor.cli.io import STDOUT, TENSOR_KINDS, table_kind
from intensor.cli.options import Columns
from intensor.data.readers import read_cells, read_table
from intensor.data.readers.files import find_format
from intensor.data.table import Table
from intensor.data.writers import write_table, write_tensor
from intensor.errors import FileFormatError, LabelError

if TYPE_CHECKING:
    from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape
    from intensor.data.labels import Labels
    from intensor.fitting.record import Fit

__all__ = ["check_writable", "read_model_cells", "read_observed", "write_cells"]

CHARACTERS_AT_ONCE = 1 << 20
"""Characters that are written to stdout at once."""


def read_model_cells(fit: Fit, path: Path, *, kind: str | None, one_based: bool | None) -> Table:
    """Read the cells in a file that a model is to predict."""
    _check_readable(fit, path, kind)
    labels = fit.labels
    return read_cells(path, modes=labels.modes, kind=kind, one_based=one_based, like=labels)


def read_observed(fit: Fit, path: Path, columns: Columns) -> Table:
    """Read the observations in a file that a model was fitted to.

    The column of values is the one that the command names, or else the one of the model.
    """
    _check_readable(fit, path, columns.format)
    value = columns.value
    if value is None and find_format(path, columns.format).has_columns:
        value = fit.labels.value
    return read_table(
        path,
        value=value,
        modes=fit.labels.modes,
        weight=columns.weight,
        kind=columns.format,
        one_based=columns.one_based,
        like=fit.labels,
    )


def _check_readable(fit: Fit, path: Path, kind: str | None) -> None:
    """Raise if a file has indices only and the model has labels, which must not be mixed up."""
    found = find_format(path, kind)
    if not found.has_columns and not fit.labels.plain:
        raise LabelError(
            f"{path}: a .{found} file has indices only, but the modes of the model have labels; "
            "give a table (.csv, .tsv or .parquet) with the labels of the cells"
        )


def check_writable(path: Path, labels: Labels) -> None:
    """Raise if labels would get lost in a format that has only indices."""
    if path != STDOUT and table_kind(path) in TENSOR_KINDS and not labels.plain:
        raise FileFormatError(
            f"{path}: a .{table_kind(path)} file has indices only, but the modes have labels; "
            "write .csv, .tsv or .parquet"
        )


def write_cells(
    path: Path,
    columns: Mapping[str, AnyArray],
    *,
    coords: IndexArray,
    values: FloatArray,
    shape: Shape,
) -> None:
    """Write cells, as columns or as coordinates and values, whichever the format takes.

    Parameters
    ----------
    shape
        Lengths of the modes, for tensors; coordinates may reach beyond.
    """
    if path == STDOUT:
        _write_to_stdout(columns)
    elif table_kind(path) in TENSOR_KINDS:
        # Cells of indices that the model has never seen may lie beyond its shape.
        reach = (coords.max(axis=0) + 1).tolist() if len(coords) else shape
        write_tensor(path, coords, values, map(max, shape, reach))
    else:
        write_table(path, columns)


def _write_to_stdout(columns: Mapping[str, AnyArray]) -> None:
    with tempfile.TemporaryDirectory(prefix="intensor-") as folder:
        file = Path(folder) / "cells.csv"
        write_table(file, columns)
        with open(file, encoding="utf-8", newline="") as text:
            for_people = sys.stdout.isatty()
            while part := text.read(CHARACTERS_AT_ONCE):
                # A pipe or a file gets every byte; a terminal would obey control characters.
                write(printable(part, keep="\n\t") if for_people else part)
