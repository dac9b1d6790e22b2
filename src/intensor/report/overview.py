"""The top of the report: the headline, the status and the key figures."""

from __future__ import annotations

from collections.abc import Mapping

from intensor._verify import Verification
from intensor.fitting.record import Fit
from intensor.plots.text import count, number, percent, seconds
from intensor.report.markup import cards, escape, label_html
from intensor.report.summary import Comparison, FitSummary, fitted_name
from intensor.solver.result import Status

TIMES = " \N{MULTIPLICATION SIGN} "


def headline(fit: Fit, summary: FitSummary, comparison: Comparison) -> str:
    """Return one paragraph: what was fitted, how good it is, and what is proven."""
    modes = TIMES.join(map(label_html, summary.modes))
    lengths = TIMES.join(map(count, summary.shape))
    n = comparison.values.size
    boxes = "1 box" if summary.boxes == 1 else f"{count(summary.boxes)} boxes"
    if fit.predictor.baseline is not None:
        boxes = f"A baseline and {boxes}"
    before = ""
    if fit.predictor.remainder is not None:
        boxes = f"{boxes} and a kriged remainder"
        before = " before kriging"
    return (
        f'<p class="lead">{boxes} {"describes" if boxes == "1 box" else "describe"} '
        f"{count(n)} observation{'' if n == 1 else 's'} of <b>{label_html(summary.value)}"
        f"</b>, which cover {count(comparison.n_observed)} of the {count(summary.cells)} cells of "
        f"{modes} ({lengths}), and predict all others. "
        f"Mean squared error{before} {number(summary.objective)}{_scale_note(fit)}; no model of "
        f"this radius can be below {number(summary.bound)}; gap {number(summary.proven_gap)} "
        f"({percent(summary.proven_share)}).</p>"
    )


def status_notice(
    fit: Fit, summary: FitSummary, comparison: Comparison, verification: Verification | None
) -> str:
    """Return the status in a sentence, and a warning if the data or the certificate is wrong."""
    kind = "pass" if fit.status is Status.OPTIMAL else "open"
    parts = [
        f'<p class="notice {kind}"><b>{summary.status}.</b> '
        f"{escape(summary.message, most=300)} Gap {number(summary.proven_gap)}, tolerance "
        f"{number(summary.tolerance)}.</p>"
    ]
    if verification is not None and not verification.ok:
        failed = ", ".join(check.name for check in verification.checks if check.passed is False)
        parts.append(
            f'<p class="notice fail"><b>The certificate did not hold.</b> These checks failed: '
            f"{escape(failed, most=200)}.</p>"
        )
    if not comparison.agrees_with(summary.objective):
        parts.append(
            f'<p class="notice open"><b>Other data than the fit\'s.</b> On the observations of '
            f"this page the mean squared error is {number(comparison.objective)}"
            f"{_scale_note(fit)}; objective, bound and gap are those of the {count(summary.n)} "
            f"observations that the model was fitted to.</p>"
        )
    return "".join(parts)


def key_figures(
    fit: Fit, summary: FitSummary, comparison: Comparison, held_out: Mapping[str, float] | None
) -> str:
    """Return the key figures as cards."""
    weighted = ", weighted" if comparison.weighted else ""
    unit = f"in units of {label_html(summary.value)}{weighted}"
    fitted = label_html(fitted_name(fit))
    share = comparison.n_observed / summary.cells
    rows = [
        ("RMSE", number(comparison.rmse), unit),
        ("MAE", number(comparison.mae), unit),
        *((escape(name), number(value), "") for name, value in (held_out or {}).items()),
        ("Objective", number(summary.objective), f"mean squared error of {fitted}"),
        ("Bound", number(summary.bound), "proven"),
        ("Gap", number(summary.proven_gap), "objective minus bound"),
        ("Relative gap", percent(summary.proven_share), "of the objective"),
        ("Boxes", count(summary.boxes), ""),
        ("Radius", number(summary.radius), "bounds the sum of the weights"),
        ("Observations", count(comparison.values.size), ""),
        ("Cells observed", percent(share), f"{count(comparison.n_observed)} cells"),
        ("Solve time", seconds(fit.result.seconds.solve), "of the final fit"),
    ]
    if comparison.explained is not None:
        explained = percent(max(comparison.explained, 0.0))
        rows.insert(2, ("Variance explained", explained, "in sample"))
    return cards(rows)


def _scale_note(fit: Fit) -> str:
    name = fitted_name(fit)
    return "" if name == fit.labels.value else f" (of {label_html(name)})"
