"""Units and radii: values and radius scale together, and a larger radius can only fit better."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

import intensor
from forall import forall
from properties.optima import assert_same_fit, assert_same_optimum, problems, rounding


@forall(few=4, many=200, problem=problems(), exponent=st.integers(-60, 60))
def test_scaling_by_a_power_of_two_scales_everything_exactly(problem, exponent):
    factor = 2.0**exponent
    scaled = problem.changed(values=factor * problem.raw.values, radius=factor * problem.radius)
    first, second = problem.optimum(), scaled.optimum()
    assert second.objective == factor**2 * first.objective
    assert second.bound == factor**2 * first.bound
    assert second.model.weights.tolist() == (factor * first.model.weights).tolist()
    assert second.model.vertices.words.tolist() == first.model.vertices.words.tolist()


@forall(few=4, many=200, problem=problems(), factor=st.floats(1e-8, 1e8))
def test_scaling_values_and_radius(problem, factor):
    scaled = problem.changed(values=factor * problem.raw.values, radius=factor * problem.radius)
    first, second = problem.optimum(), scaled.optimum()
    assert_same_optimum(problem, first, scaled, second, factor=factor**2)
    assert_same_fit(problem, first, scaled, second, factor=factor)


@forall(few=4, many=200, problem=problems(), growth=st.sampled_from([1.0001, 1.5, 10.0, 1e4]))
def test_a_larger_radius_fits_no_worse(problem, growth):
    larger = problem.changed(radius=growth * problem.radius)
    first, second = problem.optimum(), larger.optimum()
    slack = rounding(problem, first) + rounding(larger, second)
    assert second.bound <= first.objective + slack
    # The optimum is convex in the radius and is the mean square at radius 0.
    square = float(np.average(problem.raw.values**2, weights=problem.importance))
    chord = square + (second.objective - square) / growth
    assert first.bound <= chord + slack + 1e-12 * square


@forall(few=4, many=150, problem=problems())
def test_no_radius_fits_worse_than_nothing_or_better_than_within_cells(problem):
    result = problem.optimum()
    raw, weights = problem.raw, problem.importance
    square = float(np.average(raw.values**2, weights=weights))
    assert result.bound <= square * (1.0 + 1e-12)
    assert result.objective <= square + result.tolerance
    assert np.abs(result.model.weights).sum() <= problem.radius * (1.0 + 1e-14)
    predicted = result.model.predict(raw.coords)
    assert np.all(np.abs(predicted) <= problem.radius * (1.0 + 1e-14))
    report = intensor.verify(result, raw.coords, raw.values, sample_weight=raw.weights)
    assert report.ok
    assert report.complete


@forall(few=4, many=200, problem=problems())
def test_signs_can_only_help_and_change_sides_with_the_values(problem):
    signed = replace(problem, version="fast", signed=True)
    other = signed.changed(values=-problem.raw.values)
    first, second = signed.optimum(), other.optimum()
    assert_same_optimum(signed, first, other, second)
    negated = replace(first, model=replace(first.model, weights=-first.model.weights))
    assert_same_fit(signed, negated, other, second)
    plain = problem.optimum()
    assert first.bound <= plain.objective + rounding(problem, plain)
