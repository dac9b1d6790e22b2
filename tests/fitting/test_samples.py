"""Splits: entire cells, every cell once, the same for the same seed; rows grouped once."""

import numpy as np
import pytest

from intensor.fitting.options import check_options
from intensor.fitting.preparation import prepare
from intensor.fitting.samples import Samples, find_missing_fibre_mode, sample, splits


def drawn(n=300, shape=(6, 5, 4), seed=0, weighted=True):
    """Return samples with many repeated cells; values number the rows."""
    rng = np.random.default_rng(seed)
    return Samples(
        coords=np.stack([rng.integers(0, length, n) for length in shape], axis=1),
        values=np.arange(n, dtype=float),
        weights=10.0 + np.arange(n) if weighted else None,
        shape=shape,
    )


def of_cells(cells, shape):
    """Return samples of some cells; values number the rows."""
    values = np.arange(float(len(cells)))
    return Samples(coords=np.array(cells), values=values, weights=None, shape=shape)


def cells(samples):
    return set(map(tuple, samples.coords.tolist()))


def split(samples, *, folds=1, share=0.1, seed=0, **more):
    return list(splits(samples, folds=folds, share=share, seed=seed, **more))


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


@pytest.mark.parametrize(
    ("enough", "pairs"), [(1, 1), (30, 1), (40, 2), (80, 3), (100, 4), (140, 5), (10_000, 9)]
)
def test_cells_are_held_out_until_there_are_enough(enough, pairs):
    samples = drawn()  # about 30 of 300 rows are held out
    found = split(samples, folds=None, enough_held_out=enough)
    assert len(found) == pairs
    first = split(samples)[0]
    assert found[0][1].values.tolist() == first[1].values.tolist()
    seen = set()
    for training, held in found:
        assert not seen & cells(held)
        seen |= cells(held)
        assert cells(training) == cells(samples) - cells(held)


@pytest.mark.parametrize("share", [0.4, 0.9])
def test_no_cell_is_held_out_twice(share):
    samples = drawn()
    found = split(samples, folds=None, share=share)
    assert len(found) == int(1 / share)
    assert sum(len(cells(held)) for _, held in found) <= len(cells(samples))


def test_there_are_no_more_folds_than_cells():
    samples = of_cells([[0, 0], [0, 1], [0, 0], [1, 1]], (2, 2))
    pairs = split(samples, folds=10, share=0.1)
    assert [len(cells(held)) for _, held in pairs] == [1, 1, 1]


@pytest.mark.parametrize("share", [0.001, 0.5, 0.999])
def test_each_side_gets_one_of_two_cells(share):
    ((training, held),) = split(of_cells([[0], [1], [1]], (2,)), share=share)
    assert len(cells(training)) == len(cells(held)) == 1


@pytest.mark.parametrize("folds", [1, 5])
def test_a_single_cell_cannot_be_split(folds):
    assert split(of_cells([[2, 1]] * 3, (3, 2)), folds=folds) == []


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
def test_a_sample_is_of_entire_cells(most):
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


def test_few_samples_are_not_sampled():
    samples = drawn()
    assert sample(samples, 300, seed=0) is samples
    single = samples.part(np.zeros(50, dtype=int))
    assert all(len(sample(single, 1, seed=seed)) == 50 for seed in range(5))


# --- entire fibres that are missing


def of(mask):
    """Return samples of the cells that are on."""
    return of_cells(np.argwhere(mask), mask.shape)


def fibres(mode, *, share=0.5, shape=(12, 10, 8), seed=0, kept=1.0):
    """Return a mask of entire fibres along a mode, with some cells of them missing as well."""
    rng = np.random.default_rng(seed)
    some = rng.random([1 if other == mode else length for other, length in enumerate(shape)])
    return np.broadcast_to(some < share, shape) & (rng.random(shape) < kept)


@pytest.mark.parametrize("mode", range(3))
@pytest.mark.parametrize(("share", "kept"), [(0.25, 1.0), (0.25, 0.95), (0.5, 0.95), (0.9, 0.99)])
def test_fibres_that_are_missing_are_noticed(mode, share, kept):
    mask = fibres(mode, share=share, seed=mode, kept=kept)
    assert find_missing_fibre_mode(of(mask)) == mode
    repeated = of(mask).part(np.repeat(np.arange(mask.sum()), 3))
    assert find_missing_fibre_mode(repeated) == mode


@pytest.mark.parametrize("shape", [(12, 10, 8), (12, 10, 2), (30, 20), (40,)], ids=str)
def test_cells_that_are_missing_at_random_are_not_fibres(shape):
    for seed, missing in enumerate([0.3, 0.7, 0.9, 0.97]):
        mask = np.random.default_rng(seed).random(shape) >= missing
        mask.flat[0] = True
        assert find_missing_fibre_mode(of(mask)) is None


@pytest.mark.parametrize("times", [1, 2, 6])
def test_ratings_are_not_fibres(times):
    # Many of few, few of many, each at one time: most fibres are empty, the others nearly so.
    rng = np.random.default_rng(times)
    chance = 3.0 / np.outer(np.arange(1, 61), np.arange(1, 41))
    pairs = np.argwhere(rng.random((60, 40)) < chance)
    mask = np.zeros((60, 40, times), dtype=bool)
    mask[(*pairs.T, rng.integers(0, times, len(pairs)))] = True
    assert mask.mean() < 0.1
    assert find_missing_fibre_mode(of(mask)) is None
    assert find_missing_fibre_mode(of(mask.any(axis=2))) is None


