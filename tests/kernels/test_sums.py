"""Sums over cells against dense arrays."""

import numpy as np
import pytest

import zoo
from intensor.backends.packed_cells import pack_cells
from intensor.data.observations import observe
from intensor.kernels import sums
from intensor.problem.layout import cell_matrix
from intensor.problem.vertex import membership, mode_offsets, pack_vertices
from strategies import random_flags


@pytest.mark.parametrize("name", zoo.OBSERVED)
@pytest.mark.parametrize("count", [0, 1, 65])
def test_a_weighted_sum_of_vertices(name, count):
    shape, coords, values, _ = zoo.observed(name)
    observations = observe(coords, values, shape=shape)
    cells = pack_cells(observations, 2.0)
    rng = np.random.default_rng(count)
    flags = random_flags(rng, count, shape)
    words, weights = pack_vertices(flags, shape).words, np.zeros(128)
    weights[:count] = rng.uniform(size=count)
    members = np.array([membership(row, observations.coords, shape) for row in flags])
    x = weights[:count] @ members if count else np.zeros(cells.n_cells)
    predicted = np.empty(cells.n_cells)
    indices = cell_matrix(observations.coords, shape).astype(np.int64)
    sums.predict(words, weights[:count], indices, mode_offsets(shape), predicted)
    np.testing.assert_allclose(predicted, x, rtol=1e-13)
    costs, totals = np.empty(cells.n_cells), np.empty(2)
    n_words = -(-count // 64)
    sums.fit_cells(cells.rows, words, n_words, weights, cells.targets, cells.shares, costs, totals)
    residual = x[cells.order] - cells.targets
    np.testing.assert_allclose(costs, 2.0 * cells.shares * residual, rtol=1e-12, atol=1e-14)
    expected = [np.sum(cells.shares * residual**2), np.sum(costs * x[cells.order])]
    np.testing.assert_allclose(totals, expected, rtol=1e-12)


def test_predictions_of_no_cell():
    words = pack_vertices(np.ones((2, 5), dtype=np.uint8), (2, 3)).words
    out = np.empty(0)
    sums.predict(words, np.ones(2), np.empty((0, 2), dtype=np.int64), np.array([0, 2, 5]), out)
    assert out.size == 0
