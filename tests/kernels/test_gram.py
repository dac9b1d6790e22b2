"""Packed members and Gram rows against dense 0-1 matrices."""

import numpy as np
import pytest

import zoo
from intensor.backends.packed_cells import pack_cells
from intensor.data.observations import observe
from intensor.kernels import gram
from intensor.kernels.packing import join_lanes
from intensor.problem.vertex import membership
from strategies import random_flags


def problem(name, count):
    """Return packed cells, the members of some vertices, and these as a dense matrix."""
    shape, coords, values, _ = zoo.observed(name)
    observations = observe(coords, values, shape=shape)
    cells = pack_cells(observations, 2.0)
    flags = random_flags(np.random.default_rng(count), count, shape)
    lanes = np.zeros(sum(shape), dtype=np.uint64)
    join_lanes(flags, np.arange(count), lanes)
    members = np.random.default_rng(0).integers(0, 2**64, (count, cells.n_words), dtype=np.uint64)
    gram.pack_members(cells.rows, lanes, count, 0, cells.n_words, members)
    dense = [membership(row, observations.coords, shape)[cells.order] for row in flags]
    return cells, members, np.array(dense, dtype=np.float64)


@pytest.mark.parametrize("name", zoo.OBSERVED)
def test_members_and_gram_rows_are_those_of_the_dense_matrix(name):
    cells, members, dense = problem(name, 33)
    as_bits = np.unpackbits(members.view(np.uint8), axis=1, bitorder="little")
    assert not as_bits[:, cells.n_cells :].any()
    assert as_bits[:, : cells.n_cells].tolist() == dense.tolist()
    found = np.full((33, 33), np.nan)
    for first, last in [(0, 1), (1, 30), (30, 30), (30, 33)]:
        gram.gram_rows(members, cells.extra, first, last, cells.one_share, found)
    np.testing.assert_allclose(found, (dense * cells.shares) @ dense.T, rtol=1e-14, atol=1e-16)
    shares = np.random.default_rng(1).uniform(size=cells.n_cells)
    gram.gram_rows_weighted(members, shares, 0, 33, found)
    np.testing.assert_allclose(found, (dense * shares) @ dense.T, rtol=1e-12)


@pytest.mark.parametrize("n", [40, 64, 65, 200])
def test_members_word_by_word(n):
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
