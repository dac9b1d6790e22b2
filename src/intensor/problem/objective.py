"""The convex objective on the observed cells, in units where the radius is 1.

``f(x) = sum_j w_j (x_j - t_j)^2 + constant`` with one x per unique cell, weights
``w = counts / n`` and targets ``t = means / radius``. Multiply by ``scale = radius^2`` to
get back to the units of the data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from intensor._arrays import FloatArray, inner
from intensor.data.observations import Observations

UNDERFLOW_MARGIN = 1e-300
"""Margin for the underflow of all terms of a sum, each of which loses less than 5e-324."""
MIN_CONSTANT = 1e-290
"""Smallest constant that is kept; smaller ones have lost digits to underflow and become 0."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Objective:
    """Weighted least squares on u cells."""

    # (u,) the value each cell should have and how much it counts; the weights sum to 1
    targets: FloatArray
    weights: FloatArray
    constant: float  # The part of the objective that no model can change
    scale: float  # Square of the radius: multiplies objectives into the units of the data

    def value(self, x: FloatArray) -> float:
        """Return f(x)."""
        residual = x - self.targets
        return inner(self.weights * residual, residual) + self.constant

    def gradient(self, x: FloatArray) -> FloatArray:
        """Return the (u,) derivatives of f at x."""
        return 2.0 * self.weights * (x - self.targets)

    def lower_bound(self, costs: FloatArray, cheapest: float) -> float:
        """Return a lower bound of f on the polytope.

        For any z and s, ``sum w (z - t - s)^2 >= 0`` says ``sum w (z - t)^2 >= 2 sum w s (z - t) -
        sum w s^2``. Take ``s = h c / (2 w)`` with the costs c and a step h >= 0: then, with
        ``A = cheapest - <c, t>`` and ``R = sum c^2 / (4 w)``,

            f(z) - constant >= h <c, z - t> - h^2 R >= h A - h^2 R

        for every z in the polytope, because <c, z> is least at a vertex. With c the gradient at an
        iterate x, h = 1 is the usual bound ``f(x) - g``, g the gap ``<c, x> - cheapest``. The best
        step is ``h = A / (2 R)`` and gives ``A^2 / (4 R)``. Then ``R = f0``, the objective of x
        less the constant, and ``A = 2 f0 - g``, so the gap shrinks from g to ``g - g^2 / (4 f0)``
        for free. A negative A proves no more than the constant.

        Sums are exact (``math.fsum``); each term carries a few roundings, which the margins
        cover: relative ones, and an absolute one for terms that underflow.

        Parameters
        ----------
        costs
            (u,) the costs given to the oracle, usually the gradient at an iterate.
        cheapest
            A proven lower bound of ``<costs, v>`` over all vertices v.
        """
        at_targets = costs * self.targets
        return bound_from_sums(
            self.constant,
            cheapest,
            product=math.fsum(at_targets),
            size=math.fsum(np.abs(at_targets)),
            square=math.fsum(costs * (costs / self.weights)),
        )

    def exact_step(self, descent: float, direction: FloatArray, longest: float) -> float:
        """Return the step in [0, longest] that minimises f along ``direction``.

        ``descent`` is the rate at which f falls at the start, ``-<gradient, direction>``.
        """
        if descent <= 0.0:
            return 0.0
        curvature = 2.0 * inner(self.weights * direction, direction)
        if descent >= longest * curvature:
            return longest
        return descent / curvature


def bound_from_sums(
    constant: float, cheapest: float, *, product: float, size: float, square: float, terms: int = 1
) -> float:
    """Return the bound of ``Objective.lower_bound`` from its sums over cells.

    These are the sums of costs times targets, of their absolute values, and of squared costs over
    weights. At most ``terms`` numbers were added up one after the other (1 for exact sums). Each
    addition may have rounded by half a unit in the last place, which the margins cover.
    """
    eps = float(np.finfo(np.float64).eps)
    constant *= 1.0 - 8.0 * eps
    slack = (7.0 + terms) * eps
    a = cheapest - product - slack * (abs(cheapest) + size) - UNDERFLOW_MARGIN
    r = square / 4.0 * (1.0 + (terms - 1) * eps) + UNDERFLOW_MARGIN
    if not (a > 0.0 and 0.0 < r < math.inf):
        return constant
    return constant + a * (a / r) / 4.0 * (1.0 - 16.0 * eps)


def scaled_constant(within: float, square: float) -> float:
    """Return the variance within cells in units where the radius, given as its square, is 1.

    The result is at most a unit in the last place above the exact quotient. It is 0 where underflow
    would round it more.
    """
    constant = within / square
    return constant if constant >= MIN_CONSTANT else 0.0


def build_objective(observations: Observations, radius: float) -> Objective:
    """Return the objective in units where the radius is 1."""
    return Objective(
        targets=observations.means / radius,
        weights=observations.cell_shares(),
        constant=scaled_constant(observations.within, radius**2),
        scale=radius**2,
    )
