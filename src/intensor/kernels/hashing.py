"""Random cells, drawn by a hash: the draw does not depend on how cells are split into shards."""

from __future__ import annotations

import numpy as np

from intensor._arrays import AnyArray, IndexArray
from intensor.runtime.compiling import njit

# The constants and shifts of splitmix64.
INCREMENT = np.uint64(0x9E3779B97F4A7C15)
FIRST_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
SECOND_FACTOR = np.uint64(0x94D049BB133111EB)
SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))


@njit(cache=True, nogil=True)
def draw_cells(rows: AnyArray, seed: np.uint64, threshold: np.uint64, out_cells: IndexArray) -> int:
    """Write the numbers of the cells whose hash is below a threshold; return how many there are.

    ``rows`` (u, p) are the positions of each cell's indices. The threshold is the share of cells to
    draw, times 2^64.

    Examples
    --------
    >>> rows = np.arange(2000, dtype=np.uint16).reshape(1000, 2)
    >>> found = np.empty(1000, dtype=np.int64)
    >>> 80 < draw_cells(rows, np.uint64(1), np.uint64(2**64 // 10), found) < 120
    True
    """
    count = 0
    for cell in range(rows.shape[0]):
        hashed = seed
        for mode in range(rows.shape[1]):
            hashed = (hashed ^ np.uint64(rows[cell, mode])) + INCREMENT
            hashed = (hashed ^ (hashed >> SHIFTS[0])) * FIRST_FACTOR
            hashed = (hashed ^ (hashed >> SHIFTS[1])) * SECOND_FACTOR
            hashed = hashed ^ (hashed >> SHIFTS[2])
        if hashed < threshold:
            out_cells[count] = cell
            count += 1
    return count
