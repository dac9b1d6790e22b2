"""A whole fit: what is chosen, what is certified, and how it ends when it is cut short."""

import dataclasses
import os
import signal
import warnings

import numpy as np
import pytest

import intensor
from intensor.data.labels import Labels
from intensor.errors import (
    CoordinateError,
    EmptyDataError,
    EmptyModelWarning,
    NegativeValueError,
    RadiusWarning,
    RemainderWarning,
    SettingError,
    ValuesError,
)
from intensor.fitting import entry
from intensor.fitting.entry import LEAST_RTOL, fit
from intensor.fitting.kriging import krige
from intensor.fitting.options import DEFAULT_RTOL as RTOL
from intensor.fitting.options import check_options
from intensor.fitting.path import CLOSER, NEARLY, walk
from intensor.fitting.preparation import prepare
from intensor.fitting.samples import Samples, splits
from intensor.runtime.budget import Budget
from intensor.solver.result import Status
from zoo import smooth_tensor

CLEAN = intensor.planted((8, 8, 8), 300)
DENSE = intensor.planted((8, 8, 8), 900)
NOISY = intensor.planted((6, 6, 6), 150, noise=0.1)
EVERY = np.argwhere(np.ones((6, 6, 6)))


def fitted(data=NOISY, *, values=None, watch=None, sample_weight=None, **words):
    return fit(
        data.coords,
        data.values if values is None else values,
        check_options(**{"exact": "off", **words}),
        shape=data.shape,
        sample_weight=sample_weight,
        watch=watch,
    )


def checked(found, data=NOISY, values=None, **options):
    report = found.verify(data.coords, data.values if values is None else values, **options)
    assert report.ok, report
    return report


# --- the radius


def test_a_planted_radius_is_found():
    found = fitted(CLEAN)
    assert 0.8 < found.radius < 1.3
    assert found.radius == found.path.radius
    small = intensor.nmse(fitted(CLEAN, radius=0.6).model, CLEAN.truth)
    assert intensor.nmse(found.model, CLEAN.truth) < 1e-3 < 0.02 < small
    assert found.path.error < 0.1 * fitted(CLEAN, radius=0.6, n_solutions=2).path.error
    checked(found, CLEAN)


def test_a_given_radius_needs_no_validation():
    found = fitted(radius=0.8)
    assert found.radius == 0.8
    assert found.validation is None
    assert found.path is None
    assert found.result.tolerance == pytest.approx(RTOL * np.mean(NOISY.values**2))


def test_validation_says_what_it_did():
    validation = fitted(validation=4, scoring="mae").validation
    assert validation.folds == 4
    assert validation.held_out == len(NOISY.values) / 4
    assert validation.metric == validation.path.metric == "mae"
    assert validation.chosen == 0
    assert (validation.single, validation.averaged) == (None, None)


@pytest.mark.parametrize("radius", [0.9, "auto"])
def test_only_a_radius_that_was_given_is_warned_about(radius):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(radius=radius)
    with pytest.warns(RadiusWarning, match="above the radius 0.1"):
        fitted(radius=0.1)
    cells = len(np.unique(NOISY.coords, axis=0))
    with pytest.warns(RadiusWarning, match=f"{cells} of {cells} values lie above"):
        fitted(radius=1e-9, baseline="additive")  # by their size, whatever their sign


# --- the scale


def additive_values(data):
    rng = np.random.default_rng(5)
    values = np.full(len(data.coords), 1.0)
    for mode, length in enumerate(data.shape):
        values += rng.uniform(size=length)[data.coords[:, mode]]
    return values


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ((4.0 * DENSE.values) ** 2, "sqrt"),
        (np.expm1(8.0 * DENSE.values), "log1p"),
        (DENSE.values, "none"),
    ],
    ids=["squares", "exponentials", "plain"],
)
def test_auto_takes_the_scale_that_the_values_were_made_in(values, name):
    found = fitted(DENSE, values=values, transform="auto")
    assert found.predictor.transform.name == name == found.path.transform
    paths = found.validation.paths
    assert [path.transform for path in paths] == ["none", "sqrt", "log1p"]
    assert found.path.error == min(path.error for path in paths)
    checked(found, DENSE, values)


@pytest.mark.parametrize(("additive", "name"), [(True, "additive"), (False, "none")])
def test_auto_takes_main_effects_where_there_are_some(additive, name):
    values = additive_values(CLEAN) if additive else CLEAN.values
    found = fitted(CLEAN, values=values, baseline="auto")
    assert found.path.baseline == name
    assert (found.predictor.baseline is not None) == found.model.signed == additive
    assert found.path.error == min(path.error for path in found.validation.paths)
    assert found.path.error < max(path.error for path in found.validation.paths)
    checked(found, CLEAN, values)


def test_a_scale_can_be_chosen_at_a_given_radius():
    found = fitted(radius=0.8, transform="auto")
    assert [path.radii.tolist() for path in found.validation.paths] == [[0.8]] * 3
    assert found.radius == 0.8


