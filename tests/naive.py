"""The kernels in plain Python and NumPy: slow, obvious, the truth that they are tested against.

Every function has the name and the arguments of a kernel in ``intensor.kernels``, which documents
them. ``rows`` is always (u, p): for each cell the position of its index in the flags, by mode.
"""

import numpy as np


def bits_of(words):
    """Return the 64 bits of each word as booleans along a new last axis, the lowest bit first."""
    shifted = np.asarray(words)[..., np.newaxis] >> np.arange(64, dtype=np.uint64)
    return (shifted & np.uint64(1)).astype(bool)


def words_of(bits):
    """Return the words of which these are the bits."""
    return np.packbits(bits, axis=-1, bitorder="little").view(np.uint64)[..., 0]


def vertices_around(rows, words):
    """Return which vertices contain each cell, as (u, 64 n_words) booleans."""
    inside = np.all([bits_of(words[column]) for column in rows.T], axis=0)
    return inside.reshape(len(rows), -1)


def _in_order(terms):
    """Add up terms one after the other as kernels do; ``sum`` is more exact."""
    total = 0.0
    for term in terms:
        total += term
    return total


def contract(rows, mode, flags, costs, out_sums):
    """Sum the cost of each index of a mode over its cells whose other modes are all on.

    ``out_sums`` is (sum(shape),) zeros on entry and is filled at the positions of the mode.
    """
    on = np.delete(flags[rows], mode, axis=1).all(axis=1)
    np.add.at(out_sums, rows[on, mode], costs[on])


def contract_by_index(cells, offsets, order, starts, mode, flags, costs, out_sums):
    """Do the same for (u, p) indices; ``out_sums`` is (r,). ``order`` is not needed here."""
    sums = np.zeros(int(offsets[-1]))
    contract(cells.astype(np.int64) + offsets[:-1], mode, flags, costs, sums)
    out_sums[:] = sums[offsets[mode] : offsets[mode + 1]]


def predict(words, weights, cells, offsets, out_values):
    """Sum the weights of the vertices that contain each cell."""
    around = vertices_around(cells + offsets[:-1], words)[:, : weights.size]
    out_values[:] = [_in_order(weights[inside]) for inside in around]


def member_sums(members, values, first, last, out_sums):
    """Sum ``values`` over the cells of vertices first..last-1."""
    cells = bits_of(members).reshape(len(members), -1)[:, : values.size]
    out_sums[first:last] = [_in_order(values[inside]) for inside in cells[first:last]]


def fit_cells(rows, words, n_words, weights, targets, shares, out_costs, out_totals):
    """Predict the cells; write the gradient, the squared error and the gradient times x."""
    around = vertices_around(rows, words[:, :n_words])
    x = np.array([_in_order(weights[: inside.size][inside]) for inside in around])
    residual = x - targets
    out_costs[:] = 2.0 * (shares * residual)
    out_totals[0] = _in_order(shares * residual * residual)
    out_totals[1] = _in_order(out_costs * x)


def _products(rows, factors, modes):
    """Return the (u, k) products of the factors of each cell in some modes."""
    products = np.ones((len(rows), factors.shape[1]))
    for mode in modes:
        products *= factors[rows[:, mode]]
    return products


def fit_components(rows, factors, weights, targets, shares, out_costs, out_totals):
    """Predict the cells; write the gradient, the squared error and the gradient times x."""
    x = _products(rows, factors, range(rows.shape[1])) @ weights
    residual = x - targets
    out_costs[:] = 2.0 * (shares * residual)
    out_totals[0] = _in_order(shares * residual * residual)
    out_totals[1] = _in_order(out_costs * x)


def normal_equations(
    rows,
    targets,
    shares,
    starts,
    mode,
    factors,
    weights,
    offset,
    out_matrices,
    out_slopes,
    out_errors,
):
    """Sum up the normal equations of some indices of a mode, all components together."""
    others = [other for other in range(rows.shape[1]) if other != mode]
    for index in range(starts.size - 1):
        part = slice(starts[index], starts[index + 1])
        z, share = _products(rows[part], factors, others), shares[part]
        residual = z @ (weights * factors[offset + index]) - targets[part]
        out_matrices[index] = (share[:, np.newaxis] * z).T @ z
        out_slopes[index] = (share * residual) @ z
        out_errors[index] = share @ residual**2


def lane_products(rows, lanes, live, first, last, out_words):
    """Find the live lanes in which each cell is on in all of the modes first..last-1."""
    out_words[:] = live
    for column in rows.T[first:last]:
        out_words &= lanes[column]


