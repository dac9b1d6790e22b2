"""The fast engine: fully corrective conditional gradients in Gram space.

Every round prices many vertices at once, lets in the best that gain enough, and solves for the
exact best weights of all active vertices (``corrective``). Vertices without weight stay for a
while, because the master prices them for free. On large data a sample of the cells is solved first
and its vertices are the start on all of them. The exact oracle is asked only to certify
(``certification``).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from intensor._arrays import FlagArray, FloatArray, Shape
from intensor.backends.select import Data, open_cells
from intensor.model.model import Model
from intensor.oracles.base import Oracle
from intensor.runtime.budget import Budget
from intensor.runtime.memory import cell_bytes
from intensor.runtime.threads import Workers
from intensor.solver.engine import State, Version
from intensor.solver.fast.certification import Findings, Prover
from intensor.solver.fast.corrective import (
    ADMISSION_SHARE_WITH_PROOF,
    ADMISSION_SHARE_WITHOUT_PROOF,
    Corrective,
)
from intensor.solver.fast.tuning import TUNING, Tuning
from intensor.solver.settings import Settings
from intensor.solver.snapshot import capture_random, capture_state, restore_random, restore_state
from intensor.storage.reader import Tree, TreeReader

FAILURES_BEFORE_PROOF = 2
"""Rounds of full effort without a new vertex after which the exact oracle is asked."""
MAX_LENIENT_ANSWERS = 3
"""How often the exact oracle may answer with nothing but known vertices before the engine stops."""
VERTICES_PER_WARM_BATCH = 64
"""Vertices of a model that are taken in at a time, between two looks at the budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fast(Version):
    """The default version."""

    tuning: Tuning = TUNING
    tolerance_share: float = 0.8
    patient: bool = False
    warm_start: bool = True
    signed: bool = True
    anywhere: bool = True
    gradable: bool = True

    def engine(self, observations: Data, *, exact: Oracle, settings: Settings) -> FastEngine:
        """Return an engine at the zero vertex."""
        return FastEngine(observations, exact=exact, settings=settings, tuning=self.tuning)

    def bytes_needed(self, n_cells: int, shape: Shape) -> int:
        """Return the bytes that a solve takes while it holds at most 64 vertices.

        Every further 64 vertices take ``8 * n_cells + 72 * sum(shape)`` bytes more.

        Examples
        --------
        >>> Fast().bytes_needed(10**6, (100, 100, 100)) < 100e6
        True
        >>> Fast().bytes_needed(10**6, (10**6, 100)) > 100e6
        True
        """
        cells = cell_bytes(n_cells, shape) + 8 * n_cells
        return cells + 512 * max(shape) + (72 + 3 * 64 + 48) * sum(shape)


