"""The exact oracle's part in an engine: vertices that pricing missed, or a proof."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from typing import NamedTuple

import numpy as np

from intensor._arrays import AnyArray, FlagArray, FloatArray, inner
from intensor.backends.base import Cells
from intensor.backends.select import Data
from intensor.data.observations import Observations
from intensor.oracles.base import Goal, Oracle
from intensor.oracles.cascade import FreeBoundOracle
from intensor.problem.objective import bound_from_sums, build_objective
from intensor.runtime.budget import Budget
from intensor.solver.engine import State, Witness
from intensor.solver.fast.gram_set import key

PROVEN_SHARE = 0.75  # share of the tolerance that the proven gap is to reach


class Findings(NamedTuple):
    """Answers of an exact oracle at one point, over all signs."""

    bound: float  # no vertex of any sign costs less
    gain: float  # gain of the best vertex
    gains_enough: bool  # whether some vertex gains more than the goal asked for
    flags: list[FlagArray]  # the vertices found that were not known
    signs: list[float]  # their signs
    source: str  # name of the oracle


def ask_exact(
    oracle: Oracle,
    gradient: FloatArray,
    *,
    product: float,
    allowed: float,
    pool: int,
    polytope_signs: Sequence[float],
    incumbent: FlagArray | None,
    known: Container[bytes],
    budget: Budget,
) -> Findings:
    """Ask the exact oracle once per sign of the polytope, with the incumbent as a start.

    ``product`` is gradient times iterate. Vertices that gain at most ``allowed`` are not asked for.
    Each call brings at most ``pool`` vertices, and those in ``known`` are left out.
    """
    bound, gain, gains_enough, source = math.inf, -math.inf, False, ""
    flags: list[FlagArray] = []
    signs: list[float] = []
    for sign in polytope_signs:
        goal = Goal(product=product, phi=allowed, pool=pool)
        answer = oracle.minimise(sign * gradient, goal=goal, incumbent=incumbent, budget=budget)
        bound, source = min(bound, answer.bound), answer.source
        gain = max(gain, product - answer.value)
        gains_enough |= product - answer.value > goal.phi
        found = answer.flags[np.newaxis] if answer.pool is None else answer.pool
        fresh = [row for row in found if key(row, sign) not in known]
        flags += fresh
        signs += [sign] * len(fresh)
    return Findings(bound, gain, gains_enough, flags, signs, source)


def allowed_gain(tolerance: float, error: float) -> float:
    """Return how much a vertex may gain without keeping the proven gap above the tolerance.

    A gain of at most g proves a gap of ``g - g^2 / (4 error)`` (``Objective.lower_bound``), where
    the error is the objective without its constant.
    """
    wanted = PROVEN_SHARE * tolerance
    if wanted >= error:
        return 2.0 * wanted
    return 2.0 * wanted / (1.0 + float(np.sqrt(1.0 - wanted / error)))


class Prover:
    """Asks the exact oracle of a solve, and records what it proves.

    ``polytope_signs`` are 1, and in the signed polytope also -1. A call brings at most ``pool``
    vertices.
    """

    def __init__(
        self, exact: Oracle, observations: Data, *, polytope_signs: Sequence[float], pool: int
    ) -> None:
        self._exact = exact
        self._observations = observations
        self._signs = polytope_signs
        self._pool = pool

    @property
    def searches(self) -> bool:
        """Whether the oracle searches; otherwise there is only the free bound."""
        return not isinstance(self._exact, FreeBoundOracle)

    def ask(
        self,
        state: State,
        cells: Cells,
        terms: tuple[AnyArray, FloatArray],
        *,
        radius: float,
        tolerance: float,
        known: Container[bytes],
        budget: Budget,
    ) -> Findings | None:
        """Ask for vertices at the point that the cells were last evaluated at, or for a bound.

        ``terms`` are the vertices or factors of that point, and their weights. Cells that are not
        in memory have nothing but the free bound when the oracle does not search: None then.
        """
        if not self.searches and not isinstance(self._observations, Observations):
            self._prove_free_bound(state, cells, terms)
            return None
        objective = build_objective(self._observations.host(), radius)
        x = cells.iterate()
        gradient = objective.gradient(x)
        found = ask_exact(
            self._exact,
            gradient,
            product=inner(gradient, x),
            allowed=allowed_gain(tolerance, state.value - objective.constant),
            pool=self._pool,
            polytope_signs=self._signs,
            incumbent=_heaviest(*terms),
            known=known,
            budget=budget,
        )
        state.exact_calls += len(self._signs)
        state.prove(objective.lower_bound(gradient, found.bound), _witness(terms, found.source))
        return found

    def _prove_free_bound(
        self, state: State, cells: Cells, terms: tuple[AnyArray, FloatArray]
    ) -> None:
        """Prove the free bound with sums over cells that stay where they are."""
        if len(self._signs) > 1:
            return
        sums = cells.bound_sums()
        bound = bound_from_sums(
            cells.constant,
            sums.cheapest * (1.0 + cells.n_cells * np.finfo(np.float64).eps),
            product=sums.product,
            size=sums.size,
            square=sums.square,
            terms=cells.n_cells,
        )
        state.prove(bound, _witness(terms, "free"))


def _heaviest(factors: AnyArray, weights: FloatArray) -> FlagArray | None:
    """Return the term of the largest weight as a vertex, with factors rounded; None without any."""
    if not len(weights):
        return None
    rounded: FlagArray = (factors[int(np.argmax(weights))] > 0.5).astype(np.uint8)
    return rounded


def _witness(terms: tuple[AnyArray, FloatArray], source: str) -> Witness:
    factors, weights = terms
    return Witness(factors=factors.copy(), weights=weights.copy(), source=source)
