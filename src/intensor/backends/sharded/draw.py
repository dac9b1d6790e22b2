"""Random cells by a hash of the cell: the same ones however the cells are spread over shards."""

from __future__ import annotations

import numpy as np

from intensor._arrays import AnyArray, IndexArray
from intensor.runtime.compiling import njit

__all__ = ["drawn_cells"]

STIR = np.uint64(0x9E3779B97F4A7C15)
MIX = np.uint64(0xBF58476D1CE4E5B9)
MIX_AGAIN = np.uint64(0x94D049BB133111EB)
SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))


@njit(cache=True, nogil=True)
def drawn_cells(rows: AnyArray, seed: np.uint64, limit: np.uint64) -> IndexArray:
    """Return the places of the cells whose hash is below a limit.

    Parameters
    ----------
    rows
        (u, p) positions of each cell's indices.
    limit
        Of 2^64: the share of the cells to draw.

    Examples
    --------
    >>> cells = np.arange(2000).reshape(1000, 2)
    >>> 80 < drawn_cells(cells, np.uint64(1), np.uint64(2**64 // 10)).size < 120
    True
    """
    found = np.empty(rows.shape[0], dtype=np.int64)
    count = 0
    for cell in range(rows.shape[0]):
        hashed = seed
        for mode in range(rows.shape[1]):
            hashed = (hashed ^ np.uint64(rows[cell, mode])) + STIR
            hashed = (hashed ^ (hashed >> SHIFTS[0])) * MIX
            hashed = (hashed ^ (hashed >> SHIFTS[1])) * MIX_AGAIN
            hashed = hashed ^ (hashed >> SHIFTS[2])
        found[count] = cell
        count += int(hashed < limit)
    return found[:count].copy()
