"""``intensor verify``: recomputes the claims of a model from the data it was fitted to."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Annotated

import typer

from intensor.cli.console import CHECK_FAILED, OK, number
from intensor.cli.io import read_observed
from intensor.cli.options import Columns, Common, FittedData, ModelFile


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
        f"gap {number(found.gap)}\n",
    )
    return OK if found.ok else CHECK_FAILED
