"""The weak-separation step: a new vertex that gains enough, or a proof that there is none."""

from __future__ import annotations

from intensor._arrays import inner
from intensor.oracles.alternating import AlternatingOracle
from intensor.oracles.base import Answer, Goal, Oracle
from intensor.runtime.budget import Budget
from intensor.solver.paper.iterate import Iterate
from intensor.solver.state import State, Witness


class WeakSeparation:
    """AltMin first, the exact oracle when it fails, and the bookkeeping of phi and bound.

    Parameters
    ----------
    heuristic
        Proposes vertices.
    exact
        Finds vertices that the heuristic missed, and proves bounds.
    """

    def __init__(self, heuristic: AlternatingOracle, exact: Oracle) -> None:
        self._heuristic = heuristic
        self._exact = exact

    def take(self, iterate: Iterate, state: State, budget: Budget) -> None:
        """Find a vertex, update phi and the bound, and search the line to the vertex."""
        goal = Goal(product=inner(iterate.gradient, iterate.x), phi=state.phi)
        if state.exact_calls == 0:
            answer = self._ask_exact(iterate, state, goal, budget, None)
        else:
            answer = self._heuristic.minimise(iterate.gradient, goal=goal, budget=budget)
            gain = goal.product - answer.value
            if gain <= goal.phi and not budget.spent:
                half_gap = (iterate.value - state.bound) / 2.0
                if gain > half_gap:
                    goal.phi = half_gap
                else:
                    answer = self._ask_exact(iterate, state, goal, budget, answer)
        state.phi = goal.phi
        state.gain = goal.product - answer.value
        _enter(iterate, answer, state.gain)

    def _ask_exact(
        self, iterate: Iterate, state: State, goal: Goal, budget: Budget, found: Answer | None
    ) -> Answer:
        exact = self._exact.minimise(
            iterate.gradient,
            goal=goal,
            incumbent=None if found is None else found.flags,
            budget=budget,
        )
        state.exact_calls += 1
        bound = iterate.objective.lower_bound(iterate.gradient, exact.bound)
        active = iterate.active
        witness = Witness(flags=active.flags(), weights=active.weights.copy(), source=exact.source)
        state.prove(bound, witness)
        best = exact if found is None or exact.value <= found.value else found
        self._heuristic.anchor = best.flags
        if not goal.reached(best.value, exact.bound) and not budget.spent:
            goal.phi /= 2.0
        return best


def _enter(iterate: Iterate, answer: Answer, gain: float) -> None:
    """Move to the best point between the iterate and the vertex."""
    active = iterate.active
    inside = active.inside(answer.flags)
    step = iterate.objective.exact_step(gain, inside - iterate.x, 1.0)
    if step > 0.0:
        active.enter(answer.flags, inside, step)
    active.drop_empty()
    iterate.recombine()
