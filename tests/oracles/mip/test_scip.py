"""SCIP: what it says when it breaks down."""

import pytest

from intensor.errors import SolverFailedError
from intensor.oracles.mip import mip_solver
from intensor.oracles.mip.oracle import MipOracle
from mip_cases import small_problem


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
