"""Arithmetic on models: how far two are apart, their mean, and a smaller radius."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from intensor.errors import SettingError, ShapeError
from intensor.model.model import Model, join_models


def shrunk(model: Model, radius: float) -> Model:
    """Return a model in the polytope of another radius, with smaller weights if they exceed it.

    Examples
    --------
    >>> import numpy as np
    >>> from intensor.model.model import build_model
    >>> flags = np.array([[1, 1, 0, 1]], dtype=np.uint8)
    >>> model = build_model(flags, np.array([3.0]), shape=(2, 2), radius=4.0)
    >>> shrunk(model, 2.0).weights.tolist(), shrunk(model, 8.0).weights.tolist()
    ([2.0], [3.0])
    """
    total = model.gauge
    weights = model.weights * (radius / total) if total > radius else model.weights
    return replace(model, radius=radius, weights=weights)


def average_models(models: Sequence[Model]) -> Model:
    """Return the mean of models of one polytope, with equal terms merged.

    The polytope is convex, so the mean lies in it.
    """
    if len(models) == 1:
        return models[0]
    return join_models(
        models,
        [model.weights / len(models) for model in models],
        radius=models[0].radius,
        signed=models[0].signed,
    )


def nmse(model: Model, truth: Model) -> float:
    """Return the normalised squared error ``|model - truth|^2 / |truth|^2`` over all cells.

    Both are sums of terms, and the inner product of two terms is a product over modes: the cost
    is (number of terms)^2 x sum(shape), whatever the size of the tensor. Terms that both
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
    difference = join_models(
        (model, truth), (model.weights, -truth.weights), radius=truth.radius, signed=False
    )
    return max(0.0, _square(difference)) / size


def _square(model: Model) -> float:
    """Return the sum of the squares of all cells."""
    vertices, components, count = model.vertices, model.components, len(model.vertices)
    plain, graded = model.weights[:count], model.weights[count:]
    square = float(plain @ vertices.overlaps(vertices) @ plain)
    if len(components):
        square += 2.0 * float(graded @ components.overlaps(vertices) @ plain)
        square += float(graded @ components.overlaps(components) @ graded)
    return square
