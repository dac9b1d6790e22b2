"""The page itself: sections in order, in one file that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from intensor._verify import Verification
from intensor.fitting.record import Fit
from intensor.report.opening import cards, headline, status_notice
from intensor.report.sections import (
    boxes_section,
    certificate_section,
    convergence_section,
    quality_section,
    radius_section,
    settings_section,
)
from intensor.report.style import STYLE
from intensor.report.summary import summarise
from intensor.report.text import escape

__all__ = ["render"]

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)
"""Nothing may be fetched, run or sent, whatever a label says."""
LONGEST_TITLE = 120


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
        Observations to hold it against, usually those it was fitted to: a table with labels,
        or arrays with positions, as in ``Fit.verify``.
    verification
        What ``fit.verify`` found, to be listed.
    held_out
        Further figures for the summary, by name: errors on cells that the fit has not seen.
    title
        Of the page; by default what was fitted.

    Returns
    -------
    str
        HTML without scripts, links or anything to fetch. All labels are escaped.
    """
    summary = summarise(fit, coords, values, sample_weight=sample_weight)
    if title is None:
        title = f"{fit.labels.value} by {', '.join(fit.labels.modes)}"
    heading = escape(title, most=LONGEST_TITLE)
    sections = (
        certificate_section(fit, summary, verification),
        convergence_section(fit),
        radius_section(fit),
        boxes_section(fit),
        quality_section(fit, summary),
        settings_section(fit),
    )
    body = "\n".join(f"<section>{section}</section>" for section in sections)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="light dark">\n'
        f'<link rel="icon" href="data:,">\n<title>{heading}</title>\n'
        f"<style>{STYLE}</style>\n</head>\n<body>\n<main>\n<header><h1>{heading}</h1>"
        f"{headline(fit, summary)}</header>\n{status_notice(fit, summary, verification)}\n"
        f"{cards(fit, summary, held_out)}\n{body}\n"
        f"<footer>Made by intensor. This page holds all it shows and fetches nothing.</footer>\n"
        f"</main>\n</body>\n</html>\n"
    )
