"""Every solver that is installed, against enumeration, early ends and bad luck."""

import importlib.util
import signal
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from intensor.errors import SettingError, SolverFailedError, SolverUnavailableError
from intensor.oracles.base import Goal
from intensor.oracles.mip import mip_solver
from intensor.oracles.mip.formulation import formulate
from intensor.oracles.mip.oracle import MipOracle, error_margin
from intensor.oracles.mip.watch import Watch
from intensor.oracles.trivial import sum_of_negative, vertex_cost
from intensor.runtime.budget import Budget, listen_for_interrupt
from mip_cases import (
    MODULES,
    assert_consistent,
    assert_optimal,
    good_vertex,
    hard_problem,
    interrupt_after,
    least_cost,
    medium_problem,
    mixed_costs,
)
from zoo import random_cells

SHAPES = [(3, 4), (3, 3, 2), (2, 3, 2, 2), (1, 4), (5,)]


@pytest.fixture(params=MODULES)
def solver(request):
    if importlib.util.find_spec(MODULES[request.param]) is None:
        pytest.skip(f"{MODULES[request.param]} is not installed")
    return mip_solver(request.param)


@pytest.mark.parametrize("shape", SHAPES)
def test_agrees_with_enumeration(solver, shape):
    rng = np.random.default_rng(len(shape))
    for share, scale in ((0.7, 1e6), (1.0, 1e-9)):
        observations = random_cells(rng, shape, max(2, int(share * np.prod(shape))))
        costs = scale * rng.normal(size=observations.n_cells)
        answer = MipOracle(observations, solver).minimise(costs)
        assert_optimal(answer, costs, observations, solver)


def test_agrees_with_enumeration_on_uneven_and_tied_costs(solver):
    rng = np.random.default_rng(7)
    observations = random_cells(rng, (3, 3, 2), 16)
    oracle = MipOracle(observations, solver)
    uneven = rng.normal(size=16) * 10.0 ** rng.uniform(-9, 3, size=16)
    assert_optimal(oracle.minimise(uneven), uneven, observations, solver)
    tied = rng.integers(-2, 3, size=16).astype(np.float64)
    assert_optimal(oracle.minimise(tied), tied, observations, solver)


def test_agrees_with_enumeration_while_signs_flip(solver):
    rng = np.random.default_rng(16)
    observations = random_cells(rng, (3, 3, 2), 15)
    oracle = MipOracle(observations, solver)
    costs = mixed_costs(rng, 15)
    shuffled = rng.permutation(costs)
    for call in (costs, -costs, shuffled, -shuffled, costs):
        assert_optimal(oracle.minimise(call), call, observations, solver)


def test_incumbents_good_and_bad_do_not_change_the_answer(solver):
    rng = np.random.default_rng(8)
    observations = random_cells(rng, (3, 3, 2), 16)
    oracle = MipOracle(observations, solver)
    costs = rng.normal(size=16)
    best = oracle.minimise(costs)
    for incumbent in (best.flags, *rng.integers(0, 2, size=(2, 8)).astype(np.uint8)):
        before = incumbent.copy()
        answer = oracle.minimise(costs, incumbent=incumbent)
        assert_optimal(answer, costs, observations, solver)
        assert np.array_equal(incumbent, before)


class FirstLook(Watch):
    """Stops a solver at the first number it shows, and keeps that number."""

    def __init__(self):
        super().__init__(None, Budget(5.0), scale=1.0, margin=0.0, value=0.0, bound=-np.inf)
        self.seen = []

    def says_stop(self, look=None):
        if look is not None:
            self.seen.append(look()[0])
        return bool(self.seen)


def test_a_solver_has_the_incumbent_and_its_true_cost_from_the_first(solver):
    observations, costs = hard_problem()
    costs[::7] = 0.0
    costs /= np.abs(costs).max()
    rows = formulate(observations, costs)
    known = good_vertex(np.random.default_rng(0), costs, observations)
    cost = vertex_cost(known, costs, observations)
    warm, cold = FirstLook(), FirstLook()
    reply = solver.minimise(rows, watch=warm, incumbent=known)
    solver.minimise(rows, watch=cold, incumbent=None)
    assert warm.seen[0] == pytest.approx(cost, abs=error_margin(rows, solver.tolerance))
    assert cold.seen[0] > 0.5 * cost
    assert np.array_equal(reply.theta > 0.5, known.view(bool))


