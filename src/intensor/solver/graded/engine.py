"""The graded engine: conditional gradients with components whose factors move.

Pricing enters boxes as it does in the fast engine, a few at a time, and sweeps over the modes turn
them into graded components. At the largest number of components, a box that promises more takes the
place of the weakest one, if the objective falls. Gradient, oracles and bound are those of boxes,
because the polytope is the same.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from intensor._arrays import FlagArray, FloatArray, Shape
from intensor.backends.base import Cells
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
    CELLS_PER_SAMPLED_CELL,
)
from intensor.solver.fast.pricing import Pricing, Proposals
from intensor.solver.fast.tuning import TUNING, Effort
from intensor.solver.graded.component_set import MAX_EQUATION_BYTES, ComponentSet
from intensor.solver.settings import Settings
from intensor.solver.snapshot import capture_random, capture_state, restore_random, restore_state
from intensor.storage.reader import Tree, TreeReader

DEFAULT_COMPONENTS = 32  # largest number of components if none is given
EFFORTS = (Effort(1, 32, 8, 16), Effort(1, 64, 60, 16), Effort(4, 64, 60, 16))
"""Efforts of pricing in rising order; each failure moves on to the next."""
COMPONENTS_PER_ENTRY = 3
"""One box enters per round for this many components in use: a few at a time, so that each meets
residuals to which the last ones have adapted."""
FIRST_SETTLED_SHARE, LAST_SETTLED_SHARE = 1e-3, 1e-9
"""Sweeps at the largest number of components go on until one lowers the error by less than this
share of it. The share falls from the first to the last as replacements fail."""
STALLED_SHARE = 1e-5
"""A round of new boxes that lowers the error by less than this share of it was of no use."""
SETTLED_RATIO = 0.1  # factor on that share after every replacement that failed
SETTLED_TOLERANCE_SHARE = 0.05
"""Sweeps also end when one lowers the objective by less than this share of the tolerance."""
TRIAL_SWEEPS = 3  # sweeps after which a replacement must have lowered the objective
WORTHWHILE_TOLERANCE_SHARE = 0.25
"""A replacement that lowers the objective by less than this share of the tolerance is kept, but
others like it are not looked for."""
MIN_SAMPLED_CELLS = 1 << 20
"""Fewest cells for which components are first found on a sample."""
SAMPLED_CELLS_PER_INDEX = 128
"""Cells of a sample per index of any mode: enough to say where components begin."""
SAMPLE_SWEEPS = 8  # most sweeps over a sample once it has all components
FACTOR_COPIES = 4
"""Arrays of the size of all factors that a sweep or a trial holds at a time."""
MAX_EXACT_REPLACEMENTS = 30
"""Most replacements by boxes of the exact oracle, each of which lowers the objective."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded(Version):
    """The version of graded components.

    With ``max_sweeps``, an engine stops after so many sweeps at its largest number of components,
    and replaces none: further steps would follow the noise of the observations.
    """

    max_components: int = DEFAULT_COMPONENTS
    max_sweeps: int | None = None
    tolerance_share: float = 0.8
    patient: bool = False
    warm_start: bool = True
    signed: bool = True
    anywhere: bool = True

    def engine(self, observations: Data, *, exact: Oracle, settings: Settings) -> GradedEngine:
        """Return an engine without components."""
        return GradedEngine(
            observations,
            exact=exact,
            settings=settings,
            max_components=self.max_components,
            max_sweeps=self.max_sweeps,
        )

    def bytes_needed(self, n_cells: int, shape: Shape) -> int:
        """Return the bytes that a solve takes: the cells once more per mode, and the components."""
        sorted_cells = len(shape) * (cell_bytes(n_cells, shape) + 8 * n_cells)
        equations = min(MAX_EQUATION_BYTES, 16 * self.max_components**2 * max(shape))
        factors = FACTOR_COPIES * 8 * self.max_components * sum(shape)
        return cell_bytes(n_cells, shape) + sorted_cells + equations + factors


