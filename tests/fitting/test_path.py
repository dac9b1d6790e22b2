"""The path of radii: where it begins and ends, and that a warm walk is as good as cold fits."""

import numpy as np
import pytest

import intensor
from fitting_cases import (
    CLEAN,
    NOISY_EIGHT,
    Countdown,
    go_on,
    options_of,
    problem,
    specs_of,
    splits_of,
)
from intensor.fitting import fold as fold_module
from intensor.fitting.fold import MIN_UNUSED_RADIUS
from intensor.fitting.folds import open_folds
from intensor.fitting.options import Effort, RemainderMethod
from intensor.fitting.path import (
    CLEARLY_WORSE,
    GRADED_COLUMNS,
    KRIGED_RADIUS_RATIO,
    MAX_RADII_WITHOUT_GAIN,
    MIN_GAIN,
    NEARLY_BEST,
    PATH_COLUMNS,
    RADIUS_RATIO,
    SCOUTED_RADIUS_RATIO,
    RadiusPath,
    approach,
    capture_walk,
    restore_walk,
    walk,
)
from intensor.fitting.preparation import prepare
from intensor.runtime.budget import Budget
from intensor.storage.reader import TreeReader

THOROUGH = Effort(training_gap=1e-3, held_out_gap=0.0)


def walk_splits(held_out, options, *, budget=None, callback=go_on, one_radius=False):
    with open_folds(specs_of(held_out, options)) as folds:
        return walk(folds, budget=budget or Budget(), callback=callback, one_radius=one_radius)


def walked(data, *, budget=None, callback=go_on, one_radius=False, **given):
    options = options_of(**given)
    how = {"budget": budget, "callback": callback, "one_radius": one_radius}
    return walk_splits(splits_of(data, options), options, **how)


def largest_of(data, options):
    splits = splits_of(data, options)
    return max(prepare(split.training, options.scales[0]).largest_value for split in splits)


# --- the radii


@pytest.mark.parametrize("scale", [{}, {"transform": "sqrt"}, {"baseline": "additive"}], ids=str)
def test_radii_grow_from_the_largest_fitted_value(scale):
    path = walked(NOISY_EIGHT, n_radii=3, **scale).path
    largest = largest_of(NOISY_EIGHT, options_of(**scale))
    np.testing.assert_allclose(path.radii, largest * RADIUS_RATIO ** np.arange(3), rtol=1e-14)
    assert path.transform == scale.get("transform", "none")
    assert path.baseline == scale.get("baseline", "none")
    assert np.all(np.diff(path.seconds) > 0.0)


@pytest.mark.parametrize(
    ("errors", "best"),
    [
        ([0.5, 0.25, 0.25, 0.75], 1),
        ([0.5, 0.25 * (1.0 + 0.9 * NEARLY_BEST), 0.25, 0.75], 1),
        ([0.5, 0.25 * (1.0 + 1.1 * NEARLY_BEST), 0.25, 0.75], 2),
        ([0.0, 0.0, 0.0, 0.0], 0),
        ([4.0, 3.0, 2.0, 1.0], 3),
    ],
)
def test_the_radius_to_take_is_the_smallest_that_is_nearly_the_best(errors, best):
    columns = dict.fromkeys((*PATH_COLUMNS, *GRADED_COLUMNS), np.zeros(4))
    columns |= {"kriged": np.arange(4) == best}
    columns |= {"radii": np.array([1.0, 2.0, 4.0, 8.0]), "errors": np.array(errors)}
    path = RadiusPath(transform="none", baseline="none", metric="mae", **columns)
    assert path.remainder == "kriging"
    assert (path.best, path.radius, path.error) == (best, 2.0**best, errors[best])
    assert len(path) == 4
    assert not path.sampled
    assert not path.graded
    assert path.max_components is None


def test_a_graded_path_takes_the_step_of_the_least_score():
    columns = dict.fromkeys((*PATH_COLUMNS, *GRADED_COLUMNS), np.ones(3))
    columns |= {"kriged": np.zeros(3, dtype=bool), "scores": np.array([1.0, 0.999, 1.0])}
    columns |= {"radii": np.array([4.0, 4.0, 8.0]), "limits": np.array([2.0, 3.0, 3.0])}
    path = RadiusPath(transform="none", baseline="none", metric="mae", **columns)
    assert path.graded
    assert (path.best, path.radius, path.max_components) == (1, 4.0, 3)


def test_a_given_radius_is_a_path_of_one():
    found = walked(NOISY_EIGHT, radius=3.0)
    assert found.path.radii.tolist() == [3.0]
    assert found.models[0].radius == 3.0


def test_a_path_is_no_longer_than_asked_for():
    assert len(walked(CLEAN, n_radii=2).path) == 2
    assert len(walked(CLEAN, n_radii=1).path) == 1


