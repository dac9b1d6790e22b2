"""Shards on disk: the same answers as from memory, and no file left."""

import gc

import numpy as np
import pytest

import cells_cases
import intensor
from cells_cases import ComponentCase, store_parquet
from intensor.backends.cpu import CpuCells
from intensor.backends.packed_cells import pack_cells
from intensor.backends.sharded import disk
from intensor.backends.sharded.cells import ShardedCells
from intensor.backends.sharded.disk import Buckets, FileArray, count_buckets, observe_on_disk
from intensor.data.readers.dataset import Batch, open_dataset
from intensor.errors import CoordinateError, MemoryLimitError, SettingError
from intensor.runtime.threads import Workers


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Keep temporary folders in sight."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(disk.tempfile, "tempdir", str(folder))
    return folder


LITTLE_MEMORY = 300 << 20
"""Bytes that leave a bucket no more than about 90 000 observations."""
MANY = 200_000
"""Number of observations that need three buckets then."""


def observed(path, **options):
    defaults = {"shape": None, "allow_negative": False, "threads": 1}
    options = {**defaults, "memory_limit": LITTLE_MEMORY, **options}
    return observe_on_disk(open_dataset(path, "value"), **options)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Return observations that need several buckets, and a folder that they are stored in."""
    data = intensor.planted((6, 5, 4), MANY, noise=0.1)
    return data, store_parquet(tmp_path_factory.mktemp("many") / "data", data)


def test_files_hold_everything_and_go_with_the_last_reference(many, temporary):
    data, path = many
    found = observed(path)
    here = intensor.data.observations.observe(data.coords, data.values)
    assert found.shape == here.shape
    assert (found.n, found.n_cells) == (here.n, here.n_cells)
    assert found.within == pytest.approx(here.within, rel=1e-12)
    fetched = found.host()
    for ours, theirs in zip(fetched.coords, here.coords, strict=True):
        assert np.array_equal(ours, theirs)
    np.testing.assert_allclose(fetched.means, here.means, rtol=1e-15)
    (folder,) = temporary.iterdir()
    assert not list(folder.glob("bucket*"))
    assert len(list(folder.glob("rows-*"))) == 3
    del found
    gc.collect()
    assert not list(temporary.iterdir())


def test_files_are_deleted_after_an_error(tmp_path, temporary):
    data = intensor.planted((9, 8, 7), 600)
    path = store_parquet(tmp_path / "data", data)
    with pytest.raises(CoordinateError, match=r"part-0\.parquet, row \d+: 'mode2'"):
        observed(path, shape=(9, 8, 3))
    assert not list(temporary.iterdir())


@pytest.mark.usefixtures("temporary")
@pytest.mark.parametrize("threads", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_several_shards_give_the_answer_of_cells_in_memory(many, threads):
    data, path = many
    options = {"shape": data.shape, "radius": 1.0, "rtol": 1e-3, "exact": "off"}
    here = intensor.solve(data.coords, data.values, **options)
    options |= {"threads": threads, "memory_limit": LITTLE_MEMORY}
    there = intensor.solve(path, "value", **options)
    assert there.status is here.status
    assert there.objective == pytest.approx(here.objective, rel=1e-9)
    assert np.array_equal(there.model.vertices.flags(), here.model.vertices.flags())


@pytest.mark.usefixtures("temporary")
def test_several_shards_give_the_graded_answer_of_cells_in_memory(many):
    data, path = many
    options = {"shape": data.shape, "radius": 1.0, "components": "graded", "max_components": 4}
    options |= {"exact": "off", "max_iterations": 12}
    here = intensor.solve(data.coords, data.values, **options)
    there = intensor.solve(path, "value", memory_limit=LITTLE_MEMORY, **options)
    assert there.status is here.status
    assert there.objective == pytest.approx(here.objective, rel=1e-9)
    assert intensor.verify(there, data.coords, data.values).ok


@pytest.mark.usefixtures("temporary")
def test_sums_at_components_are_those_of_cells_in_memory(many):
    data, path = many
    found = observed(path, threads=2)
    assert len(found.shards.sizes) == 3
    case = ComponentCase(lambda *_: ShardedCells(found, 1.3, Workers(1)), data.shape, k=3)
    here = intensor.data.observations.observe(data.coords, data.values)
    case.here = CpuCells(pack_cells(here, 1.3), Workers(1))
    cells_cases.check_components(case)
    cells_cases.check_normal_equations(case)


@pytest.mark.usefixtures("temporary")
@pytest.mark.parametrize("noise", [pytest.param(0.0, marks=pytest.mark.slow), 0.1])
def test_one_shard_gives_the_proof_of_cells_in_memory(tmp_path, noise):
    data = intensor.planted((6, 5, 4), 300, noise=noise)
    options = {"shape": data.shape, "radius": 1.0, "rtol": 1e-4 if noise else 1e-12}
    here = intensor.solve(data.coords, data.values, **options)
    path = store_parquet(tmp_path / "data", data)
    there = intensor.solve(path, "value", memory_limit="1 GiB", **options)
    assert there.status is here.status is intensor.Status.OPTIMAL
    assert there.objective == pytest.approx(here.objective, rel=1e-9, abs=1e-9)
    assert there.bound == pytest.approx(here.bound, rel=1e-6, abs=1e-9)
    assert intensor.verify(there, data.coords, data.values).ok


@pytest.mark.usefixtures("temporary")
def test_large_data_begins_with_a_sample(tmp_path, monkeypatch):
    sampled = []
    draw = ShardedCells.sample

    def sample(cells, size, rng):
        sampled.append(size)
        return draw(cells, size, rng)

    monkeypatch.setattr(ShardedCells, "sample", sample)
    data = intensor.planted((60, 50, 40), 60_000)
    path = store_parquet(tmp_path / "data", data)
    options = {"radius": 1.0, "rtol": 1e-3, "exact": "off", "max_iterations": 3}
    result = intensor.solve(str(path), "value", shape=data.shape, **options)
    assert sampled
    assert intensor.nmse(result.model, data.truth) < 0.1


def test_slices_and_rows_of_a_file_are_those_of_the_array(tmp_path):
    array = np.random.default_rng(0).integers(0, 100, (50, 3)).astype(np.uint16)
    np.save(tmp_path / "a.npy", array)
    there = FileArray(tmp_path / "a.npy")
    assert (there.shape, there.dtype, there.size) == ((50, 3), array.dtype, 150)
    for part in (slice(0, 50), slice(7, 9), slice(40, 80), np.array([3, 3, 41])):
        assert np.array_equal(there[part], array[part])


def test_a_lower_memory_limit_needs_more_buckets():
    assert count_buckets(1000, 3, 1 << 30) == 1
    few, many = (count_buckets(2 * 10**8, 3, limit << 30) for limit in (16, 4))
    assert 1 < few < many
    assert count_buckets(2 * 10**8, 7, 4 << 30) > many
    with pytest.raises(MemoryLimitError, match=r"2000 observations.*within 100 MiB; \d+ MiB would"):
        count_buckets(2000, 3, 100 << 20)
    with pytest.raises(MemoryLimitError) as caught:
        count_buckets(10**12, 3, 1 << 30)
    needed = int(str(caught.value).split("MiB; ")[1].split()[0])
    assert count_buckets(10**12, 3, needed << 20) <= disk.MAX_BUCKETS


@pytest.mark.parametrize("limit", ["lots", "", "-1", 0, True, "1.2.3 GiB", "4 XB"])
def test_a_limit_that_makes_no_sense_is_refused(tmp_path, limit):
    data = intensor.planted((3, 3), 20)
    path = store_parquet(tmp_path / "data", data, n_files=1)
    with pytest.raises(SettingError, match="memory_limit is"):
        intensor.solve(path, "value", radius=1.0, memory_limit=limit)


def test_a_call_that_makes_no_sense_is_refused(tmp_path):
    data = intensor.planted((3, 3), 20)
    path = store_parquet(tmp_path / "data", data, n_files=1)
    with pytest.raises(SettingError, match=r"values must be the name of the column.*got list"):
        intensor.solve(path, [1.0], radius=1.0)
    with pytest.raises(SettingError, match='needs version="fast"; got version=8'):
        intensor.solve(path, "value", radius=1.0, version=8)
    with pytest.raises(SettingError, match="sample_weight needs coords"):
        intensor.solve(path, "value", radius=1.0, sample_weight=[1.0])
    with pytest.raises(
        CoordinateError, match=r"2 column\(s\) of coordinates but shape \(3, 3, 3\)"
    ):
        intensor.solve(path, "value", radius=1.0, shape=(3, 3, 3))


@pytest.mark.parametrize("n_buckets", [1, 40])
def test_every_observation_comes_back_from_its_bucket(tmp_path, n_buckets):
    data = intensor.planted((9, 8, 7), 500)
    coords, values = data.coords, data.values
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
