"""Which oracle answers under which name, and how long it may take."""

import math
import pickle
import time

import numpy as np
import pytest
from numba.core.event import trigger_event

from intensor.data.observations import observe
from intensor.errors import SettingError
from intensor.oracles.alternating import best_of_many
from intensor.oracles.base import Goal
from intensor.oracles.cascade import (
    EXACT_CHOICES,
    MAX_CELLS_TO_FETCH,
    FreeBoundOracle,
    TimeLimitedOracle,
    find_exact,
)
from intensor.oracles.exact.branch_bound import BranchOracle
from intensor.oracles.exact.enumeration import EnumerationOracle
from intensor.oracles.mip.oracle import MipOracle
from intensor.oracles.trivial import sum_of_negative, vertex_cost
from intensor.runtime.budget import Budget

MODULES = {"highs": "highspy", "scip": "pyscipopt", "gurobi": "gurobipy"}


def some_cells(shape, n=60, seed=0):
    rng = np.random.default_rng(seed)
    coords = np.stack([rng.integers(0, length, n) for length in shape], axis=1)
    return observe(coords, np.ones(n), shape=shape)


def behind(oracle):
    """Return what a time limit is wrapped around."""
    return oracle._oracle if isinstance(oracle, TimeLimitedOracle) else oracle


# --- names


@pytest.mark.parametrize(
    ("choice", "kind"),
    [("enumeration", EnumerationOracle), ("branch", BranchOracle), ("off", FreeBoundOracle)],
)
def test_own_oracles_go_by_their_names(choice, kind):
    assert isinstance(find_exact(choice).oracle(some_cells((5, 5, 5))), kind)


@pytest.mark.parametrize("choice", MODULES)
def test_solvers_go_by_their_names(choice):
    pytest.importorskip(MODULES[choice])
    cells = some_cells((5, 5, 5))
    oracle = find_exact(choice).oracle(cells)
    assert isinstance(oracle, MipOracle)
    costs = np.random.default_rng(1).normal(size=cells.n_cells)
    assert oracle.minimise(costs, budget=Budget(0.0)).source == choice


def test_choices_travel_to_workers():
    for choice in EXACT_CHOICES.values():
        assert pickle.loads(pickle.dumps(choice)).name == choice.name
    again = pickle.loads(pickle.dumps(find_exact("branch")))
    assert isinstance(again.oracle(some_cells((4, 4))), BranchOracle)


def test_an_unknown_name_is_refused_with_those_there_are():
    with pytest.raises(SettingError) as error:
        find_exact("magic").oracle(some_cells((3, 3)))
    assert "magic" in str(error.value)
    assert all(choice in str(error.value) for choice in EXACT_CHOICES)


@pytest.mark.parametrize("choice", ["enumeration", "branch"])
def test_what_cannot_be_searched_is_refused_before_the_solve(choice):
    with pytest.raises(SettingError, match=rf"{choice}.*\(100, 100, 100\).*auto"):
        find_exact(choice).oracle(some_cells((100, 100, 100)))


# --- auto


@pytest.mark.parametrize("patient", [True, False])
@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        ((10, 10, 10), EnumerationOracle),
        ((4, 4, 4, 4), EnumerationOracle),
        ((30, 30, 3), BranchOracle),
        ((45, 45), BranchOracle),
    ],
)
def test_auto_takes_the_faster_of_its_own(shape, kind, patient):
    oracle = find_exact("auto").oracle(some_cells(shape), patient=patient, threads=1)
    assert isinstance(oracle, TimeLimitedOracle)
    assert isinstance(behind(oracle), kind)


@pytest.mark.parametrize(("patient", "kind"), [(True, MipOracle), (False, FreeBoundOracle)])
@pytest.mark.parametrize("shape", [(200, 200, 200), (300, 300)])
def test_auto_has_something_for_large_tensors_too(shape, patient, kind):
    assert isinstance(find_exact("auto").oracle(some_cells(shape), patient=patient), kind)