@pytest.mark.parametrize("folds", [0.1, 3])
def test_scales_of_many_observations_are_chosen_on_a_sample(monkeypatch, folds):
    monkeypatch.setattr(entry, "SCOUTED", 500)
    values = (4.0 * DENSE.values) ** 2
    words = []
    found = fitted(
        DENSE,
        values=values,
        transform="auto",
        validation=folds,
        watch=lambda word, progress: words.append(word),
    )
    paths = found.validation.paths
    assert [path.transform for path in paths] == ["none", "sqrt", "log1p", "sqrt"]
    assert [path.sampled for path in paths] == [True, True, True, False]
    assert min(path.error for path in paths[:3]) == paths[1].error
    assert found.validation.chosen == 3
    assert found.path is paths[3]
    assert found.radius == paths[3].radius
    assert found.predictor.transform.name == "sqrt"
    alone = fitted(DENSE, values=values, transform="sqrt", validation=folds)
    assert found.path.errors.tolist() == alone.path.errors.tolist()
    checked(found, DENSE, values)


def test_a_second_scale_is_walked_where_it_is_not_clearly_worse(monkeypatch):
    monkeypatch.setattr(entry, "SCOUTED", 500)
    monkeypatch.setattr(entry, "CLEARLY", 100.0)
    words = {"values": (4.0 * DENSE.values) ** 2, "transform": "auto"}
    found = fitted(DENSE, **words)
    paths = found.validation.paths
    assert [path.sampled for path in paths] == [True, True, True, False, False]
    foremost = sorted(paths[:3], key=lambda path: path.error)[:2]
    assert [path.transform for path in paths[3:]] == [path.transform for path in foremost]
    assert found.path.error == min(path.error for path in paths[3:])
    monkeypatch.setattr(entry, "CLEARLY", 1.0)
    assert len(fitted(DENSE, **words).validation.paths) == 4


def test_few_cells_are_held_out_more_than_once():
    found = fitted(NOISY, validation="auto")
    assert found.validation.folds == 4
    assert fitted(NOISY, validation=0.1).validation.folds == 1


def test_a_single_scale_needs_no_sample(monkeypatch):
    monkeypatch.setattr(entry, "SCOUTED", 50)
    assert [path.sampled for path in fitted().validation.paths] == [False]


# --- the tolerance


@pytest.mark.parametrize("words", [{}, {"transform": "sqrt"}, {"baseline": "additive"}], ids=str)
def test_the_tolerance_follows_the_held_out_error(words):
    data = intensor.planted((8, 8, 8), 300, noise=0.1)
    found = fit(data.coords, data.values, check_options(exact="off", **words))
    path = found.path
    noise = path.noise[path.best]
    assert noise > 0.0
    gaps = np.array([gap for gap, _ in found.validation.approach])
    np.testing.assert_allclose(gaps, noise * np.array(CLOSER[: gaps.size]), rtol=1e-12)
    errors = np.array([error for _, error in found.validation.approach])
    best = np.argmax(errors <= (1.0 + NEARLY) * errors.min())
    assert found.validation.tolerance == gaps[best]
    assert found.result.tolerance == pytest.approx(gaps[best], rel=1e-12)
    if words == {}:
        assert noise == pytest.approx(path.error**2, rel=1e-9)


def test_a_handful_of_held_out_cells_is_not_asked_about_the_tolerance():
    found = fitted()
    assert found.validation.held_out < entry.TOLD
    assert found.validation.approach == ()
    assert found.validation.tolerance is None
    assert found.result.tolerance == pytest.approx(RTOL * np.mean(NOISY.values**2))


def test_a_larger_tolerance_or_a_share_is_kept():
    assert fitted(tol=0.5).result.tolerance == 0.5
    mean_square = np.mean(NOISY.values**2)
    assert fitted(rtol=1e-3).result.tolerance == pytest.approx(1e-3 * mean_square)
    zeros = np.zeros(len(NOISY.values))
    assert fitted(values=zeros).result.tolerance == 0.0
    assert LEAST_RTOL < RTOL


# --- weights


def repeated(weights):
    rows = np.repeat(np.arange(len(weights)), weights)
    return dataclasses.replace(NOISY, coords=NOISY.coords[rows], values=NOISY.values[rows])


WHOLE = np.random.default_rng(1).integers(0, 4, 150)


@pytest.mark.parametrize("words", [{}, {"transform": "sqrt", "baseline": "additive"}], ids=str)
def test_a_weight_of_two_is_a_row_repeated_and_one_of_zero_a_row_left_out(words):
    # What is left to chance is what rounding decides late in a run: a loose gap ends it before.
    weighted = fitted(radius=0.8, rtol=0.02, sample_weight=WHOLE, **words)
    plain = fitted(repeated(WHOLE), radius=0.8, rtol=0.02, **words)
    np.testing.assert_allclose(weighted.model.weights, plain.model.weights, atol=1e-9)
    assert np.array_equal(weighted.predictor.counts, plain.predictor.counts)
    np.testing.assert_allclose(
        weighted.predict(EVERY, unseen="mean"), plain.predict(EVERY, unseen="mean"), atol=1e-9
    )
    assert weighted.objective == pytest.approx(plain.objective, rel=1e-9)
    checked(weighted, sample_weight=WHOLE)
    assert not weighted.verify(NOISY.coords, NOISY.values).ok


