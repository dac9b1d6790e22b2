"""The path of radii: where it begins and ends, and that a warm walk is as good as cold fits."""

import dataclasses

import numpy as np
import pytest

import intensor
from intensor.fitting import fold as fold_module
from intensor.fitting.fold import SLACK
from intensor.fitting.kriging import krige
from intensor.fitting.metrics import measure
from intensor.fitting.options import check_options
from intensor.fitting.path import (
    NEARLY,
    PATIENCE,
    RATIO,
    STRIDE,
    WORSE,
    WORTH,
    RadiusPath,
    approach,
    capture_walk,
    restore_walk,
    walk,
)
from intensor.fitting.preparation import prepare
from intensor.fitting.samples import Samples, splits
from intensor.runtime.budget import Budget
from intensor.solver.fast.engine import FastEngine
from intensor.storage.codec import Branch

CLEAN = intensor.planted((8, 8, 8), 300)
NOISY = intensor.planted((8, 8, 8), 300, noise=0.1)


def go_on(word, progress):
    return True


def samples_of(data, weights=None):
    return Samples(coords=data.coords, values=data.values, weights=weights, shape=data.shape)


def pairs_of(data, options, weights=None):
    samples = samples_of(data, weights)
    return list(splits(samples, folds=options.folds, share=options.share, seed=0))


def walked(data, *, budget=None, watch=go_on, weights=None, **words):
    options = check_options(**words)
    pairs = pairs_of(data, options, weights)
    path, (model, *_), *_ = walk(
        pairs, options.scales[0], options, budget=budget or Budget(), watch=watch
    )
    return path, model, pairs


@pytest.fixture
def thorough(monkeypatch):
    """Stop at every radius only when hardly anything can be gained."""
    monkeypatch.setattr(fold_module, "ROUGH", 1e-3)
    monkeypatch.setattr(fold_module, "NOISE", 0.0)


@pytest.mark.parametrize("words", [{}, {"transform": "sqrt"}, {"baseline": "additive"}], ids=str)
def test_radii_grow_from_the_largest_fitted_value(words):
    options = check_options(**words)
    path, _, pairs = walked(NOISY, n_radii=3, **words)
    largest = max(prepare(training, options.scales[0]).largest for training, _ in pairs)
    np.testing.assert_allclose(path.radii, largest * RATIO ** np.arange(len(path)), rtol=1e-14)
    assert len(path) == 3
    assert (path.transform, path.baseline) == (
        words.get("transform", "none"),
        words.get("baseline", "none"),
    )
    assert np.all(np.diff(path.seconds) > 0.0)


@pytest.mark.parametrize(
    ("errors", "best"),
    [
        ([0.5, 0.25, 0.25, 0.75], 1),
        ([0.5, 0.25 * (1.0 + 0.9 * NEARLY), 0.25, 0.75], 1),
        ([0.5, 0.25 * (1.0 + 1.1 * NEARLY), 0.25, 0.75], 2),
        ([0.0, 0.0, 0.0, 0.0], 0),
        ([4.0, 3.0, 2.0, 1.0], 3),
    ],
)
def test_the_radius_to_take_is_the_smallest_that_is_nearly_the_best(errors, best):
    nothing = np.zeros(4)
    path = RadiusPath(
        transform="none",
        baseline="none",
        metric="mae",
        radii=np.array([1.0, 2.0, 4.0, 8.0]),
        errors=np.array(errors),
        objectives=nothing,
        boxes=nothing,
        noise=nothing,
        seconds=nothing,
        kriged=np.arange(4) == best,
    )
    assert path.remainder == "kriging"
    assert (path.best, path.radius, path.error) == (best, 2.0**best, errors[best])
    assert len(path) == 4
    assert not path.sampled


@pytest.mark.parametrize("radius", [0.4, 1.0, 3.0])
def test_a_given_radius_is_a_path_of_one(radius):
    path, model, _ = walked(NOISY, radius=radius)
    assert path.radii.tolist() == [radius]
    assert model.radius == radius


