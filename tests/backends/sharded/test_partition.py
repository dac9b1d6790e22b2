"""Buckets: every cell is in one of them, with all its observations."""

import numpy as np
import pytest

from intensor.backends.sharded.partition import Buckets, bucket_of, collapse_shard
from intensor.data.observations import observe
from intensor.data.readers.dataset import Batch


def drawn(n=500, shape=(9, 8, 7), seed=0):
    rng = np.random.default_rng(seed)
    coords = np.stack([rng.integers(0, length, n) for length in shape], axis=1)
    return coords, rng.uniform(size=n)


def test_a_cell_has_one_bucket_and_buckets_are_even():
    cells = np.argwhere(np.ones((30, 20, 10)))
    owners = bucket_of(cells, 8)
    assert np.array_equal(owners, bucket_of(cells, 8))
    sizes = np.bincount(owners, minlength=8)
    assert sizes.min() > 0.85 * len(cells) / 8
    assert sizes.max() < 1.15 * len(cells) / 8


@pytest.mark.parametrize("n_buckets", [1, 3, 40])
def test_every_observation_comes_back_from_its_bucket(tmp_path, n_buckets):
    coords, values = drawn()
    buckets = Buckets(tmp_path, 3, n_buckets)
    for start in range(0, 500, 90):
        part = slice(start, start + 90)
        buckets.add([Batch(coords=coords[part], values=values[part])])
    buckets.add([Batch(coords=coords[:0], values=values[:0])])
    assert buckets.shape == tuple(coords.max(axis=0) + 1)
    assert len(buckets) == n_buckets
    found = [buckets.take(number) for number in range(n_buckets)]
    found = [one for one in found if one is not None]
    for number, (there, _) in enumerate(found):
        for other, _ in found[number + 1 :]:
            assert not {*map(tuple, there.tolist())} & {*map(tuple, other.tolist())}
    rows = [
        (*cell, value)
        for there, some in found
        for cell, value in zip(there.tolist(), some.tolist(), strict=True)
    ]
    every = zip(coords.tolist(), values.tolist(), strict=True)
    assert sorted(rows) == sorted((*cell, value) for cell, value in every)
    assert not list(tmp_path.iterdir())


def test_totals_of_shards_add_up(tmp_path):
    coords, values = drawn()
    full = observe(coords, values, shape=(9, 8, 7))
    owners = bucket_of(coords, 4)
    parts = [
        collapse_shard(
            coords[owners == number], values[owners == number], (9, 8, 7), allow_negative=False
        )
        for number in range(4)
    ]
    totals = sum((total for _, total in parts[1:]), parts[0][1])
    assert totals.n == full.n
    assert totals.within / totals.n == pytest.approx(full.within, rel=1e-12)
    assert totals.square / totals.n == pytest.approx(full.mean_square, rel=1e-12)
    assert sum(shard.n_cells for shard, _ in parts) == full.n_cells
    for shard, _ in parts:
        assert np.all(np.diff(shard.counts.astype(int)) <= 0)


def test_no_observations_make_an_empty_shard():
    shard, totals = collapse_shard(
        np.empty((0, 2), dtype=int), np.empty(0), (3, 4), allow_negative=False
    )
    assert (shard.n_cells, shard.rows.shape, totals.n) == (0, (0, 2), 0)
