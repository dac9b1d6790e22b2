"""The order of numbers, against plain sorting and, where numbers are equal, against Numba's."""

import numba
import numpy as np
import pytest

import naive
from intensor.kernels.value_order import sort_positions


@numba.njit
def sort_like_numba(values):
    return np.argsort(values)


SIZES = [0, 1, 2, 15, 16, 17, 100, 3000]


@pytest.mark.parametrize("count", SIZES)
def test_distinct_numbers_are_sorted(count):
    values = np.random.default_rng(count).permutation(count + 5) / 7.0
    found, wanted = np.full(count, -1), np.full(count, -1)
    sort_positions(values, count, found)
    naive.sort_positions(values, count, wanted)
    assert found.tolist() == wanted.tolist()


@pytest.mark.needs_jit
@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("n_values", [1, 3, 40])
def test_equal_numbers_have_the_order_of_numba(count, n_values):
    values = np.random.default_rng(count).integers(n_values, size=count).astype(float)
    found = np.full(count, -1)
    sort_positions(values, count, found)
    assert found.tolist() == sort_like_numba(values).tolist()


@pytest.mark.parametrize("shift", [0, 1])
def test_sorted_numbers_are_no_trap(shift):
    values = np.roll(np.arange(5000.0), shift)[::-1].copy()
    found = np.empty(values.size, dtype=np.int64)
    sort_positions(values, values.size, found)
    assert (np.diff(values[found]) == 1.0).all()


def test_a_number_that_is_none_does_not_hang():
    values = np.array([3.0, np.nan, 1.0] * 20)
    found = np.empty(values.size, dtype=np.int64)
    sort_positions(values, values.size, found)
    assert sorted(found.tolist()) == list(range(values.size))