def _add_lanes(rows, amounts, lanes, others, mode, first, last, low, out_sums):
    """Add up (u, 64) amounts by the index of a mode, in cell order, where all else is on."""
    inside = bits_of(others)
    for other in {*range(first, last)} - {mode}:
        inside = inside & bits_of(lanes[rows[:, other]])
    out_sums[:] = 0.0
    np.add.at(out_sums, rows[:, mode].astype(int) - low, np.where(inside, amounts, 0.0))


def lane_sums(rows, costs, lanes, live, mode, low, out_sums):
    """Sum the cost of each index of a mode over the cells; lanes that are not live get 0."""
    lane_sums_within(rows, costs, lanes, live, mode, 0, rows.shape[1], low, out_sums)


def lane_sums_within(rows, costs, lanes, others, mode, first, last, low, out_sums):
    """Sum the cost of each index of a mode, with the modes outside first..last-1 fixed."""
    _add_lanes(rows, costs[:, np.newaxis], lanes, others, mode, first, last, low, out_sums)


def lane_sums_around(rows, costs, shares, origins, weights, lanes, live, mode, low, out_sums):
    """Sum the cost of each index when the vertex of a lane is exchanged, curvature included."""
    change = np.where(bits_of(origins), -1.0, 1.0) * (shares[:, np.newaxis] * weights)
    amounts = costs[:, np.newaxis] + change
    _add_lanes(rows, amounts, lanes, live, mode, 0, rows.shape[1], low, out_sums)


def switch_lanes(sums, live, count, out_lanes, out_values):
    """Switch on exactly the indices of negative cost in each live lane; add up these costs.

    Lanes that are not live keep their bits. Only the first ``count`` lanes have negative costs.
    """
    negative = (sums < 0.0) & (np.arange(64) < count)
    out_values[:] = [_in_order(sums[negative[:, lane], lane]) for lane in range(64)]
    out_lanes[:] = words_of(np.where(bits_of(live), negative, bits_of(out_lanes)))


def still_falling(live, values, out_values):
    """Copy the values of live lanes that are lower than before; return these lanes."""
    falling = bits_of(live) & (values < out_values)
    out_values[falling] = values[falling]
    return words_of(falling)


def descend_lanes(rows, offsets, costs, count, max_sweeps, sums, out_lanes, out_values):
    """Alternate over the modes, one lane after the other, until its value stops falling.

    The working memory in ``sums`` is not needed here.
    """
    bits = bits_of(out_lanes)
    out_values[:] = np.inf
    for lane in range(count):
        flags = bits[:, lane]
        for _ in range(max_sweeps):
            for mode in range(rows.shape[1]):
                index_costs = np.zeros(flags.size)
                contract(rows, mode, flags, costs, index_costs)
                part = slice(offsets[mode], offsets[mode + 1])
                flags[part] = index_costs[part] < 0.0
            value = _in_order(index_costs[part][flags[part]])
            if not value < out_values[lane]:
                break
            out_values[lane] = value
    out_lanes[:] = words_of(bits)


def mix_starts(noise, known, n_known, out_lanes):
    """Flip some bits of the first ``n_known`` lanes and draw the others.

    d words of noise are all on in a share of 2^-d of the bits. Lane 0, 3, ... flips a quarter,
    lane 1, 4, ... an eighth and lane 2, 5, ... a sixteenth. Of the drawn lanes, those that are
    2 modulo 4 have three quarters on, those that are 3 a quarter and the others a half.
    """
    a, b, c, d = bits_of(noise)
    lane = np.arange(64)
    flips = np.choose(lane % 3, [a & b, a & b & c, a & b & c & d])
    drawn = np.choose(lane % 4, [a, a, a | b, a & b])
    out_lanes[:] = words_of(np.where(lane < n_known, bits_of(known) ^ flips, drawn))


def join_lanes(flags, chosen, out_lanes):
    """Put row ``chosen[s]`` of the flags into lane s and zeros into the other lanes."""
    bits = np.zeros((out_lanes.size, 64), dtype=bool)
    bits[:, : chosen.size] = flags[chosen].T
    out_lanes[:] = words_of(bits)


def split_lanes(lanes, chosen, out_flags):
    """Take lane ``chosen[i]`` out into row i of the flags."""
    out_flags[:] = bits_of(lanes)[:, chosen].T


def store_words(flags, first, last, out_words):
    """Write vertices first..last-1 into the transposed words; other bits stay."""
    bits = bits_of(out_words)
    bits.reshape(len(bits), -1)[:, first:last] = flags[first:last].T
    out_words[:] = words_of(bits)


