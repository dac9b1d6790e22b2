"""The integer-programming oracle against enumeration, on every solver that is installed."""

import importlib.util
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.sparse import csr_array

from intensor.data.observations import observe
from intensor.errors import SettingError, SolverFailedError, SolverUnavailableError
from intensor.oracles.base import Goal
from intensor.oracles.mip import mip_solver
from intensor.oracles.mip.base import MipReply
from intensor.oracles.mip.formulation import formulate
from intensor.oracles.mip.oracle import MipOracle, error_margin
from intensor.oracles.mip.watch import Watch
from intensor.oracles.trivial import sum_of_negative, vertex_cost
from intensor.problem.vertex import membership
from intensor.runtime.budget import Budget, listen_for_interrupt
from zoo import all_vertices

MODULES = {"highs": "highspy", "scip": "pyscipopt", "gurobi": "gurobipy"}
SHAPES = [(3, 4), (3, 3, 3), (2, 3, 2, 2), (1, 4), (5,)]


@pytest.fixture(params=MODULES)
def solver(request):
    if importlib.util.find_spec(MODULES[request.param]) is None:
        pytest.skip(f"{MODULES[request.param]} is not installed")
    return mip_solver(request.param)


def random_cells(rng, shape, count):
    """Observe ``count`` distinct cells of a tensor."""
    cells = rng.choice(np.prod(shape), count, replace=False)
    return observe(np.stack(np.unravel_index(cells, shape), axis=1), np.ones(count), shape=shape)


def mixed_costs(rng, count):
    """Draw costs of which a third is negative, a third 0 and a third positive."""
    return rng.permutation(np.arange(count) % 3 - 1.0) * rng.uniform(0.1, 1.0, size=count)


def least_cost(costs, observations):
    vertices = all_vertices(observations.shape)
    return min(vertex_cost(flags, costs, observations) for flags in vertices)


def good_vertex(rng, costs, observations):
    """Return the best of many descents that go round the modes: an upper bound on the minimum."""
    best = np.zeros(sum(observations.shape), dtype=np.uint8)
    ends = np.cumsum((0, *observations.shape))
    for _ in range(30):
        flags = rng.integers(0, 2, size=best.size).astype(np.uint8)
        for _ in range(10):
            for mode, indices in enumerate(observations.coords):
                flags[ends[mode] : ends[mode + 1]] = 1
                inside = membership(flags, observations.coords, observations.shape).view(bool)
                gains = np.bincount(
                    indices[inside], costs[inside], minlength=observations.shape[mode]
                )
                flags[ends[mode] : ends[mode + 1]] = gains < 0.0
        if vertex_cost(flags, costs, observations) < vertex_cost(best, costs, observations):
            best = flags.copy()
    return best


def hard_problem():
    """Return cells and costs that keep every solver busy for many seconds."""
    rng = np.random.default_rng(11)
    observations = random_cells(rng, (16, 16, 16), 500)
    return observations, rng.normal(size=500)


def assert_consistent(answer, costs, observations):
    """Check what must hold of every answer, optimal or not."""
    assert answer.value == vertex_cost(answer.flags, costs, observations)
    assert sum_of_negative(costs) <= answer.bound <= answer.value <= 0.0


def assert_optimal(answer, costs, observations, solver):
    least = least_cost(costs, observations)
    scale = np.abs(costs).max()
    margin = error_margin(formulate(observations, costs / scale), solver.tolerance) * scale
    assert_consistent(answer, costs, observations)
    assert answer.bound <= least <= answer.value
    assert answer.value - least <= margin
    assert least - answer.bound <= 2.0 * margin


# --- the formulation


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 2, 2), (2, 1, 2, 2)])
def test_every_cell_is_held_on_the_side_its_cost_pulls_to(shape):
    rng = np.random.default_rng(0)
    observations = random_cells(rng, shape, max(3, np.prod(shape) - 1))
    costs = mixed_costs(rng, observations.n_cells)
    rows = formulate(observations, costs)
    matrix = csr_array(
        (rows.coefficients, rows.columns, rows.starts), shape=(rows.n_rows, rows.n_columns)
    )
    for flags in all_vertices(shape):
        point = rows.complete(flags)
        inside = membership(flags, observations.coords, observations.shape)
        assert point[rows.n_flags :].tolist() == inside.tolist()
        assert np.all(matrix @ point <= rows.rhs)
        for cell, (cost, product) in enumerate(zip(costs, inside, strict=True)):
            for value in (0.0, 0.25, 1.0):
                other = point.copy()
                other[rows.n_flags + cell] = value
                feasible = bool(np.all(matrix @ other <= rows.rhs))
                assert feasible == (cost * value >= cost * product)


