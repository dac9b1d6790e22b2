"""Solving without the indices that never occur: the way in, and the way back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from intensor.data.observations import Observations
from intensor.model.model import Model
from intensor.problem.reindex import FullTensor, drop_unused_indices
from intensor.solver.result import Result


def condense(observations: Observations) -> tuple[Observations, FullTensor | None]:
    """Return observations without the indices that never occur, and the full tensor.

    Examples
    --------
    >>> from intensor.data.observations import observe
    >>> few, full = condense(observe([[70, 0], [900, 2]], [1.0, 2.0]))
    >>> few.shape, full.shape
    ((2, 2), (901, 3))
    """
    coords, full = drop_unused_indices(observations.coords, observations.shape)
    if full is None:
        return observations, None
    narrow = tuple(
        column.astype(np.min_scalar_type(length - 1), copy=False)
        for column, length in zip(coords, full.condensed, strict=True)
    )
    return replace(observations, shape=full.condensed, coords=narrow), full


def expand_model(model: Model, full: FullTensor) -> Model:
    """Return a model of the condensed tensor as one of the full tensor."""
    return replace(model, vertices=full.expand_vertices(model.vertices))


def expand_result(result: Result, full: FullTensor) -> Result:
    """Return a result for the condensed tensor as one for the full tensor."""
    witness = None if result.witness is None else expand_model(result.witness, full)
    return replace(result, model=expand_model(result.model, full), witness=witness)
