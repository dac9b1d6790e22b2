"""The sections of the report, each a function from a fit and its figures to HTML."""

from __future__ import annotations

import importlib.metadata
import platform

import numpy as np

from intensor._verify import Verification
from intensor.fitting.record import Fit, Validation
from intensor.report.boxes import boxes_table, effects_table
from intensor.report.charts import convergence_chart, path_chart, residual_chart, scatter_chart
from intensor.report.numbers import count, number, percent, seconds, signed
from intensor.report.opening import gap, relative_gap
from intensor.report.series import convergence_series, scale_name
from intensor.report.summary import Summary
from intensor.report.tables import label_html, table
from intensor.report.text import escape

__all__ = [
    "boxes_section",
    "certificate_section",
    "convergence_section",
    "quality_section",
    "radius_section",
    "settings_section",
]

WORST = 10
TIMES = " \N{MULTIPLICATION SIGN} "
MARKS: dict[bool | None, tuple[str, str]] = {
    True: ("pass", "✓ pass"),
    False: ("fail", "✗ fail"),
    None: ("open", "? open"),
}
MEANING = (
    "The bound is a proof about the observed cells: no model of this form and radius, however "
    "found, has a mean squared error below it, so the gap is the most that a perfect solver "
    "could still gain. It says nothing about cells that were not observed; how well those are "
    "predicted is measured only by holding cells out. A large gap does not mean a bad model: it "
    "means that nobody has yet proven how much better one could be."
)


def certificate_section(fit: Fit, summary: Summary, verification: Verification | None) -> str:
    """Return what was proven, what was checked again, and what it means."""
    of_square = gap(fit) / summary.mean_square if summary.mean_square > 0.0 else 0.0
    parts = [
        "<h2>Certificate</h2>",
        f"<p>The bound comes from: {escape(fit.result.bound_source)}. The gap is "
        f"{percent(relative_gap(fit))} of the objective and {percent(of_square)} of the mean "
        f"square of the fitted values, {number(summary.mean_square)}.</p>",
    ]
    if verification is None:
        parts.append('<p class="muted">The certificate was not recomputed for this page.</p>')
    else:
        word = "everything passed" if verification.ok else "not everything passed"
        if verification.ok and not verification.complete:
            word = "nothing failed, and what could not be checked is marked open"
        items = "".join(
            f'<li><span class="mark {MARKS[check.passed][0]}">{MARKS[check.passed][1]}</span>'
            f"<span><b>{escape(check.name)}</b>: {escape(check.message, most=400)}</span></li>"
            for check in verification.checks
        )
        parts.append(
            f"<p>Recomputed from the observations, by other means than the solver's: {word}.</p>"
            f'<ul class="checks">{items}</ul>'
        )
    parts.append(f"<h3>What it means, and what not</h3><p>{MEANING}</p>")
    return "".join(parts)


def convergence_section(fit: Fit) -> str:
    """Return how objective and bound came together."""
    series = convergence_series(fit.result)
    if not len(series):
        return (
            "<h2>Convergence</h2><p>No progress was recorded with this fit, so there is nothing "
            "to draw.</p>"
        )
    below = series.log and bool((series.bound <= 0.0).any())
    note = " A bound of 0 lies below the logarithmic axis." if below else ""
    if fit.n_solutions > 1:
        note += f" The first of {count(fit.n_solutions)} solutions that were averaged."
    return (
        f'<h2>Convergence</h2><div class="figures"><figure>{convergence_chart(series)}'
        f'<figcaption><span class="key objective"></span>objective, '
        f'<span class="key bound"></span>proven bound; the shaded gap between them is what is '
        f"left to prove or to gain.{note}</figcaption></figure></div>"
    )


def radius_section(fit: Fit) -> str:
    """Return how radius and scale were chosen."""
    validation = fit.validation
    if validation is None:
        return (
            "<h2>Radius</h2><p>The radius was given, not chosen by validation: "
            f"{number(fit.radius)}.</p>"
        )
    folds = "once" if validation.folds == 1 else f"in {count(validation.folds)} folds"
    held = count(round(validation.held_out))
    others = '<span class="key other"></span>others, ' if len(validation.paths) > 1 else ""
    return (
        f"<h2>How the radius was chosen</h2><p>{held} observations were held out {folds}; the "
        f"least error ({label_html(validation.metric)}, in the units of the data) was "
        f"{number(validation.path.error)} at radius {number(validation.path.radius)}."
        f"{_mean_alone(validation)} All observations were then fitted with it."
        f"{_averaging(fit, validation)}</p>"
        f'<div class="figures"><figure>{path_chart(validation)}<figcaption><span class="key '
        f'objective"></span>{escape(scale_name(validation.path))}, {others}ringed: the radius '
        f"that was taken.</figcaption></figure></div>{_scales_table(validation)}"
    )


