"""The optimum of a tiny problem in rational arithmetic: no rounding, whatever the magnitudes.

As in ``nearest``, the vertices less the means are points, and the optimum is the squared distance
of their convex hull from the origin, plus the variance within cells; Wolfe's method finds it. All
numbers are fractions, so nothing is ever rounded and the answer is the optimum itself.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np


def exact_optimum(shape, coords, values, radius, *, weights=None, signed=False):
    """Return the optimum and the mean of the squared values as fractions."""
    heavy = [1.0] * len(values) if weights is None else weights
    means, shares, within, square = _collapsed(coords, values, heavy)
    cells = list(means)
    size = Fraction(float(radius))
    signs = (1, -1) if signed else (1,)
    rows = [tuple(sign * size * on for on in row) for row in _rows(shape, cells) for sign in signs]
    points = [
        tuple(on - means[cell] for on, cell in zip(row, cells, strict=True)) for row in set(rows)
    ]
    weight = [shares[cell] for cell in cells]
    return within + _nearest(points, weight), square


def exact_objective(model, coords, values, *, weights=None):
    """Return the mean squared error of a model as a fraction, and what was added up for it."""
    heavy = [1.0] * len(values) if weights is None else weights
    boxes = [(Fraction(box.weight), [set(part.tolist()) for part in box.indices]) for box in model]
    total = error = sizes = Fraction(0)
    for cell, value, importance in zip(
        np.asarray(coords).tolist(), values, map(float, heavy), strict=True
    ):
        inside = [
            weight
            for weight, parts in boxes
            if all(index in part for index, part in zip(cell, parts, strict=True))
        ]
        share = Fraction(importance)
        total += share
        error += share * (sum(inside, Fraction(0)) - Fraction(float(value))) ** 2
        sizes += share * sum(map(abs, inside), Fraction(0)) ** 2
    return error / total, sizes / total


def _collapsed(coords, values, weights):
    """Return means and shares by cell, the variance within cells and the mean square."""
    seen = {}
    for cell, value, weight in zip(np.asarray(coords).tolist(), values, weights, strict=True):
        if weight > 0.0:
            pair = Fraction(float(weight)), Fraction(float(value))
            seen.setdefault(tuple(cell), []).append(pair)
    total = sum(weight for pairs in seen.values() for weight, _ in pairs)
    sums = {cell: sum(weight for weight, _ in pairs) for cell, pairs in seen.items()}
    means = {
        cell: sum(weight * value for weight, value in pairs) / sums[cell]
        for cell, pairs in seen.items()
    }
    within = sum(
        weight * (value - means[cell]) ** 2
        for cell, pairs in seen.items()
        for weight, value in pairs
    )
    square = sum(weight * value**2 for pairs in seen.values() for weight, value in pairs)
    shares = {cell: weight / total for cell, weight in sums.items()}
    return means, shares, within / total, square / total


def _rows(shape, cells):
    """Return the distinct vertices as zeros and ones over the cells."""
    starts = list(itertools.accumulate(shape, initial=0))
    return {
        tuple(
            int(all(flags[start + index] for start, index in zip(starts, cell, strict=False)))
            for cell in cells
        )
        for flags in itertools.product((0, 1), repeat=sum(shape))
    }


def _nearest(points, weight):
    """Return the least weighted square of a point of the convex hull."""

    def product(one, other):
        return sum(w * a * b for w, a, b in zip(weight, one, other, strict=True))

    points = sorted(points, key=lambda point: product(point, point))
    corral, mixture = [points[0]], [Fraction(1)]
    while True:
        x = _mixed(corral, mixture)
        best = min(points, key=lambda point: product(point, x))
        if product(best, x) >= product(x, x):
            return product(x, x)
        corral.append(best)
        mixture.append(Fraction(0))
        while True:
            gram = [[product(one, other) for other in corral] for one in corral]
            wanted = _affine(gram)
            if min(wanted) > 0:
                mixture = wanted
                break
            step = min(
                (m / (m - w) for m, w in zip(mixture, wanted, strict=True) if w <= 0 and m > w),
                default=Fraction(0),
            )
            mixture = [m + step * (w - m) for m, w in zip(mixture, wanted, strict=True)]
            kept = [place for place, share in enumerate(mixture) if share > 0]
            corral, mixture = [corral[i] for i in kept], [mixture[i] for i in kept]


def _mixed(points, mixture):
    return tuple(
        sum(share * number for share, number in zip(mixture, column, strict=True))
        for column in zip(*points, strict=True)
    )


def _affine(gram):
    """Return the weights, of sum 1, of the point of least size in the affine hull."""
    scale = max(entry for row in gram for entry in row) or Fraction(1)
    n = len(gram)
    rows = [[entry + scale for entry in row] + [Fraction(1)] for row in gram]
    for place in range(n):
        pivot = next(row for row in range(place, n) if rows[row][place] != 0)
        rows[place], rows[pivot] = rows[pivot], rows[place]
        for row in range(n):
            if row != place and rows[row][place] != 0:
                factor = rows[row][place] / rows[place][place]
                rows[row] = [a - factor * b for a, b in zip(rows[row], rows[place], strict=True)]
    solution = [rows[place][n] / rows[place][place] for place in range(n)]
    total = sum(solution)
    return [number / total for number in solution]
