"""The sections of the report: functions that turn a fit and its figures into HTML."""

from __future__ import annotations

import importlib.metadata
import platform

import numpy as np

from intensor._verify import Verification
from intensor.fitting.description import describe_model
from intensor.fitting.record import Fit, Validation
from intensor.fitting.verdict import describe_coverage, describe_error, judge, list_references
from intensor.plots.curves import convergence_series, scale_name
from intensor.plots.text import count, number, percent, seconds, signed
from intensor.report.charts import (
    MAX_POINTS,
    convergence_chart,
    error_chart,
    path_chart,
    scatter_chart,
)
from intensor.report.markup import TIMES, escape, figure, label_html, table
from intensor.report.summary import Comparison, proven_gap, summarise
from intensor.solver.result import NO_USEFUL_BOUND, Status, has_useful_bound

N_WORST = 10
"""Number of observations in the table of the worst fitted ones."""
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


def certificate_section(fit: Fit, comparison: Comparison, verification: Verification | None) -> str:
    """Return what was proven, what was checked again, and what it means."""
    gap, share = proven_gap(fit)
    square = comparison.mean_square
    of_square = gap / square if square > 0.0 else 0.0
    beside = f"{percent(share)} of the objective and"
    if not has_useful_bound(fit.result):
        beside = f"nearly all of the objective (there is {NO_USEFUL_BOUND}) and"
    parts = [
        "<h2>Certificate</h2>",
        f"<p>The bound comes from: {escape(fit.result.bound_source)}. The gap is {beside} "
        f"{escape(percent(of_square))} of the mean square of the fitted values, {number(square)}. "
        f"{escape(describe_coverage(fit), most=400)}</p>",
    ]
    if verification is None:
        parts.append('<p class="muted">The certificate was not recomputed for this page.</p>')
    else:
        verdict = "everything passed" if verification.ok else "not everything passed"
        if verification.ok and not verification.complete:
            verdict = "nothing failed, and what could not be checked is marked open"
        items = "".join(
            f'<li><span class="mark {MARKS[check.passed][0]}">{MARKS[check.passed][1]}</span>'
            f"<span><b>{escape(check.name)}</b>: {escape(check.message, most=400)}</span></li>"
            for check in verification.checks
        )
        parts.append(
            f"<p>Recomputed from the observations, by other means than the solver's: {verdict}.</p>"
            f'<ul class="checks">{items}</ul>'
        )
    parts.append(f"<h3>What it means, and what it does not mean</h3><p>{MEANING}</p>")
    return "".join(parts)


def convergence_section(fit: Fit) -> str:
    """Return how objective and bound approached each other."""
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
    caption = (
        f"The shaded gap between objective and proven bound is what is left to prove or to gain."
        f"{note}"
    )
    chart = figure(convergence_chart(fit), caption)
    return f'<h2>Convergence</h2><div class="figures">{chart}</div>'


def radius_section(fit: Fit) -> str:
    """Return how radius and scale were chosen."""
    validation = fit.validation
    if validation is None:
        return (
            "<h2>Radius</h2><p>The radius was given, not chosen by validation: "
            f"{number(fit.radius)}.</p>{_blend_table(fit)}"
        )
    expected = describe_error(validation, write=number, plus_minus="±")
    chart = figure(path_chart(fit, validation), "The ring marks the radius that was taken.")
    return (
        f"<h2>How it was chosen</h2><p>Cells that lie like the missing ones were held out. The "
        f"error that is expected there is {escape(expected, most=200)}, in the units of the data. "
        f"{escape(judge(validation), most=400)} The model of terms alone has "
        f"{number(validation.path.error)}, at radius {number(validation.path.radius)}. All "
        f"observations were then fitted in the same way.{_averaging(fit, validation)}</p>"
        f"{_references_table(validation)}"
        f'<div class="figures">{chart}</div>{_scales_table(validation)}{_blend_table(fit)}'
    )


