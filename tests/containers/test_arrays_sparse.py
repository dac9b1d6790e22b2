"""Sparse arrays of the sparse package and of SciPy."""

import numpy as np
import pytest
import scipy.sparse as sp
import sparse

import intensor
from intensor import complete, errors

QUICK = {"radius": 1.0, "exact": "off", "unseen": "mean"}


@pytest.fixture
def data():
    return intensor.planted((5, 4, 3), 30, noise=0.02)


def coo(data, **options):
    coords, first = np.unique(data.coords, axis=0, return_index=True)
    return sparse.COO(coords.T, data.values[first], shape=data.shape, **options)


def with_nan(array, rows):
    values = array.data.copy()
    values[rows] = np.nan
    return sparse.COO(array.coords, values, shape=array.shape, fill_value=array.fill_value)


def test_stored_nan_is_filled_and_nothing_else(data):
    array = with_nan(coo(data, fill_value=9.0), [1, 4])
    completed, fit = complete(array, **QUICK)
    assert isinstance(completed, sparse.COO)
    assert completed.fill_value == 9.0
    np.testing.assert_array_equal(completed.coords, array.coords)
    gone = np.isnan(array.data)
    np.testing.assert_array_equal(completed.data[~gone], array.data[~gone])
    np.testing.assert_array_equal(completed.data[gone], fit.predict(array.coords.T[gone]))
    assert fit.n == array.nnz - 2


def test_what_is_not_stored_is_not_data(data):
    array = coo(data)
    with pytest.warns(errors.NothingToFillWarning):
        completed, fit = complete(array, **QUICK)
    assert completed is array
    dense, by_hand = complete(np.where(coo_mask(array), array.todense(), np.nan), **QUICK)
    cells = np.argwhere(~coo_mask(array))
    np.testing.assert_array_equal(fit.predict(cells, unseen="mean"), dense[tuple(cells.T)])
    assert fit.n == by_hand.n == array.nnz


def coo_mask(array):
    mask = np.zeros(array.shape, dtype=bool)
    mask[tuple(array.coords)] = True
    return mask


@pytest.mark.parametrize("fill_value", [0.0, 5.0, np.nan])
def test_every_cell(data, fill_value):
    array = with_nan(coo(data, fill_value=fill_value), [0])
    completed, fit = complete(array, cells="all", **QUICK)
    assert completed.nnz == 60
    np.testing.assert_equal(completed.fill_value, fill_value)
    there = coo_mask(array) & ~np.isnan(array.todense())
    np.testing.assert_array_equal(completed.todense()[there], array.todense()[there])
    np.testing.assert_array_equal(
        completed.todense()[~there], fit.predict(np.argwhere(~there), unseen="mean")
    )


def test_zeros_that_are_stored_are_data():
    array = sparse.COO([[0, 0, 1], [0, 1, 0]], [0.0, 1.0, np.nan], shape=(2, 2), prune=False)
    assert array.nnz == 3
    completed, fit = complete(array, **QUICK)
    assert fit.n == 2
    assert completed.data[0] == 0.0
    assert completed.nnz == 3


def test_types(data):
    single = coo(data).astype(np.float32)
    completed, _ = complete(single, cells="all", **QUICK)
    assert completed.dtype == np.float32
    counts = sparse.COO([[0, 1], [0, 1]], np.array([1, 3]), shape=(2, 2))
    completed, _ = complete(counts, cells="all", radius=3.0, exact="off")
    assert completed.dtype == np.float64
    assert completed.todense().diagonal().tolist() == [1.0, 3.0]


def test_too_many_cells():
    array = sparse.COO([[0], [0], [0]], [1.0], shape=(10**6, 10**6, 10**6))
    with pytest.raises(errors.DenseTooLargeError, match=f"{10**18} cells"):
        complete(array, cells="all", **QUICK)


def test_long_arrays_are_never_written_out():
    coords = np.zeros((3, 3), dtype=int)
    coords[:, 1] = 1, 0, 99_999
    coords[:, 2] = 99_999
    array = sparse.COO(coords, [1.0, 0.5, np.nan], shape=(100_000,) * 3)
    completed, _ = complete(array, **QUICK)
    assert completed.nnz == 3
    assert not np.isnan(completed.data).any()


def test_bad_sparse_arrays():
    empty = sparse.COO(np.empty((2, 0), dtype=int), np.empty(0), shape=(2, 2), fill_value=3.0)
    with pytest.raises(errors.EmptyDataError, match="stores no entry"):
        complete(empty, **QUICK)
    with pytest.raises(errors.NegativeValueError, match=r"at \(1, 0\) is -1.0"):
        complete(sparse.COO([[0, 1], [0, 0]], [1.0, -1.0], shape=(2, 2)), **QUICK)
    with pytest.raises(errors.ValuesError, match="complex"):
        complete(sparse.COO([[0], [0]], [1j], shape=(2, 2)), **QUICK)
    with pytest.raises(errors.ValuesError, match="tocoo"):
        complete(sparse.GCXS(sparse.COO([[0], [0]], [1.0], shape=(2, 2))), **QUICK)


@pytest.mark.parametrize(
    "kind",
    [sp.coo_array, sp.csr_array, sp.csc_array, sp.coo_matrix, sp.csr_matrix],
    ids=lambda kind: kind.__name__,
)
def test_scipy(kind):
    rows, columns = [0, 0, 1, 2, 2], [0, 2, 1, 0, 1]
    values = [0.5, 0.0, np.nan, 1.0, 0.25]
    array = kind(sp.coo_array((values, (rows, columns)), shape=(3, 3)))
    completed, fit = complete(array, **QUICK)
    assert type(completed) is type(array)
    assert (completed.nnz, fit.n) == (5, 4)
    dense = completed.toarray()
    assert dense[rows, columns][[0, 1, 3, 4]].tolist() == [0.5, 0.0, 1.0, 0.25]
    assert dense[1, 1] == fit.predict([[1, 1]], unseen="mean")[0]
    assert np.isnan(array.toarray()[1, 1])
    every, _ = complete(array, cells="all", **QUICK)
    assert type(every) is type(array)
    assert every.nnz == 9
    assert every.toarray()[rows, columns][[0, 1, 3, 4]].tolist() == [0.5, 0.0, 1.0, 0.25]


def test_scipy_duplicates_add_up():
    array = sp.coo_array(([0.25, 0.25, np.nan], ([0, 0, 1], [0, 0, 0])), shape=(2, 2))
    completed, fit = complete(array, **QUICK)
    assert fit.n == 1
    assert completed.toarray()[0, 0] == 0.5
    assert array.nnz == 3


def test_scipy_formats():
    with pytest.raises(errors.ValuesError, match="format 'lil'"):
        complete(sp.lil_array((2, 2)), **QUICK)
