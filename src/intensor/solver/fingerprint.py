"""A fingerprint of the data: a few numbers that other data would not have.

Beside the size of the data, these are the mean square of the values and the mean squared error of a
fixed, random sum of boxes. The error depends on every cell, value and count but not on the order of
the rows, and it can be computed wherever the data is: in memory, on a device, in files or on a
cluster.
"""

from __future__ import annotations

import numpy as np

from intensor._arrays import Shape
from intensor.backends.select import Data
from intensor.model.model import Model, build_model
from intensor.problem.reindex import FullTensor
from intensor.solver.finish import mean_squared_error
from intensor.storage.reader import Tree

N_BOXES = 32
"""Number of boxes in the random model."""


def fingerprint(data: Data, full: FullTensor | None = None) -> Tree:
    """Return numbers that identify observations.

    Parameters
    ----------
    full
        The tensor before unused indices were removed, if there were any.
    """
    scale = float(np.sqrt(data.mean_square)) or 1.0
    return {
        "shape": [int(length) for length in (data if full is None else full).shape],
        "indices": [] if full is None else full.checksums(),
        "n": int(data.n),
        "n_cells": int(data.n_cells),
        "mean_square": float(data.mean_square),
        "random_boxes": mean_squared_error(random_boxes(data.shape, scale), data),
    }


def random_boxes(shape: Shape, scale: float) -> Model:
    """Return a random model in which half of the boxes cover any given cell."""
    rng = np.random.default_rng([len(shape), *shape])
    flags = rng.random((N_BOXES, sum(shape))) < 0.5 ** (1.0 / len(shape))
    weights = scale * rng.random(N_BOXES) / N_BOXES
    return build_model(flags.astype(np.uint8), weights, shape=shape, radius=float(scale * N_BOXES))
