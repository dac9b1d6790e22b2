"""``intensor complete``: a file with holes in, the same file without them out."""

from __future__ import annotations

import math
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from intensor.cli.console import INTERRUPTED, OK, check_stdout, say, write, write_json
from intensor.cli.groups import Columns, Common, FitWords, Unseen
from intensor.cli.io import (
    STDOUT,
    TABLE_SUFFIXES,
    TENSOR_KINDS,
    check_checkpoint,
    check_output,
    table_kind,
)
from intensor.errors import DenseTooLargeError, FileFormatError, SettingError

if TYPE_CHECKING:
    from intensor.cli.filling import Filled
    from intensor.data.table import Table
    from intensor.fitting.record import Fit

__all__ = ["complete"]

MOST_CELLS = 10**7
MARK = "source"


class Cells(StrEnum):
    """Which cells the output has."""

    auto = "auto"
    missing = "missing"
    all = "all"


def complete(
    data: Annotated[
        Path,
        typer.Argument(metavar="DATA", help="Observations and cells without a value, as for fit."),
    ],
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File to write; - for CSV on stdout.")
    ],
    cells: Annotated[
        Cells,
        typer.Option(
            help="missing: the rows of DATA, empty values filled; all: every combination of "
            "labels; auto: missing if there are such rows, else all."
        ),
    ] = Cells.auto,
    mark: Annotated[
        bool, typer.Option("--mark", help="Add a column that says observed or predicted.")
    ] = False,
    unseen: Annotated[
        Unseen,
        typer.Option(help="A label without observations: an error, or the mean over its mode."),
    ] = Unseen.mean,
    mode: Annotated[
        list[str] | None,
        typer.Option(help="Column of labels, once per mode.", show_default="all other columns"),
    ] = None,
    columns: Columns,
    words: FitWords,
    common: Common,
) -> int:
    """Fit a model to a file and fill in what is missing.

    Observed cells keep their values, in "all" the mean of them. Ctrl-C ends the fit and fills
    with the best model so far.
    """
    start = time.perf_counter()
    if output == STDOUT and common.json:
        raise SettingError("--json needs a file for the table; give one with -o")
    if output == STDOUT:
        check_stdout()
    else:
        check_output(output, suffixes=TABLE_SUFFIXES, inputs=[data])
        if mark and table_kind(output) in TENSOR_KINDS:
            raise FileFormatError(f"{output}: has no room for marks; write .csv, .tsv or .parquet")
    options = words.options()
    check_checkpoint(options.checkpoint, others=[data, output])

    from intensor.cli.filling import check_seen, fill_all, fill_missing  # noqa: PLC0415
    from intensor.cli.fitting import ended_early, fit_table, read_data  # noqa: PLC0415
    from intensor.cli.tables import check_writable, write_cells  # noqa: PLC0415
    from intensor.report.summary import errors_of, summarise  # noqa: PLC0415

    table = read_data(data, columns, mode)
    check_writable(output, table.labels)
    if mark and MARK in (*table.labels.modes, table.labels.value, columns.weight):
        raise SettingError(f"--mark adds a column {MARK!r}, but {data} has one already")
    everything = _wants_all(table, cells, data)
    if unseen is Unseen.error:
        check_seen(table, data, everything=everything)
    fitted = fit_table(table, options, quiet=common.quiet)
    if everything:
        filled = fill_all(table, fitted, unseen=unseen.value)
    else:
        filled = fill_missing(table, fitted, data, columns=columns, unseen=unseen.value)
    named = filled.columns(MARK if mark else None)
    write_cells(output, named, coords=filled.coords, values=filled.values, shape=table.shape)
    interrupted = ended_early(fitted)
    seconds = time.perf_counter() - start
    if common.json:
        write_json(
            {
                "command": "complete",
                **summarise(fitted).as_dict(),
                **errors_of(fitted, *table.observed()),
                "seconds": {"total": seconds},
                "interrupted": interrupted,
                "rows": len(filled.values),
                "predicted": filled.count,
                "output": str(output),
            }
        )
    elif output != STDOUT and not common.quiet:
        _summarise(fitted, filled, table, output=output, seconds=seconds)
    if interrupted:
        say("warning", "interrupted; what was missing was filled by the best model so far")
        return INTERRUPTED
    return OK


def _wants_all(table: Table, cells: Cells, path: Path) -> bool:
    """Decide between the rows of the file and every combination, which must not be too many."""
    n_missing = len(table.missing())
    if cells is Cells.missing and not n_missing:
        raise FileFormatError(
            f"{path}: every row has a value, so there is nothing to fill; use --cells all for "
            "every combination of labels"
        )
    if cells is Cells.missing or (cells is Cells.auto and n_missing):
        return False
    total = math.prod(table.shape)
    if total > MOST_CELLS:
        lengths = " x ".join(map(str, table.shape))
        raise DenseTooLargeError(
            f"{path}: all combinations of labels are {lengths} = {total} cells; expected at most "
            f"{MOST_CELLS} (list the cells that you want, as rows without a value or with "
            "intensor predict)"
        )
    return True


def _summarise(fitted: Fit, filled: Filled, table: Table, *, output: Path, seconds: float) -> None:
    from intensor.cli.info import describe  # noqa: PLC0415
    from intensor.report.summary import errors_of  # noqa: PLC0415

    write(describe(fitted, errors_of(fitted, *table.observed())))
    write(
        f"\n{filled.count} of {len(filled.values)} values predicted; {output} written, "
        f"{seconds:.1f} s\n"
    )
