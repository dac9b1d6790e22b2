"""The paper's engine: blended conditional gradients on the observed cells (versions 0-10)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intensor._arrays import FlagArray, FloatArray, Shape
from intensor.backends.select import Data
from intensor.data.observations import Observations
from intensor.model.model import Model
from intensor.oracles.alternating import AlternatingOracle
from intensor.oracles.base import Oracle
from intensor.oracles.contraction import Contraction
from intensor.problem.objective import build_objective
from intensor.runtime.budget import Budget
from intensor.runtime.memory import cell_bytes
from intensor.solver.engine import Version
from intensor.solver.paper.iterate import Iterate
from intensor.solver.paper.rows import Rows
from intensor.solver.paper.separation import WeakSeparation
from intensor.solver.paper.steps import LocalStep
from intensor.solver.settings import Settings
from intensor.solver.snapshot import (
    capture_random,
    capture_state,
    restore_random,
    restore_state,
)
from intensor.solver.state import State
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
    """A local step rule and weak separation around one iterate."""

    def __init__(
        self,
        parts: Blended,
        observations: Observations,
        *,
        exact: Oracle,
        settings: Settings,
    ) -> None:
        objective = build_objective(observations, settings.radius)
        self._rng = np.random.default_rng(settings.seed)
        self._heuristic = AlternatingOracle(
            parts.contraction(observations),
            observations.shape,
            rng=self._rng,
        )
        self._separation = WeakSeparation(self._heuristic, exact)
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
        """Find a vertex and search the line to it."""
        state = self.state
        self._separation.take(self._iterate, state, budget)
        state.value = self._iterate.value
        # The believed gap is below the tolerance, or below the precision of float64. If the proven
        # gap is not, more of the same cannot help.
        rounding = 4.0 * np.finfo(np.float64).eps * state.value
        state.exhausted = 2.0 * state.phi <= max(self._tolerance, rounding)

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
        if len(saved.vertices("anchor", length)) != 1:
            raise saved.damaged("there is not exactly one anchor")
        self._iterate.restore(saved.branch("iterate"))
        self._heuristic.anchor = saved.vertices("anchor", length)[0]
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
