"""Gurobi: its licences and its way with Ctrl-C."""

import threading

import numpy as np
import pytest

from intensor.errors import SolverFailedError, SolverUnavailableError
from intensor.oracles.mip import mip_solver
from intensor.oracles.mip.oracle import MipOracle
from intensor.runtime.budget import Budget, listen_for_interrupt
from mip_cases import (
    assert_consistent,
    hard_problem,
    interrupt_after,
    mixed_costs,
    small_problem,
)
from zoo import random_cells

pytest.importorskip("gurobipy")


def test_ctrl_c_that_gurobi_keeps_to_itself_counts():
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


def test_a_licence_that_is_too_small_is_told_from_a_breakdown():
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
    rng = np.random.default_rng(17)
    observations = random_cells(rng, (12, 12, 12), 900)  # with all rows of all cells, 3600
    costs = mixed_costs(rng, 900)
    answer = MipOracle(observations, mip_solver("gurobi")).minimise(costs, budget=Budget(0.2))
    assert_consistent(answer, costs, observations)


def test_gurobi_takes_out_another_licence_after_a_breakdown():
    observations, costs = small_problem()
    solver = mip_solver("gurobi")
    oracle = MipOracle(observations, solver)
    assert oracle.minimise(costs).value == -4.0
    solver._environment.dispose()
    with pytest.raises(SolverFailedError):
        oracle.minimise(costs)
    assert oracle.minimise(costs).value == -4.0
