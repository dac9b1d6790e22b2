"""The CUDA kernels in plain Python and NumPy, with the same names and arguments.

Rows are (p, u) here, and partial sums of blocks are written to the first block alone.
"""

import numpy as np

import naive

ALL = np.uint64(2**64 - 1)


def _vertices_around(rows, words, word):
    """Return the vertices of a word that contain each cell, as (u, 64) zeros and ones."""
    return naive.vertices_around(rows.T, words[:, [word]].astype(np.uint64)).astype(int)


def _shares_of(shares, step, one_share, n_cells):
    """Return how much each cell counts."""
    return one_share * np.asarray(shares, dtype=float)[np.arange(n_cells) * step]


def fit_cells(
    rows, words, first, last, tables, targets, shares, step, one_share, more, out_costs, out_totals
):
    """Add the weights of the vertices around each cell; compare with its target at the end."""
    x = out_costs.copy() if first else np.zeros(targets.size)
    for word in range(first, last):
        around = _vertices_around(rows, words, word)
        for vertex in range(64):
            x += around[:, vertex] * tables[8 * word + vertex // 8, 1 << vertex % 8]
    if more:
        out_costs[:] = x
        return
    residual = x - targets
    out_costs[:] = 2.0 * _shares_of(shares, step, one_share, targets.size) * residual
    out_totals[:, :3] = 0.0
    out_totals[0, :3] = out_costs @ residual / 2.0, out_costs @ x, np.abs(out_costs).max()


def vertex_sums(rows, words, word, costs, out_sums):
    """Sum the costs over the cells of each of 64 vertices."""
    out_sums[:] = 0.0
    out_sums[0] = costs @ _vertices_around(rows, words, word)


def bound_sums(costs, targets, shares, step, one_share, out_sums):
    """Add up the sums that make up the free bound."""
    products = costs * targets
    square = costs**2 / _shares_of(shares, step, one_share, costs.size)
    out_sums[:] = 0.0
    out_sums[0] = costs[costs < 0.0].sum(), products.sum(), np.abs(products).sum(), square.sum()


def lane_sums(
    rows,
    costs,
    shares,
    step,
    one_share,
    sign,
    scale,
    origins,
    weights,
    lanes,
    live,
    mode,
    low,
    out_sums,
):
    """Add the cost of each index of a mode, in multiples of 1 / scale, to ``out_sums``."""
    inside = np.empty(costs.size, dtype=np.uint64)
    naive.lane_products(rows.T, origins[:, 0].astype(np.uint64), ALL, 0, len(rows), inside)
    found = np.empty(out_sums.shape)
    naive.lane_sums_around(
        rows.T,
        sign * costs,
        _shares_of(shares, step, one_share, costs.size),
        inside,
        weights,
        lanes[:, 0].astype(np.uint64),
        live,
        mode,
        low,
        found,
    )
    out_sums += np.rint(found * scale).astype(np.int64)


def lane_sums_runs(*arguments):
    """Do the same; ``width`` and ``exchange`` are not needed here."""
    *shared, _width, _exchange, mode, low, out_sums = arguments
    lane_sums(*shared, mode, low, out_sums)


def switch_lanes(sums, live, count, low, out_lanes, out_values):
    """Switch on exactly the indices of negative cost in each live lane, and clear the sums."""
    lanes, values = out_lanes[low : low + len(sums), 0].copy(), np.empty(64)
    naive.switch_lanes(sums.astype(float), live, count, lanes, values)
    out_lanes[low : low + len(sums), 0] = lanes
    out_values += values.astype(np.int64)
    sums[:, :count] = 0


def gram_block(
    rows, words, first, low, high, second, n_second, digits, counts, step, n_planes, out_counts
):
    """Count the observations that pairs of vertices of two words have in common."""
    one, two = (_vertices_around(rows, words, word) for word in (first, second))
    repeats = np.asarray(counts, dtype=int)[np.arange(rows.shape[1]) * step]
    common = (one * repeats[:, np.newaxis]).T @ two
    out_counts[low:high, :n_second] += common[low:high, :n_second]


def gram_block_weighted(rows, words, first, second, shares, scale, out_shares):
    """Add up the shares, in multiples of 1 / scale, that pairs of vertices have in common."""
    one, two = (_vertices_around(rows, words, word) for word in (first, second))
    out_shares += (one * np.rint(shares * scale).astype(np.int64)[:, np.newaxis]).T @ two


def collapse_cells(order, starts, values, out_counts, out_means, out_totals):
    """Find the number and the mean of each cell's observations."""
    totals, sums = np.empty(starts.size), np.empty(2)
    naive.collapse_repeats(
        order, starts, values, np.empty(0), 0, starts.size, totals, out_means, sums
    )
    out_counts[:] = totals
    out_totals[:] = 0.0
    out_totals[0] = sums


def _products(rows, factors, skipped):
    """Return the (u, k) products of the factors of each cell in all modes but one, if any."""
    products = np.ones((rows.shape[1], factors.shape[1]))
    for mode, row in enumerate(rows):
        if mode != skipped:
            products *= factors[row]
    return products


def fit_components(rows, factors, weights, targets, shares, step, one_share, out_costs, out_totals):
    """Evaluate a weighted sum of components; compare with the targets."""
    x = _products(rows, factors, -1) @ weights[0]
    residual = x - targets
    out_costs[:] = 2.0 * _shares_of(shares, step, one_share, targets.size) * residual
    out_totals[:, :3] = 0.0
    out_totals[0, :3] = out_costs @ residual / 2.0, out_costs @ x, np.abs(out_costs).max()


def normal_equations(
    rows,
    order,
    chunks,
    pairs,
    mode,
    factors,
    owns,
    targets,
    shares,
    step,
    one_share,
    out_matrices,
    out_slopes,
    out_errors,
):
    """Sum up the normal equations of every chunk."""
    width = out_matrices.shape[-1]
    every = _shares_of(shares, step, one_share, targets.size)
    for chunk, (index, first, end) in enumerate(chunks):
        cells = order[first:end]
        z = _products(rows[:, cells], factors, mode)
        residual = z @ owns[index] - targets[cells]
        matrix = (z * every[cells, np.newaxis]).T @ z
        for pair, (a, b) in enumerate(pairs * width):
            out_matrices[chunk, pair] = matrix[a : a + width, b : b + width]
        out_slopes[chunk] = (every[cells] * residual) @ z
        out_errors[chunk] = every[cells] @ residual**2


def add_chunks(starts, matrices, slopes, out_matrices, out_slopes):
    """Add up the chunks of every index."""
    width, count = matrices.shape[-1], out_slopes.shape[1]
    n_groups = slopes.shape[1] // width
    pairs = [(a, b) for a in range(n_groups) for b in range(a, n_groups)]
    for index in range(starts.size - 1):
        part = slice(starts[index], starts[index + 1])
        full = np.zeros((slopes.shape[1],) * 2)
        for pair, (a, b) in enumerate(pairs):
            block = matrices[part, pair].sum(axis=0)
            full[a * width : (a + 1) * width, b * width : (b + 1) * width] = block
        full = np.triu(full) + np.triu(full, 1).T
        out_matrices[index] = full[:count, :count]
        out_slopes[index] = slopes[part].sum(axis=0)[:count]
