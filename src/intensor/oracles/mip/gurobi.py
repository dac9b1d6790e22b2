"""Gurobi as the solver behind the integer-programming oracle."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from intensor.arrays import FlagArray, FloatArray
from intensor.errors import SolverUnavailableError
from intensor.oracles.mip.base import MipReply, import_solver
from intensor.oracles.mip.formulation import Formulation
from intensor.oracles.mip.watch import Watch

__all__ = ["GurobiSolver"]

_TOLERANCE = 1e-9
_PARAMETERS = {
    "Threads": 1,
    "Seed": 0,
    "MIPGap": 0.0,
    "MIPGapAbs": 0.0,
    "FeasibilityTol": _TOLERANCE,
    "IntFeasTol": _TOLERANCE,
    "OptimalityTol": _TOLERANCE,
}


class GurobiSolver:
    """Gurobi, one thread, to optimality."""

    name = "gurobi"
    tolerance = _TOLERANCE

    def __init__(self) -> None:
        self._gurobipy = import_solver("gurobipy", install='pip install "intensor[gurobi]"')

    def load(self, formulation: Formulation) -> None:
        """Build the model, in place of any earlier one."""
        self._formulation = formulation
        n_flags, n_cells = formulation.n_flags, formulation.n_cells
        rows = csr_array(
            (formulation.coefficients, formulation.columns, formulation.starts),
            shape=(formulation.n_rows, formulation.n_columns),
        )
        with self._licence_errors():
            environment = self._gurobipy.Env(empty=True)
            environment.setParam("OutputFlag", 0)  # before start, which prints the licence
            environment.start()
            self._model = self._gurobipy.Model(env=environment)
            for parameter, setting in _PARAMETERS.items():
                self._model.setParam(parameter, setting)
            kinds = np.array(["B"] * n_flags + ["C"] * n_cells)
            self._z = self._model.addMVar(formulation.n_columns, ub=1.0, vtype=kinds)
            self._model.addMConstr(rows, self._z, "<", formulation.rhs)
            self._model.update()

    def minimise(self, costs: FloatArray, *, watch: Watch, incumbent: FlagArray | None) -> MipReply:
        """Solve the loaded model for new costs."""
        model, z, n_flags = self._model, self._z, self._formulation.n_flags
        with self._licence_errors():
            model.reset(1)
            z[n_flags:].Obj = costs
            if incumbent is not None:
                z.Start = self._formulation.complete(incumbent)
            model.setParam("TimeLimit", watch.seconds)
            self._optimize(watch)
            theta = z[:n_flags].X if model.SolCount > 0 else None
            return MipReply(theta=theta, bound=model.ObjBound)

    def _optimize(self, watch: Watch) -> None:
        """Run Gurobi with the watch in its callback."""
        callback = self._gurobipy.GRB.Callback
        started = stopped = False

        def poll(model: Any, where: int) -> None:
            nonlocal started, stopped
            if not started:
                started = True
                _take_back_interrupts()
            if where == callback.MIP:
                stop = watch.says_stop(
                    lambda: (model.cbGet(callback.MIP_OBJBST), model.cbGet(callback.MIP_OBJBND))
                )
            else:
                stop = watch.says_stop()
            if stop:
                stopped = True
                model.terminate()

        self._model.optimize(poll)
        if self._model.Status == self._gurobipy.GRB.INTERRUPTED and not stopped:
            watch.interrupt()

    @contextmanager
    def _licence_errors(self) -> Iterator[None]:
        """Tell a licence that is missing or too small from a solver that broke down."""
        codes = self._gurobipy.GRB.Error
        try:
            yield
        except self._gurobipy.GurobiError as error:
            if error.errno not in (
                codes.NO_LICENSE,
                codes.SIZE_LIMIT_EXCEEDED,
                codes.JOB_REJECTED,
                codes.NETWORK,
            ):
                raise
            message = (
                f"Gurobi's licence does not allow this model ({error}): "
                f"{self._formulation.n_rows} rows, {self._formulation.n_columns} columns. "
                "Install a full licence or choose another solver."
            )
            raise SolverUnavailableError(message) from error


def _take_back_interrupts() -> None:
    """Make Ctrl-C go to Python's handler again: Gurobi puts its own in place at the start.

    Handlers can be set from the main thread only. Elsewhere Gurobi keeps the signal, stops,
    and its status tells.
    """
    handler = signal.getsignal(signal.SIGINT)
    if handler is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)
