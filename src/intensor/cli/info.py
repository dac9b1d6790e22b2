"""``intensor info``: what is in a model file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from intensor.cli.failures import OK
from intensor.cli.options import Common
from intensor.cli.output import (
    LONGEST,
    check_stdout,
    number,
    rows,
    shortened,
    write,
    write_json,
)

if TYPE_CHECKING:
    from intensor.fitting.record import Fit

__all__ = ["info"]

MOST_LABELS = 8
MOST_BOXES = 3


def info(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file, as fit wrote it.")],
    *,
    common: Common,
) -> int:
    """Show what a model file holds: data, certificate, labels and the heaviest boxes."""
    from intensor.cli.figures import describe, figures_of  # noqa: PLC0415
    from intensor.fitting.model_file import load  # noqa: PLC0415

    if not (common.json or common.quiet):
        check_stdout()
    fit = load(model)
    if common.json:
        labels = dict(zip(fit.labels.modes, map(_strings, fit.labels.indices), strict=True))
        write_json({"command": "info", **figures_of(fit), "labels": labels, "model": str(model)})
    elif not common.quiet:
        write(describe(fit))
        write("\n" + rows(_modes(fit)) + "\n" + _boxes(fit))
    return OK


def _strings(column: Any) -> list[Any]:
    kept = column.dtype.kind in "biuf"
    return [label if kept else str(label) for label in column.tolist()]


def _modes(fit: Fit) -> list[tuple[str, str]]:
    return [
        (mode, f"{column.size} labels: {_some(column)}")
        for mode, column in zip(fit.labels.modes, fit.labels.indices, strict=True)
    ]


def _some(column: Any) -> str:
    shown = map(_shown, column[:MOST_LABELS])
    return ", ".join(shown) + (", ..." if column.size > MOST_LABELS else "")


def _shown(label: Any) -> str:
    """Return a label, strings in quotes and without what a terminal would obey."""
    if not isinstance(label, str):
        return shortened(str(label))
    return repr(label if len(label) <= LONGEST else f"{label[: LONGEST - 3]}...")


def _boxes(fit: Fit) -> str:
    """Return the heaviest boxes, mode by mode, as labels."""
    weights = fit.model.weights.tolist()
    heaviest = sorted(range(len(weights)), key=lambda place: -abs(weights[place]))[:MOST_BOXES]
    text = ""
    for place in heaviest:
        text += f"box of weight {number(weights[place])}\n"
        covered = zip(
            fit.labels.modes, fit.labels.indices, fit.model.vertices.box(place), strict=True
        )
        text += rows(
            (f"  {mode}", "all" if len(indices) == column.size else _some(column[indices]))
            for mode, column, indices in covered
        )
    return text