@pytest.mark.parametrize("shape", [(3, 4), (3, 3, 3), (2, 3, 2, 2)])
def test_cells_have_only_the_rows_that_can_bind(shape):
    rng = np.random.default_rng(1)
    p, count = len(shape), 12
    costs = mixed_costs(rng, count)
    rows = formulate(random_cells(rng, shape, count), costs)
    uses = np.bincount(rows.columns, minlength=rows.n_columns)[rows.n_flags :]
    assert uses.tolist() == np.choose(np.sign(costs).astype(int) + 1, (p, 0, 1)).tolist()
    assert rows.n_rows == 4 * p + 4
    assert np.diff(rows.starts).tolist().count(2) == 4 * p
    assert rows.starts[-1] == rows.columns.size == rows.coefficients.size == 4 * (2 * p + p + 1)
    margin = error_margin(rows, 1e-9)
    assert margin == pytest.approx(2e-9 * (sum(shape) + 12 + 4 * (3 * p + 1)))


# --- optimal answers


@pytest.mark.parametrize("shape", SHAPES)
def test_agrees_with_enumeration(solver, shape):
    rng = np.random.default_rng(len(shape))
    for share in (0.7, 1.0):
        observations = random_cells(rng, shape, max(2, int(share * np.prod(shape))))
        oracle = MipOracle(observations, solver)
        for scale in (1.0, 1e-9, 1e6):
            costs = scale * rng.normal(size=observations.n_cells)
            assert_optimal(oracle.minimise(costs), costs, observations, solver)


def test_agrees_with_enumeration_on_uneven_and_tied_costs(solver):
    rng = np.random.default_rng(7)
    observations = random_cells(rng, (3, 3, 3), 24)
    oracle = MipOracle(observations, solver)
    for _ in range(4):
        uneven = rng.normal(size=24) * 10.0 ** rng.uniform(-9, 3, size=24)
        assert_optimal(oracle.minimise(uneven), uneven, observations, solver)
        tied = rng.integers(-2, 3, size=24).astype(np.float64)
        assert_optimal(oracle.minimise(tied), tied, observations, solver)


@pytest.mark.parametrize("shape", [(4, 4), (3, 3, 3), (2, 3, 2, 2)])
def test_agrees_with_enumeration_while_signs_flip(solver, shape):
    rng = np.random.default_rng(16)
    observations = random_cells(rng, shape, 15)
    oracle = MipOracle(observations, solver)
    costs = mixed_costs(rng, 15)
    shuffled = rng.permutation(costs)
    for call in (costs, -costs, shuffled, -shuffled, costs):
        assert_optimal(oracle.minimise(call), call, observations, solver)


def test_incumbents_good_and_bad_do_not_change_the_answer(solver):
    rng = np.random.default_rng(8)
    observations = random_cells(rng, (3, 3, 3), 24)
    oracle = MipOracle(observations, solver)
    for costs in rng.normal(size=(3, 24)):
        best = oracle.minimise(costs)
        for incumbent in (best.flags, *rng.integers(0, 2, size=(2, 9)).astype(np.uint8)):
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
    observations = random_cells(rng, (5, 5, 5), 60)
    first_costs, costs = rng.normal(size=(2, 60))
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


# --- early ends


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


def test_an_easy_goal_saves_a_hard_search(solver):
    observations, costs = hard_problem()
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
    for seconds in (0.02, 1.0):
        answer = oracle.minimise(costs, budget=Budget(seconds))
        assert_consistent(answer, costs, observations)
        assert answer.bound <= vertex_cost(known, costs, observations)
        assert answer.bound < answer.value, "it should not have got to its end"
    assert answer.bound > 0.9 * sum_of_negative(costs), "a second should prove something"
    warm = oracle.minimise(costs, incumbent=known, budget=Budget(0.2))
    assert warm.value <= vertex_cost(known, costs, observations)


def test_a_spent_budget_or_a_good_incumbent_needs_no_solver():
    observations, costs = hard_problem()
    known = good_vertex(np.random.default_rng(0), costs, observations)
    oracle = MipOracle(observations, Untouchable())
    budget = Budget()
    budget.interrupted = True
    assert not oracle.minimise(costs, budget=budget).flags.any()
    answer = oracle.minimise(costs, budget=budget, incumbent=known)
    assert np.array_equal(answer.flags, known)
    assert_consistent(answer, costs, observations)
    answer = oracle.minimise(costs, goal=Goal(product=0.0, phi=1.0), incumbent=known)
    assert np.array_equal(answer.flags, known)
    with pytest.raises(SolverFailedError):
        oracle.minimise(costs, incumbent=known)


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
    for seed in range(12):
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


# --- Ctrl-C


def interrupt_after(seconds):
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


