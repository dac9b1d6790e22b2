"""The heaviest boxes of a model as a table: a weight and the labels it covers, mode by mode."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice, pairwise

import numpy as np

from intensor._arrays import AnyArray, IndexArray
from intensor.fitting.record import Fit
from intensor.plots.text import count, number, percent, signed
from intensor.report.markup import label_html, table
from intensor.report.summary import fitted_name

MAX_BOXES = 12
"""Most boxes in the table."""
MAX_LABELS_SHOWN = 6
"""Most labels, or runs of labels, that are shown before the full list is opened."""
MAX_LIST_CHARACTERS = 80_000
"""Most characters of all full lists together, which bounds the size of the page."""
MAX_LABELS_LEFT_OUT = 3
"""Most labels that a description may leave out, as in "all but ann, bob"."""


def describe_labels(
    indices: IndexArray, labels: AnyArray, *, budget: int = MAX_LIST_CHARACTERS
) -> str:
    """Return the labels of some indices as HTML; a long list is folded.

    ``indices`` are those of one mode, in increasing order, and ``labels`` belong to all indices of
    the mode. A full list of more than ``budget`` characters is left out.
    """
    if indices.size == labels.size:
        return f'<span class="muted">all {count(labels.size)}</span>'
    if labels.size - indices.size <= MAX_LABELS_LEFT_OUT and indices.size > MAX_LABELS_SHOWN:
        left_out = np.setdiff1d(np.arange(labels.size), indices)
        names = ", ".join(label_html(labels[index]) for index in left_out.tolist())
        return f'<span class="muted">all but</span> {names}'
    runs = _runs(indices, labels)
    first = list(islice(runs, MAX_LABELS_SHOWN + 1))
    parts = [_run_html(labels, run) for run in first]
    if len(parts) <= MAX_LABELS_SHOWN:
        return ", ".join(parts)
    more = indices.size - sum(last - start + 1 for start, last in first[:MAX_LABELS_SHOWN])
    shown = ", ".join(parts[:MAX_LABELS_SHOWN])
    summary = f'{shown} <span class="muted">and {count(more)} more</span>'
    for run in runs:
        parts.append(_run_html(labels, run))
        budget -= len(parts[-1])
        if budget < 0:
            return summary
    return f"<details><summary>{summary}</summary>{', '.join(parts)}</details>"


def boxes_table(fit: Fit) -> str:
    """Return the table of the heaviest boxes, with a sentence on how to read it."""
    model, labels = fit.model, fit.labels
    if not len(model):
        return "<p>The model has no box: what is left after the baseline, if any, is 0.</p>"
    largest = float(np.abs(model.weights).max())
    rows, budget = [], MAX_LIST_CHARACTERS
    for box in model.heaviest(MAX_BOXES):
        cells = []
        for indices, known in zip(box.indices, labels.indices, strict=True):
            cells.append(describe_labels(indices, known, budget=budget))
            budget -= len(cells[-1]) if cells[-1].startswith("<details>") else 0
        share = math.prod(
            indices.size / length for indices, length in zip(box.indices, fit.shape, strict=True)
        )
        weight = signed(box.weight) if model.signed else number(box.weight)
        kind = "minus" if box.weight < 0.0 else "plus"
        width = f"width:{100.0 * abs(box.weight) / largest:.0f}%"
        bar = f'<span class="bar {kind}" style="{width}"></span>'
        rows.append((weight + bar, *cells, percent(share)))
    shown = min(MAX_BOXES, len(model))
    which = "all boxes" if shown == len(model) else f"the {shown} heaviest of {count(len(model))}"
    sizes = np.sort(np.abs(model.weights))[::-1]
    carried = float(sizes[:shown].sum() / np.abs(model.weights).sum())
    return (
        f"<p>A box adds its weight to every cell whose labels it covers in all modes; the boxes "
        f"over a cell add up to its {label_html(fitted_name(fit))}. Below: {which}, with "
        f"{percent(carried)} of the weight.</p>"
        + table("Heaviest boxes", ("weight", *labels.modes, "share of cells"), rows)
    )


def effects_table(fit: Fit) -> str:
    """Return the lowest and highest effect of the baseline per mode, if there is a baseline."""
    baseline = fit.predictor.baseline
    if baseline is None:
        return ""
    rows, start = [], 0
    for mode, known in zip(fit.labels.modes, fit.labels.indices, strict=True):
        effects = baseline.effects[start : start + known.size]
        start += known.size
        extremes = (int(np.argmin(effects)), int(np.argmax(effects)))
        cells = (f"{label_html(known[index])} ({signed(effects[index])})" for index in extremes)
        rows.append((label_html(mode), *cells))
    noun = "components" if len(fit.model.components) else "boxes"
    return (
        f"<h3>Baseline</h3><p>Every cell begins at the mean, {number(baseline.mean)}, plus one "
        f"effect per label; the {noun}, which may be negative, correct what that leaves.</p>"
        + table("Baseline effects", ("mode", "lowest effect", "highest effect"), rows)
    )


def _runs(indices: IndexArray, labels: AnyArray) -> Iterator[tuple[int, int]]:
    """Yield the first and last index of every run of three or more consecutive integer labels.

    Every other index is yielded alone, as its own first and last.
    """
    starts = np.arange(indices.size)
    if labels.dtype.kind in "iu":
        follows = (np.diff(indices) == 1) & (np.diff(labels[indices]) == 1)
        starts = np.concatenate(([0], np.flatnonzero(~follows) + 1))
    for start, end in pairwise([*starts.tolist(), indices.size]):
        if end - start >= 3:
            yield int(indices[start]), int(indices[end - 1])
        else:
            yield from ((index, index) for index in indices[start:end].tolist())


def _run_html(labels: AnyArray, run: tuple[int, int]) -> str:
    start, last = run
    if start == last:
        return label_html(labels[start])
    return f"{label_html(labels[start])}\N{EN DASH}{label_html(labels[last])}"