class FarCells:
    """Cells that are not in memory, and very many or few of them."""

    def __init__(self, n_cells):
        self.shape, self.n_cells, self.fetched = (5, 5, 5), n_cells, 0

    def host(self):
        self.fetched += 1
        return some_cells(self.shape)


def test_auto_fetches_few_cells_once_and_many_never():
    few, many = FarCells(MAX_CELLS_TO_FETCH), FarCells(MAX_CELLS_TO_FETCH + 1)
    assert isinstance(find_exact("auto").oracle(few), TimeLimitedOracle)
    assert isinstance(find_exact("auto").oracle(many), FreeBoundOracle)
    assert isinstance(find_exact("off").oracle(few), FreeBoundOracle)
    assert (few.fetched, many.fetched) == (1, 0)


def test_auto_looks_at_the_time_limit_of_the_solve():
    cells = some_cells((20, 20, 20))
    seconds = EnumerationOracle(cells, threads=1).expected_seconds()
    assert 0.1 < seconds < 60.0
    for limit, kind in (
        (0.01, FreeBoundOracle),
        (1000.0, EnumerationOracle),
        (None, EnumerationOracle),
    ):
        oracle = find_exact("auto").oracle(cells, patient=False, threads=1, time_limit=limit)
        assert isinstance(behind(oracle), kind)


def test_threads_reach_the_oracle():
    cells = some_cells((20, 20, 20))
    one, two = (find_exact("enumeration").oracle(cells, threads=n) for n in (1, 2))
    assert one.expected_seconds() == 2.0 * two.expected_seconds()


@pytest.mark.parametrize("kind", [EnumerationOracle, BranchOracle])
def test_the_expected_time_does_not_depend_on_the_order_of_modes(kind):
    times = {kind(some_cells(shape)).expected_seconds() for shape in [(9, 20, 4), (4, 9, 20)]}
    assert len(times) == 1
    assert kind(some_cells((7,))).expected_seconds() < 0.1
    assert kind(some_cells((200, 200, 200))).expected_seconds() == math.inf


def test_auto_has_the_minimum_of_a_small_problem():
    cells = some_cells((5, 5, 5))
    costs = np.random.default_rng(2).normal(size=cells.n_cells)
    answer = find_exact("auto").oracle(cells).minimise(costs)
    plain = EnumerationOracle(cells).minimise(costs)
    assert (answer.value, answer.bound) == (plain.value, plain.bound)


# --- limits


class Recorder:
    """An oracle that remembers what it was asked."""

    def minimise(self, costs, *, goal=None, incumbent=None, budget=None):
        self.asked = (costs, goal, incumbent)
        self.budget = budget
        return "answer"


def test_a_limit_passes_everything_on_with_a_shorter_budget():
    recorder = Recorder()
    costs, goal, incumbent = np.ones(3), Goal(product=1.0), np.zeros(2, dtype=np.uint8)
    limited = TimeLimitedOracle(recorder, 5.0)
    assert limited.minimise(costs, goal=goal, incumbent=incumbent) == "answer"
    assert all(
        one is two for one, two in zip(recorder.asked, (costs, goal, incumbent), strict=True)
    )
    assert 4.0 < recorder.budget.remaining <= 5.0


def test_a_limit_starts_anew_with_every_call_and_never_outlasts_the_solve():
    recorder = Recorder()
    outer = Budget(2.0)
    TimeLimitedOracle(recorder, 5.0).minimise(np.ones(3), budget=outer)
    assert 1.0 < recorder.budget.remaining <= 2.0
    assert not recorder.budget.spent
    outer.interrupted = True
    assert recorder.budget.spent
    assert recorder.budget.interrupted
    TimeLimitedOracle(recorder, 0.0).minimise(np.ones(3), budget=Budget())
    assert recorder.budget.spent
    TimeLimitedOracle(recorder, 5.0).minimise(np.ones(3), budget=Budget())
    assert 4.0 < recorder.budget.remaining <= 5.0


