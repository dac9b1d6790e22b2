"""Factors of Gram matrices against dense linear algebra."""

import numpy as np
import pytest

import naive_master
from intensor.kernels.cholesky import (
    append_column,
    delete_column,
    solve_transposed,
    solve_upper,
    solve_with_ones,
)

CAPACITY = 12
SIZES = [1, 2, 5, 11]


def problem(size, seed=0):
    """Return a Gram matrix, a support and its factor in arrays that are too large."""
    rng = np.random.default_rng([seed, size])
    columns = (rng.uniform(size=(40, CAPACITY)) < 0.5).astype(float)
    gram = columns.T @ columns
    support = np.full(CAPACITY, -7)
    support[:size] = rng.permutation(CAPACITY)[:size]
    factor = np.full((CAPACITY, CAPACITY), 1e9)  # beyond the size anything may be there
    used = support[:size]
    factor[:size, :size] = naive_master.upper_factor(gram[np.ix_(used, used)])
    return gram, support, factor, rng


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kernel", [solve_transposed, solve_upper])
def test_triangular_systems_are_solved(kernel, size):
    _, _, factor, rng = problem(size)
    out = rng.normal(size=CAPACITY)
    wanted, beyond = getattr(naive_master, kernel.__name__)(factor, size, out), out[size:].copy()
    kernel(factor, size, out)
    np.testing.assert_allclose(out[:size], wanted, rtol=1e-10, atol=1e-12)
    assert np.array_equal(out[size:], beyond)


@pytest.mark.parametrize("size", SIZES)
def test_two_right_sides_are_solved_at_once(size):
    _, _, factor, rng = problem(size)
    out, ones = rng.normal(size=CAPACITY), np.full(CAPACITY, np.nan)
    wanted = naive_master.solve_with_ones(factor, size, out)
    solve_with_ones(factor, size, out, ones)
    np.testing.assert_allclose(out[:size], wanted[0], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ones[:size], wanted[1], rtol=1e-8, atol=1e-10)
    assert np.isnan(ones[size:]).all()


@pytest.mark.parametrize("size", [0, 1, 4, 10])
def test_a_column_can_be_appended(size):
    gram, support, factor, _ = problem(max(size, 1))
    vertex = int(np.setdiff1d(np.arange(CAPACITY), support[:size])[0])
    wanted, longer = naive_master.append_column(gram, 1e-9, vertex, support[:size].tolist())
    append_column(gram, 1e-9, vertex, size, np.empty(CAPACITY), factor, support)
    assert support[: size + 1].tolist() == longer
    found = np.triu(factor[: size + 1, : size + 1])
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-8)


def test_a_dependent_column_leaves_the_ridge():
    gram = np.ones((2, 2))
    factor, support = np.zeros((2, 2)), np.zeros(2, dtype=np.int64)
    factor[0, 0] = 1.0
    append_column(gram, 1e-12, 1, 1, np.empty(2), factor, support)
    assert factor[1, 1] == pytest.approx(1e-6, rel=1e-3)


@pytest.mark.parametrize(("size", "index"), [(1, 0), (5, 0), (5, 2), (5, 4), (11, 3)])
def test_a_column_can_be_deleted(size, index):
    _, support, factor, _ = problem(size, seed=1)
    wanted, shorter = naive_master.delete_column(factor, size, index, support.tolist())
    delete_column(index, size, factor, support)
    assert support[: size - 1].tolist() == shorter
    found = np.triu(factor[: size - 1, : size - 1])
    np.testing.assert_allclose(np.abs(found), np.abs(wanted), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found.T @ found, wanted.T @ wanted, rtol=1e-9, atol=1e-9)