@pytest.mark.parametrize(
    ("rep", "noise"),
    [
        (0, 0.0),
        (1, 0.1),
        pytest.param(2, 0.1, marks=pytest.mark.slow),
        pytest.param(3, 0.3, marks=pytest.mark.slow),
    ],
)
def test_the_walk_stops_only_for_a_good_reason(rep, noise, monkeypatch):
    models = []
    step = fold_module.Fold.step

    def spy(fold, *arguments):
        taken = step(fold, *arguments)
        models.append(taken.model)
        return taken

    monkeypatch.setattr(fold_module.Fold, "step", spy)
    path = walked(intensor.planted((7, 7, 7), 200, rep, noise=noise), n_radii=30).path
    assert len(path) < 30
    used = [model.weights.sum() / model.radius for model in models]
    assert all(share > 1.0 - MIN_UNUSED_RADIUS for share in used[:-1])
    least, since, reasons = np.inf, 0, []
    for error in path.errors:
        since = 0 if error < (1.0 - MIN_GAIN) * least else since + 1
        least = min(least, error)
        worse = error > (1.0 + CLEARLY_WORSE) * least
        reasons.append(since >= MAX_RADII_WITHOUT_GAIN - worse)
    assert not any(reasons[:-1])
    assert reasons[-1] or used[-1] <= 1.0 - MIN_UNUSED_RADIUS


def test_a_radius_that_does_not_bind_ends_the_walk():
    # Values that no box is needed for: the first radius is all that is tried.
    found = walked(problem((5, 5), np.argwhere(np.ones((5, 5))), np.zeros(25)))
    assert len(found.path) == 1
    assert len(found.models[0]) == 0
    assert found.path.errors.tolist() == [0.0]


def test_folds_are_averaged():
    options = options_of(radius=0.7, validation=4)
    held_out = splits_of(NOISY_EIGHT, options)
    found = walk_splits(held_out, options)
    alone = [walk_splits([split], options) for split in held_out]
    assert len(alone) == 4
    for name in ("errors", "objectives", "boxes", "noise"):
        mean = np.mean([getattr(one.path, name)[0] for one in alone])
        assert getattr(found.path, name)[0] == pytest.approx(mean, rel=1e-12)
    for model, one in zip(found.models, alone, strict=True):
        assert np.array_equal(model.weights, one.models[0].weights)
    assert found.seconds_per_fold == found.path.seconds[0] / 4


def test_the_model_is_that_of_the_best_radius():
    path, (model, *_) = walked(NOISY_EIGHT)[1:3]
    assert 0 < path.best < len(path) - 1
    index = path.radii.tolist().index(model.radius)
    assert path.errors[index] <= (1.0 + 2.0 * NEARLY_BEST) * path.error
    assert len(model) == path.boxes[index]


@pytest.mark.parametrize(
    ("data", "baseline", "n_radii"),
    [
        (NOISY_EIGHT, "none", 3),
        (NOISY_EIGHT, "additive", 2),
        *(
            pytest.param(data, baseline, 5, marks=pytest.mark.slow)
            for data in (CLEAN, NOISY_EIGHT)
            for baseline in ("none", "additive")
        ),
    ],
)
def test_a_warm_walk_reaches_what_cold_solves_reach(data, baseline, n_radii):
    path = walked(data, baseline=baseline, n_radii=n_radii, effort=THOROUGH).path
    options = options_of(baseline=baseline)
    prepared = splits_of(data, options)[0].prepared(options.scales[0])
    cells = np.stack(prepared.observations.coords, axis=1).astype(int)
    means, counts = prepared.observations.means, prepared.observations.counts
    how = {"signed": prepared.signed, "exact": "off", "rtol": 1e-9}
    for radius, objective in zip(path.radii, path.objectives, strict=True):
        cold = intensor.solve(
            cells, means, sample_weight=counts, shape=data.shape, radius=radius, **how
        )
        least = cold.objective + prepared.observations.within
        assert objective >= least * (1.0 - 1e-4)
        assert objective == pytest.approx(least, rel=5e-3, abs=1e-9)


def test_a_warm_walk_predicts_like_cold_fits():
    # Both stop early, each somewhere else: errors agree as far as that allows.
    path = walked(NOISY_EIGHT).path
    alone = [walked(NOISY_EIGHT, radius=radius, validation=0.1).path for radius in path.radii]
    cold = np.array([one.error for one in alone])
    assert len(path) >= 4
    np.testing.assert_allclose(path.errors, cold, rtol=0.12)
    assert np.abs(path.errors / cold - 1.0).mean() < 0.06


# --- the callback and limits


