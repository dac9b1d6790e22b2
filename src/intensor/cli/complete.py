"""``intensor complete``: fits a model to a file and fills in its missing values."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from intensor.cli.fit import exit_code, read_data, sigterm_as_ctrl_c, was_interrupted
from intensor.cli.info import describe
from intensor.cli.io import (
    STDOUT,
    check_can_hold,
    check_checkpoint,
    check_table_output,
    is_tensor,
    write_cells,
)
from intensor.cli.options import Columns, Common, FitOptions, TableOutput
from intensor.errors import FileFormatError, SettingError
from intensor.options import declared
from intensor.options.option import Option
from intensor.solver.progress import show_progress

if TYPE_CHECKING:
    from intensor.data.table import Table
    from intensor.fitting.record import Fit

MARK = "source"
"""Name of the column that --mark adds."""
CELLS = Option(
    name="cells",
    default="auto",
    choices=("auto", *declared.CELLS.choices),
    summary="missing: the rows of DATA, empty values filled; all: every combination of labels; "
    "auto: missing if there are such rows, else all.",
)


def complete(
    data: Annotated[
        Path,
        typer.Argument(metavar="DATA", help="Observations and cells without a value, as for fit."),
    ],
    *,
    output: TableOutput,
    cells: Annotated[str, CELLS] = CELLS.default,
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

    Observed cells keep their values; with "all", repeated cells get their mean. Ctrl-C ends the
    fit and fills with the best model so far.
    """
    start = time.perf_counter()
    check_table_output(output, inputs=[data], json=common.json)
    if mark and is_tensor(output):
        raise FileFormatError(f"{output}: cannot hold marks; write .csv, .tsv or .parquet")
    from intensor.fitting.options import check_options  # noqa: PLC0415

    check_checkpoint(check_options(**options).checkpoint, others=[data, output])
    from intensor._complete import complete as complete_table  # noqa: PLC0415

    table = read_data(data, columns, modes)
    check_can_hold(output, table.labels)
    if mark and MARK in (*table.labels.modes, table.labels.value, columns["weight"]):
        raise SettingError(f"--mark adds a column {MARK!r}, but {data} has one already")
    with show_progress(verbose=not common.quiet) as callback, sigterm_as_ctrl_c():
        filled, fitted = complete_table(
            table,
            cells=_choose_cells(table, cells, data),
            unseen=unseen,
            callback=callback,
            **options,
        )
    _write(output, filled, mark=mark)
    _show(fitted, table, filled, output=output, common=common, start=start)
    return exit_code(fitted, "what was missing was filled by the best model so far")


def _write(output: Path, filled: Table, *, mark: bool) -> None:
    """Write a filled table; ``mark`` adds a column that says observed or predicted."""
    import numpy as np  # noqa: PLC0415

    named = filled.columns()
    if mark:
        assert filled.predicted is not None  # completed tables know it
        named[MARK] = np.where(filled.predicted, "predicted", "observed").astype(object)
    write_cells(output, named, coords=filled.coords(), values=filled.values, shape=filled.shape)


def _show(
    fitted: Fit, table: Table, filled: Table, *, output: Path, common: Common, start: float
) -> None:
    """Print the figures of the fit, for people or as JSON."""
    from intensor.report.summary import errors_of, summarise  # noqa: PLC0415

    if not common.json and (output == STDOUT or common.quiet):
        return
    errors = errors_of(fitted, *table.observed())
    n_predicted = 0 if filled.predicted is None else int(filled.predicted.sum())
    seconds = time.perf_counter() - start
    common.show(
        "complete",
        {
            **summarise(fitted),
            **errors,
            "seconds": {"total": seconds},
            "interrupted": was_interrupted(fitted),
            "rows": len(filled),
            "predicted": n_predicted,
            "output": str(output),
        },
        f"{describe(fitted, errors)}\n{n_predicted} of {len(filled)} values predicted; {output} "
        f"written, {seconds:.1f} s\n",
    )


def _choose_cells(table: Table, cells: str, path: Path) -> str:
    """Return "missing" or "all"; auto is "missing" if some row has no value, else "all"."""
    n_missing = len(table.missing())
    if cells == "missing" and not n_missing:
        raise FileFormatError(
            f"{path}: every row has a value, so there is nothing to fill; use --cells all for "
            "every combination of labels"
        )
    return cells if cells != "auto" else "missing" if n_missing else "all"
