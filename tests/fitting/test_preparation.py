"""Values in the fitted scale: transformed, without main effects, and the way back."""

import pickle

import numpy as np
import pytest

import zoo
from fitting_cases import options_of
from intensor.data.observations import observe
from intensor.errors import NegativeValueError, ValuesError
from intensor.fitting.preparation import MIN_FIRST_RADIUS, Split, prepare
from intensor.fitting.samples import Samples
from intensor.model.baseline import fit_baseline
from intensor.model.model import build_model


def drawn(weights=None):
    shape, coords, values, _ = zoo.observed("cube")
    return Samples(coords=coords, values=values, weights=weights, shape=shape)


def scale(**options):
    (only,) = options_of(**options).scales
    return only


@pytest.mark.parametrize("name", ["none", "sqrt", "log1p"])
def test_the_transformed_values_are_fitted(name):
    samples = drawn()
    prepared = prepare(samples, scale(transform=name))
    forward = {"none": np.positive, "sqrt": np.sqrt, "log1p": np.log1p}[name]
    fitted = forward(samples.values)
    expected = observe(samples.coords, fitted, shape=samples.shape)
    assert np.array_equal(prepared.observations.means, expected.means)
    assert prepared.observations.within == expected.within
    assert prepared.largest_value == fitted.max()
    assert prepared.baseline is None
    assert not prepared.signed


@pytest.mark.parametrize("name", ["none", "sqrt"])
@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 3.0, 80)])
def test_effects_come_out_before_boxes_are_fitted(name, weights):
    samples = drawn(weights=weights)
    prepared = prepare(samples, scale(transform=name, baseline="additive"))
    fitted = samples.values if name == "none" else np.sqrt(samples.values)
    observed = observe(samples.coords, fitted, shape=samples.shape, sample_weight=weights)
    baseline = fit_baseline(observed)
    assert np.array_equal(prepared.baseline.effects, baseline.effects)
    left = fitted - baseline.evaluate(tuple(samples.coords.T))
    expected = observe(
        samples.coords, left, shape=samples.shape, allow_negative=True, sample_weight=weights
    )
    found = prepared.observations
    np.testing.assert_allclose(found.means, expected.means, atol=1e-13)
    assert found.within == pytest.approx(expected.within, rel=1e-12)
    assert found.mean_square == pytest.approx(expected.mean_square, rel=1e-12)
    assert prepared.largest_value == np.abs(found.means).max()
    assert prepared.signed
    assert found.means.min() < 0.0 < found.means.max()


def test_the_predictor_undoes_the_preparation():
    samples = drawn()
    prepared = prepare(samples, scale(transform="sqrt", baseline="additive"))
    flags = np.ones((1, sum(samples.shape)), dtype=np.uint8)
    model = build_model(
        flags, np.array([-0.25]), shape=samples.shape, radius=1.0, signed=prepared.signed
    )
    predictor = prepared.predictor(model)
    effects = prepared.baseline.evaluate(tuple(samples.coords.T))
    expected = np.maximum(effects - 0.25, 0.0) ** 2
    np.testing.assert_allclose(predictor.predict(samples.coords), expected, rtol=1e-13)


@pytest.mark.parametrize("weights", [None, np.arange(1.0, 81.0)])
def test_the_observations_of_each_index_are_counted(weights):
    samples = drawn(weights=weights)
    prepared = prepare(samples, scale())
    importance = np.ones(80) if weights is None else weights
    expected = [
        importance[samples.coords[:, mode] == index].sum()
        for mode, length in enumerate(samples.shape)
        for index in range(length)
    ]
    assert prepared.counts.tolist() == expected


def test_a_nonnegative_model_needs_nonnegative_values():
    samples = drawn()
    logarithm = (np.log, np.exp)
    with pytest.raises(NegativeValueError, match=r"custom transform of the value .* baseline="):
        prepare(samples, scale(transform=logarithm))
    assert prepare(samples, scale(transform=logarithm, baseline="additive")).signed


def test_values_must_exist_in_the_fitted_scale():
    samples = drawn()
    samples.values[4] = 0.0
    with pytest.raises(ValuesError, match=r"custom transform of the value 0.0 is -inf"):
        prepare(samples, scale(transform=(np.log, np.exp), baseline="additive"))


@pytest.mark.parametrize("baseline", ["none", "additive"])
def test_nothing_but_zeros_leaves_a_radius_to_begin_with(baseline):
    samples = drawn()
    samples.values[:] = 0.0
    assert prepare(samples, scale(baseline=baseline)).largest_value == MIN_FIRST_RADIUS


def test_samples_are_not_changed():
    samples = drawn()
    before = samples.values.copy()
    samples.coords.flags.writeable = samples.values.flags.writeable = False
    prepare(samples, scale(transform="sqrt", baseline="additive"))
    assert np.array_equal(samples.values, before)


def test_weights_of_a_part_are_scaled_again():
    samples = drawn(weights=np.append(np.full(79, 2.0), 3.0))
    part = samples.part(np.arange(80) < 79)
    expected = prepare(drawn().part(np.arange(80) < 79), scale()).observations
    found = prepare(part, scale()).observations
    assert np.array_equal(found.counts, expected.counts)
    assert np.array_equal(found.means, expected.means)


@pytest.mark.parametrize("baseline", ["none", "additive"])
def test_rows_in_standard_order_give_the_same_bits(baseline):
    samples = drawn(weights=np.linspace(0.5, 3.0, 80))
    plain = prepare(samples, scale(transform="sqrt", baseline=baseline)).observations
    found = prepare(samples.in_order(), scale(transform="sqrt", baseline=baseline)).observations
    assert np.array_equal(found.means, plain.means)
    assert np.array_equal(found.shares, plain.shares)
    assert (found.within, found.mean_square) == (plain.within, plain.mean_square)


def test_values_that_grow_too_large_in_the_fitted_scale_are_refused():
    huge = (lambda values: 1e200 * values, lambda fitted: fitted / 1e200)
    with pytest.raises(ValuesError, match="rescale the data"):
        prepare(drawn(), scale(transform=huge))


def test_a_split_prepares_its_training_part_once_per_scale():
    samples = drawn()
    split = Split(samples.part(np.arange(80) < 60), samples.part(np.arange(80) >= 60))
    one, other = scale(), scale(transform="sqrt")
    first = split.prepared(one)
    assert split.prepared(one) is first
    assert split.prepared(other).transform.name == "sqrt"
    assert np.array_equal(split.prepared(one).observations.means, first.observations.means)
    again = pickle.loads(pickle.dumps(split))
    assert np.array_equal(again.held.values, split.held.values)
    assert np.array_equal(again.prepared(one).observations.means, first.observations.means)
