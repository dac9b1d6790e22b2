"""Bit instructions, compiled and in plain Python, against the digits of a number."""

import numpy as np
from numba import njit

from intensor.kernels import bits

WORDS = [
    *np.random.default_rng(3).integers(1, 2**64, 50, dtype=np.uint64),
    *(np.uint64(1 << bit) for bit in range(64)),
    *(np.uint64((2**64 - 1) ^ ((1 << bit) - 1)) for bit in range(64)),
]


@njit
def compiled_popcount(word):
    return bits.popcount(word)


@njit
def compiled_trailing_zeros(word):
    return bits.trailing_zeros(word)


def test_compiled_and_plain_popcounts_agree():
    for word in [np.uint64(0), *WORDS]:
        ones = f"{int(word):b}".count("1")
        assert compiled_popcount(word) == bits._plain_popcount(word) == ones


def test_compiled_and_plain_trailing_zeros_agree():
    for word in WORDS:
        digits = f"{int(word):b}"
        zeros = len(digits) - len(digits.rstrip("0"))
        assert compiled_trailing_zeros(word) == bits._plain_trailing_zeros(word) == zeros
