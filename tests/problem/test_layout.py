"""Positions of cells in the flags: indices plus offsets, in the smallest type that holds them."""

import numpy as np

from intensor.data.observations import observe
from intensor.problem.layout import cell_matrix, position_type, positions


def test_a_matrix_of_indices_in_the_smallest_type():
    cells = observe([[299, 2], [0, 1]], [1.0, 1.0], shape=(300, 3))
    matrix = cell_matrix(cells.coords, cells.shape)
    assert matrix.dtype == np.uint16
    assert matrix.tolist() == [[0, 1], [299, 2]]


def test_positions_take_another_order():
    columns = (np.array([0, 1, 2]), np.array([1, 0, 1]))
    assert positions(columns, (3, 2), np.array([2, 0, 1])).tolist() == [[2, 4], [0, 4], [1, 3]]


def test_position_types_hold_the_last_position():
    assert [position_type(shape) for shape in [(200, 56), (200, 57), (70_000, 3)]] == [
        np.uint8,
        np.uint16,
        np.uint32,
    ]


def test_positions_are_indices_plus_offsets():
    cells = observe([[0, 4, 1], [2, 0, 0]], [1.0, 1.0], shape=(3, 5, 2))
    rows = positions(cells.coords, cells.shape)
    assert rows.dtype == np.uint8
    assert rows.tolist() == [[0, 7, 9], [2, 3, 8]]


def test_positions_do_not_wrap_in_small_types():
    # uint8 indices of a late mode: their positions are beyond 255.
    cells = observe([[299, 2], [0, 1]], [1.0, 1.0], shape=(300, 3))
    assert cells.coords[1].dtype == np.uint8
    assert positions(cells.coords, cells.shape).tolist() == [[0, 301], [299, 302]]


def test_positions_grow_when_they_must():
    long = (2**31, 4)
    column = (np.array([2**31 - 1], dtype=np.uint32), np.array([3], dtype=np.uint8))
    rows = positions(column, long)
    assert rows.dtype == np.uint32
    assert rows.tolist() == [[2**31 - 1, 2**31 + 3]]
