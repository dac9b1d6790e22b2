"""Up to 64 alternating minimisations at once, one bit lane each.

``lanes`` holds one word per index of every mode, laid end to end like flags: bit s says whether
lane s has that index on. The membership of a cell in 64 vertices then takes p - 1 ANDs. ``rows``
(u, p) holds the positions of each cell's indices in the lanes, and ``low`` is the position at which
a mode begins. ``live`` are the lanes whose value still falls; the others are skipped. Sums are
(r, 64), one for each index of a mode and lane.
"""

from __future__ import annotations

import numpy as np

from intensor._arrays import AnyArray, FlagArray, FloatArray, IndexArray, WordArray
from intensor.kernels.bits import NONE, ONE, trailing_zeros
from intensor.runtime.compiling import njit

EVERY_THIRD_LANE = np.uint64(0x9249249249249249)
"""Bits 0, 3, 6, ...: the known lanes in which a quarter of the indices is flipped."""
SPARSE_LANES = np.uint64(0x8888888888888888)
"""Bits 3, 7, 11, ...: the random lanes in which a quarter of the indices is on."""
DENSE_LANES = np.uint64(0x4444444444444444)
"""Bits 2, 6, 10, ...: the random lanes in which three quarters of the indices are on."""


@njit(cache=True, nogil=True)
def lane_sums(
    rows: AnyArray,
    costs: FloatArray,
    lanes: WordArray,
    live: np.uint64,
    mode: int,
    low: int,
    out_sums: FloatArray,
) -> None:
    """Sum the cost of each index of a mode, lane by lane."""
    n_modes = rows.shape[1]
    out_sums[:] = 0.0
    for cell in range(rows.shape[0]):
        members = live
        for other in range(mode):
            members &= lanes[rows[cell, other]]
        for other in range(mode + 1, n_modes):
            members &= lanes[rows[cell, other]]
        if members != NONE:
            cost = costs[cell]
            index = rows[cell, mode] - low
            while members != NONE:
                out_sums[index, trailing_zeros(members)] += cost
                members &= members - ONE


@njit(cache=True, nogil=True)
def lane_products(
    rows: AnyArray, lanes: WordArray, live: np.uint64, first: int, last: int, out_words: WordArray
) -> None:
    """Write the live lanes in which each cell is on in all of the modes first..last-1."""
    for cell in range(rows.shape[0]):
        members = live
        for mode in range(first, last):
            members &= lanes[rows[cell, mode]]
        out_words[cell] = members


@njit(cache=True, nogil=True, inline="always")
def lane_sums_within(
    rows: AnyArray,
    costs: FloatArray,
    lanes: WordArray,
    others: WordArray,
    mode: int,
    first: int,
    last: int,
    low: int,
    out_sums: FloatArray,
) -> None:
    """Sum the cost of each index of a mode, with the modes outside first..last-1 fixed.

    ``others`` (u,) are the lanes in which each cell is on in all of these fixed modes.
    """
    out_sums[:] = 0.0
    for cell in range(rows.shape[0]):
        members = others[cell]
        for other in range(first, mode):
            members &= lanes[rows[cell, other]]
        for other in range(mode + 1, last):
            members &= lanes[rows[cell, other]]
        if members != NONE:
            cost = costs[cell]
            index = rows[cell, mode] - low
            while members != NONE:
                out_sums[index, trailing_zeros(members)] += cost
                members &= members - ONE


@njit(cache=True, nogil=True)
def lane_sums_around(
    rows: AnyArray,
    costs: FloatArray,
    shares: FloatArray,
    origins: WordArray,
    weights: FloatArray,
    lanes: WordArray,
    live: np.uint64,
    mode: int,
    low: int,
    out_sums: FloatArray,
) -> None:
    """Sum the cost of each index of a mode when a vertex in use is exchanged for another.

    Replacing a vertex v of weight w by v' changes the objective by a constant plus w times the sum
    over v' of ``cost + share w (1 - 2 v)``, which includes the curvature. Bit s of ``origins`` (u,)
    says whether the vertex to exchange in lane s, whose weight is ``weights[s]``, contains the
    cell.
    """
    n_modes = rows.shape[1]
    out_sums[:] = 0.0
    for cell in range(rows.shape[0]):
        members = live
        for other in range(mode):
            members &= lanes[rows[cell, other]]
        for other in range(mode + 1, n_modes):
            members &= lanes[rows[cell, other]]
        if members != NONE:
            cost, share, inside = costs[cell], shares[cell], origins[cell]
            index = rows[cell, mode] - low
            while members != NONE:
                lane = trailing_zeros(members)
                change = share * weights[lane]
                if (inside >> np.uint64(lane)) & ONE:
                    change = -change
                out_sums[index, lane] += cost + change
                members &= members - ONE


