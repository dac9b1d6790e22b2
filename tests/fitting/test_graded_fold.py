"""A graded fold measures the average of several models, and can go back and go on elsewhere."""

import math
import pickle

import numpy as np
import pytest

from fitting_cases import NOISY_EIGHT, Countdown, go_on, options_of, specs_of, splits_of
from intensor.fitting.fold import Fold, Request, capture_step, restore_step
from intensor.fitting.graded_fold import (
    LEAST_SHARED_PART,
    GradedFold,
    count_members,
    enough_members,
    error_of_average,
    make_fold,
)
from intensor.fitting.options import Effort
from intensor.fitting.scoring import SCORINGS
from intensor.runtime.budget import Budget
from intensor.storage.reader import TreeReader


def spec_of(data=NOISY_EIGHT, *, weights=None, **given):
    options = options_of(**{"components": "graded", "n_solutions": "auto", "threads": 1, **given})
    (spec,) = specs_of(splits_of(data, options, weights), options)
    return spec


def step_of(fold, radius=1.0, size=4, **request):
    return fold.step(Request(radius, max_components=size, **request), Budget(), go_on)


def assert_same(found, expected):
    assert (found.error, found.objective) == (expected.error, expected.objective)
    assert found.single_error == expected.single_error
    assert np.array_equal(found.model.as_factors(), expected.model.as_factors())
    assert np.array_equal(found.model.weights, expected.model.weights)


# --- what averages of other numbers of models would have


@pytest.mark.parametrize(("shared", "variance", "members"), [(9.0, 1.0, 2), (4.0, 2.0, 4)])
def test_the_error_of_an_average_is_bias_plus_variance(shared, variance, members):
    single, averaged = (math.sqrt(shared + variance / count) for count in (1, members))
    for count in (1, members, 7, 1000):
        expected = math.sqrt(shared + variance / count)
        assert error_of_average(single, averaged, members, count) == pytest.approx(expected)


def test_averages_of_simulated_models_are_as_expected():
    rng = np.random.default_rng(0)
    shared, own = rng.standard_normal(4000), 0.8 * rng.standard_normal((64, 4000))

    def error(count):
        return math.sqrt(np.mean((shared + own[:count].mean(axis=0)) ** 2))

    single = math.sqrt(np.mean((shared + own[:4]) ** 2))
    for count in (8, 16, 64):
        assert error_of_average(single, error(4), 4, count) == pytest.approx(error(count), rel=0.03)


def test_one_member_tells_nothing_about_averages():
    assert error_of_average(3.0, 2.0, 1, 8) == 2.0
    assert enough_members(3.0, 2.0, 1, 8, share=0.01) == 1


def test_an_average_that_is_worse_than_its_members_is_taken_as_it_is():
    assert error_of_average(1.0, 1.2, 4, 32) == pytest.approx(1.2)
    assert enough_members(1.0, 1.2, 4, 32, share=0.01) == 1


def test_the_shared_part_is_never_taken_to_be_small():
    """Two members that cancel each other by chance promise nothing like a perfect average."""
    least = math.sqrt(LEAST_SHARED_PART)
    assert error_of_average(1.0, 0.1, 2, 10**9) == pytest.approx(0.1 * least)
    assert error_of_average(1.0, 0.0, 2, 8) == 0.0


@pytest.mark.parametrize(
    ("shared", "variance", "share", "expected"),
    [(10.0, 1.0, 0.01, 10), (10.0, 1.0, 0.05, 2), (10.0, 0.01, 0.01, 1), (10.0, 5.0, 0.01, 32)],
)
def test_more_members_are_taken_while_they_help(shared, variance, share, expected):
    single, averaged = math.sqrt(shared + variance), math.sqrt(shared + variance / 4)
    found = enough_members(single, averaged, 4, 32, share=share)
    assert abs(found - expected) <= 1  # the quotient may round up
    assert 1 <= found <= 32


def test_members_are_fewer_for_more_observations_and_at_most_those_asked_for():
    effort = Effort(members=(4, 3, 2), few_rows=100, many_rows=200)
    assert count_members(spec_of()) == Effort().members[0] == 3
    assert count_members(spec_of(effort=effort)) == 2  # 240 training cells
    assert count_members(spec_of(effort=Effort(members=(4, 3, 2), few_rows=100))) == 3
    assert count_members(spec_of(n_solutions=1)) == 1
    assert count_members(spec_of(n_solutions=9)) == 3


# --- steps