def test_validation_counts_weights():
    positive = WHOLE + 1
    weighted = fitted(sample_weight=positive, n_radii=1)
    plain = fitted(repeated(positive), n_radii=1)
    assert weighted.path.errors == pytest.approx(plain.path.errors, rel=1e-12)
    assert weighted.path.errors != pytest.approx(fitted(n_radii=1).path.errors, rel=1e-3)


def test_a_chosen_radius_is_the_same_with_weights_and_with_rows():
    weighted = fitted(sample_weight=WHOLE)
    plain = fitted(repeated(WHOLE))
    assert weighted.path.radii == pytest.approx(plain.path.radii, rel=1e-12)
    assert weighted.result.tolerance == pytest.approx(plain.result.tolerance, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_rows_without_weight_are_not_all_that_is_held_out(seed):
    weights = np.zeros(150)
    weights[:4] = 1.0
    assert len(fitted(sample_weight=weights, seed=seed).model) > 0


# --- averages


def test_averaging_is_measured_and_certified():
    found = fitted(n_solutions=4)
    validation = found.validation
    assert found.n_solutions == 4
    assert 0.0 < validation.averaged < validation.single
    alone = fitted()
    assert found.radius == alone.radius
    assert len(found.model) > len(alone.model)
    assert found.model.weights.sum() <= found.radius * (1.0 + 1e-12)
    checked(found)


def test_averages_at_a_given_radius_are_measured_too():
    validation = fitted(n_solutions=2, radius=0.8).validation
    assert validation.path.radii.tolist() == [0.8]
    assert validation.single is not None
    assert validation.averaged <= validation.single * 1.5


def test_the_solutions_have_seeds_of_their_own():
    first, second = (fitted(radius=0.8, seed=seed) for seed in (3, 4))
    mean = (first.predict(EVERY, unseen="mean") + second.predict(EVERY, unseen="mean")) / 2
    assert not np.array_equal(first.model.weights, second.model.weights)
    tight = fitted(radius=0.8, seed=3, n_solutions=2, rtol=RTOL)
    np.testing.assert_allclose(tight.predict(EVERY, unseen="mean"), mean, atol=1e-12)


def test_the_same_seed_gives_the_same_fit():
    first, second = fitted(n_solutions=2, seed=5), fitted(n_solutions=2, seed=5)
    assert np.array_equal(first.model.weights, second.model.weights)
    assert np.array_equal(first.path.errors, second.path.errors)


# --- the remainder


def smooth(shape=(10, 9, 8), *, noise=0.1, seed=1):
    """Return half of the cells of a sum of outer products of smooth curves, and the others."""
    rng = np.random.default_rng(seed)
    truth = smooth_tensor(shape, rng)
    known = rng.random(shape) < 0.5
    coords = np.argwhere(known)
    values = np.maximum(truth[known] + noise * rng.standard_normal(len(coords)), 0.0)
    data = intensor.Planted(shape=shape, coords=coords, values=values, truth=CLEAN.truth)
    return data, np.argwhere(~known), truth[~known]


def error_of(found, cells, truth):
    return np.sqrt(np.mean((found.predict(cells, unseen="mean") - truth) ** 2))


@pytest.mark.parametrize("seed", range(1, 5))
def test_auto_kriges_what_is_smooth_and_predicts_better(seed):
    data, cells, truth = smooth(seed=seed)
    radius = 1.01 * data.values.max()
    plain, found = (fitted(data, radius=radius, remainder=word) for word in ("none", "auto"))
    assert found.path.remainder == "kriging"
    assert found.predictor.remainder.shape == data.shape
    assert plain.predictor.remainder is None
    assert error_of(found, cells, truth) < 0.7 * error_of(plain, cells, truth)
    checked(found, data)


@pytest.mark.parametrize("words", [{}, {"transform": "sqrt", "baseline": "additive"}], ids=str)
def test_kriging_adds_what_the_boxes_leave_to_be_expected(words):
    data, cells, _ = smooth()
    found = fitted(data, radius=9.0, rtol=1e-3, remainder="kriging", seed=2, **words)
    plain = fitted(data, radius=9.0, rtol=1e-3, seed=2, **words)
    assert found.validation is None
    assert np.array_equal(found.model.weights, plain.model.weights)
    assert (found.objective, found.bound) == (plain.objective, plain.bound)
    samples = Samples(coords=data.coords, values=data.values, weights=None, shape=data.shape)
    prepared = prepare(samples, check_options(**words).scales[0])
    remainder = krige(prepared.observations, plain.model, budget=Budget(), seed=2)
    assert np.array_equal(found.predictor.remainder.field, remainder.field)
    added = found.predictor.fitted(cells) - plain.predictor.fitted(cells)
    np.testing.assert_allclose(added, remainder.field[tuple(cells.T)], atol=1e-12)
    checked(found, data)


def test_the_certificate_is_that_of_the_boxes():
    data, _, _ = smooth((5, 4, 3), noise=0.5)
    found = fitted(data, exact="auto", radius=9.0, rtol=1e-3, remainder="kriging")
    assert found.status is Status.OPTIMAL
    assert checked(found, data).complete
    of_boxes = np.mean((found.model.predict(data.coords) - data.values) ** 2)
    assert found.objective == pytest.approx(of_boxes, rel=1e-12)
    kriged = np.mean((found.predict(data.coords) - data.values) ** 2)
    assert kriged != pytest.approx(of_boxes, rel=1e-2)
    worse = found.predictor.residual_targets(data.coords, data.values) * 1.1
    assert not found.verify(data.coords, worse).ok


@pytest.mark.parametrize("rep", range(6))
def test_the_fit_does_what_the_validation_said(rep):
    rng = np.random.default_rng(rep)
    known = rng.random((8, 8, 8)) < 0.5
    box = np.zeros((8, 8, 8))
    box[:4, 2:6, 4:] = 1.0
    values = np.abs(box[known] + 0.3 * rng.standard_normal(known.sum()))
    found = fit(
        np.argwhere(known), values, check_options(exact="off", remainder="auto"), shape=(8, 8, 8)
    )
    assert (found.path.remainder == "kriging") == (found.predictor.remainder is not None)
    assert found.path.kriged.dtype == bool
    assert found.radius == found.path.radius


def test_auto_leaves_noise_around_a_box_alone_sometimes():
    said = set()
    for rep in range(6):
        rng = np.random.default_rng(rep)
        values = np.zeros((8, 8, 8))
        values[:4, :4, :4] = 1.0
        known = rng.random(values.shape) < 0.5
        seen = np.abs(values[known] + 0.3 * rng.standard_normal(known.sum()))
        options = check_options(exact="off", remainder="auto")
        said.add(fit(np.argwhere(known), seen, options, shape=values.shape).path.remainder)
    assert "none" in said


def test_the_same_seed_kriges_alike():
    data, cells, _ = smooth()
    first, again, other = (
        fitted(data, radius=9.0, remainder="kriging", seed=seed).predict(cells, unseen="mean")
        for seed in (5, 5, 6)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_averages_are_kriged_too():
    data, cells, truth = smooth()
    radius = 1.01 * data.values.max()
    found = fitted(data, radius=radius, remainder="auto", n_solutions=3)
    plain = fitted(data, radius=radius, n_solutions=3)
    assert found.path.remainder == "kriging"
    assert found.n_solutions == 3
    assert plain.validation.averaged is not None
    assert found.validation.averaged is found.validation.single is None  # not worth the time
    assert error_of(found, cells, truth) < 0.8 * error_of(plain, cells, truth)
    checked(found, data)


def test_a_kriged_fit_goes_on_from_the_model_of_the_path():
    data, _, _ = smooth()
    radius = 1.01 * data.values.max()
    for remainder in ("none", "auto"):
        looks = []
        found = fitted(
            data,
            radius=radius,
            remainder=remainder,
            n_solutions=2,
            watch=lambda word, now, looks=looks: looks.append((word, now)),
        )
        assert found.path.remainder == ("none" if remainder == "none" else "kriging")
        first, second = (
            next(now.active for word, now in looks if word == f"fit {place} of 2")
            for place in (1, 2)
        )
        assert second <= 2  # from nothing, so that there is something to average
        assert first <= 2 if remainder == "none" else first > 8
        checked(found, data)


def test_weights_count_in_the_remainder():
    weighted = fitted(radius=0.8, rtol=0.02, sample_weight=WHOLE, remainder="kriging")
    plain = fitted(repeated(WHOLE), radius=0.8, rtol=0.02, remainder="kriging")
    fields = [found.predictor.remainder.field for found in (weighted, plain)]
    size = np.abs(fields[1]).max()
    np.testing.assert_allclose(fields[0], fields[1], atol=1e-3 * size)
    other = fitted(radius=0.8, rtol=0.02, remainder="kriging").predictor.remainder.field
    assert np.abs(other - fields[1]).max() > 0.05 * size


SPARSE = intensor.planted((40, 40, 40), 500, noise=0.1)
LINE = intensor.Planted(
    shape=(30,), coords=np.arange(30)[:, np.newaxis], values=np.ones(30), truth=CLEAN.truth
)
LONG = intensor.Planted(
    shape=(5000, 2),
    coords=np.stack(np.unravel_index(np.arange(0, 10000, 20), (5000, 2)), axis=1),
    values=np.linspace(0.5, 1.0, 500),
    truth=CLEAN.truth,
)


@pytest.mark.parametrize(
    ("data", "figures"),
    [
        (SPARSE, "got 40 x 40 x 40 with 49[0-9] observed cells"),
        (LINE, "at least two modes.*got 30 with 30 observed cells"),
        (LONG, "at most 4096 indices; got 5000 x 2 with 500 observed"),
    ],
    ids=["sparse", "one mode", "long"],
)
def test_tensors_that_cannot_be_kriged_are_refused_or_not_kriged(data, figures):
    with pytest.raises(SettingError, match=f"4194304 cells.*one in 32.*{figures}"):
        fitted(data, radius=1.5, remainder="kriging")
    with pytest.raises(SettingError, match=figures):
        fitted(data, n_radii=1, remainder="kriging")
    found = fitted(data, n_radii=2, remainder="auto")
    plain = fitted(data, n_radii=2)
    assert found.predictor.remainder is None
    assert found.path.remainder == "none"
    assert np.array_equal(found.model.weights, plain.model.weights)


@pytest.mark.parametrize("remainder", ["kriging", "auto"])
def test_hardly_any_data_can_be_kriged(remainder):
    options = check_options(exact="off", remainder=remainder)
    single = fit([[1, 2], [1, 2]], [2.0, 4.0], options)
    assert single.predict([[1, 2]]) == pytest.approx([3.0], rel=1e-6)
    assert (single.predictor.remainder is None) == (remainder == "auto")  # nothing to validate
    zeros = fitted(values=np.zeros(150), remainder=remainder)
    assert not zeros.predict(EVERY, unseen="mean").any()


@pytest.mark.parametrize("scale", [2.0**-180, 2.0**180])
def test_values_of_any_size_can_be_kriged(scale):
    data, cells, _ = smooth()
    plain = fitted(data, radius=9.0, rtol=1e-3, remainder="kriging")
    found = fitted(
        data, values=scale * data.values, radius=9.0 * scale, rtol=1e-3, remainder="kriging"
    )
    size = np.abs(plain.predictor.remainder.field).max()
    assert size > 0.5
    np.testing.assert_allclose(found.predict(cells) / scale, plain.predict(cells), atol=1e-5 * size)


def test_unseen_indices_are_averaged_over_with_the_remainder():
    data, _, _ = smooth((5, 4, 3))
    kept = data.coords[:, 1] != 2
    data = dataclasses.replace(data, coords=data.coords[kept], values=data.values[kept])
    found = fitted(data, radius=9.0, remainder="kriging")
    shares = np.bincount(data.coords[:, 1], minlength=4) / len(data.coords)
    for first, third in ((0, 0), (4, 2)):
        every = np.array([[first, second, third] for second in (0, 1, 3)])
        expected = shares[[0, 1, 3]] @ found.predictor.fitted(every)
        for second in (2, -1, 99):
            (value,) = found.predictor.fitted([[first, second, third]], unseen="mean")
            assert value == pytest.approx(expected, rel=1e-12)


def test_whole_fibres_are_held_out_where_whole_fibres_are_missing(monkeypatch):
    seen = []

    def spy(pairs, *arguments, **words):
        seen.extend(pairs)
        return walk(pairs, *arguments, **words)

    monkeypatch.setattr(entry, "walk", spy)
    rng = np.random.default_rng(0)
    known = np.broadcast_to(rng.random((8, 1, 8)) < 0.5, (8, 8, 8))
    coords = np.argwhere(known)
    options = check_options(exact="off", n_radii=1, remainder="auto")
    fit(coords, rng.random(len(coords)), options, shape=(8, 8, 8))
    ((training, held),) = seen
    fibres = [set(map(tuple, part.coords[:, [0, 2]].tolist())) for part in (training, held)]
    assert not fibres[0] & fibres[1]
    assert len(held) == 8 * len(fibres[1])


@pytest.mark.parametrize("metric", ["rmse", "mae"])
@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2.0, 150)])
def test_the_error_of_the_mean_is_told_beside_that_of_the_fit(metric, weights):
    found = fitted(scoring=metric, validation=4, sample_weight=weights).validation
    samples = Samples(
        coords=NOISY.coords, values=NOISY.values, weights=weights, shape=NOISY.shape
    ).in_order()
    errors = []
    for training, held in splits(samples, folds=4, share=0.25, seed=0):
        apart = held.values - np.average(training.values, weights=training.weights)
        size = apart**2 if metric == "rmse" else np.abs(apart)
        mean = np.average(size, weights=held.weights)
        errors.append(np.sqrt(mean) if metric == "rmse" else mean)
    assert found.error_of_mean == pytest.approx(np.mean(errors), rel=1e-12)


