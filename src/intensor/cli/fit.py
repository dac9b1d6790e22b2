"""``intensor fit``: from a file of observations to a model file."""

from __future__ import annotations

import contextlib
import shlex
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from intensor.cli.console import INTERRUPTED, OK, say
from intensor.cli.info import describe
from intensor.cli.io import check_checkpoint, check_output, read_observed
from intensor.cli.options import Columns, Common, FitOptions
from intensor.errors import SettingError
from intensor.options import declared
from intensor.solver.progress import show_progress

if TYPE_CHECKING:
    from intensor.data.table import Table
    from intensor.fitting.options import Options
    from intensor.fitting.record import Fit


LIKE_OPTIONS = frozenset({"time_limit", "seed", "threads", "exact"})
"""Options of a fit that may be given together with ``--like``."""


def fit(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Observations: .csv, .parquet, .tns, .npz, .mat.")
    ],
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write (.npz).")],
    like: Annotated[
        Path | None,
        typer.Option(metavar="MODEL", help="Fit as this model was fitted, and choose nothing."),
    ] = None,
    modes: Annotated[list[str] | None, declared.MODES] = None,
    columns: Columns,
    options: FitOptions,
    context: typer.Context,
    common: Common,
) -> int:
    """Fit a model to observations and save it.

    Ctrl-C ends the fit and saves the best model so far; a second one leaves at once.
    """
    start = time.perf_counter()
    check_output(output, suffixes=[".npz"], inputs=[data, *([] if like is None else [like])])
    from intensor.fitting.model_file import load, save  # noqa: PLC0415
    from intensor.fitting.options import check_options  # noqa: PLC0415
    from intensor.report.summary import errors_of, summarise  # noqa: PLC0415

    begun = time.perf_counter()
    if like is None:
        checked = check_options(**options)
        check_checkpoint(checked.checkpoint, others=[data, output])
        table = read_data(data, columns, modes)
        read = time.perf_counter()
        fitted = fit_table(table, checked, quiet=common.quiet, spent=read - begun)
    else:
        chosen = _options_like(options, modes, context)
        model = load(like)
        table = read_observed(model, data, columns)
        read = time.perf_counter()
        with sigterm_as_ctrl_c():
            fitted = model.refit(table, **chosen, verbose=not common.quiet)
    done = time.perf_counter()
    save(fitted, output)
    errors = errors_of(fitted, *table.observed())
    seconds = {"read": read - start, "fit": done - read, "total": time.perf_counter() - start}
    common.show(
        "fit",
        {
            **summarise(fitted),
            **errors,
            "seconds": seconds,
            "interrupted": was_interrupted(fitted),
            "output": str(output),
        },
        f"{describe(fitted, errors)}\n{output} written, {seconds['total']:.1f} s\n",
    )
    return exit_code(fitted, f"the best model so far was saved to {output}")


def _options_like(
    options: FitOptions, modes: list[str] | None, context: typer.Context
) -> dict[str, Any]:
    """Return the options that a fit like an earlier one takes; raise if others were given."""
    given = {}
    for name, value in options.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name != "DEFAULT":
            given[name] = value
    wrong = [*([] if not modes else ["mode"]), *(given.keys() - LIKE_OPTIONS)]
    if wrong:
        name = sorted(wrong)[0].replace("_", "-")
        allowed = ", ".join(f"--{one.replace('_', '-')}" for one in sorted(LIKE_OPTIONS))
        raise SettingError(
            f"--{name} and --like do not go together, since the model says how to fit; leave one "
            f"of them out (of the options of the fit, --like takes {allowed})"
        )
    return given


def read_data(path: Path, columns: Columns, modes: list[str] | None) -> Table:
    """Read the observations of a file; warn of columns that can hardly be modes."""
    import numpy as np  # noqa: PLC0415

    from intensor.data.doubts import warn_of_doubts  # noqa: PLC0415
    from intensor.data.readers import read_table  # noqa: PLC0415
    from intensor.data.readers.files import find_format  # noqa: PLC0415

    table = read_table(path, modes=modes or None, **columns)
    if not modes and find_format(path, columns["kind"]).has_columns:
        rows = ~np.isnan(table.values)
        observed = table.codes if rows.all() else [codes[rows] for codes in table.codes]
        warn_of_doubts(
            observed,
            table.labels,
            lambda kept: " ".join(f"--mode {shlex.quote(name)}" for name in kept),
            stacklevel=2,
        )
    return table


def fit_table(table: Table, options: Options, *, quiet: bool, spent: float = 0.0) -> Fit:
    """Fit the rows that have a value, and show the progress.

    ``spent`` are the seconds of the time limit that reading the table has used.
    """
    from intensor.fitting.fit import fit as fit_observations  # noqa: PLC0415

    coords, values, weights = table.observed()
    with show_progress(verbose=not quiet) as callback, sigterm_as_ctrl_c():
        return fit_observations(
            coords,
            values,
            options,
            shape=table.shape,
            sample_weight=weights,
            labels=table.labels,
            callback=callback,
            spent=spent,
        )


def was_interrupted(fit: Fit) -> bool:
    """Say whether someone interrupted the fit."""
    from intensor.solver.result import Status  # noqa: PLC0415

    return fit.status is Status.INTERRUPTED


def exit_code(fit: Fit, outcome: str) -> int:
    """Return the exit code of a command that fits; after an interrupt, say what came of it."""
    if not was_interrupted(fit):
        return OK
    if not len(fit.model):
        say(
            "warning",
            f"the fit ended ({fit.status}) before its model had a single box, so it predicts "
            "nothing but the baseline, if there is one; give it more time",
        )
    say("warning", f"interrupted; {outcome}")
    return INTERRUPTED


@contextlib.contextmanager
def sigterm_as_ctrl_c() -> Iterator[None]:
    """Let SIGTERM end a fit as Ctrl-C does: with its best model."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(signum: int, frame: FrameType | None) -> None:
        signal.raise_signal(signal.SIGINT)

    previous = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous if previous is not None else signal.SIG_DFL)
