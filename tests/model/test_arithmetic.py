"""Means, errors and smaller radii of models with graded components; boxes have tests elsewhere."""

import numpy as np
import pytest

from graded_cases import SHAPES, random_model
from intensor import nmse
from intensor.model.arithmetic import average_models, shrunk

KINDS = [(0, 4), (3, 0), (3, 4), (1, 1)]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_error_agrees_with_dense_tensors(shape):
    models = [
        random_model(shape, boxes=boxes, graded=graded, seed=number)
        for number, (boxes, graded) in enumerate(KINDS)
    ]
    for model in models:
        assert nmse(model, model) == 0.0
        for truth in models:
            one, other = model.to_dense(), truth.to_dense()
            expected = ((one - other) ** 2).sum() / (other**2).sum()
            assert nmse(model, truth) == pytest.approx(expected, rel=1e-10, abs=1e-14)


@pytest.mark.parametrize("signed", [False, True])
def test_the_mean_is_that_of_the_tensors_and_feasible(signed):
    models = [random_model((4, 3, 5), seed=seed, signed=signed) for seed in range(3)]
    average = average_models([*models, models[0]])
    mean = np.mean([model.to_dense() for model in (*models, models[0])], axis=0)
    np.testing.assert_allclose(average.to_dense(), mean, atol=1e-14)
    assert average.gauge <= 1.0 + 1e-12
    assert average.signed is signed
    assert len(average.components) == 12, "equal components are merged"
    assert average_models(models[:1]) is models[0]
    assert average_models([models[1], models[1]]) == models[1]


def test_boxes_and_components_are_averaged_together():
    plain, graded = (random_model((4, 5), boxes=b, graded=g) for b, g in ((3, 0), (0, 4)))
    average = average_models([plain, graded])
    assert (len(average.vertices), len(average.components)) == (3, 4)
    np.testing.assert_allclose(average.to_dense(), (plain.to_dense() + graded.to_dense()) / 2)


def test_a_smaller_radius_shrinks_all_weights():
    model = random_model((4, 5), radius=3.0, signed=True)
    radius = 0.5 * model.gauge
    small = shrunk(model, radius)
    np.testing.assert_allclose(small.to_dense(), 0.5 * model.to_dense(), rtol=1e-12)
    assert (small.radius, small.components) == (radius, model.components)
    assert np.array_equal(shrunk(model, 9.0).weights, model.weights)
