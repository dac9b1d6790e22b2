"""Errors by name against their definitions."""

import math
import pickle

import numpy as np
import pytest

from intensor.errors import SettingError
from intensor.fitting.options import check_options
from intensor.fitting.scoring import MAPE, RMSE, SCORINGS

VALUES = np.array([1.0, 0.0, 4.0, 2.0])
PREDICTED = np.array([2.0, 3.0, 4.0, 1.0])
BY_HAND = {
    "rmse": math.sqrt((1 + 9 + 0 + 1) / 4),
    "mae": 5 / 4,
    "mape": (1 + 0 + 0.5) / 3,
}


def test_every_scoring_is_tested():
    assert list(SCORINGS) == list(BY_HAND)


@pytest.mark.parametrize("name", BY_HAND)
def test_errors_equal_those_computed_by_hand(name):
    scoring = SCORINGS[name]
    assert scoring.name == name
    assert scoring.measure(VALUES, PREDICTED) == pytest.approx(BY_HAND[name], rel=1e-14)
    assert scoring.measure(VALUES, VALUES) == 0.0
    assert scoring.measure(np.empty(0), np.empty(0)) == 0.0


@pytest.mark.parametrize("name", BY_HAND)
def test_weights_count_like_repeats(name):
    scoring = SCORINGS[name]
    weights = np.array([1, 2, 0, 3])
    repeated = [np.repeat(array, weights) for array in (VALUES, PREDICTED)]
    found = scoring.measure(VALUES, PREDICTED, weights.astype(float))
    assert found == pytest.approx(scoring.measure(*repeated), rel=1e-14)
    assert found == pytest.approx(scoring.measure(VALUES, PREDICTED, 0.1 * weights), rel=1e-14)
    assert found != pytest.approx(BY_HAND[name])


@pytest.mark.parametrize("name", BY_HAND)
def test_errors_are_means_of_losses(name):
    scoring = SCORINGS[name]
    weights = np.array([1.0, 2.0, 0.5, 3.0])
    for given in (None, weights):
        counted = scoring.counted(VALUES, given)
        mean = np.average(scoring.losses(VALUES, PREDICTED), weights=counted)
        error = math.sqrt(mean) if scoring.squared else mean
        assert error == pytest.approx(scoring.measure(VALUES, PREDICTED, given), rel=1e-14)
    assert scoring.squared == (scoring is RMSE)
    assert scoring.relative == (scoring is MAPE)


def test_there_is_no_balanced_scoring():
    with pytest.raises(SettingError, match="'balanced'; expected 'rmse', 'mae' or 'mape'"):
        check_options(scoring="balanced")


def test_a_relative_error_needs_values_to_be_relative_to():
    nothing = np.zeros(3)
    assert MAPE.measure(nothing, nothing) == 0.0
    assert MAPE.measure(nothing, np.array([0.0, 1e-9, 0.0])) == math.inf


def test_a_scoring_can_be_sent_to_a_worker():
    again = pickle.loads(pickle.dumps(MAPE))
    assert again.measure(VALUES, PREDICTED) == MAPE.measure(VALUES, PREDICTED)
