"""Solving without the indices that never occur: the way in, and the way back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from intensor.data.observations import Observations
from intensor.model.model import Model
from intensor.problem.reindex import Whole, leave_out
from intensor.solver.result import Result

__all__ = ["condense", "expand_model", "expand_result"]


def condense(observations: Observations) -> tuple[Observations, Whole | None]:
    """Return observations without the indices that never occur, and the full tensor.

    Examples
    --------
    >>> from intensor.data.observations import observe
    >>> few, whole = condense(observe([[70, 0], [900, 2]], [1.0, 2.0]))
    >>> few.shape, whole.shape
    ((2, 2), (901, 3))
    """
    coords, whole = leave_out(observations.coords, observations.shape)
    if whole is None:
        return observations, None
    narrow = tuple(
        column.astype(np.min_scalar_type(length - 1), copy=False)
        for column, length in zip(coords, whole.condensed, strict=True)
    )
    return replace(observations, shape=whole.condensed, coords=narrow), whole


def expand_model(model: Model, whole: Whole) -> Model:
    """Return a model of the condensed tensor as one of the full tensor."""
    return replace(model, vertices=whole.spread_vertices(model.vertices))


def expand_result(result: Result, whole: Whole) -> Result:
    """Return a result for the condensed tensor as one for the full tensor."""
    witness = None if result.witness is None else expand_model(result.witness, whole)
    return replace(result, model=expand_model(result.model, whole), witness=witness)
