"""Cells in order of an index, cut into chunks."""

import numpy as np
import pytest

from intensor.backends.cuda.device import array_module, to_host
from intensor.backends.cuda.mode_order import sort_by_index


@pytest.fixture
def rows():
    """Return positions of 200 cells in modes of 3 and 6 indices; index 2 of the second is free."""
    rng = np.random.default_rng(0)
    second = rng.choice([0, 1, 3, 4, 5], 200, p=[0.5, 0.2, 0.1, 0.1, 0.1])
    return np.stack((rng.integers(0, 3, 200), 3 + second)).astype(np.uint16)


def test_cells_of_an_index_stay_in_order(rows):
    found = sort_by_index(array_module().asarray(rows), 1, 3, 9)
    np.testing.assert_array_equal(to_host(found.order), np.argsort(rows[1], kind="stable"))
    np.testing.assert_array_equal(np.diff(found.starts), np.bincount(rows[1] - 3, minlength=6))


@pytest.mark.parametrize("most", [7, 64, 1000])
@pytest.mark.parametrize(("low", "high"), [(0, 6), (1, 4), (2, 3), (4, 4)])
def test_chunks_are_all_cells_of_the_indices(rows, low, high, most):
    order = sort_by_index(array_module().asarray(rows), 1, 3, 9)
    chunks, starts = order.chunks(low, high, most)
    covered = [cell for _, first, end in chunks for cell in range(first, end)]
    assert covered == list(range(order.starts[low], order.starts[high]))
    assert starts.tolist() == [0, *np.cumsum(np.bincount(chunks[:, 0], minlength=high - low))]
    for index, first, end in chunks:
        assert 0 < end - first <= most
        assert order.starts[low + index] <= first < end <= order.starts[low + index + 1]
