"""The page: all sections in order, in one file that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from intensor._verify import Verification
from intensor.fitting.record import Fit
from intensor.report.markup import escape
from intensor.report.overview import headline, key_figures, status_notice
from intensor.report.sections import (
    boxes_section,
    certificate_section,
    convergence_section,
    quality_section,
    radius_section,
    settings_section,
)
from intensor.report.summary import compare, summarise

SECURITY_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)
"""Policy that forbids the page to fetch, run or send anything, whatever a label holds."""
MAX_TITLE_LENGTH = 120
"""Longest title of a page, in characters."""


def render(
    fit: Fit,
    coords: Any,
    values: Any = None,
    *,
    sample_weight: Any = None,
    verification: Verification | None = None,
    held_out: Mapping[str, float] | None = None,
    title: str | None = None,
) -> str:
    """Return a self-contained HTML page about a fit.

    Parameters
    ----------
    fit
        The fit.
    coords, values, sample_weight
        Observations to compare it with, usually those it was fitted to: a table with labels,
        or arrays with positions, as in ``Fit.verify``.
    verification
        What ``fit.verify`` returned, to be listed.
    held_out
        Further key figures, by name: errors on cells that the fit has not seen.
    title
        Title of the page; by default it names the values and the modes.

    Returns
    -------
    str
        HTML without scripts, links or anything to fetch. All labels are escaped.
    """
    comparison = compare(fit, coords, values, sample_weight=sample_weight)
    summary = summarise(fit)
    if title is None:
        title = f"{fit.labels.value} by {', '.join(fit.labels.modes)}"
    style = (files("intensor.report") / "style.css").read_text(encoding="utf-8")
    heading = escape(title, most=MAX_TITLE_LENGTH)
    sections = (
        certificate_section(summary, comparison, verification),
        convergence_section(fit),
        radius_section(fit),
        boxes_section(fit),
        quality_section(fit, comparison),
        settings_section(fit, summary),
    )
    body = "\n".join(f"<section>{section}</section>" for section in sections)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{SECURITY_POLICY}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="light dark">\n'
        f'<link rel="icon" href="data:,">\n<title>{heading}</title>\n'
        f"<style>{style}</style>\n</head>\n<body>\n<main>\n<header><h1>{heading}</h1>"
        f"{headline(fit, summary, comparison)}</header>\n"
        f"{status_notice(fit, summary, comparison, verification)}\n"
        f"{key_figures(fit, summary, comparison, held_out)}\n{body}\n"
        f"<footer>Made by intensor. This page holds all it shows and fetches nothing.</footer>\n"
        f"</main>\n</body>\n</html>\n"
    )
