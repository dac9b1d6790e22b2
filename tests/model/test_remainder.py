"""The remainder: a value per cell, and its averages over indices that are not known."""

import itertools

import numpy as np
import pytest

from intensor.model.predictor import Remainder

SHAPE = (4, 3, 5)
RNG = np.random.default_rng(2)
FIELD = RNG.normal(size=SHAPE)
COUNTS = RNG.integers(0, 4, sum(SHAPE)).astype(float)
COUNTS[[2, 11]] = 0.0
REMAINDER = Remainder(field=FIELD)
EVERY = np.argwhere(np.ones(SHAPE))


def by_hand(cell):
    """Average over every choice of the indices that are -1."""
    parts = np.split(COUNTS, np.cumsum(SHAPE)[:-1])
    choices = [
        [(index, 1.0)] if index >= 0 else list(enumerate(counts / counts.sum()))
        for index, counts in zip(cell, parts, strict=True)
    ]
    total = 0.0
    for combination in itertools.product(*choices):
        cell = tuple(index for index, _ in combination)
        total += np.prod([share for _, share in combination]) * FIELD[cell]
    return total


def test_a_value_for_every_cell():
    assert REMAINDER.shape == SHAPE
    assert np.array_equal(REMAINDER.evaluate(tuple(EVERY.T)), FIELD.ravel())
    assert REMAINDER.evaluate([np.array([3]), np.array([0]), np.array([1])]) == FIELD[3, 0, 1]


def test_single_precision_becomes_double():
    values = Remainder(field=FIELD.astype(np.float32)).evaluate(tuple(EVERY.T))
    assert values.dtype == np.float64
    assert np.array_equal(values, FIELD.astype(np.float32).ravel())


def test_averages_by_hand():
    cells = np.array(list(itertools.product((-1, 0, 3), (-1, 1, 2), (-1, 0, 4))))
    cells = cells[np.random.default_rng(0).permutation(len(cells))]
    expected = [by_hand(cell) for cell in cells.tolist()]
    np.testing.assert_allclose(REMAINDER.average(cells, COUNTS), expected, atol=1e-14)


def test_known_cells_need_no_average():
    np.testing.assert_array_equal(REMAINDER.average(EVERY, COUNTS), FIELD.ravel())
    assert REMAINDER.average(EVERY[:0], COUNTS).shape == (0,)


def test_only_how_counts_compare_matters():
    cells = np.array([[-1, -1, -1], [0, -1, 2]])
    np.testing.assert_allclose(
        REMAINDER.average(cells, COUNTS), REMAINDER.average(cells, 1e5 * COUNTS), rtol=1e-12
    )
    even = REMAINDER.average(cells, np.ones(sum(SHAPE)))
    np.testing.assert_allclose(even, [FIELD.mean(), FIELD[0, :, 2].mean()], rtol=1e-12)


def test_nothing_passed_in_is_changed():
    before = FIELD.copy()
    cells = np.array([[-1, 0, 0]])
    REMAINDER.average(cells, COUNTS)
    REMAINDER.evaluate((np.array([0]), np.array([0]), np.array([0])))[0] = 9.0
    assert np.array_equal(FIELD, before)
    assert cells.tolist() == [[-1, 0, 0]]


def test_it_cannot_be_replaced():
    with pytest.raises(AttributeError):
        REMAINDER.field = FIELD
