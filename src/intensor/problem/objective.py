"""The convex objective on the observed cells, in units where the radius is 1.

``f(x) = sum_j w_j (x_j - t_j)^2 + constant`` with one x per unique cell, weights
``w = counts / n`` and targets ``t = means / radius``. Multiply by ``scale = radius^2`` to
get back to the units of the data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from intensor.arrays import FloatArray
from intensor.data.observations import Observations

__all__ = ["Objective", "build_objective"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Objective:
    """Weighted least squares on u cells.

    Attributes
    ----------
    targets, weights
        (u,) what each cell should be and how much it counts; the weights sum to 1.
    constant
        The part of the objective that no model can change.
    scale
        Square of the radius: from these units to those of the data.
    """

    targets: FloatArray
    weights: FloatArray
    constant: float
    scale: float

    def value(self, x: FloatArray) -> float:
        """Return f(x)."""
        residual = x - self.targets
        return float((self.weights * residual) @ residual) + self.constant

    def gradient(self, x: FloatArray) -> FloatArray:
        """Return the (u,) derivatives of f at x."""
        return 2.0 * self.weights * (x - self.targets)

    def lower_bound(self, x: FloatArray, gradient: FloatArray, cheapest: float) -> float:
        """Return a number that f is nowhere below on the polytope.

        By convexity ``f(z) >= f(x) + <c, z - x>`` with c the gradient at x, whatever x is. The
        right side is least at a vertex, and ``f(x) - <c, x> = constant + sum w (t^2 - x^2)``.
        Sums are exact (``math.fsum``); each term carries a few roundings, which the margin
        covers.

        Parameters
        ----------
        gradient
            (u,) ``self.gradient(x)``, the costs the oracle was asked with.
        cheapest
            A proven lower bound of ``<gradient, v>`` over all vertices v.
        """
        w, t = self.weights, self.targets
        terms = w * (t * t - x * x)
        size = math.fsum(w * (t * t + x * x)) + math.fsum(np.abs(gradient)) + abs(cheapest)
        margin = 8.0 * np.finfo(np.float64).eps * (size + self.constant)
        return float(self.constant + math.fsum(terms) + cheapest - margin)

    def exact_step(self, descent: float, direction: FloatArray, longest: float) -> float:
        """Return the step in [0, longest] that minimises f along ``direction``.

        Parameters
        ----------
        descent
            How fast f falls at the start, ``-<gradient, direction>``.
        """
        if descent <= 0.0:
            return 0.0
        curvature = 2.0 * float((self.weights * direction) @ direction)
        if descent >= longest * curvature:
            return longest
        return descent / curvature


def build_objective(observations: Observations, radius: float) -> Objective:
    """Return the objective of a radius in its own units."""
    return Objective(
        targets=observations.means / radius,
        weights=observations.counts / np.float64(observations.n),
        constant=observations.within / radius**2,
        scale=radius**2,
    )
