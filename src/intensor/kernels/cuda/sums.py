"""Sums over cells as CUDA kernels; twins of those in ``lanes`` and ``packed``.

A block takes tiles of ``TILE`` cells in turn, one per thread. Grids depend on the number of cells
alone, partial sums of floats are added up in the order of the blocks, and sums that many threads
add to are of integers: the same data gives the same bits, whatever the device.
"""

from __future__ import annotations

from typing import Any

import numba.cuda
import numpy as np

from intensor.arrays import AnyArray, FloatArray, IndexArray, WordArray
from intensor.kernels.cuda.device import simulated

cuda: Any = numba.cuda

__all__ = [
    "AT_ONCE",
    "PAIRS",
    "TILE",
    "add_up",
    "bound_sums",
    "fit_cells",
    "gram_block",
    "gram_block_weighted",
    "grid_of",
    "lane_sums",
    "lane_sums_runs",
    "switch_lanes",
    "vertex_sums",
]

TILE = 64 if simulated() else 256
"""Threads of a block, and cells that it takes at a time. The simulator's are slow."""
MOST_BLOCKS = 8192
WARP = 32
ALL_LANES = 0xFFFFFFFF
PARTS = TILE // WARP
PADDED = PARTS + 1
"""Numbers of neighbouring vertices are then in different banks of the shared memory."""
PAIRS = 4096 // TILE
"""Entries of a block of the Gram matrix that a thread of ``gram_block`` counts."""
TALK = TILE if simulated() else 1
"""What lanes tell each other under the simulator."""
AT_ONCE = 2
"""Words whose tables ``fit_cells`` holds: 16 KiB each."""
AHEAD = 4
"""Cells that a thread of ``fit_cells`` has in work at a time, so that it waits for memory once."""
STRETCH = 16
"""Cells between two looks at whether the index changes, in ``lane_sums_runs``."""
SHARES = 2.0**61
"""What the shares of all cells together are, as a whole number."""
ONE = np.uint64(1)
LOW_HALF = np.uint64(2**32 - 1)
HALF = np.uint64(32)
EIGHT = np.uint64(8)
LOWEST = np.uint64(255)
NONE = np.uint64(0)
ALL = np.uint64(2**64 - 1)


