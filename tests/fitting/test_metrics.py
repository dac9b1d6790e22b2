"""Errors by name against their definitions."""

import math

import numpy as np
import pytest

from intensor.fitting.metrics import METRICS, measure

VALUES = np.array([1.0, 0.0, 4.0, 2.0])
PREDICTED = np.array([2.0, 3.0, 4.0, 1.0])
BY_HAND = {
    "rmse": math.sqrt((1 + 9 + 0 + 1) / 4),
    "mae": 5 / 4,
    "mape": (1 + 0 + 0.5) / 3,
    "balanced": math.sqrt(
        math.sqrt(11 / 4) * ((math.sqrt(2) - 1) ** 2 + 3 + 0 + (1 - math.sqrt(2)) ** 2) / 4
    ),
}


def test_every_metric_is_tested():
    assert list(METRICS) == list(BY_HAND)


@pytest.mark.parametrize("name", BY_HAND)
def test_by_hand(name):
    assert measure(name, VALUES, PREDICTED) == pytest.approx(BY_HAND[name], rel=1e-14)
    assert measure(name, VALUES, VALUES) == 0.0
    assert measure(name, np.empty(0), np.empty(0)) == 0.0


@pytest.mark.parametrize("name", BY_HAND)
def test_weights_count_like_repeats(name):
    weights = np.array([1, 2, 0, 3])
    repeated = [np.repeat(array, weights) for array in (VALUES, PREDICTED)]
    found = measure(name, VALUES, PREDICTED, weights.astype(float))
    assert found == pytest.approx(measure(name, *repeated), rel=1e-14)
    assert found == pytest.approx(measure(name, VALUES, PREDICTED, 0.1 * weights), rel=1e-14)
    assert found != pytest.approx(BY_HAND[name])


def test_a_relative_error_needs_values_to_be_relative_to():
    nothing = np.zeros(3)
    assert measure("mape", nothing, nothing) == 0.0
    assert measure("mape", nothing, np.array([0.0, 1e-9, 0.0])) == math.inf
