"""A fit in words: the table that notebooks show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from intensor._text import html_table
from intensor.fitting.verdict import (
    describe_coverage,
    describe_error,
    describe_reference,
    judge,
    kind_of,
    list_references,
    percent,
)
from intensor.model.model import describe_terms
from intensor.model.transform import IDENTITY
from intensor.solver.result import Status

if TYPE_CHECKING:
    from intensor.fitting.record import Fit, Validation

MAX_MODES_LISTED = 12
"""Most modes that the table lists."""
MAX_NAME_LENGTH = 40
"""Most characters of the name of a mode, of the values or of an error that the table shows."""


def describe_model(member: Fit) -> str:
    """Return the terms, the scale and the additions of a member of a fit in words."""
    predictor = member.predictor
    name = predictor.transform.name
    scale = "the values" if predictor.transform == IDENTITY else f"their {name}"
    if member.status is Status.NO_TERMS:
        return f"{kind_of(member)} of {scale}"
    parts = [f"{describe_terms(member.model)} in {scale}"]
    if predictor.baseline is not None:
        parts.append("with a baseline")
    if predictor.remainder is not None:
        parts.append(f"with {predictor.remainder.method}")
    return " ".join(parts)


def fit_html(fit: Fit) -> str:
    """Return the table of a fit: its data, what was chosen, how good it is and what is proven."""
    names = zip(fit.labels.modes, fit.shape, strict=True)
    listed = [f"{_shortened(mode)} ({length})" for mode, length in names]
    more = len(listed) - MAX_MODES_LISTED
    shape = " x ".join(listed[:MAX_MODES_LISTED]) + (f" and {more} more" if more > 0 else "")
    certificates = [
        _describe_certificate(member)
        for member in fit.members
        if member.status is not Status.NO_TERMS
    ]
    return html_table(
        f"Fit of {_shortened(fit.labels.value)}",
        [
            ("shape", shape),
            ("observations", str(fit.n)),
            ("chosen", "\n".join(_describe_choice(member) for member in fit.members)),
            ("held-out error", "" if fit.validation is None else _describe_errors(fit.validation)),
            ("range", _describe_clip(fit)),
            ("status", f"{fit.status}: {fit.status.sentence}"),
            ("certificate", "\n".join([*certificates, describe_coverage(fit)]).rstrip()),
        ],
    )


def _describe_choice(member: Fit) -> str:
    share = "" if member.share == 1.0 else f"{percent(member.share)}: "
    if member.status is Status.NO_TERMS:
        return f"{share}{describe_model(member)}"
    averaged = "" if member.n_solutions == 1 else f", mean of {member.n_solutions} solutions"
    return f"{share}{describe_model(member)}, radius {member.radius:.4g}{averaged}"


def _describe_errors(validation: Validation) -> str:
    """Return the error of the fit, those of the references, and how they compare."""
    lines = [describe_error(validation)]
    references = list_references(validation)
    if references:
        listed = ", ".join(describe_reference(one) for one in references)
        lines.append(f"references: {listed}")
    return "\n".join([*lines, judge(validation)]).rstrip()


def _describe_clip(fit: Fit) -> str:
    low, high = fit.clip or (None, None)
    if low is None and high is None:
        return ""
    ends = [f"from {low:g}"] if low is not None else []
    ends += [f"up to {high:g}"] if high is not None else []
    return f"predictions are clipped {' '.join(ends)}"


def _describe_certificate(member: Fit) -> str:
    gap = max(member.gap, 0.0)
    return f"objective {member.objective:.4g}, proven bound {member.bound:.4g}, gap {gap:.3g}"


def _shortened(name: str) -> str:
    return name if len(name) <= MAX_NAME_LENGTH else f"{name[: MAX_NAME_LENGTH - 3]}..."
