"""The checks of a verification: whether a model is feasible, and whether a bound is proven.

A bound is believed when the gradient at its witness proves it again, by trying every vertex where
that is affordable and by the signs of the costs alone where it is not. It is refuted when some
feasible model has a smaller objective.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from intensor.certificate.recount import Grouped, Layout, Point, additions_needed, cheapest_vertex
from intensor.model.model import Model
from intensor.solver.result import Result
from intensor.solver.snapshot import MAX_WITNESS_RADII

RELATIVE_ROUNDING = 1e-9  # relative disagreement that counts as rounding
RELATIVE_DOUBT = 1e-6
"""Relative disagreement up to which a bound is left open if rounding may explain it: with a radius
far above the values, products of the two are rounded."""
MAX_WEIGHT_SUM = 1e100
"""Largest sum of the sizes of a model's weights that is evaluated; squares cannot overflow then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check and its outcome."""

    name: str
    passed: bool | None  # None when it could not be checked
    message: str


def feasibility(name: str, model: Model) -> Iterable[Check]:
    """Check that a model lies in the polytope that it names."""
    weights, total = np.asarray(model.weights), _size(model)
    finite = not math.isnan(total)
    least = float(weights.min()) if finite and weights.size else 0.0
    yield Check(
        name=f"{name} weights",
        passed=finite and (model.signed or least >= 0.0),
        message=f"{weights.size} weights, the least is {least:g}; all must be finite"
        + (" (signed)" if model.signed else " and >= 0"),
    )
    radius = as_number(model.radius)
    yield Check(
        name=f"{name} radius",
        passed=bool(0.0 <= radius < math.inf and total <= radius * (1.0 + RELATIVE_ROUNDING)),
        message=f"the sizes of the weights sum to {total:.12g}; the radius is {radius:g}",
    )
    yield Check(
        name=f"{name} vertices",
        passed=_has_its_vertices(model),
        message=f"{model.vertices.count} vertices in words of shape "
        f"{np.shape(model.vertices.words)} for {weights.size} weights{_beside(model)}; shape "
        f"{model.shape} needs {sum(model.shape)} bits each",
    )
    if _is_graded(model):
        yield Check(
            name=f"{name} components",
            passed=_has_its_components(model),
            message=f"factors of shape {np.shape(model.components.factors)}; all entries must be "
            f"numbers from 0 to 1, and shape {model.shape} needs {sum(model.shape)} of them for "
            "each component",
        )


def as_number(claim: Any) -> float:
    """Return a claim as a float: NaN if it is not a real number, infinity if it is too large."""
    real = isinstance(claim, numbers.Real) and not isinstance(claim, bool)
    try:
        return float(claim) if real else math.nan
    except OverflowError:
        return math.inf if claim > 0 else -math.inf


def _size(model: Model) -> float:
    """Return the sum of the weights' sizes; NaN when they are not a vector of finite floats."""
    weights = np.asarray(model.weights)
    if weights.ndim != 1 or weights.dtype.kind != "f" or not np.isfinite(weights).all():
        return math.nan
    try:
        return math.fsum(np.abs(weights))
    except OverflowError:
        return math.inf


def _has_its_vertices(model: Model) -> bool:
    """Say whether every weight that no component has is that of a vertex, with all its bits."""
    words, count = np.asarray(model.vertices.words), np.size(model.weights) - _n_components(model)
    return (
        words.dtype == np.uint64
        and words.ndim == 2
        and words.shape[0] == sum(model.shape)
        and words.shape[1] * 64 >= count
        and model.vertices.count == count
    )


def _n_components(model: Model) -> int:
    shape = np.shape(model.components.factors)
    return shape[1] if len(shape) == 2 else 0


def _is_graded(model: Model) -> bool:
    """Say whether a model has components, or factors that cannot be read as none."""
    return np.shape(model.components.factors)[1:] != (0,)


def _beside(model: Model) -> str:
    return f", beside {_n_components(model)} components" if _is_graded(model) else ""


def _has_its_components(model: Model) -> bool:
    """Say whether the components, if any, have an entry from 0 to 1 for every index."""
    factors = np.asarray(model.components.factors)
    return not _is_graded(model) or (
        factors.dtype == np.float64
        and factors.ndim == 2
        and factors.shape[0] == sum(model.shape)
        and tuple(model.components.shape) == tuple(model.shape)
        and bool(((factors >= 0.0) & (factors <= 1.0)).all())
    )


def readable(model: Model) -> bool:
    """Say whether a model can be evaluated, feasible or not."""
    return (
        _has_its_vertices(model) and _has_its_components(model) and _size(model) <= MAX_WEIGHT_SUM
    )


