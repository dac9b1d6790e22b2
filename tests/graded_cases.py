"""Models with graded components: random ones, their dense tensors, and honest results of them."""

import dataclasses

import numpy as np

from intensor.certificate.recount import Layout, Point, cheapest_vertex, group
from intensor.model.model import build_model, join_models
from intensor.solver.result import Status

SHAPES = [(6,), (3, 4), (2, 5, 3), (3, 2, 1, 4), (2, 2, 3, 1, 2)]
SHARE = 0.02
"""Share of a random model in the model of a graded result."""


def random_rows(shape, *, boxes, graded, seed=0, signed=False):
    """Return (boxes + graded, sum(shape)) factors, mixed up, and weights that sum to 1 in size."""
    rng = np.random.default_rng([seed, boxes, graded, *shape])
    count = boxes + graded
    rows = rng.integers(0, 2, (count, sum(shape))).astype(float)
    rows[:, np.cumsum(shape) - 1] = 1.0  # no term is empty
    rows[boxes:] *= rng.uniform(0.05, 1.0, (graded, sum(shape)))
    weights = rng.uniform(0.1, 1.0, count)
    if signed:
        weights[::2] *= -1.0
    order = rng.permutation(count)
    return rows[order], weights[order] / np.abs(weights).sum()


def random_model(shape, *, boxes=3, graded=4, seed=0, signed=False, radius=1.0):
    rows, weights = random_rows(shape, boxes=boxes, graded=graded, seed=seed, signed=signed)
    return build_model(rows, radius * weights, shape=shape, radius=radius, signed=signed)


def by_hand(rows, weights, shape):
    """Return the dense tensor as a sum of outer products."""
    dense = np.zeros(shape)
    for row, weight in zip(rows, weights, strict=True):
        tensor = np.array(weight)
        for part in np.split(np.asarray(row, dtype=float), np.cumsum(shape)[:-1]):
            tensor = np.multiply.outer(tensor, part)
        dense += tensor
    return dense


def graded_result(result, coords, values):
    """Return a result of the same problem with a graded model, its own witness and its bound.

    The model is a mean of that of the result and of a random one, so it is feasible. The random
    one has so little weight that a bound can be proven at the mean.
    """
    shape, radius, signed = result.model.shape, result.model.radius, result.model.signed
    other = random_model(shape, radius=radius, signed=signed)
    model = join_models(
        [result.model, other],
        [(1.0 - SHARE) * result.model.weights, SHARE * other.weights],
        radius=radius,
        signed=signed,
    )
    data = group(np.asarray(coords), np.asarray(values), np.ones(len(values)))
    point, layout = Point(model, data), Layout.of(data.cells)
    signs = (1.0, -1.0) if signed else (1.0,)
    cheapest = min(cheapest_vertex(layout, sign * point.gradient) for sign in signs)
    bound = point.bound(radius * cheapest)
    assert bound > 1.01 * data.within, "the witness proves nothing"
    return dataclasses.replace(
        result,
        status=Status.STALLED,
        model=model,
        objective=point.objective,
        witness=model,
        bound=bound,
    )


def graded_fit(fit, coords, values):
    """Return a fit without transform and baseline with a graded model in the place of its own."""
    result = graded_result(fit.result, coords, values)
    predictor = dataclasses.replace(fit.predictor, model=result.model)
    return dataclasses.replace(fit, predictor=predictor, result=result)


def graded_model_in(fit, *, boxes=3, graded=4):
    """Return a fit that predicts with a random model; its certificate is that of another."""
    options = {"signed": fit.model.signed, "radius": fit.radius}
    model = random_model(fit.shape, boxes=boxes, graded=graded, **options)
    result = dataclasses.replace(fit.result, model=model)
    predictor = dataclasses.replace(fit.predictor, model=model)
    return dataclasses.replace(fit, predictor=predictor, result=result)
