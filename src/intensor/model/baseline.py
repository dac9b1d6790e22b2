"""The additive baseline: a mean and one effect per index, taken out before boxes are fitted."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from intensor._arrays import AnyArray, FloatArray, Shape, inner
from intensor.data.observations import Observations
from intensor.problem.vertex import mode_offsets
from intensor.runtime.budget import Budget
from intensor.runtime.threads import one_blas_thread

RIDGE = 5.0
"""Strength of the pull of effects towards 0, as a number of observations of 0 of each index."""
MAX_MULTIPLIED_CELLS = 1 << 17
"""Most cells for which the matrix of the normal equations is computed. It takes longer than all
steps if there are many cells, and modes so long that most pairs of indices occur once."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Baseline:
    """A mean plus one effect per index of every mode."""

    shape: Shape
    mean: float
    effects: FloatArray  # (sum(shape),), the modes end to end; 0 for an index without observations

    def evaluate(self, coords: Sequence[AnyArray]) -> FloatArray:
        """Return the baseline of cells given mode by mode; an index of -1 has no effect."""
        values = np.full(coords[0].shape[0], self.mean)
        for start, column in zip(mode_offsets(self.shape).tolist(), coords, strict=False):
            known = column >= 0
            effect = self.effects[start + np.where(known, column, 0)]
            values += effect if known.all() else np.where(known, effect, 0.0)
        return values


def fit_baseline(
    observations: Observations, *, ridge: float = RIDGE, budget: Budget | None = None
) -> Baseline:
    """Fit main effects by least squares with a ridge on the effects.

    The normal equations have sum(shape) unknowns and are solved by conjugate gradients, each of
    whose steps is a better solution than the last. When the budget is spent, the effects are those
    of the last step, and 0 before the first one.
    """
    import scipy.sparse as sp  # noqa: PLC0415
    from scipy.sparse.linalg import LinearOperator, cg  # noqa: PLC0415

    weights = observations.cell_shares() * float(observations.n)
    mean = inner(weights, observations.means) / float(weights.sum())
    steps = _Steps(sum(observations.shape), budget)
    with contextlib.suppress(_OutOfTimeError), one_blas_thread():
        steps(steps.effects)
        design = _design(observations)
        right = design.T @ (weights * (observations.means - mean))
        steps(steps.effects)
        if observations.n_cells <= MAX_MULTIPLIED_CELLS:
            normal = (design.T * weights) @ design
            normal = (normal + ridge * sp.eye_array(normal.shape[0])).tocsr()
            diagonal = normal.diagonal()
        else:
            diagonal = design.T @ weights + ridge
            normal = LinearOperator(
                (right.size, right.size),
                matvec=lambda x: design.T @ (weights * (design @ x)) + ridge * x,
                dtype=np.float64,
            )
        jacobi = sp.diags_array(1.0 / diagonal)
        found, _ = cg(normal, right, rtol=1e-12, maxiter=10 * right.size, M=jacobi, callback=steps)
        steps.effects = np.asarray(found)
    return Baseline(shape=observations.shape, mean=mean, effects=steps.effects)


class _OutOfTimeError(Exception):
    """The budget was spent between two steps."""


class _Steps:
    """Keeps the effects of the last step, and ends the steps when the budget is spent."""

    def __init__(self, count: int, budget: Budget | None) -> None:
        self.effects: FloatArray = np.zeros(count)
        self._budget = budget

    def __call__(self, effects: FloatArray) -> None:
        if self._budget is not None and self._budget.spent:
            self.effects = np.array(effects)
            raise _OutOfTimeError


def _design(observations: Observations) -> Any:
    """Return the sparse matrix that adds up the effects of every cell."""
    import scipy.sparse as sp  # noqa: PLC0415

    offsets = mode_offsets(observations.shape)
    n_modes, n_cells = len(observations.shape), observations.n_cells
    few = max(int(offsets[-1]), n_modes * n_cells) < 2**31
    columns = np.empty((n_cells, n_modes), dtype=np.int32 if few else np.int64)
    for mode, column in enumerate(observations.coords):
        np.add(column, offsets[mode], out=columns[:, mode], casting="unsafe")
    ends = np.arange(0, columns.size + 1, n_modes, dtype=columns.dtype)
    parts = (np.ones(columns.size), columns.ravel(), ends)
    return sp.csr_array(parts, shape=(n_cells, int(offsets[-1])))