def test_a_fit_of_clean_data_is_far_better_than_the_mean():
    found = fitted(CLEAN).validation
    assert found.path.error < 0.1 * found.error_of_mean


# --- predictions


@pytest.mark.parametrize("transform", ["none", "sqrt", "log1p", (np.cbrt, np.exp)], ids=str)
@pytest.mark.parametrize("baseline", ["none", "additive"])
@pytest.mark.parametrize("radius", [0.9, 30.0])
def test_predictions_stay_in_range(transform, baseline, radius):
    if not isinstance(transform, str):
        transform = (np.cbrt, lambda z: z**3)
    found = fitted(values=NOISY.values**4, radius=radius, transform=transform, baseline=baseline)
    predicted = found.predict(EVERY, unseen="mean")
    assert np.all(np.isfinite(predicted))
    assert predicted.min() >= 0.0
    if baseline == "none":
        highest = found.predictor.transform.undo(np.array([radius]))[0]
        assert predicted.max() <= highest * (1.0 + 1e-12)
    else:
        assert found.predictor.fitted(EVERY).min() < 0.0  # there was something to clip
    assert np.abs(found.model.weights).sum() <= radius * (1.0 + 1e-12)


def test_proofs_hold_in_every_scale():
    for transform in ("none", "sqrt", "log1p"):
        for baseline in ("none", "additive"):
            found = fitted(
                exact="auto", radius=0.9, transform=transform, baseline=baseline, rtol=1e-3,
                values=0.3 * NOISY.values,
            )  # fmt: skip
            assert found.status is Status.OPTIMAL
            report = checked(found, values=0.3 * NOISY.values)
            assert report.complete
            wrong = found.verify(NOISY.coords, NOISY.values)
            assert not wrong.ok


