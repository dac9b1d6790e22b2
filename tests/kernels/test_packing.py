"""Words against those of packed vertices; the twins cover everything else."""

import numpy as np

from intensor.kernels import packing
from intensor.problem.vertex import pack_vertices


def test_stored_words_are_those_of_packed_vertices():
    rng = np.random.default_rng(1)
    flags = rng.integers(0, 2, (150, 11), dtype=np.uint8)
    words = rng.integers(0, 2**64, (11, 3), dtype=np.uint64)
    for first, last in [(0, 1), (1, 64), (64, 65), (60, 130), (130, 150), (5, 5)]:
        packing.store_words(flags, first, last, words)
    words[:, 2] &= np.uint64(2**22 - 1)  # 150 = 2 * 64 + 22
    assert words.tolist() == pack_vertices(flags, (11,)).words.tolist()