class GradedEngine:
    """Components behind the interface of the loop."""

    def __init__(
        self,
        observations: Data,
        *,
        exact: Oracle,
        settings: Settings,
        max_components: int,
        max_sweeps: int | None = None,
    ) -> None:
        self._observations = observations
        self._radii = [settings.radius]
        self._tolerance = settings.tolerance(observations.mean_square) / settings.radius**2
        self._max_components = max_components
        self._max_sweeps = max_sweeps
        self._rng = np.random.default_rng(settings.seed)
        self._workers = Workers(settings.threads)
        self._cells = open_cells(observations, settings.radius, self._workers, settings.device)
        self._prover = Prover(
            exact,
            observations,
            polytope_signs=(1.0, -1.0) if settings.signed else (1.0,),
            pool=TUNING.exact_pool,
        )
        self._pricing = Pricing(self._rng, signed=settings.signed)
        self._budget = Budget()
        self._begin(ComponentSet(self._cells))

    def _begin(self, components: ComponentSet) -> None:
        """Start the search over with some components, at the present radius."""
        self._set = components
        self._effort = 0
        self._gain = np.inf
        self._settled_share = FIRST_SETTLED_SHARE
        self._exact_replacements = 0
        self._sweeps = 0  # at the largest number of components
        self._settled = components.count == 0
        self._sampled = components.count > 0
        self.state = State(value=components.value, bound=self._cells.constant)

    @property
    def max_components(self) -> int:
        """Largest number of components."""
        return self._max_components

    def local_gap(self) -> float:
        """Return infinity while sweeps lower the objective enough, and 0 after that."""
        return 0.0 if self._settled else np.inf

    def local_step(self) -> None:
        """Sweep over all modes once."""
        full = self._set.count >= self._max_components
        fall = self._set.sweep(self._budget)
        self._sweeps += full
        self._look_at(fall)

    def _look_at(self, fall: float) -> None:
        """Take over the objective of the components, and see whether another sweep is worth it."""
        self.state.value = self._set.value
        if self._max_sweeps is not None and self._sweeps >= self._max_sweeps:
            self._settled = True
            return
        least = max(self._settled_share * self._error, SETTLED_TOLERANCE_SHARE * self._tolerance)
        growing = self._set.count < self._max_components and self._effort == 0
        if growing and fall <= STALLED_SHARE * self._error:
            self._effort = 1  # what entered was of no use
        self._settled = growing or fall <= least

    def separate(self, budget: Budget) -> None:
        """Let new boxes in, replace components by better ones, or ask for a proof."""
        self._budget = budget
        if not self._sampled:
            self._sampled = True
            if self._start_from_sample(budget):
                self._settled = False
                return
        self._set.evaluate()
        self.state.value = self._set.value
        proposals = self._price(budget)
        if self._gains_enough(self._gain):
            self._take_in(proposals, budget)
        else:
            self._look_harder(budget)
        self.state.gain = self._gain
        self.state.phi = max(min(self._gain, self.state.value) / 2.0, 1e-300)

    def _gains_enough(self, gain: float) -> bool:
        share = (
            ADMISSION_SHARE_WITH_PROOF if self._prover.searches else ADMISSION_SHARE_WITHOUT_PROOF
        )
        rounding = 8.0 * float(np.finfo(np.float64).eps) * self.state.value
        return gain > max(share * self._tolerance, rounding)

    def _price(self, budget: Budget) -> Proposals:
        """Look for boxes at the gradient of the components."""
        target = PricedComponents(self._set, self._rng)
        proposals = self._pricing.propose(target, EFFORTS[self._effort], budget)
        self._gain = proposals.best
        return proposals

    def _take_in(self, proposals: Proposals, budget: Budget) -> None:
        """Let boxes in while there is room; otherwise try them in the place of the weakest."""
        room = self._find_room()
        if room > 0:
            self._enter(self._set, proposals, room)
            self._settled = False
        elif self._max_sweeps is not None:
            self._certify(budget)
        elif self._replace_weakest(proposals.flags, proposals.signs, budget):
            self._effort, self._settled = 0, False
        else:
            self._sweep_closer_or_prove(budget)

    def _find_room(self) -> int:
        """Return how many components may enter; at the limit, equal ones are merged first."""
        if self._set.count >= self._max_components:
            self._set.merge_equal()
        return self._max_components - self._set.count

    @staticmethod
    def _enter(components: ComponentSet, proposals: Proposals, room: int) -> None:
        entering = min(room, max(1, components.count // COMPONENTS_PER_ENTRY))
        components.add(proposals.flags[:entering], proposals.signs[:entering])

    def _replace_weakest(self, flags: FlagArray, signs: FloatArray, budget: Budget) -> bool:
        """Try the best box in the place of the weakest component; say whether that was worth it."""
        trial = self._set.copy()
        weakest = int(np.argmin(trial.losses()))
        trial.keep(np.delete(np.arange(trial.count), weakest))
        trial.add(flags[:1], signs[:1])
        for _ in range(TRIAL_SWEEPS):
            trial.sweep(budget)
            fall = self._set.value - trial.value
            if fall > 0.0:
                self._set = trial
                self.state.value = trial.value
                return fall > WORTHWHILE_TOLERANCE_SHARE * self._tolerance
        self._set.evaluate()  # the gradient on the cells belongs to the components in use
        return False

    def _sweep_closer_or_prove(self, budget: Budget) -> None:
        """Ask more of the sweeps when no replacement helps, and for a proof in the end."""
        enough = SETTLED_TOLERANCE_SHARE * self._tolerance
        if self._settled_share * self._error > enough and self._settled_share > LAST_SETTLED_SHARE:
            self._settled_share *= SETTLED_RATIO
            self._settled = False
        else:
            self._look_harder(budget)

    def _look_harder(self, budget: Budget) -> None:
        """Price harder in the next round, or ask the exact oracle if that was the hardest."""
        if self._effort < len(EFFORTS) - 1 and self._max_sweeps is None:
            self._effort += 1
            self._settled = False  # one more sweep, with a closer look at what it gains
        else:
            self._certify(budget)

    def _certify(self, budget: Budget) -> None:
        """Ask the exact oracle for vertices that the heuristic missed, or for a bound.

        Sweeps leave the gradient on the cells behind. A bound is proven at the gradient of the
        components in use and at no other, so it is computed again here, whatever came before.
        """
        self._set.evaluate()
        self.state.value = self._set.value
        found = self._prover.ask(
            self.state,
            self._cells,
            self.vertices(),
            radius=self._radii[-1],
            tolerance=self._tolerance,
            known=(),
            budget=budget,
        )
        if found is None or not (found.gains_enough and found.flags):
            self.state.exhausted = True
            return
        self._gain = found.gain
        self._take_in_exact(found, budget)

    def _take_in_exact(self, found: Findings, budget: Budget) -> None:
        """Let in vertices of the exact oracle, or stop when there is no room for them."""
        flags, signs = np.array(found.flags), np.array(found.signs)
        room = self._find_room()
        if self._max_sweeps is not None:
            self.state.exhausted = True
        elif room > 0:
            self._set.add(flags[:room], signs[:room])
            self._settled = False
        elif self._exact_replacements < MAX_EXACT_REPLACEMENTS and self._replace_weakest(
            flags, signs, budget
        ):
            self._exact_replacements += 1
            self._settled = False
        else:
            self.state.exhausted = True

    def _start_from_sample(self, budget: Budget) -> bool:
        """Take over the components that solve a sample of the cells; say whether there are any."""
        cells = self._cells
        if cells.n_cells <= MIN_SAMPLED_CELLS:
            return False
        least = max(MIN_SAMPLED_CELLS // 2, SAMPLED_CELLS_PER_INDEX * sum(cells.shape))
        size = min(cells.n_cells // CELLS_PER_SAMPLED_CELL, least)
        sample = ComponentSet(cells.sample(size, self._rng))
        while sample.count < self._max_components and not budget.spent:
            sample.evaluate()
            target = PricedComponents(sample, self._rng)
            proposals = self._pricing.propose(target, EFFORTS[0], budget)
            if not self._gains_enough(proposals.best) or not len(proposals.flags):
                break
            self._enter(sample, proposals, self._max_components - sample.count)
            error = sample.value - sample.cells.constant
            if sample.sweep(budget) <= STALLED_SHARE * error:
                break
        for _ in range(SAMPLE_SWEEPS):
            error = sample.value - sample.cells.constant
            if budget.spent or sample.sweep(budget) <= FIRST_SETTLED_SHARE * error:
                break
        self._set.take(sample.factors, sample.signed_weights)
        self._set.price = sample.price
        self._set.evaluate()
        return self._set.count > 0

    def recombine(self) -> None:
        """Evaluate the components again."""
        self._set.stay_within_radius()
        self._set.evaluate()
        self.state.value = self._set.value

    def vertices(self) -> tuple[FloatArray, FloatArray]:
        """Return the (k, sum(shape)) factors of the components, and their weights with signs."""
        return np.ascontiguousarray(self._set.factors.T), self._set.signed_weights

    def start_from(self, model: Model, budget: Budget) -> None:
        """Begin with the components of a model, its boxes among them.

        If the model has more components than the engine may have, the heaviest are taken.
        """
        factors, weights = model.as_factors(), model.weights
        kept = np.argsort(-np.abs(weights), kind="stable")[: self._max_components]
        self._budget = budget
        self._set.take(factors[:, np.sort(kept)], weights[np.sort(kept)] / self._radii[-1])
        self._set.stay_within_radius()
        self._set.evaluate()
        self._begin(self._set)

    def rescale(
        self,
        settings: Settings,
        *,
        max_components: int | None = None,
        max_sweeps: int | None = None,
    ) -> None:
        """Go on with another radius or number of components: the tensor stays, the proof does not.

        When there are more components than allowed, the weakest are dropped.
        """
        factor = settings.radius / self._radii[-1]
        self._radii.append(settings.radius)
        self._tolerance = settings.tolerance(self._observations.mean_square) / settings.radius**2
        if max_components is not None:
            self._max_components = max_components
        if max_sweeps is not None:
            self._max_sweeps = max_sweeps
        self._set.rescale(factor)
        if self._set.count > self._max_components:
            strongest = np.argsort(-self._set.losses(), kind="stable")[: self._max_components]
            self._set.keep(np.sort(strongest))
            self._set.evaluate()
        self._budget = Budget()
        sampled = self._sampled
        self._begin(self._set)
        self._sampled = sampled

    def position(self) -> Tree:
        """Return a copy of the components, in the units of the data, to come back to."""
        return {
            "factors": self._set.factors.copy(),
            "weights": self._radii[-1] * self._set.signed_weights,
            "price": self._radii[-1] * self._set.price,
        }

    def go_to(self, position: TreeReader) -> None:
        """Take over the components of a position; ``rescale`` must be called next."""
        radius = self._radii[-1]
        factors = position.finite_array("factors", (int(self._cells.offsets[-1]), None))
        weights = position.finite_array("weights", (factors.shape[1],)) / radius
        self._set.take(factors.copy(), weights)
        self._set.price = position.finite("price") / radius

    def capture(self) -> Tree:
        """Return everything that the next round depends on, except the cells."""
        return {
            "radii": np.array(self._radii),
            "max_components": int(self._max_components),
            "components": self._set.capture(),
            "effort": int(self._effort),
            "gain": float(self._gain),
            "settled": bool(self._settled),
            "settled_share": float(self._settled_share),
            "sampled": bool(self._sampled),
            "sweeps": int(self._sweeps),
            "exact_replacements": int(self._exact_replacements),
            "priced": int(self._pricing.runs),
            "random": capture_random(self._rng),
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
        self._max_components = saved.count("max_components", least=1)
        self._set.restore(saved.branch("components"))
        self._effort = saved.count("effort", most=len(EFFORTS) - 1)
        self._gain = saved.number("gain")
        self._settled, self._sampled = saved.flag("settled"), saved.flag("sampled")
        self._settled_share = saved.finite("settled_share")
        self._exact_replacements = saved.count("exact_replacements")
        self._sweeps = saved.count("sweeps")
        self._pricing.runs = saved.count("priced")
        restore_random(self._rng, saved.branch("random"))
        restore_state(self.state, saved.branch("state"), int(self._cells.offsets[-1]))

    def close(self) -> None:
        """End the threads."""
        self._workers.close()

    @property
    def n_active(self) -> int:
        """Number of components."""
        return self._set.count

    @property
    def altmin_runs(self) -> int:
        """Number of descents so far."""
        return self._pricing.runs

    @property
    def drops(self) -> int:
        """Number of components removed so far."""
        return self._set.drops

    @property
    def _error(self) -> float:
        """Objective without the part that no fit can remove."""
        return self._set.value - self._cells.constant


class PricedComponents:
    """Components as pricing sees them: level sets at random heights are its known vertices."""

    def __init__(self, components: ComponentSet, rng: np.random.Generator) -> None:
        self.cells: Cells = components.cells
        self.product = components.product
        self.flags = components.level_sets(rng)
        self.signs = components.signs
        self.known: frozenset[bytes] = frozenset()