@pytest.mark.slow
def test_the_incumbent_reaches_the_solver_for_one_call(solver):
    observations, costs = hard_problem()
    known = good_vertex(np.random.default_rng(0), costs, observations)
    rows = formulate(observations, costs / np.abs(costs).max())

    def cost_found(seconds, incumbent):
        watch = Watch(None, Budget(seconds), scale=1.0, margin=0.0, value=0.0, bound=-np.inf)
        reply = solver.minimise(rows, watch=watch, incumbent=incumbent)
        if reply.theta is None:
            return 0.0
        return vertex_cost((reply.theta > 0.5).astype(np.uint8), costs, observations)

    known_cost = vertex_cost(known, costs, observations)
    assert cost_found(0.5, known) <= known_cost
    assert cost_found(0.1, None) > known_cost


def test_a_call_stopped_early_leaves_no_trace(solver):
    rng = np.random.default_rng(9)
    observations = random_cells(rng, (5, 5, 4), 45)
    first_costs, costs = rng.normal(size=(2, 45))
    oracle = MipOracle(observations, solver)
    first = oracle.minimise(first_costs, goal=Goal(product=0.0, phi=1e-6))
    assert first.value < -1e-6
    assert first.bound < first.value - 0.1, "the goal should have stopped the search"
    answer = oracle.minimise(costs)
    fresh = MipOracle(observations, mip_solver(solver.name)).minimise(costs)
    assert answer.value == fresh.value
    assert answer.bound == fresh.bound
    assert answer.value - answer.bound < 1e-3


def test_solvers_write_nothing(solver, capfd):
    rng = np.random.default_rng(10)
    observations = random_cells(rng, (4, 4, 4), 40)
    MipOracle(observations, solver).minimise(rng.normal(size=40))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_goal_ends_the_search_with_a_vertex_that_meets_it(solver, share):
    rng = np.random.default_rng(12)
    observations = random_cells(rng, (3, 3, 3), 24)
    oracle = MipOracle(observations, solver)
    for scale in (1.0, 1e-6):
        costs = scale * rng.normal(size=24)
        least = least_cost(costs, observations)
        goal = Goal(product=0.1 * scale, phi=-share * least)
        answer = oracle.minimise(costs, goal=goal)
        assert_consistent(answer, costs, observations)
        assert goal.product - answer.value > goal.phi
        assert answer.bound <= least


@pytest.mark.parametrize(
    "problem", [medium_problem, pytest.param(hard_problem, marks=pytest.mark.slow)]
)
def test_an_easy_goal_saves_a_hard_search(solver, problem):
    observations, costs = problem()
    oracle = MipOracle(observations, solver)
    goal = Goal(product=0.0, phi=0.5)
    budget = Budget(120.0)
    answer = oracle.minimise(costs, goal=goal, budget=budget)
    assert not budget.spent
    assert_consistent(answer, costs, observations)
    assert goal.product - answer.value > goal.phi


def test_a_goal_out_of_reach_asks_for_the_minimum(solver):
    rng = np.random.default_rng(13)
    observations = random_cells(rng, (3, 3, 3), 24)
    costs = rng.normal(size=24)
    goal = Goal(product=least_cost(costs, observations) - 1.0)
    answer = MipOracle(observations, solver).minimise(costs, goal=goal)
    assert_optimal(answer, costs, observations, solver)


def test_a_short_budget_ends_a_hard_search(solver):
    observations, costs = hard_problem()
    known = good_vertex(np.random.default_rng(0), costs, observations)
    oracle = MipOracle(observations, solver)
    for seconds in (0.02, 0.6):
        answer = oracle.minimise(costs, budget=Budget(seconds))
        assert_consistent(answer, costs, observations)
        assert answer.bound <= vertex_cost(known, costs, observations)
        assert answer.bound < answer.value, "it should not have got to its end"
    assert answer.bound > 0.9 * sum_of_negative(costs), "this much time should prove something"
    warm = oracle.minimise(costs, incumbent=known, budget=Budget(0.1))
    assert warm.value <= vertex_cost(known, costs, observations)


