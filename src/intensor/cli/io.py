"""Output files of a command: unusable names are refused before any work is done, not after."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from intensor.errors import FileFormatError
from intensor.storage.atomic import atomic_write, check_writable

if TYPE_CHECKING:
    from intensor.solver.checkpoint import CheckpointTarget

__all__ = [
    "PAGE_SUFFIXES",
    "STDOUT",
    "TABLE_SUFFIXES",
    "TENSOR_KINDS",
    "check_checkpoint",
    "check_output",
    "table_kind",
    "write_page",
]

STDOUT = Path("-")
PAGE_SUFFIXES = (".html", ".htm")
TABLE_SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".tns", ".npz", ".mat")
TENSOR_KINDS = ("tns", "npz", "mat")


def check_output(path: Path, *, suffixes: Iterable[str], inputs: Iterable[Path]) -> None:
    """Raise if a file cannot be written, as far as this can be known beforehand.

    Parameters
    ----------
    suffixes
        Suffixes that are allowed.
    inputs
        Files that are read, none of which may be overwritten.
    """
    endings = tuple(suffixes)
    if not path.name.lower().endswith(endings):
        listed = " or ".join([", ".join(endings[:-1]), endings[-1]] if endings[1:] else endings)
        raise FileFormatError(f"{path}: the output cannot be written under this name; use {listed}")
    check_writable(path)
    for source in inputs:
        if path.exists() and os.path.exists(source) and path.samefile(source):
            raise FileFormatError(
                f"{path}: is an input of this command too; choose another name for the output"
            )


def check_checkpoint(checkpoint: CheckpointTarget | None, *, others: Iterable[Path]) -> None:
    """Raise if a checkpoint cannot be written or resumed from, before the data is read.

    Parameters
    ----------
    others
        Files that the same command reads or writes.
    """
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


def table_kind(path: Path) -> str:
    """Return the format of a table or tensor that is to be written, by its checked suffix."""
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    return suffix.removeprefix(".")


def write_page(path: Path, page: str) -> None:
    """Write an HTML page; the file is either complete or not there."""
    with atomic_write(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