def test_the_versions_of_the_paper_fit_too():
    found = fitted(version=8, exact="auto", rtol=1e-2)
    assert found.result.version == 8
    assert found.status is Status.OPTIMAL
    checked(found)


# --- odd data


@pytest.mark.parametrize("words", [{}, {"transform": "auto", "baseline": "auto"}], ids=str)
@pytest.mark.parametrize("n_solutions", [1, 3])
def test_a_single_cell(words, n_solutions):
    options = check_options(exact="off", n_solutions=n_solutions, **words)
    found = fit([[1, 2], [1, 2]], [2.0, 4.0], options)
    assert found.validation is None
    assert found.n_solutions == n_solutions
    assert found.radius == 4.0
    assert found.predict([[1, 2]]) == pytest.approx([3.0], rel=1e-6)
    assert found.verify([[1, 2], [1, 2]], [2.0, 4.0]).ok


@pytest.mark.parametrize("baseline", ["none", "additive", "auto"])
def test_nothing_but_zeros(baseline):
    found = fitted(values=np.zeros(150), baseline=baseline)
    assert found.status is Status.OPTIMAL
    assert not found.predict(EVERY, unseen="mean").any()
    checked(found, values=np.zeros(150))


def test_two_cells():
    found = fit([[0], [1]], [1.0, 3.0], check_options(exact="off"))
    assert found.validation.held_out == 1.0
    assert found.n == 2
    assert found.predict([[0], [1]]).tolist() == pytest.approx([1.0, 3.0], abs=0.5)


