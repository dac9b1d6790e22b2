"""Shards on a device against dense matrices, and on the workers of a cluster."""

import pickle

import numpy as np
import pytest

import cells_cases
import intensor
from cells_cases import Case, ComponentCase, sharded, some_of, start_cluster
from intensor.backends.cuda.shard import DeviceShard
from intensor.backends.sharded.cells import ShardedCells
from intensor.backends.sharded.shard import make_shard
from intensor.runtime.threads import Workers

slow = pytest.mark.slow  # the simulator runs every thread in Python


def make(observations, radius):
    odd = np.arange(observations.n_cells) % 2 == 1
    shards = [DeviceShard(make_shard(some_of(observations, part))) for part in (odd, ~odd)]
    return ShardedCells(sharded(observations, shards), radius, Workers(1))


@pytest.mark.parametrize("repeats", [pytest.param(False, marks=slow), True])
def test_sums_are_those_of_dense_matrices(repeats):
    cells_cases.check_sums(Case(make, (3, 2), n=30, repeats=repeats))


@slow
@pytest.mark.parametrize("negative", [False, True])
def test_a_descent_ends_where_no_mode_can_be_improved(negative):
    cells_cases.check_descent(Case(make, (3, 4, 2), n=60), negative=negative)


@slow
def test_a_refinement_never_raises_the_objective():
    cells_cases.check_refinement(Case(make, (3, 4, 2), n=60, radius=0.7), negative=False)


@slow
def test_cells_follow_a_change_of_the_radius():
    cells_cases.check_rescaling(make, (3, 4), n=40)


@pytest.mark.parametrize(
    ("shape", "k"), [((4, 3, 3), 3), pytest.param((3, 2, 3, 2), 9, marks=slow)]
)
def test_sums_at_components_are_those_of_cells_in_memory(shape, k):
    case = ComponentCase(make, shape, k=k, n=50)
    cells_cases.check_components(case)
    cells_cases.check_normal_equations(case, modes=[1])


def test_cells_are_sorted_once_for_all_radii():
    case = ComponentCase(make, (4, 5), k=2, n=30)
    (shard, _) = case.cells._data.shards.shards
    cells_cases.check_normal_equations(case, modes=[1])
    order = shard._orders[1]
    for cells in (case.cells, case.here):
        cells.rescale(0.7)
    cells_cases.check_normal_equations(case, modes=[1])
    assert shard._orders[1] is order


def test_a_state_is_evaluated_once(monkeypatch):
    case = Case(make, (3, 4), n=40)
    (shard, _) = case.cells._data.shards.shards
    asked = []
    monkeypatch.setattr(shard._cells, "evaluate", lambda *given: asked.append(given) or (0.0, 0.0))
    case.cells.bound_sums()
    assert not asked
    case.cells.evaluate(case.words, 70, 0.5 * case.weights)
    assert len(asked) == 1


def test_it_is_pickled_as_the_shard_it_was_made_of():
    observations = Case(make, (3, 4), n=40).observations
    shard = make_shard(observations)
    there = DeviceShard(shard)
    assert there.__sizeof__() == shard.rows.nbytes + shard.means.nbytes + shard.counts.nbytes
    again = pickle.loads(pickle.dumps(there))
    assert isinstance(again, DeviceShard)
    np.testing.assert_array_equal(again.fetch(workers=Workers(1)).means, shard.means)


@pytest.mark.slow  # thousands of threads in the simulator, on every worker
@pytest.mark.filterwarnings("ignore")  # Dask warns a lot
def test_workers_of_a_cluster_give_the_answer_of_the_host():
    distributed = pytest.importorskip("distributed")
    data = intensor.planted((4, 3, 3), 60, noise=0.1)
    options = {"radius": 1.0, "rtol": 1e-12, "exact": "off", "max_iterations": 3}
    options["shape"] = data.shape
    here = intensor.solve(data.coords, data.values, **options)
    with start_cluster(2, processes=True) as there, distributed.Client(there) as client:
        found = intensor.solve(data.coords, data.values, client=client, device="cuda", **options)
    assert found.objective == pytest.approx(here.objective, rel=1e-9)
    assert np.array_equal(found.model.vertices.flags(), here.model.vertices.flags())
