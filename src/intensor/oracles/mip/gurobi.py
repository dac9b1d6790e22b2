"""Gurobi as the solver behind the integer-programming oracle."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from intensor._arrays import FloatArray
from intensor.errors import SolverUnavailableError
from intensor.oracles.mip.base import MipReply, MipSolver
from intensor.oracles.mip.formulation import Formulation
from intensor.oracles.mip.watch import Watch

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


class GurobiSolver(MipSolver):
    """Gurobi, one thread, to optimality."""

    name = "gurobi"
    tolerance = _TOLERANCE
    package = "gurobipy"
    install = 'pip install "intensor[gurobi]"'

    def __init__(self) -> None:
        super().__init__()
        self._environment: Any = None

    def _minimise(
        self, formulation: Formulation, watch: Watch, start: FloatArray | None
    ) -> MipReply:
        with (
            self._licence_errors(formulation),
            self._package.Model(env=self._licensed()) as model,
        ):
            for parameter, setting in _PARAMETERS.items():
                model.setParam(parameter, setting)
            z = _build(model, formulation)
            if start is not None:
                z.Start = start
            model.setParam("TimeLimit", watch.budget.remaining)
            self._optimize(model, watch)
            theta = z[: formulation.n_flags].X if model.SolCount > 0 else None
            return MipReply(theta=theta, bound=model.ObjBound)

    def _licensed(self) -> Any:
        """Return the environment; starting it takes out a licence, which can be slow."""
        if self._environment is None:
            environment = self._package.Env(empty=True)
            environment.setParam("OutputFlag", 0)  # before start, which prints the licence
            environment.start()
            self._environment = environment
        return self._environment

    def _optimize(self, model: Any, watch: Watch) -> None:
        """Run Gurobi with the watch in its callback."""
        callback = self._package.GRB.Callback
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

        model.optimize(poll)
        if model.Status == self._package.GRB.INTERRUPTED and not stopped:
            watch.budget.interrupted = True  # Gurobi caught a Ctrl-C instead of Python

    @contextmanager
    def _licence_errors(self, formulation: Formulation) -> Iterator[None]:
        """Tell a licence that is missing or too small from a solver that broke down."""
        codes = self._package.GRB.Error
        try:
            yield
        except self._package.GurobiError as error:
            self._environment = None  # it may be in any state: start another next time
            if error.errno not in (
                codes.NO_LICENSE,
                codes.SIZE_LIMIT_EXCEEDED,
                codes.JOB_REJECTED,
                codes.NETWORK,
            ):
                raise
            message = (
                f"Gurobi's licence does not allow this model ({error}): "
                f"{formulation.n_rows} rows, {formulation.n_columns} columns. "
                "Install a full licence or choose another solver."
            )
            raise SolverUnavailableError(message) from error


def _build(model: Any, formulation: Formulation) -> Any:
    """Add rows and columns; return the columns."""
    from scipy.sparse import csr_array  # noqa: PLC0415

    kinds = np.array(["B"] * formulation.n_flags + ["C"] * formulation.n_cells)
    z = model.addMVar(formulation.n_columns, ub=1.0, obj=formulation.column_costs, vtype=kinds)
    rows = csr_array(
        (formulation.coefficients, formulation.columns, formulation.starts),
        shape=(formulation.n_rows, formulation.n_columns),
    )
    model.addMConstr(rows, z, "<", formulation.rhs)
    return z


def _take_back_interrupts() -> None:
    """Make Ctrl-C go to Python's handler again: Gurobi puts its own in place at the start.

    Handlers can be set from the main thread only. Elsewhere Gurobi keeps the signal, stops,
    and its status tells.
    """
    handler = signal.getsignal(signal.SIGINT)
    if handler is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)