def test_a_path_is_no_longer_than_asked_for():
    assert len(walked(CLEAN, n_radii=2)[0]) == 2
    assert len(walked(CLEAN, n_radii=1)[0]) == 1


@pytest.mark.parametrize("rep", range(6))
@pytest.mark.parametrize("noise", [0.0, 0.1, 0.3])
def test_the_walk_stops_for_a_reason_and_for_no_other(rep, noise, monkeypatch):
    models = []
    binds = fold_module.Fold._binds

    def spy(fold, model):
        models.append(model)
        return binds(fold, model)

    monkeypatch.setattr(fold_module.Fold, "_binds", spy)
    path, _, _ = walked(intensor.planted((7, 7, 7), 200, rep, noise=noise), n_radii=30)
    assert len(path) < 30
    used = [model.weights.sum() / model.radius for model in models]
    assert all(share > 1.0 - SLACK for share in used[:-1])
    least, since, reasons = np.inf, 0, []
    for error in path.errors:
        since = 0 if error < (1.0 - WORTH) * least else since + 1
        least = min(least, error)
        worse = error > (1.0 + WORSE) * least
        reasons.append(since >= PATIENCE or (worse and since >= PATIENCE - 1))
    assert not any(reasons[:-1])
    assert reasons[-1] or used[-1] <= 1.0 - SLACK


def test_a_radius_that_does_not_bind_ends_the_walk():
    # Values that one box explains: the first radius, the largest value, is all that is needed.
    coords = np.argwhere(np.ones((5, 5)))
    data = intensor.Planted(shape=(5, 5), coords=coords, values=np.zeros(25), truth=CLEAN.truth)
    path, model, _ = walked(data)
    assert len(path) == 1
    assert len(model) == 0
    assert path.errors.tolist() == [0.0]


@pytest.mark.parametrize("scoring", ["rmse", "mae", "mape", "balanced"])
@pytest.mark.parametrize("transform", ["none", "sqrt"])
def test_the_numbers_are_those_of_the_model(scoring, transform):
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 300)
    path, model, pairs = walked(
        NOISY, scoring=scoring, transform=transform, radius=0.7, weights=weights
    )
    ((training, held),) = pairs
    prepared = prepare(training, check_options(transform=transform).scales[0])
    predicted = prepared.predictor(model).predict(held.coords, unseen="mean")
    assert path.metric == scoring
    assert path.errors[0] == measure(scoring, held.values, predicted, held.weights)
    assert path.boxes[0] == len(model)
    residual = model.predict(training.coords) - prepared.transform.apply(training.values)
    objective = np.average(residual**2, weights=training.weights)
    assert path.objectives[0] == pytest.approx(objective, rel=1e-10)


def test_the_noise_is_that_of_the_fitted_scale():
    path, model, pairs = walked(NOISY, transform="sqrt", radius=0.7)
    ((training, held),) = pairs
    prepared = prepare(training, check_options(transform="sqrt").scales[0])
    predicted = prepared.predictor(model).predict(held.coords, unseen="mean")
    noise = np.mean((np.sqrt(predicted) - np.sqrt(held.values)) ** 2)
    assert path.noise[0] == pytest.approx(noise, rel=1e-12)


def test_folds_are_averaged():
    path, model, pairs = walked(NOISY, radius=0.7, validation=4)
    assert len(pairs) == 4
    options = check_options(radius=0.7)
    alone = [
        walk([pair], options.scales[0], options, budget=Budget(), watch=go_on) for pair in pairs
    ]
    for name in ("errors", "objectives", "boxes", "noise"):
        mean = np.mean([getattr(one, name)[0] for one, *_ in alone])
        assert getattr(path, name)[0] == pytest.approx(mean, rel=1e-12)
    assert np.array_equal(model.weights, alone[0][1][0].weights)