def test_what_stops_a_limited_call_does_not_stop_the_solve():
    recorder, outer = Recorder(), Budget(10.0)
    TimeLimitedOracle(recorder, 0.0).minimise(np.ones(3), budget=outer)
    recorder.budget.interrupted = True
    assert not outer.spent
    assert not outer.interrupted


# --- no search


def test_no_search_has_the_free_bound_and_the_zero_vertex():
    cells = some_cells((5, 5, 5))
    costs = np.random.default_rng(3).normal(size=cells.n_cells)
    answer = FreeBoundOracle(cells).minimise(costs)
    assert not np.any(answer.flags)
    assert (answer.value, answer.bound) == (0.0, sum_of_negative(costs))
    assert answer.pool is None
    assert FreeBoundOracle(cells).minimise(-np.abs(costs)).flags.all()


# --- the first vertex to beat


@pytest.mark.parametrize("shape", [(6,), (4, 5), (3, 4, 3), (2, 3, 2, 3), (30, 20, 10)])
def test_the_first_vertex_is_at_least_as_good_as_what_was_known(shape):
    cells = some_cells(shape, n=200)
    rng = np.random.default_rng(4)
    for _ in range(5):
        costs = rng.normal(size=cells.n_cells) + 0.5
        least = EnumerationOracle(cells).minimise(costs) if sum(shape) < 20 else None
        incumbents = [None, np.ones(sum(shape), dtype=np.uint8)]
        incumbents += [] if least is None else [least.flags]
        for incumbent in incumbents:
            before = None if incumbent is None else incumbent.copy()
            flags, value = best_of_many(cells, costs, incumbent)
            assert value == vertex_cost(flags, costs, cells) <= 0.0
            if incumbent is not None:
                assert value <= vertex_cost(incumbent, costs, cells)
                assert not np.shares_memory(flags, incumbent)
                assert incumbent.tolist() == before.tolist()
            again, same = best_of_many(cells, costs, incumbent)
            assert (again.tolist(), same) == (flags.tolist(), value)


def test_the_first_vertex_is_good():
    cells = some_cells((8, 8, 8), n=400)
    hits = 0
    for seed in range(10):
        costs = np.random.default_rng(seed).normal(size=cells.n_cells)
        hits += best_of_many(cells, costs)[1] == EnumerationOracle(cells).minimise(costs).value
    assert hits >= 5


def test_the_empty_vertex_is_good_enough_when_nothing_pays():
    cells = some_cells((4, 4, 4))
    costs = np.full(cells.n_cells, 1.0)
    costs[0] = -1e-9
    flags, value = best_of_many(cells, np.abs(costs), np.ones(12, dtype=np.uint8))
    assert not np.any(flags)
    assert value == 0.0


# --- time that goes into compiling


class Compiling:
    """An oracle whose kernels take longer to compile than its call may take."""

    def minimise(self, costs, *, goal=None, incumbent=None, budget=None):
        with trigger_event("numba:compile"):
            time.sleep(0.1)
            assert not budget.spent
        return budget.remaining


def test_a_call_has_all_its_time_when_its_kernels_have_to_be_compiled():
    assert 0.0 < TimeLimitedOracle(Compiling(), 0.09).minimise(np.ones(3)) < 0.09
    assert (
        0.0 < TimeLimitedOracle(Compiling(), 100.0).minimise(np.ones(3), budget=Budget(0.09)) < 0.09
    )


class Slow:
    """An oracle that takes all its time."""

    def minimise(self, costs, *, goal=None, incumbent=None, budget=None):
        while not budget.spent:
            time.sleep(0.005)
        return "answer"


def test_a_call_that_only_works_is_cut_off():
    assert TimeLimitedOracle(Slow(), 0.05).minimise(np.ones(3)) == "answer"
    assert TimeLimitedOracle(Slow(), 100.0).minimise(np.ones(3), budget=Budget(0.05)) == "answer"
