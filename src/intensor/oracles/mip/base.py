"""What the integer-programming oracle asks of a solver, and what it gets back."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from intensor._arrays import FlagArray, FloatArray
from intensor.errors import SolverUnavailableError
from intensor.oracles.mip.formulation import Formulation
from intensor.oracles.mip.watch import Watch


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MipReply:
    """The answer of a solver."""

    # (n_flags,) flags of the best solution up to the solver's tolerances; None without one
    theta: FloatArray | None
    bound: float  # The solver's dual bound in the units of the formulation's costs


class MipSolver(ABC):
    """One outside solver, set to search on until nothing better can exist."""

    name: ClassVar[str]  # What users call it
    tolerance: ClassVar[float]  # The feasibility, integrality and optimality tolerance it works to
    # The Python package to import, and the command that installs it
    package: ClassVar[str]
    install: ClassVar[str]

    def __init__(self) -> None:
        self._package = import_solver(self.package, install=self.install)

    def minimise(
        self, formulation: Formulation, *, watch: Watch, incumbent: FlagArray | None
    ) -> MipReply:
        """Build a model of the formulation and solve it; earlier calls must leave no trace.

        The largest cost has absolute value 1. The watch is asked as often as the solver allows.
        """
        start = None if incumbent is None else formulation.complete(incumbent)
        return self._minimise(formulation, watch, start)

    @abstractmethod
    def _minimise(
        self, formulation: Formulation, watch: Watch, start: FloatArray | None
    ) -> MipReply:
        """Solve the formulation from a feasible point, (n_columns,), or from none."""


def import_solver(module: str, *, install: str) -> Any:
    """Import the package of a solver or say how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        message = f"The package {module} cannot be imported ({error}). Install it: {install}"
        raise SolverUnavailableError(message) from error
