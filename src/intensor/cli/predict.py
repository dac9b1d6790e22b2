"""``intensor predict``: predicts the values of cells with a model."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from intensor.cli.console import OK
from intensor.cli.io import (
    STDOUT,
    check_can_hold,
    check_table_output,
    read_model_cells,
    write_cells,
)
from intensor.cli.options import CellColumns, Common, ModelFile, TableOutput
from intensor.options import declared

if TYPE_CHECKING:
    from intensor._arrays import FloatArray
    from intensor.data.table import Table
    from intensor.fitting.record import Fit


def predict(
    model: ModelFile,
    cells: Annotated[
        Path,
        typer.Argument(
            metavar="CELLS", help="Cells to predict: columns of labels, as those of the fit."
        ),
    ],
    *,
    output: TableOutput = STDOUT,
    unseen: Annotated[str, declared.UNSEEN] = declared.UNSEEN.default,
    clip: Annotated[Any, declared.CLIP] = declared.CLIP.default,
    columns: CellColumns,
    common: Common,
) -> int:
    """Predict cells with a model.

    The output has the columns of labels and a column named like the values of the fit. A range
    (--clip) takes the place of the one that the model was fitted with, if there is any.
    """
    start = time.perf_counter()
    check_table_output(output, inputs=[model, cells], json=common.json)
    from intensor.fitting.model_file import load  # noqa: PLC0415

    chosen = declared.CLIP.check(clip)
    fit = load(model)
    if clip is not None:
        fit = replace(fit, clip=chosen)
    check_can_hold(output, fit.labels)
    table = read_model_cells(fit, cells, columns)
    predicted = fit.predict(table, unseen=unseen)
    n_unseen = _write(output, fit, table, predicted)
    if output == STDOUT:
        return OK
    unseen_part = f", {n_unseen} of them of labels without observations" if n_unseen else ""
    common.show(
        "predict",
        {
            "n": len(predicted),
            "unseen": n_unseen,
            "seconds": {"total": time.perf_counter() - start},
            "output": str(output),
        },
        f"{len(predicted)} cells predicted{unseen_part}; {output} written\n",
    )
    return OK


def _write(output: Path, fit: Fit, table: Table, predicted: FloatArray) -> int:
    """Write cells with their predictions; return how many have an index without observations."""
    import numpy as np  # noqa: PLC0415

    from intensor.data.lookup import look_up_cells  # noqa: PLC0415
    from intensor.model.predictor import known_cells  # noqa: PLC0415

    found = look_up_cells(table, fit.labels)
    assert found is not None  # it is a table
    known = known_cells(found.coords, fit.predictor.counts, fit.shape)
    columns = [table.mode_labels(mode) for mode in range(len(fit.shape))]
    named = dict(zip(fit.labels.modes, columns, strict=True))
    write_cells(
        output,
        {**named, fit.labels.value: predicted},
        coords=np.stack(columns, axis=1) if fit.labels.plain else known,
        values=predicted,
        shape=fit.shape,
    )
    return int((known < 0).any(axis=1).sum())
