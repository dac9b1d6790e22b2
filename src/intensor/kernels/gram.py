"""The vertices in use as packed bits over the cells, and their Gram matrix.

Row i of ``members`` is vertex i: bit j % 64 of word j // 64 says whether it contains cell j.
Cells that were observed more than once come first, so that their extra counts fill a short
prefix of bit planes.
"""

from __future__ import annotations

import numpy as np

from intensor._arrays import AnyArray, FloatArray, WordArray
from intensor.kernels.bits import NONE, ONE, popcount, trailing_zeros
from intensor.runtime.compiling import njit


@njit(cache=True, nogil=True)
def pack_members(
    rows: AnyArray, lanes: WordArray, count: int, first: int, last: int, out_members: WordArray
) -> None:
    """Write the words first..last-1 of the members for the ``count`` vertices of the lanes.

    ``rows`` (u, p) are the positions of each cell's indices in ``lanes``, which has a bit per
    vertex.
    """
    n_cells, n_modes = rows.shape
    block = np.empty(64, dtype=np.uint64)
    for word in range(first, last):
        for bit in range(64):
            cell = 64 * word + bit
            inside = NONE
            if cell < n_cells:
                inside = lanes[rows[cell, 0]]
                for mode in range(1, n_modes):
                    inside &= lanes[rows[cell, mode]]
            block[bit] = inside
        transpose_bits(block)
        for vertex in range(count):
            out_members[vertex, word] = block[vertex]


@njit(cache=True, nogil=True, inline="always")
def transpose_bits(out_block: WordArray) -> None:
    """Transpose a 64 x 64 bit matrix in place, swapping ever smaller squares."""
    width = np.uint64(32)
    mask = np.uint64(0x00000000FFFFFFFF)
    while width != NONE:
        row = NONE
        while row < np.uint64(64):
            other = row | width
            swap = ((out_block[row] >> width) ^ out_block[other]) & mask
            out_block[row] ^= swap << width
            out_block[other] ^= swap
            row = ((row | width) + ONE) & ~width
        width >>= ONE
        mask ^= mask << width


@njit(cache=True, nogil=True)
def gram_rows(
    members: WordArray, extra: WordArray, first: int, last: int, scale: float, out_gram: FloatArray
) -> None:
    """Fill rows and columns first..last-1 of the Gram matrix.

    ``extra`` are bit planes of the counts minus 1 (see ``count_planes``), ``scale`` is the share of
    one observation, 1 / n.
    """
    n_words = members.shape[1]
    for row in range(first, last):
        for other in range(row + 1):
            total = 0
            for word in range(n_words):
                total += popcount(members[row, word] & members[other, word])
            for plane in range(extra.shape[0]):
                repeats = 0
                for word in range(extra.shape[1]):
                    both = members[row, word] & members[other, word]
                    repeats += popcount(both & extra[plane, word])
                total += repeats << plane
            out_gram[row, other] = total * scale
            out_gram[other, row] = total * scale


@njit(cache=True, nogil=True)
def gram_rows_weighted(
    members: WordArray, shares: FloatArray, first: int, last: int, out_gram: FloatArray
) -> None:
    """Fill rows and columns first..last-1 of the Gram matrix from the (u,) shares of the cells."""
    for row in range(first, last):
        for other in range(row + 1):
            total = 0.0
            for word in range(members.shape[1]):
                both = members[row, word] & members[other, word]
                while both != NONE:
                    total += shares[64 * word + trailing_zeros(both)]
                    both &= both - ONE
            out_gram[row, other] = total
            out_gram[other, row] = total
