"""The integer-programming oracle with solvers that are told what to say."""

import numpy as np
import pytest

from intensor.data.observations import observe
from intensor.errors import SolverFailedError, SolverUnavailableError
from intensor.oracles.base import Goal
from intensor.oracles.mip.base import MipReply
from intensor.oracles.mip.formulation import formulate
from intensor.oracles.mip.oracle import MipOracle, error_margin
from intensor.oracles.trivial import sum_of_negative, vertex_cost
from intensor.runtime.budget import Budget
from mip_cases import assert_consistent, good_vertex, hard_problem, small_problem


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


@pytest.mark.parametrize(("sign", "flag"), [(1.0, 0), (-1.0, 1)])
def test_costs_of_one_sign_never_load_a_model(sign, flag):
    cells = np.stack(np.unravel_index(np.arange(10**5), (100, 100, 10)), axis=1)
    many = observe(cells, np.ones(10**5))
    costs = sign * np.random.default_rng(0).random(10**5)
    answer = MipOracle(many, Untouchable()).minimise(costs)
    assert np.all(answer.flags == flag)
    assert answer.bound <= answer.value == vertex_cost(answer.flags, costs, many)


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
