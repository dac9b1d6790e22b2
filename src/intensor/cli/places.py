"""Where output goes: refused before any work is done, not after."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from intensor.errors import FileFormatError
from intensor.storage.atomic import check_place

if TYPE_CHECKING:
    from intensor.solver.checkpoint import Place

__all__ = ["STDOUT", "check_checkpoint", "check_output", "table_kind"]

STDOUT = Path("-")
TABLE_SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".tns", ".npz", ".mat")
TENSOR_KINDS = ("tns", "npz", "mat")


def check_output(path: Path, *, suffixes: Iterable[str], inputs: Iterable[Path]) -> None:
    """Raise if a file cannot be written, so far as one can know beforehand.

    Parameters
    ----------
    suffixes
        Endings that are allowed.
    inputs
        Files that are read, none of which may be overwritten.
    """
    endings = tuple(suffixes)
    if not path.name.lower().endswith(endings):
        listed = " or ".join([", ".join(endings[:-1]), endings[-1]] if endings[1:] else endings)
        raise FileFormatError(f"{path}: the output cannot be written under this name; use {listed}")
    check_place(path)
    for source in inputs:
        if path.exists() and os.path.exists(source) and path.samefile(source):
            raise FileFormatError(
                f"{path}: is an input of this command too; choose another name for the output"
            )


def check_checkpoint(place: Place | None, *, others: Iterable[Path]) -> None:
    """Raise if a checkpoint cannot be written or gone on from, before the data is read.

    Parameters
    ----------
    others
        Files of the same command.
    """
    if place is None:
        return
    for other in others:
        if other != STDOUT and other.resolve() == place.path.resolve():
            raise FileFormatError(
                f"{place.path}: is another file of this command too; choose another name for the "
                "checkpoint"
            )
    from intensor.solver.checkpoint import CheckpointFile  # noqa: PLC0415

    CheckpointFile(place, kind="fit")


def table_kind(path: Path) -> str:
    """Return the format of a table or tensor that is to be written, by its checked suffix."""
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    return suffix.removeprefix(".")
