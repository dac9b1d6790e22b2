"""Check a result from scratch, trusting nothing that the solver computed.

Everything here is done with the raw observations and the vertices' bits, by other means than
the solver's: cells are grouped with ``np.unique`` on rows, vertices are evaluated from their
index lists, and the bound is recomputed at the point where it was proven, by trying every
vertex. That last part grows like 2^(sum of all mode lengths but the longest), so it is done
only where it is affordable; the verification says so when it is not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from intensor.arrays import AnyArray, FloatArray, Shape
from intensor.checks import check_weights
from intensor.errors import SettingError, ShapeError
from intensor.model.model import Model
from intensor.solver.result import Result, Status

__all__ = ["Check", "Verification", "verify"]

SLACK = 1e-9
"""Relative disagreement that is put down to rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at.

    Attributes
    ----------
    passed
        True or False, or None when it could not be checked.
    """

    name: str
    passed: bool | None
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What a check from scratch found.

    Attributes
    ----------
    objective
        Mean squared error, recomputed.
    bound
        What could be proven here: recomputed where affordable, else the within-cell constant.
    checks
        Everything that was looked at, in order.
    """

    objective: float
    bound: float
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing failed (what could not be checked does not count as failed)."""
        return all(check.passed is None or check.passed for check in self.checks)

    @property
    def complete(self) -> bool:
        """Whether everything could be checked."""
        return all(check.passed is not None for check in self.checks)

    @property
    def gap(self) -> float:
        """Objective minus bound, both recomputed."""
        return self.objective - self.bound

    @property
    def failures(self) -> tuple[str, ...]:
        """The messages of what failed."""
        return tuple(
            check.message for check in self.checks if check.passed is not None and not check.passed
        )

    def __str__(self) -> str:
        marks: dict[bool | None, str] = {True: "pass", False: "FAIL", None: "open"}
        return "\n".join(f"{marks[c.passed]}  {c.name}: {c.message}" for c in self.checks)


def verify(
    result_or_model: Result | Model,
    coords: ArrayLike,
    values: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    effort: float = 5e9,
) -> Verification:
    """Recompute feasibility, objective and gap from scratch and say what fails.

    Parameters
    ----------
    result_or_model
        A result, whose claims are all checked; or a bare model, which claims only that it is
        feasible for its radius.
    coords, values
        The observations, as given to ``solve``.
    sample_weight
        Their weights, if they were given to ``solve``.
    effort
        How many additions the check of the bound may take; beyond that it stays open.

    Examples
    --------
    >>> import intensor
    >>> data = intensor.planted((4, 4), 12, noise=0.1)
    >>> result = intensor.solve(data.coords, data.values, shape=(4, 4), radius=1.0, tol=1e-8)
    >>> report = intensor.verify(result, data.coords, data.values)
    >>> report.ok, report.complete
    (True, True)
    """
    result = result_or_model if isinstance(result_or_model, Result) else None
    model = result_or_model.model if isinstance(result_or_model, Result) else result_or_model
    if not isinstance(model, Model):
        raise SettingError(f"verify got {result_or_model!r}; expected a Result or a Model")
    cells = np.asarray(coords)
    numbers = np.asarray(values, dtype=np.float64)
    if cells.ndim != 2 or cells.shape[1] != len(model.shape):
        raise ShapeError(
            f"coords has shape {cells.shape}; expected (n, {len(model.shape)}) for a model of "
            f"shape {model.shape}"
        )
    if np.any(cells < 0) or np.any(cells >= np.array(model.shape)):
        raise ShapeError(f"coords leave the model's shape {model.shape}")

    if sample_weight is None:
        importance = np.ones(numbers.size)
    else:
        importance = check_weights(sample_weight, numbers.size)
    kept = importance > 0.0
    cells, numbers, importance = cells[kept], numbers[kept], importance[kept]
    data = _group(cells, numbers, importance)
    checks = [*_feasibility("model", model)]
    readable = checks[-1].passed  # else the vertices and weights do not belong together
    residuals = _evaluate(model, cells) - numbers if readable else np.full(1, np.nan)
    objective = math.fsum(importance * residuals**2) / data.total
    bound = data.within
    if result is not None:
        checks.append(_compare_objective(result.objective, objective, data))
        bound, check = _check_bound(result, data, effort)
        checks.append(check)
        checks.append(_check_status(result, objective, data))
    return Verification(objective=objective, bound=bound, checks=tuple(checks))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Data:
    """The observations, grouped here and not by the solver's code."""

    cells: AnyArray
    shares: FloatArray
    means: FloatArray
    within: float
    mean_square: float
    total: float


