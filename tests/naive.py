"""The kernels in plain Python and NumPy: slow, obvious, the truth that they are tested against.

Every function has the name and the arguments of a kernel in ``intensor.kernels``. ``rows`` is
always (u, p): for each cell the position of its index in the flags, mode by mode.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from intensor._arrays import AnyArray, FlagArray, FloatArray, IndexArray, WordArray

LANES = 64
"""Number of bits of a word."""


def _is_on(word: np.uint64 | int, bit: int) -> bool:
    """Return whether a bit of a word is set."""
    return bool((int(word) >> bit) & 1)


def _word_of(bits: list[bool]) -> np.uint64:
    """Return up to 64 bits as a word, the first one lowest."""
    return np.uint64(sum(1 << number for number, bit in enumerate(bits) if bit))


def contract(
    rows: AnyArray, mode: int, flags: FlagArray, costs: FloatArray, out_sums: FloatArray
) -> None:
    """Sum the cost of each index of a mode over its cells whose other modes are all on.

    ``out_sums`` is (sum(shape),) zeros on entry and is filled at the positions of the mode.
    """
    n_modes = rows.shape[1]
    for cell in range(rows.shape[0]):
        if all(flags[rows[cell, other]] for other in range(n_modes) if other != mode):
            out_sums[rows[cell, mode]] += costs[cell]


def contract_by_index(
    cells: AnyArray,
    offsets: IndexArray,
    order: AnyArray,
    starts: IndexArray,
    mode: int,
    flags: FlagArray,
    costs: FloatArray,
    out_sums: FloatArray,
) -> None:
    """Do the same for (u, p) indices; ``out_sums`` is (r,). ``order`` is not needed here."""
    sums = np.zeros(int(offsets[-1]))
    contract(cells.astype(np.int64) + offsets[:-1], mode, flags, costs, sums)
    out_sums[:] = sums[offsets[mode] : offsets[mode + 1]]


def predict(
    words: WordArray,
    weights: FloatArray,
    cells: IndexArray,
    offsets: IndexArray,
    out_values: FloatArray,
) -> None:
    """Sum the weights of the vertices that contain each cell."""
    for cell in range(cells.shape[0]):
        total = 0.0
        for vertex in range(weights.shape[0]):
            word, bit = divmod(vertex, LANES)
            positions = cells[cell] + offsets[:-1]
            if all(_is_on(words[position, word], bit) for position in positions):
                total += weights[vertex]
        out_values[cell] = total


def lane_sums(
    rows: AnyArray,
    costs: FloatArray,
    lanes: WordArray,
    live: np.uint64,
    mode: int,
    low: int,
    out_sums: FloatArray,
) -> None:
    """Sum the cost of each index of a mode over the cells, for each live lane.

    ``out_sums`` is (r, 64); lanes that are not live get 0.
    """
    others = [other for other in range(rows.shape[1]) if other != mode]
    out_sums[:] = 0.0
    for cell in range(rows.shape[0]):
        for lane in range(LANES):
            inside = all(_is_on(lanes[rows[cell, other]], lane) for other in others)
            if _is_on(live, lane) and inside:
                out_sums[int(rows[cell, mode]) - low, lane] += costs[cell]


def lane_products(
    rows: AnyArray,
    lanes: WordArray,
    live: np.uint64,
    first: int,
    last: int,
    out_words: WordArray,
) -> None:
    """Find the live lanes in which each cell is on in all of the modes first..last-1."""
    for cell in range(rows.shape[0]):
        word = int(live)
        for mode in range(first, last):
            word &= int(lanes[rows[cell, mode]])
        out_words[cell] = word


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
    """Sum the cost of each index of a mode, with the modes outside first..last-1 fixed."""
    inner = [other for other in range(first, last) if other != mode]
    out_sums[:] = 0.0
    for cell in range(rows.shape[0]):
        for lane in range(LANES):
            inside = all(_is_on(lanes[rows[cell, other]], lane) for other in inner)
            if _is_on(others[cell], lane) and inside:
                out_sums[int(rows[cell, mode]) - low, lane] += costs[cell]


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
    """Sum the cost of each index when the vertex of a lane is exchanged, curvature included."""
    others = [other for other in range(rows.shape[1]) if other != mode]
    out_sums[:] = 0.0
    for cell in range(rows.shape[0]):
        for lane in range(LANES):
            inside = all(_is_on(lanes[rows[cell, other]], lane) for other in others)
            if _is_on(live, lane) and inside:
                change = shares[cell] * weights[lane]
                change = -change if _is_on(origins[cell], lane) else change
                out_sums[int(rows[cell, mode]) - low, lane] += costs[cell] + change


def switch_lanes(
    sums: FloatArray, live: np.uint64, count: int, out_lanes: WordArray, out_values: FloatArray
) -> None:
    """Switch on exactly the indices of negative cost in each live lane; add up these costs.

    Lanes that are not live keep their bits. Only the first ``count`` lanes have negative costs.
    """
    out_values[:] = 0.0
    for index in range(out_lanes.size):
        bits = [_is_on(out_lanes[index], lane) for lane in range(LANES)]
        for lane in range(LANES):
            negative = lane < count and bool(sums[index, lane] < 0.0)
            if negative:
                out_values[lane] += sums[index, lane]
            if _is_on(live, lane):
                bits[lane] = negative
        out_lanes[index] = _word_of(bits)


def still_falling(live: np.uint64, values: FloatArray, out_values: FloatArray) -> np.uint64:
    """Copy the values of live lanes that are lower than before; return these lanes."""
    falling = [
        _is_on(live, lane) and bool(values[lane] < out_values[lane]) for lane in range(LANES)
    ]
    for lane in range(LANES):
        if falling[lane]:
            out_values[lane] = values[lane]
    return _word_of(falling)


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
    """Alternate over the modes, one lane after the other, until its value stops falling.

    The working memory in ``sums`` is not needed here.
    """
    out_values[:] = np.inf
    for lane in range(count):
        flags = np.array([_is_on(word, lane) for word in out_lanes], dtype=np.uint8)
        for _ in range(max_sweeps):
            for mode in range(rows.shape[1]):
                index_costs = np.zeros(flags.size)
                contract(rows, mode, flags, costs, index_costs)
                value = 0.0
                for index in range(offsets[mode], offsets[mode + 1]):
                    flags[index] = index_costs[index] < 0.0
                    if flags[index]:
                        value += index_costs[index]
            if not value < out_values[lane]:
                break
            out_values[lane] = value
        for index in range(flags.size):
            bits = [_is_on(out_lanes[index], other) for other in range(LANES)]
            bits[lane] = bool(flags[index])
            out_lanes[index] = _word_of(bits)


def join_lanes(flags: FlagArray, chosen: IndexArray, out_lanes: WordArray) -> None:
    """Put row ``chosen[s]`` of the flags into lane s and zeros into the other lanes."""
    for index in range(out_lanes.size):
        out_lanes[index] = _word_of([bool(flags[vertex, index]) for vertex in chosen])


def mix_starts(noise: WordArray, known: WordArray, n_known: int, out_lanes: WordArray) -> None:
    """Flip some bits of the first ``n_known`` lanes and draw the others.

    d words of noise are all on in a share of 2^-d of the bits. Lane 0, 3, ... flips a quarter,
    lane 1, 4, ... an eighth and lane 2, 5, ... a sixteenth. Of the drawn lanes, those that are
    2 modulo 4 have three quarters on, those that are 3 a quarter and the others a half.
    """
    for index in range(out_lanes.size):
        bits = []
        for lane in range(LANES):
            a, b, c, d = (_is_on(word, lane) for word in noise[:, index])
            if lane < n_known:
                flip = (a and b, a and b and c, a and b and c and d)[lane % 3]
                bits.append(_is_on(known[index], lane) != flip)
            else:
                bits.append((a, a, a or b, a and b)[lane % 4])
        out_lanes[index] = _word_of(bits)


def store_words(flags: FlagArray, first: int, last: int, out_words: WordArray) -> None:
    """Write vertices first..last-1 into the transposed words; other bits stay."""
    for vertex in range(first, last):
        word, bit = divmod(vertex, LANES)
        for index in range(flags.shape[1]):
            bits = [_is_on(out_words[index, word], other) for other in range(LANES)]
            bits[bit] = bool(flags[vertex, index])
            out_words[index, word] = _word_of(bits)


def split_lanes(lanes: WordArray, chosen: IndexArray, out_flags: FlagArray) -> None:
    """Take lane ``chosen[i]`` out into row i of the flags."""
    for row, lane in enumerate(chosen):
        for index in range(lanes.size):
            out_flags[row, index] = _is_on(lanes[index], int(lane))


def pack_members(
    rows: AnyArray,
    lanes: WordArray,
    count: int,
    first: int,
    last: int,
    out_members: WordArray,
) -> None:
    """Write which cells each of ``count`` vertices contains into words first..last-1.

    Bits beyond the last cell are 0.
    """
    for vertex in range(count):
        for word in range(first, last):
            cells = rows[LANES * word : LANES * (word + 1)]
            inside = [all(_is_on(lanes[position], vertex) for position in cell) for cell in cells]
            out_members[vertex, word] = _word_of(inside)


def transpose_bits(out_block: WordArray) -> None:
    """Swap bit j of word i with bit i of word j, for all of 64 words."""
    before = out_block.copy()
    for row in range(LANES):
        out_block[row] = _word_of([_is_on(before[other], row) for other in range(LANES)])


def gram_rows(
    members: WordArray, extra: WordArray, first: int, last: int, scale: float, out_gram: FloatArray
) -> None:
    """Count the observations that two vertices share, for rows and columns first..last-1."""
    n_cells = LANES * members.shape[1]
    counts = [1] * n_cells
    for plane in range(extra.shape[0]):
        for cell in range(LANES * extra.shape[1]):
            counts[cell] += _is_on(extra[plane, cell // LANES], cell % LANES) << plane
    cells = [
        {cell for cell in range(n_cells) if _is_on(members[vertex, cell // LANES], cell % LANES)}
        for vertex in range(last)
    ]
    for row in range(first, last):
        for other in range(row + 1):
            shared = sum(counts[cell] for cell in cells[row] & cells[other])
            out_gram[row, other] = out_gram[other, row] = shared * scale


def gram_rows_weighted(
    members: WordArray, shares: FloatArray, first: int, last: int, out_gram: FloatArray
) -> None:
    """Add up the shares of the cells that two vertices have in common."""
    for row in range(first, last):
        for other in range(row + 1):
            total = 0.0
            for cell in range(shares.size):
                word, bit = cell // LANES, cell % LANES
                if _is_on(members[row, word], bit) and _is_on(members[other, word], bit):
                    total += float(shares[cell])
            out_gram[row, other] = out_gram[other, row] = total


def member_sums(
    members: WordArray, values: FloatArray, first: int, last: int, out_sums: FloatArray
) -> None:
    """Sum ``values`` over the cells of vertices first..last-1."""
    for vertex in range(first, last):
        total = 0.0
        for cell in range(values.size):
            if _is_on(members[vertex, cell // LANES], cell % LANES):
                total += values[cell]
        out_sums[vertex] = total


def fit_cells(
    rows: AnyArray,
    words: WordArray,
    n_words: int,
    weights: FloatArray,
    targets: FloatArray,
    shares: FloatArray,
    out_costs: FloatArray,
    out_totals: FloatArray,
) -> None:
    """Predict the cells and compare them with their targets.

    ``out_costs`` gets the gradient of the squared error, ``out_totals`` the squared error and
    the gradient times the prediction.
    """
    out_totals[:] = 0.0
    for cell in range(rows.shape[0]):
        x = 0.0
        for vertex in range(LANES * n_words):
            word, bit = divmod(vertex, LANES)
            if all(_is_on(words[position, word], bit) for position in rows[cell]):
                x += weights[vertex]
        residual = x - targets[cell]
        out_costs[cell] = 2.0 * (shares[cell] * residual)
        out_totals[0] += shares[cell] * residual * residual
        out_totals[1] += out_costs[cell] * x


def fold_rows(
    cells: IndexArray, shifts: IndexArray, first: int, last: int, out_keys: IndexArray
) -> None:
    """Put the indices of each row side by side above the number of the row."""
    for row in range(first, last):
        indices = zip(cells[row].tolist(), shifts.tolist(), strict=True)
        out_keys[row] = row + sum(index << shift for index, shift in indices)


def count_digits(keys: IndexArray, low: int, first: int, last: int, out_counts: IndexArray) -> None:
    """Count the keys first..last-1 by the digit that begins at bit ``low``."""
    for key in keys[first:last].tolist():
        out_counts[(key >> low) % out_counts.size] += 1


def move_keys(
    keys: IndexArray,
    low: int,
    first: int,
    last: int,
    out_positions: IndexArray,
    out_keys: IndexArray,
) -> None:
    """Write each of the keys first..last-1 to the next free position of its digit."""
    for key in keys[first:last].tolist():
        digit = (key >> low) % out_positions.size
        out_keys[out_positions[digit]] = key
        out_positions[digit] += 1


def _is_new(keys: IndexArray, row_bits: int, position: int) -> bool:
    """Return whether a sorted key has another cell than the key before it."""
    here, before = int(keys[position]), int(keys[position - 1])
    return position == 0 or here >> row_bits != before >> row_bits


def split_keys(
    keys: IndexArray,
    row_bits: int,
    first: int,
    last: int,
    out_order: AnyArray,
    out_count: IndexArray,
) -> None:
    """Write the row of each sorted key, and count the keys whose cell is new."""
    out_order[first:last] = [key % 2**row_bits for key in keys[first:last].tolist()]
    out_count[0] = sum(_is_new(keys, row_bits, position) for position in range(first, last))


def pick_distinct(
    keys: IndexArray,
    row_bits: int,
    first: int,
    last: int,
    start: int,
    out_starts: IndexArray,
    out_keys: IndexArray,
) -> None:
    """Write the position and the key of every new cell, from position ``start`` on."""
    new = [position for position in range(first, last) if _is_new(keys, row_bits, position)]
    out_starts[start : start + len(new)] = new
    out_keys[start : start + len(new)] = keys[new]


def _observations_of(order: AnyArray, starts: IndexArray, cell: int) -> list[int]:
    """Return the observations of a cell, in their order."""
    ends = [*starts[1:].tolist(), order.size]
    found: list[int] = order[starts[cell] : ends[cell]].tolist()
    return found


def sort_repeats(
    starts: IndexArray,
    values: FloatArray,
    weights: FloatArray,
    first: int,
    last: int,
    out_order: AnyArray,
) -> None:
    """Sort the observations of each cell by value, then by weight, then as they came."""
    given = weights if weights.size else np.ones(values.size)
    for cell in range(first, last):
        rows = _observations_of(out_order, starts, cell)
        part = slice(starts[cell], starts[cell] + len(rows))
        out_order[part] = sorted(rows, key=lambda row: (values[row], given[row]))


def collapse_repeats(
    order: AnyArray,
    starts: IndexArray,
    values: FloatArray,
    weights: FloatArray,
    first: int,
    last: int,
    out_totals: FloatArray,
    out_means: FloatArray,
    out_sums: FloatArray,
) -> None:
    """Find the total weight and mean of each cell; add up squared deviations and squares."""
    given = weights if weights.size else np.ones(values.size)
    out_sums[:] = 0.0
    for cell in range(first, last):
        terms = [(given[row], values[row]) for row in _observations_of(order, starts, cell)]
        total = _in_order(weight for weight, _ in terms)
        mean = _in_order(weight * value for weight, value in terms) / total
        mean += _in_order(weight * (value - mean) for weight, value in terms) / total
        if len(terms) == 1:
            mean = terms[0][1]
        for weight, value in terms:
            out_sums[0] += weight * (value - mean) * (value - mean)
            out_sums[1] += weight * value * value
        out_totals[cell], out_means[cell] = total, mean


def _in_order(terms: Iterable[float]) -> float:
    """Add up terms one after the other; ``sum`` is more exact than kernels are."""
    total = 0.0
    for term in terms:
        total += term
    return total


def draw_cells(rows: AnyArray, seed: np.uint64, threshold: np.uint64, out_cells: IndexArray) -> int:
    """Write the cells whose splitmix64 hash is below a threshold; return how many there are."""
    found = []
    for cell, row in enumerate(rows.tolist()):
        hashed = int(seed)
        for position in row:
            hashed = ((hashed ^ position) + 0x9E3779B97F4A7C15) % 2**64
            hashed = ((hashed ^ (hashed >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
            hashed = ((hashed ^ (hashed >> 27)) * 0x94D049BB133111EB) % 2**64
            hashed ^= hashed >> 31
        if hashed < int(threshold):
            found.append(cell)
    out_cells[: len(found)] = found
    return len(found)
