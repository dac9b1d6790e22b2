"""The check of the status: whether the name of an ending is true of the recomputed numbers.

Nothing of the solver's decides here but the definition of the names: the sizes of a small gap and
of an exact fit. Gap, tolerance and exactness are judged by what was counted from the observations.
"""

from __future__ import annotations

import math

from intensor.certificate.proofs import RELATIVE_ROUNDING, Check, Precision
from intensor.solver.result import EXACT_FIT_SHARE, SMALL_GAP_SHARE, Result, Status

CLAIMS_A_GAP = (Status.OPTIMAL, Status.WITHIN_TOLERANCE)
"""Statuses that say that the gap is proven to be within the tolerance."""


def check_status(
    result: Result, objective: float, precision: Precision, *, proven: bool | None
) -> Check:
    """Check that a gap is within the tolerance if the status says so, and small if it is OPTIMAL.

    ``objective`` is the recomputed one, and ``proven`` the outcome of the check of the bound.
    """
    gap, tolerance = objective - result.bound, result.tolerance
    message = f"status {result.status}, gap {gap:.6g}, tolerance {tolerance:g}"
    passed: bool | None
    if not isinstance(result.status, Status):
        passed, message = False, f"the status is {result.status!r}, which is none"
    elif not tolerance >= 0.0:
        passed, message = False, f"{message}; expected a tolerance of at least 0"
    elif result.status not in CLAIMS_A_GAP:
        passed = True
    elif not tolerance < math.inf:
        passed, message = False, f"{message}; every model is within an infinite tolerance"
    elif not gap <= tolerance * (1.0 + RELATIVE_ROUNDING) + precision.rounding(objective):
        passed = False
    elif result.status is Status.OPTIMAL and not _is_small(gap, objective, precision):
        passed = False
        message = f"{message}; {_share(gap, objective)}, which is too much for OPTIMAL"
    elif tolerance >= precision.values > 0.0 and gap >= precision.values - precision.within:
        passed, message = None, f"{message}; that is true of a model without boxes too"
    elif proven is None:
        passed, message = None, f"{message}; the bound was not rechecked"
    else:
        passed = True
    return Check(name="status", passed=passed, message=message)


def _is_small(gap: float, objective: float, precision: Precision) -> bool:
    """Say whether a gap is small beside the objective, or the model meets the means of all cells.

    The means are met when what the model adds to the variance within cells is next to nothing.
    """
    rounding = precision.rounding(objective)
    beside = SMALL_GAP_SHARE * (1.0 + RELATIVE_ROUNDING) * objective
    exact = EXACT_FIT_SHARE * (1.0 + RELATIVE_ROUNDING) * precision.values
    return gap <= beside + rounding or objective - precision.within <= exact + rounding


def _share(gap: float, objective: float) -> str:
    """Return how large a gap is beside the objective, in words."""
    return f"the gap is {100.0 * gap / objective:.3g} % of the objective, and the fit is not exact"
