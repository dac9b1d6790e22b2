"""Sums over no cells; the twins cover all others."""

import numpy as np

from intensor.kernels import sums
from intensor.problem.vertex import pack_vertices


def test_no_cell_has_no_prediction():
    words = pack_vertices(np.ones((2, 5), dtype=np.uint8), (2, 3)).words
    out = np.empty(0)
    sums.predict(words, np.ones(2), np.empty((0, 2), dtype=np.int64), np.array([0, 2, 5]), out)
    assert out.size == 0