def test_ctrl_c_ends_the_search_in_good_order(solver):
    observations, costs = hard_problem()
    oracle = MipOracle(observations, solver)
    budget = Budget(120.0)
    with listen_for_interrupt(budget):
        timer = interrupt_after(0.5)
        answer = oracle.minimise(costs, budget=budget)
        assert budget.interrupted
        timer.join()
    assert budget.remaining > 0.0
    assert_consistent(answer, costs, observations)


def test_ctrl_c_without_a_listener_is_a_keyboard_interrupt(solver):
    observations, costs = hard_problem()
    oracle = MipOracle(observations, solver)
    handler = signal.getsignal(signal.SIGINT)
    timer = interrupt_after(0.3)
    with pytest.raises(KeyboardInterrupt):
        oracle.minimise(costs, budget=Budget(20.0))
    timer.join()
    assert signal.getsignal(signal.SIGINT) is handler
    assert_consistent(oracle.minimise(costs, budget=Budget(0.1)), costs, observations)


def test_scip_says_what_broke_it_down(monkeypatch):
    pyscipopt = pytest.importorskip("pyscipopt")

    class Broken(pyscipopt.Model):
        def optimizeNogil(self):  # noqa: N802
            raise ZeroDivisionError("what happened")

        def freeProb(self, *arguments):  # noqa: N802
            raise RuntimeError("not at this stage")

    solver = mip_solver("scip")
    monkeypatch.setattr(pyscipopt, "Model", Broken)
    observations, costs = small_problem()
    with pytest.raises(SolverFailedError, match="what happened"):
        MipOracle(observations, solver).minimise(costs)


def test_ctrl_c_that_gurobi_keeps_to_itself_counts():
    pytest.importorskip("gurobipy")
    observations, costs = hard_problem()
    oracle = MipOracle(observations, mip_solver("gurobi"))
    budget = Budget(20.0)
    worker = threading.Thread(target=oracle.minimise, args=(costs,), kwargs={"budget": budget})
    with listen_for_interrupt(Budget()):
        worker.start()
        timer = interrupt_after(0.3)
        worker.join(5.0)
        timer.join()
    assert not worker.is_alive()
    assert budget.interrupted


# --- what goes wrong


class Untouchable:
    """A solver that must not be needed."""

    name = "untouchable"
    tolerance = 0.0

    def minimise(self, formulation, *, watch, incumbent):
        raise AssertionError("the solver was asked")


class Scripted:
    """A solver that returns or raises what it is told."""

    name = "scripted"
    tolerance = 1e-6

    def __init__(self, *replies):
        self.replies = list(replies)
        self.costs = []

    def minimise(self, formulation, *, watch, incumbent):
        self.costs.append(formulation.costs)
        reply = self.replies.pop(0)
        if isinstance(reply, BaseException):
            raise reply
        return reply


@pytest.fixture(scope="module")
def million():
    cells = np.stack(np.unravel_index(np.arange(10**6), (100, 100, 100)), axis=1)
    return observe(cells, np.ones(10**6))


@pytest.mark.parametrize(("sign", "flag"), [(1.0, 0), (-1.0, 1)])
def test_costs_of_one_sign_never_load_a_model(million, sign, flag):
    costs = sign * np.random.default_rng(0).random(10**6)
    answer = MipOracle(million, Untouchable()).minimise(costs)
    assert np.all(answer.flags == flag)
    assert answer.bound <= answer.value == vertex_cost(answer.flags, costs, million)


def small_problem():
    observations = observe([[0, 0], [0, 1], [1, 1]], [1.0] * 3)
    return observations, np.array([-4.0, 1.0, 2.0])


def test_the_vertex_is_evaluated_and_the_bound_lowered():
    observations, costs = small_problem()
    theta = np.array([1.0 - 1e-7, 1e-7, 0.9, 0.4])
    fake = Scripted(MipReply(theta=theta, bound=-1.0))
    answer = MipOracle(observations, fake).minimise(costs)
    assert fake.costs[0].tolist() == [-1.0, 0.25, 0.5]
    assert answer.flags.tolist() == [1, 0, 1, 0]
    assert answer.value == -4.0
    assert answer.bound == max(
        4.0 * (-1.0 - error_margin(formulate(observations, costs), 1e-6)), sum_of_negative(costs)
    )


@pytest.mark.parametrize("bound", [-0.5, np.inf, np.nan])
def test_a_bound_above_a_vertex_is_not_believed(bound, caplog):
    observations, costs = small_problem()
    fake = Scripted(MipReply(theta=np.array([1.0, 0.0, 1.0, 0.0]), bound=bound))
    answer = MipOracle(observations, fake).minimise(costs)
    assert answer.bound == sum_of_negative(costs)
    assert "above a vertex" in caplog.text