class Precision:
    """How precisely objectives are known on these observations.

    A residual is known to about 1e-16 of the value and of the terms of its prediction, whatever
    its own size.
    """

    def __init__(self, data: Grouped, point: Point | None) -> None:
        added = 0.0 if point is None else math.fsum(data.shares * point.sizes * point.sizes)
        self.values = data.mean_square
        self.within = data.within
        self._square = max(data.mean_square, added)

    def rounding(self, objective: float) -> float:
        """Return how far an objective may move when it is summed up in another order."""
        known = math.sqrt(abs(objective)) * math.sqrt(self._square)  # their product may underflow
        return 1e-14 * known + 1e-28 * self._square


def check_bound(
    result: Result, data: Grouped, precision: Precision, *, ceiling: float, effort: float
) -> tuple[float, Check]:
    """Return the bound that can be proven here, and whether the claimed one holds.

    No bound is above ``ceiling``, the objective of a feasible model; ``effort`` is the number of
    additions that may be made.
    """
    claimed, witness = result.bound, result.witness
    ceiling, passed = min(ceiling, data.mean_square), False  # no boxes at all are feasible too
    if not math.isfinite(claimed):
        message = f"{claimed} is no number"
    elif claimed > ceiling + precision.rounding(ceiling):
        message = f"{claimed:.12g} is above the objective of a feasible model, {ceiling:.12g}"
    elif not 0.0 <= as_number(result.model.radius) <= MAX_WEIGHT_SUM:
        message = f"there is no bound for a radius of {result.model.radius}"
    elif claimed <= (1.0 + RELATIVE_ROUNDING) * data.within + 1e-28 * data.mean_square:
        passed = True  # up to the rounding of the means
        message = f"{claimed:.12g} is at most the variance within cells, {data.within:.12g}"
    elif witness is None:
        message = f"{claimed:.12g} exceeds the variance within cells and comes without a witness"
    elif not (message := _witness_problem(witness, result.model)):
        return _prove_again(result, witness, data, effort)
    return data.within, Check(name="bound", passed=passed, message=message)


def _prove_again(
    result: Result, witness: Model, data: Grouped, effort: float
) -> tuple[float, Check]:
    """Return the bound that the gradient at a witness proves, and whether it is as claimed."""
    claimed, model, point = result.bound, result.model, Point(witness, data)
    objective = point.objective
    feasible = all(check.passed for check in feasibility("witness", witness))
    if feasible and claimed > objective + Precision(data, point).rounding(objective):
        message = f"{claimed:.12g} is above the objective of the witness, {objective:.12g}"
        return data.within, Check(name="bound", passed=False, message=message)
    layout = Layout.of(data.cells)
    rounding = point.rounding(model.radius, terms=layout.depth + layout.n_rows)
    enough = claimed - min(RELATIVE_ROUNDING * (data.mean_square + abs(claimed)), rounding)
    hidden = RELATIVE_DOUBT * (data.mean_square + abs(claimed))
    needed = additions_needed(layout)
    tried = needed <= effort
    found = data.within
    for costs in (point, point.without_noise()):
        if found < enough:
            cheapest = min(
                cheapest_vertex(layout, sign * costs.gradient)
                if tried
                else math.fsum(np.minimum(sign * costs.gradient, 0.0))  # no vertex costs less
                for sign in ((1.0, -1.0) if model.signed else (1.0,))
            )
            found = max(found, costs.bound(model.radius * cheapest))
    how = "trying every vertex" if tried else "the signs of the costs alone"
    message = f"claimed {claimed:.12g}, recomputed {found:.12g} by {how}"
    passed: bool | None = bool(found >= enough)
    if not passed and not tried:
        passed = None
        message = (
            f"{claimed:.12g} by {result.bound_source} was not rechecked: trying every vertex takes "
            f"{needed:.2g} additions, allowed are {effort:.2g} (raise effort to allow more)"
        )
    elif not passed and found >= claimed - min(hidden, rounding):
        passed = None
        message = f"{message}; at this radius rounding may hide {rounding:.2g}"
    return found, Check(name="bound", passed=passed, message=message)


def _witness_problem(witness: object, model: Model) -> str:
    """Say why a witness cannot stand for the polytope of the model; "" when it can."""
    if not isinstance(witness, Model):
        return f"the witness is a {type(witness).__name__}; expected a Model"
    if witness.shape != model.shape or witness.signed != model.signed:
        return (
            f"the witness has shape {witness.shape}{' (signed)' if witness.signed else ''}, "
            f"the model {model.shape}{' (signed)' if model.signed else ''}"
        )
    if witness.radius != model.radius:
        return f"the witness has radius {witness.radius}, the model {model.radius}"
    # Rounding may take an iterate out of the polytope. Its gradient proves a bound wherever it is,
    # but the further away, the more may be put down to rounding.
    near = replace(witness, radius=MAX_WITNESS_RADII * model.radius)
    failed = [check.message for check in feasibility("witness", near) if not check.passed]
    if failed or not readable(witness):
        return f"the witness is not near the polytope: {'; '.join(failed)}"
    return ""