def _group(cells: AnyArray, numbers: FloatArray, importance: FloatArray) -> _Data:
    unique, inverse = np.unique(cells, axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    weights = np.bincount(inverse, importance)
    means = np.bincount(inverse, importance * numbers) / weights
    total = math.fsum(importance)
    return _Data(
        cells=unique,
        shares=weights / total,
        means=means,
        within=math.fsum(importance * (numbers - means[inverse]) ** 2) / total,
        mean_square=math.fsum(importance * numbers**2) / total,
        total=total,
    )


def _feasibility(name: str, model: Model) -> Iterable[Check]:
    weights = np.asarray(model.weights)
    finite = bool(np.isfinite(weights).all())
    least = float(weights.min()) if weights.size else 0.0
    yield Check(
        name=f"{name} weights",
        passed=finite and (model.signed or least >= 0.0),
        message=f"{weights.size} weights, the least is {least:g}; all must be finite"
        + (" (signed)" if model.signed else " and >= 0"),
    )
    total = math.fsum(np.abs(weights)) if finite else math.nan
    yield Check(
        name=f"{name} radius",
        passed=bool(total <= model.radius * (1.0 + SLACK)),
        message=f"the sizes of the weights sum to {total:.12g}; the radius is {model.radius:g}",
    )
    words = np.asarray(model.vertices.words)
    fits = (
        words.dtype == np.uint64
        and words.shape[0] == sum(model.shape)
        and words.shape[1] * 64 >= weights.size
        and len(model.vertices) == weights.size
    )
    yield Check(
        name=f"{name} vertices",
        passed=fits,
        message=f"{len(model.vertices)} vertices of {words.shape[0]} bits for {weights.size} "
        f"weights; shape {model.shape} needs {sum(model.shape)} bits each",
    )


def _evaluate(model: Model, cells: AnyArray) -> FloatArray:
    """Evaluate a model box by box from its index lists."""
    values = np.zeros(cells.shape[0])
    for vertex, weight in enumerate(model.weights.tolist()):
        inside = np.ones(cells.shape[0], dtype=bool)
        for mode, indices in enumerate(model.vertices.box(vertex)):
            inside &= np.isin(cells[:, mode], indices)
        values[inside] += weight
    return values


def _rounding(objective: float, data: _Data) -> float:
    """Return what rounding may make of an objective when it is summed up in another order.

    A residual is known to about 1e-16 of the values, whatever its own size.
    """
    return 1e-14 * math.sqrt(abs(objective) * data.mean_square) + 1e-28 * data.mean_square


def _compare_objective(claimed: float, found: float, data: _Data) -> Check:
    larger = max(abs(claimed), abs(found))
    return Check(
        name="objective",
        passed=bool(abs(claimed - found) <= SLACK * larger + _rounding(larger, data)),
        message=f"claimed {claimed:.12g}, recomputed {found:.12g}",
    )


def _check_status(result: Result, objective: float, data: _Data) -> Check:
    gap = objective - result.bound
    fine = gap <= result.tolerance * (1.0 + SLACK) + _rounding(objective, data)
    return Check(
        name="status",
        passed=bool(fine) or result.status is not Status.OPTIMAL,
        message=f"status {result.status}, gap {gap:.6g}, tolerance {result.tolerance:g}",
    )


def _check_bound(result: Result, data: _Data, effort: float) -> tuple[float, Check]:
    """Return what bound can be proven here, and whether the claimed one holds."""
    claimed = result.bound
    slack = SLACK * (data.mean_square + abs(claimed))
    rounding = SLACK * data.within + 1e-28 * data.mean_square  # of the means above
    if claimed <= data.within + rounding:
        message = f"{claimed:.12g} is at most the variance within cells, {data.within:.12g}"
        return data.within, Check(name="bound", passed=True, message=message)
    witness = result.witness
    if witness is None:
        message = f"{claimed:.12g} exceeds the variance within cells and comes without a witness"
        return data.within, Check(name="bound", passed=False, message=message)
    if witness.shape != result.model.shape:
        message = f"the witness has shape {witness.shape}, the model {result.model.shape}"
        return data.within, Check(name="bound", passed=False, message=message)
    needed = _enumeration_effort(witness, data)
    if needed > effort:
        message = (
            f"{claimed:.12g} by {result.bound_source} was not rechecked: trying every vertex takes "
            f"{needed:.2g} additions, allowed are {effort:.2g} (raise effort to allow more)"
        )
        return data.within, Check(name="bound", passed=None, message=message)
    found = max(data.within, _recompute_bound(witness, result.model, data))
    message = f"claimed {claimed:.12g}, recomputed {found:.12g} by trying every vertex"
    return found, Check(name="bound", passed=bool(found >= claimed - slack), message=message)


def _enumeration_effort(model: Model, data: _Data) -> float:
    longest = max(model.shape)
    digits = sum(model.shape) - longest
    return 2.0 ** min(digits, 1000) * data.means.size * longest


def _recompute_bound(witness: Model, model: Model, data: _Data) -> float:
    """Return what the gradient at the witness proves, with the best length of step.

    For any h >= 0 and any z of the polytope, ``sum w (z - y)^2`` is at least
    ``h <c, z - y> - h^2 sum c^2 / (4 w)``: the difference is a sum of squares. Here w are the
    shares, y the means and c the gradient; the best h makes it ``a^2 / (4 r)``.
    """
    gradient = 2.0 * data.shares * (_evaluate(witness, data.cells) - data.means)
    # The witness is a point and no more: the polytope is that of the model.
    cheapest = model.radius * min(
        _cheapest_vertex(model.shape, data.cells, sign * gradient)
        for sign in ((1.0, -1.0) if model.signed else (1.0,))
    )
    a = cheapest - math.fsum(gradient * data.means)
    r = math.fsum(gradient**2 / (4.0 * data.shares))
    return data.within + (a * a / (4.0 * r) if a > 0.0 and r > 0.0 else 0.0)


def _cheapest_vertex(shape: Shape, cells: AnyArray, costs: FloatArray) -> float:
    """Return the least cost of any vertex.

    The longest mode is read off the signs of its index costs; the on-off patterns of all
    other modes are counted through as one binary number.
    """
    free = int(np.argmax(shape))
    fixed = [mode for mode in range(len(shape)) if mode != free]
    spread = np.zeros((cells.shape[0], shape[free]))
    spread[np.arange(cells.shape[0]), cells[:, free]] = costs
    digits = sum(shape[mode] for mode in fixed)
    at_once = max(1, (1 << 22) // cells.shape[0])
    cheapest = 0.0
    for first in range(0, 1 << digits, at_once):
        numbers = np.arange(first, min(first + at_once, 1 << digits))
        inside = np.ones((numbers.size, cells.shape[0]), dtype=bool)
        for mode in fixed:
            on = (numbers[:, np.newaxis] >> np.arange(shape[mode])) & 1 != 0
            inside &= on[:, cells[:, mode]]
            numbers >>= shape[mode]
        index_costs = inside.astype(np.float64) @ spread
        cheapest = min(cheapest, float(np.minimum(index_costs, 0.0).sum(axis=1).min()))
    return cheapest
