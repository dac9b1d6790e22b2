"""On-off patterns as numbers and as digits, and stacks that have something always on."""

from __future__ import annotations

import numpy as np

from intensor._arrays import AnyArray, FlagArray

__all__ = ["bits_of", "digits_of", "with_ground"]


def digits_of(number: int, length: int) -> FlagArray:
    """Return the lowest binary digits of a number, lowest first.

    Examples
    --------
    >>> digits_of(6, 4).tolist()
    [0, 1, 1, 0]
    """
    return np.array([(number >> digit) & 1 for digit in range(length)], dtype=np.uint8)


def bits_of(words: AnyArray, length: int) -> FlagArray:
    """Return the bits of one or more 64-bit words, lowest first."""
    bits: FlagArray = np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little")
    return bits[:length]


def with_ground(costs: AnyArray, axis: int) -> AnyArray:
    """Return costs with a slab of zeros in front along an axis: the one that is always on."""
    ground = np.zeros_like(np.take(costs, [0], axis=axis))
    return np.concatenate((ground, costs), axis=axis)