@njit(cache=True, nogil=True)
def switch_lanes(
    sums: FloatArray, live: np.uint64, count: int, out_lanes: WordArray, out_values: FloatArray
) -> None:
    """Switch on exactly the indices of negative cost, in every live lane.

    ``out_lanes`` (r,) is the part of the lanes that belongs to the mode, and the first ``count``
    lanes are in use. ``out_values`` (64,) is filled with the value of each lane.
    """
    out_values[:] = 0.0
    for index in range(out_lanes.size):
        word = NONE
        for lane in range(count):
            if sums[index, lane] < 0.0:
                word |= ONE << np.uint64(lane)
                out_values[lane] += sums[index, lane]
        out_lanes[index] = (out_lanes[index] & ~live) | (word & live)


@njit(cache=True, nogil=True)
def descend_lanes(
    rows: AnyArray,
    offsets: IndexArray,
    costs: FloatArray,
    count: int,
    max_sweeps: int,
    sums: FloatArray,
    out_lanes: WordArray,
    out_values: FloatArray,
) -> None:
    """Minimise over one mode after the other until no lane's value falls any more.

    The modes are split into two halves. While one half is minimised over, the membership in the
    other half stays the same and is computed only once. That saves half of the look-ups.

    Mode k begins at ``offsets[k]`` in the lanes, and ``sums`` (longest mode, 64) is working memory.
    ``out_lanes`` holds the starts on entry and the vertices found on return; ``out_values`` (64,)
    is filled with their values, infinite for lanes after the first ``count``.
    """
    n_cells, n_modes = rows.shape
    middle = n_modes // 2
    others = np.empty(n_cells, dtype=np.uint64)
    values = np.empty(64)
    out_values[:] = np.inf
    live = ~NONE if count == 64 else (ONE << np.uint64(count)) - ONE
    for _ in range(max_sweeps):
        for half in range(2):
            first, last = (0, middle) if half == 0 else (middle, n_modes)
            fixed_first, fixed_last = (middle, n_modes) if half == 0 else (0, middle)
            lane_products(rows, out_lanes, live, fixed_first, fixed_last, others)
            for mode in range(first, last):
                low, high = offsets[mode], offsets[mode + 1]
                part = sums[: high - low]
                lane_sums_within(rows, costs, out_lanes, others, mode, first, last, low, part)
                switch_lanes(part, live, count, out_lanes[low:high], values)
        live = still_falling(live, values, out_values)
        if live == NONE:
            return


@njit(cache=True, nogil=True)
def still_falling(live: np.uint64, values: FloatArray, out_values: FloatArray) -> np.uint64:
    """Copy the values that fell and return the lanes in which they did."""
    for lane in range(64):
        bit = ONE << np.uint64(lane)
        if live & bit != NONE:
            if values[lane] < out_values[lane]:
                out_values[lane] = values[lane]
            else:
                live &= ~bit
    return live


@njit(cache=True, nogil=True)
def mix_starts(noise: WordArray, known: WordArray, n_known: int, out_lanes: WordArray) -> None:
    """Make a start in every lane from (4, sum(shape)) random words and known vertices.

    The first ``n_known`` lanes are perturbed vertices: of every three, one has a quarter, one an
    eighth and one a sixteenth of its indices flipped. The others are random: of every four, two
    have half of the indices on, one a quarter and one three quarters.
    """
    first = ~NONE if n_known == 64 else (ONE << np.uint64(n_known)) - ONE
    for index in range(out_lanes.size):
        half = noise[0, index]
        quarter = half & noise[1, index]
        eighth = quarter & noise[2, index]
        sixteenth = eighth & noise[3, index]
        flips = quarter & EVERY_THIRD_LANE
        flips |= eighth & (EVERY_THIRD_LANE << ONE)
        flips |= sixteenth & (EVERY_THIRD_LANE << (ONE + ONE))
        fresh = half & ~(SPARSE_LANES | DENSE_LANES)
        fresh |= quarter & SPARSE_LANES
        fresh |= (half | noise[1, index]) & DENSE_LANES
        out_lanes[index] = (known[index] ^ flips) & first | fresh & ~first


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
