"""Vertices of the polytope as bits.

A vertex ("box") is one 0-1 vector per mode; laid end to end they are ``sum(shape)``
flags. Many vertices together are kept transposed: for every index of every mode, one bit
per vertex. The membership of a cell in 64 vertices is then the AND of p words.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from intensor._arrays import AnyArray, FlagArray, FloatArray, IndexArray, Shape, WordArray

INDICES_AT_ONCE = 1 << 12
"""Number of indices of a mode whose bits are unpacked at a time."""


def mode_offsets(shape: Shape) -> IndexArray:
    """Return the position at which each mode begins in the flags, and their length at the end."""
    return np.concatenate(([0], np.cumsum(shape))).astype(np.int64)


def mode_slices(shape: Shape) -> list[slice]:
    """Return the part of the flags that belongs to each mode."""
    ends = mode_offsets(shape).tolist()
    return [slice(low, high) for low, high in itertools.pairwise(ends)]


def membership(flags: FlagArray, coords: Sequence[AnyArray], shape: Shape) -> FlagArray:
    """Return (u,) ones for the cells inside a vertex, zeros for the others."""
    inside = np.ones(coords[0].shape[0], dtype=np.uint8)
    for part, column in zip(mode_slices(shape), coords, strict=True):
        inside &= flags[part][column]
    return inside


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Vertices:
    """A list of vertices, one bit per vertex, mode and index."""

    shape: Shape  # Lengths of the modes
    count: int  # Number of vertices, k
    # (sum(shape), ceil(k / 64)) uint64: bit ``i % 64`` of word ``i // 64`` says whether vertex i is
    # on at that index
    words: WordArray

    def __len__(self) -> int:
        return self.count

    def flags(self) -> FlagArray:
        """Return the vertices as (k, sum(shape)) zeros and ones."""
        return np.ascontiguousarray(self._unpacked(self.words).T)

    def flags_at(self, positions: IndexArray | slice) -> FlagArray:
        """Return the (m, k) flags of all vertices at some of the sum(shape) positions."""
        return self._unpacked(self.words[positions])

    def box(self, index: int) -> tuple[IndexArray, ...]:
        """Return the indices that vertex ``index`` switches on, mode by mode."""
        word, bit = divmod(range(self.count)[index], 64)
        column = (self.words[:, word] >> np.uint64(bit)) & np.uint64(1)
        return tuple(np.flatnonzero(column[part]) for part in mode_slices(self.shape))

    def overlaps(self, other: Vertices, *, at_once: int = INDICES_AT_ONCE) -> FloatArray:
        """Return the (k, other.k) numbers of tensor cells that two vertices share.

        The number is a product over modes, so no cell is ever visited. The bits of ``at_once``
        indices of a mode are unpacked at a time.
        """
        shared = np.ones((len(self), len(other)))
        for part in mode_slices(self.shape):
            common = np.zeros_like(shared)
            for start in range(part.start, part.stop, at_once):
                block = slice(start, min(start + at_once, part.stop))
                mine = self.flags_at(block).astype(np.float64)
                common += mine.T @ other.flags_at(block).astype(np.float64)
            shared *= common
        return shared

    def _unpacked(self, words: WordArray) -> FlagArray:
        """Return rows of words as rows of bits, one per vertex."""
        little_endian = words.astype("<u8", copy=False)
        as_bytes = np.ascontiguousarray(little_endian).view(np.uint8)
        return np.unpackbits(as_bytes, axis=1, bitorder="little", count=self.count)


def pack_vertices(flags: FlagArray, shape: Shape) -> Vertices:
    """Pack (k, sum(shape)) zeros and ones into words.

    Examples
    --------
    >>> boxes = pack_vertices(np.array([[1, 0, 0, 1, 1]], dtype=np.uint8), (2, 3))
    >>> [indices.tolist() for indices in boxes.box(0)]
    [[0], [1, 2]]
    """
    count, length = flags.shape
    n_words = max(1, -(-count // 64))
    padded = np.zeros((length, n_words * 64), dtype=np.uint8)
    padded[:, :count] = flags.T
    packed = np.packbits(padded, axis=1, bitorder="little")
    words = packed.view("<u8").astype(np.uint64, copy=False)
    return Vertices(shape=shape, count=count, words=words)


def lanes_between(words: WordArray, first: int, last: int) -> WordArray:
    """Return the vertices first..last-1 of transposed words as lanes, at most 64 of them."""
    word, shift = divmod(first, 64)
    lanes = words[:, word] >> np.uint64(shift)
    if shift and last > 64 * (word + 1):
        lanes |= words[:, word + 1] << np.uint64(64 - shift)
    lanes &= np.uint64((1 << (last - first)) - 1)
    return lanes
