"""Dense and sparse rows against a plain matrix."""

import numpy as np
import pytest

from intensor.solver.paper.rows import DenseRows, SparseRows


@pytest.mark.parametrize("kind", [DenseRows, SparseRows])
def test_rows_do_what_a_matrix_does(kind):
    rng = np.random.default_rng(0)
    rows, matrix = kind(30), np.zeros((0, 30))
    for count in (1, 15, 20):  # more than the first capacity
        added = rng.integers(0, 2, (count, 30), dtype=np.uint8)
        for inside in added:
            rows.append(inside)
        matrix = np.vstack((matrix, added))
        cells, weights = rng.normal(size=30), rng.uniform(size=len(matrix))
        np.testing.assert_allclose(rows.products(cells), matrix @ cells, atol=1e-13)
        np.testing.assert_allclose(rows.combine(weights), weights @ matrix, atol=1e-13)
        assert np.array_equal(rows.row(len(matrix) - 1), matrix[-1])
        chosen = rng.uniform(size=len(matrix)) < 0.7
        chosen[0] = True
        rows.keep(chosen)
        matrix = matrix[chosen]
        assert all(np.array_equal(rows.row(i), row) for i, row in enumerate(matrix))


def test_dense_rows_are_the_larger_ones():
    assert DenseRows.bytes_per_cell > SparseRows.bytes_per_cell > 0
