"""Bits against plain index lists and dense 0-1 tensors."""

import functools

import numpy as np
import pytest

from intensor.problem.vertex import (
    lanes_between,
    membership,
    mode_offsets,
    mode_slices,
    pack_vertices,
)

SHAPES = [(5,), (3, 4), (2, 1, 6), (2, 3, 2, 2), (2, 2, 1, 2, 3)]
COUNTS = [0, 1, 2, 63, 64, 65, 128, 130]


def random_flags(count, shape):
    rng = np.random.default_rng([count, *shape])
    return rng.integers(0, 2, (count, sum(shape)), dtype=np.uint8)


def dense(flags, shape):
    """Return the vertex as a 0-1 tensor, the outer product of its parts."""
    return functools.reduce(np.multiply.outer, np.split(flags, np.cumsum(shape)[:-1]))


def test_offsets_and_slices_lay_modes_end_to_end():
    assert mode_offsets((3, 1, 4)).tolist() == [0, 3, 4, 8]
    assert mode_slices((3, 1, 4)) == [slice(0, 3), slice(3, 4), slice(4, 8)]


@pytest.mark.parametrize("shape", SHAPES)
def test_membership_is_the_dense_tensor(shape):
    coords = tuple(axis.reshape(-1) for axis in np.indices(shape))
    for flags in random_flags(20, shape):
        inside = membership(flags, coords, shape)
        assert inside.dtype == np.uint8
        np.testing.assert_array_equal(inside, dense(flags, shape).reshape(-1))


def test_membership_of_no_cell():
    assert membership(np.ones(5, dtype=np.uint8), (np.empty(0, int),) * 2, (2, 3)).size == 0


@pytest.mark.parametrize("shape", SHAPES)
def test_packing_loses_nothing(shape):
    for count in COUNTS:
        flags = random_flags(count, shape)
        boxes = pack_vertices(flags, shape)
        assert len(boxes) == count
        assert boxes.words.dtype == np.uint64
        assert boxes.words.shape == (sum(shape), max(1, -(-count // 64)))
        unpacked = boxes.flags()
        assert unpacked.dtype == np.uint8
        assert unpacked.flags.c_contiguous
        np.testing.assert_array_equal(unpacked, flags)


def test_each_bit_stands_where_it_is_said_to():
    shape, count = (3, 4), 130
    flags = random_flags(count, shape)
    words = pack_vertices(flags, shape).words
    for vertex in range(count):
        for position in range(sum(shape)):
            bit = (int(words[position, vertex // 64]) >> (vertex % 64)) & 1
            assert bit == flags[vertex, position]


def test_bits_beyond_the_last_vertex_are_zero():
    words = pack_vertices(np.ones((65, 5), dtype=np.uint8), (2, 3)).words
    assert words[:, 0].tolist() == [2**64 - 1] * 5
    assert words[:, 1].tolist() == [1] * 5


@pytest.mark.parametrize("shape", SHAPES)
def test_boxes_are_the_indices_that_are_on(shape):
    flags = random_flags(70, shape)
    boxes = pack_vertices(flags, shape)
    for vertex in (0, 1, 63, 64, 69):
        box = boxes.box(vertex)
        parts = np.split(flags[vertex], np.cumsum(shape)[:-1])
        assert [indices.tolist() for indices in box] == [
            [index for index, on in enumerate(part) if on] for part in parts
        ]


def test_boxes_count_from_the_end_too_and_not_beyond():
    boxes = pack_vertices(np.array([[1, 0], [0, 1], [1, 1]], dtype=np.uint8), (2,))
    assert boxes.box(-1)[0].tolist() == [0, 1]
    for index in (3, -4):
        with pytest.raises(IndexError):
            boxes.box(index)


@pytest.mark.parametrize("shape", SHAPES)
def test_overlaps_count_shared_cells(shape):
    first, second = random_flags(66, shape), random_flags(3, shape)
    shared = pack_vertices(first, shape).overlaps(pack_vertices(second, shape))
    expected = [
        [int((dense(one, shape) * dense(other, shape)).sum()) for other in second] for one in first
    ]
    np.testing.assert_array_equal(shared, expected)


def test_overlaps_with_no_vertex():
    nothing = pack_vertices(np.zeros((0, 5), dtype=np.uint8), (2, 3))
    everything = pack_vertices(np.ones((2, 5), dtype=np.uint8), (2, 3))
    assert everything.overlaps(nothing).shape == (2, 0)
    assert nothing.overlaps(everything).shape == (0, 2)


def test_overlaps_of_more_cells_than_int64_counts():
    shape = (1000,) * 12
    everything = pack_vertices(np.ones((1, sum(shape)), dtype=np.uint8), shape)
    assert everything.overlaps(everything)[0, 0] == 1e36


def test_packing_copies():
    flags = random_flags(3, (3, 4))
    boxes = pack_vertices(flags, (3, 4))
    before = boxes.flags()
    flags ^= 1
    np.testing.assert_array_equal(boxes.flags(), before)


@pytest.mark.parametrize("at_once", [1, 3])
def test_overlaps_are_the_same_in_any_blocks(at_once):
    rng = np.random.default_rng(0)
    first, second = ((rng.uniform(size=(n, 15)) < 0.6).astype(np.uint8) for n in (70, 5))
    one, other = pack_vertices(first, (7, 1, 7)), pack_vertices(second, (7, 1, 7))
    assert one.overlaps(other, at_once=at_once).tolist() == one.overlaps(other).tolist()


@pytest.mark.parametrize(
    ("first", "last"), [(0, 64), (0, 1), (3, 10), (60, 70), (64, 128), (1, 65)]
)
def test_lanes_are_vertices_in_a_row(first, last):
    flags = random_flags(130, (4, 5))
    lanes = lanes_between(pack_vertices(flags, (4, 5)).words, first, last)
    for lane in range(64):
        expected = flags[first + lane] if lane < last - first else np.zeros(9)
        assert np.array_equal((lanes >> np.uint64(lane)) & np.uint64(1), expected)
