"""Indices that occur, by both ways of finding them, and the way back to the full tensor."""

import numpy as np
import pytest

from intensor.problem.component import NO_COMPONENTS, pack_components
from intensor.problem.reindex import FullTensor, drop_unused_indices
from intensor.problem.vertex import pack_vertices

KEPT = (np.array([1, 4, 7]), np.array([0, 2, 3]))
FULL = FullTensor(shape=(8, 5), kept=KEPT)


@pytest.mark.parametrize("limit", [0, 10**6])
def test_indices_that_occur_are_numbered_in_order(limit):
    for seed in range(30):
        rng = np.random.default_rng(seed)
        shape = tuple(rng.integers(1, 40, 3).tolist())
        coords = [rng.integers(0, length, 9).astype(np.uint8) for length in shape]
        numbers, full = drop_unused_indices(coords, shape, max_indices_per_cell=limit)
        kept = [np.arange(length) for length in shape] if full is None else full.kept
        for before, after, indices in zip(coords, numbers, kept, strict=True):
            assert indices.tolist() == sorted(set(before.tolist())) or full is None
            assert np.array_equal(indices[after], before)


@pytest.mark.parametrize("limit", [0, 10**6])
def test_nothing_is_left_out_when_all_occur(limit):
    coords = (np.array([0, 1, 2]), np.array([1, 0, 1]))
    found, full = drop_unused_indices(coords, (3, 2), max_indices_per_cell=limit)
    assert full is None
    assert found == coords


def test_numbers_and_vertices_are_expanded():
    assert FULL.expand(np.arange(1.0, 7.0)).tolist() == [0, 1, 0, 0, 2, 0, 0, 3, 4, 0, 5, 6, 0]
    rng = np.random.default_rng(0)
    flags = rng.integers(0, 2, (70, 6), dtype=np.uint8)
    expanded = FULL.expand_vertices(pack_vertices(flags, (3, 3))).flags()
    positions = [1, 4, 7, 8, 10, 11]
    assert np.array_equal(expanded[:, positions], flags)
    assert expanded.sum() == flags.sum()


def test_components_are_expanded():
    rows = np.random.default_rng(0).uniform(size=(3, 6))
    expanded = FULL.expand_components(pack_components(rows, (3, 3)))
    assert expanded.shape == (8, 5)
    assert np.array_equal(expanded.rows()[:, [1, 4, 7, 8, 10, 11]], rows)
    assert expanded.factors.sum() == pytest.approx(rows.sum())
    assert expanded.factors.flags.c_contiguous
    assert FULL.expand_components(NO_COMPONENTS).factors.shape == (13, 0)


def test_checksums_tell_indices_apart():
    others = FullTensor(shape=(8, 5), kept=(np.array([1, 4, 6]), KEPT[1]))
    assert FULL.checksums()[0] != others.checksums()[0]
    assert FULL.checksums()[1] == others.checksums()[1]
    narrow = FullTensor(shape=(8, 5), kept=tuple(kept.astype(np.uint8) for kept in KEPT))
    assert narrow.checksums() == FULL.checksums()


def test_a_rare_index_is_not_overlooked():
    column = np.zeros(10_000, dtype=np.uint8)
    column[4_321] = 1
    _, full = drop_unused_indices([column], (2,))
    assert full is None
    column[4_321] = 2
    numbers, full = drop_unused_indices([column], (3,))
    assert full.kept[0].tolist() == [0, 2]
    assert numbers[0].sum() == 1
