"""Repeated observations: equal values must not vary, since every bound starts at the variance."""

import numpy as np
import pytest

import naive
import zoo
from intensor.kernels.repeats import collapse_repeats, sort_repeats


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e-300, 1e150])
@pytest.mark.parametrize("count", zoo.mostly_slow([1, 2, 3, 29, 1000], telling=[3, 1000]))
def test_equal_values_have_no_variance_at_all(value, count):
    totals, means, sums = np.empty(1), np.empty(1), np.empty(2)
    order, starts = np.arange(count, dtype=np.uint32), np.zeros(1, dtype=np.int64)
    values = np.full(count, value)
    collapse_repeats(order, starts, values, np.empty(0), 0, 1, totals, means, sums)
    assert (totals.tolist(), means.tolist()) == ([count], [value])
    assert sums[0] == 0.0
    assert sums[1] == pytest.approx(count * value**2)


@pytest.mark.parametrize("size", [2, 15, 16, 17, 33, 1000])
@pytest.mark.parametrize("weighted", [False, True])
def test_many_observations_of_a_cell_are_sorted_and_equal_ones_stay(size, weighted):
    rng = np.random.default_rng(size)
    values = rng.integers(size // 2 + 1, size=size + 1).astype(float)
    weights = rng.integers(1, 3, size=size + 1).astype(float) if weighted else np.empty(0)
    starts = np.array([0, 1])  # a cell with one observation, then one with many
    order = rng.permutation(size + 1).astype(np.uint32)
    wanted = order.copy()
    sort_repeats(starts, values, weights, 0, 2, order)
    naive.sort_repeats(starts, values, weights, 0, 2, wanted)
    assert order.tolist() == wanted.tolist()
