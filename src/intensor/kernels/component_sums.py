"""Sums over the graded components of a model.

Entries of all components at one index are next to each other, so products are taken for several
components at once. Terms are added in the order of the components, without fast-math, so that the
plain twins in the tests give the same bits.
"""

from __future__ import annotations

import numpy as np

from intensor._arrays import FloatArray, IndexArray
from intensor.runtime.compiling import njit


@njit(cache=True, nogil=True)
def add_components(
    factors: FloatArray,
    weights: FloatArray,
    cells: IndexArray,
    offsets: IndexArray,
    out_values: FloatArray,
) -> None:
    """Add the values of a weighted sum of components to the values of the cells.

    ``factors`` are (sum(shape), g) entries (see ``Components``), in which mode k begins at
    ``offsets[k]``; ``cells`` are (u, p) indices. A term is the weight times the entries of the
    modes, multiplied from the first mode to the last.
    """
    n_cells, n_modes = cells.shape
    count = weights.size
    terms = np.empty(count)
    for cell in range(n_cells):
        row = cells[cell, 0]
        for k in range(count):
            terms[k] = weights[k] * factors[row, k]
        for mode in range(1, n_modes):
            row = offsets[mode] + cells[cell, mode]
            for k in range(count):
                terms[k] *= factors[row, k]
        total = 0.0
        for k in range(count):
            total += terms[k]
        out_values[cell] += total
