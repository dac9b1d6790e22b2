"""Proofs for models that are already there: brute force confirms what they claim."""

import numpy as np
import pytest

import brute
import intensor
import zoo
from intensor.data.observations import observe
from intensor.model.arithmetic import average_models
from intensor.model.model import build_model
from intensor.oracles.base import Answer
from intensor.oracles.cascade import find_exact
from intensor.runtime.budget import Budget
from intensor.solver.graded.proof import prove_at
from intensor.solver.settings import Settings

DATA = zoo.noisy((4, 4, 3), 50, rep=6)
RADIUS = 1.0


def graded(values=DATA.values, **options):
    options = {"shape": DATA.shape, "radius": RADIUS, "exact": "off", **options}
    return intensor.solve(DATA.coords, values, components="graded", **options).model


def proven(model, values=DATA.values, *, oracle=None, signed=False, weights=None):
    observations = observe(
        DATA.coords, values, shape=DATA.shape, allow_negative=signed, sample_weight=weights
    )
    exact = oracle or find_exact("enumeration").oracle(
        observations, patient=False, threads=1, time_limit=None, device=Settings(radius=1.0).device
    )
    settings = Settings(radius=RADIUS, signed=signed, threads=1)
    return prove_at(model, observations, exact=exact, settings=settings, budget=Budget())


def test_brute_force_confirms_the_bound_and_better_models_prove_more():
    least = brute.optimum(DATA.shape, DATA.coords, DATA.values, RADIUS)
    bounds = []
    for most in (8, 12, 40):
        found = proven(graded(max_components=most))
        assert found.source == "enumeration"
        assert found.bound <= least * (1.0 + 1e-12)
        bounds.append(found.bound)
    assert bounds[0] < bounds[1] < bounds[2]
    assert bounds[2] > 0.99 * least


def test_a_bound_is_what_the_model_and_the_cheapest_box_say():
    """A gain of g proves a gap of ``g - g^2 / (4 error)``; the gain is that over every vertex."""
    model = graded(max_components=12)
    apart = model.predict(DATA.coords) - DATA.values
    boxes = RADIUS * zoo.distinct_rows(DATA.shape, DATA.coords).astype(float)
    gradient = 2.0 * apart / apart.size
    gain = model.predict(DATA.coords) @ gradient - np.min(boxes @ gradient)
    error = np.mean(apart**2) - observe(DATA.coords, DATA.values, shape=DATA.shape).within
    expected = np.mean(apart**2) - gain + gain**2 / (4.0 * error)
    assert proven(model).bound == pytest.approx(expected, rel=1e-6)


def test_signed_models_weights_and_averages():
    values = DATA.values - 0.3
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 50)
    models = [
        graded(values, max_components=20, signed=True, seed=seed, sample_weight=weights)
        for seed in (0, 1)
    ]
    options = {"signed": True, "weights": weights}
    least = brute.optimum(DATA.shape, DATA.coords, values, RADIUS, **options)
    for model in (*models, average_models(models)):
        found = proven(model, values, **options)
        assert 0.5 * least < found.bound <= least * (1.0 + 1e-12)


def test_boxes_can_be_proven_too():
    result = intensor.solve(
        DATA.coords, DATA.values, shape=DATA.shape, radius=RADIUS, exact="enumeration"
    )
    assert proven(result.model).bound == pytest.approx(result.bound, rel=1e-4)


def test_a_poor_model_proves_nothing():
    poor = build_model(
        np.ones((1, 11)), np.array([RADIUS]), shape=DATA.shape, radius=RADIUS, signed=False
    )
    assert proven(poor) is None


def test_an_oracle_that_proves_nothing_gives_none():
    class Shy:
        def minimise(self, costs, **options):
            return Answer(flags=np.zeros(11, dtype=np.uint8), value=0.0, source="none")

    assert proven(graded(max_components=6), oracle=Shy()) is None
