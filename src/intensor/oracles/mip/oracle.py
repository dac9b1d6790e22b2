"""The exact oracle that leaves the search to an outside mixed-integer solver.

The solver's numbers are not trusted: the vertex is evaluated again from
its flags, and the dual bound is lowered by the most that the solver's tolerances can hide.
"""

from __future__ import annotations

import logging

import numpy as np

from intensor._arrays import FlagArray, FloatArray
from intensor.data.observations import Observations
from intensor.errors import IntensorError, SolverFailedError
from intensor.oracles.base import Answer, Goal
from intensor.oracles.mip.base import MipReply, MipSolver
from intensor.oracles.mip.formulation import Formulation, formulate
from intensor.oracles.mip.watch import Watch
from intensor.oracles.trivial import sum_of_negative, trivial_answer, vertex_cost
from intensor.runtime.budget import Budget

_LOG = logging.getLogger(__name__)


def error_margin(formulation: Formulation, tolerance: float) -> float:
    """Return how far a solver's objective or dual bound may be off, for costs of size 1.

    A dual solution that misses feasibility by ``tolerance`` in every column and row
    overstates the bound by at most that times the ranges of the columns (1 each) and of the
    rows (at most one per entry); rows left out have multiplier 0 and miss nothing. A point
    that misses by as much, integrality included, costs less than its vertex by at most two
    tolerances per cell of negative cost and p + 1 per cell of positive cost: no more than
    one per entry either. (It may cost more than its vertex by any amount where ``phi`` is
    not at its cheap end, which only makes an objective too careful.) The solver's cut-offs are of
    the size of the tolerance too.
    """
    return 2.0 * tolerance * (formulation.n_columns + formulation.columns.size)


class MipOracle:
    """Finds the vertex of least cost by integer programming."""

    def __init__(self, observations: Observations, solver: MipSolver) -> None:
        self._observations = observations
        self._solver = solver

    def minimise(
        self,
        costs: FloatArray,
        *,
        goal: Goal | None = None,
        incumbent: FlagArray | None = None,
        budget: Budget | None = None,
    ) -> Answer:
        """Look for the vertex of least total cost; see ``Oracle.minimise``."""
        easy = trivial_answer(costs, sum(self._observations.shape))
        if easy is not None:
            return easy
        budget = Budget() if budget is None else budget
        start = self._start(costs, incumbent)
        if budget.spent or (goal is not None and goal.reached(start.value, start.bound)):
            return start
        return self._search(costs, start, goal=goal, budget=budget)

    def _start(self, costs: FloatArray, incumbent: FlagArray | None) -> Answer:
        """Return the better of the incumbent and the empty vertex, with the free bound."""
        flags = np.zeros(sum(self._observations.shape), dtype=np.uint8)
        value = 0.0
        if incumbent is not None:
            cost = vertex_cost(incumbent, costs, self._observations)
            if cost < value:
                flags, value = incumbent.copy(), cost
        bound = sum_of_negative(costs)
        return Answer(flags=flags, value=value, bound=bound, source=self._solver.name)

    def _search(
        self, costs: FloatArray, start: Answer, *, goal: Goal | None, budget: Budget
    ) -> Answer:
        """Let the solver improve on the start, and check its answer."""
        scale = float(np.abs(costs).max())
        formulation = formulate(self._observations, costs / scale)
        margin = error_margin(formulation, self._solver.tolerance)
        watch = Watch(
            goal, budget, scale=scale, margin=margin, value=start.value, bound=start.bound
        )
        incumbent = start.flags if start.value < 0.0 else None
        reply = self._ask(formulation, watch=watch, incumbent=incumbent)

        flags, value = start.flags, start.value
        if reply.theta is not None:
            found = (reply.theta > 0.5).astype(np.uint8)
            cost = vertex_cost(found, costs, self._observations)
            if cost < value:
                flags, value = found, cost
        name = self._solver.name
        bound = (reply.bound - margin) * scale
        if not bound <= value:
            _LOG.warning("%s puts its bound %g above a vertex of cost %g", name, bound, value)
            bound = start.bound
        return Answer(flags=flags, value=value, bound=max(bound, start.bound), source=name)

    def _ask(
        self, formulation: Formulation, *, watch: Watch, incumbent: FlagArray | None
    ) -> MipReply:
        """Run the solver; whatever it raises comes out as an error of ours."""
        try:
            with watch:
                return self._solver.minimise(formulation, watch=watch, incumbent=incumbent)
        except IntensorError:
            raise
        except Exception as error:
            message = f"The solver {self._solver.name} broke down ({error}). Try another one."
            raise SolverFailedError(message) from error
