"""Patterns as digits and bits, and the slab that is always on."""

import numpy as np
import pytest

from intensor.oracles.exact.patterns import bits_of, digits_of, with_ground


@pytest.mark.parametrize("length", [1, 5, 62])
def test_digits_make_up_their_number(length):
    rng = np.random.default_rng(length)
    for number in (0, 1, (1 << length) - 1, *rng.integers(0, 1 << length, 10).tolist()):
        digits = digits_of(number, length)
        assert digits.dtype == np.uint8
        assert sum(int(digit) << place for place, digit in enumerate(digits)) == number


def test_only_the_lowest_digits_are_kept():
    assert digits_of(0b1101, 2).tolist() == [1, 0]
    assert digits_of(5, 0).tolist() == []


@pytest.mark.parametrize("length", [1, 63, 64, 65, 130])
def test_bits_go_on_from_word_to_word(length):
    flags = np.random.default_rng(length).integers(0, 2, length)
    words = np.zeros(-(-length // 64), dtype=np.uint64)
    for place in np.flatnonzero(flags):
        words[place // 64] |= np.uint64(1) << np.uint64(place % 64)
    assert bits_of(words, length).tolist() == flags.tolist()
    assert bits_of(words[:1], length).tolist() == digits_of(int(words[0]), min(64, length)).tolist()


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_the_ground_is_zero_and_comes_first(kind, axis):
    costs = np.arange(1, 25, dtype=kind).reshape(2, 3, 4)
    stacked = with_ground(costs, axis)
    assert stacked.dtype == kind
    assert stacked.shape == tuple(n + (mode == axis) for mode, n in enumerate((2, 3, 4)))
    assert not np.any(np.take(stacked, 0, axis))
    np.testing.assert_array_equal(np.delete(stacked, 0, axis), costs)
