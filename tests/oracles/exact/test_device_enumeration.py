"""Enumeration with a CUDA device, under the simulator unless told otherwise."""

import math

import numpy as np
import pytest

import intensor
from intensor.backends.select import find_device
from intensor.data.observations import observe
from intensor.oracles.base import Goal
from intensor.oracles.cascade import FreeBoundOracle, find_exact
from intensor.oracles.exact.enumeration import EnumerationOracle
from intensor.oracles.trivial import vertex_cost
from intensor.runtime.budget import Budget

pytest.importorskip("numba_cuda")
module = pytest.importorskip("intensor.oracles.exact.device_enumeration")


def full(shape, seed=0):
    coords = np.indices(shape).reshape(len(shape), -1).T
    cells = observe(coords, np.ones(len(coords)), shape=shape)
    rng = np.random.default_rng([seed, *shape])
    return cells, rng.integers(-100, 101, cells.n_cells).astype(float)


@pytest.mark.parametrize("shape", [(3, 4, 5), (3, 2, 3, 2), (2, 2, 2, 1, 2)])
def test_the_answer_of_the_host(shape, monkeypatch):
    monkeypatch.setattr(module, "PIECE", 2)
    cells, costs = full(shape)
    there = module.DeviceEnumerationOracle(cells).minimise(costs)
    here = EnumerationOracle(cells).minimise(costs)
    assert (there.value, there.bound) == (here.value, here.bound)
    assert vertex_cost(there.flags, costs, cells) == there.value
    assert there.source == "enumeration"


def test_a_pool_of_the_best_boxes():
    cells, costs = full((3, 5, 4), 2)
    least = EnumerationOracle(cells).minimise(costs).value
    goal = Goal(product=0.8 * least + 1e-9, phi=1e-9, pool=20)
    pools = [
        oracle(cells).minimise(costs, goal=goal).pool
        for oracle in (module.DeviceEnumerationOracle, EnumerationOracle)
    ]
    there, here = ([vertex_cost(flags, costs, cells) for flags in pool] for pool in pools)
    assert there == here
    assert len(there) > 1


def test_a_spent_budget_leaves_the_free_bound():
    cells, costs = full((4, 4, 4))
    answer = module.DeviceEnumerationOracle(cells).minimise(costs, budget=Budget(0.0))
    exact = EnumerationOracle(cells).minimise(costs)
    assert answer.bound <= exact.value <= answer.value


def test_what_it_can_and_cannot_search():
    def seconds(shape):
        cells = observe([[0] * len(shape)], [1.0], shape=shape)
        return module.DeviceEnumerationOracle(cells).expected_seconds()

    assert seconds((20, 20, 20)) < seconds((24, 24, 24)) < math.inf
    assert seconds((30, 30)) == math.inf
    assert seconds((30, 30, 10)) == math.inf


def test_the_cascade_takes_the_faster_one(monkeypatch):
    cells, _ = full((3, 3, 3))
    assert (
        type(find_exact("enumeration").oracle(cells, device=find_device("cuda")))
        is EnumerationOracle
    )
    monkeypatch.setattr("intensor.oracles.cascade.LEAST_DEVICE_SECONDS", 0.0)
    monkeypatch.setattr("intensor.oracles.exact.plan.LEAST_DEVICE_SECONDS", 0.0)
    monkeypatch.setattr("intensor.oracles.exact.plan.SECONDS_PER_DEVICE_ENTRY", 0.0)
    there = find_exact("enumeration").oracle(cells, device=find_device("cuda"))
    assert type(there) is module.DeviceEnumerationOracle
    assert type(find_exact("enumeration").oracle(cells)) is EnumerationOracle


def test_a_solve_asks_for_its_device(monkeypatch):
    asked = []

    def spy(observations, **options):
        asked.append(options["device"].name)
        return FreeBoundOracle(observations)

    monkeypatch.setattr(type(find_exact("auto")), "oracle", lambda choice, *a, **k: spy(*a, **k))
    data = intensor.planted((3, 3, 3), 20)
    for device in ("cpu", "auto"):
        intensor.solve(data.coords, data.values, radius=1.0, device=device)
    assert asked == ["cpu", "auto"]
