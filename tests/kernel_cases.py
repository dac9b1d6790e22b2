"""Arguments for kernels of every kind, and the comparison of a kernel with its plain twin."""

from dataclasses import dataclass

import numpy as np

import naive
from intensor.backends.packed_cells import pack_cells
from intensor.data.observations import observe
from intensor.problem.layout import positions
from intensor.problem.vertex import mode_offsets
from strategies import random_flags, sizes_of_all_kinds

ALL = np.uint64(2**64 - 1)


@dataclass
class Case:
    """Cells in all the forms that kernels take, and random arguments of every other kind."""

    shape: tuple
    coords: np.ndarray
    values: np.ndarray
    weights: np.ndarray | None
    seed: int

    def __post_init__(self):
        self.rng = np.random.default_rng(self.seed)
        self.cells = observe(self.coords, self.values, shape=self.shape, sample_weight=self.weights)
        self.packed = pack_cells(self.cells, 2.0)
        self.rows = positions(self.cells.coords, self.shape)
        self.offsets = mode_offsets(self.shape)
        self.u = self.cells.n_cells
        self.length = sum(self.shape)

    def words(self, *size):
        """Return random words, sparse or dense."""
        found = self.rng.integers(0, 2**64, size, dtype=np.uint64)
        for _ in range(int(self.rng.integers(3))):
            found |= self.rng.integers(0, 2**64, size, dtype=np.uint64)
        return found

    def live(self):
        some = [ALL, np.uint64(0), np.uint64(1 << 63), self.words(1)[0]]
        return some[int(self.rng.integers(4))]

    def range(self, size):
        """Return the two ends of a part of 0..size."""
        return sorted(self.rng.integers(0, size + 1, 2).tolist())

    def costs(self):
        return sizes_of_all_kinds(self.rng, self.u)

    def mode(self):
        mode = int(self.rng.integers(len(self.shape)))
        return mode, int(self.offsets[mode]), self.shape[mode]

    def members(self, count):
        """Return the packed members of ``count`` vertices."""
        flags = random_flags(self.rng, count, self.shape)
        members = np.zeros((count, self.packed.n_words), dtype=np.uint64)
        for start in range(0, count, 64):
            part = members[start : start + 64]
            joined = np.zeros(self.length, dtype=np.uint64)
            naive.join_lanes(flags, np.arange(start, start + len(part)), joined)
            naive.pack_members(self.packed.rows, joined, len(part), 0, self.packed.n_words, part)
        return members

    def keys(self):
        """Return the keys of the rows, unsorted, and their numbers of row bits and bits."""
        row_bits = (len(self.values) - 1).bit_length()
        widths = [(length - 1).bit_length() for length in self.shape]
        shifts = row_bits + np.array([sum(widths[mode + 1 :]) for mode in range(len(widths))])
        keys = np.empty(len(self.values), dtype=np.int64)
        naive.fold_rows(self.coords, shifts, 0, keys.size, keys)
        return keys, row_bits, sum(widths)

    def groups(self):
        """Return the order of the rows by cell, and the position at which each cell begins."""
        keys, row_bits, _ = self.keys()
        keys.sort()
        cells = keys >> row_bits
        starts = np.flatnonzero(np.append(True, cells[1:] != cells[:-1]))
        return (keys & (2**row_bits - 1)).astype(np.uint32), starts


def bits(array):
    """Return the bits of every number as integers, so that 0.0 and -0.0 differ."""
    array = np.ascontiguousarray(array)
    return array.view(f"u{array.dtype.itemsize}").tolist()


def compare(module, name, arguments, outputs, *, rtol=None):
    """Call a kernel and its twin on copies of the same outputs, and compare these.

    Outputs have the same bits, or differ by at most ``rtol`` times the largest of the twin where
    additions may be reordered.
    """
    ours, theirs = ([array.copy() for array in outputs] for _ in range(2))
    got = getattr(module, name)(*arguments, *ours)
    wanted = getattr(naive, name)(*arguments, *theirs)
    assert got == wanted
    for mine, other in zip(ours, theirs, strict=True):
        if rtol is None:
            assert bits(mine) == bits(other), name
        else:
            atol = rtol * np.abs(other).max(initial=0.0)
            np.testing.assert_allclose(mine, other, rtol=rtol, atol=atol, err_msg=name)
