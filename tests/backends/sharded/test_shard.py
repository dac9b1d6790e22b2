"""A shard: its cells, random cells of it, and its size."""

import pickle
import sys

import numpy as np
import pytest

import zoo
from intensor.backends.sharded.shard import make_shard
from intensor.data.observations import observe
from intensor.runtime.threads import Workers

ONE = Workers(1)
ALL = np.uint64(2**64 - 1)


@pytest.fixture(params=[64, 1 << 16], ids=["in blocks", "at once"])
def shard(request):
    shape, coords, values, _ = zoo.observed("long mode")
    observations = observe(coords, values, shape=shape)
    assert observations.n_cells > 50
    return make_shard(observations, cells_at_once=request.param)


def test_cells_observed_most_often_come_first(shard):
    counts = shard.counts.astype(int)
    assert np.all(np.diff(counts) <= 0)
    assert counts[0] > counts[-1]


def test_all_cells_are_fetched_and_drawn(shard):
    for found in (shard.fetch(workers=ONE), shard.draw(np.uint64(3), ALL, workers=ONE)):
        for name in ("rows", "means", "counts"):
            assert np.array_equal(getattr(found, name), getattr(shard, name))


def test_drawn_cells_belong_to_the_shard_and_depend_on_the_seed(shard):
    half = np.uint64(2**63)
    one, same, other = (shard.draw(np.uint64(s), half, workers=ONE) for s in (1, 1, 2))
    known = dict(zip(map(tuple, shard.rows.tolist()), shard.means.tolist(), strict=True))
    assert 0 < one.n_cells < shard.n_cells
    for row, mean in zip(one.rows.tolist(), one.means.tolist(), strict=True):
        assert known[tuple(row)] == mean
    assert np.array_equal(one.rows, same.rows)
    assert not np.array_equal(one.rows, other.rows)
    assert shard.draw(np.uint64(1), np.uint64(0), workers=ONE).n_cells == 0


def test_the_size_of_a_shard_is_that_of_its_arrays(shard):
    nbytes = shard.rows.nbytes + shard.means.nbytes + shard.counts.nbytes
    assert nbytes <= sys.getsizeof(shard) < nbytes + 100
    sizeof = pytest.importorskip("dask.sizeof").sizeof
    assert nbytes <= sizeof(pickle.loads(pickle.dumps(shard))) < nbytes + 100
