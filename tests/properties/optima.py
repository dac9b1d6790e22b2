"""Problems that are solved to the end, and what two optima must have in common."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

import intensor
from strategies import Raw, any_weights, observations, seeds, shapes

WAYS = {"fast": 1e-10, 8: 1e-7, 10: 1e-7, 5: 1e-5}
"""Versions, and how closely each is asked to get in no time."""
WITHIN = (intensor.Status.OPTIMAL, intensor.Status.WITHIN_TOLERANCE)
"""Endings with a proven gap within the tolerance."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Observations, a radius and the way to solve them."""

    raw: Raw
    radius: float
    version: int | str = "fast"
    exact: str = "auto"
    signed: bool = False

    def changed(self, *, radius=None, **changes):
        """Return the same problem with other observations."""
        raw = replace(self.raw, **changes)
        return replace(self, raw=raw, radius=self.radius if radius is None else radius)

    @property
    def importance(self):
        raw = self.raw
        return np.ones(len(raw)) if raw.weights is None else raw.weights

    def optimum(self, coords=None, values=None, **place):
        """Return the result, whose gap must be proven to be within the tolerance.

        Coordinates and values may be given in another form, and where to solve with them.
        """
        raw = self.raw
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", intensor.errors.RadiusWarning)
            result = intensor.solve(
                raw.coords if coords is None else coords,
                raw.values if values is None else values,
                shape=raw.shape,
                radius=self.radius,
                signed=self.signed,
                sample_weight=raw.weights,
                version=self.version,
                exact=self.exact,
                rtol=WAYS[self.version],
                threads=1,
                **place,
            )
        assert result.status in WITHIN, result
        return result


@st.composite
def problems(draw):
    """Draw problems of 1 to 5 modes whose optimum is far from or near a perfect fit."""
    version = draw(st.sampled_from(["fast", "fast", "fast", *WAYS]))
    signed = version == "fast" and draw(st.sampled_from([False, False, True]))
    # Weights of all sizes make for slow first-order methods, as any bad condition does.
    uneven = any_weights if version == "fast" else st.floats(0.5, 2.0)
    heavy = draw(st.sampled_from([None, None, uneven]))
    least = -9 if signed else 0
    kind = st.one_of(st.integers(least, 9).map(float), st.floats(float(least), 10.0, width=16))
    shape = shapes(most=5, longest=4, indices=12)
    raw = draw(observations(shape=shape, most=18, values=kind, weights=heavy))
    largest = max(float(np.abs(raw.values).max()), 1.0)
    radius = largest * draw(st.sampled_from([0.3, 0.9, 1.0, 1.7, 6.0]))
    exact = draw(st.sampled_from(["auto", "enumeration", "branch"]))
    return Problem(raw=raw, radius=radius, version=version, exact=exact, signed=signed)


def rounding(problem, result):
    """Return what float64 may hide in an objective: see ``soak.nearest``."""
    square = float(np.average(problem.raw.values**2, weights=problem.importance))
    return 1e-13 * math.sqrt(abs(result.objective) * square) + 1e-28 * square


def assert_same_optimum(one, first, other, second, *, factor=1.0):
    """Assert that two proven optima may be the same number, ``factor`` times the first.

    Each bound is below the other's objective: both are of the same optimum. The objectives are
    then no further apart than the tolerance.
    """
    slack = rounding(other, second) + factor * rounding(one, first)
    assert factor * first.bound <= second.objective + slack
    assert second.bound <= factor * first.objective + slack
    room = max(factor * first.tolerance, second.tolerance)
    assert abs(factor * first.objective - second.objective) <= room + slack


def assert_same_fit(one, first, other, second, *, cells=None, factor=1.0):
    """Assert that two models predict the same at the observed cells of the first problem.

    The objective is the squared distance d^2 of the fit from the data, weighted, and a constant: a
    fit whose objective is g above the optimum is at most sqrt(g) away from the one best fit.

    Parameters
    ----------
    cells
        (n, p) where the first problem's observations are in the second; by default where they are.
    """
    raw = one.raw
    weights = one.importance / one.importance.sum()
    mine = factor * first.model.predict(raw.coords)
    theirs = second.model.predict(raw.coords if cells is None else cells)
    apart = math.sqrt(float(weights @ (mine - theirs) ** 2))
    noise = 1e-12 * math.sqrt(float(weights @ (mine**2 + theirs**2))) + 1e-300
    allowed = factor * math.sqrt(max(first.gap, 0.0)) + math.sqrt(max(second.gap, 0.0))
    hidden = math.sqrt(rounding(other, second)) + factor * math.sqrt(rounding(one, first))
    assert apart <= allowed + hidden + noise


__all__ = ["Problem", "assert_same_fit", "assert_same_optimum", "problems", "seeds"]