def test_duplicates_are_data():
    coords, values = np.repeat(NOISY.coords, 3, axis=0), np.repeat(NOISY.values, 3)
    values[1::3] *= 1.5
    values[2::3] *= 0.5
    found = fit(coords, values, check_options(exact="off", radius=0.8, rtol=1e-7), shape=(6, 6, 6))
    alone = fitted(radius=0.8, rtol=1e-7)
    assert found.n == 450
    assert found.objective > alone.objective
    np.testing.assert_allclose(found.predict(NOISY.coords), alone.predict(NOISY.coords), atol=2e-2)
    assert found.verify(coords, values).ok


def test_bad_data_is_refused():
    with pytest.raises(NegativeValueError, match=r"values\[0\] is -1"):
        fitted(values=np.full(150, -1.0))
    with pytest.raises(ValuesError, match="sample_weight has shape"):
        fitted(sample_weight=np.ones(3))
    with pytest.raises(EmptyDataError):
        fit(np.empty((0, 2), dtype=int), [], check_options())
    with pytest.raises(intensor.errors.CoordinateError):
        fit([[5, 0]], [1.0], check_options(), shape=(3, 3))


def test_labels_give_the_shape():
    labels = Labels(modes=("a", "b"), indices=(np.arange(4), np.array(["x", "y"], dtype=object)))
    found = fit([[0, 0], [2, 1]], [1.0, 2.0], check_options(exact="off"), labels=labels)
    assert found.labels is labels
    assert found.shape == (4, 2)
    plain = fit([[0, 0], [2, 1]], [1.0, 2.0], check_options(exact="off"))
    assert plain.shape == (3, 2)
    assert plain.labels.plain
    assert plain.labels.modes == ("mode_0", "mode_1")


def test_what_was_passed_in_is_left_alone():
    coords, values = NOISY.coords.copy(), NOISY.values.copy()
    weights = np.ones(150) * 2.0
    for array in (coords, values, weights):
        array.flags.writeable = False
    options = check_options(exact="off", transform="auto", baseline="auto", n_solutions=2)
    fit(coords, values, options, shape=(6, 6, 6), sample_weight=weights)
    assert np.array_equal(coords, NOISY.coords)
    assert np.array_equal(values, NOISY.values)


# --- watching and stopping


def test_what_is_being_done_is_told():
    words = []
    data = intensor.planted((8, 8, 8), 300, noise=0.1)
    options = check_options(exact="off")
    found = fit(data.coords, data.values, options, watch=lambda word, _: words.append(word))
    assert found.validation.approach
    assert list(dict.fromkeys(words)) == [
        *(f"radius {radius:.4g}" for radius in found.path.radii),
        *(f"gap {gap:.3g}" for gap, _ in found.validation.approach),
        "fit",
    ]
    words.clear()
    fitted(n_solutions=2, radius=0.8, watch=lambda word, progress: words.append(word))
    assert list(dict.fromkeys(words)) == [
        "radius 0.8",
        "validation, fit 1 of 2",
        "validation, fit 2 of 2",
        "fit 1 of 2",
        "fit 2 of 2",
    ]
    words.clear()
    fitted(transform="auto", radius=0.8, watch=lambda word, progress: words.append(word))
    names = list(dict.fromkeys(words))
    assert names == [*(f"{name}, none, radius 0.8" for name in ("none", "sqrt", "log1p")), "fit"]


def test_returning_false_ends_a_solve():
    found = fitted(radius=0.8, watch=lambda word, progress: progress.iteration < 4)
    assert found.status is Status.STOPPED
    assert found.result.counters.iterations == 4
    assert len(found.model) > 0
    checked(found)


def test_returning_false_all_the_time_still_gives_a_model():
    found = fitted(watch=lambda word, progress: False, n_solutions=2)
    assert found.status is Status.STOPPED
    assert np.all(found.predict(EVERY, unseen="mean") >= 0.0)
    checked(found)


