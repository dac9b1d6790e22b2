"""The walk of graded components: it stops in time, and finds about as many as were planted."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import intensor
from fitting_cases import (
    NOISY_EIGHT,
    Countdown,
    checked,
    error_of,
    fitted,
    go_on,
    options_of,
    problem,
    smooth,
    specs_of,
    splits_of,
)
from intensor.fitting.component_path import (
    FIRST_RADIUS_RATIO,
    ComponentWalk,
    _refine_size,
    component_counts,
    walk_components,
)
from intensor.fitting.fold import FIRST_SWEEPS
from intensor.fitting.folds import open_folds
from intensor.fitting.options import EFFORTS, Effort
from intensor.fitting.path import capture_walk, restore_walk
from intensor.runtime.budget import Budget
from intensor.solver.result import Status
from intensor.storage.reader import TreeReader

SMOOTH = smooth((12, 11, 10), noise=0.1)


def walked(
    data=SMOOTH[0],
    *,
    budget=None,
    callback=go_on,
    one_radius=False,
    like=None,
    client=None,
    **given,
):
    options = options_of(**{"components": "graded", "n_solutions": "auto", "threads": 1, **given})
    specs = specs_of(splits_of(data, options), options)
    with open_folds(specs, client=client) as folds:
        return walk_components(
            folds,
            budget=budget or Budget(),
            callback=callback,
            one_radius=one_radius,
            like=like,
        )


@pytest.fixture(scope="module")
def plain():
    return walked()


def same_path(one, other):
    names = ("radii", "errors", "objectives", "boxes", "noise", "limits", "sweeps", "singles")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def test_a_walk_can_follow_that_of_another_scale(plain):
    found = walked(transform="sqrt", like=plain.path).path
    size = plain.path.max_components
    assert found.limits.tolist() == sorted({float(max(1, size // 2)), float(size)})
    ratio = plain.path.radius / plain.path.radii[0]
    largest = math.sqrt(SMOOTH[0].values.max())
    assert found.radii == pytest.approx(FIRST_RADIUS_RATIO * largest * ratio, rel=0.1)
    assert found.transform == "sqrt"


def test_rounds_of_kriging_are_tried_while_the_error_falls():
    path = walked(remainder="auto", max_components=1).path
    assert path.kriged.any()
    tried = path.rounds[path.kriged].tolist()
    assert tried[0] == 0.0
    assert tried == sorted(tried)
    assert max(tried) in (1.0, 2.0, 4.0)


def test_walks_keep_predictions_of_the_held_out_cells(plain):
    options = options_of(components="graded", n_solutions="auto", threads=1)
    for split, predicted in zip(splits_of(SMOOTH[0], options), plain.predicted, strict=True):
        error = options.scoring.measure(split.held.values, predicted)
        assert error == pytest.approx(plain.path.averages[plain.path.best], rel=0.3)


def test_numbers_of_components_double():
    assert list(component_counts(128)) == [1, 2, 4, 8, 16, 32, 64, 128]
    assert list(component_counts(100)) == [1, 2, 4, 8, 16, 32, 64, 100]
    for most in range(1, 20):
        found = list(component_counts(most))
        assert found == sorted(set(found))
        assert found[-1] == most


def test_about_as_many_components_as_were_planted_are_found(plain):
    assert 2 <= plain.path.max_components <= 6
    assert plain.path.limits.max() <= 16  # it stopped long before the most
    assert plain.path.scores[plain.path.best] == plain.path.scores.min()
    assert not plain.cut
    assert plain.path.limits[:3].tolist() == [1, 2, 4]
    assert plain.path.errors[0] > 1.2 * plain.path.error


def test_a_number_between_the_best_and_its_double_is_tried(plain):
    limits, scores = plain.path.limits.tolist(), plain.path.scores
    n_doubled = next(n for n in range(1, len(limits)) if limits[n] != 2 * limits[n - 1])
    assert limits[:n_doubled] == [2**step for step in range(n_doubled)]
    best = limits[int(np.argmin(scores[:n_doubled]))]
    assert limits[n_doubled] == 1.5 * best
    assert set(limits[n_doubled:]) <= {best, 1.5 * best}  # radius and sweeps follow the better one
    scouted = walked(one_radius=True).path.limits.tolist()
    assert scouted[:2] == [3, 12]
    assert set(scouted) <= {3, 12, 32}


class Recorded:
    """A walk that only notes which steps it is asked for."""

    def __init__(self, best, *, over=False):
        self.best, self.over, self.taken = (2.0, best), over, []

    def take(self, radius, size, **given):
        self.taken.append((radius, size, given))


@pytest.mark.parametrize(
    ("best", "most", "between"),
    [(1, 64, None), (2, 64, 3), (4, 64, 6), (16, 64, 24), (16, 24, None), (16, 20, None)],
)
def test_the_number_between_is_below_the_most(best, most, between):
    walk = Recorded(best)
    _refine_size(walk, 2.0, most)
    assert walk.taken == ([] if between is None else [(2.0, between, {"from_best": True})])
    late = Recorded(best, over=True)
    _refine_size(late, 2.0, most)
    assert late.taken == []


def test_errors_after_kriging_are_not_extrapolated_to_more_models():
    options = options_of(components="graded", n_solutions="auto", threads=1)
    with open_folds(specs_of(splits_of(NOISY_EIGHT, options), options)) as folds:
        walk = ComponentWalk(folds, Budget(), go_on)
    assert (walk.members, walk.n_compared) == (3, 6)
    step = SimpleNamespace(kriged=True, error=0.7, single_error=1.0, average_error=0.8)
    assert walk._expected_error(step) == 0.7
    step.kriged = False
    # squares fall by variance / members: the variance of one model is 0.54 here
    assert walk._expected_error(step) == pytest.approx(math.sqrt(0.64 - 0.54 / 6.0))
    assert walked(NOISY_EIGHT, remainder="kriging", max_components=2).variance == 0.0


@pytest.mark.parametrize("effort", EFFORTS)
def test_the_effort_bounds_the_walk(effort):
    chosen = EFFORTS[effort]
    path = walked(NOISY_EIGHT, effort=chosen).path
    assert path.limits.max() <= chosen.max_components
    first = path.radii[0]
    assert path.radii.max() <= first * 2.0**chosen.max_radius_steps * (1.0 + 1e-12)


def test_the_first_radius_is_a_multiple_of_the_largest_value(plain):
    options = options_of(components="graded", n_solutions="auto")
    largest = max(spec.largest_value for spec in specs_of(splits_of(SMOOTH[0], options), options))
    assert plain.path.radii[0] == pytest.approx(FIRST_RADIUS_RATIO * largest)
    assert plain.path.radii.max() > plain.path.radii[0]  # larger ones are tried too


def test_one_radius_and_a_given_one_are_kept():
    assert len(set(walked(one_radius=True).path.radii.tolist())) == 1
    assert set(walked(radius=20.0).path.radii.tolist()) == {20.0}


def test_a_given_number_is_the_most(plain):
    path = walked(max_components=2).path
    assert path.limits.max() == 2
    assert path.error >= plain.path.error


def test_walks_are_captured(plain):
    shape = SMOOTH[0].shape
    again = restore_walk(TreeReader(capture_walk(plain), "here"), plain.scale, shape)
    assert same_path(again.path, plain.path)
    assert again.path.max_components == plain.path.max_components
    for ours, theirs in zip(again.models, plain.models, strict=True):
        assert np.array_equal(ours.as_factors(), theirs.as_factors())


def test_kriging_is_tried_at_every_step_if_it_is_asked_for():
    assert walked(NOISY_EIGHT, remainder="kriging").path.kriged.all()


def test_kriging_is_tried_at_the_end_only_if_it_is_one_of_the_choices():
    path = walked(NOISY_EIGHT, remainder="auto").path
    n_kriged = np.count_nonzero(path.kriged)
    assert not path.kriged[: len(path) - max(1, n_kriged)].any()


def test_threads_do_not_change_the_walk(plain):
    assert same_path(walked(threads=2).path, plain.path)


def test_a_budget_that_is_spent_ends_the_walk():
    found = walked(budget=Countdown(60))
    assert len(found.path.radii) < 8
    assert found.models
    assert math.isfinite(found.path.errors[0])


def test_without_any_time_there_is_still_a_model():
    found = walked(budget=Budget(0.0))
    assert found.cut
    assert len(found.path.radii) == 1
    assert found.models


def test_a_cluster_walks_the_same_path(plain):
    distributed = pytest.importorskip("distributed")
    there = distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=False,
        dashboard_address=None,
        silence_logs=50,
    )
    with there, distributed.Client(there) as client:
        assert same_path(walked(client=client).path, plain.path)


# --- whole fits


@pytest.fixture(scope="module")
def found():
    return fitted(SMOOTH[0], components="graded", threads=1)


def test_a_fit_predicts_far_better_than_the_mean(found):
    data, cells, truth = SMOOTH
    error = error_of(found, cells, truth)
    assert error < 0.2 * np.std(truth)
    assert len(found.model.components) > 0
    assert len(found.model) <= found.n_solutions * found.path.max_components
    checked(found, data)
    assert error < found.path.error  # which includes noise of 0.1


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_last_fit_sweeps_as_often_as_the_walk(seed):
    """From scratch it must get about as close as the warm engines of the walk did."""
    data, cells, truth = smooth((12, 11, 10), noise=0.1, seed=seed)
    one = fitted(data, components="graded", threads=1)
    assert one.objective < 1.3 * one.path.objectives[one.path.best]
    assert error_of(one, cells, truth) < one.path.error


def test_sweeps_are_counted_from_the_best_step(plain):
    radii, sweeps = plain.path.radii, plain.path.sweeps
    first = np.flatnonzero(radii == radii[0])
    assert set(sweeps[first[:4]]) == {FIRST_SWEEPS}
    raised = np.flatnonzero(np.diff(radii) > 0.0) + 1
    assert (sweeps[raised] >= 2 * FIRST_SWEEPS).all()


def test_a_fit_is_saved_and_loaded(found, tmp_path):
    data, cells, _ = SMOOTH
    found.save(tmp_path / "fit.npz")
    again = intensor.load(tmp_path / "fit.npz")
    assert again.model == found.model
    assert np.array_equal(again.predict(cells), found.predict(cells))
    checked(again, data)


def test_the_number_of_solutions_is_chosen_or_kept(found):
    assert 1 <= found.n_solutions <= Effort().max_averaged[0]
    one, three = (
        fitted(SMOOTH[0], max_components=4, components="graded", threads=1, n_solutions=n)
        for n in (1, 3)
    )
    assert (one.n_solutions, three.n_solutions) == (1, 3)
    cells, truth = SMOOTH[1:]
    assert error_of(three, cells, truth) <= 1.05 * error_of(one, cells, truth)


def test_threads_do_not_change_a_fit(found):
    other = fitted(SMOOTH[0], components="graded", threads=2)
    assert other.model == found.model
    assert other.n_solutions == found.n_solutions


def test_a_proof_comes_with_the_average():
    data = intensor.planted((6, 6, 6), 150, noise=0.1)
    proven = fitted(data, components="graded", exact="enumeration", threads=1)
    assert proven.bound >= fitted(data, components="graded", threads=1).bound
    assert proven.bound <= proven.objective
    checked(proven, data)


def test_the_time_limit_holds():
    budget = Budget()
    data = smooth((30, 30, 30), noise=0.5)[0]
    limited = fitted(data, components="graded", time_limit=1.5, threads=1)
    assert budget.elapsed < 4.0
    assert limited.status in {Status.TIME_LIMIT, Status.STALLED}
    checked(limited, data)


def test_few_observations_and_signed_components():
    coords = np.argwhere(np.ones((3, 2)))
    data = problem((3, 2), coords, np.linspace(0.0, 1.0, 6))
    small = fitted(data, components="graded", baseline="additive", threads=1)
    assert np.isfinite(small.predict(coords)).all()
    checked(small, data)
