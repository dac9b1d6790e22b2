"""The heaviest boxes of a model as a table: a weight and the labels it covers, mode by mode."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice, pairwise

import numpy as np

from intensor._arrays import AnyArray, IndexArray
from intensor.fitting.record import Fit
from intensor.report.numbers import count, number, percent, signed
from intensor.report.series import scale_words
from intensor.report.tables import label_html, table

__all__ = ["boxes_table", "describe", "effects_table"]

MOST_BOXES = 12
AT_ONCE = 6
"""Labels that are shown without opening the full list."""
FULL_LISTS = 80_000
"""Characters that all full lists together may take."""
FEW_MISSING = 3
"""A box that leaves out no more labels of a mode is told by those."""


def describe(indices: IndexArray, labels: AnyArray, *, room: int = FULL_LISTS) -> str:
    """Return the labels of some indices as HTML, the full list folded away when it is long.

    Parameters
    ----------
    indices
        Growing indices of one mode.
    labels
        The labels of all its indices.
    room
        Characters that the full list may take.
    """
    if indices.size == labels.size:
        return f'<span class="muted">all {count(labels.size)}</span>'
    left_out = labels.size - indices.size
    if left_out <= FEW_MISSING and indices.size > AT_ONCE:
        missing = np.setdiff1d(np.arange(labels.size), indices)
        told = ", ".join(label_html(labels[place]) for place in missing.tolist())
        return f'<span class="muted">all but</span> {told}'
    runs = _runs(indices, labels)
    first = list(islice(runs, AT_ONCE + 1))
    names = [_run(labels, run) for run in first]
    if len(names) <= AT_ONCE:
        return ", ".join(names)
    more = indices.size - sum(last - start + 1 for start, last in first[:AT_ONCE])
    summary = f'{", ".join(names[:AT_ONCE])} <span class="muted">and {count(more)} more</span>'
    for run in runs:
        names.append(_run(labels, run))
        room -= len(names[-1])
        if room < 0:
            return summary
    return f"<details><summary>{summary}</summary>{', '.join(names)}</details>"


def boxes_table(fit: Fit) -> str:
    """Return the table of the heaviest boxes, with a sentence on how to read it."""
    model, labels = fit.model, fit.labels
    if not len(model):
        return "<p>The model has no box: what is left after the baseline, if any, is 0.</p>"
    largest = float(np.abs(model.weights).max())
    rows, room = [], FULL_LISTS
    for box in islice(model, MOST_BOXES):
        cells = []
        for indices, known in zip(box.indices, labels.indices, strict=True):
            cells.append(describe(indices, known, room=room))
            room -= len(cells[-1]) if cells[-1].startswith("<details>") else 0
        share = math.prod(
            indices.size / length for indices, length in zip(box.indices, fit.shape, strict=True)
        )
        weight = signed(box.weight) if model.signed else number(box.weight)
        kind = "minus" if box.weight < 0.0 else "plus"
        width = f"width:{100.0 * abs(box.weight) / largest:.0f}%"
        bar = f'<span class="bar {kind}" style="{width}"></span>'
        rows.append((weight + bar, *cells, percent(share)))
    shown = min(MOST_BOXES, len(model))
    which = "all boxes" if shown == len(model) else f"the {shown} heaviest of {count(len(model))}"
    carried = float(np.abs(model.weights[:shown]).sum() / np.abs(model.weights).sum())
    return (
        f"<p>A box adds its weight to every cell whose labels it covers in all modes; the boxes "
        f"over a cell add up to its {label_html(scale_words(fit))}. Below: {which}, with "
        f"{percent(carried)} of the weight.</p>"
        + table("Heaviest boxes", ("weight", *labels.modes, "share of cells"), rows)
    )


def effects_table(fit: Fit) -> str:
    """Return the ends of the baseline's effects per mode; nothing without a baseline."""
    baseline = fit.predictor.baseline
    if baseline is None:
        return ""
    rows, start = [], 0
    for mode, known in zip(fit.labels.modes, fit.labels.indices, strict=True):
        effects = baseline.effects[start : start + known.size]
        start += known.size
        low, high = int(np.argmin(effects)), int(np.argmax(effects))
        ends = (f"{label_html(known[end])} ({signed(effects[end])})" for end in (low, high))
        rows.append((label_html(mode), *ends))
    return (
        f"<h3>Baseline</h3><p>Every cell begins at the mean, {number(baseline.mean)}, plus one "
        f"effect per label; the boxes, which may be negative, correct what that leaves.</p>"
        + table("Baseline effects", ("mode", "lowest effect", "highest effect"), rows)
    )


def _runs(indices: IndexArray, labels: AnyArray) -> Iterator[tuple[int, int]]:
    """Yield first and last index of every stretch of three or more whole numbers in a row.

    All other indices are stretches of their own.
    """
    starts = np.arange(indices.size)
    if labels.dtype.kind in "iu":
        follows = (np.diff(indices) == 1) & (np.diff(labels[indices]) == 1)
        starts = np.concatenate(([0], np.flatnonzero(~follows) + 1))
    for start, end in pairwise([*starts.tolist(), indices.size]):
        if end - start >= 3:
            yield int(indices[start]), int(indices[end - 1])
        else:
            yield from ((place, place) for place in indices[start:end].tolist())


def _run(labels: AnyArray, run: tuple[int, int]) -> str:
    start, last = run
    if start == last:
        return label_html(labels[start])
    return f"{label_html(labels[start])}\N{EN DASH}{label_html(labels[last])}"
