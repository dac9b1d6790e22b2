"""Choices by validation: the radius, the tolerance and the remainder."""

import numpy as np
import pytest

import intensor
from fitting_cases import (
    CLEAN,
    NOISY,
    NOISY_EIGHT,
    checked,
    error_of,
    fitted,
    noisy_box,
    problem,
    samples_of,
    smooth,
)
from intensor.errors import ValidationWarning
from intensor.fitting import candidates as candidates_module
from intensor.fitting import fold as fold_module
from intensor.fitting.choose import MIN_HELD_OUT
from intensor.fitting.combine import MIN_RTOL
from intensor.fitting.folds import open_folds
from intensor.fitting.holding_out import splits
from intensor.fitting.kriging import krige
from intensor.fitting.options import DEFAULT_RTOL, Effort
from intensor.fitting.path import GAP_SHARES, NEARLY_BEST
from intensor.solver.fast.engine import FastEngine
from intensor.solver.result import Status

# --- scale and radius


def test_a_planted_radius_is_found():
    found = fitted(CLEAN)
    assert 0.8 < found.radius < 1.3
    assert found.radius == found.path.radius
    small = intensor.nmse(fitted(CLEAN, radius=0.6).model, CLEAN.truth)
    assert intensor.nmse(found.model, CLEAN.truth) < 1e-3 < 0.02 < small
    assert found.path.error < 0.1 * fitted(CLEAN, radius=0.6, validation=0.1).path.error
    checked(found, CLEAN)


def test_validation_says_what_it_did():
    validation = fitted(validation=4, scoring="mae").validation
    assert validation.folds == 4
    assert validation.held_out == len(NOISY.values) / 4
    assert validation.metric == validation.path.metric == "mae"
    assert validation.chosen == 0
    assert (validation.single, validation.averaged) == (None, None)


def test_a_remainder_that_was_asked_for_is_part_of_every_error_of_graded_components():
    graded = {"components": "graded", "n_solutions": "auto", "max_components": 3}
    asked, plain, auto = (
        fitted(NOISY, remainder=remainder, **graded) for remainder in ("kriging", "none", "auto")
    )
    assert asked.path.kriged.all()
    assert asked.path.remainder == "kriging"
    assert asked.predictor.remainder is not None
    assert not plain.path.kriged.any()
    kriged = auto.path.kriged.tolist()
    assert kriged == sorted(kriged)  # the last steps are those with kriging
    assert not any(kriged[: auto.path.limits.argmax()])
    checked(asked)


def test_few_cells_are_held_out_more_than_once():
    found = fitted(NOISY, validation="auto")
    assert found.validation.folds == Effort().max_folds[0]
    assert fitted(NOISY, validation=0.1).validation.folds == 1


# --- the tolerance


@pytest.mark.parametrize("options", [{}, {"transform": "sqrt"}, {"baseline": "additive"}], ids=str)
def test_the_tolerance_follows_the_held_out_error(options):
    found = fitted(NOISY_EIGHT, **options)
    path = found.path
    noise = path.noise[path.best]
    assert noise > 0.0
    gaps = np.array([gap for gap, _ in found.validation.approach])
    np.testing.assert_allclose(gaps, noise * np.array(GAP_SHARES[: gaps.size]), rtol=1e-12)
    errors = np.array([error for _, error in found.validation.approach])
    best = np.argmax(errors <= (1.0 + NEARLY_BEST) * errors.min())
    assert found.validation.tolerance == gaps[best]
    assert found.result.tolerance == pytest.approx(gaps[best], rel=1e-12)
    if options == {}:
        assert noise == pytest.approx(path.error**2, rel=1e-9)


def test_few_held_out_cells_do_not_choose_the_tolerance():
    found = fitted()
    assert found.validation.held_out < MIN_HELD_OUT
    assert found.validation.approach == ()
    assert found.validation.tolerance is None
    assert found.result.tolerance == pytest.approx(DEFAULT_RTOL * np.mean(NOISY.values**2))


def test_a_larger_tolerance_or_a_share_is_kept():
    assert fitted(tol=0.5).result.tolerance == 0.5
    mean_square = np.mean(NOISY.values**2)
    assert fitted(rtol=1e-3).result.tolerance == pytest.approx(1e-3 * mean_square)
    zeros = np.zeros(len(NOISY.values))
    assert fitted(values=zeros).result.tolerance == 0.0
    assert MIN_RTOL < DEFAULT_RTOL


@pytest.mark.filterwarnings("ignore::intensor.errors.EmptyModelWarning")
def test_a_tolerance_is_not_taken_from_a_validation_that_was_cut():
    found = fitted(time_limit=1e-9)
    assert found.validation.approach == ()
    assert found.result.tolerance <= 1.01 * DEFAULT_RTOL * np.mean(NOISY.values**2)
    assert found.status is Status.TIME_LIMIT


