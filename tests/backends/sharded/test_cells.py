"""Cells in shards against dense matrices, and against cells in memory."""

import pickle

import numpy as np
import pytest

import cells_cases
import intensor
from cells_cases import SHAPES, Case, ComponentCase, sharded, some_of
from intensor.backends.cpu import CpuCells
from intensor.backends.sharded.cells import ShardedCells, bucket_of, collapse_shard
from intensor.backends.sharded.shard import WeightedComponents, make_shard
from intensor.data.observations import observe
from intensor.errors import SettingError
from intensor.runtime.threads import Workers
from zoo import mostly_slow

one_shape = pytest.mark.parametrize("shape", mostly_slow(SHAPES, telling=[(3, 4, 2)]))


def cut(observations, n_shards, threads=1, cells_at_once=1 << 16):
    owner = np.random.default_rng(5).integers(0, n_shards, observations.n_cells)
    owner[:n_shards] = np.arange(n_shards)
    parts = [some_of(observations, owner == number) for number in range(n_shards)]
    shards = [make_shard(part, cells_at_once=cells_at_once) for part in parts]
    return sharded(observations, shards, threads)


@pytest.fixture(
    params=[(1, 1, 64), (3, 1, 1 << 16), (2, 2, 64)],
    ids=["one shard in blocks", "three shards", "blocks on two threads"],
)
def make(request):
    def make(observations, radius):
        return ShardedCells(cut(observations, *request.param), radius, Workers(1))

    return make


@pytest.mark.parametrize("shape", mostly_slow(SHAPES, telling=[(7,), (2, 3, 2, 3)]))
def test_sums_are_those_of_dense_matrices(make, shape):
    cells_cases.check_sums(Case(make, shape, n=200))


@pytest.mark.parametrize("negative", [False, True])
@one_shape
def test_a_descent_ends_where_no_mode_can_be_improved(make, shape, negative):
    cells_cases.check_descent(Case(make, shape), negative=negative)


@pytest.mark.parametrize("negative", [False, True])
@one_shape
def test_a_refinement_never_raises_the_objective(make, shape, negative):
    cells_cases.check_refinement(Case(make, shape, radius=0.7), negative=negative)


def test_cells_follow_a_change_of_the_radius(make):
    cells_cases.check_rescaling(make, (3, 4, 2))


@pytest.mark.parametrize(
    ("shape", "k"), [((9, 8), 3), ((5, 6, 4), 8), ((3, 4, 3, 2), 33), ((3, 2, 3, 2, 3), 1)]
)
def test_sums_at_components_are_those_of_cells_in_memory(make, shape, k):
    case = ComponentCase(make, shape, k=k, n=300)
    cells_cases.check_components(case)
    cells_cases.check_normal_equations(case)


def test_normal_equations_follow_a_change_of_the_radius(make):
    case = ComponentCase(make, (5, 6, 4), k=3)
    case.cells.rescale(0.7)
    case.here.rescale(0.7)
    cells_cases.check_components(case)
    cells_cases.check_normal_equations(case)


def test_components_of_the_solver_may_change_after_an_evaluation(make):
    case = ComponentCase(make, (5, 6, 4), k=3)
    case.cells.evaluate_components(case.factors, case.weights)
    before = case.cells.bound_sums()
    case.factors[:] = 0.0
    case.weights[:] = 0.0
    assert case.cells.bound_sums() == before


def test_answers_have_the_size_of_the_question_and_not_of_the_cells():
    def make(observations, radius):
        return ShardedCells(cut(observations, 2), radius, Workers(1))

    sizes = []
    for n in (100, 2000):
        case = ComponentCase(make, (50, 40, 30), k=4, n=n)
        state = case.cells._at(WeightedComponents(factors=case.factors, weights=case.weights))
        asked = case.cells._ask("normal_equations", state, 1, 3, 10)
        sizes.append([len(pickle.dumps(one)) for one in asked])
    assert sizes[0] == sizes[1]


def test_a_sample_consists_of_observed_cells(make):
    case = Case(make, (3, 4, 3), n=80)
    found = case.cells.sample(25, np.random.default_rng(0))
    assert isinstance(found, CpuCells)
    coords = case.observations.coords
    every = {cell: number for number, cell in enumerate(zip(*coords, strict=True))}
    offsets = case.cells.offsets[:-1]
    packed = found.packed
    assert 10 < packed.n_cells <= 25
    assert np.all(np.diff(packed.counts.astype(int)) <= 0)
    numbers = [every[tuple(cell)] for cell in packed.rows.astype(int) - offsets]
    assert len(set(numbers)) == packed.n_cells
    np.testing.assert_array_equal(packed.targets, case.observations.means[numbers])
    np.testing.assert_array_equal(packed.counts, case.observations.counts[numbers])
    assert packed.shares.sum() == pytest.approx(1.0)


def test_samples_do_not_depend_on_the_shards():
    def drawn(n_shards, seed):
        def make(observations, radius):
            return ShardedCells(cut(observations, n_shards), radius, Workers(1))

        cells = Case(make, (6, 7, 5), n=300).cells
        return cells.sample(60, np.random.default_rng(seed)).packed

    one, four, other = drawn(1, 0), drawn(4, 0), drawn(1, 1)
    np.testing.assert_array_equal(one.rows, four.rows)
    np.testing.assert_array_equal(one.targets, four.targets)
    np.testing.assert_array_equal(one.counts, four.counts)
    assert one.rows.shape != other.rows.shape or np.any(one.rows != other.rows)


def test_few_cells_are_fetched_and_many_are_not(make):
    case = Case(make, (3, 4))
    found = case.cells._data.host()
    for ours, theirs in zip(found.coords, case.observations.coords, strict=True):
        assert ours.dtype == theirs.dtype
        assert np.array_equal(ours, theirs)
    assert np.array_equal(found.means, case.observations.means)
    assert np.array_equal(found.counts, case.observations.counts)
    with pytest.raises(SettingError, match=r"too many to be fetched.*exact='off'"):
        case.cells._data.host(max_cells=5)


def test_a_cell_has_one_bucket_and_buckets_are_even():
    cells = np.argwhere(np.ones((30, 20, 10)))
    owners = bucket_of(cells, 8)
    assert np.array_equal(owners, bucket_of(cells, 8))
    sizes = np.bincount(owners, minlength=8)
    assert sizes.min() > 0.85 * len(cells) / 8
    assert sizes.max() < 1.15 * len(cells) / 8


def test_totals_of_shards_add_up():
    data = intensor.planted((9, 8, 7), 500)
    coords, values = data.coords, data.values
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
