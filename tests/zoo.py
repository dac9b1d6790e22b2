"""Small named problems and independent ways to their optimum."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import lsq_linear, nnls

import intensor
from intensor.data.observations import observe


def mostly_slow(parameters, *, telling):
    """Mark the parameters of a test as slow that repeat what a few telling ones show."""
    return [
        name if name in telling else pytest.param(name, marks=pytest.mark.slow)
        for name in parameters
    ]


def all_vertices(shape):
    """Return every vertex as flags, (2^sum(shape), sum(shape))."""
    return np.array(list(itertools.product((0, 1), repeat=sum(shape))), dtype=np.uint8)


def distinct_rows(shape, coords):
    """Return the distinct vertices over the given cells, as rows of zeros and ones."""
    starts = np.concatenate(([0], np.cumsum(shape)))[:-1]
    flags = all_vertices(shape)
    rows = np.ones((len(flags), len(coords)), dtype=np.uint8)
    for mode, start in enumerate(starts):
        rows &= flags[:, start + coords[:, mode]]
    return np.unique(rows, axis=0)


def least_squares_weights(matrix):
    """Return the weights w >= 0 of sum 1 for which ``|matrix @ w|`` is least.

    Minimising ``|matrix @ w|^2 + (1'w - 1)^2`` over all w >= 0 gives the same w up to its length:
    for w = s u with u in the simplex the best s leaves a value that grows with ``|matrix @ u|``.
    Where columns depend on each other, ``nnls`` may end at a point that is not optimal; the slower
    ``lsq_linear`` does not.
    """
    bordered = np.vstack((matrix, np.ones(matrix.shape[1])))
    target = np.append(np.zeros(len(matrix)), 1.0)
    weights, _ = nnls(bordered, target, maxiter=10**5)
    slope = bordered.T @ (bordered @ weights - target)
    if slope.min() < -1e-13 or np.abs(slope[weights > 0]).max() > 1e-13:
        weights = lsq_linear(bordered, target, (0.0, np.inf), method="bvls", tol=1e-15).x
    return weights / weights.sum()


def optimum(shape, coords, values, radius):
    """Return the least objective over the polytope, by nonnegative least squares.

    Over weights w >= 0 that sum to 1 the residual ``Mw - t`` is ``(M - t1')w``.
    """
    cells = observe(coords, values, shape=shape, allow_negative=True)
    where = np.stack(cells.coords, axis=1).astype(int)
    rows = distinct_rows(shape, where).astype(float)
    root = np.sqrt(cells.counts / cells.n)
    matrix = (rows * root).T - (root * cells.means / radius)[:, np.newaxis]
    residuals = matrix @ least_squares_weights(matrix)
    return float(np.sum(residuals**2)) * radius**2 + cells.within


def noisy(shape, n, rep, noise=0.2):
    return intensor.planted(shape, n, rep, noise=noise)


def smooth_tensor(shape, rng):
    """Return a positive sum of three outer products of smooth curves."""
    truth = np.zeros(shape)
    for _ in range(3):
        part = np.ones(shape)
        for mode, length in enumerate(shape):
            turns = rng.uniform(0.3, 1.0) * np.linspace(0.0, 1.0, length) + rng.uniform()
            curve = 1.0 + 0.9 * np.sin(2.0 * np.pi * turns)
            part *= curve.reshape([-1 if place == mode else 1 for place in range(len(shape))])
        truth += part
    return truth


OBSERVED = {
    "one cell": ((1,), 1),
    "line": ((7,), 30),
    "matrix": ((6, 7), 70),
    "mode of length 1": ((4, 1, 5), 60),
    "cube": ((3, 4, 2), 80),
    "four modes": ((2, 3, 2, 3), 90),
    "six modes": ((2, 2, 3, 2, 2, 2), 80),
    "long mode": ((300, 3), 70),
}
"""Shape and number of the observations of small problems, for everything that sums over cells."""


def observed(name, *, weighted=False, seed=0):
    """Return shape, coords, values and sample weights (or None) of a problem of ``OBSERVED``.

    A fifth of the observations are of one cell.
    """
    shape, n = OBSERVED[name]
    rng = np.random.default_rng([seed, n, *shape])
    coords = np.stack([rng.integers(0, length, n) for length in shape], axis=1)
    coords[: n // 5] = coords[0]
    weights = rng.uniform(0.1, 3.0, n) if weighted else None
    return shape, coords, rng.uniform(size=n), weights


# --- problems of the exact oracles

CUTS = {
    "one block": (0, 4),
    "two blocks": (0, 3, 6),
    "three blocks": (0, 2, 4, 7),
    "uneven blocks": (0, 1, 3, 4, 7),
    "single rows": (0, 1, 2, 3, 4, 5),
    "too many pairs to merge": (0, 5, 10, 15),
}
"""Named ways to cut rows into blocks: the first row of every block, and the number of rows."""
ORACLE_SHAPES = [(7,), (4, 5), (3, 4, 3), (2, 3, 2, 3), (2, 2, 3, 2, 2)]
"""One shape for each number of modes, small enough to try all vertices."""


def integer_stack(cut, *, rest=0, slabs=0, columns=5, largest=30, seed=0):
    """Return (1 + rest, 1 + slabs, rows, columns) integer costs for a named cut of the rows.

    In every second problem the slab that is always on is zero, as it is in a search.
    """
    firsts = CUTS[cut]
    rng = np.random.default_rng([seed, rest, slabs, *firsts])
    costs = rng.integers(-largest, largest + 1, (1 + rest, 1 + slabs, firsts[-1], columns))
    if seed % 2:
        costs[:, 0] = 0
    return costs


def full_tensor(shape, *, seed=0, integers=False):
    """Return all cells of a tensor, and a cost of either sign for each of them."""
    coords = np.indices(shape).reshape(len(shape), -1).T
    cells = observe(coords, np.ones(len(coords)), shape=shape)
    rng = np.random.default_rng([seed, *shape])
    if integers:
        return cells, rng.integers(-100, 101, cells.n_cells).astype(float)
    return cells, rng.normal(size=cells.n_cells)


def random_cells(rng, shape, count):
    """Observe ``count`` distinct cells of a tensor."""
    cells = rng.choice(np.prod(shape), count, replace=False)
    return observe(np.stack(np.unravel_index(cells, shape), axis=1), np.ones(count), shape=shape)


def least_cost(costs, shape):
    """Return the least cost of a full tensor, by all patterns of all modes but the longest."""
    order = sorted(range(len(shape)), key=lambda mode: shape[mode])
    sums = np.asarray(costs).reshape(shape).transpose(order)
    for mode in order[:-1]:
        patterns = (np.arange(1 << shape[mode])[:, np.newaxis] >> np.arange(shape[mode])) & 1
        sums = np.tensordot(sums, patterns, axes=(0, 1))
    return float(np.minimum(sums, 0.0).sum(axis=0).min())