def test_no_solution_leaves_the_incumbent():
    observations, costs = small_problem()
    incumbent = np.array([1, 0, 1, 1], dtype=np.uint8)
    nothing = MipReply(theta=None, bound=-np.inf)
    oracle = MipOracle(observations, Scripted(nothing, nothing))
    assert oracle.minimise(costs, incumbent=incumbent).flags.tolist() == incumbent.tolist()
    answer = oracle.minimise(costs)
    assert (answer.flags.any(), answer.value) == (False, 0.0)
    assert answer.bound == sum_of_negative(costs)


def test_a_breakdown_is_our_error_and_ends_one_call_only():
    observations, costs = small_problem()
    fine = MipReply(theta=np.array([1.0, 0.0, 1.0, 0.0]), bound=-1.0)
    oracle = MipOracle(observations, Scripted(ZeroDivisionError("oops"), fine))
    with pytest.raises(SolverFailedError, match=r"scripted.*oops") as caught:
        oracle.minimise(costs)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert oracle.minimise(costs).value == -4.0


def test_our_own_errors_and_interrupts_pass_through():
    observations, costs = small_problem()
    unlicensed = SolverUnavailableError("no licence")
    oracle = MipOracle(observations, Scripted(unlicensed, KeyboardInterrupt()))
    with pytest.raises(SolverUnavailableError, match="no licence"):
        oracle.minimise(costs)
    with pytest.raises(KeyboardInterrupt):
        oracle.minimise(costs)


class BrokenGoal(Goal):
    """A goal that fails once the solver asks."""

    def reached(self, value, bound):
        if value == 0.0:
            return False
        raise ZeroDivisionError("broken goal")


def test_an_error_in_the_callback_comes_out(solver):
    observations, costs = hard_problem()
    budget = Budget(120.0)
    with pytest.raises(SolverFailedError) as caught:
        MipOracle(observations, solver).minimise(costs, goal=BrokenGoal(product=0.0), budget=budget)
    assert not budget.spent
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_the_watch_asks_the_goal_in_its_own_units():
    goal = Goal(product=0.0, phi=30.0)
    watch = Watch(goal, Budget(), scale=10.0, margin=0.5, value=-1.0, bound=-100.0)
    assert not watch.says_stop()
    assert not watch.says_stop(lambda: (np.inf, -np.inf))
    assert not watch.says_stop(lambda: (-3.4, -7.5)), "3.4 less the margin is below 3"
    assert watch.says_stop(lambda: (-3.6, -7.5))
    assert goal.phi == 30.0, "half of 7.5 plus the margin is above 3"
    assert not watch.says_stop(lambda: (-2.0, -4.5))
    assert goal.phi == 25.0
    assert not watch.says_stop(lambda: (-2.0, np.inf)), "no bound can be above a vertex's cost"
    assert goal.phi == 25.0


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


def test_a_licence_that_is_too_small_is_told_from_a_breakdown():
    pytest.importorskip("gurobipy")
    rng = np.random.default_rng(14)
    observations = random_cells(rng, (12, 12, 12), 1503)
    costs = mixed_costs(rng, 1503)
    oracle = MipOracle(observations, mip_solver("gurobi"))
    try:
        oracle.minimise(costs, budget=Budget(0.2))
    except SolverUnavailableError as error:
        message = str(error)
    else:
        pytest.skip("this licence has no size limit")
    assert "2004 rows" in message


def test_a_small_licence_holds_as_many_cells_as_have_rows_that_bind():
    pytest.importorskip("gurobipy")
    rng = np.random.default_rng(17)
    observations = random_cells(rng, (12, 12, 12), 900)  # with all rows of all cells, 3600
    costs = mixed_costs(rng, 900)
    answer = MipOracle(observations, mip_solver("gurobi")).minimise(costs, budget=Budget(0.2))
    assert_consistent(answer, costs, observations)


def test_gurobi_takes_out_another_licence_after_a_breakdown():
    pytest.importorskip("gurobipy")
    observations, costs = small_problem()
    solver = mip_solver("gurobi")
    oracle = MipOracle(observations, solver)
    assert oracle.minimise(costs).value == -4.0
    solver._environment.dispose()
    with pytest.raises(SolverFailedError):
        oracle.minimise(costs)
    assert oracle.minimise(costs).value == -4.0


def test_highs_elsewhere_keeps_its_threads():
    highspy = pytest.importorskip("highspy")
    rng = np.random.default_rng(15)
    observations = random_cells(rng, (3, 3, 3), 24)

    def solve_with_two_threads():
        other = highspy.Highs()
        other.setOptionValue("output_flag", False)
        other.setOptionValue("threads", 2)
        other.addVar(0.0, 1.0)
        return other.run()

    assert solve_with_two_threads() == highspy.HighsStatus.kOk
    MipOracle(observations, mip_solver("highs")).minimise(rng.normal(size=24))
    assert solve_with_two_threads() == highspy.HighsStatus.kOk
