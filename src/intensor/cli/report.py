"""``intensor report``: a model and its data as one page."""

from __future__ import annotations

from typing import Annotated

import typer

from intensor.cli.console import OK
from intensor.cli.io import PAGE_SUFFIXES, check_output, read_observed, write_page
from intensor.cli.options import Columns, Common, FittedData, ModelFile, PageOutput


def report(
    model: ModelFile,
    data: FittedData,
    *,
    output: PageOutput,
    title: Annotated[
        str | None, typer.Option(help="Title of the page.", show_default="what was fitted")
    ] = None,
    columns: Columns,
    common: Common,
) -> int:
    """Write a self-contained page: certificate, convergence, radius, boxes and residuals."""
    check_output(output, suffixes=PAGE_SUFFIXES, inputs=[model, data])

    from intensor.fitting.model_file import load  # noqa: PLC0415
    from intensor.report import render  # noqa: PLC0415

    fit = load(model)
    table = read_observed(fit, data, columns)
    found = fit.verify(table)
    page = render(fit, table, verification=found, title=title)
    write_page(output, page)
    verdict = "nothing fails" if found.ok else "the certificate FAILS"
    common.show(
        "report",
        {"ok": found.ok, "bytes": len(page), "output": str(output)},
        f"{output} written ({verdict} on this data)\n",
    )
    return OK