def test_the_callback_can_end_each_solve():
    stages = []

    def once(progress):
        stages.append(progress.stage)
        return False

    found = walked(NOISY_EIGHT, callback=once, n_radii=3)
    assert stages == [f"radius {radius:.4g}" for radius in found.path.radii]  # one call each
    assert found.models[0].radius in found.path.radii


def test_a_spent_budget_still_walks_to_the_first_radius():
    full = walked(NOISY_EIGHT, n_radii=2)
    assert not full.cut
    cut = walked(NOISY_EIGHT, budget=Budget(0.0))
    assert cut.cut
    assert len(cut.path) == 1
    assert full.kriging_seconds == cut.kriging_seconds == 0.0


def test_a_radius_that_was_cut_off_is_left_out():
    budget = Budget()
    full = walked(NOISY_EIGHT).path

    def stop_in_the_second(progress):
        if progress.stage == f"radius {full.radii[1]:.4g}":
            budget.interrupted = True
        return True

    found = walked(NOISY_EIGHT, budget=budget, callback=stop_in_the_second)
    assert found.path.radii.tolist() == full.radii[:1].tolist()
    assert found.path.errors.tolist() == full.errors[:1].tolist()
    assert len(found.models[0]) == found.path.boxes[0]
    assert not found.cut


def test_an_approach_whose_first_step_was_cut_off_says_nothing():
    options = options_of()
    held_out = splits_of(NOISY_EIGHT, options)
    path = walk_splits(held_out, options).path

    def approached(budget):
        with open_folds(specs_of(held_out, options)) as folds:
            return approach(folds, path, budget=budget, callback=go_on)

    assert approached(Budget(0.0)) == ()
    full = approached(Budget())
    counts = set()
    for count in range(1, 80, 12):
        some = approached(Countdown(count))
        assert some[:-1] == full[: max(len(some) - 1, 0)]  # only the last one may be cut off
        counts.add(len(some))
    assert 0 in counts
    assert max(counts) > 1


# --- the remainder


@pytest.mark.parametrize("baseline", ["none", "additive"])
def test_radii_grow_faster_when_the_remainder_is_kriged(baseline):
    path = walked(NOISY_EIGHT, remainder="auto", baseline=baseline, n_radii=3).path
    largest = largest_of(NOISY_EIGHT, options_of(baseline=baseline))
    expected = largest * KRIGED_RADIUS_RATIO ** np.arange(len(path))
    np.testing.assert_allclose(path.radii, expected, rtol=1e-14)
    one = walked(NOISY_EIGHT, remainder="auto", baseline=baseline, one_radius=True).path
    np.testing.assert_allclose(one.radii, [SCOUTED_RADIUS_RATIO * largest], rtol=1e-14)
    plain = walked(NOISY_EIGHT, baseline=baseline, one_radius=True, n_radii=2).path
    assert len(plain) == 2  # without kriging, one radius is not enough


def test_a_remainder_that_cannot_be_kriged_changes_nothing():
    data = intensor.planted((8, 8, 8), 8, noise=0.1)  # fewer than one cell in 32
    plain = walked(data).path
    path = walked(data, remainder="auto").path
    assert np.array_equal(path.radii, plain.radii)
    assert np.array_equal(path.errors, plain.errors)
    assert path.remainder == "none"
    assert not path.kriged.any()


def test_a_remainder_is_taken_when_most_folds_say_so(monkeypatch):
    score = fold_module.Fold._score
    for wanted in ([True, True, False], [False, True, False]):
        votes = iter(wanted)

        def vote(fold, predictor, votes=votes):
            error, noise, predicted = score(fold, predictor)
            if predictor.remainder is None:
                return error, noise, predicted
            return (0.5 * error if next(votes) else 1e9), noise, predicted

        monkeypatch.setattr(fold_module.Fold, "_score", vote)
        found = walked(NOISY_EIGHT, remainder="auto", radius=0.5, validation=3)
        assert found.path.kriged.tolist() == [sum(wanted) > 1]
        kriging = found.remainder is RemainderMethod.KRIGING
        assert kriging == (sum(wanted) > 1)


def test_walks_come_back_from_a_checkpoint_with_the_time_that_kriging_took():
    scale = options_of().scales[0]
    full = walked(NOISY_EIGHT, remainder="auto", radius=0.7)
    assert 0.0 < full.kriging_seconds < np.inf
    cut = walked(NOISY_EIGHT, remainder="auto", radius=0.7, budget=Budget(0.0))
    assert cut.kriging_seconds == np.inf
    for one in (full, cut):
        again = restore_walk(TreeReader(capture_walk(one), "here"), scale, NOISY_EIGHT.shape)
        assert again.scale is scale
        assert (again.cut, again.kriging_seconds) == (one.cut, one.kriging_seconds)
        assert again.path.errors.tolist() == one.path.errors.tolist()
        assert np.array_equal(again.models[0].weights, one.models[0].weights)