def quality_section(fit: Fit, comparison: Comparison) -> str:
    """Return how predictions and observations compare."""
    value = fit.labels.value
    shades = (
        " The stronger the colour of a hexagon, the more observations it holds."
        if comparison.values.size > MAX_POINTS
        else ""
    )
    scatter = figure(
        scatter_chart(comparison, value=value),
        f"On the dashed line the prediction is right.{shades}",
    )
    errors = figure(error_chart(comparison, value=value), "Errors on the observations.")
    return (
        f'<h2>Observed and predicted</h2><div class="figures">{scatter}{errors}</div>'
        f"{_worst_table(fit, comparison)}"
    )


def settings_section(fit: Fit) -> str:
    """Return the settings of the fit and the versions of the software."""
    result, figures = fit.result, summarise(fit)
    rows = [
        ("shape", TIMES.join(map(count, fit.shape))),
        ("transform", escape(figures["transform"])),
        ("baseline", figures["baseline"]),
        ("remainder", escape(figures["remainder"])),
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
    return "<h2>Settings and versions</h2>" + table("Settings", (), rows)


def _averaging(fit: Fit, validation: Validation) -> str:
    """Return how much the average of several solutions gained, if there are several."""
    single, averaged = validation.single, validation.averaged
    if single is None or averaged is None:
        return ""
    gained = 1.0 - averaged / single if single > 0.0 else 0.0
    change = f"{percent(abs(gained))} {'less' if gained >= 0.0 else 'more'}"
    return (
        f" Averaging {count(fit.n_solutions)} solutions changed the held-out error from "
        f"{number(single)} to {number(averaged)}, {change}."
    )


def _blend_table(fit: Fit) -> str:
    """Return the members of a blend: their shares, scales and certificates."""
    if not fit.partners:
        return ""
    rows = [
        (
            percent(member.share),
            escape(describe_model(member)),
            *_certificate_cells(member),
        )
        for member in fit.members
    ]
    first = "The rest of this page shows the first."
    if not fit.share > 0.0:
        first = "The first has no share; the rest of this page shows it, since it can be read."
    header = ("share", "member", "objective", "bound", "status")
    return (
        f"<p>The prediction is a blend of {count(len(rows))} members, whose shares were chosen on "
        "the held-out observations. Each model of terms has a certificate of its own, in its own "
        f"scale. {first}</p>" + table("The blend", header, rows)
    )


def _certificate_cells(member: Fit) -> tuple[str, str, str]:
    """Return objective, bound and status of a member; one without terms has nothing to prove."""
    if member.status is Status.NO_TERMS:
        return "", "", "no terms, nothing to prove"
    return number(member.objective), number(member.bound), member.status.name


def _references_table(validation: Validation) -> str:
    """Return the errors of predictors without terms on the same cells."""
    references = list_references(validation)
    if not references:
        return ""
    rows = [
        (label_html(one.name), number(one.error), percent(one.share) if one.share > 0.0 else "none")
        for one in references
    ]
    heads = ("predictor without terms", "held-out error", "share of the prediction")
    return table("Simple predictors, on the same cells", heads, rows)


def _scales_table(validation: Validation) -> str:
    rows = [
        (
            escape(scale_name(path)),
            number(path.error),
            number(path.radius),
            number(float(path.boxes[path.best])),
            count(len(path)),
            "✓ taken" if index == validation.chosen else "no",
        )
        for index, path in enumerate(validation.paths)
    ]
    heads = ("scale", "held-out error", "radius", "terms", "steps", "taken")
    return table("Scales that were tried", heads, rows, marked=validation.chosen)


def _worst_table(fit: Fit, comparison: Comparison) -> str:
    labels = fit.labels
    rows = []
    for row in comparison.worst(N_WORST).tolist():
        observed, predicted = float(comparison.values[row]), float(comparison.predicted[row])
        cell = comparison.coords[row].tolist()
        names = (known[index] for known, index in zip(labels.indices, cell, strict=True))
        error = signed(predicted - observed)
        rows.append((error, number(observed), number(predicted), *map(label_html, names)))
    heads = ("error", "observed", "predicted", *labels.modes)
    return "<h3>Worst fitted observations</h3>" + table("Worst fitted observations", heads, rows)


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
