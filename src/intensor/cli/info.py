"""``intensor info``: the content of a model file, and the summary that all commands print."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from intensor.cli.console import MAX_NAME_LENGTH, OK, check_stdout, number, rows, shortened
from intensor.cli.options import Common, ModelFile

if TYPE_CHECKING:
    from intensor.fitting.record import Fit, Validation

MAX_LABELS = 8
"""Most labels of a mode that are shown."""
MAX_BOXES = 3
"""Most boxes that are shown."""


def info(
    model: ModelFile,
    *,
    common: Common,
) -> int:
    """Show what a model file holds: data, certificate, labels and the heaviest boxes."""
    from intensor.fitting.model_file import load  # noqa: PLC0415
    from intensor.report.summary import summarise  # noqa: PLC0415

    if not (common.json or common.quiet):
        check_stdout()
    fit = load(model)
    named = list(zip(fit.labels.modes, fit.labels.indices, strict=True))
    labels = {mode: _json_labels(column) for mode, column in named}
    modes = rows((mode, f"{column.size} labels: {_some_labels(column)}") for mode, column in named)
    common.show(
        "info",
        {**summarise(fit), "labels": labels, "model": str(model)},
        f"{describe(fit)}\n{modes}\n{_heaviest_boxes(fit)}",
    )
    return OK


def describe(fit: Fit, errors: dict[str, float] | None = None) -> str:
    """Return the summary of a fit, and RMSE and MAE on the observations if they are known."""
    from intensor.fitting.verdict import describe_coverage  # noqa: PLC0415
    from intensor.model.model import describe_terms  # noqa: PLC0415
    from intensor.report.summary import describe_member, summarise  # noqa: PLC0415

    figures = summarise(fit)
    blend = [describe_member(member) for member in fit.members] if fit.partners else []
    transform, remainder = figures["transform"], fit.predictor.remainder
    lengths = " x ".join(
        f"{shortened(mode)} ({length})"
        for mode, length in zip(fit.labels.modes, fit.shape, strict=True)
    )
    scale = "" if transform == "none" else f" in the {transform} scale"
    averaged = f", mean of {fit.n_solutions} solutions" if fit.n_solutions > 1 else ""
    steps = {
        f"{transform} transform": transform,
        "additive baseline": figures["baseline"],
        "" if remainder is None else f"with {remainder.method}": figures["remainder"],
    }
    return rows(
        [
            ("data", f"{fit.n} observations of {shortened(fit.labels.value)} by {lengths}"),
            ("status", f"{fit.status}: {fit.status.sentence}"),
            ("objective", f"{number(fit.objective)}  mean squared error{scale}"),
            *_describe_bound(fit),
            ("rmse", "" if errors is None else f"{number(errors['rmse'])}  on the observations"),
            ("mae", "" if errors is None else number(errors["mae"])),
            ("model", f"{describe_terms(fit.model)}, radius {number(fit.radius)}{averaged}"),
            ("scale", ", ".join(name for name, choice in steps.items() if choice != "none")),
            *([] if fit.validation is None else _describe_validation(fit.validation)),
            *_listed("blend", blend),
            ("certified", describe_coverage(fit)),
        ]
    )


def _describe_bound(fit: Fit) -> list[tuple[str, str]]:
    """Return bound and gap, or that the bound says nothing."""
    from intensor.report.summary import relative_gap  # noqa: PLC0415
    from intensor.solver.result import (  # noqa: PLC0415
        NO_USEFUL_BOUND,
        NO_USEFUL_BOUND_MEANING,
        has_useful_bound,
    )

    if not has_useful_bound(fit.result):
        return [
            ("bound", f"{number(fit.bound)}  {NO_USEFUL_BOUND}"),
            *(("", part) for part in NO_USEFUL_BOUND_MEANING.split("; ")),
        ]
    relative = f" ({relative_gap(fit):.3g} of the objective)" if fit.objective > 0.0 else ""
    return [
        ("bound", f"{number(fit.bound)}  proven: no model of this radius is below it"),
        ("gap", f"{number(fit.gap)}{relative}"),
    ]


def _listed(name: str, texts: Iterable[str]) -> list[tuple[str, str]]:
    """Return a row for each text; the first has the name."""
    return [("" if row else name, text) for row, text in enumerate(texts)]


def _describe_validation(validation: Validation) -> list[tuple[str, str]]:
    """Return the error on held-out cells, how it compares, and the errors of references."""
    from intensor.fitting.verdict import (  # noqa: PLC0415
        describe_error,
        describe_reference,
        is_no_better,
        judge,
        list_references,
    )

    tried = sum(len(path) for path in validation.paths)
    text = f"{describe_error(validation)}, best of {tried} fit{'s' if tried > 1 else ''}"
    if validation.single is not None and validation.averaged is not None:
        single, averaged = number(validation.single), number(validation.averaged)
        text += f"; one solution {single}, averaged {averaged}"
    verdict = judge(validation)
    if is_no_better(validation):
        verdict += " Is every column a mode? (see --mode)"
    references = map(describe_reference, list_references(validation))
    return [*_listed("validation", (text, verdict)), *_listed("references", references)]


def _json_labels(column: Any) -> list[Any]:
    kept = column.dtype.kind in "biuf"
    return [label if kept else str(label) for label in column.tolist()]


def _some_labels(column: Any) -> str:
    shown = map(_label_text, column[:MAX_LABELS])
    return ", ".join(shown) + (", ..." if column.size > MAX_LABELS else "")


def _label_text(label: Any) -> str:
    """Return a label in printable form; a string is quoted."""
    if not isinstance(label, str):
        return shortened(str(label))
    return repr(label if len(label) <= MAX_NAME_LENGTH else f"{label[: MAX_NAME_LENGTH - 3]}...")


def _heaviest_boxes(fit: Fit) -> str:
    """Return weight and labels, mode by mode, of the heaviest boxes and components."""
    from intensor.model.term import Box  # noqa: PLC0415

    text = ""
    for box in fit.model.heaviest(MAX_BOXES):
        kind = "box" if isinstance(box, Box) else "component"
        text += f"{kind} of weight {number(box.weight)}\n"
        covered = zip(fit.labels.modes, fit.labels.indices, box.indices, strict=True)
        text += rows(
            (f"  {mode}", "all" if len(indices) == column.size else _some_labels(column[indices]))
            for mode, column, indices in covered
        )
    return text
