"""Splits: whole cells, every cell once, the same for the same seed."""

import numpy as np
import pytest

from intensor.fitting.samples import Samples, sample, splits


def drawn(n=300, shape=(6, 5, 4), seed=0, weighted=True):
    """Return samples with many repeated cells; values number the rows."""
    rng = np.random.default_rng(seed)
    return Samples(
        coords=np.stack([rng.integers(0, length, n) for length in shape], axis=1),
        values=np.arange(n, dtype=float),
        weights=10.0 + np.arange(n) if weighted else None,
        shape=shape,
    )


def cells(samples):
    return set(map(tuple, samples.coords.tolist()))


def split(samples, *, folds=1, share=0.1, seed=0):
    return list(splits(samples, folds=folds, share=share, seed=seed))


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5, 0.99])
def test_a_cell_is_on_one_side_only(share):
    samples = drawn()
    ((training, held),) = split(samples, share=share)
    assert not cells(training) & cells(held)
    assert cells(training) | cells(held) == cells(samples)
    assert sorted([*training.values, *held.values]) == samples.values.tolist()
    assert len(cells(held)) == max(1, round(share * len(cells(samples))))


def test_rows_keep_their_values_and_weights():
    samples = drawn()
    ((training, held),) = split(samples, share=0.3)
    for part in (training, held):
        rows = part.values.astype(int)
        assert np.array_equal(part.coords, samples.coords[rows])
        assert np.array_equal(part.weights, samples.weights[rows])
        assert part.shape == samples.shape
        assert len(part) == rows.size
        assert np.all(np.diff(rows) > 0)
    unweighted = split(drawn(weighted=False))[0]
    assert unweighted[0].weights is None
    assert unweighted[1].weights is None


@pytest.mark.parametrize("folds", [2, 3, 7])
def test_folds_hold_out_every_cell_exactly_once(folds):
    samples = drawn()
    pairs = split(samples, folds=folds, share=1 / folds)
    assert len(pairs) == folds
    held_out = [cell for _, held in pairs for cell in cells(held)]
    assert len(held_out) == len(set(held_out)) == len(cells(samples))
    sizes = [len(cells(held)) for _, held in pairs]
    assert max(sizes) - min(sizes) <= 1
    for training, held in pairs:
        assert cells(training) == cells(samples) - cells(held)
        assert len(training) + len(held) == len(samples)


def test_there_are_no_more_folds_than_cells():
    samples = Samples(
        coords=np.array([[0, 0], [0, 1], [0, 0], [1, 1]]),
        values=np.ones(4),
        weights=None,
        shape=(2, 2),
    )
    pairs = split(samples, folds=10, share=0.1)
    assert [len(cells(held)) for _, held in pairs] == [1, 1, 1]


@pytest.mark.parametrize("share", [0.001, 0.5, 0.999])
def test_two_cells_are_one_for_each_side(share):
    samples = Samples(
        coords=np.array([[0], [1], [1]]), values=np.arange(3.0), weights=None, shape=(2,)
    )
    ((training, held),) = split(samples, share=share)
    assert len(cells(training)) == len(cells(held)) == 1


@pytest.mark.parametrize("folds", [1, 5])
def test_a_single_cell_cannot_be_split(folds):
    samples = Samples(
        coords=np.array([[2, 1]] * 3), values=np.arange(3.0), weights=None, shape=(3, 2)
    )
    assert split(samples, folds=folds) == []


def test_the_seed_decides():
    def held(seed, **changes):
        return [part.values.tolist() for _, part in split(drawn(), seed=seed, **changes)]

    assert held(0) == held(0)
    assert held(0) != held(1)
    assert held(3, folds=4) == held(3, folds=4)
    assert held(3, folds=4) != held(4, folds=4)


def test_the_order_of_the_rows_does_not_decide():
    samples = drawn()
    shuffled = samples.part(np.random.default_rng(1).permutation(len(samples)))
    assert cells(split(samples)[0][1]) == cells(split(shuffled)[0][1])


@pytest.mark.parametrize("most", [10, 100, 250])
def test_a_sample_is_of_whole_cells(most):
    samples = drawn()
    some = sample(samples, most, seed=0)
    rows = some.values.astype(int)
    assert np.array_equal(some.coords, samples.coords[rows])
    assert np.array_equal(some.weights, samples.weights[rows])
    assert 0.4 * most < len(some) < 2.0 * most
    others = samples.part(np.setdiff1d(np.arange(300), rows))
    assert not cells(some) & cells(others)
    assert np.array_equal(some.values, sample(samples, most, seed=0).values)
    assert not np.array_equal(some.values, sample(samples, most, seed=1).values)


def test_few_samples_are_taken_whole():
    samples = drawn()
    assert sample(samples, 300, seed=0) is samples
    single = samples.part(np.zeros(50, dtype=int))
    assert all(len(sample(single, 1, seed=seed)) == 50 for seed in range(5))
