"""Enumeration with a CUDA device, under the simulator unless told otherwise."""

import functools
import math

import pytest

import intensor
from intensor.backends.select import find_device
from intensor.data.observations import observe
from intensor.oracles.base import Goal
from intensor.oracles.cascade import FreeBoundOracle, find_exact
from intensor.oracles.exact.enumeration import EnumerationOracle
from intensor.oracles.trivial import vertex_cost
from intensor.runtime.budget import Budget
from zoo import full_tensor

pytest.importorskip("numba_cuda")
module = pytest.importorskip("intensor.oracles.exact.device_enumeration")


full = functools.partial(full_tensor, integers=True)


slow = pytest.mark.slow


class PieceByPiece(module.DeviceEnumerationOracle):
    """Searches two patterns of the list at a time."""

    def carry_out(self, search):
        module.filter_and_search(search, piece=2)


@pytest.mark.parametrize(
    "shape",
    [
        (2, 2, 2),
        pytest.param((3, 4, 5), marks=slow),
        pytest.param((3, 2, 3, 2), marks=slow),
        pytest.param((2, 2, 2, 1, 2), marks=slow),
    ],
)
def test_the_answer_of_the_host(shape):
    cells, costs = full(shape)
    there = PieceByPiece(cells).minimise(costs)
    here = EnumerationOracle(cells).minimise(costs)
    assert (there.value, there.bound) == (here.value, here.bound)
    assert vertex_cost(there.flags, costs, cells) == there.value
    assert there.source == "enumeration"


@slow
def test_a_pool_of_the_best_boxes():
    cells, costs = full((3, 5, 4), seed=2)
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
    cells, costs = full((2, 3, 2))
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


def test_the_cascade_takes_the_faster_one():
    small, large = (observe([[0] * 3], [1.0], shape=(n, n, n)) for n in (3, 20))
    for cells, device, kind in (
        (small, "cuda", EnumerationOracle),
        (large, "cpu", EnumerationOracle),
        (large, "cuda", module.DeviceEnumerationOracle),
    ):
        found = find_exact("enumeration").oracle(cells, device=find_device(device), threads=1)
        assert type(found) is kind


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
