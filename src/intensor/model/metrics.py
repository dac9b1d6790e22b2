"""How far a model is from another, without visiting a cell."""

from __future__ import annotations

import numpy as np

from intensor.errors import SettingError, ShapeError
from intensor.model.model import Model, build_model

__all__ = ["nmse"]


def nmse(model: Model, truth: Model) -> float:
    """Return the normalised squared error ``|model - truth|^2 / |truth|^2`` over all cells.

    Both are sums of boxes, and the overlap of two boxes is a product over modes: the cost
    is (number of boxes)^2 x sum(shape), whatever the size of the tensor. Vertices that both
    models hold are merged first, so that equal models give exactly 0.
    """
    for name, given in (("model", model), ("truth", truth)):
        if not isinstance(given, Model):
            raise SettingError(
                f"the {name} is a {type(given).__name__}; expected a Model, such as result.model, "
                "fit.model or planted(...).truth"
            )
    if model.shape != truth.shape:
        raise ShapeError(f"the model has shape {model.shape}, the truth {truth.shape}")
    size = _square(truth)
    if size == 0.0:
        raise ShapeError("the truth is zero everywhere: its normalised error is not defined")
    difference = build_model(
        np.concatenate((model.vertices.flags(), truth.vertices.flags())),
        np.concatenate((model.weights, -truth.weights)),
        shape=truth.shape,
        radius=truth.radius,
    )
    return max(0.0, _square(difference)) / size


def _square(model: Model) -> float:
    return float(model.weights @ model.vertices.overlaps(model.vertices) @ model.weights)