class FastEngine:
    """The corrective solver behind the interface of the loop."""

    def __init__(
        self, observations: Data, *, exact: Oracle, settings: Settings, tuning: Tuning = TUNING
    ) -> None:
        self._observations = observations
        self._radii = [settings.radius]
        self._tolerance = settings.tolerance(observations.mean_square) / settings.radius**2
        self._prover = Prover(
            exact,
            observations,
            polytope_signs=(1.0, -1.0) if settings.signed else (1.0,),
            pool=tuning.exact_pool,
        )
        self._rng = np.random.default_rng(settings.seed)
        self._workers = Workers(settings.threads)
        self._cells = open_cells(observations, settings.radius, self._workers, settings.device)
        self._core = Corrective(
            self._cells,
            rng=self._rng,
            tolerance=self._tolerance,
            signed=settings.signed,
            admission_share=ADMISSION_SHARE_WITH_PROOF
            if self._prover.searches
            else ADMISSION_SHARE_WITHOUT_PROOF,
            tuning=tuning,
        )
        self._started = False
        self._settled = True
        self._lenient = MAX_LENIENT_ANSWERS
        self._budget = Budget()
        active = self._core.active
        self.state = State(value=active.value, bound=active.cells.constant)

    def local_gap(self) -> float:
        """Return infinity while new vertices wait for the master, and 0 once it has run."""
        return 0.0 if self._settled else np.inf

    def local_step(self) -> None:
        """Solve the master, in the time that the last separation left."""
        self._core.correct(self._budget.remaining)
        self._settled = True
        self.state.value = self._core.active.value

    def separate(self, budget: Budget) -> None:
        """Let new vertices in, or ask for a proof when there seem to be none."""
        core, state = self._core, self.state
        self._budget = budget
        if not self._started:
            self._started = True
            self._settled = not core.start_from_sample(budget)
        if self._settled:
            self._settled = not core.price(budget)
        if core.failures >= FAILURES_BEFORE_PROOF:
            self._certify(budget)
        state.gain = core.gain
        state.phi = max(min(core.gain, state.value) / 2.0, 1e-300)

    def recombine(self) -> None:
        """Evaluate the weights again."""
        active = self._core.active
        total = float(active.weights.sum())
        if total > 1.0:
            active.master.weights /= total
        active.evaluate()
        self.state.value = active.value

    def vertices(self) -> tuple[FlagArray, FloatArray]:
        """Return the vertices with weight, and their weights with their signs."""
        active = self._core.active
        used = active.weights > 0.0
        return active.flags[used], active.weights[used] * active.signs[used]

    def start_from(self, model: Model, budget: Budget) -> None:
        """Begin with the vertices of a model, at good weights for the cells.

        No sample is solved then. When time runs out on the way, only the first vertices are taken.
        """
        # The components of a graded model are left out: vertices here are boxes.
        flags, signs = model.vertices.flags(), np.sign(model.weights[: len(model.vertices)])
        self._started, self._budget = True, budget
        for start in range(0, len(flags), VERTICES_PER_WARM_BATCH):
            if start and budget.spent:
                break
            batch = slice(start, start + VERTICES_PER_WARM_BATCH)
            self._core.admit(flags[batch], signs[batch])
        self.local_step()

    def rescale(self, settings: Settings) -> None:
        """Go on with the radius of other settings: vertices and tensor stay, the proof does not."""
        factor = settings.radius / self._radii[-1]
        self._radii.append(settings.radius)
        self._tolerance = settings.tolerance(self._observations.mean_square) / settings.radius**2
        self._core.rescale(factor, self._tolerance)
        self._settled = self._core.active.count == 0
        self._lenient = MAX_LENIENT_ANSWERS
        self._budget = Budget()
        active = self._core.active
        self.state = State(value=active.value, bound=active.cells.constant)

    def capture(self) -> Tree:
        """Return everything that the next round depends on, except the cells."""
        return {
            "radii": np.array(self._radii),
            "seeded": self._started,
            "settled": self._settled,
            "lenient": self._lenient,
            "random": capture_random(self._rng),
            "core": self._core.capture(),
            "state": capture_state(self.state),
        }

    def restore(self, saved: TreeReader) -> None:
        """Go on from where an engine of the same cells and first radius stopped."""
        radii = saved.finite_array("radii", (None,)).tolist()
        if not radii or min(radii) <= 0.0 or radii[0] != self._radii[-1]:
            raise saved.damaged("it begins with another radius")
        for before, after in itertools.pairwise(radii):  # each leaves its rounding in the targets
            self._cells.rescale(after / before)
        self._radii = radii
        self._core.restore(saved.branch("core"))
        self._started, self._settled = saved.flag("seeded"), saved.flag("settled")
        self._lenient = saved.count("lenient", most=MAX_LENIENT_ANSWERS)
        restore_random(self._rng, saved.branch("random"))
        restore_state(self.state, saved.branch("state"), int(self._cells.offsets[-1]))

    def close(self) -> None:
        """End the threads."""
        self._workers.close()

    @property
    def n_active(self) -> int:
        """Number of vertices with weight."""
        return self._core.active.master.size

    @property
    def altmin_runs(self) -> int:
        """Number of descents so far."""
        return self._core.altmin_runs

    @property
    def drops(self) -> int:
        """Number of vertices removed so far."""
        return self._core.active.drops

    def _certify(self, budget: Budget) -> None:
        """Ask the exact oracle for vertices that the heuristic missed, or for a bound."""
        core = self._core
        found = self._prover.ask(
            self.state,
            self._cells,
            self.vertices(),
            radius=self._radii[-1],
            tolerance=self._tolerance,
            known=core.active.known,
            budget=budget,
        )
        if found is None:
            self.state.exhausted = True
            return
        core.gain = found.gain
        self._take_in(found)

    def _take_in(self, found: Findings) -> None:
        """Let the vertices of the exact oracle in, or see that there are none."""
        if found.gains_enough and found.flags:
            self._core.failures = 0
            self._lenient = MAX_LENIENT_ANSWERS
            self._core.admit(np.array(found.flags), np.array(found.signs))
            self._settled = False
        elif found.gains_enough and self._lenient > 0:
            self._lenient -= 1  # all are known: the master was not exact enough
            self._core.active.linearise()
            self._settled = False
        else:
            self.state.exhausted = True
