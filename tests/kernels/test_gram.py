"""Members that are packed word by word; the twins cover everything else."""

import numpy as np
import pytest

from intensor.kernels import gram


@pytest.mark.parametrize("n", [40, 64, 65, 200])
def test_packing_one_word_leaves_the_others_alone(n):
    # One long mode, so that every cell has its own index and all 64 x 64 squares differ.
    rng = np.random.default_rng(n)
    rows = np.arange(n)[:, np.newaxis].astype(np.uint16)
    lanes = rng.integers(0, 2**64, n, dtype=np.uint64)
    n_words = -(-n // 64)
    found = rng.integers(0, 2**64, (64, n_words), dtype=np.uint64)
    for word in range(n_words):
        before = found.copy()
        gram.pack_members(rows, lanes, 64, word, word + 1, found)
        assert np.array_equal(np.delete(found, word, axis=1), np.delete(before, word, axis=1))
    for cell in range(n):
        column = (found[:, cell // 64] >> np.uint64(cell % 64)) & np.uint64(1)
        assert int(lanes[cell]) == sum(int(bit) << lane for lane, bit in enumerate(column))
