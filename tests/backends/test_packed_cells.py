"""Packed cells and samples of them hold the observations."""

import numpy as np
import pytest

import zoo
from intensor.backends import packed_cells
from intensor.backends.packed_cells import distinct, pack_cells
from intensor.data.observations import observe


def problem(name):
    """Return packed cells of the zoo, at a radius of 2, and their observations."""
    shape, coords, values, _ = zoo.observed(name)
    observations = observe(coords, values, shape=shape)
    return pack_cells(observations, 2.0), observations


def counts_in(planes, n_cells):
    """Return the counts that are stored in the bit planes."""
    counts = np.ones(n_cells, dtype=int)
    for plane, words in enumerate(planes):
        for cell in range(min(64 * words.size, n_cells)):
            digit = (int(words[cell // 64]) >> (cell % 64)) & 1
            counts[cell] += digit << plane
    return counts


@pytest.mark.parametrize("name", zoo.OBSERVED)
def test_cells_are_those_of_the_observations(name):
    cells, observations = problem(name)
    shape, order = observations.shape, cells.order
    assert sorted(order.tolist()) == list(range(observations.n_cells))
    assert cells.shape == shape
    assert cells.offsets.tolist() == [0, *np.cumsum(shape)]
    for mode, column in enumerate(observations.coords):
        here = cells.rows[:, mode].astype(int) - cells.offsets[mode]
        assert here.tolist() == column[order].tolist()
    assert cells.counts.tolist() == observations.counts[order].tolist()
    assert np.all(np.diff(cells.counts.astype(int)) <= 0)
    assert cells.targets.tolist() == (observations.means[order] / 2.0).tolist()
    np.testing.assert_allclose(cells.shares, observations.counts[order] / observations.n)
    assert cells.one_share == 1.0 / observations.n
    assert cells.constant == observations.within / 4.0
    assert cells.n_cells == observations.n_cells
    assert 64 * (cells.n_words - 1) < cells.n_cells <= 64 * cells.n_words
    assert counts_in(cells.extra, cells.n_cells).tolist() == cells.counts.tolist()


def test_positions_are_as_narrow_as_they_can_be():
    for shape, kind in [((200, 56), np.uint8), ((200, 57), np.uint16), ((70_000, 3), np.uint32)]:
        assert pack_cells(observe([[0, 1]], [1.0], shape=shape), 1.0).rows.dtype == kind


def test_cells_seen_once_need_no_planes():
    coords = np.arange(30)[:, np.newaxis]
    observations = observe(coords, np.ones(30))
    cells = pack_cells(observations, 1.0)
    assert cells.extra.size == 0


@pytest.mark.parametrize("name", zoo.OBSERVED)
def test_a_sample_is_a_smaller_problem(name):
    cells, observations = problem(name)
    for size in (1, 10, 1000):
        sample = cells.sample(size, np.random.default_rng(3))
        assert 0 < sample.n_cells <= min(size, cells.n_cells)
        assert len(set(sample.order.tolist())) == sample.n_cells
        row_of = {int(cell): row for row, cell in enumerate(cells.order)}
        rows = [row_of[int(cell)] for cell in sample.order]
        for field in ("rows", "targets", "counts"):
            assert getattr(sample, field).tolist() == getattr(cells, field)[rows].tolist()
        total = sample.counts.sum(dtype=int)
        np.testing.assert_allclose(sample.shares, sample.counts / total, rtol=1e-15)
        assert sample.one_share == 1.0 / total
        assert np.all(np.diff(sample.counts.astype(int)) <= 0)
        assert counts_in(sample.extra, sample.n_cells).tolist() == sample.counts.tolist()
        assert sample.constant == cells.constant
        assert sample.shape == observations.shape
        assert sample.offsets.tolist() == cells.offsets.tolist()


def test_the_generator_decides_the_sample():
    cells, _ = problem("long mode")
    draws = [cells.sample(20, np.random.default_rng(seed)).order.tolist() for seed in (0, 0, 1)]
    assert draws[0] == draws[1] != draws[2]


@pytest.mark.parametrize("most", [1, 2, 9, 300])
def test_cells_observed_most_often_come_first(most):
    counts = np.random.default_rng(most).integers(1, most + 1, 500).astype(np.uint16)
    found = packed_cells._most_often_first(counts)
    assert found.tolist() == np.argsort(-counts.astype(int), kind="stable").tolist()
    assert found.dtype == np.uint16


def test_distinct_numbers_are_sorted():
    numbers = np.random.default_rng(0).integers(0, 50, 200)
    assert distinct(numbers.copy()).tolist() == np.unique(numbers).tolist()
    assert distinct(np.array([3])).tolist() == [3]
