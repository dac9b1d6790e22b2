"""The top of the report: the headline, the status and the key figures."""

from __future__ import annotations

from collections.abc import Mapping

from intensor._verify import Verification
from intensor.fitting.record import Fit
from intensor.report.numbers import count, number, percent, seconds
from intensor.report.series import scale_words
from intensor.report.summary import Summary
from intensor.report.tables import label_html
from intensor.report.text import escape
from intensor.solver.result import Status

__all__ = ["cards", "gap", "headline", "relative_gap", "status_notice"]

TIMES = " \N{MULTIPLICATION SIGN} "


def headline(fit: Fit, summary: Summary) -> str:
    """Return what was fitted and how good it is, in plain words."""
    labels = fit.labels
    modes = TIMES.join(map(label_html, labels.modes))
    lengths = TIMES.join(map(count, fit.shape))
    plural = "" if summary.values.size == 1 else "s"
    boxes = "1 box" if len(fit.model) == 1 else f"{count(len(fit.model))} boxes"
    if fit.predictor.baseline is not None:
        boxes = f"A baseline and {boxes}"
    if fit.predictor.remainder is not None:
        boxes = f"{boxes} and a kriged remainder"
    describe = "describes" if boxes == "1 box" else "describe"
    return (
        f'<p class="lead">{boxes} {describe} '
        f"{count(summary.values.size)} observation{plural} of <b>{label_html(labels.value)}"
        f"</b>, which cover {count(summary.observed)} of the {count(summary.n_cells)} cells of "
        f"{modes} ({lengths}), and predict all others. "
        f"Mean squared error{_alone(fit)} {number(fit.objective)}{_scale_note(fit)}; no model of "
        f"this radius can be below {number(fit.bound)}; gap {number(gap(fit))} "
        f"({percent(relative_gap(fit))}).</p>"
    )


def status_notice(fit: Fit, summary: Summary, verification: Verification | None) -> str:
    """Return the status with its sentence, and what does not fit together, if anything."""
    kind = "pass" if fit.status is Status.OPTIMAL else "open"
    parts = [
        f'<p class="notice {kind}"><b>{fit.status.name}.</b> '
        f"{escape(fit.status.sentence, most=300)} Gap {number(gap(fit))}, tolerance "
        f"{number(fit.result.tolerance)}.</p>"
    ]
    if verification is not None and not verification.ok:
        failed = ", ".join(check.name for check in verification.checks if check.passed is False)
        parts.append(
            f'<p class="notice fail"><b>The certificate did not hold.</b> These checks failed: '
            f"{escape(failed, most=200)}.</p>"
        )
    if not summary.agrees_with(fit.objective):
        parts.append(
            f'<p class="notice open"><b>Other data than the fit\'s.</b> On the observations of '
            f"this page the mean squared error is {number(summary.objective)}{_scale_note(fit)}; "
            f"objective, bound and gap are those of the {count(fit.n)} observations that the "
            f"model was fitted to.</p>"
        )
    return "".join(parts)


def cards(fit: Fit, summary: Summary, held_out: Mapping[str, float] | None) -> str:
    """Return the key figures."""
    unit = f"in units of {label_html(fit.labels.value)}"
    weighted = ", weighted" if summary.weighted else ""
    fitted = label_html(scale_words(fit))
    rows = [
        ("RMSE", number(summary.rmse), unit + weighted),
        ("MAE", number(summary.mae), unit + weighted),
        *((escape(name), number(value), "") for name, value in (held_out or {}).items()),
        ("Objective", number(fit.objective), f"mean squared error of {fitted}"),
        ("Bound", number(fit.bound), "proven"),
        ("Gap", number(gap(fit)), "objective minus bound"),
        ("Relative gap", percent(relative_gap(fit)), "of the objective"),
        ("Boxes", count(len(fit.model)), ""),
        ("Radius", number(fit.radius), "bounds the sum of the weights"),
        ("Observations", count(summary.values.size), ""),
        ("Cells observed", percent(summary.share), f"{count(summary.observed)} cells"),
        ("Solve time", seconds(fit.result.seconds.solve), "of the final fit"),
    ]
    if summary.explained is not None:
        rows.insert(2, ("Variance explained", percent(max(summary.explained, 0.0)), "in sample"))
    return '<dl class="cards">' + "".join(map(_card, rows)) + "</dl>"


def _card(row: tuple[str, str, str]) -> str:
    name, figure, note = row
    small = f"<small>{note}</small>" if note else ""
    return f"<div><dt>{name}</dt><dd>{figure}{small}</dd></div>"


def _alone(fit: Fit) -> str:
    """Say that the certificate is that of the boxes, when they are not all there is."""
    return "" if fit.predictor.remainder is None else " before kriging"


def _scale_note(fit: Fit) -> str:
    plain = fit.predictor.transform.name == "none" and fit.predictor.baseline is None
    return "" if plain else f" (of {label_html(scale_words(fit))})"


def gap(fit: Fit) -> float:
    """Return the gap; rounding may leave a negative one, which means none."""
    return max(fit.gap, 0.0)


def relative_gap(fit: Fit) -> float:
    """Return the gap as a share of the objective."""
    return gap(fit) / fit.objective if fit.objective > 0.0 else 0.0
