"""HiGHS as the solver behind the integer-programming oracle."""

from __future__ import annotations

from typing import Any

import numpy as np

from intensor.arrays import FlagArray, FloatArray
from intensor.errors import SolverFailedError
from intensor.oracles.mip.base import MipReply, import_solver
from intensor.oracles.mip.formulation import Formulation
from intensor.oracles.mip.watch import Watch

__all__ = ["HighsSolver"]

_TOLERANCE = 1e-9
_OPTIONS = {
    "output_flag": False,
    "threads": 1,
    "random_seed": 0,
    "mip_rel_gap": 0.0,
    "mip_abs_gap": 0.0,
    "mip_feasibility_tolerance": _TOLERANCE,
    "primal_feasibility_tolerance": _TOLERANCE,
    "dual_feasibility_tolerance": _TOLERANCE,
}
# HiGHS asks nobody while it searches a part of the model, which can take many seconds.
_PARTIAL_SEARCHES = (
    "mip_heuristic_run_rins",
    "mip_heuristic_run_rens",
    "mip_heuristic_run_root_reduced_cost",
)
_FEASIBLE = 2  # kSolutionStatusFeasible, which highspy gives as a plain integer


class HighsSolver:
    """HiGHS, one thread, to optimality."""

    name = "highs"
    tolerance = _TOLERANCE

    def __init__(self) -> None:
        self._highspy = import_solver("highspy", install="pip install highspy")

    def load(self, formulation: Formulation) -> None:
        """Build the model, in place of any earlier one."""
        highspy = self._highspy
        self._formulation = formulation
        self._cells = np.arange(formulation.n_flags, formulation.n_columns, dtype=np.int32)
        self._highs = highspy.Highs()
        for option, setting in _OPTIONS.items():
            self._check(self._highs.setOptionValue(option, setting), f"option {option}")
        for option in _PARTIAL_SEARCHES:  # not checked: early versions lack these options
            self._highs.setOptionValue(option, False)
        n_flags, n_cells = formulation.n_flags, formulation.n_cells
        lp = highspy.HighsLp()
        lp.num_col_ = formulation.n_columns
        lp.num_row_ = formulation.n_rows
        lp.col_cost_ = np.zeros(formulation.n_columns)
        lp.col_lower_ = np.zeros(formulation.n_columns)
        lp.col_upper_ = np.ones(formulation.n_columns)
        lp.row_lower_ = np.full(formulation.n_rows, -highspy.kHighsInf)
        lp.row_upper_ = formulation.rhs
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.num_col_ = formulation.n_columns
        lp.a_matrix_.num_row_ = formulation.n_rows
        lp.a_matrix_.start_ = formulation.starts
        lp.a_matrix_.index_ = formulation.columns
        lp.a_matrix_.value_ = formulation.coefficients
        kinds = highspy.HighsVarType
        lp.integrality_ = [kinds.kInteger] * n_flags + [kinds.kContinuous] * n_cells
        self._check(self._highs.passModel(lp), "passModel")

    def minimise(self, costs: FloatArray, *, watch: Watch, incumbent: FlagArray | None) -> MipReply:
        """Solve the loaded model for new costs."""
        highs = self._highs
        # new costs also drop the solution of the last call
        self._check(highs.changeColsCost(self._cells.size, self._cells, costs), "changeColsCost")
        if incumbent is not None:
            start = self._highspy.HighsSolution()
            start.col_value = self._formulation.complete(incumbent)
            self._check(highs.setSolution(start), "setSolution")
        self._check(highs.setOptionValue("time_limit", watch.seconds), "option time_limit")
        self._run(watch)
        info = highs.getInfo()
        theta = None
        if info.primal_solution_status == _FEASIBLE:
            theta = np.array(highs.getSolution().col_value)[: self._formulation.n_flags]
        return MipReply(theta=theta, bound=info.mip_dual_bound)

    def _run(self, watch: Watch) -> None:
        """Run HiGHS with the watch in its callback, and leave its scheduler as it was."""

        def poll(event: Any) -> None:
            seen = event.data_out
            stop = watch.says_stop(lambda: (seen.mip_primal_bound, seen.mip_dual_bound))
            event.interrupt(stop)  # also when False: HiGHS remembers the last solve's answer

        highs = self._highs
        # HiGHS refuses another number of threads than its scheduler was started with
        highs.resetGlobalScheduler(True)
        highs.cbMipInterrupt.subscribe(poll)
        try:
            self._check(highs.run(), "run")
        finally:
            highs.cbMipInterrupt.unsubscribe(poll)
            highs.resetGlobalScheduler(True)

    def _check(self, status: Any, step: str) -> None:
        if status == self._highspy.HighsStatus.kError:
            raise SolverFailedError(f"HiGHS failed at {step}.")
