"""Held-out cells: entire pieces on one side, and pieces that look like what is missing."""

import itertools

import numpy as np
import pytest

import intensor.fitting.holding_out as holding_out
from fitting_cases import cells_of, numbered_rows, rows_of_cells
from intensor.fitting.holding_out import (
    DISTANCE_BINS,
    EXTENT_RATIO,
    _draw_cells,
    _Neighbours,
    find_extents,
    splits,
)
from naming import naming


def split(samples, *, folds=1, share=0.1, seed=0, **more):
    return list(splits(samples, folds=folds, share=share, seed=seed, **more))


def of(mask):
    """Return samples of the cells that are on."""
    return rows_of_cells(np.argwhere(mask), mask.shape)


def random_mask(shape=(20, 18, 16), *, share=0.5, seed=0):
    """Return a mask of cells that are on at random."""
    return np.random.default_rng(seed).random(shape) < share


def fibres(mode, *, share=0.5, shape=(20, 18, 16), seed=0, kept=1.0):
    """Return a mask of entire fibres along a mode, with some cells of them missing as well."""
    rng = np.random.default_rng(seed)
    some = rng.random([1 if other == mode else length for other, length in enumerate(shape)])
    return np.broadcast_to(some < share, shape) & (rng.random(shape) < kept)


def blocks(shape, extents, *, count, seed=0):
    """Return a mask from which some boxes are missing, anywhere."""
    rng = np.random.default_rng(seed)
    mask = np.ones(shape, dtype=bool)
    for _ in range(count):
        corner = [
            int(rng.integers(0, length - extent + 1))
            for length, extent in zip(shape, extents, strict=True)
        ]
        box = zip(corner, extents, strict=True)
        mask[tuple(slice(first, first + extent) for first, extent in box)] = False
    return mask


def extents_of(mask, *, share=0.1, seed=0):
    return find_extents(of(mask), share=share, seed=seed)


def number_pieces(samples, *, share=0.1, seed=0):
    """Return the number of every row's piece, by holding each out once."""
    numbers = np.full(len(samples), -1)
    rows = {value: row for row, value in enumerate(samples.values.tolist())}
    for _, held, pieces in split(samples, folds=2, share=share, seed=seed):
        numbers[[rows[value] for value in held.values.tolist()]] = pieces
    assert numbers.min() >= 0
    return numbers


def pieces_of(numbers, values):
    """Return the pieces as lists of the rows that are in them."""
    found = {}
    for number, value in zip(numbers.tolist(), values.tolist(), strict=True):
        found.setdefault(number, set()).add(value)
    return sorted(map(sorted, found.values()))


# --- splits


MASKS = {
    "repeats": None,
    "random cells": random_mask((12, 10, 8)),
    "fibres": fibres(1, kept=0.97),
    "blocks": blocks((24, 20, 16), (6, 6, 6), count=20),
    "complete": np.ones((6, 5, 4), dtype=bool),
    "one mode": random_mask((60,)),
}


def case(name):
    return numbered_rows() if name == "repeats" else of(MASKS[name])


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("share", [0.02, 0.1, 0.5, 0.99])
def test_a_cell_and_a_piece_are_on_one_side_only(name, share):
    samples = case(name)
    ((training, held, pieces),) = split(samples, share=share)
    assert not cells_of(training) & cells_of(held)
    assert cells_of(training) | cells_of(held) == cells_of(samples)
    assert sorted([*training.values, *held.values]) == samples.values.tolist()
    numbers = number_pieces(samples, share=share, seed=0)
    n_pieces = numbers.max() + 1
    assert pieces.shape == held.values.shape
    assert np.array_equal(pieces, numbers[held.values.astype(int)])
    assert not set(pieces.tolist()) & set(numbers[training.values.astype(int)].tolist())
    assert len(set(pieces.tolist())) == min(max(1, round(share * n_pieces)), n_pieces - 1)