def boxes_section(fit: Fit) -> str:
    """Return the model in words."""
    return f"<h2>The model</h2>{boxes_table(fit)}{effects_table(fit)}"


def quality_section(fit: Fit, summary: Summary) -> str:
    """Return how predictions and observations compare."""
    name = fit.labels.value
    many = summary.values.size > 300
    shades = " The stronger the colour of a cell, the more observations it holds." if many else ""
    return (
        f'<h2>Observed and predicted</h2><div class="figures"><figure>'
        f"{scatter_chart(summary.values, summary.predicted, name=name)}<figcaption>On the dashed "
        f"line the prediction is right.{shades}</figcaption></figure><figure>"
        f"{residual_chart(summary.residuals, name=name)}<figcaption>Errors on the observations; "
        f"the outermost bars take in all that lies beyond.</figcaption></figure></div>"
        f"{_worst_table(fit, summary)}"
    )


def settings_section(fit: Fit) -> str:
    """Return what the page was made from."""
    result, predictor = fit.result, fit.predictor
    rows = [
        ("shape", TIMES.join(map(count, fit.shape))),
        ("transform", escape(predictor.transform.name)),
        ("baseline", "none" if predictor.baseline is None else "additive"),
        ("remainder", "none" if predictor.remainder is None else "kriging"),
        ("boxes may be negative", "yes" if fit.model.signed else "no"),
        ("solutions averaged", count(fit.n_solutions)),
        ("solver version", escape(result.version)),
        ("bound proven by", escape(result.bound_source)),
        ("tolerance", number(result.tolerance)),
        ("iterations", count(result.counters.iterations)),
        ("alternating minimisations", count(result.counters.altmin_runs)),
        ("exact oracle calls", count(result.counters.exact_calls)),
        ("solve time", seconds(result.seconds.solve)),
        ("intensor", escape(_version("intensor"))),
        ("NumPy", escape(np.__version__)),
        ("Python", escape(platform.python_version())),
    ]
    body = "".join(f'<tr><th scope="row">{name}</th><td>{value}</td></tr>' for name, value in rows)
    return (
        f'<h2>Settings and versions</h2><div class="scroll" tabindex="0" role="region" '
        f'aria-label="Settings"><table><tbody>{body}</tbody></table></div>'
    )


def _mean_alone(validation: Validation) -> str:
    """Compare with the plain mean of all other observations."""
    if validation.error_of_mean is None:
        return ""
    found = (
        f" The mean of all other observations has an error of {number(validation.error_of_mean)}"
    )
    beaten = validation.path.error < validation.error_of_mean
    return f"{found}." if beaten else f"{found}, so the fit predicts no better than the mean."


def _averaging(fit: Fit, validation: Validation) -> str:
    single, averaged = validation.single, validation.averaged
    if single is None or averaged is None:
        return ""
    gained = 1.0 - averaged / single if single > 0.0 else 0.0
    change = f"{percent(abs(gained))} {'less' if gained >= 0.0 else 'more'}"
    return (
        f" Averaging {count(fit.n_solutions)} solutions changed the held-out error from "
        f"{number(single)} to {number(averaged)}, {change}."
    )


def _scales_table(validation: Validation) -> str:
    rows = [
        (
            escape(scale_name(path)),
            number(path.error),
            number(path.radius),
            number(float(path.boxes[path.best])),
            count(len(path)),
            "✓ taken" if place == validation.chosen else "no",
        )
        for place, path in enumerate(validation.paths)
    ]
    heads = ("scale", "held-out error", "radius", "boxes", "radii tried", "taken")
    return table("Scales that were tried", heads, rows, marked=validation.chosen)


def _worst_table(fit: Fit, summary: Summary) -> str:
    labels = fit.labels
    rows = []
    for row in summary.worst(WORST).tolist():
        observed, fitted = float(summary.values[row]), float(summary.predicted[row])
        cell = summary.coords[row].tolist()
        names = (known[place] for known, place in zip(labels.indices, cell, strict=True))
        error = signed(fitted - observed)
        rows.append((error, number(observed), number(fitted), *map(label_html, names)))
    heads = ("error", "observed", "predicted", *labels.modes)
    return "<h3>Worst fitted observations</h3>" + table("Worst fitted observations", heads, rows)


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
