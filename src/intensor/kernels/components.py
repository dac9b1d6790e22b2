"""Sums over cells of products of graded components: predictions, and normal equations of a mode.

``factors`` are (sum(shape), k) numbers in [0, 1], a row per index of every mode and a column per
component, so that the loops over components run along memory. Local steps alone use these sums,
and no bound does, so additions may be reordered (fast-math).
"""

from __future__ import annotations

import numpy as np

from intensor._arrays import AnyArray, FloatArray, IndexArray
from intensor.runtime.compiling import njit

CELLS_AT_ONCE = 8  # cells whose outer products are added to a matrix in one pass over it
FAST = {"contract", "reassoc", "nsz", "arcp"}  # fast-math that keeps infinities and NaN


@njit(cache=True, nogil=True, fastmath=FAST)
def fit_components(
    rows: AnyArray,
    factors: FloatArray,
    weights: FloatArray,
    targets: FloatArray,
    shares: FloatArray,
    out_costs: FloatArray,
    out_totals: FloatArray,
) -> None:
    """Evaluate a weighted sum of components on the cells, and its squared error.

    The parameters are those of ``fit_cells``, with ``factors`` in the place of words.
    """
    n_modes, count = rows.shape[1], weights.size
    terms = np.empty(count)
    error = 0.0
    product = 0.0
    for cell in range(rows.shape[0]):
        first = factors[rows[cell, 0]]
        x = 0.0
        if n_modes == 2:
            second = factors[rows[cell, 1]]
            for number in range(count):
                x += weights[number] * first[number] * second[number]
        elif n_modes == 3:
            second, third = factors[rows[cell, 1]], factors[rows[cell, 2]]
            for number in range(count):
                x += weights[number] * first[number] * second[number] * third[number]
        else:
            for number in range(count):
                terms[number] = weights[number] * first[number]
            for mode in range(1, n_modes):
                other = factors[rows[cell, mode]]
                for number in range(count):
                    terms[number] *= other[number]
            for number in range(count):
                x += terms[number]
        residual = x - targets[cell]
        weighted = shares[cell] * residual
        out_costs[cell] = 2.0 * weighted
        error += weighted * residual
        product += 2.0 * weighted * x
    out_totals[0] = error
    out_totals[1] = product


@njit(cache=True, nogil=True, fastmath=FAST)
def normal_equations(  # noqa: PLR0912 - one pass over the cells
    rows: AnyArray,
    targets: FloatArray,
    shares: FloatArray,
    starts: IndexArray,
    mode: int,
    factors: FloatArray,
    weights: FloatArray,
    offset: int,
    out_matrices: FloatArray,
    out_slopes: FloatArray,
    out_errors: FloatArray,
) -> None:
    """Sum up the normal equations of some indices of a mode, all components together.

    With z the (k,) products of a cell's factors in all modes but this one, an index gets the matrix
    ``sum share z z'``, the slope ``sum share residual z`` (half the derivative of the objective in
    the factors of the index times the weights) and the error ``sum share residual^2``.

    Parameters
    ----------
    rows, targets, shares
        Cells in order of their index of this mode; ``rows`` (u, p) are positions in the factors.
    starts
        (m + 1,) first cell of each index, and the end of the last.
    offset
        Position of the first of these indices in the factors.
    out_matrices, out_slopes, out_errors
        (m, k, k), (m, k) and (m,).
    """
    n_modes, count = rows.shape[1], weights.size
    z = np.zeros((CELLS_AT_ONCE, count))
    shared = np.zeros((CELLS_AT_ONCE, count))
    own = np.empty(count)
    modes = np.empty(n_modes - 1, dtype=np.int64)
    for other in range(n_modes - 1):
        modes[other] = other if other < mode else other + 1
    for index in range(starts.size - 1):
        matrix, slope = out_matrices[index], out_slopes[index]
        matrix[:] = 0.0
        slope[:] = 0.0
        error = 0.0
        for number in range(count):
            own[number] = weights[number] * factors[offset + index, number]
        for begin in range(starts[index], starts[index + 1], CELLS_AT_ONCE):
            size = min(CELLS_AT_ONCE, starts[index + 1] - begin)
            for place in range(size):
                cell = begin + place
                if n_modes == 3:
                    first, second = rows[cell, modes[0]], rows[cell, modes[1]]
                    for number in range(count):
                        z[place, number] = factors[first, number] * factors[second, number]
                else:
                    for number in range(count):
                        z[place, number] = 1.0
                    for other in modes:
                        position = rows[cell, other]
                        for number in range(count):
                            z[place, number] *= factors[position, number]
                x = 0.0
                for number in range(count):
                    x += own[number] * z[place, number]
                share = shares[cell]
                residual = x - targets[cell]
                weighted = share * residual
                error += weighted * residual
                for number in range(count):
                    slope[number] += weighted * z[place, number]
                    shared[place, number] = share * z[place, number]
            for place in range(size, CELLS_AT_ONCE):
                for number in range(count):
                    z[place, number] = shared[place, number] = 0.0
            _add_products(z, shared, matrix)
        for first in range(count):
            for second in range(first):
                matrix[second, first] = matrix[first, second]
        out_errors[index] = error


@njit(cache=True, nogil=True, fastmath=FAST)
def _add_products(z: FloatArray, shared: FloatArray, out_matrix: FloatArray) -> None:
    """Add the outer products of ``CELLS_AT_ONCE`` cells to the lower half of a matrix.

    Two rows are filled at a time, so that every number of ``z`` that is loaded is used twice.
    Columns are filled to a multiple of 8, a little beyond the diagonal, so that loops vectorise.
    """
    count = out_matrix.shape[0]
    for first in range(0, count - 1, 2):
        a0, a1, a2, a3 = shared[0, first], shared[1, first], shared[2, first], shared[3, first]
        a4, a5, a6, a7 = shared[4, first], shared[5, first], shared[6, first], shared[7, first]
        b0, b1 = shared[0, first + 1], shared[1, first + 1]
        b2, b3 = shared[2, first + 1], shared[3, first + 1]
        b4, b5 = shared[4, first + 1], shared[5, first + 1]
        b6, b7 = shared[6, first + 1], shared[7, first + 1]
        for column in range(min(count, ((first + 1) // 8 + 1) * 8)):
            z0, z1, z2, z3 = z[0, column], z[1, column], z[2, column], z[3, column]
            z4, z5, z6, z7 = z[4, column], z[5, column], z[6, column], z[7, column]
            out_matrix[first, column] += (
                a0 * z0 + a1 * z1 + a2 * z2 + a3 * z3 + a4 * z4 + a5 * z5 + a6 * z6 + a7 * z7
            )
            out_matrix[first + 1, column] += (
                b0 * z0 + b1 * z1 + b2 * z2 + b3 * z3 + b4 * z4 + b5 * z5 + b6 * z6 + b7 * z7
            )
    if count % 2:
        last = count - 1
        for place in range(CELLS_AT_ONCE):
            factor = shared[place, last]
            for column in range(count):
                out_matrix[last, column] += factor * z[place, column]
