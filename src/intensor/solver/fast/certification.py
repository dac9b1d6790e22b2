"""The exact oracle's part in the fast engine: vertices that pricing missed, or a proof."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from typing import NamedTuple

import numpy as np

from intensor._arrays import FlagArray, FloatArray
from intensor.oracles.base import Goal, Oracle
from intensor.runtime.budget import Budget
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
