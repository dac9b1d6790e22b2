"""The paper's engine: blended conditional gradients on the observed cells (versions 0-10)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intensor._arrays import FlagArray, FloatArray, Shape, inner
from intensor.backends.select import Data
from intensor.data.observations import Observations
from intensor.model.model import Model
from intensor.oracles.alternating import AlternatingOracle
from intensor.oracles.base import Answer, Goal, Oracle
from intensor.oracles.contraction import Contraction
from intensor.problem.objective import build_objective
from intensor.runtime.budget import Budget
from intensor.runtime.memory import cell_bytes
from intensor.solver.engine import State, Version, Witness
from intensor.solver.paper.iterate import Iterate
from intensor.solver.paper.rows import Rows
from intensor.solver.paper.steps import LocalStep
from intensor.solver.settings import Settings
from intensor.solver.snapshot import capture_random, capture_state, restore_random, restore_state
from intensor.storage.reader import Tree, TreeReader


@dataclass(frozen=True, slots=True)
class Blended(Version):
    """One of the paper's versions, given by its parts."""

    step: type[LocalStep]
    rows: type[Rows]
    contraction: type[Contraction]

    def engine(self, observations: Data, *, exact: Oracle, settings: Settings) -> BlendedEngine:
        """Return an engine at the all-ones vertex."""
        return BlendedEngine(self, observations.host(), exact=exact, settings=settings)

    def bytes_needed(self, n_cells: int, shape: Shape) -> int:
        """Return the bytes that a solve of ``n_cells`` distinct cells takes."""
        rows = n_cells * (self.rows.bytes_per_cell + 8 * len(shape))
        return cell_bytes(n_cells, shape) + rows + 64 * sum(shape)


class BlendedEngine:
    """A local step rule and weak separation around one iterate.

    Weak separation finds a new vertex that gains enough, or a proof that there is none: alternating
    minimisation comes first, and the exact oracle is asked when that fails.
    """

    def __init__(
        self, parts: Blended, observations: Observations, *, exact: Oracle, settings: Settings
    ) -> None:
        objective = build_objective(observations, settings.radius)
        self._rng = np.random.default_rng(settings.seed)
        contraction = parts.contraction(observations)
        self._heuristic = AlternatingOracle(contraction, observations.shape, rng=self._rng)
        self._exact = exact
        self._step = parts.step()
        self._tolerance = settings.tolerance(observations.mean_square) / objective.scale
        self._iterate = Iterate(observations, objective, parts.rows)
        self.state = State(value=self._iterate.value, bound=objective.constant)

    def local_gap(self) -> float:
        """Return the largest product over vertices in use minus the smallest of all."""
        iterate = self._iterate
        iterate.linearise()
        used = iterate.products[iterate.active.weights > 0.0]
        return float(used.max() - iterate.products.min())

    def local_step(self) -> None:
        """Take a step of the version's rule."""
        self._step.take(self._iterate)
        self.state.value = self._iterate.value

    def separate(self, budget: Budget) -> None:
        """Find a vertex, update phi and the bound, and search the line to the vertex."""
        iterate, state = self._iterate, self.state
        goal = Goal(product=inner(iterate.gradient, iterate.x), phi=state.phi)
        if state.exact_calls == 0:
            answer = self._ask_exact(goal, budget, None)
        else:
            answer = self._heuristic.minimise(iterate.gradient, goal=goal, budget=budget)
            gain = goal.product - answer.value
            if gain <= goal.phi and not budget.spent:
                half_gap = (iterate.value - state.bound) / 2.0
                if gain > half_gap:
                    goal.phi = half_gap
                else:
                    answer = self._ask_exact(goal, budget, answer)
        state.phi = goal.phi
        state.gain = goal.product - answer.value
        self._enter(answer.flags, state.gain)
        state.value = iterate.value
        # The believed gap is below the tolerance, or below the precision of float64. If the proven
        # gap is not, more of the same cannot help.
        rounding = 4.0 * np.finfo(np.float64).eps * state.value
        state.exhausted = 2.0 * state.phi <= max(self._tolerance, rounding)

    def _ask_exact(self, goal: Goal, budget: Budget, found: Answer | None) -> Answer:
        """Return the better of what was found and what the exact oracle finds; keep its bound."""
        iterate, active, state = self._iterate, self._iterate.active, self.state
        exact = self._exact.minimise(
            iterate.gradient,
            goal=goal,
            incumbent=None if found is None else found.flags,
            budget=budget,
        )
        state.exact_calls += 1
        bound = iterate.objective.lower_bound(iterate.gradient, exact.bound)
        witness = Witness(
            factors=active.flags(), weights=active.weights.copy(), source=exact.source
        )
        state.prove(bound, witness)
        best = exact if found is None or exact.value <= found.value else found
        self._heuristic.anchor = best.flags
        if not goal.reached(best.value, exact.bound) and not budget.spent:
            goal.phi /= 2.0
        return best

    def _enter(self, flags: FlagArray, gain: float) -> None:
        """Move to the best point between the iterate and a vertex."""
        iterate, active = self._iterate, self._iterate.active
        inside = active.inside(flags)
        step = iterate.objective.exact_step(gain, inside - iterate.x, 1.0)
        if step > 0.0:
            active.enter(flags, inside, step)
        active.drop_empty()
        iterate.recombine()

    def recombine(self) -> None:
        """Recompute the iterate from the weights."""
        self._iterate.recombine()
        self.state.value = self._iterate.value

    def vertices(self) -> tuple[FlagArray, FloatArray]:
        """Return the active vertices and their weights."""
        return self._iterate.active.flags(), self._iterate.active.weights

    def start_from(self, model: Model, budget: Budget) -> None:
        """Do nothing: the paper's versions always start at the all-ones vertex."""

    def capture(self) -> Tree:
        """Return the iterate and the memory of the oracle and the step rule."""
        return {
            "iterate": self._iterate.capture(),
            "anchor": self._heuristic.anchor[np.newaxis].copy(),
            "runs": self._heuristic.runs,
            "random": capture_random(self._rng),
            "step": self._step.capture(),
            "state": capture_state(self.state),
        }

    def restore(self, saved: TreeReader) -> None:
        """Go on from where an engine of the same cells and settings stopped."""
        length = self._heuristic.anchor.size
        anchors = saved.vertices("anchor", length)
        if len(anchors) != 1:
            raise saved.damaged("there is not exactly one anchor")
        self._iterate.restore(saved.branch("iterate"))
        self._heuristic.anchor = anchors[0]
        self._heuristic.runs = saved.count("runs")
        restore_random(self._rng, saved.branch("random"))
        self._step.restore(saved.branch("step"), self._iterate)
        restore_state(self.state, saved.branch("state"), length)

    def close(self) -> None:
        """Do nothing: there are no threads."""

    @property
    def n_active(self) -> int:
        """Number of vertices in the active set."""
        return len(self._iterate.active)

    @property
    def altmin_runs(self) -> int:
        """Number of descents of the heuristic so far."""
        return self._heuristic.runs

    @property
    def drops(self) -> int:
        """Number of vertices dropped so far."""
        return self._iterate.active.drops
