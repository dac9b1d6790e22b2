"""``intensor complete``: a file with holes in, the same file without them out."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from intensor.cli.failures import INTERRUPTED, OK, say
from intensor.cli.options import Columns, Common, FitOptions
from intensor.cli.output import check_stdout, write, write_json
from intensor.cli.places import (
    STDOUT,
    TABLE_SUFFIXES,
    TENSOR_KINDS,
    check_checkpoint,
    check_output,
    table_kind,
)
from intensor.errors import FileFormatError, SettingError
from intensor.options import declared

if TYPE_CHECKING:
    from intensor.data.table import Table

__all__ = ["complete"]

MARK = "source"
"""Name of the column that --mark adds."""


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
    unseen: Annotated[str, declared.UNSEEN] = declared.UNSEEN.default,
    modes: Annotated[list[str] | None, declared.MODES] = None,
    columns: Columns,
    options: FitOptions,
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

    from intensor.fitting.options import check_options  # noqa: PLC0415

    checked = check_options(**options)
    check_checkpoint(checked.checkpoint, others=[data, output])

    import numpy as np  # noqa: PLC0415

    from intensor._complete import complete as complete_table  # noqa: PLC0415
    from intensor.cli.figures import describe, errors_of, figures_of  # noqa: PLC0415
    from intensor.cli.fit import (  # noqa: PLC0415
        ended_early,
        read_data,
        warn_if_empty,
        watched,
    )
    from intensor.cli.tables import check_writable, write_cells  # noqa: PLC0415

    table = read_data(data, columns, modes)
    check_writable(output, table.labels)
    if mark and MARK in (*table.labels.modes, table.labels.value, columns.weight):
        raise SettingError(f"--mark adds a column {MARK!r}, but {data} has one already")
    with watched(quiet=common.quiet) as callback:
        filled, fitted = complete_table(
            table,
            cells=_choose_cells(table, cells, data),
            unseen=unseen,
            callback=callback,
            **options,
        )
    warn_if_empty(fitted)
    predicted = int(filled.predicted.sum())
    named = filled.columns()
    if mark:
        named[MARK] = np.where(filled.predicted, "predicted", "observed").astype(object)
    write_cells(output, named, coords=filled.coords(), values=filled.values, shape=table.shape)
    interrupted = ended_early(fitted)
    seconds = time.perf_counter() - start
    if common.json:
        write_json(
            {
                "command": "complete",
                **figures_of(fitted),
                **errors_of(fitted, *table.observed()),
                "seconds": {"total": seconds},
                "interrupted": interrupted,
                "rows": len(filled),
                "predicted": predicted,
                "output": str(output),
            }
        )
    elif output != STDOUT and not common.quiet:
        write(describe(fitted, errors_of(fitted, *table.observed())))
        write(
            f"\n{predicted} of {len(filled)} values predicted; {output} written, {seconds:.1f} s\n"
        )
    if interrupted:
        say("warning", "interrupted; what was missing was filled by the best model so far")
        return INTERRUPTED
    return OK


def _choose_cells(table: Table, cells: Cells, path: Path) -> str:
    """Return "missing" or "all": with auto, the rows without a value if there are any."""
    n_missing = len(table.missing())
    if cells is Cells.missing and not n_missing:
        raise FileFormatError(
            f"{path}: every row has a value, so there is nothing to fill; use --cells all for "
            "every combination of labels"
        )
    if cells is Cells.auto:
        cells = Cells.missing if n_missing else Cells.all
    return cells.value
