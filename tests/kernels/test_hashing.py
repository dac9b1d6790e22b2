"""Cells drawn by their hash: the right share, in any order and with any neighbours."""

import numpy as np
import pytest

from intensor.kernels.hashing import draw_cells

ROWS = np.ascontiguousarray(np.argwhere(np.ones((30, 20, 10))), dtype=np.uint16)


def drawn(rows, seed=1, share=0.1):
    found = np.empty(len(rows), dtype=np.int64)
    count = draw_cells(rows, np.uint64(seed), np.uint64(int(share * 2.0**64)), found)
    return found[:count]


@pytest.mark.parametrize("share", [0.01, 0.1, 0.9])
def test_about_the_given_share_of_cells_is_drawn(share):
    assert drawn(ROWS, share=share).size == pytest.approx(share * len(ROWS), abs=4 * 6000**0.5)


def test_whether_a_cell_is_drawn_does_not_depend_on_its_neighbours():
    order = np.random.default_rng(0).permutation(len(ROWS))
    one, other = ROWS[drawn(ROWS)], ROWS[order][drawn(ROWS[order])]
    assert sorted(one.tolist()) == sorted(other.tolist())
    assert drawn(ROWS).tolist() != drawn(ROWS, seed=2).tolist()
