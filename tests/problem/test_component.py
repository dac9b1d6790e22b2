"""Graded components against their dense tensors."""

import dataclasses

import numpy as np
import pytest

from graded_cases import SHAPES, by_hand, random_rows
from intensor.problem.component import NO_COMPONENTS, Components, pack_components
from intensor.problem.vertex import pack_vertices


@pytest.mark.parametrize("shape", SHAPES)
def test_components_are_kept_transposed(shape):
    rows, _ = random_rows(shape, boxes=0, graded=5)
    components = pack_components(rows, shape)
    assert len(components) == 5
    assert components.factors.flags.c_contiguous
    assert components.factors.shape == (sum(shape), 5)
    assert np.array_equal(components.rows(), rows)
    assert components.rows().flags.c_contiguous
    for number, row in enumerate(rows):
        profiles = components.profiles(number)
        assert [profile.size for profile in profiles] == list(shape)
        assert np.array_equal(np.concatenate(profiles), row)
    some = np.array([sum(shape) - 1, 0])
    assert np.array_equal(components.factors_at(some), rows.T[some])


def test_packing_copies():
    rows = np.full((1, 3), 0.5)
    components = pack_components(rows, (3,))
    rows[:] = 0.0
    assert components.factors.tolist() == [[0.5]] * 3


@pytest.mark.parametrize("shape", SHAPES)
def test_overlaps_are_inner_products_of_dense_tensors(shape):
    one, _ = random_rows(shape, boxes=0, graded=4, seed=1)
    two, _ = random_rows(shape, boxes=2, graded=3, seed=2)
    flags, _ = random_rows(shape, boxes=3, graded=0, seed=3)
    vertices = pack_vertices(flags.astype(np.uint8), shape)
    mine = pack_components(one, shape)
    for others, rows in ((pack_components(two, shape), two), (vertices, flags)):
        tensors = [[by_hand([row], [1.0], shape) for row in each] for each in (one, rows)]
        expected = [[(a * b).sum() for b in tensors[1]] for a in tensors[0]]
        for at_once in (1, 2, 4096):
            found = mine.overlaps(others, at_once=at_once)
            np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_no_components_are_none_of_any_shape():
    assert len(NO_COMPONENTS) == 0
    assert len(pack_components(np.empty((0, 5)), (2, 3))) == 0


def test_components_are_frozen():
    components = Components((2,), np.ones((2, 1)))
    with pytest.raises(dataclasses.FrozenInstanceError):
        components.shape = (3,)
