"""Rows of terms made tidy before they become a model: scaled, merged and sorted."""

from __future__ import annotations

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray, Shape
from intensor.errors import ValuesError
from intensor.problem.vertex import mode_offsets


def scale_rows(rows: AnyArray, weights: FloatArray, shape: Shape) -> tuple[FloatArray, FloatArray]:
    """Scale the largest entry of every vector to 1; drop terms with a vector of zeros."""
    if not ((rows >= 0.0) & (rows <= 1.0)).all():
        raise ValuesError("factors have entries that are not numbers from 0 to 1")
    starts = mode_offsets(shape)[:-1]
    largest = np.maximum.reduceat(rows, starts, axis=1)
    kept = (largest > 0.0).all(axis=1)
    largest = largest[kept]
    # The sum turns -0.0 into 0.0, so that equal rows have equal bits.
    scaled = rows[kept] / np.repeat(largest, shape, axis=1) + 0.0
    return scaled, weights[kept] * largest.prod(axis=1)


def merge_equal(rows: AnyArray, weights: FloatArray) -> FloatArray:
    """Return weights in which the first of equal rows has the sum of theirs, and the others 0."""
    first: dict[bytes, int] = {}
    total = np.zeros(len(rows))
    for row, weight in enumerate(weights.tolist()):
        total[first.setdefault(rows[row].tobytes(), row)] += weight
    return total


def largest_first(weights: FloatArray) -> IndexArray:
    """Return the positions of the weights that are not 0, the largest in size first."""
    used = np.flatnonzero(weights)
    return used[np.argsort(-np.abs(weights[used]), kind="stable")]
