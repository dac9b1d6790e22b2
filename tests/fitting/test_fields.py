"""Linear algebra in pieces: the numbers of plain NumPy, and an end when time is up."""

import threading

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  (its BLAS is to be there from the start)
from threadpoolctl import threadpool_info

from fitting_cases import Countdown
from intensor.fitting.fields import BLOCK_COLUMNS, MAX_PIECE, FieldAlgebra, OutOfTimeError
from intensor.runtime.budget import Budget
from intensor.runtime.threads import one_blas_thread


@pytest.fixture(params=[(1, MAX_PIECE), (3, MAX_PIECE), (1, 200), (3, 200)], ids=str)
def algebra(request):
    threads, max_piece = request.param
    return FieldAlgebra(Budget(), threads=threads, max_piece=max_piece)


@pytest.mark.parametrize("shape", [(7, 5, 3), (4, 9), (1, 6, 1), (5, 1), (3, 2, 4, 2)], ids=str)
def test_a_tensor_is_multiplied_by_one_matrix_per_mode(shape, algebra):
    rng = np.random.default_rng(0)
    field = rng.standard_normal(shape)
    matrices = [rng.standard_normal((n, n)) for n in shape]
    expected = field
    for mode, matrix in enumerate(matrices):
        expected = np.moveaxis(np.tensordot(matrix, expected, axes=(1, mode)), 0, mode)
    with algebra.running():
        np.testing.assert_allclose(algebra.multiply(field, matrices), expected, rtol=1e-12)
        single = algebra.multiply(
            field.astype(np.float32), [matrix.astype(np.float32) for matrix in matrices]
        )
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, rtol=1e-3, atol=1e-4)


def test_a_matrix_is_multiplied_by_its_transpose(algebra):
    slabs = np.random.default_rng(1).standard_normal((13, 40))
    np.testing.assert_allclose(algebra.square(slabs), slabs @ slabs.T, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("length", [1, 5, BLOCK_COLUMNS + 1])
def test_matrices_of_any_length_are_factored_and_inverted(length):
    rng = np.random.default_rng(length)
    matrix = rng.standard_normal((length, length))
    covariance = matrix @ matrix.T / length + np.eye(length)
    algebra = FieldAlgebra(Budget())
    root = algebra.root(covariance)
    assert np.array_equal(root, np.tril(root))
    np.testing.assert_allclose(root @ root.T, covariance, atol=1e-4)
    inverse = algebra.inverse(root)
    assert np.array_equal(inverse, np.tril(inverse))
    np.testing.assert_allclose(inverse @ root, np.eye(length), atol=1e-9)


def test_a_matrix_that_is_no_covariance_still_has_a_root():
    covariance = np.array([[1.0, 2.0], [2.0, 1.0]])
    root = FieldAlgebra(Budget()).root(covariance)
    assert np.isfinite(root).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_a_product_ends_when_time_runs_out(threads):
    budget = Countdown(10)
    algebra = FieldAlgebra(budget, threads=threads, max_piece=1)
    with pytest.raises(OutOfTimeError), algebra.running():
        algebra.multiply_mode(np.ones((64, 64)), np.eye(64), 0)
    assert 10 - budget.n_left < 64


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_blas_has_one_thread_as_long_as_one_caller_asks_for_it():
    before = blas_threads()
    with one_blas_thread():
        with FieldAlgebra(Budget()).running():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == before


def test_several_threads_may_ask_for_one_thread_of_blas():
    before, seen = blas_threads(), []
    barrier = threading.Barrier(4, timeout=30)

    def ask():
        for _ in range(5):
            with one_blas_thread():
                barrier.wait()  # all of them are inside at the same time
                seen.append(blas_threads())
            barrier.wait()

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 20
    assert all(one == {1} for one in seen)
    assert blas_threads() == before


def test_eigenvectors_are_not_begun_without_time_for_them():
    matrix = np.cov(np.random.default_rng(0).standard_normal((40, 90)))
    values, vectors = FieldAlgebra(Budget()).eigen(matrix)
    assert vectors * values @ vectors.T == pytest.approx(matrix)
    with pytest.raises(OutOfTimeError):
        FieldAlgebra(Budget(1e-6)).eigen(np.eye(200))
