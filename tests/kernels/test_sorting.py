"""The passes of a radix sort, put together."""

import numpy as np

from intensor.kernels.sorting import count_digits, move_keys


def test_a_pass_sorts_stably_by_one_digit_with_any_blocks():
    keys = np.random.default_rng(0).integers(0, 2**40, 1000)
    low, n_digits = 11, 1 << 6
    expected = keys[np.argsort((keys >> low) % n_digits, kind="stable")]
    for blocks in ([(0, 1000)], [(0, 300), (300, 301), (301, 1000)]):
        counts = np.zeros((len(blocks), n_digits), dtype=np.int64)
        for block, part in enumerate(blocks):
            count_digits(keys, low, *part, counts[block])
        ends = np.cumsum(counts.T).reshape(n_digits, -1).T
        positions = np.ascontiguousarray(ends - counts)
        found = np.empty_like(keys)
        for block, part in enumerate(blocks):
            move_keys(keys, low, *part, positions[block], found)
        assert found.tolist() == expected.tolist()
