"""Files of a command: output names are checked before any work, tables are read and written."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from intensor.cli.console import check_stdout, printable, write
from intensor.errors import FileFormatError, LabelError, SettingError
from intensor.storage.atomic import atomic_write, check_writable

if TYPE_CHECKING:
    from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape
    from intensor.cli.options import CellColumns, Columns
    from intensor.data.labels import Labels
    from intensor.data.table import Table
    from intensor.fitting.record import Fit
    from intensor.solver.checkpoint import CheckpointTarget

STDOUT = Path("-")
PAGE_SUFFIXES = (".html", ".htm")
TENSOR_SUFFIXES = (".tns", ".npz", ".mat")
"""Suffixes of the formats that hold indices and values, but no labels and no further columns."""
TABLE_SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", *TENSOR_SUFFIXES)
CHARACTERS_AT_ONCE = 1 << 20
"""Characters that are written to stdout at once."""


def check_output(path: Path, *, suffixes: Sequence[str], inputs: Iterable[Path]) -> None:
    """Raise if a file cannot be written, as far as this can be known, or is one of the inputs."""
    if not path.name.lower().endswith(tuple(suffixes)):
        *others, last = suffixes
        listed = f"{', '.join(others)} or {last}" if others else last
        raise FileFormatError(f"{path}: the output cannot be written under this name; use {listed}")
    check_writable(path)
    for source in inputs:
        if path.exists() and os.path.exists(source) and path.samefile(source):
            raise FileFormatError(
                f"{path}: is an input of this command too; choose another name for the output"
            )


def check_table_output(path: Path, *, inputs: Iterable[Path], json: bool) -> None:
    """Raise if a table cannot be written to a file, or to stdout, which ``--json`` uses itself."""
    if path != STDOUT:
        check_output(path, suffixes=TABLE_SUFFIXES, inputs=inputs)
    elif json:
        raise SettingError("--json needs a file for the table; give one with -o")
    else:
        check_stdout()


def check_checkpoint(checkpoint: CheckpointTarget | None, *, others: Iterable[Path]) -> None:
    """Raise if a checkpoint cannot be used, or is one of the other files of the command."""
    if checkpoint is None:
        return
    for other in others:
        if other != STDOUT and other.resolve() == checkpoint.path.resolve():
            raise FileFormatError(
                f"{checkpoint.path}: is another file of this command too; choose another name for "
                "the checkpoint"
            )
    from intensor.solver.checkpoint import CheckpointFile  # noqa: PLC0415

    CheckpointFile(checkpoint, kind="fit")


def is_tensor(path: Path) -> bool:
    """Say whether an output has a format of indices and values alone."""
    return path.name.lower().endswith(TENSOR_SUFFIXES)


def check_can_hold(path: Path, labels: Labels) -> None:
    """Raise if labels would get lost in a format that has only indices."""
    if is_tensor(path) and not labels.plain:
        raise FileFormatError(
            f"{path}: a {path.suffix.lower()} file has indices only, but the modes have labels; "
            "write .csv, .tsv or .parquet"
        )


def read_model_cells(fit: Fit, path: Path, columns: CellColumns) -> Table:
    """Read the cells in a file that a model is to predict."""
    from intensor.data.readers import read_cells  # noqa: PLC0415

    _check_columns(fit, path, columns["kind"])
    return read_cells(path, modes=fit.labels.modes, like=fit.labels, **columns)


def read_observed(fit: Fit, path: Path, columns: Columns) -> Table:
    """Read the observations in a file that a model was fitted to.

    The command may name the column of values; by default it has the name that the model knows.
    """
    from intensor.data.readers import read_table  # noqa: PLC0415

    if _check_columns(fit, path, columns["kind"]) and columns["value"] is None:
        columns = {**columns, "value": fit.labels.value}
    return read_table(path, modes=fit.labels.modes, like=fit.labels, **columns)


def _check_columns(fit: Fit, path: Path, kind: str | None) -> bool:
    """Return whether a file has named columns; raise if it has none but the model has labels."""
    from intensor.data.readers.files import find_format  # noqa: PLC0415

    found = find_format(path, kind)
    if not found.has_columns and not fit.labels.plain:
        raise LabelError(
            f"{path}: a .{found} file has indices only, but the modes of the model have labels; "
            "give a table (.csv, .tsv or .parquet) with the labels of the cells"
        )
    return found.has_columns


def write_cells(
    path: Path,
    columns: Mapping[str, AnyArray],
    *,
    coords: IndexArray,
    values: FloatArray,
    shape: Shape,
) -> None:
    """Write cells, as columns or as coordinates and values, whichever the format takes.

    Coordinates may reach beyond the shape: a cell that is predicted may have an index that the
    model has never seen.
    """
    from intensor.data.writers import write_table, write_tensor  # noqa: PLC0415

    if is_tensor(path):
        reach = (coords.max(axis=0) + 1).tolist() if len(coords) else shape
        write_tensor(path, coords, values, map(max, shape, reach))
        return
    if path != STDOUT:
        write_table(path, columns)
        return
    with tempfile.TemporaryDirectory(prefix="intensor-") as folder:
        file = Path(folder) / "cells.csv"
        write_table(file, columns)
        with open(file, encoding="utf-8", newline="") as text:
            for_people = sys.stdout.isatty()
            while part := text.read(CHARACTERS_AT_ONCE):
                # A pipe or a file gets every byte; a terminal would obey control characters.
                write(printable(part, keep="\n\t") if for_people else part)


def write_page(path: Path, page: str) -> None:
    """Write an HTML page; the file is either complete or not there."""
    with atomic_write(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