def test_the_model_is_that_of_the_best_radius():
    path, model, _ = walked(NOISY)
    assert 0 < path.best < len(path) - 1
    place = path.radii.tolist().index(model.radius)
    assert path.errors[place] <= (1.0 + 2.0 * NEARLY) * path.error
    assert len(model) == path.boxes[place]


@pytest.mark.usefixtures("thorough")
@pytest.mark.parametrize("data", [CLEAN, NOISY], ids=["clean", "noisy"])
@pytest.mark.parametrize("baseline", ["none", "additive"])
def test_a_warm_walk_reaches_what_cold_solves_reach(data, baseline):
    path, _, pairs = walked(data, baseline=baseline, n_radii=5)
    prepared = prepare(pairs[0][0], check_options(baseline=baseline).scales[0])
    cells = np.stack(prepared.observations.coords, axis=1).astype(int)
    for radius, objective in zip(path.radii, path.objectives, strict=True):
        cold = intensor.solve(
            cells,
            prepared.observations.means,
            sample_weight=prepared.observations.counts,
            shape=data.shape,
            radius=radius,
            signed=prepared.signed,
            exact="off",
            rtol=1e-9,
        )
        least = cold.objective + prepared.observations.within
        assert objective >= least * (1.0 - 1e-4)
        assert objective == pytest.approx(least, rel=5e-3, abs=1e-9)


def test_a_warm_walk_predicts_like_cold_fits():
    # Both stop early, each somewhere else: errors agree as far as that allows.
    path, _, _ = walked(NOISY)
    cold = np.array([walked(NOISY, radius=radius)[0].error for radius in path.radii])
    assert len(path) >= 4
    np.testing.assert_allclose(path.errors, cold, rtol=0.12)
    assert np.abs(path.errors / cold - 1.0).mean() < 0.06


def test_what_is_watched_can_end_each_solve():
    words = []

    def once(word, progress):
        words.append(word)
        return False

    path, model, _ = walked(NOISY, watch=once, n_radii=3)
    assert words[0] == f"radius {path.radii[0]:.4g}"
    assert len(words) == len(path)  # one look each
    assert model.radius in path.radii


def test_a_spent_budget_still_walks_to_the_first_radius():
    budget = Budget()
    budget.interrupted = True
    path, _, _ = walked(NOISY, budget=budget)
    assert len(path) == 1


def test_a_radius_that_was_cut_off_is_left_out():
    budget = Budget()
    whole, _, _ = walked(NOISY)

    def stop_in_the_second(word, progress):
        if word == f"radius {whole.radii[1]:.4g}":
            budget.interrupted = True
        return True

    path, model, _ = walked(NOISY, budget=budget, watch=stop_in_the_second)
    assert path.radii.tolist() == whole.radii[:1].tolist()
    assert path.errors.tolist() == whole.errors[:1].tolist()
    assert len(model) == path.boxes[0]


def test_the_noise_counts_weights():
    weights = 1.0 + np.arange(300) % 2
    rows = np.repeat(np.arange(300), weights.astype(int))
    repeated = intensor.Planted(
        shape=NOISY.shape,
        coords=NOISY.coords[rows],
        values=NOISY.values[rows],
        truth=NOISY.truth,
    )
    weighted, _, _ = walked(NOISY, weights=weights, radius=0.7)
    other, _, _ = walked(repeated, radius=0.7)
    assert weighted.errors[0] == pytest.approx(other.errors[0], rel=1e-12)
    assert weighted.noise[0] == pytest.approx(other.noise[0], rel=1e-9)


def test_predictions_may_leave_the_range_of_a_transform():
    data = intensor.Planted(
        shape=NOISY.shape, coords=NOISY.coords, values=NOISY.values + 0.01, truth=NOISY.truth
    )
    reciprocal = (lambda v: -1.0 / v, lambda z: -1.0 / z)
    path, _, _ = walked(data, transform=reciprocal, baseline="additive", n_radii=6)
    assert np.all(np.isfinite(path.noise))


# --- the remainder


