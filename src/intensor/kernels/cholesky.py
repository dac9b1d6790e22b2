"""An upper triangular Cholesky factor R of a Gram matrix: solve with it, append, delete columns.

Only the leading ``size`` rows and columns of the arrays are in use.
"""

from __future__ import annotations

import numpy as np

from intensor._arrays import FloatArray, IndexArray
from intensor.runtime.compiling import REORDERED, njit


@njit(cache=True, nogil=True, fastmath=REORDERED)
def solve_transposed(factor: FloatArray, size: int, out: FloatArray) -> None:
    """Solve R'y = out in place."""
    for i in range(size):
        row = factor[i]
        out[i] /= row[i]
        value = out[i]
        for j in range(i + 1, size):
            out[j] -= row[j] * value


@njit(cache=True, nogil=True, fastmath=REORDERED)
def solve_upper(factor: FloatArray, size: int, out: FloatArray) -> None:
    """Solve Ry = out in place."""
    for i in range(size - 1, -1, -1):
        row = factor[i]
        total = 0.0
        for j in range(i + 1, size):
            total += row[j] * out[j]
        out[i] = (out[i] - total) / row[i]


@njit(cache=True, nogil=True, fastmath=REORDERED)
def solve_with_ones(factor: FloatArray, size: int, out: FloatArray, out_ones: FloatArray) -> None:
    """Solve R'Ry = out and R'Ry = 1 in one pass over the factor."""
    out_ones[:size] = 1.0
    for i in range(size):
        row = factor[i]
        out[i] /= row[i]
        out_ones[i] /= row[i]
        value, unit = out[i], out_ones[i]
        for j in range(i + 1, size):
            out[j] -= row[j] * value
            out_ones[j] -= row[j] * unit
    for i in range(size - 1, -1, -1):
        row = factor[i]
        total, units = 0.0, 0.0
        for j in range(i + 1, size):
            total += row[j] * out[j]
            units += row[j] * out_ones[j]
        out[i] = (out[i] - total) / row[i]
        out_ones[i] = (out_ones[i] - units) / row[i]


@njit(cache=True, nogil=True, inline="always")
def append_column(
    gram: FloatArray,
    ridge: float,
    vertex: int,
    size: int,
    out_column: FloatArray,
    out_factor: FloatArray,
    out_support: IndexArray,
) -> None:
    """Append a column for one more vertex to the factor; ``out_column`` is working memory."""
    for i in range(size):
        out_column[i] = gram[vertex, out_support[i]]  # symmetric, and contiguous this way
    solve_transposed(out_factor, size, out_column)
    left = gram[vertex, vertex] + ridge
    for i in range(size):
        out_factor[i, size] = out_column[i]
        left -= out_column[i] * out_column[i]
    out_factor[size, size] = np.sqrt(max(left, ridge))
    out_support[size] = vertex


@njit(cache=True, nogil=True, inline="always")
def delete_column(index: int, size: int, out_factor: FloatArray, out_support: IndexArray) -> None:
    """Delete a column of the factor and make it triangular again by rotations."""
    for i in range(index, size - 1):
        out_support[i] = out_support[i + 1]
    for i in range(size):
        row = out_factor[i]
        for j in range(max(index, i - 1), size - 1):
            row[j] = row[j + 1]
    for i in range(index, size - 1):
        upper, lower = out_factor[i], out_factor[i + 1]
        length = np.hypot(upper[i], lower[i])
        cosine, sine = upper[i] / length, lower[i] / length
        upper[i] = length
        for j in range(i + 1, size - 1):
            above, below = upper[j], lower[j]
            upper[j] = cosine * above + sine * below
            lower[j] = cosine * below - sine * above
