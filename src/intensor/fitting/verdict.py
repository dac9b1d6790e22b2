"""How good a fit is, in words: its error on held-out cells, beside those of simple predictors.

Commands, reports and notebooks say the same with the sentences of this module.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from intensor.fitting.scoring import SCORINGS
from intensor.model.predictor import SMOOTH_FIELD
from intensor.solver.result import Status

if TYPE_CHECKING:
    from intensor.fitting.record import Fit, ReferenceError, Validation

MEAN = "mean"
SIMPLEST = (MEAN, "main effects")
"""References that any fit should beat; one that does not is reported."""
ROUNDING = 1e-9
"""Relative difference between two errors that may be due to rounding alone."""
MAX_NAME_LENGTH = 60
"""Most characters of a name from a model file that are shown."""

Writer = Callable[[float], str]
"""A function that writes a number for people."""


def write_number(value: float) -> str:
    """Return a number with four digits, or a dash if it is not finite."""
    return f"{value:.4g}" if math.isfinite(value) else "-"


def describe_error(
    validation: Validation, *, write: Writer = write_number, plus_minus: str = "+-"
) -> str:
    """Return the expected error with its spread, and on how many observations it was measured."""
    spread = ""
    if validation.spread is not None and validation.spread > 0.0:
        # the error has no more digits than its spread is worth
        spread = f" {plus_minus} {write(float(f'{validation.spread:.2g}'))}"
    folds = f" in each of {validation.folds} folds" if validation.folds > 1 else ""
    noun = "observation" if round(validation.held_out) == 1 else "observations"
    return (
        f"{metric_name(validation)} {write(validation.expected_error)}{spread} on "
        f"{validation.held_out:.0f} held-out {noun}{folds}"
    )


def metric_name(validation: Validation) -> str:
    """Return the name of the error, in capitals if it is an abbreviation."""
    name = validation.metric
    return name.upper() if name in SCORINGS else _shortened(name)


def list_references(validation: Validation) -> tuple[ReferenceError, ...]:
    """Return the references, with the mean alone for model files that know no others."""
    from intensor.fitting.record import ReferenceError  # noqa: PLC0415  (imports this module)

    if validation.references or validation.error_of_mean is None:
        return validation.references
    return (ReferenceError(MEAN, validation.error_of_mean, 0.0),)


def describe_reference(reference: ReferenceError, *, write: Writer = write_number) -> str:
    """Return the name of a reference, its error and its share of the prediction."""
    share = f" (has {percent(reference.share)})" if reference.share > 0.0 else ""
    return f"{_shortened(reference.name)} {write(reference.error)}{share}"


def find_unbeaten(validation: Validation) -> list[str]:
    """Return the names of references that predict held-out cells as well as the fit, or better.

    They are the mean, main effects and interpolation; a smooth field is no simple predictor.
    """
    least = validation.expected_error * (1.0 + ROUNDING)
    return [
        _shortened(one.name)
        for one in list_references(validation)
        if one.error <= least and not one.name.startswith(SMOOTH_FIELD)
    ]


def judge(validation: Validation) -> str:
    """Return how the fit compares with simple predictors on the held-out cells, as a sentence."""
    known = [
        _shortened(one.name)
        for one in list_references(validation)
        if not one.name.startswith(SMOOTH_FIELD)
    ]
    if not known:
        return ""
    unbeaten = find_unbeaten(validation)
    if not unbeaten:
        return f"It is no worse on held-out cells than {_name_all(known, 'and')}."
    return f"The fit predicts held-out cells no better than {_name_all(unbeaten, 'or')}."


def is_no_better(validation: Validation) -> bool:
    """Say whether a fit is no better than the mean or the main effects, which users must know."""
    return any(name.startswith(SIMPLEST) for name in find_unbeaten(validation))


def describe_coverage(fit: Fit) -> str:
    """Return which part of the prediction the certificate is about, as a sentence.

    The text is empty where it is about all of it.
    """
    proven = [one for one in fit.members if one.status is not Status.NO_TERMS and one.share > 0.0]
    others = [one for one in fit.members if one.status is Status.NO_TERMS]
    if not proven:
        return (
            "The model of terms has no share in the prediction; it is kept to be read, and the "
            "certificate is about it alone."
        )
    kriged = any(one.predictor.remainder is not None for one in proven)
    if not fit.partners and not kriged:
        return ""
    before = ", before kriging is added" if kriged else ""
    if not fit.partners:
        return f"The certificate is about the model of terms{before}."
    share = percent(math.fsum(one.share for one in proven))
    if len(proven) == 1:
        text = f"The certificate is about the model of terms{before}, which has {share}"
    else:
        text = (
            f"Each of {len(proven)} models of terms has a certificate of its own{before}; together "
            f"they have {share}"
        )
    return f"{text} of the prediction{_describe_uncovered(others)}."


def _describe_uncovered(members: Sequence[Fit]) -> str:
    """Return the shares of members without terms, which need no certificate."""
    if not members:
        return ""
    if len(members) == 1:
        name = kind_of(members[0])
        plural = name.endswith("s")
        verbs = ("have", "need") if plural else ("has", "needs")
        return f"; {name} {verbs[0]} {percent(members[0].share)} and {verbs[1]} none"
    listed = [f"{kind_of(one)} ({percent(one.share)})" for one in members]
    return f"; {_name_all(listed, 'and', article='')} need none"


def kind_of(member: Fit) -> str:
    """Return what a member without terms predicts by, such as "a smooth field"."""
    predictor = member.predictor
    if predictor.remainder is not None:
        method = predictor.remainder.method
        return f"a {method}" if method == SMOOTH_FIELD else method
    effects = predictor.baseline is not None and predictor.baseline.effects.any()
    return "main effects" if effects else "the mean"


def percent(share: float) -> str:
    """Return a share in whole percent, such as "65 %"."""
    if 0.0 < share < 0.005:
        return "less than 1 %"
    return f"{100.0 * share:.0f} %"


def _name_all(names: Sequence[str], conjunction: str, *, article: str = "the ") -> str:
    """Return names as a list in words; the mean gets its article."""
    named = [f"{article}{name}" if name == MEAN else name for name in names]
    if len(named) == 1:
        return named[0]
    return f"{', '.join(named[:-1])} {conjunction} {named[-1]}"


def _shortened(name: str) -> str:
    return name if len(name) <= MAX_NAME_LENGTH else f"{name[: MAX_NAME_LENGTH - 3]}..."