@pytest.mark.parametrize("baseline", ["none", "additive"])
def test_radii_grow_faster_when_the_remainder_is_kriged(baseline):
    path, _, pairs = walked(NOISY, remainder="auto", baseline=baseline, n_radii=3)
    scale = check_options(baseline=baseline).scales[0]
    largest = max(prepare(training, scale).largest for training, _ in pairs)
    expected = largest * STRIDE ** np.arange(len(path))
    np.testing.assert_allclose(path.radii, expected, rtol=1e-14)


def test_a_remainder_that_cannot_be_kriged_changes_nothing():
    data = intensor.planted((8, 8, 8), 8, noise=0.1)  # fewer than one cell in 32
    plain, _, _ = walked(data)
    path, _, _ = walked(data, remainder="auto")
    assert np.array_equal(path.radii, plain.radii)
    assert np.array_equal(path.errors, plain.errors)
    assert path.remainder == "none"
    assert not path.kriged.any()


@pytest.mark.parametrize("radius", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("scoring", ["rmse", "balanced"])
def test_errors_are_those_with_the_remainder_where_that_helps(radius, scoring, monkeypatch):
    monkeypatch.setattr(fold_module, "LOOSER", 1.0)  # so that all stop at the same boxes
    words = {"radius": radius, "scoring": scoring, "seed": 4}
    plain, model, pairs = walked(NOISY, **words)
    always, _, _ = walked(NOISY, remainder="kriging", **words)
    perhaps, _, _ = walked(NOISY, remainder="auto", **words)
    ((training, held),) = pairs
    prepared = prepare(training, check_options().scales[0])
    remainder = krige(prepared.observations, model, budget=Budget(), seed=4, rough=True)
    predicted = prepared.predictor(model, remainder).predict(held.coords, unseen="mean")
    kriged = measure(scoring, held.values, predicted, held.weights)
    assert kriged != plain.error
    assert always.errors.tolist() == [kriged]
    assert always.kriged.tolist() == [True]
    assert perhaps.errors.tolist() == [min(kriged, plain.error)]
    assert perhaps.kriged.tolist() == [kriged < plain.error]
    assert perhaps.remainder == ("kriging" if kriged < plain.error else "none")
    # how well boxes do is told of the boxes, kriged or not
    assert always.noise.tolist() == perhaps.noise.tolist() == plain.noise.tolist()
    assert always.objectives.tolist() == plain.objectives.tolist()


def test_a_remainder_is_taken_when_most_folds_say_so(monkeypatch):
    options = check_options(remainder="auto", radius=0.5, validation=3)
    pairs = pairs_of(NOISY, options)
    for wanted in ([True, True, False], [False, True, False]):
        votes = iter(wanted)
        score = fold_module.Fold._score

        def vote(fold, predictor, votes=votes, score=score):
            error, noise = score(fold, predictor)
            if predictor.remainder is None:
                return error, noise
            return (0.5 * error if next(votes) else 1e9), noise

        with monkeypatch.context() as patch:
            patch.setattr(fold_module.Fold, "_score", vote)
            path, *_ = walk(pairs, options.scales[0], options, budget=Budget(), watch=go_on)
        assert path.kriged.tolist() == [sum(wanted) > 1]


def test_a_closer_fit_is_measured_with_the_remainder_that_was_chosen(monkeypatch):
    options = check_options(remainder="auto", radius=0.2)
    pairs = pairs_of(NOISY, options)
    path, *_ = walk(pairs, options.scales[0], options, budget=Budget(), watch=go_on)
    asked = []

    def spy(observations, model, **words):
        asked.append(model)
        return krige(observations, model, **words)

    monkeypatch.setattr(fold_module, "krige", spy)
    for kriged in (True, False):
        asked.clear()
        chosen = dataclasses.replace(path, kriged=np.array([kriged]))
        steps = approach(
            pairs, options.scales[0], options, chosen, (), budget=Budget(), watch=go_on
        )
        assert len(steps) > 0
        assert len(asked) == (len(steps) if kriged else 0)


def test_a_kriged_approach_goes_on_from_the_path(monkeypatch):
    options = check_options(remainder="auto", radius=0.7, validation=3)
    pairs = pairs_of(NOISY, options)
    path, models, *_ = walk(pairs, options.scales[0], options, budget=Budget(), watch=go_on)
    assert len(models) == 3
    begun = []
    start_from = FastEngine.start_from

    def spy(engine, model, budget):
        begun.append(len(model))
        start_from(engine, model, budget)

    monkeypatch.setattr(FastEngine, "start_from", spy)
    for kriged in (True, False):
        begun.clear()
        chosen = dataclasses.replace(path, kriged=np.array([kriged]))
        assert approach(
            pairs, options.scales[0], options, chosen, models, budget=Budget(), watch=go_on
        )
        assert begun == ([len(model) for model in models] if kriged else [])


def test_boxes_of_a_kriged_path_see_a_sample_and_kriging_sees_all(monkeypatch):
    seen = {}
    monkeypatch.setattr(fold_module, "BOXED", 60)

    def spy(observations, model, **words):
        seen["kriged"] = observations.n_cells
        return krige(observations, model, **words)

    def engine(observations, **words):
        seen["boxed"] = observations.n_cells
        return FastEngine(observations, **words)

    monkeypatch.setattr(fold_module, "krige", spy)
    monkeypatch.setattr(fold_module, "FastEngine", engine)
    _, _, ((training, _),) = walked(NOISY, remainder="kriging", radius=1.0)
    assert seen["kriged"] == training.n_cells > 60
    assert 20 < seen["boxed"] < 0.8 * training.n_cells
    walked(NOISY, radius=1.0)  # without a remainder, boxes see all
    assert seen["boxed"] == training.n_cells


# --- walks that a limit cuts off


class Rounds(Budget):
    """Has time for so many questions."""

    def __init__(self, asked):
        super().__init__()
        self._left = asked

    @property
    def spent(self):
        self._left -= 1
        return self._left < 0


def test_a_walk_says_whether_its_first_radius_was_cut_off():
    options = check_options()
    pairs = pairs_of(NOISY, options)
    whole = walk(pairs, options.scales[0], options, budget=Budget(), watch=go_on)
    assert not whole.cut
    cut = walk(pairs, options.scales[0], options, budget=Budget(0.0), watch=go_on)
    assert cut.cut
    assert len(cut.path) == 1
    assert whole.kriging_seconds == cut.kriging_seconds == 0.0


def test_an_approach_whose_first_step_was_cut_off_says_nothing():
    options = check_options()
    pairs = pairs_of(NOISY, options)
    path, models, *_ = walk(pairs, options.scales[0], options, budget=Budget(), watch=go_on)
    words = {"pairs": pairs, "scale": options.scales[0], "options": options, "path": path}
    assert approach(**words, models=models, budget=Budget(0.0), watch=go_on) == ()
    whole = approach(**words, models=models, budget=Budget(), watch=go_on)
    counts = set()
    for asked in range(1, 80, 4):
        found = approach(**words, models=models, budget=Rounds(asked), watch=go_on)
        assert found[:-1] == whole[: max(len(found) - 1, 0)]  # only the last one may be cut off
        counts.add(len(found))
    assert 0 in counts
    assert max(counts) > 1


def test_how_long_kriging_takes_is_told():
    options = check_options(remainder="auto", radius=0.7)
    pairs = pairs_of(NOISY, options)
    whole = walk(pairs, options.scales[0], options, budget=Budget(), watch=go_on)
    assert 0.0 < whole.kriging_seconds < np.inf
    cut = walk(pairs, options.scales[0], options, budget=Budget(0.0), watch=go_on)
    assert cut.kriging_seconds == np.inf
    for one in (whole, cut):
        again = restore_walk(Branch(capture_walk(one), "here"), NOISY.shape)
        assert (again.cut, again.kriging_seconds) == (one.cut, one.kriging_seconds)
