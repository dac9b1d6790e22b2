"""``intensor verify``: recomputes the claims of a model from the data it was fitted to."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from intensor.cli.console import CHECK_FAILED, OK, number
from intensor.cli.io import read_observed
from intensor.cli.options import Columns, Common, FittedData, ModelFile

if TYPE_CHECKING:
    from intensor._verify import Verification
    from intensor.fitting.record import Fit


def verify(
    model: ModelFile,
    data: FittedData,
    *,
    effort: Annotated[
        float, typer.Option(help="Additions that the check of the bound may take.")
    ] = 5e9,
    columns: Columns,
    common: Common,
) -> int:
    """Check a model from scratch: feasibility, objective, bound and status.

    The exit code is 0 when nothing fails and 1 when something does; what would take too long
    to check is called open.
    """
    start = time.perf_counter()
    from intensor.fitting.model_file import load  # noqa: PLC0415

    fit = load(model)
    table = read_observed(fit, data, columns)
    found = fit.verify(table, effort=effort)
    verdict = "the certificate holds" if found.ok else "the certificate FAILS"
    if found.ok and not found.complete:
        verdict = "nothing fails, but not everything could be checked"
    common.show(
        "verify",
        {
            "ok": found.ok,
            "complete": found.complete,
            "objective": found.objective,
            "bound": found.bound,
            "gap": found.gap,
            "checks": list(map(asdict, found.checks)),
            "n": len(table) - len(table.missing()),
            "seconds": {"total": time.perf_counter() - start},
        },
        f"{found}\n\n{verdict}: objective {number(found.objective)}, bound {number(found.bound)}, "
        f"{_describe_gap(fit, found)}\n",
    )
    return OK if found.ok else CHECK_FAILED


def _describe_gap(fit: Fit, found: Verification) -> str:
    """Return the recomputed gap, or that the bound of the fit says nothing."""
    from intensor.solver.result import (  # noqa: PLC0415
        NO_USEFUL_BOUND,
        NO_USEFUL_BOUND_MEANING,
        has_useful_bound,
    )

    if has_useful_bound(fit.result):
        return f"gap {number(found.gap)}"
    return f"{NO_USEFUL_BOUND}: {NO_USEFUL_BOUND_MEANING}"