def test_fibres_are_not_missing_if_the_others_have_gaps():
    long = {"shape": (40, 10, 8), "share": 0.3, "seed": 1}
    assert find_missing_fibre_mode(of(fibres(0, kept=0.3, **long))) is None
    assert find_missing_fibre_mode(of(fibres(0, kept=0.8, **long))) is None
    assert find_missing_fibre_mode(of(fibres(0, kept=0.95, **long))) == 0


@pytest.mark.parametrize("shape", [(4, 3, 2), (5, 6), (7,), (1, 1)], ids=str)
def test_a_complete_tensor_has_no_missing_fibres(shape):
    assert find_missing_fibre_mode(of(np.ones(shape, dtype=bool))) is None


def test_a_mode_of_one_index_has_no_fibres():
    mask = np.random.default_rng(0).random((12, 10, 1)) < 0.5
    assert find_missing_fibre_mode(of(mask)) is None


def fibres_of(samples, mode):
    return set(map(tuple, np.delete(samples.coords, mode, axis=1).tolist()))


@pytest.mark.parametrize("mode", range(3))
@pytest.mark.parametrize("share", [0.1, 0.4])
def test_entire_fibres_are_held_out_where_entire_fibres_are_missing(mode, share):
    samples = of(fibres(mode, kept=0.95))
    ((training, held),) = split(samples, share=share)
    assert not fibres_of(training, mode) & fibres_of(held, mode)
    assert len(fibres_of(held, mode)) == round(share * len(fibres_of(samples, mode)))
    assert cells(training) | cells(held) == cells(samples)
    # along other modes, what is held out lies beside what is not
    other = (mode + 1) % 3
    assert fibres_of(training, other) & fibres_of(held, other)


@pytest.mark.parametrize("folds", [2, 5])
def test_folds_hold_out_every_fibre_exactly_once(folds):
    samples = of(fibres(1))
    pairs = split(samples, folds=folds, share=1 / folds)
    held_out = [fibre for _, held in pairs for fibre in fibres_of(held, 1)]
    assert len(pairs) == folds
    assert len(held_out) == len(set(held_out)) == len(fibres_of(samples, 1))
    assert sorted(value for _, held in pairs for value in held.values) == samples.values.tolist()
    for training, held in pairs:
        assert len(training) + len(held) == len(samples)


def test_cells_are_held_out_where_cells_are_missing():
    samples = of(np.random.default_rng(0).random((12, 10, 8)) < 0.5)
    ((training, held),) = split(samples, share=0.1)
    for mode in range(3):
        assert fibres_of(training, mode) & fibres_of(held, mode)


def test_some_cells_rule_out_the_same_modes_as_all():
    rng = np.random.default_rng(5)
    found = set()
    for seed in range(40):
        shape = tuple(rng.integers(2, 9, 3).tolist())
        mode, kept = int(rng.integers(3)), rng.uniform(0.3, 1.0)
        samples = of(fibres(mode, shape=shape, kept=kept, seed=seed))
        found.add(find_missing_fibre_mode(samples))
        assert find_missing_fibre_mode(samples, probed_cells=50) == find_missing_fibre_mode(samples)
    assert found == {None, 0, 1, 2}


# --- rows in standard order


def groups_of(samples):
    groups = samples.groups()
    return groups.order.tolist(), groups.starts.tolist(), [one.tolist() for one in groups.columns]


def test_rows_are_grouped_once_and_parts_of_them_stay_grouped(monkeypatch):
    samples = drawn().in_order()
    assert samples.in_order() is samples
    some = samples.part(np.random.default_rng(0).random(300) < 0.4)
    sampled = sample(samples, 100, seed=0)
    ((training, held),) = split(samples)
    for part in (samples, some, sampled, training, held):
        plain = Samples(
            coords=part.coords, values=part.values, weights=part.weights, shape=part.shape
        )
        assert part.starts is not None
        assert groups_of(part) == groups_of(plain)
        assert [one.dtype for one in part.groups().columns] == [
            one.dtype for one in plain.groups().columns
        ]
        assert part.n_cells == plain.n_cells == len(cells(part))
        assert part.cell_numbers().tolist() == plain.cell_numbers().tolist()
    monkeypatch.setattr("intensor.fitting.samples.group_rows", None)
    prepare(training, check_options(transform="sqrt").scales[0])  # needs no grouping


def test_the_standard_order_does_not_depend_on_the_given_order():
    samples = drawn()
    shuffled = samples.part(np.random.default_rng(1).permutation(len(samples)))
    for name in ("coords", "values", "weights", "starts"):
        one, other = (getattr(some.in_order(), name) for some in (samples, shuffled))
        assert np.array_equal(one, other)
    assert samples.in_order().part(np.arange(5)).starts is None  # rows by number may be anywhere


def test_indices_that_do_not_occur_are_left_out():
    found = of_cells([[7000, 1], [5, 0]], (9000, 2)).condensed()
    assert found.shape == (2, 2)
    assert found.full.shape == (9000, 2)
    assert found.coords.tolist() == [[1, 1], [0, 0]]
    assert found.condensed() is found
