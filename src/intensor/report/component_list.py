"""The components of a model: their profiles as charts, and a table in words."""

from __future__ import annotations

import math

import numpy as np

from intensor._arrays import AnyArray, FloatArray
from intensor.fitting.record import Fit
from intensor.plots.profiles import RankedTerm, rank_terms
from intensor.plots.text import count, number, percent, signed
from intensor.report.boxes import MAX_LABELS_LEFT_OUT
from intensor.report.charts import component_chart
from intensor.report.markup import figure, label_html, table
from intensor.report.summary import fitted_name

MAX_DRAWN = 6
"""Most components whose profiles are drawn; it bounds the size of the page."""
MAX_MODES_DRAWN = 36
"""Most profiles that are drawn in all, for tensors of many modes."""
MAX_LISTED = 16
"""Most components in the table."""
MAX_STRONGEST = 4
"""Most labels of a mode that are named."""
STRONG = 0.5
"""Smallest entry of a label that counts as strong."""
NEARLY_FLAT = 0.9
"""A profile whose entries are all at least this large is nearly the same for all labels."""


def components_section(fit: Fit) -> str:
    """Return the profiles of the components that explain most, and a table of them in words."""
    model, labels = fit.model, fit.labels
    ranked = rank_terms(model, fit.predictor.counts)
    drawn = ranked[: max(1, min(MAX_DRAWN, MAX_MODES_DRAWN // len(labels.modes)))]
    charts = "".join(figure(component_chart(one, labels, is_signed=model.signed)) for one in drawn)
    listed = ranked[:MAX_LISTED]
    which = "all of them" if len(listed) == len(ranked) else f"the first {len(listed)}"
    covered = percent(math.fsum(one.share for one in drawn))
    some = f"the first {len(drawn)}, with {covered} of the fit"
    shown = "all of them" if len(drawn) == len(ranked) else some
    return (
        f"<h2>Components</h2><p>A component adds its weight times one entry from 0 to 1 per mode "
        f"to a cell, and the components add up to the {label_html(fitted_name(fit))} of the cell. "
        f"Its share is its part of the mean prediction over the indices that were observed"
        f"{_sign_note(fit)}. There are {count(len(ranked))}, sorted by their shares. The pictures "
        f"show {shown}: the height is the entry of a label. "
        f"The table lists {which}, with the labels whose entry is at least a half, the strongest "
        f"first. Numbers are those of the model, which counts from 0.</p>"
        f'<div class="figures">{charts}</div>{_table(fit, listed)}'
    )


def strongest_labels(profile: FloatArray, labels: AnyArray) -> str:
    """Return the labels with the largest entries of a profile as HTML, the strongest first.

    A label is strong if its entry is at least half of the largest, which is 1.
    """
    if profile.min() >= NEARLY_FLAT:
        return f'<span class="muted">all {count(labels.size)} alike</span>'
    order = np.argsort(-profile, kind="stable")[: np.count_nonzero(profile >= STRONG)]
    names = ", ".join(label_html(labels[index]) for index in order[:MAX_STRONGEST].tolist())
    if order.size <= MAX_STRONGEST:
        return names
    if order.size == labels.size:
        return f'<span class="muted">all {count(labels.size)}, above all</span> {names}'
    if labels.size - order.size <= MAX_LABELS_LEFT_OUT:
        weak = np.flatnonzero(profile < STRONG).tolist()
        names = ", ".join(label_html(labels[index]) for index in weak)
        return f'<span class="muted">all but</span> {names}'
    return f'{names} <span class="muted">and {count(order.size - MAX_STRONGEST)} more</span>'


def _table(fit: Fit, ranked: list[RankedTerm]) -> str:
    rows = []
    for one in ranked:
        term = one.term
        weight = signed(term.weight) if fit.model.signed else number(term.weight)
        profiles = zip(term.profiles, fit.labels.indices, strict=True)
        words = [strongest_labels(profile, known) for profile, known in profiles]
        bar = (
            f'<span class="bar {"minus" if term.weight < 0.0 else "plus"}" '
            f'style="width:{100.0 * one.share / (ranked[0].share or 1.0):.0f}%"></span>'
        )
        kind = "" if one.kind == "component" else " (box)"
        rows.append((f"{one.number}{kind}", weight, percent(one.share) + bar, *words))
    return table("Components", ("number", "weight", "share", *fit.labels.modes), rows)


def _sign_note(fit: Fit) -> str:
    return ", negative ones by their size" if fit.model.signed else ""