@pytest.mark.parametrize("n_solutions", [1, 3])
@pytest.mark.parametrize("version", ["fast", 8])
def test_ctrl_c_during_validation_gives_the_model_that_was_walked_to(n_solutions, version):
    before = signal.getsignal(signal.SIGINT)
    words = []

    def press(word, progress):
        words.append(word)
        if len(words) == 9:
            os.kill(os.getpid(), signal.SIGINT)

    found = fitted(watch=press, n_solutions=n_solutions, version=version)
    assert words[8].startswith("radius")
    assert len(words) <= 10
    assert found.status is Status.INTERRUPTED
    assert found.n_solutions == 1
    assert len(found.model) > 3
    assert found.objective < 0.5 * np.mean(NOISY.values**2)
    assert found.result.version == "fast"
    assert signal.getsignal(signal.SIGINT) is before
    checked(found)


def test_ctrl_c_during_the_fit_gives_the_best_so_far():
    def press(word, progress):
        if word == "fit 2 of 3" and progress.iteration == 3:
            os.kill(os.getpid(), signal.SIGINT)

    found = fitted(watch=press, n_solutions=3)
    assert found.n_solutions == 1  # three rounds are far from enough to be averaged with it
    assert found.validation.averaged is not None
    assert len(found.model) > 0
    checked(found)


@pytest.mark.needs_jit
def test_the_time_limit_ends_a_fit():
    data = intensor.planted((25, 25, 25), 4000, noise=0.2)
    fitted(NOISY)  # so that nothing is compiled below
    found = fitted(data, time_limit=1.0, n_solutions=4, rtol=1e-9, transform="auto")
    assert found.status is Status.TIME_LIMIT
    assert len(found.model) > 0
    checked(found, data)


def names_of(path):
    return path.transform, path.baseline


@pytest.mark.needs_jit
@pytest.mark.parametrize("remainder", ["none", "auto"])
def test_six_scales_share_the_time(remainder):
    data, cells, truth = smooth((20, 20, 20))
    words = {"transform": "auto", "baseline": "auto", "remainder": remainder}
    fitted(NOISY, n_radii=1, **words)  # so that nothing is compiled below
    found = fitted(data, time_limit=3.0, rtol=1e-9, **words)
    paths = found.validation.paths
    names = {(path.transform, path.baseline) for path in paths}
    assert len(names) == 6
    if len(paths) > 6:  # scouted first: the scale was chosen by what that said
        assert [path.sampled for path in paths] == [True] * 6 + [False] * (len(paths) - 6)
        foremost = sorted(paths[:6], key=lambda path: path.error)[: len(paths) - 6]
        assert [names_of(path) for path in paths[6:]] == [names_of(path) for path in foremost]
        assert found.validation.chosen >= 6
    assert (found.path.remainder == "kriging") == (found.predictor.remainder is not None)
    assert error_of(found, cells, truth) < 0.5 * truth.std()
    checked(found, data)


def test_scouting_that_came_to_its_end_is_taken_as_it_is():
    found = fitted(n_radii=2, transform="auto", baseline="auto", time_limit=60.0)
    alone = fitted(n_radii=2, transform="auto", baseline="auto")
    paths = found.validation.paths
    assert [path.sampled for path in paths] == [False] * 6
    for path, other in zip(paths, alone.validation.paths, strict=True):
        assert np.array_equal(path.errors, other.errors)
    assert found.validation.chosen == alone.validation.chosen


@pytest.mark.parametrize("remainder", ["kriging", "auto"])
@pytest.mark.parametrize("looks", [1, 4, 8])
def test_returning_false_still_gives_predictions_when_the_remainder_is_kriged(remainder, looks):
    data, cells, truth = smooth()
    seen = []

    def stop(word, progress):
        seen.append(word)
        return len(seen) < looks

    found = fitted(data, remainder=remainder, watch=stop)
    assert found.status is Status.STOPPED
    predicted = found.predict(cells, unseen="mean")
    assert np.isfinite(predicted).all()
    assert predicted.min() >= 0.0
    assert found.predictor.remainder is None or found.predictor.remainder.shape == data.shape
    if remainder == "kriging" and len(found.model) > 8:  # what they leave unfinished is kriged
        assert error_of(found, cells, truth) < 0.6 * truth.std()
    checked(found, data)


@pytest.mark.parametrize("word", ["radius", "fit"])
def test_ctrl_c_still_gives_predictions_when_the_remainder_is_kriged(word):
    data, cells, truth = smooth()

    def press(now, progress):
        if now.startswith(word) and progress.iteration == 1:
            os.kill(os.getpid(), signal.SIGINT)

    found = fitted(data, remainder="auto", rtol=1e-9, watch=press)
    assert found.status is Status.INTERRUPTED
    predicted = found.predict(cells, unseen="mean")
    assert np.isfinite(predicted).all()
    if found.path.remainder == "kriging":  # which Ctrl-C must not cost
        assert found.predictor.remainder is not None
        assert error_of(found, cells, truth) < 0.6 * truth.std()
    checked(found, data)