class Nth(Watch):
    """Stops a solver at a question of some number, wherever in its work that comes."""

    def __init__(self, number):
        super().__init__(None, Budget(60.0), scale=1.0, margin=0.0, value=0.0, bound=-np.inf)
        self.left = number

    def says_stop(self, look=None):
        if look is not None:
            assert look()[1] <= look()[0], "numbers can be read wherever it asks"
        self.left -= 1
        return self.left < 0


def test_a_solver_can_be_stopped_at_any_question(solver):
    # SCIP finds vertices between presolving and the search too, where it cannot be interrupted.
    for seed in range(3):
        rng = np.random.default_rng(seed)
        observations = random_cells(rng, (2, 5), 8)
        costs = rng.normal(size=8)
        costs /= np.abs(costs).max()
        rows = formulate(observations, costs)
        margin = error_margin(rows, solver.tolerance)
        incumbent = rng.integers(0, 2, size=7).astype(np.uint8)
        for number in range(7):
            reply = solver.minimise(rows, watch=Nth(number), incumbent=incumbent)
            assert reply.bound - margin <= least_cost(costs, observations)


@pytest.mark.parametrize("seconds", [0.0, 1e-9, 1e-4])
def test_a_solver_without_time_answers_what_it_has(solver, seconds):
    rng = np.random.default_rng(18)
    observations = random_cells(rng, (3, 3, 3), 24)
    costs = rng.normal(size=24)
    rows = formulate(observations, costs / np.abs(costs).max())
    for incumbent in (None, np.ones(9, dtype=np.uint8)):
        watch = Watch(None, Budget(seconds), scale=1.0, margin=0.0, value=0.0, bound=-np.inf)
        reply = solver.minimise(rows, watch=watch, incumbent=incumbent)
        assert reply.bound * np.abs(costs).max() <= least_cost(costs, observations) + 1e-6
        assert reply.theta is None or reply.theta.shape == (9,)


def test_solvers_work_on_several_threads_at_once(solver):
    rng = np.random.default_rng(19)
    observations = random_cells(rng, (4, 4, 3), 30)
    calls = rng.normal(size=(6, 30))
    alone = [MipOracle(observations, solver).minimise(costs).value for costs in calls]
    with ThreadPoolExecutor(3) as pool:
        together = pool.map(
            lambda costs: MipOracle(observations, mip_solver(solver.name)).minimise(costs).value,
            calls,
        )
        assert list(together) == alone


def test_ctrl_c_ends_the_search_in_good_order(solver):
    observations, costs = hard_problem()
    oracle = MipOracle(observations, solver)
    budget = Budget(120.0)
    with listen_for_interrupt(budget):
        timer = interrupt_after(0.2)
        answer = oracle.minimise(costs, budget=budget)
        assert budget.interrupted
        timer.join()
    assert budget.remaining > 0.0
    assert_consistent(answer, costs, observations)


def test_ctrl_c_without_a_listener_is_a_keyboard_interrupt(solver):
    observations, costs = hard_problem()
    oracle = MipOracle(observations, solver)
    handler = signal.getsignal(signal.SIGINT)
    timer = interrupt_after(0.2)
    with pytest.raises(KeyboardInterrupt):
        oracle.minimise(costs, budget=Budget(20.0))
    timer.join()
    assert signal.getsignal(signal.SIGINT) is handler
    assert_consistent(oracle.minimise(costs, budget=Budget(0.1)), costs, observations)


class BrokenGoal(Goal):
    """A goal that fails once the solver asks."""

    def reached(self, value, bound):
        if value == 0.0:
            return False
        raise ZeroDivisionError("broken goal")


def test_an_error_in_the_callback_comes_out(solver):
    observations, costs = medium_problem()
    budget = Budget(120.0)
    with pytest.raises(SolverFailedError) as caught:
        MipOracle(observations, solver).minimise(costs, goal=BrokenGoal(product=0.0), budget=budget)
    assert not budget.spent
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_an_unknown_solver_is_a_setting_error():
    with pytest.raises(SettingError, match=r"cplex.*highs.*scip.*gurobi"):
        mip_solver("cplex")


@pytest.mark.parametrize("name", MODULES)
def test_a_missing_package_says_what_to_install(name, monkeypatch):
    monkeypatch.setitem(sys.modules, MODULES[name], None)
    install = {"highs": "highspy"}.get(name, f'"intensor[{name}]"')
    with pytest.raises(SolverUnavailableError) as caught:
        mip_solver(name)
    assert f"pip install {install}" in str(caught.value)
