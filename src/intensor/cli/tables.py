"""Completed cells on their way out: to a table, a tensor or stdout."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from intensor.cli.console import printable, write
from intensor.cli.io import STDOUT, TENSOR_KINDS, table_kind
from intensor.data.readers import write_table, write_tensor
from intensor.errors import FileFormatError

if TYPE_CHECKING:
    from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape
    from intensor.data.labels import Labels

__all__ = ["check_writable", "write_cells"]

AT_ONCE = 1 << 20


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
        Lengths of the modes, for tensors; more where coordinates reach beyond.
    """
    if path == STDOUT:
        _to_stdout(columns)
    elif table_kind(path) in TENSOR_KINDS:
        # cells of indices that the model has never seen may lie beyond its shape
        reach = (coords.max(axis=0) + 1).tolist() if len(coords) else shape
        write_tensor(path, coords, values, map(max, shape, reach))
    else:
        write_table(path, columns)


def _to_stdout(columns: Mapping[str, AnyArray]) -> None:
    with tempfile.TemporaryDirectory(prefix="intensor-") as folder:
        file = Path(folder) / "cells.csv"
        write_table(file, columns)
        with open(file, encoding="utf-8", newline="") as text:
            for_people = sys.stdout.isatty()
            while part := text.read(AT_ONCE):
                # a pipe or a file gets every byte; a terminal would obey what labels tell it
                write(printable(part, keep="\n\t") if for_people else part)