@pytest.mark.parametrize("remainder", ["kriging", "auto"])
@pytest.mark.filterwarnings("ignore::intensor.errors.EmptyModelWarning")
def test_no_time_at_all_and_a_remainder(remainder):
    data, cells, _ = smooth()
    with pytest.warns(
        RemainderWarning, match="no time to .*krig.* within 1e-09 s; allow more time"
    ):
        found = fitted(data, time_limit=1e-9, remainder=remainder)
    assert found.status is Status.TIME_LIMIT
    assert (found.path.remainder == "kriging") == (found.predictor.remainder is not None)
    assert np.isfinite(found.predict(cells, unseen="mean")).all()
    checked(found, data)


def test_a_remainder_without_time_is_left_out_and_said_so(monkeypatch):
    data, cells, _ = smooth()
    monkeypatch.setattr(entry, "krige", lambda *arguments, **words: None)
    with pytest.warns(RemainderWarning, match="no time to krige .* before the fit was stopped"):
        found = fitted(data, remainder="kriging")
    assert found.predictor.remainder is None
    assert np.isfinite(found.predict(cells, unseen="mean")).all()
    checked(found, data)


def test_a_remainder_is_kriged_roughly_where_time_is_short(monkeypatch):
    data, _, _ = smooth()
    asked = []

    def slow_when_close(observations, model, *, rough, **words):
        asked.append(rough)
        return krige(observations, model, rough=rough, **words) if rough else None

    monkeypatch.setattr(entry, "krige", slow_when_close)
    found = fitted(data, remainder="kriging", time_limit=100.0)
    assert asked == [True, False]
    assert found.predictor.remainder is not None
    asked.clear()
    with pytest.warns(RemainderWarning):  # without a limit it is done closely or not at all
        fitted(data, remainder="kriging")
    assert asked == [False]


def test_ctrl_c_reaches_the_last_kriging(monkeypatch):
    data, _, _ = smooth()
    budgets = []

    def endless(observations, model, *, budget, **words):
        budgets.append(budget)
        os.kill(os.getpid(), signal.SIGINT)
        return krige(observations, model, budget=budget, **words)

    monkeypatch.setattr(entry, "krige", endless)
    with pytest.warns(RemainderWarning):
        fitted(data, remainder="kriging")
    assert [budget.spent for budget in budgets] == [True]


@pytest.mark.parametrize("kind", ["stop", "interrupt"])
@pytest.mark.parametrize("looks", [1, 2, 3])
def test_a_fit_that_is_cut_short_is_as_good_as_the_walk(looks, kind):
    seen, walked = [], []

    def press(word, progress):
        if word != "fit":
            walked.append(progress)
            return True
        seen.append(progress)
        if len(seen) == looks and kind == "interrupt":
            os.kill(os.getpid(), signal.SIGINT)
        return len(seen) < looks or kind == "interrupt"

    found = fitted(watch=press, rtol=1e-9)
    assert found.status is (Status.STOPPED if kind == "stop" else Status.INTERRUPTED)
    assert len(found.model) > 5
    whole = fitted(rtol=1e-9)
    variance = NOISY.values.var()
    assert found.objective - whole.objective < 0.2 * (variance - whole.objective)
    assert np.abs(found.model.weights).sum() <= found.radius * (1.0 + 1e-12)
    checked(found)


@pytest.mark.filterwarnings("ignore::intensor.errors.EmptyModelWarning")
def test_a_tolerance_is_not_taken_from_a_validation_that_was_cut():
    found = fitted(time_limit=1e-9)
    assert found.validation.approach == ()
    assert found.result.tolerance <= 1.01 * RTOL * np.mean(NOISY.values**2)
    assert found.status is Status.TIME_LIMIT


def test_solutions_that_were_cut_short_do_not_spoil_an_average():
    results = [fitted(radius=0.8).result]
    bad = dataclasses.replace(
        results[0], status=Status.TIME_LIMIT, objective=2.0 * results[0].objective
    )
    near = dataclasses.replace(bad, objective=1.05 * results[0].objective)
    done = dataclasses.replace(bad, status=Status.STALLED)
    kept = entry._worth_averaging([results[0], bad, near, done])
    assert kept == [results[0], near, done]
    assert entry._worth_averaging([bad]) == [bad]


def test_no_time_at_all_still_gives_a_model():
    with pytest.warns(EmptyModelWarning, match="raise time_limit"):
        found = fitted(time_limit=1e-9)
    assert found.status is Status.TIME_LIMIT
    assert len(found.path) == 1
    checked(found)


@pytest.mark.filterwarnings("ignore::intensor.errors.EmptyModelWarning")
def test_large_data_is_not_validated_without_time(monkeypatch):
    monkeypatch.setattr(entry, "SCOUTED", 100)  # fewer than there are
    found = fitted(time_limit=1e-9)
    assert found.status is Status.TIME_LIMIT
    assert found.validation is None
    assert found.radius == NOISY.values.max()
    checked(found)


def test_coordinates_of_another_tensor_are_refused():
    found = fitted(radius=0.8)
    with pytest.raises(CoordinateError):
        found.verify(NOISY.coords + 9, NOISY.values)


def test_zeros_need_no_boxes_and_no_warning():
    found = fitted(values=np.zeros(len(NOISY.values)), time_limit=1e-9)
    assert len(found.model) == 0