def test_rows_keep_their_values_and_weights():
    samples = numbered_rows()
    ((training, held, _),) = split(samples, share=0.3)
    for part in (training, held):
        rows = part.values.astype(int)
        assert np.array_equal(part.coords, samples.coords[rows])
        assert np.array_equal(part.weights, samples.weights[rows])
        assert part.shape == samples.shape
        assert len(part) == rows.size
        assert np.all(np.diff(rows) > 0)
    training, held, _ = split(numbered_rows(weighted=False))[0]
    assert training.weights is None
    assert held.weights is None


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("folds", [2, 5])
def test_folds_hold_out_every_piece_exactly_once(name, folds):
    samples = case(name)
    parts = split(samples, folds=folds, share=1 / folds)
    numbers = number_pieces(samples, share=1 / folds, seed=0)
    assert len(parts) == folds
    held_out = [set(pieces.tolist()) for *_, pieces in parts]
    assert set().union(*held_out) == set(range(numbers.max() + 1))
    assert sum(map(len, held_out)) == numbers.max() + 1
    assert max(map(len, held_out)) - min(map(len, held_out)) <= 1
    rows = [value for _, held, _ in parts for value in held.values]
    assert sorted(rows) == samples.values.tolist()
    for training, held, _ in parts:
        assert cells_of(training) == cells_of(samples) - cells_of(held)
        assert len(training) + len(held) == len(samples)


@pytest.mark.parametrize(
    ("enough", "parts"), [(1, 1), (30, 3), (40, 4), (60, 5), (10_000, 5)], ids=str
)
def test_cells_are_held_out_until_there_are_enough(enough, parts):
    samples = numbered_rows()  # about 27 of 300 rows, in 11 of 112 cells, are held out at a time
    found = split(samples, folds=None, enough_held_out=enough)
    assert len(found) == parts
    first = split(samples)[0]
    assert found[0][1].values.tolist() == first[1].values.tolist()
    seen = set()
    for training, held, _ in found:
        assert not seen & cells_of(held)
        seen |= cells_of(held)
        assert cells_of(training) == cells_of(samples) - cells_of(held)


def test_the_number_of_folds_has_a_limit_for_few_and_for_many_observations(monkeypatch):
    samples = numbered_rows()
    assert len(split(samples, folds=None, max_folds=(9, 1))) == 9
    monkeypatch.setattr(holding_out, "FEW_OBSERVATIONS", 299)
    assert len(split(samples, folds=None, max_folds=(9, 1))) == 1


@pytest.mark.parametrize("share", [0.4, 0.9])
def test_no_cell_is_held_out_twice(share):
    samples = numbered_rows()
    found = split(samples, folds=None, share=share)
    assert len(found) == int(1 / share)
    assert sum(len(cells_of(held)) for _, held, _ in found) <= len(cells_of(samples))


def test_there_are_no_more_folds_than_cells():
    samples = rows_of_cells([[0, 0], [0, 1], [0, 0], [1, 1]], (2, 2))
    parts = split(samples, folds=10, share=0.1)
    assert [len(cells_of(held)) for _, held, _ in parts] == [1, 1, 1]


@pytest.mark.parametrize("share", [0.001, 0.5, 0.999])
def test_each_side_gets_one_of_two_cells(share):
    ((training, held, _),) = split(rows_of_cells([[0], [1], [1]], (2,)), share=share)
    assert len(cells_of(training)) == len(cells_of(held)) == 1


@pytest.mark.parametrize("folds", [1, 5, None])
def test_a_single_cell_cannot_be_split(folds):
    assert split(rows_of_cells([[2, 1]] * 3, (3, 2)), folds=folds) == []


@pytest.mark.parametrize("name", ["repeats", "fibres", "blocks"])
@pytest.mark.parametrize("folds", [1, 4, None])
def test_the_seed_decides(name, folds):
    def held(seed):
        return [part.values.tolist() for _, part, _ in split(case(name), seed=seed, folds=folds)]

    assert held(3) == held(3)
    assert held(3) != held(4)


@pytest.mark.parametrize("name", MASKS)
def test_the_order_of_the_rows_does_not_decide(name):
    samples = case(name)
    shuffled = samples.part(np.random.default_rng(1).permutation(len(samples)))
    one, other = (
        pieces_of(number_pieces(rows, share=0.1, seed=0), rows.values)
        for rows in (samples, shuffled)
    )
    assert one == other
    for ours, theirs in zip(split(samples, folds=3), split(shuffled, folds=3), strict=True):
        assert cells_of(ours[1]) == cells_of(theirs[1])
    ordered = samples.in_order()
    assert find_extents(ordered, share=0.1, seed=0) == find_extents(samples, share=0.1, seed=0)


# --- pieces that look like what is missing