@pytest.mark.parametrize("scoring", ["rmse", "mae"])
@pytest.mark.parametrize("scale", [{}, {"transform": "sqrt"}, {"baseline": "additive"}], ids=str)
def test_a_step_measures_the_average(scoring, scale):
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 300)
    spec = spec_of(scoring=scoring, weights=weights, **scale)
    fold = make_fold(spec)
    assert isinstance(fold, GradedFold)
    step = step_of(fold, radius=4.0)
    assert len(fold._engines) == fold.n_members == 3
    assert len(step.model) <= 3 * 4
    training, held = spec.split.training, spec.split.held
    prepared = spec.split.prepared(spec.scale)
    predicted = prepared.predictor(step.model).predict(held.coords, unseen="mean")
    measure = SCORINGS[scoring].measure
    assert step.error == step.average_error == measure(held.values, predicted, held.weights)
    fitted = prepared.predictor(step.model).fitted(training.coords)
    apart = fitted - prepared.transform.apply(training.values)
    objective = np.average(apart**2, weights=training.weights)
    assert step.objective == pytest.approx(objective, rel=1e-9)
    assert step.single_error > 0.0
    if scoring == "rmse" and not scale:
        assert step.error < step.single_error  # the error is convex
    fold.close()


def test_members_differ_and_one_alone_has_the_error_of_the_average():
    one = make_fold(spec_of(n_solutions=1))
    step = step_of(one)
    assert step.single_error == step.average_error
    several = make_fold(spec_of())
    step_of(several, size=8)
    points = [engine.vertices()[1].tolist() for engine in several._engines]
    assert len({tuple(point) for point in points}) > 1


def test_boxes_have_folds_of_their_own():
    options = options_of(components="boxes")
    (spec,) = specs_of(splits_of(NOISY_EIGHT, options), options)
    assert type(make_fold(spec)) is Fold


def test_a_number_of_components_is_needed():
    with pytest.raises(ValueError, match="needs a number of components"):
        make_fold(spec_of()).step(Request(1.0), Budget(), go_on)


def test_more_components_fit_the_training_part_better():
    fold = make_fold(spec_of())
    steps = [step_of(fold, size=size) for size in (1, 2, 4, 8)]
    objectives = [step.objective for step in steps]
    assert objectives == sorted(objectives, reverse=True)
    assert objectives[-1] < 0.9 * objectives[0]
    assert [len(step.model) <= 4 * size for step, size in zip(steps, (1, 2, 4, 8), strict=True)]


def test_going_back_to_the_components_that_were_kept():
    fold = make_fold(spec_of())
    best = step_of(fold, size=3)
    step_of(fold, size=12, keep=True)
    kept = [position["factors"].shape[1] for position in fold._kept]
    assert max(kept) <= 3
    back = step_of(fold, size=3, from_kept=True, sweeps=1)
    assert back.objective <= best.objective * (1.0 + 1e-6)
    assert back.objective == pytest.approx(best.objective, rel=0.1)
    assert len(back.model) == len(best.model)


def test_going_back_from_a_larger_radius():
    fold = make_fold(spec_of())
    best = step_of(fold, size=3)
    step_of(fold, radius=8.0, size=3, keep=True)
    back = step_of(fold, size=3, from_kept=True, sweeps=1)
    assert back.objective <= best.objective * (1.0 + 1e-6)
    assert back.objective == pytest.approx(best.objective, rel=0.1)


def test_the_budget_cuts_a_step():
    fold = make_fold(spec_of())
    request = Request(1.0, max_components=4)
    step = fold.step(request, Countdown(3), go_on)
    assert step.cut
    assert np.isfinite(step.error)


def test_the_callback_hears_of_every_member():
    fold, heard = make_fold(spec_of(threads=2)), []
    fold.step(Request(1.0, max_components=2), Budget(), lambda row: heard.append(row) or True)
    assert sum(row.iteration == 1 for row in heard) == 3


@pytest.mark.parametrize("later", [{}, {"from_kept": True}, {"keep": True, "sweeps": 3}], ids=str)
def test_a_fold_goes_on_from_a_captured_state_bit_by_bit(later):
    spec = spec_of()
    fold = make_fold(spec)
    step_of(fold, size=2)
    step_of(fold, size=3, keep=True)
    state = fold.capture()
    other = make_fold(pickle.loads(pickle.dumps(spec)))
    other.restore(TreeReader(state, "here"))
    for radius, size in ((1.0, 4), (2.0, 3)):
        expected, found = (step_of(one, radius, size, **later) for one in (fold, other))
        assert_same(found, expected)
    again = restore_step(TreeReader(capture_step(found), "here"), NOISY_EIGHT.shape)
    assert_same(again, found)
    assert again.progress == found.progress


def test_threads_do_not_change_a_step():
    steps = []
    for threads in (1, 2, 3):
        fold = make_fold(spec_of(threads=threads))
        step_of(fold, size=2)
        steps.append(step_of(fold, radius=2.0, size=5))
    assert_same(steps[1], steps[0])
    assert_same(steps[2], steps[0])


def test_kriging_is_looked_at_when_asked():
    spec = spec_of(remainder="kriging")
    plain, kriged = (step_of(make_fold(spec), kriged=asked) for asked in (False, True))
    assert not plain.kriged
    assert kriged.kriged
    assert kriged.average_error == plain.error != kriged.error
