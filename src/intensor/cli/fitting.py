"""From a file of observations to a fit, with progress shown: what fit and complete share."""

from __future__ import annotations

import contextlib
import shlex
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from intensor.cli.console import say
from intensor.cli.progress import shown_progress

if TYPE_CHECKING:
    from intensor.cli.groups import Columns
    from intensor.data.table import Table
    from intensor.fitting.options import Options
    from intensor.fitting.record import Fit

__all__ = ["ended_early", "fit_table", "read_data"]


def read_data(path: Path, columns: Columns, modes: list[str] | None) -> Table:
    """Read the observations, by the words of the command line."""
    import numpy as np  # noqa: PLC0415

    from intensor.data.doubts import warn_of_doubts  # noqa: PLC0415
    from intensor.data.readers import read_table  # noqa: PLC0415
    from intensor.data.readers.kinds import TABLES, find_kind  # noqa: PLC0415

    table = read_table(
        path,
        value=columns.value,
        modes=modes or None,
        weight=columns.weight,
        kind=columns.kind,
        one_based=columns.one_based,
    )
    if not modes and find_kind(path, columns.kind) in TABLES:
        rows = ~np.isnan(table.values)
        observed = table.codes if rows.all() else [codes[rows] for codes in table.codes]
        warn_of_doubts(observed, table.labels, _mode_words, stacklevel=2)
    return table


def _mode_words(kept: list[str]) -> str:
    return " ".join(f"--mode {shlex.quote(name)}" for name in kept)


def fit_table(table: Table, options: Options, *, quiet: bool) -> Fit:
    """Fit the rows that have a value."""
    from intensor.fitting.entry import fit  # noqa: PLC0415
    from intensor.solver.result import Status  # noqa: PLC0415

    coords, values, weights = table.observed()
    with shown_progress(quiet=quiet) as watch, _terminated_politely():
        found = fit(
            coords,
            values,
            options,
            shape=table.shape,
            sample_weight=weights,
            labels=table.labels,
            watch=watch,
        )
    if not len(found.model) and found.status in (Status.INTERRUPTED, Status.STOPPED):
        say(
            "warning",
            f"the fit ended ({found.status}) before its model had a single box, so it predicts "
            "nothing but the baseline, if there is one; give it more time",
        )
    return found


def ended_early(fit: Fit) -> bool:
    """Say whether someone interrupted the fit."""
    from intensor.solver.result import Status  # noqa: PLC0415

    return fit.status is Status.INTERRUPTED


@contextlib.contextmanager
def _terminated_politely() -> Iterator[None]:
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
