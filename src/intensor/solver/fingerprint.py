"""What data is known by: a few numbers that other data would not have.

Beside its size, that is the mean squared error of a fixed, random sum of boxes. It depends on every
cell, value and count, not on the order of the rows, and can be had wherever the data is: in memory,
on a device, in files or on a cluster.
"""

from __future__ import annotations

import numpy as np

from intensor._arrays import Shape
from intensor.backends.select import Data
from intensor.model.model import Model, build_model
from intensor.problem.reindex import Whole
from intensor.solver.loop import mean_squared_error
from intensor.storage.codec import Tree

__all__ = ["fingerprint", "random_boxes"]

BOXES = 32


def fingerprint(data: Data, whole: Whole | None = None) -> Tree:
    """Return the numbers that observations are known by.

    Parameters
    ----------
    whole
        The tensor that they are condensed from, if they are.
    """
    scale = float(np.sqrt(data.mean_square)) or 1.0
    return {
        "shape": [int(length) for length in (data if whole is None else whole).shape],
        "indices": [] if whole is None else whole.checksums(),
        "n": int(data.n),
        "n_cells": int(data.n_cells),
        "mean_square": float(data.mean_square),
        "random_boxes": mean_squared_error(random_boxes(data.shape, scale), data),
    }


def random_boxes(shape: Shape, scale: float) -> Model:
    """Return a random model that covers a cell with half of its boxes."""
    rng = np.random.default_rng([len(shape), *shape])
    flags = rng.random((BOXES, sum(shape))) < 0.5 ** (1.0 / len(shape))
    weights = scale * rng.random(BOXES) / BOXES
    return build_model(flags.astype(np.uint8), weights, shape=shape, radius=float(scale * BOXES))
