"""Flags that are packed into lanes or words and unpacked again."""

import numpy as np

from intensor.kernels import packing
from intensor.problem.vertex import pack_vertices


def random_words(rng, *size):
    return rng.integers(0, 2**64, size, dtype=np.uint64)


def test_vertices_come_out_of_lanes_as_they_went_in():
    rng = np.random.default_rng(0)
    flags = rng.integers(0, 2, (90, 13), dtype=np.uint8)
    for count in (1, 31, 64):
        chosen = rng.integers(0, 90, count)
        lanes, back = random_words(rng, 13), np.empty((count, 13), dtype=np.uint8)
        packing.join_lanes(flags, chosen, lanes)
        packing.split_lanes(lanes, np.arange(count), back)
        assert back.tolist() == flags[chosen].tolist()


def test_stored_words_are_those_of_packed_vertices():
    rng = np.random.default_rng(1)
    flags = rng.integers(0, 2, (150, 11), dtype=np.uint8)
    words = random_words(rng, 11, 3)
    for first, last in [(0, 1), (1, 64), (64, 65), (60, 130), (130, 150), (5, 5)]:
        packing.store_words(flags, first, last, words)
    words[:, 2] &= np.uint64(2**22 - 1)  # 150 = 2 * 64 + 22
    assert words.tolist() == pack_vertices(flags, (11,)).words.tolist()