@pytest.mark.parametrize("shape", [(12, 10, 8), (20, 18, 16), (30, 20), (40,), (8, 7, 6, 5)])
@pytest.mark.parametrize("observed", [0.1, 0.3, 0.5, 0.8])
def test_single_cells_are_held_out_where_cells_are_missing_at_random(shape, observed):
    for seed in range(3):
        mask = random_mask(shape, share=observed, seed=seed)
        with naming(seed):
            assert extents_of(mask, seed=seed) == (1,) * len(shape)


@pytest.mark.parametrize("mode", range(3))
@pytest.mark.parametrize(("share", "kept"), [(0.5, 1.0), (0.5, 0.95), (0.8, 0.99)])
def test_entire_fibres_are_held_out_where_entire_fibres_are_missing(mode, share, kept):
    samples = of(fibres(mode, share=share, kept=kept, seed=mode))
    expected = [1, 1, 1]
    expected[mode] = samples.shape[mode]
    assert find_extents(samples, share=0.1, seed=0) == tuple(expected)
    ((training, held, pieces),) = split(samples)

    def fibres_of(part, along):
        return set(map(tuple, np.delete(part.coords, along, axis=1).tolist()))

    assert not fibres_of(training, mode) & fibres_of(held, mode)
    assert len(fibres_of(held, mode)) == len(set(pieces.tolist()))
    # along other modes, what is held out lies beside what is not
    other = (mode + 1) % 3
    assert fibres_of(training, other) & fibres_of(held, other)


