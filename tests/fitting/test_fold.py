"""One fold: the numbers of a step are those of its model, and a fold can go on elsewhere."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import intensor
from fitting_cases import NOISY_EIGHT, go_on, options_of, repeated, specs_of, splits_of
from intensor.fitting import fold as fold_module
from intensor.fitting.fold import Fold, Request, capture_step, restore_step
from intensor.fitting.kriging import krige
from intensor.fitting.options import Effort
from intensor.fitting.scoring import SCORINGS
from intensor.runtime.budget import Budget
from intensor.solver.fast.engine import FastEngine
from intensor.storage.reader import TreeReader


def spec_of(data=NOISY_EIGHT, *, weights=None, **given):
    options = options_of(**given)
    (spec,) = specs_of(splits_of(data, options, weights), options)
    return spec


def step_of(spec, radius=0.7, gap=None, budget=None):
    return Fold(spec).step(Request(radius, gap), budget or Budget(), go_on)


@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize("transform", ["none", "sqrt"])
def test_the_numbers_are_those_of_the_model(scoring, transform):
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 300)
    spec = spec_of(scoring=scoring, transform=transform, weights=weights)
    step = step_of(spec)
    training, held = spec.split.training, spec.split.held
    prepared = spec.split.prepared(spec.scale)
    predicted = prepared.predictor(step.model).predict(held.coords, unseen="mean")
    assert step.error == SCORINGS[scoring].measure(held.values, predicted, held.weights)
    residual = step.model.predict(training.coords) - prepared.transform.apply(training.values)
    objective = np.average(residual**2, weights=training.weights)
    assert step.objective == pytest.approx(objective, rel=1e-10)
    forward = prepared.transform.apply
    noise = np.average((forward(predicted) - forward(held.values)) ** 2, weights=held.weights)
    assert step.noise == pytest.approx(noise, rel=1e-12)
    assert (step.kriged, step.cut, step.kriging_seconds) == (False, False, 0.0)


def test_weights_count_in_the_noise():
    weights = 1.0 + np.arange(300) % 2
    rows = repeated(weights.astype(int), NOISY_EIGHT)
    weighted, other = step_of(spec_of(weights=weights)), step_of(spec_of(rows))
    assert weighted.error == pytest.approx(other.error, rel=1e-12)
    assert weighted.noise == pytest.approx(other.noise, rel=1e-9)


def test_predictions_may_leave_the_range_of_a_transform():
    data = replace(NOISY_EIGHT, values=NOISY_EIGHT.values + 0.01)
    reciprocal = (lambda v: -1.0 / v, lambda z: -1.0 / z)
    spec = spec_of(data, transform=reciprocal, baseline="additive")
    for radius in (1.0, 2.0, 4.0):
        assert np.isfinite(step_of(spec, radius * spec.largest_value).noise)


def test_a_gap_is_approached():
    spec = spec_of()
    rough = step_of(spec)
    close = step_of(spec, gap=1e-4)
    assert close.objective < rough.objective
    assert len(close.model) > len(rough.model)


def test_a_fold_goes_on_from_a_captured_state_bit_by_bit():
    spec = spec_of()
    fold = Fold(spec)
    fold.step(Request(0.5), Budget(), go_on)
    state = fold.capture()
    expected = fold.step(Request(0.7), Budget(), go_on)
    other = Fold(pickle.loads(pickle.dumps(spec)))
    other.restore(TreeReader(state, "here"))
    found = other.step(Request(0.7), Budget(), go_on)
    assert (found.error, found.objective) == (expected.error, expected.objective)
    assert np.array_equal(found.model.weights, expected.model.weights)
    again = restore_step(TreeReader(capture_step(found), "here"), NOISY_EIGHT.shape)
    assert again.progress == found.progress
    assert np.array_equal(again.model.weights, found.model.weights)


# --- the remainder


@pytest.mark.parametrize(
    ("radius", "scoring"),
    [
        (0.2, "rmse"),
        (1.0, "mape"),
        pytest.param(0.5, "rmse", marks=pytest.mark.slow),
        pytest.param(1.0, "rmse", marks=pytest.mark.slow),
        pytest.param(0.2, "mape", marks=pytest.mark.slow),
        pytest.param(0.5, "mape", marks=pytest.mark.slow),
    ],
)
def test_errors_include_the_remainder_if_that_helps(radius, scoring):
    effort = Effort(kriging_gap_ratio=1.0)  # so that all stop at the same boxes
    plain, always, perhaps = (
        step_of(spec_of(remainder=name, scoring=scoring, seed=4, effort=effort), radius)
        for name in ("none", "kriging", "auto")
    )
    split = spec_of(seed=4).split
    prepared = split.prepared(options_of().scales[0])
    remainder = krige(prepared.observations, plain.model, budget=Budget(), seed=4, rough=True)
    predictor = prepared.predictor(plain.model, remainder)
    predicted = predictor.predict(split.held.coords, unseen="mean")
    kriged = SCORINGS[scoring].measure(split.held.values, predicted, split.held.weights)
    assert kriged != plain.error
    assert (always.error, always.kriged) == (kriged, True)
    assert (perhaps.error, perhaps.kriged) == (min(kriged, plain.error), kriged < plain.error)
    # noise and objective are those of the boxes alone, kriged or not
    assert always.noise == perhaps.noise == plain.noise
    assert always.objective == plain.objective


def test_boxes_of_a_kriged_fold_see_a_sample_and_kriging_sees_all(monkeypatch):
    seen = {}

    def spy(observations, model, **arguments):
        seen["kriged"] = observations.n_cells
        return krige(observations, model, **arguments)

    def engine(observations, **arguments):
        seen["boxed"] = observations.n_cells
        return FastEngine(observations, **arguments)

    monkeypatch.setattr(fold_module, "krige", spy)
    monkeypatch.setattr(fold_module, "FastEngine", engine)
    spec = spec_of(remainder="kriging", effort=Effort(max_boxed_rows=60))
    step_of(spec, 1.0)
    n_cells = spec.split.training.n_cells
    assert seen["kriged"] == n_cells > 60
    assert 20 < seen["boxed"] < 0.8 * n_cells
    step_of(spec_of(effort=Effort(max_boxed_rows=60)), 1.0)  # without a remainder, boxes see all
    assert seen["boxed"] == n_cells


def test_a_sparse_tensor_is_not_kriged():
    assert not spec_of(intensor.planted((8, 8, 8), 8, noise=0.1), remainder="auto").may_krige
    assert spec_of(remainder="auto").may_krige
    assert not spec_of().may_krige


def test_a_step_without_time_is_marked_as_cut():
    step = step_of(spec_of(remainder="auto"), budget=Budget(0.0))
    assert step.cut
    assert step.kriging_seconds == np.inf
    assert not step.kriged
