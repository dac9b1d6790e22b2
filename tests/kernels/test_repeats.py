"""Repeated observations: equal values must not vary, since every bound starts at the variance."""

import numpy as np
import pytest

import zoo
from intensor.kernels.repeats import collapse_repeats


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
