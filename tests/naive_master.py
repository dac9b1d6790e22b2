"""Plain twins of the kernels that move weights: dense linear algebra, slow and obvious.

``size`` counts the leading rows and columns in use, as in the kernels. Every twin returns what its
kernel writes or returns.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls


def upper_factor(matrix):
    """Return the upper triangular R with a positive diagonal and R'R = matrix."""
    return np.linalg.cholesky(matrix).T


def solve_transposed(factor, size, right):
    return np.linalg.solve(np.triu(factor[:size, :size]).T, right[:size])


def solve_upper(factor, size, right):
    return np.linalg.solve(np.triu(factor[:size, :size]), right[:size])


def solve_with_ones(factor, size, right):
    upper = np.triu(factor[:size, :size])
    matrix = upper.T @ upper
    return np.linalg.solve(matrix, right[:size]), np.linalg.solve(matrix, np.ones(size))


def append_column(gram, ridge, vertex, support):
    """Return the factor and the support with one more vertex."""
    longer = [*support, vertex]
    return upper_factor(gram[np.ix_(longer, longer)] + ridge * np.eye(len(longer))), longer


def delete_column(factor, size, index, support):
    """Return the factor and the support without one of the vertices."""
    upper = np.triu(factor[:size, :size])
    kept = np.delete(np.arange(size), index)
    return upper_factor((upper.T @ upper)[np.ix_(kept, kept)]), [support[i] for i in kept]


def best_change(factor, size, full, slope):
    """Return the change to the best weights, and the price, from the conditions of optimality."""
    upper = np.triu(factor[:size, :size])
    matrix = upper.T @ upper
    if not full:
        return np.linalg.solve(matrix, -slope[:size]), 0.0
    bordered = np.block([[matrix, np.ones((size, 1))], [np.ones((1, size)), np.zeros((1, 1))]])
    solution = np.linalg.solve(bordered, np.append(-slope[:size], 0.0))
    return solution[:size], solution[size]


def longest_step(weights, full, change):
    """Return how far weights can go along a change, and what blocks: an index, -1 or -2."""
    steps = [w / -c if w + c < 0.0 else 1.0 for w, c in zip(weights, change, strict=True)]
    step = min(steps, default=1.0)
    blocking = int(np.argmin(steps)) if step < 1.0 else -1
    total, left = sum(change), max(0.0, 1.0 - sum(weights))
    if not full and total > 0.0 and step * total > left:
        return left / total, -2
    return step, blocking


def best_weights(columns, target):
    """Return the weights w >= 0, sum w <= 1, of least |Aw - t|^2, by nonnegative least squares.

    A zero column takes what the weights leave of 1; the rest is the trick of ``zoo.optimum``.
    """
    matrix = np.column_stack((columns, np.zeros(len(target)))) - target[:, np.newaxis]
    bordered = np.vstack((matrix, np.ones(matrix.shape[1])))
    weights, _ = nnls(bordered, np.append(np.zeros(len(target)), 1.0), maxiter=10**5)
    return (weights / weights.sum())[:-1]


def exchange(gram, tolerance, max_steps, half_gradient, weights):
    """Return steps, last difference, half-gradient and weights after exchanges between pairs."""
    # The zero vertex is an ordinary one here: the last, with a row and column of zeros.
    count = len(gram)
    padded = np.zeros((count + 1, count + 1))
    padded[:count, :count] = gram
    w = np.append(weights, max(0.0, 1.0 - weights.sum()))
    slope = np.append(half_gradient, 0.0)
    for step in range(max_steps + 1):
        giver = int(np.argmax(np.where(w > 0.0, slope, -np.inf)))
        taker = int(np.argmin(slope))
        apart = slope[giver] - slope[taker]
        if apart <= tolerance or step == max_steps:
            return step, apart, slope[:count], w[:count]
        curvature = padded[giver, giver] + padded[taker, taker] - 2.0 * padded[giver, taker]
        amount = w[giver] if curvature * w[giver] <= apart else apart / curvature
        w[giver] -= amount
        w[taker] += amount
        slope += amount * (padded[taker] - padded[giver])
    raise AssertionError("unreachable")
