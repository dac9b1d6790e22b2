"""The page: headline, status, key figures and all sections, in one file that needs nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from intensor._verify import Verification
from intensor.fitting.record import Fit
from intensor.fitting.verdict import is_no_better, judge, metric_name
from intensor.plots.text import count, number, percent, seconds
from intensor.report.boxes import boxes_table, effects_table
from intensor.report.component_list import components_section
from intensor.report.markup import TIMES, cards, escape, label_html
from intensor.report.sections import (
    certificate_section,
    convergence_section,
    quality_section,
    radius_section,
    settings_section,
)
from intensor.report.summary import Comparison, compare, fitted_name, proven_gap
from intensor.solver.result import (
    NO_USEFUL_BOUND,
    NO_USEFUL_BOUND_MEANING,
    Status,
    has_useful_bound,
)

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
    if title is None:
        title = f"{fit.labels.value} by {', '.join(fit.labels.modes)}"
    style = (files("intensor.report") / "style.css").read_text(encoding="utf-8")
    heading = escape(title, most=MAX_TITLE_LENGTH)
    sections = (
        certificate_section(fit, comparison, verification),
        convergence_section(fit),
        radius_section(fit),
        _model_section(fit),
        quality_section(fit, comparison),
        settings_section(fit),
    )
    body = "\n".join(f"<section>{section}</section>" for section in sections)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{SECURITY_POLICY}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="light dark">\n'
        f'<link rel="icon" href="data:,">\n<title>{heading}</title>\n'
        f"<style>{style}</style>\n</head>\n<body>\n<main>\n<header><h1>{heading}</h1>"
        f"{headline(fit, comparison)}</header>\n"
        f"{status_notice(fit, comparison, verification)}\n"
        f"{key_figures(fit, comparison, held_out)}\n{body}\n"
        f"<footer>Made by intensor. This page holds all it shows and fetches nothing.</footer>\n"
        f"</main>\n</body>\n</html>\n"
    )


def _model_section(fit: Fit) -> str:
    """Return the terms of the model and the effects of its baseline."""
    if len(fit.model.components):
        return f"{components_section(fit)}{effects_table(fit)}"
    return f"<h2>The model</h2>{boxes_table(fit)}{effects_table(fit)}"


def headline(fit: Fit, comparison: Comparison) -> str:
    """Return one paragraph: what was fitted, how good it is, and what is proven."""
    modes = TIMES.join(map(label_html, fit.labels.modes))
    lengths = TIMES.join(map(count, fit.shape))
    n = comparison.values.size
    boxes = _terms(fit)
    if fit.predictor.baseline is not None:
        boxes = f"A baseline and {boxes}"
    before = ""
    if fit.predictor.remainder is not None:
        method = escape(fit.predictor.remainder.method)
        boxes = f"{boxes} and a remainder ({method})"
        before = f" before {method}"
    single = ("1 box", "1 component")
    return (
        f'<p class="lead">{boxes} {"describes" if boxes in single else "describe"} '
        f"{count(n)} observation{'' if n == 1 else 's'} of <b>{label_html(fit.labels.value)}"
        f"</b>, which cover {count(comparison.n_observed)} of the {count(math.prod(fit.shape))} "
        f"cells of {modes} ({lengths}), and predict all others. Mean squared error{before} "
        f"{number(fit.objective)}{_scale_note(fit)}; {_proven(fit)}.{_blended(fit)}</p>"
    )


def _blended(fit: Fit) -> str:
    """Return the share of this model in a blend, in words."""
    if not fit.partners:
        return ""
    blend = f" Predictions are a blend of {count(len(fit.members))} members, in which this model "
    if fit.share > 0.0:
        return f"{blend}has a share of {percent(fit.share)}."
    return f"{blend}has no share: it is kept to be read."


def _proven(fit: Fit) -> str:
    """Return what is proven of the objective, in words."""
    if not has_useful_bound(fit.result):
        return NO_USEFUL_BOUND
    gap, share = proven_gap(fit)
    return (
        f"no model of this radius can be below {number(fit.bound)}; gap {number(gap)} "
        f"({percent(share)})"
    )


def _terms(fit: Fit) -> str:
    """Return how many boxes and components there are; a model without any has no boxes."""
    n_boxes, n_components = len(fit.model.vertices), len(fit.model.components)
    boxes = "1 box" if n_boxes == 1 else f"{count(n_boxes)} boxes"
    components = "1 component" if n_components == 1 else f"{count(n_components)} components"
    if not n_components:
        return boxes
    return f"{boxes} and {components}" if n_boxes else components


def status_notice(fit: Fit, comparison: Comparison, verification: Verification | None) -> str:
    """Return the status in a sentence, and a warning if the data or the certificate is wrong."""
    kind = "pass" if fit.status is Status.OPTIMAL else "open"
    gap = f"Gap {number(proven_gap(fit)[0])}"
    if not has_useful_bound(fit.result):
        gap = f"There is {NO_USEFUL_BOUND}: {NO_USEFUL_BOUND_MEANING}. {gap}"
    parts = [
        f'<p class="notice {kind}"><b>{fit.status.name}.</b> '
        f"{escape(fit.status.sentence, most=300)} {gap}, tolerance "
        f"{number(fit.result.tolerance)}.</p>"
    ]
    if fit.validation is not None and is_no_better(fit.validation):
        parts.append(
            f'<p class="notice open"><b>No better than a simple predictor.</b> '
            f"{escape(judge(fit.validation), most=400)}</p>"
        )
    if verification is not None and not verification.ok:
        failed = ", ".join(check.name for check in verification.checks if check.passed is False)
        parts.append(
            f'<p class="notice fail"><b>The certificate did not hold.</b> These checks failed: '
            f"{escape(failed, most=200)}.</p>"
        )
    if not comparison.agrees_with(fit.objective):
        parts.append(
            f'<p class="notice open"><b>Other data than the fit\'s.</b> On the observations of '
            f"this page the mean squared error is {number(comparison.objective)}"
            f"{_scale_note(fit)}; objective, bound and gap are those of the {count(fit.n)} "
            f"observations that the model was fitted to.</p>"
        )
    return "".join(parts)


def key_figures(fit: Fit, comparison: Comparison, held_out: Mapping[str, float] | None) -> str:
    """Return the key figures as cards."""
    weighted = ", weighted" if comparison.weighted else ""
    unit = f"in units of {label_html(fit.labels.value)}{weighted}"
    fitted = label_html(fitted_name(fit))
    observed = comparison.n_observed / math.prod(fit.shape)
    useful = has_useful_bound(fit.result)
    gap, share = proven_gap(fit)
    rows = [
        ("RMSE", number(comparison.rmse), unit),
        ("MAE", number(comparison.mae), unit),
        *_expected_error(fit),
        *((escape(name), number(value), "") for name, value in (held_out or {}).items()),
        ("Objective", number(fit.objective), f"mean squared error of {fitted}"),
        ("Bound", number(fit.bound), "proven" if useful else NO_USEFUL_BOUND),
        ("Gap", number(gap), "objective minus bound"),
        *([("Relative gap", percent(share), "of the objective")] if useful else []),
        ("Components" if len(fit.model.components) else "Boxes", count(len(fit.model)), ""),
        ("Radius", number(fit.radius), "bounds the sum of the weights"),
        ("Observations", count(comparison.values.size), ""),
        ("Cells observed", percent(observed), f"{count(comparison.n_observed)} cells"),
        ("Solve time", seconds(fit.result.seconds.solve), "of the final fit"),
    ]
    if comparison.explained is not None:
        explained = percent(max(comparison.explained, 0.0))
        rows.insert(2, ("Variance explained", explained, "in sample"))
    return cards(rows)


def _expected_error(fit: Fit) -> list[tuple[str, str, str]]:
    """Return a card with the error that is expected of missing cells, and its spread."""
    validation = fit.validation
    if validation is None:
        return []
    spread = validation.spread
    beside = "in validation" if spread is None else f"± {number(spread, digits=2)}, in validation"
    name = f"Held-out {label_html(metric_name(validation))}"
    return [(name, number(validation.expected_error), beside)]


def _scale_note(fit: Fit) -> str:
    name = fitted_name(fit)
    return "" if name == fit.labels.value else f" (of {label_html(name)})"
