"""Rows in order: as NumPy sorts them, for all shapes, sizes and threads."""

import numpy as np
import pytest

from intensor.data.grouping import group_rows
from intensor.runtime.threads import Workers


def draw(shape, n, seed=0):
    rng = np.random.default_rng([seed, n, *shape])
    return np.stack([rng.integers(0, length, n) for length in shape], axis=1)


def check(cells, shape, workers=None, **options):
    groups = group_rows(cells, shape, workers, **options)
    order = np.lexsort(cells.T[::-1])
    np.testing.assert_array_equal(groups.order, order)
    distinct, starts = np.unique(cells, axis=0, return_index=True)
    np.testing.assert_array_equal(groups.order[groups.starts], starts)
    np.testing.assert_array_equal(np.stack(groups.columns, axis=1), distinct)
    for column, length in zip(groups.columns, shape, strict=True):
        assert column.dtype == np.min_scalar_type(length - 1)
    return groups


@pytest.mark.parametrize(
    ("shape", "n"),
    [
        ((1,), 1),
        ((1, 1), 50),
        ((2,), 100),
        ((3, 5), 200),
        ((1, 7, 1), 300),
        ((300, 1000, 70), 5000),
        ((10,) * 7, 3000),
        ((10**6, 3), 2000),
        ((2,) * 50, 1000),
        ((2,) * 62, 2),
        ((2,) * 70, 500),
        ((2**40, 2**30), 400),
        ((2**62,), 30),
    ],
)
def test_rows_are_in_order(shape, n):
    for min_radix_rows in (0, 10**6):
        check(draw(shape, n), shape, min_radix_rows=min_radix_rows)


def test_equal_rows_stay_in_their_order():
    cells = np.repeat(draw((4, 4), 5), 2000, axis=0)[::-1]
    groups = check(cells, (4, 4))
    for first, last in zip(groups.starts, [*groups.starts[1:], len(cells)], strict=True):
        assert (np.diff(groups.order[first:last].astype(int)) > 0).all()


def test_threads_do_not_matter():
    cells = draw((50, 60, 70), 90_000)
    one, three = (check(cells, (50, 60, 70), Workers(threads)) for threads in (1, 3))
    np.testing.assert_array_equal(one.order, three.order)


def test_rows_may_be_in_any_layout():
    cells = np.asfortranarray(draw((9, 9, 9), 5000))
    check(cells, (9, 9, 9))
    check(cells[::2], (9, 9, 9))
