"""Cells collapsed: against plain sums, the same bits in any order and on any number of threads."""

import math

import numpy as np
import pytest
from intensor.data.collapsing import collapse

from intensor.data.grouping import group_rows
from intensor.runtime.threads import Workers

ONE = Workers(1)


def draw(n, length, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, length, (n, 1)), rng.random(n), rng.integers(1, 5, n) / 3.0


def collapsed(cells, values, weights=None, workers=ONE):
    groups = group_rows(cells, (int(cells.max()) + 1,), workers)
    return groups, collapse(groups, values, weights, workers=workers)


@pytest.mark.parametrize("weighted", [False, True])
def test_every_cell_against_plain_sums(weighted):
    cells, values, weights = draw(400, 60)
    groups, found = collapsed(cells, values, weights if weighted else None)
    weights = weights if weighted else np.ones(400)
    deviation = square = 0.0
    for number, index in enumerate(groups.columns[0].tolist()):
        own = cells[:, 0] == index
        mean = math.fsum(weights[own] * values[own]) / math.fsum(weights[own])
        assert found.repeats[number] == own.sum()
        assert found.totals[number] == pytest.approx(math.fsum(weights[own]), rel=1e-15)
        assert found.means[number] == pytest.approx(mean, rel=1e-15)
        deviation += math.fsum(weights[own] * (values[own] - mean) ** 2)
        square += math.fsum(weights[own] * values[own] ** 2)
    assert found.deviation == pytest.approx(deviation, rel=1e-13)
    assert found.square == pytest.approx(square, rel=1e-13)


def test_observations_are_in_order_of_value_then_weight():
    values = np.array([2.0, 1.0, 2.0, 1.0, 2.0, 0.5])
    weights = np.array([3.0, 1.0, 1.0, 1.0, 2.0, 9.0])
    groups, _ = collapsed(np.array([[0], [0], [0], [0], [0], [1]]), values, weights)
    assert groups.order.tolist() == [1, 3, 2, 4, 0, 5]
    groups, _ = collapsed(np.zeros((6, 1), dtype=np.int64), values)
    assert groups.order.tolist() == [5, 1, 3, 0, 2, 4]


@pytest.mark.parametrize("weighted", [False, True])
def test_neither_order_nor_threads_change_a_bit(weighted):
    cells, values, weights = draw(140_000, 70_000)
    values *= 10.0 ** np.random.default_rng(1).integers(-8, 9, values.size)
    mixed = np.random.default_rng(2).permutation(values.size)
    given = weights if weighted else None
    _, one = collapsed(cells, values, given)
    _, other = collapsed(
        cells[mixed], values[mixed], None if given is None else given[mixed], Workers(3)
    )
    for name in ("repeats", "totals", "means"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert (one.deviation, one.square) == (other.deviation, other.square)
