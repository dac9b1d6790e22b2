"""NumPy arrays with NaN and masked arrays."""

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import intensor
from forall import forall
from intensor import complete, errors
from intensor.containers import open_container
from intensor.containers.arrays import DenseContainer

QUICK = {"radius": 1.0, "exact": "off", "unseen": "mean"}


@pytest.fixture
def table():
    data = intensor.planted((5, 4, 3), 45, noise=0.02)
    array = np.full(data.shape, np.nan)
    array[tuple(data.coords.T)] = data.values
    assert np.isnan(array).any()
    return array


def test_it_is_solve_and_predict(table):
    there = np.argwhere(~np.isnan(table))
    result = intensor.solve(
        there, table[tuple(there.T)], shape=table.shape, radius=1.0, rtol=1e-4, exact="off"
    )
    before = table.copy()
    completed, fit = complete(table, **QUICK)
    np.testing.assert_array_equal(table, before)
    gone = np.isnan(table)
    np.testing.assert_array_equal(completed[~gone], table[~gone])
    np.testing.assert_array_equal(completed[gone], result.model.to_dense()[gone])
    np.testing.assert_array_equal(completed[gone], fit.predict(np.argwhere(gone)))
    assert fit.labels.modes == ("mode_0", "mode_1", "mode_2")
    assert fit.labels.plain


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", "g"])
def test_floats_keep_their_type(table, kind):
    array = table.astype(kind)
    completed, _ = complete(array, **QUICK)
    assert completed.dtype == array.dtype
    np.testing.assert_array_equal(completed[~np.isnan(array)], array[~np.isnan(array)])
    assert np.isfinite(completed).all()


def test_a_type_that_is_too_small_grows():
    container = DenseContainer(np.array([1.0, np.nan], dtype=np.float16))
    assert container.fill(np.array([7e4])).tolist() == [1.0, 7e4]
    assert container.fill(np.array([6e4])).dtype == np.float16


@pytest.mark.parametrize("order", ["C", "F"])
def test_order_and_views(table, order):
    array = np.asarray(table, order=order)
    completed, fit = complete(array, **QUICK)
    assert completed.flags["F_CONTIGUOUS"] == (order == "F")
    strided, _ = complete(array[::-1, :, ::2], **QUICK)
    assert strided.shape == (5, 4, 2)
    assert not np.isnan(strided).any()
    np.testing.assert_array_equal(
        completed[np.isnan(array)], fit.predict(np.argwhere(np.isnan(array)))
    )


def test_masked_arrays(table):
    gone = np.isnan(table)
    masked = np.ma.MaskedArray(np.where(gone, -np.inf, table), mask=gone, fill_value=7.0)
    completed, _ = complete(masked, **QUICK)
    assert isinstance(completed, np.ma.MaskedArray)
    assert completed.fill_value == 7.0
    assert completed.mask.shape == table.shape
    assert not completed.mask.any()
    plain, _ = complete(table, **QUICK)
    np.testing.assert_array_equal(completed.data, plain)
    assert masked.mask.sum() == gone.sum()  # what was given is left alone


def test_nan_in_a_masked_array_is_missing_too(table):
    masked = np.ma.masked_invalid(table)
    masked[0, 0, 0] = np.nan
    completed, fit = complete(masked, **QUICK)
    assert not np.isnan(completed.data).any()
    assert fit.n == (~np.isnan(table)).sum() - (not np.isnan(table[0, 0, 0]))


def test_masked_integers_become_floats():
    masked = np.ma.MaskedArray([[1, 2], [2, 4]], mask=[[0, 0], [0, 1]])
    completed, fit = complete(masked, radius=4.0, exact="off")
    assert completed.dtype == np.float64
    assert completed[0].tolist() == [1.0, 2.0]
    assert completed[1, 1] == fit.predict([[1, 1]])[0]
    huge = np.ma.MaskedArray([2**53 + 1, 1], mask=[0, 1])
    with pytest.raises(errors.ValuesError, match=r"2\^53"):
        complete(huge, radius=1e16, exact="off")


def test_nothing_missing(table):
    array = np.nan_to_num(table)
    with pytest.warns(errors.NothingToFillWarning, match="no missing cell") as caught:
        completed, fit = complete(array, **QUICK)
    assert caught[0].filename == __file__
    assert completed is array
    assert fit.n == array.size
    counts = np.array([[1, 2], [3, 4]])
    with pytest.warns(errors.NothingToFillWarning):
        completed, _ = complete(counts, radius=4.0, exact="off")
    assert completed is counts


def test_an_index_without_observations(table):
    table[2] = np.nan
    completed, fit = complete(table, **QUICK)
    others = np.delete(np.arange(5), 2)
    counts = fit.predictor.counts[:5][others]
    cells = [[other, 1, 2] for other in others]
    np.testing.assert_allclose(
        completed[2, 1, 2], np.average(fit.model.predict(cells), weights=counts)
    )
    with pytest.raises(
        errors.UnseenIndexError, match="no observation has the label 2 in mode 'mode_0'"
    ):
        complete(table, **QUICK | {"unseen": "error"})


def test_one_mode():
    completed, _ = complete(np.array([0.5, np.nan, 1.0]), **QUICK)
    np.testing.assert_allclose(completed, [0.5, 0.75, 1.0], atol=0.02)


@pytest.mark.parametrize(
    ("array", "error", "message"),
    [
        (np.array(1.0), errors.ShapeError, "single number"),
        (np.empty((0, 3)), errors.EmptyDataError, r"shape \(0, 3\)"),
        (np.full((2, 2), np.nan), errors.EmptyDataError, "no observed value"),
        (np.ma.masked_all((2, 2)), errors.EmptyDataError, "no observed value"),
        (np.array([[1.0, np.inf]]), errors.ValuesError, r"at \(0, 1\) is inf"),
        (np.array([[1.0], [-3.0], [np.nan]]), errors.NegativeValueError, r"at \(1, 0\) is -3.0"),
        (np.array([1 + 2j]), errors.ValuesError, "dtype complex128"),
        (np.array([1, None], dtype=object), errors.ValuesError, "dtype object"),
        (np.array(["a"]), errors.ValuesError, "dtype <U1"),
        (np.array(["2020"], dtype="M8[Y]"), errors.ValuesError, "dtype datetime64"),
    ],
)
def test_bad_arrays(array, error, message):
    with pytest.raises(error, match=message):
        complete(array, **QUICK)


@forall(
    few=20,
    many=300,
    array=hnp.arrays(
        st.sampled_from([np.float32, np.float64]),
        hnp.array_shapes(max_dims=4, max_side=4),
        elements=st.one_of(st.just(np.nan), st.floats(0, 1024, width=32)),
    ),
)
def test_any_array_is_taken_apart_and_put_together(array):
    gone = np.isnan(array)
    if gone.all():
        with pytest.raises(errors.EmptyDataError):
            open_container(array)
        return
    container = open_container(array)
    filled = container.fill(np.arange(container.n_missing, dtype=float))
    cells = container.missing(slice(None))
    np.testing.assert_array_equal(cells, np.argwhere(gone))
    np.testing.assert_array_equal(filled[~gone], array[~gone])
    assert filled[tuple(cells.T)].tolist() == list(range(len(cells)))
    coords, values, _ = container.table.observed()
    np.testing.assert_array_equal(array[tuple(coords.T)], values)
    assert len(values) + container.n_missing == array.size


def test_more_modes_than_numpy_can_index():
    with pytest.raises(errors.ShapeError, match="64 modes; expected at most 63"):
        DenseContainer(np.ones((1,) * 64))
