"""SCIP as the solver behind the integer-programming oracle."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from intensor._arrays import FloatArray
from intensor.oracles.mip.base import MipReply, MipSolver
from intensor.oracles.mip.formulation import Formulation
from intensor.oracles.mip.watch import Watch


class ScipSolver(MipSolver):
    """SCIP, one thread, to optimality.

    SCIP could free the transformed problem and take new costs and rows, but what stays behind
    doubles the work of the next solve and makes it depend on the calls before.
    """

    name = "scip"
    tolerance = 1e-7  # with less, SCIP's LP solver complains on standard error
    package = "pyscipopt"
    install = 'pip install "intensor[scip]"'

    def _minimise(
        self, formulation: Formulation, watch: Watch, start: FloatArray | None
    ) -> MipReply:
        model = self._package.Model()
        try:
            self._configure(model, watch)
            theta, phi = self._build(model, formulation)
            if start is not None:
                solution = model.createOrigSol()
                for variable, value in zip(theta + phi, start.tolist(), strict=True):
                    model.setSolVal(solution, variable, value)
                model.addSol(solution)
            model.setParam("limits/time", min(watch.budget.remaining, model.infinity()))
            model.optimizeNogil()
            best = model.getBestSol()
            flags = None
            if best is not None:
                flags = np.array([model.getSolVal(best, variable) for variable in theta])
            return MipReply(theta=flags, bound=model.getDualbound())
        finally:
            # Not left to the garbage collector: the model is in a cycle. After a breakdown SCIP
            # may refuse, which must not hide the error that tells what happened.
            with contextlib.suppress(Exception):
                model.freeProb()

    def _configure(self, model: Any, watch: Watch) -> None:
        """Keep SCIP quiet, exact and within reach of the watch."""
        model.hideOutput()
        model.setParams(
            {
                "misc/catchctrlc": False,
                "lp/threads": 1,
                "limits/gap": 0.0,
                "limits/absgap": 0.0,
                "numerics/feastol": self.tolerance,
                "numerics/dualfeastol": self.tolerance,
            }
        )

        stages = self._package.SCIP_STAGE

        def poll(model: Any, event: Any) -> None:
            # Events come in between these stages too, where SCIP refuses to be interrupted and
            # breaks down on the error; it is asked again soon, as one of the two follows.
            if model.getStage() not in (stages.PRESOLVING, stages.SOLVING):
                return
            if watch.says_stop(lambda: (model.getPrimalbound(), model.getDualbound())):
                model.interruptSolve()

        events = self._package.SCIP_EVENTTYPE
        model.attachEventHandlerCallback(
            poll,
            [
                events.PRESOLVEROUND,
                events.BESTSOLFOUND,
                events.FIRSTLPSOLVED,
                events.LPSOLVED,
                events.ROWADDEDSEPA,
                events.NODESOLVED,
            ],
            name="watch",
        )

    def _build(self, model: Any, rows: Formulation) -> tuple[list[Any], list[Any]]:
        """Add columns and rows; return the columns of the flags and of the cells."""
        theta = [model.addVar(vtype="B") for _ in range(rows.n_flags)]
        phi = [model.addVar(ub=1.0, obj=cost) for cost in rows.costs.tolist()]
        z = theta + phi
        columns, coefficients = rows.columns.tolist(), rows.coefficients.tolist()
        starts, right_sides = rows.starts.tolist(), rows.rhs.tolist()
        for low, high, rhs in zip(starts[:-1], starts[1:], right_sides, strict=True):
            entries = zip(columns[low:high], coefficients[low:high], strict=True)
            left_side = self._package.quicksum(weight * z[column] for column, weight in entries)
            model.addCons(left_side <= rhs)
        return theta, phi