BLOCKS = {
    "rods": ((64, 40), (16, 1), 60),
    "rods of another mode": ((40, 30), (1, 12), 40),
    "plates": ((24, 20, 16), (8, 8, 1), 60),
    "plates of other modes": ((24, 20, 16), (1, 10, 8), 40),
    "cubes": ((24, 20, 16), (8, 8, 8), 6),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_are_held_out_where_blocks_are_missing(name):
    shape, extents, count = BLOCKS[name]
    for seed in range(3):
        found = extents_of(blocks(shape, extents, count=count, seed=seed), seed=seed)
        with naming(seed):
            assert [one > 1 for one in found] == [one > 1 for one in extents]
            assert all(one <= 2 * other for one, other in zip(found, extents, strict=True))


@pytest.mark.parametrize("times", [1, 4])
def test_ratings_are_held_out_one_by_one(times):
    """A few users and items have most ratings; all other fibres are nearly empty."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        chance = 2.0 / np.outer(np.arange(1, 101), np.arange(1, 81)) ** 0.6
        pairs = np.argwhere(rng.random((100, 80)) < chance)
        mask = np.zeros((100, 80, times), dtype=bool)
        mask[(*pairs.T, rng.integers(0, times, len(pairs)))] = True
        assert mask.mean() < 0.1
        assert mask.any(axis=(1, 2))[:5].all()
        with naming(seed):
            assert extents_of(mask, seed=seed) == (1, 1, 1)


def test_cells_that_were_observed_many_times_are_held_out_one_by_one():
    samples = of(fibres(1))
    assert max(find_extents(samples, share=0.1, seed=0)) > 1
    repeated = samples.part(np.repeat(np.arange(len(samples)), 3))
    assert find_extents(repeated, share=0.1, seed=0) == (1, 1, 1)
    # a few repeats do not say that the cells which have some are all that matters
    some = samples.part(np.append(np.arange(len(samples)), np.arange(20)))
    assert find_extents(some, share=0.1, seed=0) == find_extents(samples, share=0.1, seed=0)


@pytest.mark.parametrize("shape", [(20, 18, 16), (30, 40), (50,), (1, 1)], ids=str)
def test_a_complete_tensor_and_a_single_mode_have_pieces_of_one_cell(shape):
    assert extents_of(np.ones(shape, dtype=bool)) == (1,) * len(shape)


def test_too_few_missing_cells_say_nothing():
    mask = np.ones((40, 40, 40), dtype=bool)
    mask[:, 0, 0] = False
    assert extents_of(mask) == (1, 1, 1)
    mask[:, 3:6, 7] = False
    assert extents_of(mask) == (40, 1, 1)


def test_many_rows_are_held_out_one_by_one(monkeypatch):
    mask = fibres(1)
    monkeypatch.setattr(holding_out, "MAX_ROWS", int(mask.sum()))
    assert extents_of(mask) == (1, 18, 1)
    monkeypatch.setattr(holding_out, "MAX_ROWS", int(mask.sum()) - 1)
    assert extents_of(mask) == (1, 1, 1)


def test_pieces_are_not_so_large_that_few_are_held_out():
    mask = fibres(0, shape=(12, 10, 8))  # 40 fibres, of which 2 would be held out
    assert extents_of(mask, share=0.05) != (12, 1, 1)
    assert extents_of(mask, share=0.5) == (12, 1, 1)


def test_pieces_are_boxes_that_tile_the_tensor():
    mask = blocks((24, 20, 16), (6, 6, 6), count=20)
    samples = of(mask)
    extents = np.array(extents_of(mask))
    assert extents.max() > 1
    for rows in pieces_of(number_pieces(samples, share=0.1, seed=0), samples.values):
        cells = samples.coords[np.array(rows, dtype=int)]
        assert (np.ptp(cells, axis=0) < extents).all()
    numbers = number_pieces(samples, share=0.1, seed=0)
    n_pieces = numbers.max() + 1
    assert n_pieces < 2 * np.prod(-(-np.array(mask.shape) // extents))
    assert not np.array_equal(numbers, number_pieces(samples, share=0.1, seed=1))  # other corners


def test_extents_grow_by_steps_or_to_the_whole_mode():
    found = set(holding_out._larger((1, 4, 16), (40, 10, 16)))
    assert found == {(EXTENT_RATIO, 4, 16), (40, 4, 16), (1, 10, 16)}


# --- distances to the nearest observed cell


def shares_by_brute_force(asked, kept):
    """Return the shares of cells in every class of distances, mode by mode."""
    shares = np.zeros((asked.shape[1], DISTANCE_BINS.size + 2))
    for mode in range(asked.shape[1]):
        for cell in asked:
            others = np.delete(kept, mode, axis=1) == np.delete(cell, mode)
            line = kept[others.all(axis=1), mode]
            if line.size == 0:
                shares[mode, -1] += 1
            else:
                nearest = np.abs(line - cell[mode]).min()
                shares[mode, np.count_nonzero(nearest >= DISTANCE_BINS)] += 1
    return shares / len(asked)


@pytest.mark.parametrize("shape", [(9, 8), (5, 6, 4), (70, 3), (2, 3, 1, 4)], ids=str)
@pytest.mark.parametrize("observed", [0.15, 0.5])
def test_distances_equal_those_found_by_brute_force(shape, observed):
    rng = np.random.default_rng(len(shape))
    cells = np.argwhere(random_mask(shape, share=observed, seed=1))
    drawn = np.stack([rng.integers(0, length, 60) for length in shape], axis=1)
    neighbours = _Neighbours(cells, shape, drawn)
    known = set(map(tuple, cells.tolist()))
    missing = np.array([cell for cell in drawn.tolist() if tuple(cell) not in known])
    assert neighbours.n_missing == len(missing) > 0
    np.testing.assert_allclose(neighbours.of_missing(), shares_by_brute_force(missing, cells))
    held = rng.random(len(cells)) < 0.4
    np.testing.assert_allclose(
        neighbours.of_held_out(held, rng), shares_by_brute_force(cells[held], cells[~held])
    )


def test_no_more_cells_are_compared_than_needed(monkeypatch):
    cells = np.argwhere(random_mask((20, 18, 16)))
    drawn = np.argwhere(np.ones((20, 18, 16)))
    every = _Neighbours(cells, (20, 18, 16), drawn)
    held = np.arange(len(cells)) % 4 == 0
    rng = np.random.default_rng(0)
    expected = every.of_held_out(held, rng)
    monkeypatch.setattr(holding_out, "MAX_MISSING", 300)
    some = _Neighbours(cells, (20, 18, 16), drawn)
    assert some.n_missing == 300 < every.n_missing
    found = some.of_held_out(held, rng)
    assert not np.array_equal(found, expected)
    np.testing.assert_allclose(found, expected, atol=0.1)


def test_drawn_cells_have_indices_as_often_as_observed_ones():
    rng = np.random.default_rng(0)
    cells = np.stack([rng.binomial(9, chance, 400) for chance in (0.1, 0.5)], axis=1)
    drawn = _draw_cells(cells, 1000, rng)
    for ours, theirs in zip(drawn.T, cells.T, strict=True):
        shares = (np.bincount(one, minlength=10) / one.size for one in (ours, theirs))
        np.testing.assert_allclose(*shares, atol=0.03)
    together = {tuple(cell) for cell in cells.tolist()}
    every = set(itertools.product(*(set(column) for column in cells.T.tolist())))
    assert {tuple(cell) for cell in drawn.tolist()} > together & every
