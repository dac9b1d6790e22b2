"""The optimum of a tiny problem from every vertex there is, with weights and signs."""

from __future__ import annotations

import numpy as np

import zoo


def optimum(shape, coords, values, radius, *, weights=None, signed=False):
    """Return the least weighted mean of squared errors, from the observations as they are.

    Cells are not collapsed: every observation is a row of the least squares problem. The sum
    of the weights is handled as in ``zoo.optimum``; the zero vertex is among the columns, so
    that "at most" is "exactly". A signed polytope has every column with a minus, too.
    """
    coords = np.asarray(coords)
    importance = np.ones(len(coords)) if weights is None else np.asarray(weights, dtype=float)
    root = np.sqrt(importance / importance.sum())
    columns = radius * zoo.distinct_rows(shape, coords).T.astype(float)
    if signed:
        columns = np.hstack((columns, -columns))
    matrix = root[:, np.newaxis] * (columns - np.asarray(values, dtype=float)[:, np.newaxis])
    return float(np.sum((matrix @ zoo.least_squares_weights(matrix)) ** 2))
