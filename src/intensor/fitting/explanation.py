"""Why a fit predicts a value: the parts that add up to it, most important first."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from intensor._arrays import IndexArray
from intensor._text import one_line, printable
from intensor.data.any_table import open_any_table
from intensor.data.checks import check_cells
from intensor.data.lookup import look_up_cells
from intensor.errors import CoordinateError, LabelError
from intensor.fitting.verdict import kind_of, percent
from intensor.model.baseline import Baseline
from intensor.model.entries import cell_entries
from intensor.model.predictor import Predictor, UnseenCells, known_cells
from intensor.model.transform import IDENTITY
from intensor.options import declared
from intensor.options.unseen import Unseen, as_unseen
from intensor.problem.vertex import mode_slices
from intensor.solver.result import Status

if TYPE_CHECKING:
    from intensor.fitting.record import Fit

MAX_TERMS_WRITTEN = 12
"""Most terms that the text of an explanation lists; the others are added up in one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """One part of a prediction, in the fitted scale.

    Attributes
    ----------
    kind
        "component", "box", "mean" or "effect" (both of the baseline), or "remainder".
    name
        The part in words, such as "component 3" or "effect of month 7".
    value
        What the part adds.
    number
        Number of the term in the model, as in ``Model.to_frame``; None for other parts.
    weight, entries
        Weight of the term, and its entry at the label of each mode: their product is the value.
        None and empty for other parts.
    """

    kind: str
    name: str
    value: float
    number: int | None = None
    weight: float | None = None
    entries: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The parts that add up to the prediction of one cell; print it to read it.

    Attributes
    ----------
    modes, labels
        Names of the modes and the label of the cell in each of them, as text.
    value_name
        Name of the values.
    transform
        Name of the transform; "none" if the fitted scale is that of the data.
    terms
        What adds something, the largest contribution in size first. Terms of the model that add
        nothing are left out.
    fitted
        The sum of all contributions: the prediction in the fitted scale.
    prediction
        The prediction in the units of the data, which is never below 0, as ``Fit.predict`` has it.
    own_prediction, share, partners
        For a fit with partners: the terms are those of the fit itself, whose own prediction has
        this share. Each partner has an explanation of its own. Own predictions times shares add up
        to the prediction.
    method
        What a partner without terms predicts by, such as "main effects" or "a smooth field"; empty
        for a model of terms.
    clipped
        Whether the prediction is an end of the range that the fit clips to. The sum before that
        was beyond it.
    """

    modes: tuple[str, ...]
    labels: tuple[str, ...]
    value_name: str
    transform: str
    terms: tuple[Contribution, ...]
    fitted: float
    prediction: float
    own_prediction: float
    share: float = 1.0
    partners: tuple[Explanation, ...] = ()
    method: str = ""
    clipped: bool = False

    def to_frame(self) -> Any:
        """Return the terms as a table of pyarrow, a row per term.

        Its columns are ``kind``, ``name``, ``number``, ``weight``, a column per mode with the entry
        of the term there, and ``contribution``. Columns of modes are named like the modes, with
        "entry of" before the name.
        """
        import pyarrow as pa  # noqa: PLC0415

        names = ["kind", "name", "number", "weight"]
        names += [f"entry of {mode}" for mode in self.modes]
        names += ["contribution"]
        types = [pa.string(), pa.string(), pa.int64(), *[pa.float64()] * (len(self.modes) + 2)]
        nothing = (None,) * len(self.modes)
        rows = [
            (term.kind, term.name, term.number, term.weight, *(term.entries or nothing), term.value)
            for term in self.terms
        ]
        columns: Sequence[Sequence[Any]] = list(zip(*rows, strict=True)) or [()] * len(names)
        arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
        return pa.Table.from_arrays(arrays, names)

    def __repr__(self) -> str:
        count = f"{len(self.terms)} part{'' if len(self.terms) == 1 else 's'}"
        return one_line(
            f"Explanation of {self.prediction:.6g}: {count} of {self.value_name} at {self._cell}"
        )

    @property
    def _cell(self) -> str:
        pairs = zip(self.modes, self.labels, strict=True)
        return ", ".join(f"{mode} {label}" for mode, label in pairs)

    def __str__(self) -> str:
        shown, others = self.terms[:MAX_TERMS_WRITTEN], self.terms[MAX_TERMS_WRITTEN:]
        rows = [(f"{term.value:+.6g}", self._describe(term)) for term in shown]
        if others:
            rest = math.fsum(term.value for term in others)
            noun = "other part" if len(others) == 1 else "other parts, each of them smaller"
            rows.append((f"{rest:+.6g}", f"{len(others)} {noun}"))
        rows.append((f"= {self.fitted:.6g}", f"{self._describe_scale()}, the sum"))
        width = max(len(figure) for figure, _ in rows)
        lines = [f"{self.value_name} of {self._cell}: {self.prediction:.6g}"]
        if self.partners:
            lines.append(f"  {self._describe_first()}, the sum of")
        lines += [f"  {figure:>{width}}  {text}" for figure, text in rows]
        if note := self._describe_way_back():
            lines.append(f"  {note}")
        for number, one in enumerate(self.partners, start=1):
            by = f"partner {number}{f', {one.method}' if one.method else ''}"
            lines.append(f"  {one._describe_share()}, by {by}: {one._describe_scale()}")
        if self.clipped:
            lines.append(f"  The fit clips its predictions, this one to {self.prediction:.6g}.")
        return "\n".join(map(printable, lines))

    def _describe_share(self) -> str:
        return f"{percent(self.share)} of it is {self.own_prediction:.6g}"

    def _describe_first(self) -> str:
        """Return the share of the model of terms, which may have none."""
        if self.share > 0.0:
            return self._describe_share()
        return (
            "The model of terms has no share in the prediction; it is kept to be read. It predicts "
            f"{self.own_prediction:.6g}"
        )

    def _describe_scale(self) -> str:
        """Return the name of what the parts add up to."""
        if self.transform == IDENTITY.name:
            return self.value_name
        return f"{self.transform} of {self.value_name}"

    def _describe(self, term: Contribution) -> str:
        if term.weight is None:
            return term.name
        if all(entry == 1.0 for entry in term.entries):
            return f"{term.name}: weight {term.weight:.6g}"
        factors = " x ".join(
            f"{mode} {entry:.3g}" for mode, entry in zip(self.modes, term.entries, strict=True)
        )
        return f"{term.name}: weight {term.weight:.6g} x {factors}"

    def _describe_way_back(self) -> str:
        """Return how the sum became the prediction, if they differ."""
        if self.own_prediction == self.fitted:
            return ""
        if self.transform == IDENTITY.name:
            return f"The prediction is {self.own_prediction:.6g}, since it is never below 0."
        return f"The {self.transform} is undone, which gives {self.own_prediction:.6g}."


def explain(fit: Fit, cell: Any, *, unseen: str = declared.UNSEEN.default) -> Explanation:
    """Return what makes up the prediction of a cell; ``Fit.explain`` describes the arguments."""
    known, names = _find_cell(fit, cell, as_unseen(unseen))
    first, *others = (_explain_member(one, known, names) for one in fit.members)
    found = first.own_prediction
    if others:
        found = math.fsum(one.share * one.own_prediction for one in (first, *others))
    low, high = fit.clip or (None, None)
    prediction = found if low is None else max(found, low)
    prediction = prediction if high is None else min(prediction, high)
    return replace(
        first, prediction=prediction, partners=tuple(others), clipped=prediction != found
    )


def _explain_member(fit: Fit, known: IndexArray, names: tuple[str, ...]) -> Explanation:
    """Return what makes up the prediction of one member of a fit."""
    predictor = fit.predictor
    described = [
        f"{mode} {name}" if index >= 0 else f"an average {mode}"
        for mode, name, index in zip(fit.labels.modes, names, known.tolist(), strict=True)
    ]
    terms = _explain_model(predictor, known)
    if predictor.baseline is not None:
        terms += _explain_baseline(predictor, predictor.baseline, known, described)
    if predictor.remainder is not None:
        value = float(predictor.remainder.average(known[np.newaxis], predictor.counts)[0])
        terms.append(
            Contribution(
                kind="remainder", name=f"remainder ({predictor.remainder.method})", value=value
            )
        )
    terms.sort(key=lambda term: -abs(term.value))
    fitted = math.fsum(term.value for term in terms)
    prediction = float(predictor.transform.undo(np.array([fitted]))[0])
    return Explanation(
        modes=fit.labels.modes,
        labels=names,
        value_name=fit.labels.value,
        transform=predictor.transform.name,
        terms=tuple(terms),
        fitted=fitted,
        prediction=prediction,
        own_prediction=prediction,
        share=fit.share,
        method=kind_of(fit) if fit.status is Status.NO_TERMS else "",
    )


def _explain_model(predictor: Predictor, cell: IndexArray) -> list[Contribution]:
    """Return what the boxes and components add to a cell, without those that add nothing."""
    model = predictor.model
    entries = cell_entries(model, cell, predictor.counts)
    values = model.weights * entries.prod(axis=0)
    found = []
    for number in np.flatnonzero(values).tolist():
        kind = "box" if number < len(model.vertices) else "component"
        found.append(
            Contribution(
                kind=kind,
                name=f"{kind} {number}",
                value=float(values[number]),
                number=number,
                weight=float(model.weights[number]),
                entries=tuple(entries[:, number].tolist()),
            )
        )
    return found


def _explain_baseline(
    predictor: Predictor, baseline: Baseline, cell: IndexArray, described: Sequence[str]
) -> list[Contribution]:
    """Return the mean of the baseline and the effect of each label of a cell."""
    found = [Contribution(kind="mean", name="mean of the baseline", value=baseline.mean)]
    parts = mode_slices(predictor.shape)
    for part, index, label in zip(parts, cell.tolist(), described, strict=True):
        effects, counts = baseline.effects[part], predictor.counts[part]
        effect = effects[index] if index >= 0 else counts @ effects / counts.sum()
        found.append(Contribution(kind="effect", name=f"effect of {label}", value=float(effect)))
    return found


def _find_cell(fit: Fit, cell: Any, unseen: Unseen) -> tuple[IndexArray, tuple[str, ...]]:
    """Return the (p,) indices of a cell, -1 where nothing was observed, and its labels as text."""
    data = _as_one_row(fit, cell)
    named = look_up_cells(data, fit.labels)
    given = check_cells(data, len(fit.shape)) if named is None else named.coords
    if len(given) != 1:
        raise CoordinateError(f"got {len(given)} cells; expected one cell to explain")
    known = known_cells(given, fit.predictor.counts, fit.shape)
    found = UnseenCells()
    found.add(known)

    def describe(row: int, mode: int) -> str:
        if named is not None:
            return f"{named.describe(row, mode)}, which no observation of the fit has"
        return f"index {given[row, mode]} of mode {mode} has no observations in the fit"

    found.report(unseen, describe, stacklevel=5)
    names = []
    for mode, (labels, index) in enumerate(zip(fit.labels.indices, given[0], strict=True)):
        if 0 <= index < labels.size:
            names.append(str(labels[index]))
        elif named is not None:
            names.append(str(named.encoded[mode].labels[named.encoded[mode].codes[0]]))
        else:
            names.append(f"number {index}" if index >= 0 else "(unknown)")
    return known[0], tuple(names)


def _as_one_row(fit: Fit, cell: Any) -> Any:
    """Return a cell as a table with one row, or as a (1, p) array of positions.

    Integers alone are positions, as in ``predict``; any other sequence holds labels.
    """
    if isinstance(cell, Mapping):
        return {name: _as_column(label) for name, label in cell.items()}
    if not isinstance(cell, (list, tuple, np.ndarray)) or open_any_table(cell) is not None:
        return cell
    if np.ndim(np.asarray(cell, dtype=object)) != 1:
        return cell
    modes = fit.labels.modes
    if len(cell) != len(modes):
        raise LabelError(
            f"the cell has {len(cell)} entries; expected one per mode ({', '.join(modes)})"
        )
    if all(isinstance(one, numbers.Integral) and not isinstance(one, bool) for one in cell):
        return np.array([cell])
    if len(set(modes)) < len(modes):
        raise LabelError(
            f"modes of the fit have the same name ({', '.join(map(repr, modes))}); give the cell "
            "as positions, an integer per mode"
        )
    return dict(zip(modes, map(_as_column, cell), strict=True))


def _as_column(label: Any) -> Any:
    """Return a column with one label; what is a column already stays as it is."""
    one = isinstance(label, (str, bytes)) or np.ndim(label) == 0
    return [label] if one else label
