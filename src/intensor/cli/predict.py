"""``intensor predict``: the values of cells, by a model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from intensor.cli.console import OK, check_stdout, write, write_json
from intensor.cli.groups import Common, Format, Unseen
from intensor.cli.io import STDOUT, TABLE_SUFFIXES, check_output
from intensor.errors import SettingError

__all__ = ["predict"]


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file, as fit wrote it.")],
    cells: Annotated[
        Path,
        typer.Argument(
            metavar="CELLS", help="Cells to predict: columns of labels, as those of the fit."
        ),
    ],
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File to write; - for CSV on stdout.")
    ] = STDOUT,
    unseen: Annotated[
        Unseen,
        typer.Option(help="A label without observations: an error, or the mean over its mode."),
    ] = Unseen.error,
    format: Annotated[
        Format | None, typer.Option(help="Of CELLS, when its suffix does not say it.")
    ] = None,
    one_based: Annotated[
        bool | None,
        typer.Option("--one-based/--zero-based", help="Whether indices of CELLS begin at 1 or 0."),
    ] = None,
    common: Common,
) -> int:
    """Predict cells with a model.

    The output has the columns of labels and a column named like the values of the fit.
    """
    start = time.perf_counter()
    if output == STDOUT and common.json:
        raise SettingError("--json needs a file for the predictions; give one with -o")
    if output == STDOUT:
        check_stdout()
    else:
        check_output(output, suffixes=TABLE_SUFFIXES, inputs=[model, cells])

    import numpy as np  # noqa: PLC0415

    from intensor.cli.matching import check_readable, known_cells  # noqa: PLC0415
    from intensor.cli.tables import check_writable, write_cells  # noqa: PLC0415
    from intensor.data.readers import read_cells  # noqa: PLC0415
    from intensor.fitting.model_file import load  # noqa: PLC0415

    fit = load(model)
    check_writable(output, fit.labels)
    kind = None if format is None else format.value
    check_readable(fit, cells, kind)
    columns = read_cells(
        cells,
        modes=fit.labels.modes,
        kind=kind,
        one_based=one_based,
        like=fit.labels,
    )
    coords, strange = known_cells(fit, columns, path=cells, unseen=unseen.value)
    predicted = fit.predict(coords, unseen=unseen.value)
    named = dict(zip(fit.labels.modes, columns, strict=True))
    write_cells(
        output,
        {**named, fit.labels.value: predicted},
        coords=np.stack(columns, axis=1) if fit.labels.plain else coords,
        values=predicted,
        shape=fit.shape,
    )
    if common.json:
        write_json(
            {
                "command": "predict",
                "n": len(predicted),
                "unseen": strange,
                "seconds": {"total": time.perf_counter() - start},
                "output": str(output),
            }
        )
    elif output != STDOUT and not common.quiet:
        odd = f", {strange} of them of labels without observations" if strange else ""
        write(f"{len(predicted)} cells predicted{odd}; {output} written\n")
    return OK
