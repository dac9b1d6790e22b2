"""A proof for a model that is already there: how far it can be from the optimum of its radius."""

from __future__ import annotations

import contextlib
from typing import NamedTuple

import numpy as np

from intensor.backends.select import Data, open_cells
from intensor.model.model import Model
from intensor.oracles.base import Oracle
from intensor.runtime.budget import Budget
from intensor.runtime.threads import Workers
from intensor.solver.engine import State
from intensor.solver.fast.certification import Prover
from intensor.solver.fast.tuning import TUNING
from intensor.solver.settings import Settings


class ProvenBound(NamedTuple):
    """A lower bound of the objective, in the units of the data, and the oracle that proved it."""

    bound: float
    source: str


def prove_at(
    model: Model, observations: Data, *, exact: Oracle, settings: Settings, budget: Budget
) -> ProvenBound | None:
    """Ask the exact oracle once, at a model of the radius of the settings.

    Returns None if it proves nothing. The model itself is the witness of the bound.
    """
    with contextlib.closing(Workers(settings.threads)) as workers:
        cells = open_cells(observations, settings.radius, workers, settings.device)
        factors, weights = model.as_factors(), model.weights / settings.radius
        error, _ = cells.evaluate_components(np.ascontiguousarray(factors), weights)
        state = State(value=error + cells.constant, bound=cells.constant)
        signs = (1.0, -1.0) if settings.signed else (1.0,)
        Prover(exact, observations, polytope_signs=signs, pool=TUNING.exact_pool).ask(
            state,
            cells,
            (np.ascontiguousarray(factors.T), weights),
            radius=settings.radius,
            tolerance=settings.tolerance(observations.mean_square) / settings.radius**2,
            known=(),
            budget=budget,
        )
    if state.witness is None:
        return None
    return ProvenBound(state.bound * settings.radius**2, state.witness.source)