def grid_of(n_cells: int) -> int:
    """Return how many blocks go through so many cells."""
    return max(1, min(MOST_BLOCKS, -(-n_cells // TILE)))


@cuda.jit(device=True, inline=True)
def _inside(rows: AnyArray, words: WordArray, word: int, cell: int) -> Any:
    """Return which of up to 64 vertices contain a cell."""
    members = ALL
    for mode in range(rows.shape[0]):
        members &= words[rows[mode, cell], word]
    return members


@cuda.jit(device=True, inline="always")
def add_up(partial: FloatArray) -> None:
    """Add up each row of a shared array with a column per thread, always in the same order."""
    thread = cuda.threadIdx.x
    width = TILE // 2
    while width > 0:
        cuda.syncthreads()
        if thread < width:
            for kind in range(partial.shape[0]):
                partial[kind, thread] += partial[kind, thread + width]
        width //= 2
    cuda.syncthreads()


@cuda.jit(device=True, inline="always")
def _find_largest(shared: FloatArray) -> None:
    """Find the largest number of a shared array with one per thread."""
    thread = cuda.threadIdx.x
    width = TILE // 2
    while width > 0:
        cuda.syncthreads()
        if thread < width:
            shared[thread] = max(shared[thread], shared[thread + width])
        width //= 2
    cuda.syncthreads()


@cuda.jit(device=True, inline="always")
def _halve(word: np.uint64, out_halves: AnyArray) -> None:
    """Write a thread's word where others look at one of its halves."""
    out_halves[0, cuda.threadIdx.x] = np.uint32(word & LOW_HALF)
    out_halves[1, cuda.threadIdx.x] = np.uint32(word >> HALF)


@cuda.jit(cache=True)
def fit_cells(  # noqa: PLR0912  (most of them are loops over a thread's cells, unrolled)
    rows: AnyArray,
    words: WordArray,
    first: int,
    last: int,
    tables: FloatArray,
    targets: FloatArray,
    shares: AnyArray,
    step: int,
    one_share: float,
    more: bool,
    out_costs: FloatArray,
    out_totals: FloatArray,
) -> None:
    """Evaluate a weighted sum of vertices on all cells, at most ``AT_ONCE`` words at a time.

    Parameters
    ----------
    rows
        (p, u) positions of each cell's indices in ``words``.
    words
        (sum(shape), >= last) transposed bits of the vertices.
    first, last
        Words to add up; with ``first`` above 0, those before are in ``out_costs``.
    tables
        (>= 8 last, 256) for each byte of the words, the weight of every set of its vertices. Those
        of the bytes in use are copied to shared memory, of which there must be as much.
    more
        Leave the sum so far in ``out_costs``: there are more words to come.
    shares, step, one_share
        Cell j counts ``one_share * shares[j * step]``.
    out_costs
        (u,) filled with the gradient, 2 share (x - target).
    out_totals
        (blocks, >= 3) filled with the block's sums of share (x - target)^2 and of gradient times
        x, and the largest size of a gradient.
    """
    table = cuda.shared.array(0, numba.float64)
    partial = cuda.shared.array((2, TILE), numba.float64)
    largest = cuda.shared.array(TILE, numba.float64)
    thread = cuda.threadIdx.x
    for place in range(thread, table.size, TILE):
        table[place] = tables[8 * first + place // 256, place % 256]
    cuda.syncthreads()
    error = 0.0
    product = 0.0
    most = 0.0
    xs = cuda.local.array(AHEAD, numba.float64)
    inside = cuda.local.array(AHEAD, numba.uint64)
    residuals = cuda.local.array(AHEAD, numba.float64)
    n_bytes = table.size // 256
    end = targets.size - 1
    start = cuda.blockIdx.x * TILE + thread
    stride = cuda.gridDim.x * TILE
    while start <= end:
        for k in range(AHEAD):
            xs[k] = out_costs[min(start + k * stride, end)] if first > 0 else 0.0
        for word in range(first, last):
            for k in range(AHEAD):
                inside[k] = ALL
            for mode in range(rows.shape[0]):
                for k in range(AHEAD):
                    inside[k] &= words[rows[mode, min(start + k * stride, end)], word]
            for byte in range(8 * (word - first), min(8 * (word - first) + 8, n_bytes)):
                for k in range(AHEAD):
                    xs[k] += table[256 * byte + np.int64(inside[k] & LOWEST)]
                    inside[k] >>= EIGHT
        for k in range(AHEAD):
            residuals[k] = xs[k] - targets[min(start + k * stride, end)]
        for k in range(AHEAD):
            cell = start + k * stride
            if cell <= end:
                if more:
                    out_costs[cell] = xs[k]
                else:
                    weighted = one_share * shares[cell * step] * residuals[k]
                    out_costs[cell] = 2.0 * weighted
                    error += weighted * residuals[k]
                    product += 2.0 * weighted * xs[k]
                    most = max(most, abs(2.0 * weighted))
        start += AHEAD * stride
    partial[0, thread] = error
    partial[1, thread] = product
    largest[thread] = most
    add_up(partial)
    _find_largest(largest)
    if thread < 2:
        out_totals[cuda.blockIdx.x, thread] = partial[thread, 0]
        out_totals[cuda.blockIdx.x, 2] = largest[0]


@cuda.jit(device=True, inline=True)
def _cost(
    amount: int, share: float, inside: np.uint64, lane: int, weights: FloatArray, scale: float
) -> Any:
    """Return what a cell costs in a lane, the curvature included, as a whole number."""
    weight = weights[lane]
    if weight == 0.0:
        return amount
    change = np.int64(round(share * (weight * scale)))
    return amount - change if (inside >> np.uint64(lane)) & ONE else amount + change


@cuda.jit(cache=True)
def lane_sums(
    rows: AnyArray,
    costs: FloatArray,
    shares: AnyArray,
    step: int,
    one_share: float,
    sign: float,
    scale: float,
    origins: WordArray,
    weights: FloatArray,
    lanes: WordArray,
    live: np.uint64,
    mode: int,
    low: int,
    out_sums: IndexArray,
) -> None:
    """Add the cost of each index of a mode to ``out_sums``, lane by lane.

    Parameters
    ----------
    shares, step, one_share
        Cell j counts ``one_share * shares[j * step]``.
    sign, scale
        Costs are taken times the sign and counted in whole multiples of ``1 / scale``.
    origins, weights
        (sum(shape), 1) and (64,) vertices to exchange and their weights, as in the twin
        ``lane_sums_around``; a weight of 0 leaves the cost as it is, as in ``lane_sums``.
    lanes
        (sum(shape), 1) a bit per start.
    live
        Lanes that are still moving; the others are skipped.
    low
        Where the mode begins in ``lanes``.
    out_sums
        (r, 64) sums so far.
    """
    cell = cuda.blockIdx.x * TILE + cuda.threadIdx.x
    while cell < costs.size:
        members = live
        for other in range(rows.shape[0]):
            if other != mode:
                members &= lanes[rows[other, cell], 0]
        if members != NONE:
            inside = _inside(rows, origins, 0, cell)
            amount = np.int64(round(sign * costs[cell] * scale))
            share = one_share * shares[cell * step]
            index = rows[mode, cell] - low
            while members != NONE:
                lane = cuda.ffs(members) - 1
                cost = _cost(amount, share, inside, lane, weights, scale)
                cuda.atomic.add(out_sums, (index, lane), cost)
                members &= members - ONE
        cell += cuda.gridDim.x * TILE


@cuda.jit(device=True, inline="always")
def _deliver(
    total: Any, curvature: Any, factor: float, index: int, lane: int, out_sums: IndexArray
) -> None:
    """Add what a thread has summed for an index; there is none yet where both sums are 0."""
    if total != 0 or curvature != 0:
        cuda.atomic.add(out_sums, (index, lane), total + np.int64(round(curvature * factor)))


@cuda.jit(cache=True)
def lane_sums_runs(  # noqa: PLR0912, PLR0915  (the innermost loop, for each case it can meet)
    rows: AnyArray,
    costs: FloatArray,
    shares: AnyArray,
    step: int,
    one_share: float,
    sign: float,
    scale: float,
    origins: WordArray,
    weights: FloatArray,
    lanes: WordArray,
    live: np.uint64,
    width: int,
    exchange: bool,
    mode: int,
    low: int,
    out_sums: IndexArray,
) -> None:
    """Do the same where neighbouring cells mostly have the same index of the mode.

    A thread follows one lane through its part of every tile, and adds to ``out_sums`` only when
    the index changes. Blocks take consecutive tiles.

    Parameters
    ----------
    width
        16, 32 or 64: at least the number of lanes in use.
    exchange
        Whether any weight is above 0.
    """
    members = cuda.shared.array((2, TILE), numba.uint32)
    inside = cuda.shared.array((2, TILE), numba.uint32)
    amounts = cuda.shared.array(TILE, numba.int64)
    parts = cuda.shared.array(TILE, numba.int64)
    indices = cuda.shared.array(TILE, numba.int32)
    thread = cuda.threadIdx.x
    lane, first = thread % width, thread // width * width
    half = lane // 32
    own = np.uint32(1) << np.uint32(lane % 32)
    factor = weights[lane] * scale / SHARES
    n_cells = costs.size
    tiles = (n_cells + TILE - 1) // TILE
    each = (tiles + cuda.gridDim.x - 1) // cuda.gridDim.x
    total = np.int64(0)
    curvature = np.int64(0)
    current = np.int32(-1)
    for tile in range(cuda.blockIdx.x * each, min((cuda.blockIdx.x + 1) * each, tiles)):
        cell = min(tile * TILE + thread, n_cells - 1)
        word = live if tile * TILE + thread < n_cells else NONE
        for other in range(rows.shape[0]):
            if other != mode:
                word &= lanes[rows[other, cell], 0]
        _halve(word, members)
        amounts[thread] = np.int64(round(sign * costs[cell] * scale))
        indices[thread] = rows[mode, cell] - low
        if exchange:
            _halve(_inside(rows, origins, 0, cell), inside)
            parts[thread] = np.int64(round(one_share * shares[cell * step] * SHARES))
        cuda.syncthreads()
        for start in range(first, first + width, STRETCH):
            if indices[start] != current:
                _deliver(total, curvature, factor, current, lane, out_sums)
                current = indices[start]
                total = np.int64(0)
                curvature = np.int64(0)
            if indices[start + STRETCH - 1] != current:
                for place in range(start, start + STRETCH):
                    if indices[place] != current:
                        _deliver(total, curvature, factor, current, lane, out_sums)
                        current = indices[place]
                        total = np.int64(0)
                        curvature = np.int64(0)
                    if members[half, place] & own:
                        total += amounts[place]
                        if exchange:
                            curvature += (
                                -parts[place] if inside[half, place] & own else parts[place]
                            )
            elif exchange:
                for k in range(STRETCH):
                    part = -parts[start + k] if inside[half, start + k] & own else parts[start + k]
                    is_member = members[half, start + k] & own != 0
                    total += amounts[start + k] if is_member else 0
                    curvature += part if is_member else 0
            else:
                for k in range(STRETCH):
                    total += amounts[start + k] if members[half, start + k] & own else 0
        cuda.syncthreads()
    _deliver(total, curvature, factor, current, lane, out_sums)


@cuda.jit(cache=True)
def switch_lanes(
    sums: IndexArray,
    live: np.uint64,
    count: int,
    low: int,
    out_lanes: WordArray,
    out_values: IndexArray,
) -> None:
    """Switch on exactly the indices of negative cost, in every live lane.

    Parameters
    ----------
    sums
        (r, 64) cost of each index and lane; set to 0 again.
    count
        Lanes in use; those from ``count`` on are not looked at.
    out_lanes
        (sum(shape), 1) of which those of the mode, from ``low`` on, are set.
    out_values
        (64,) to which the value of each lane is added.
    """
    index = cuda.grid(1)
    if index >= sums.shape[0]:
        return
    word = NONE
    for lane in range(count):
        total = sums[index, lane]
        sums[index, lane] = 0
        if total < 0:
            word |= ONE << np.uint64(lane)
            cuda.atomic.add(out_values, lane, total)
    out_lanes[low + index, 0] = (out_lanes[low + index, 0] & ~live) | (word & live)


@cuda.jit(device=True, inline="always")
def _swap(word: Any, width: int, low: int) -> Any:
    """Swap two quarters of each square of twice the width, in a matrix with a row per lane."""
    other = np.uint32(cuda.shfl_xor_sync(ALL_LANES, np.int32(word), width))
    if cuda.threadIdx.x & width:
        return (word & ~np.uint32(low)) | ((other >> np.uint32(width)) & np.uint32(low))
    return (word & np.uint32(low)) | ((other << np.uint32(width)) & ~np.uint32(low))


@cuda.jit(device=True, inline="always")
def _turn_shuffled(half: Any, _talk: AnyArray) -> Any:
    """Return which of the 32 lanes of a warp have the bit that is numbered as this lane."""
    word = _swap(half, 16, 0x0000FFFF)
    word = _swap(word, 8, 0x00FF00FF)
    word = _swap(word, 4, 0x0F0F0F0F)
    word = _swap(word, 2, 0x33333333)
    return _swap(word, 1, 0x55555555)


def _turn_simulated(half: Any, talk: AnyArray) -> Any:
    """Return the same where lanes cannot talk to each other."""
    thread = cuda.threadIdx.x
    talk[thread] = half
    cuda.syncthreads()
    word = 0
    for lane in range(WARP):
        word |= (int(talk[thread - thread % WARP + lane]) >> (thread % WARP) & 1) << lane
    cuda.syncthreads()
    return np.uint32(word)


_turn = cuda.jit(device=True)(_turn_simulated) if simulated() else _turn_shuffled


@cuda.jit(device=True, inline="always")
def _pack(word: Any, count: int, side: int, talk: AnyArray, out_packed: AnyArray) -> None:
    """Write, for each of some bits, which of a warp's 32 cells have it."""
    place, part = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP
    if count > 0:
        out_packed[side, place, part] = _turn(np.uint32(word & LOW_HALF), talk)
    if count > WARP:
        out_packed[side, WARP + place, part] = _turn(np.uint32(word >> HALF), talk)


@cuda.jit(cache=True)
def gram_block(
    rows: AnyArray,
    words: WordArray,
    first: int,
    low: int,
    high: int,
    second: int,
    n_second: int,
    digits: int,
    counts: AnyArray,
    step: int,
    n_planes: int,
    out_counts: IndexArray,
) -> None:
    """Count the observations that each pair of vertices of two words has in common.

    Parameters
    ----------
    first, low, high, second, n_second
        The words, and which vertices of each: ``64 first + low .. high`` and ``64 second ..``.
    digits
        Binary digits of ``n_second - 1``.
    counts, step
        Cell j was observed ``counts[j * step]`` times.
    n_planes
        Binary digits of the largest count minus 1.
    out_counts
        (64, 64) to which the numbers are added.
    """
    talk = cuda.shared.array(TALK, numba.uint32)
    packed = cuda.shared.array((3, 64, PADDED), numba.uint32)
    totals = cuda.local.array(PAIRS, numba.int64)
    thread = cuda.threadIdx.x
    n_pairs = (high - low) << digits
    for turn in range(PAIRS):
        totals[turn] = 0
    n_cells = rows.shape[1]
    start = cuda.blockIdx.x * TILE
    while start < n_cells:
        cell = min(start + thread, n_cells - 1)
        one = _inside(rows, words, first, cell)
        two = one if first == second else _inside(rows, words, second, cell)
        more = np.uint64(counts[cell * step]) - ONE
        if start + thread >= n_cells:
            one = NONE
        _pack(one >> np.uint64(low), high - low, 0, talk, packed)
        _pack(two, n_second, 1, talk, packed)
        _pack(more, n_planes, 2, talk, packed)
        cuda.syncthreads()
        for turn in range(PAIRS):
            pair = thread + TILE * turn
            if pair < n_pairs:
                row, column = pair >> digits, pair & ((1 << digits) - 1)
                total = 0
                for part in range(PARTS):
                    both = packed[0, row, part] & packed[1, column, part]
                    total += cuda.popc(both)
                    for plane in range(n_planes):
                        total += cuda.popc(both & packed[2, plane, part]) << plane
                totals[turn] += total
        cuda.syncthreads()
        start += cuda.gridDim.x * TILE
    for turn in range(PAIRS):
        pair = thread + TILE * turn
        row, column = pair >> digits, pair & ((1 << digits) - 1)
        if pair < n_pairs and column < n_second:
            cuda.atomic.add(out_counts, (low + row, column), totals[turn])


@cuda.jit(cache=True)
def gram_block_weighted(
    rows: AnyArray,
    words: WordArray,
    first: int,
    second: int,
    shares: FloatArray,
    scale: float,
    out_shares: IndexArray,
) -> None:
    """Add up the shares of the cells that each pair of vertices of two words has in common.

    Parameters
    ----------
    scale
        Shares are counted in whole multiples of ``1 / scale``.
    out_shares
        (64, 64) to which the sums are added.
    """
    inside = cuda.shared.array((2, TILE), numba.uint64)
    amounts = cuda.shared.array(TILE, numba.int64)
    totals = cuda.local.array(PAIRS, numba.int64)
    thread = cuda.threadIdx.x
    row, column = thread * PAIRS // 64, thread * PAIRS % 64
    for pair in range(PAIRS):
        totals[pair] = 0
    n_cells = rows.shape[1]
    start = cuda.blockIdx.x * TILE
    while start < n_cells:
        cell = start + thread
        amounts[thread] = 0
        if cell < n_cells:
            inside[0, thread] = _inside(rows, words, first, cell)
            inside[1, thread] = _inside(rows, words, second, cell)
            amounts[thread] = np.int64(round(shares[cell] * scale))
        cuda.syncthreads()
        for place in range(min(TILE, n_cells - start)):
            if (inside[0, place] >> np.uint64(row)) & ONE:
                others = inside[1, place] >> np.uint64(column)
                for pair in range(PAIRS):
                    if (others >> np.uint64(pair)) & ONE:
                        totals[pair] += amounts[place]
        cuda.syncthreads()
        start += cuda.gridDim.x * TILE
    for pair in range(PAIRS):
        if totals[pair] != 0:
            cuda.atomic.add(out_shares, (row, column + pair), totals[pair])


@cuda.jit(cache=True)
def vertex_sums(
    rows: AnyArray, words: WordArray, word: int, costs: FloatArray, out_sums: FloatArray
) -> None:
    """Sum the costs over the cells of each of 64 vertices.

    Parameters
    ----------
    word
        Vertices ``64 word ..`` are summed over.
    out_sums
        (blocks, 64) filled with the block's sums.
    """
    inside = cuda.shared.array((2, TILE), numba.uint32)
    amounts = cuda.shared.array(TILE, numba.float64)
    thread = cuda.threadIdx.x
    vertex, part = thread % 64, thread // 64
    half = vertex // 32
    own = np.uint32(1) << np.uint32(vertex % 32)
    total = 0.0
    second = 0.0
    third = 0.0
    fourth = 0.0
    start = cuda.blockIdx.x * TILE
    while start < costs.size:
        cell = min(start + thread, costs.size - 1)
        members = _inside(rows, words, word, cell)
        if start + thread >= costs.size:
            members = NONE
        _halve(members, inside)
        amounts[thread] = costs[cell]
        cuda.syncthreads()
        for place in range(64 * part, 64 * part + 64, 4):
            total += amounts[place] if inside[half, place] & own else 0.0
            second += amounts[place + 1] if inside[half, place + 1] & own else 0.0
            third += amounts[place + 2] if inside[half, place + 2] & own else 0.0
            fourth += amounts[place + 3] if inside[half, place + 3] & own else 0.0
        cuda.syncthreads()
        start += cuda.gridDim.x * TILE
    total = (total + second) + (third + fourth)
    amounts[thread] = total
    cuda.syncthreads()
    if thread < 64:
        for other in range(1, TILE // 64):
            total += amounts[64 * other + thread]
        out_sums[cuda.blockIdx.x, thread] = total


@cuda.jit(cache=True)
def bound_sums(
    costs: FloatArray,
    targets: FloatArray,
    shares: AnyArray,
    step: int,
    one_share: float,
    out_sums: FloatArray,
) -> None:
    """Add up what the free bound is made of (see ``BoundSums``).

    Parameters
    ----------
    out_sums
        (blocks, 4) filled with the block's sums of the negative costs, of costs times targets, of
        their sizes, and of squared costs over shares.
    """
    partial = cuda.shared.array((4, TILE), numba.float64)
    thread = cuda.threadIdx.x
    negative = 0.0
    product = 0.0
    size = 0.0
    square = 0.0
    cell = cuda.blockIdx.x * TILE + thread
    while cell < costs.size:
        cost = costs[cell]
        negative += min(cost, 0.0)
        product += cost * targets[cell]
        size += abs(cost * targets[cell])
        square += cost * (cost / (one_share * shares[cell * step]))
        cell += cuda.gridDim.x * TILE
    partial[0, thread] = negative
    partial[1, thread] = product
    partial[2, thread] = size
    partial[3, thread] = square
    add_up(partial)
    if thread < 4:
        out_sums[cuda.blockIdx.x, thread] = partial[thread, 0]
