"""``intensor fit``: from a file of observations to a model file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from intensor.cli.console import INTERRUPTED, OK, say, write, write_json
from intensor.cli.groups import Columns, Common, FitWords
from intensor.cli.io import check_checkpoint, check_output

__all__ = ["fit"]


def fit(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Observations: .csv, .parquet, .tns, .npz, .mat.")
    ],
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write (.npz).")],
    mode: Annotated[
        list[str] | None,
        typer.Option(help="Column of labels, once per mode.", show_default="all other columns"),
    ] = None,
    columns: Columns,
    words: FitWords,
    common: Common,
) -> int:
    """Fit a model to observations and save it.

    Ctrl-C ends the fit and saves the best model so far; a second one leaves at once.
    """
    start = time.perf_counter()
    check_output(output, suffixes=[".npz"], inputs=[data])
    options = words.options()
    check_checkpoint(options.checkpoint, others=[data, output])

    from intensor.cli.fitting import ended_early, fit_table, read_data  # noqa: PLC0415
    from intensor.cli.info import describe  # noqa: PLC0415
    from intensor.fitting.model_file import save  # noqa: PLC0415
    from intensor.report.summary import errors_of, summarise  # noqa: PLC0415

    table = read_data(data, columns, mode)
    read = time.perf_counter()
    fitted = fit_table(table, options, quiet=common.quiet)
    done = time.perf_counter()
    save(fitted, output)
    interrupted = ended_early(fitted)
    errors = errors_of(fitted, *table.observed())
    seconds = {
        "read": read - start,
        "fit": done - read,
        "total": time.perf_counter() - start,
    }
    if common.json:
        write_json(
            {
                "command": "fit",
                **summarise(fitted).as_dict(),
                **errors,
                "seconds": seconds,
                "interrupted": interrupted,
                "output": str(output),
            }
        )
    elif not common.quiet:
        write(describe(fitted, errors))
        write(f"\n{output} written, {seconds['total']:.1f} s\n")
    if interrupted:
        say("warning", f"interrupted; the best model so far was saved to {output}")
        return INTERRUPTED
    return OK
