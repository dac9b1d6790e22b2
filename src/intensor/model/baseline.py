"""The additive baseline: a mean and one effect per index, taken out before boxes are fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from intensor._arrays import AnyArray, FloatArray, Shape, inner
from intensor.data.observations import Observations
from intensor.problem.vertex import mode_offsets

RIDGE = 5.0
"""Strength of the pull of effects towards 0, as a number of observations of 0 of each index."""


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


def fit_baseline(observations: Observations, *, ridge: float = RIDGE) -> Baseline:
    """Fit main effects by least squares with a ridge on the effects.

    The normal equations have sum(shape) unknowns and are solved by conjugate gradients.
    """
    import scipy.sparse as sp  # noqa: PLC0415
    from scipy.sparse.linalg import cg  # noqa: PLC0415

    offsets = mode_offsets(observations.shape)
    weights = observations.cell_shares() * float(observations.n)
    mean = inner(weights, observations.means) / float(weights.sum())
    indices = np.stack(observations.coords, dtype=np.int64) + offsets[:-1, np.newaxis]
    cells = np.broadcast_to(np.arange(observations.n_cells), indices.shape)
    design = sp.csr_array(
        (np.ones(indices.size), (cells.ravel(), indices.ravel())),
        shape=(observations.n_cells, int(offsets[-1])),
    )
    normal = (design.T * weights) @ design
    normal = (normal + ridge * sp.eye_array(normal.shape[0])).tocsr()
    right = design.T @ (weights * (observations.means - mean))
    jacobi = sp.diags_array(1.0 / normal.diagonal())
    effects, _ = cg(normal, right, rtol=1e-12, maxiter=10 * right.size, M=jacobi)
    return Baseline(shape=observations.shape, mean=mean, effects=np.asarray(effects))
