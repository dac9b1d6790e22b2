"""Vertices as flags, one byte per index, packed into lanes or words and unpacked again."""

from __future__ import annotations

import numpy as np

from intensor._arrays import FlagArray, IndexArray, WordArray
from intensor.runtime.compiling import njit

ONE = np.uint64(1)


@njit(cache=True, nogil=True)
def join_lanes(flags: FlagArray, chosen: IndexArray, out_lanes: WordArray) -> None:
    """Write row ``chosen[s]`` of the flags to lane s, for up to 64 vertices."""
    for index in range(out_lanes.size):
        word = np.uint64(0)
        for lane in range(chosen.size):
            word |= np.uint64(flags[chosen[lane], index]) << np.uint64(lane)
        out_lanes[index] = word


@njit(cache=True, nogil=True)
def split_lanes(lanes: WordArray, chosen: IndexArray, out_flags: FlagArray) -> None:
    """Write the vertex of lane ``chosen[i]`` to row i of the flags."""
    for row in range(chosen.size):
        shift = np.uint64(chosen[row])
        for index in range(lanes.size):
            out_flags[row, index] = np.uint8((lanes[index] >> shift) & ONE)


@njit(cache=True, nogil=True)
def store_words(flags: FlagArray, first: int, last: int, out_words: WordArray) -> None:
    """Write vertices first..last-1 into the transposed words (see ``Vertices``)."""
    for vertex in range(first, last):
        word = vertex >> 6
        bit = ONE << np.uint64(vertex & 63)
        for index in range(flags.shape[1]):
            if flags[vertex, index]:
                out_words[index, word] |= bit
            else:
                out_words[index, word] &= ~bit
