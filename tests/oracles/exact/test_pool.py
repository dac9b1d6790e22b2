"""The pool of boxes against its naive twin, and the way from its bits to flags."""

import numpy as np
import pytest

import naive_exact as naive
from intensor.oracles.exact.pool import (
    FoundBox,
    begin_pattern,
    empty_pool,
    flags_of_number,
    flags_of_words,
    found_boxes,
    offer,
)


def a_box(rng, cost, n_rows=5, n_columns=4):
    flags = [rng.integers(0, 2, length).astype(np.uint8) for length in (n_columns, n_rows)]
    return FoundBox(cost, [*flags, flags_of_number(int(rng.integers(8)), 3)[0]])


def put(pool, box):
    """Offer a box to a pool as a search does."""
    columns, rows, slabs = box.chosen
    sums = np.where(columns, -1, 1)
    offer(pool, box.cost, 0, naive.number_of(slabs), naive.words_of(rows[np.newaxis])[:, 0], sums)


def content(pool):
    boxes = found_boxes(pool, 5, lambda rest, slabs_on: flags_of_number(slabs_on, 3))
    return [(box.cost, [flags.tolist() for flags in box.chosen]) for box in boxes]


@pytest.mark.parametrize("size", [1, 3, 64])
@pytest.mark.parametrize("per_pattern", [False, True])
def test_a_pool_keeps_what_its_twin_keeps(size, per_pattern):
    rng = np.random.default_rng(size)
    pool = empty_pool(size, 5, 4, target=-10, per_pattern=per_pattern)
    boxes, target = [], -10
    for _ in range(12):  # patterns
        begin_pattern(pool)
        cutoff, slot = naive.begin_pattern(target, [box.cost for box in boxes], size), -1
        assert pool.cutoff[0] == cutoff
        for cost in rng.integers(-40, 0, 5).tolist():
            if cost < cutoff:
                box = a_box(rng, cost)
                put(pool, box)
                boxes, kept = naive.offer(boxes, size, slot, box)
                cutoff = cost
                slot, target = (kept, target) if per_pattern else (-1, cost)
            assert (pool.cutoff[0], pool.target[0]) == (cutoff, target)
        assert content(pool) == [
            (box.cost, [flags.tolist() for flags in box.chosen]) for box in boxes
        ]


def test_an_empty_pool_has_its_target_for_a_cutoff():
    pool = empty_pool(2, 70, 3, target=7)
    assert pool.rows.shape == (2, 2)
    assert (pool.cutoff[0], pool.target[0], pool.n_boxes[0]) == (7, 7, 0)
    assert found_boxes(pool, 70, lambda rest, slabs_on: []) == []


@pytest.mark.parametrize("length", [1, 5, 62])
def test_flags_make_up_their_number(length):
    rng = np.random.default_rng(length)
    for number in (0, 1, (1 << length) - 1, *rng.integers(0, 1 << length, 10).tolist()):
        (flags,) = flags_of_number(number, length)
        assert flags.dtype == np.uint8
        assert naive.number_of(flags) == number


def test_only_the_lowest_digits_are_kept_and_parts_follow_each_other():
    assert flags_of_number(0b1101, 2)[0].tolist() == [1, 0]
    assert flags_of_number(5, 0)[0].tolist() == []
    assert [part.tolist() for part in flags_of_number(0b1101, 1, 2, 3)] == [[1], [0, 1], [1, 0, 0]]


@pytest.mark.parametrize("length", [1, 63, 64, 65, 130])
def test_bits_go_on_from_word_to_word(length):
    flags = np.random.default_rng(length).integers(0, 2, length)
    words = naive.words_of(flags[np.newaxis])[:, 0]
    assert flags_of_words(words, length).tolist() == flags.tolist()
