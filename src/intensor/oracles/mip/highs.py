"""HiGHS as the solver behind the integer-programming oracle."""

from __future__ import annotations

from typing import Any

import numpy as np

from intensor._arrays import FloatArray
from intensor.errors import SolverFailedError
from intensor.oracles.mip.base import MipReply, MipSolver
from intensor.oracles.mip.formulation import Formulation
from intensor.oracles.mip.watch import Watch

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
# HiGHS calls nobody back while it searches a part of the model, which can take many seconds.
_PARTIAL_SEARCHES = (
    "mip_heuristic_run_rins",
    "mip_heuristic_run_rens",
    "mip_heuristic_run_root_reduced_cost",
)
_FEASIBLE = 2  # kSolutionStatusFeasible, which highspy gives as a plain integer


class HighsSolver(MipSolver):
    """HiGHS, one thread, to optimality."""

    name = "highs"
    tolerance = _TOLERANCE
    package = "highspy"
    install = "pip install highspy"

    def _minimise(
        self, formulation: Formulation, watch: Watch, start: FloatArray | None
    ) -> MipReply:
        highs = self._package.Highs()
        for option, setting in _OPTIONS.items():
            self._check(highs.setOptionValue(option, setting), f"option {option}")
        for option in _PARTIAL_SEARCHES:  # not checked: early versions lack these options
            highs.setOptionValue(option, False)
        self._check(highs.passModel(self._model(formulation)), "passModel")
        if start is not None:
            solution = self._package.HighsSolution()
            solution.col_value = start
            self._check(highs.setSolution(solution), "setSolution")
        self._check(highs.setOptionValue("time_limit", watch.budget.remaining), "option time_limit")
        self._run(highs, watch)
        info = highs.getInfo()
        theta = None
        if info.primal_solution_status == _FEASIBLE:
            theta = np.array(highs.getSolution().col_value)[: formulation.n_flags]
        return MipReply(theta=theta, bound=info.mip_dual_bound)

    def _model(self, formulation: Formulation) -> Any:
        """Return the formulation as HiGHS takes it."""
        n_rows, n_columns = formulation.n_rows, formulation.n_columns
        lp = self._package.HighsLp()
        lp.num_col_, lp.num_row_ = n_columns, n_rows
        lp.col_cost_ = formulation.column_costs
        lp.col_lower_, lp.col_upper_ = np.zeros(n_columns), np.ones(n_columns)
        lp.row_lower_, lp.row_upper_ = np.full(n_rows, -np.inf), formulation.rhs
        matrix = lp.a_matrix_
        matrix.format_ = self._package.MatrixFormat.kRowwise
        matrix.num_col_, matrix.num_row_ = n_columns, n_rows
        matrix.start_ = formulation.starts
        matrix.index_ = formulation.columns
        matrix.value_ = formulation.coefficients
        kinds = self._package.HighsVarType
        flags, cells = [kinds.kInteger], [kinds.kContinuous]
        lp.integrality_ = flags * formulation.n_flags + cells * formulation.n_cells
        return lp

    def _run(self, highs: Any, watch: Watch) -> None:
        """Run HiGHS with the watch in its callback, and leave its scheduler as it was."""

        def poll(event: Any) -> None:
            seen = event.data_out
            stop = watch.says_stop(lambda: (seen.mip_primal_bound, seen.mip_dual_bound))
            event.interrupt(stop)

        # HiGHS refuses another number of threads than its scheduler was started with
        highs.resetGlobalScheduler(True)
        highs.cbMipInterrupt.subscribe(poll)
        try:
            self._check(highs.run(), "run")
        finally:
            highs.cbMipInterrupt.unsubscribe(poll)
            highs.resetGlobalScheduler(True)

    def _check(self, status: Any, step: str) -> None:
        if status == self._package.HighsStatus.kError:
            raise SolverFailedError(f"HiGHS failed at {step}.")