def pack_members(rows, lanes, count, first, last, out_members):
    """Write which cells each of ``count`` vertices contains into words first..last-1.

    Bits beyond the last cell are 0.
    """
    inside = np.zeros((64, 64 * out_members.shape[1]), dtype=bool)
    inside[:, : len(rows)] = vertices_around(rows, lanes[:, np.newaxis]).T
    words = words_of(inside.reshape(64, -1, 64))
    out_members[:, first:last] = words[:count, first:last]


def transpose_bits(out_block):
    """Swap bit j of word i with bit i of word j, for all of 64 words."""
    out_block[:] = words_of(np.ascontiguousarray(bits_of(out_block).T))


def gram_rows(members, extra, first, last, scale, out_gram):
    """Count the observations that two vertices share, for rows and columns first..last-1."""
    cells = bits_of(members).reshape(len(members), -1).astype(int)
    counts = np.ones(cells.shape[1], dtype=int)
    for plane, words in enumerate(extra):
        counts[: 64 * words.size] += bits_of(words).ravel().astype(int) << plane
    shared = (cells * counts) @ cells.T * scale
    out_gram[first:last, :last] = shared[first:last, :last]
    out_gram[:last, first:last] = shared[:last, first:last]


def gram_rows_weighted(members, shares, first, last, out_gram):
    """Add up the shares of the cells that two vertices have in common."""
    cells = bits_of(members).reshape(len(members), -1)[:, : shares.size]
    for row in range(first, last):
        for other in range(row + 1):
            total = _in_order(shares[cells[row] & cells[other]])
            out_gram[row, other] = out_gram[other, row] = total


def fold_rows(cells, shifts, first, last, out_keys):
    """Put the indices of each row side by side above the number of the row."""
    for row in range(first, last):
        indices = zip(cells[row].tolist(), shifts.tolist(), strict=True)
        out_keys[row] = row + sum(index << shift for index, shift in indices)


def count_digits(keys, low, first, last, out_counts):
    """Count the keys first..last-1 by the digit that begins at bit ``low``."""
    for key in keys[first:last].tolist():
        out_counts[(key >> low) % out_counts.size] += 1


def move_keys(keys, low, first, last, out_positions, out_keys):
    """Write each of the keys first..last-1 to the next free position of its digit."""
    for key in keys[first:last].tolist():
        digit = (key >> low) % out_positions.size
        out_keys[out_positions[digit]] = key
        out_positions[digit] += 1


def _new_cells(keys, row_bits, first, last):
    """Return the positions of the sorted keys first..last-1 whose cell is not that before."""
    cells = [key >> row_bits for key in keys.tolist()]
    return [at for at in range(first, last) if at == 0 or cells[at] != cells[at - 1]]


def split_keys(keys, row_bits, first, last, out_order, out_count):
    """Write the row of each sorted key, and count the keys whose cell is new."""
    out_order[first:last] = [key % 2**row_bits for key in keys[first:last].tolist()]
    out_count[0] = len(_new_cells(keys, row_bits, first, last))


def pick_distinct(keys, row_bits, first, last, start, out_starts, out_keys):
    """Write the position and the key of every new cell, beginning at index ``start``."""
    new = _new_cells(keys, row_bits, first, last)
    out_starts[start : start + len(new)] = new
    out_keys[start : start + len(new)] = keys[new]


def _observations_of(order, starts, cell):
    """Return the observations of a cell, in their order."""
    ends = [*starts[1:].tolist(), order.size]
    return order[starts[cell] : ends[cell]].tolist()


def sort_repeats(starts, values, weights, first, last, out_order):
    """Sort the observations of each cell by value, then by weight, then as they came."""
    given = weights if weights.size else np.ones(values.size)
    for cell in range(first, last):
        rows = _observations_of(out_order, starts, cell)
        part = slice(starts[cell], starts[cell] + len(rows))
        out_order[part] = sorted(rows, key=lambda row: (values[row], given[row]))


def collapse_repeats(order, starts, values, weights, first, last, out_totals, out_means, out_sums):
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


def sort_positions(values, count, out_order):
    """Write the positions of the first values from the least to the largest; none are equal."""
    out_order[:count] = sorted(range(count), key=lambda position: values[position])


def draw_cells(rows, seed, threshold, out_cells):
    """Write the cells whose splitmix64 hash is below a threshold; return their number."""
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


def add_components(factors, weights, cells, offsets, out_values):
    """Add the sum of the weighted products of entries to the value of each cell."""
    for cell, row in enumerate(cells + offsets[:-1]):
        terms = weights.copy()
        for position in row:
            terms = terms * factors[position]
        out_values[cell] += _in_order(terms)
