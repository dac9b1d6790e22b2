"""The fast engine: fully corrective conditional gradients in Gram space.

Every round prices many vertices at once, lets in the best that gain enough, and solves for the
exact best weights of all active vertices. Vertices without weight stay for a while: the
master prices them for free. On large data a sample of the cells is solved first and its
vertices are the start on all of them. The exact oracle is asked only to certify.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

import numpy as np

from intensor._arrays import FlagArray, FloatArray, Shape, inner
from intensor.backends.base import Cells
from intensor.backends.select import Data, open_cells
from intensor.data.observations import Observations
from intensor.model.model import Model
from intensor.oracles.base import Goal, Oracle
from intensor.oracles.cascade import FreeBoundOracle
from intensor.problem.objective import Objective, bound_from_sums, build_objective
from intensor.runtime.budget import Budget
from intensor.runtime.memory import cell_bytes
from intensor.runtime.threads import Workers
from intensor.solver.engine import Version
from intensor.solver.fast.gram_set import GramSet, key
from intensor.solver.fast.pricing import CHOOSY, FEW_CELLS, MANY_CELLS, Pricing, Proposals
from intensor.solver.settings import Settings
from intensor.solver.snapshot import (
    capture_random,
    capture_state,
    restore_random,
    restore_state,
)
from intensor.solver.state import State, Witness
from intensor.storage.codec import Branch, Tree

__all__ = ["UNPROVABLE", "Fast", "FastEngine"]

PATIENCE = 2
"""Rounds of full effort without a new vertex after which the heuristic has nothing to say."""
PLENTY = 24
"""New vertices in a round above which the next looks less hard."""
PROVABLE, UNPROVABLE = 0.25, 0.8
"""Share of the tolerance down to which vertices are let in: well below it when a proof follows
that must bridge the rest, nearly up to it when none can."""
FALLING = 0.01
"""Share of the tolerance that the objective must fall by for a vertex to be exchanged."""
MOST_REFINED = 64
"""Vertices in use above which none are exchanged: so many follow noise."""
POOL = 64
"""Vertices that an exact call may bring."""
LENIENT = 3
"""How often the exact oracle may come back with nothing but known vertices."""
SMALL = 1 << 12
"""Cells up to which pricing is so cheap that each round may do more of it."""
CROWDED = 768
"""Vertices in use above which the master is so dear that better ones are worth looking for."""
LARGE = 1 << 15
"""Cells from which on a sample is solved first."""
SLOW = 10
"""Rounds in which the error on a sample must halve for the sample to be worth more work."""
SAMPLE_SHARE = 16
"""One cell in so many is in the sample, but at least half of ``LARGE`` are."""
TELLING = 64
"""Cells per index of any mode that a sample has at least: fewer say too little about vertices."""
LARGEST_SAMPLE = 1 << 22
"""Cells of a sample at most: more would tell no more about where to begin."""


class Corrective:
    """Pricing and master around one set of cells.

    Attributes
    ----------
    active
        The vertices and their weights.
    gain
        What the best vertex of the last round gained.
    failures
        Rounds of full effort in a row that brought no new vertex.
    """

    def __init__(
        self,
        cells: Cells,
        *,
        rng: np.random.Generator,
        tolerance: float,
        signed: bool = False,
        margin: float = PROVABLE,
    ) -> None:
        self.active = GramSet(cells)
        self.gain = np.inf
        self.failures = 0
        self.runs = 0
        self._pricing = Pricing(rng, signed=signed)
        self._signed = signed
        self._rng = rng
        self._tolerance = tolerance
        self._margin = margin
        self._exactness = np.inf
        self._effort = 0
        self._efforts = FEW_CELLS if cells.n_cells <= SMALL else MANY_CELLS

    def seed(self, budget: Budget) -> bool:
        """Take the vertices that solve a sample of the cells; say whether there are any."""
        cells = self.active.cells
        least = max(LARGE // 2, TELLING * sum(cells.shape))
        if cells.n_cells <= 2 * least:
            return False
        size = max(least, min(cells.n_cells // SAMPLE_SHARE, LARGEST_SAMPLE))
        sample = cells.sample(size, self._rng)
        inner = Corrective(
            sample,
            rng=self._rng,
            tolerance=self._tolerance,
            signed=self._signed,
        )
        if inner.seed(budget):
            inner.correct(budget.remaining)
        history = [np.inf]
        while not (inner.solved or inner.idle or budget.spent):
            if inner.price(budget):
                inner.correct(budget.remaining)
            history.append(inner.active.value - sample.constant)
            if history[-1] > history[max(0, len(history) - SLOW)] / 2.0:
                break  # from here on the sample's own noise would be fitted
        self.runs += inner.altmin_runs
        used = inner.active.weights > 0.0
        self.admit(inner.active.flags[used], inner.active.signs[used])
        return self.active.count > 0

    def price(self, budget: Budget) -> bool:
        """Look for new vertices and let them in; say whether the master has work to do."""
        effort = self._efforts[self._effort]
        if self._effort == 0 and self.active.master.size > CROWDED:
            effort = CHOOSY
        proposals = self._pricing.propose(self.active, effort, budget)
        self.gain = proposals.best
        rounding = 8.0 * np.finfo(np.float64).eps * self.active.value
        if proposals.best > max(self._margin * self._tolerance, rounding):
            if self._admit_new(proposals):
                return True
            if self._exactness > proposals.best / 8.0:
                self.active.linearise()  # the vertices are known: the master was too lenient
                return True
        self._adapt(0)
        return False

    def _admit_new(self, proposals: Proposals) -> bool:
        """Let in what was found and what refines vertices in use; say whether there is any."""
        refined = None
        if self.active.master.size <= MOST_REFINED:
            refined = self._pricing.refine(self.active, FALLING * self._tolerance)
        if len(proposals.flags):
            self._adapt(len(proposals.flags))
            self.active.add(proposals.flags, proposals.signs)
        if refined is not None:
            known, signs = self.active.known, refined.signs.tolist()
            fresh = [
                key(row, sign) not in known for row, sign in zip(refined.flags, signs, strict=True)
            ]
            if not len(proposals.flags) and any(fresh):
                self._adapt(0)
                self.failures = 0
            self.active.add(refined.flags[fresh], refined.signs[fresh])
        if self.active.count == self.active.seen:
            return False
        self.active.linearise()
        return True

    def _adapt(self, found: int) -> None:
        """Look harder when nothing was found, and less hard when plenty was."""
        hardest = len(self._efforts) - 1
        self.failures = self.failures + 1 if found == 0 and self._effort == hardest else 0
        if found == 0 and self._effort < hardest:
            self._effort += 1
        elif found > PLENTY and self._effort > 1:
            self._effort -= 1

    def admit(self, flags: FlagArray, signs: FloatArray) -> None:
        """Let vertices in with weight 0."""
        self.active.add(flags, signs)
        self.active.linearise()

    def correct(self, seconds: float = math.inf) -> None:
        """Find the best weights, as exactly as the progress of the pricing is worth.

        With many vertices and too few seconds left they are good and not the best.
        """
        self._exactness = max(0.0, min(self.gain, self.active.value)) / 64.0
        self.active.correct(self._exactness, seconds)

    def rescale(self, factor: float, tolerance: float) -> None:
        """Go on with a radius that is ``factor`` times what it was."""
        self.active.rescale(factor)
        self._tolerance = tolerance
        self._exactness = self.gain = np.inf
        self._effort = self.failures = 0

    def capture(self) -> Tree:
        """Return the vertices and how hard the next round looks."""
        return {
            "active": self.active.capture(),
            "gain": float(self.gain),
            "exactness": float(self._exactness),
            "failures": int(self.failures),
            "effort": int(self._effort),
            "runs": int(self.runs),
            "priced": int(self._pricing.runs),
        }

    def restore(self, saved: Branch) -> None:
        """Go on from where another one was."""
        self.active.restore(saved.branch("active"))
        self.gain, self._exactness = saved.number("gain"), saved.number("exactness")
        self.failures = saved.count("failures")
        self._effort = saved.count("effort", most=len(self._efforts) - 1)
        self.runs, self._pricing.runs = saved.count("runs"), saved.count("priced")

    @property
    def solved(self) -> bool:
        """Whether the fit itself is within the tolerance of the constant."""
        return self.active.value - self.active.cells.constant <= self._tolerance

    @property
    def idle(self) -> bool:
        """Whether only the hardest look is left, which a sample is not worth."""
        return self._effort == len(self._efforts) - 1

    @property
    def altmin_runs(self) -> int:
        """Descents so far, those on samples among them."""
        return self.runs + self._pricing.runs


@dataclass(frozen=True, slots=True)
class Fast(Version):
    """The default version."""

    tolerance_share: float = field(default=0.8, kw_only=True)
    patient: bool = field(default=False, kw_only=True)
    warm_start: bool = field(default=True, kw_only=True)
    signed: bool = field(default=True, kw_only=True)
    anywhere: bool = field(default=True, kw_only=True)

    def engine(self, observations: Data, *, exact: Oracle, settings: Settings) -> FastEngine:
        """Return an engine at the zero vertex."""
        return FastEngine(observations, exact=exact, settings=settings)

    def bytes_needed(self, n_cells: int, shape: Shape) -> int:
        """Return how many bytes a solve takes while it holds at most 64 vertices.

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
    """The corrective solver in the shape that the loop expects."""

    def __init__(
        self,
        observations: Data,
        *,
        exact: Oracle,
        settings: Settings,
    ) -> None:
        self._observations = observations
        self._radius = settings.radius
        self._radii = [settings.radius]
        self._tolerance = settings.tolerance(observations.mean_square) / settings.radius**2
        self._exact = exact
        self._rng = np.random.default_rng(settings.seed)
        self._workers = Workers(settings.threads)
        self._cells = open_cells(observations, settings.radius, self._workers, settings.device)
        self._core = Corrective(
            self._cells,
            rng=self._rng,
            tolerance=self._tolerance,
            signed=settings.signed,
            margin=UNPROVABLE if isinstance(exact, FreeBoundOracle) else PROVABLE,
        )
        self._signed = settings.signed
        self._seeded = False
        self._settled = True
        self._lenient = LENIENT
        self._budget = Budget()
        active = self._core.active
        self.state = State(value=active.value, bound=active.cells.constant)

    def local_gap(self) -> float:
        """Return infinity while new vertices wait for the master, which leaves nothing over."""
        return 0.0 if self._settled else np.inf

    def local_step(self) -> None:
        """Solve the master, in the time that the last separation left."""
        self._core.correct(self._budget.remaining)
        self._settled = True
        self.state.value = self._core.active.value

    def separate(self, budget: Budget) -> None:
        """Let new vertices in, or certify when there seem to be none."""
        core, state = self._core, self.state
        self._budget = budget
        if not self._seeded:
            self._seeded = True
            self._settled = not core.seed(budget)
        if self._settled:
            self._settled = not core.price(budget)
        if core.failures >= PATIENCE:
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
        """Return the vertices with weight, and the weights, negative for a minus."""
        active = self._core.active
        used = active.weights > 0.0
        return active.flags[used], active.weights[used] * active.signs[used]

    def start_from(self, model: Model, budget: Budget) -> None:
        """Begin with the vertices of a model, at good weights for the cells.

        No sample is solved then. When time runs out on the way, only the first vertices are taken.
        """
        flags, signs = model.vertices.flags(), np.sign(model.weights)
        self._seeded, self._budget = True, budget
        for start in range(0, len(flags), POOL):
            if start and budget.spent:
                break
            self._core.admit(flags[start : start + POOL], signs[start : start + POOL])
        self.local_step()

    def rescale(self, settings: Settings) -> None:
        """Go on with the radius of other settings: vertices and tensor stay, the proof goes."""
        factor = settings.radius / self._radius
        self._radius = settings.radius
        self._radii.append(settings.radius)
        self._tolerance = settings.tolerance(self._observations.mean_square) / settings.radius**2
        self._core.rescale(factor, self._tolerance)
        self._settled = self._core.active.count == 0
        self._lenient = LENIENT
        self._budget = Budget()
        active = self._core.active
        self.state = State(value=active.value, bound=active.cells.constant)

    def capture(self) -> Tree:
        """Return all that the next round depends on, but for the cells."""
        return {
            "radii": np.array(self._radii),
            "seeded": self._seeded,
            "settled": self._settled,
            "lenient": self._lenient,
            "random": capture_random(self._rng),
            "core": self._core.capture(),
            "state": capture_state(self.state),
        }

    def restore(self, saved: Branch) -> None:
        """Go on from where an engine of the same cells and first radius was."""
        radii = saved.finite_array("radii", (None,)).tolist()
        if not radii or min(radii) <= 0.0 or radii[0] != self._radius:
            raise saved.damaged("it begins with another radius")
        for before, after in itertools.pairwise(radii):  # each leaves its rounding in the targets
            self._cells.rescale(after / before)
        self._radii, self._radius = radii, radii[-1]
        self._core.restore(saved.branch("core"))
        self._seeded, self._settled = saved.flag("seeded"), saved.flag("settled")
        self._lenient = saved.count("lenient", most=LENIENT)
        restore_random(self._rng, saved.branch("random"))
        restore_state(self.state, saved.branch("state"), int(self._cells.offsets[-1]))

    def close(self) -> None:
        """Let go of threads."""
        self._workers.close()

    @property
    def n_active(self) -> int:
        """Vertices with weight."""
        return self._core.active.master.size

    @property
    def altmin_runs(self) -> int:
        """Descents so far."""
        return self._core.altmin_runs

    @property
    def drops(self) -> int:
        """Vertices let go so far."""
        return self._core.active.drops

    def _certify(self, budget: Budget) -> None:
        """Ask the exact oracle for vertices that the heuristic missed, or for a bound."""
        if isinstance(self._exact, FreeBoundOracle) and not isinstance(
            self._observations, Observations
        ):
            self._bound_afar()
            return
        state, core = self.state, self._core
        objective = build_objective(self._observations.host(), self._radius)
        x = self._cells.iterate()
        gradient = objective.gradient(x)
        product = inner(gradient, x)
        allowed = self._allowed_gap(objective)
        flags, weights = self.vertices()
        heaviest = flags[int(np.argmax(weights))] if len(flags) else None
        bound, core.gain, gains_enough = np.inf, -np.inf, False
        pool: list[FlagArray] = []
        signs: list[float] = []
        for sign in (1.0, -1.0) if self._signed else (1.0,):
            goal = Goal(product=product, phi=allowed, pool=POOL)
            answer = self._exact.minimise(
                sign * gradient, goal=goal, incumbent=heaviest, budget=budget
            )
            state.exact_calls += 1
            bound = min(bound, answer.bound)
            core.gain = max(core.gain, product - answer.value)
            gains_enough |= product - answer.value > goal.phi
            found = answer.flags[np.newaxis] if answer.pool is None else answer.pool
            fresh = [row for row in found if key(row, sign) not in core.active.known]
            pool += fresh
            signs += [sign] * len(fresh)
        witness = Witness(flags=flags.copy(), weights=weights.copy(), source=answer.source)
        state.prove(objective.lower_bound(gradient, bound), witness)
        if gains_enough and pool:
            core.failures = 0
            self._lenient = LENIENT
            core.admit(np.array(pool), np.array(signs))
            self._settled = False
        elif gains_enough and self._lenient > 0:
            self._lenient -= 1  # all are known: the master was not exact enough
            core.active.linearise()
            self._settled = False
        else:
            state.exhausted = True

    def _bound_afar(self) -> None:
        """Prove the free bound with sums over cells that stay where they are."""
        if not self._signed:
            sums = self._cells.bound_sums()
            bound = bound_from_sums(
                self._cells.constant,
                sums.cheapest * (1.0 + self._cells.n_cells * np.finfo(np.float64).eps),
                product=sums.product,
                size=sums.size,
                square=sums.square,
                terms=self._cells.n_cells,
            )
            flags, weights = self.vertices()
            witness = Witness(flags=flags.copy(), weights=weights.copy(), source="free")
            self.state.prove(bound, witness)
        self.state.exhausted = True

    def _allowed_gap(self, objective: Objective) -> float:
        """Return how much a vertex may gain without keeping the proven gap above the tolerance.

        A gain of g at most proves a gap of ``g - g^2 / (4 f0)`` (``Objective.lower_bound``).
        """
        wanted = 0.75 * self._tolerance
        fit = self.state.value - objective.constant
        if wanted >= fit:
            return 2.0 * wanted
        return 2.0 * wanted / (1.0 + float(np.sqrt(1.0 - wanted / fit)))