@pytest.mark.parametrize("remainder", ["kriging", "none"])
def test_the_tolerance_is_chosen_with_the_remainder_that_was_chosen(remainder, monkeypatch):
    kriged, begun = [], []
    start_from = FastEngine.start_from

    def spy(observations, model, **arguments):
        kriged.append(model)
        return krige(observations, model, **arguments)

    def start(engine, model, budget):
        begun.append(len(model))
        start_from(engine, model, budget)

    monkeypatch.setattr(fold_module, "krige", spy)
    monkeypatch.setattr(FastEngine, "start_from", start)
    data = CLEAN if remainder == "none" else smooth()[0]
    radius = 1.01 * data.values.max()
    found = fitted(data, radius=radius, remainder="auto", validation=3)
    n_pairs = len(found.validation.approach)
    assert n_pairs > 0
    assert found.path.remainder == remainder
    if remainder == "kriging":  # folds and the last fit go on from the models of the walk
        assert (len(kriged), len(begun)) == (3 + 3 * n_pairs, 3 + 1)
    else:
        assert (len(kriged), len(begun)) == (3, 0)


# --- averages and the remainder


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
    validation = fitted(n_solutions=2, radius=0.8, validation=0.1).validation
    assert validation.path.radii.tolist() == [0.8]
    assert validation.single is not None
    assert validation.averaged <= validation.single * 1.5


PLAIN = {"transform": "none", "baseline": "none", "remainder": "none"}


@pytest.mark.parametrize("options", [{}, {"n_solutions": 2}, {"remainder": "kriging"}])
def test_where_nothing_is_open_cells_are_held_out_only_if_asked_for(options):
    settled = {**PLAIN, **options, "radius": 0.8}
    assert fitted(**settled).validation is None
    assert fitted(**settled, validation=0.1).validation.folds == 1
    assert fitted(**{**settled, "radius": "auto"}).validation is not None


@pytest.mark.parametrize("seed", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_auto_kriges_what_is_smooth_and_predicts_better(seed):
    data, cells, truth = smooth(seed=seed)
    radius = 1.01 * data.values.max()
    plain, found = (fitted(data, radius=radius, remainder=name) for name in ("none", "auto"))
    assert found.path.remainder == "kriging"
    assert found.predictor.remainder.shape == data.shape
    assert plain.predictor.remainder is None
    assert error_of(found, cells, truth) < 0.7 * error_of(plain, cells, truth)
    checked(found, data)


@pytest.mark.parametrize("n", [2, pytest.param(6, marks=pytest.mark.slow)])
def test_the_remainder_of_noise_around_a_box_is_kriged_only_if_validation_says_so(n):
    said = set()
    for rep in range(n):
        found = fitted(noisy_box(rep), remainder="auto")
        said.add(found.path.remainder)
        assert (found.path.remainder == "kriging") == (found.predictor.remainder is not None)
        assert found.path.kriged.dtype == bool
        assert found.radius == found.path.radius
    assert "none" in said


def test_entire_fibres_are_held_out_where_entire_fibres_are_missing(monkeypatch):
    seen = []

    def spy(specs, **arguments):
        seen.extend(spec.split for spec in specs)
        return open_folds(specs, **arguments)

    monkeypatch.setattr(candidates_module, "open_folds", spy)
    rng = np.random.default_rng(0)
    shape = (16, 8, 14)
    known = np.broadcast_to(rng.random((16, 1, 14)) < 0.5, shape)
    coords = np.argwhere(known)
    fitted(problem(shape, coords, rng.random(len(coords))), n_radii=1, remainder="auto")
    training, held = seen[0].training, seen[0].held
    fibres = [set(map(tuple, part.coords[:, [0, 2]].tolist())) for part in (training, held)]
    assert not fibres[0] & fibres[1]
    assert len(held) == 8 * len(fibres[1])


@pytest.mark.parametrize(
    ("scoring", "weights"), [("rmse", None), ("mae", np.linspace(0.5, 2.0, 150))]
)
def test_validation_reports_the_error_of_the_mean(scoring, weights):
    found = fitted(scoring=scoring, validation=4, sample_weight=weights).validation
    samples = samples_of(NOISY, weights).in_order()
    errors = []
    for training, held, _ in splits(samples, folds=4, share=0.25, seed=0):
        apart = held.values - np.average(training.values, weights=training.weights)
        size = apart**2 if scoring == "rmse" else np.abs(apart)
        mean = np.average(size, weights=held.weights)
        errors.append(np.sqrt(mean) if scoring == "rmse" else mean)
    assert found.error_of_mean == pytest.approx(np.exp(np.mean(np.log(errors))), rel=1e-12)


def test_a_fit_of_clean_data_is_far_better_than_the_mean():
    found = fitted(CLEAN).validation
    assert found.path.error < 0.1 * found.error_of_mean


@pytest.mark.filterwarnings("ignore::intensor.errors.EmptyModelWarning")
def test_large_data_is_not_validated_without_time():
    effort = Effort(scouting_rows=100)  # fewer than there are
    with pytest.warns(ValidationWarning, match="time_limit=1e-09 had passed before any cell"):
        found = fitted(time_limit=1e-9, effort=effort)
    assert found.status is Status.TIME_LIMIT
    assert found.validation is None
    assert found.radius == NOISY.values.max()
    checked(found)
