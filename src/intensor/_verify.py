"""Check a result from scratch, trusting nothing that the solver computed.

Everything here is done with the raw observations and the terms of the model, by other means than
the solver's (``recount``). The bound is recomputed at the point where it was proven, by trying
every vertex (``proofs``). That grows like 2^(sum of all mode lengths but the longest), so it is
done only where it is affordable; the verification says so when it is not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from intensor._arrays import FloatArray, IndexArray
from intensor._text import html_table, one_line
from intensor.certificate.proofs import (
    RELATIVE_ROUNDING,
    Check,
    Precision,
    as_number,
    check_bound,
    feasibility,
    readable,
)
from intensor.certificate.recount import Point, group
from intensor.certificate.status import check_status
from intensor.data.checks import check_coords, check_values, check_weights
from intensor.errors import SettingError, ShapeError
from intensor.model.model import Model
from intensor.solver.result import Result

MARKS: dict[bool | None, str] = {True: "pass", False: "FAIL", None: "open"}
"""Words for the outcome of a check."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The outcome of a check from scratch.

    Attributes
    ----------
    objective
        Mean squared error, recomputed.
    bound
        The bound that was proven here: recomputed where affordable, else the within-cell constant.
    checks
        All checks, in order.
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
        """The messages of the checks that failed."""
        return tuple(
            check.message for check in self.checks if check.passed is not None and not check.passed
        )

    def __str__(self) -> str:
        return "\n".join(f"{MARKS[c.passed]}  {c.name}: {c.message}" for c in self.checks)

    def __repr__(self) -> str:
        counts = [
            f"{sum(check.passed == passed for check in self.checks)} {word}"
            for passed, word in ((True, "passed"), (False, "failed"), (None, "open"))
        ]
        verdict = "ok" if self.ok else "failed"
        return one_line(
            f"Verification {verdict}: checks {', '.join(counts)}, objective "
            f"{self.objective:.4g}, bound {self.bound:.4g}"
        )

    def _repr_html_(self) -> str:
        checks = [(check.name, f"{MARKS[check.passed]}: {check.message}") for check in self.checks]
        return html_table(f"Verification: {'ok' if self.ok else 'failed'}", checks)


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
        Most additions that the check of the bound may take; beyond that it stays open.

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
        raise SettingError(
            f"verify got a {type(result_or_model).__name__}; expected a Result or a Model "
            "(a Fit checks itself: fit.verify(coords, values))"
        )
    allowed = _check_effort(effort)
    cells, observed, weights = _check_observations(model, coords, values, sample_weight)
    data = group(cells, observed, weights)
    checks = list(feasibility("model", model))
    feasible = all(check.passed for check in checks)
    point = Point(model, data) if readable(model) else None
    objective = math.nan if point is None else point.objective
    bound = data.within
    if result is not None:
        result = replace(
            result,
            objective=as_number(result.objective),
            bound=as_number(result.bound),
            tolerance=as_number(result.tolerance),
        )
        precision = Precision(data, point)
        checks.append(_check_objective(result.objective, objective, precision))
        ceiling = objective if feasible else math.inf
        bound, check = check_bound(result, data, precision, ceiling=ceiling, effort=allowed)
        checks.append(check)
        checks.append(check_status(result, objective, precision, proven=check.passed))
    return Verification(objective=objective, bound=bound, checks=tuple(checks))


def _check_effort(effort: object) -> float:
    """Return a number that is at least 0; infinity allows any effort."""
    number = as_number(effort)
    if not number >= 0.0:
        raise SettingError(
            f"effort is {effort!r}; expected a number >= 0, of additions that may be made"
        )
    return number


def _check_observations(
    model: Model, coords: ArrayLike, values: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[IndexArray, FloatArray, FloatArray]:
    """Return the observations of positive weight, checked as ``solve`` checks them."""
    cells, lengths = check_coords(coords, None)
    if cells.shape[1] != len(model.shape):
        raise ShapeError(
            f"coords has shape {cells.shape}; expected (n, {len(model.shape)}) for a model of "
            f"shape {model.shape}"
        )
    if any(found > length for found, length in zip(lengths, model.shape, strict=True)):
        raise ShapeError(
            f"coords leave the model's shape {model.shape}: they need at least {lengths} "
            "(give the observations that the model was fitted to)"
        )
    observed = check_values(values, len(cells), allow_negative=True)
    if sample_weight is None:
        return cells, observed, np.ones(observed.size)
    weights = check_weights(sample_weight, observed.size)
    kept = weights > 0.0
    return cells[kept], observed[kept], weights[kept]


def _check_objective(claimed: float, found: float, precision: Precision) -> Check:
    larger = max(abs(claimed), abs(found))
    same = abs(claimed - found) <= RELATIVE_ROUNDING * larger + precision.rounding(larger)
    return Check(
        name="objective",
        passed=bool(same and larger < math.inf),
        message=f"claimed {claimed:.12g}, recomputed {found:.12g}",
    )
