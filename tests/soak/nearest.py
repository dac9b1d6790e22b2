"""The optimum of a small problem from all of its vertices, by a method that the package has not.

With a coordinate for each cell, the vertices, less the means and times the roots of the shares, are
points of a space, and the objective is the squared distance of their convex hull from the origin,
plus the variance within cells. Wolfe's method finds the nearest point: a few points whose affine
hull is nearest within their convex hull, exchanged until no vertex lies before the plane through
the nearest point. That vertex is looked for among all there are: all on-off patterns of all modes
but the longest, whose indices are then read off the signs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

MOST = 5000
CLOSE = 1e-14
"""Gap at which to stop, in units of what can be told apart: see ``rounding``."""
PATIENCE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimum:
    """What is known of the least objective.

    Attributes
    ----------
    upper
        The objective of a feasible tensor.
    lower
        No feasible tensor has less.
    square
        The mean of the squared values.
    radius
        Of the polytope.
    """

    upper: float
    lower: float
    square: float
    radius: float

    @property
    def rounding(self):
        """What float64 may hide in either of them.

        An observation's residual is known to about 1e-16 of its value, whatever its own size, so
        an objective f of values of mean square s is known to a few 1e-16 times ``sqrt(f s)``.
        """
        return 1e-14 * math.sqrt(self.upper * self.square) + 1e-30 * self.square

    @property
    def known_to(self):
        """How far apart the two may be.

        The gap is a product with a vertex, as long as the radius, and what is rounded there is
        the nearest point, to about 1e-16 of the values. The feasible objective does not suffer
        from that: near the optimum it hardly depends on the point.
        """
        return 1e-11 * self.square + 1e-15 * self.radius * math.sqrt(self.square)


def optimum(shape, coords, values, radius, *, weights=None, signed=False):
    """Return bounds of the optimum that lie as close as float64 allows."""
    importance = np.ones(len(coords)) if weights is None else np.asarray(weights, dtype=float)
    coords, shares, values, within, square = _collapsed(coords, values, importance)
    root = np.sqrt(shares)
    vertices = _Vertices(shape, coords)
    points = [-root * values]
    weight = np.ones(1)
    x = points[0]
    lower, least, idle = 0.0, math.inf, 0
    for _ in range(MOST):
        size = math.fsum(x * x)
        idle = 0 if size < least * (1.0 - 1e-15) else idle + 1
        least = min(size, least)
        before = min(
            (
                sign * radius * root * vertices.cheapest(sign * radius * root * x) - root * values
                for sign in ((1.0, -1.0) if signed else (1.0,))
            ),
            key=lambda point: math.fsum(point * x),
        )
        behind = math.fsum(before * x)
        if behind > 0.0:
            lower = max(lower, behind * (behind / size))
        if size - behind <= CLOSE * math.sqrt(size * square) + 1e-31 * square or idle > PATIENCE:
            break
        points.append(before)
        weight = np.append(weight, 0.0)
        points, weight = _nearest_of(points, weight)
        x = weight @ np.array(points)
    return Optimum(
        upper=within + least, lower=within + min(lower, least), square=square, radius=radius
    )


def _collapsed(coords, values, importance):
    """Return cells, their shares and means, the variance within them and the mean square."""
    cells = {}
    for cell, value, weight in zip(coords.tolist(), values.tolist(), importance, strict=True):
        if weight > 0.0:
            cells.setdefault(tuple(cell), []).append((float(weight), value))
    total = math.fsum(importance)
    sums = np.array([math.fsum(weight for weight, _ in seen) for seen in cells.values()])
    means = np.array(
        [math.fsum(weight * value for weight, value in seen) for seen in cells.values()]
    )
    means /= sums
    within = math.fsum(
        weight * (value - mean) ** 2
        for seen, mean in zip(cells.values(), means.tolist(), strict=True)
        for weight, value in seen
    )
    square = math.fsum(importance * values**2)
    return np.array(list(cells)), sums / total, means, within / total, square / total


def _nearest_of(points, weight):
    """Return the points that span the nearest one, and their weights: Wolfe's minor cycle."""
    while True:
        matrix = np.array(points)
        base = int(np.argmin(np.abs(matrix).max(axis=1)))
        others = [place for place in range(len(points)) if place != base]
        span = (matrix[others] - matrix[base]).T
        found = np.linalg.lstsq(span, -matrix[base], rcond=None)[0]
        wanted = np.empty(len(points))
        wanted[others] = found
        wanted[base] = 1.0 - found.sum()
        if np.all(wanted >= 0.0):
            return points, wanted / wanted.sum()
        falling = wanted < 0.0
        step = float((weight[falling] / (weight[falling] - wanted[falling])).min())
        weight = np.maximum(weight + step * (wanted - weight), 0.0)
        blocking = np.flatnonzero(falling)[
            np.argmin(weight[falling] / np.maximum(np.abs(wanted[falling]), 1e-300))
        ]
        weight[blocking] = 0.0
        kept = np.flatnonzero(weight > 0.0)
        points = [points[place] for place in kept]
        weight = weight[kept] / weight[kept].sum()
        if len(points) == 1:
            return points, weight


class _Vertices:
    """All vertices on some cells, by the patterns of all modes but the longest."""

    def __init__(self, shape, coords):
        free = int(np.argmax(shape))
        fixed = [mode for mode in range(len(shape)) if mode != free]
        digits = sum(shape[mode] for mode in fixed)
        patterns = (np.arange(1 << digits)[:, np.newaxis] >> np.arange(digits)) & 1
        inside = np.ones((len(patterns), len(coords)), dtype=np.uint8)
        start = 0
        for mode in fixed:
            inside &= patterns[:, start + coords[:, mode]].astype(np.uint8)
            start += shape[mode]
        self._inside = np.unique(inside, axis=0).astype(float)
        self._index = coords[:, free]
        self._spread = np.eye(shape[free])[self._index]

    def cheapest(self, costs):
        """Return the vertex of least cost, as zeros and ones over the cells."""
        prices = self._inside @ (costs[:, np.newaxis] * self._spread)
        best = int(np.argmin(np.minimum(prices, 0.0).sum(axis=1)))
        return self._inside[best] * (prices[best] < 0.0)[self._index]
