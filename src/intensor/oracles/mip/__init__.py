"""The exact oracle as a mixed-integer programme, with one adapter per outside solver."""

from __future__ import annotations

from intensor.errors import SettingError
from intensor.oracles.mip.base import MipSolver
from intensor.oracles.mip.gurobi import GurobiSolver
from intensor.oracles.mip.highs import HighsSolver
from intensor.oracles.mip.scip import ScipSolver

__all__ = ["mip_solver"]

_SOLVERS: dict[str, type[MipSolver]] = {
    solver.name: solver for solver in (HighsSolver, ScipSolver, GurobiSolver)
}


def mip_solver(name: str) -> MipSolver:
    """Return the solver "highs", "scip" or "gurobi", whose package must be installed."""
    if name not in _SOLVERS:
        known = ", ".join(map(repr, _SOLVERS))
        raise SettingError(f"There is no solver {name!r}; choose one of {known}.")
    return _SOLVERS[name]()
