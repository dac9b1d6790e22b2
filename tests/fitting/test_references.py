"""References: predictions against plain NumPy, which of them are tried, and checkpoints."""

import dataclasses
import functools
import signal

import numpy as np
import pytest

import intensor.fitting.preparation as preparation
import intensor.fitting.references as references
from fitting_cases import problem, samples_of, smooth, splits_of
from intensor.data.observations import observe
from intensor.errors import CheckpointError
from intensor.fitting.fit import fit
from intensor.fitting.journal import NO_JOURNAL
from intensor.fitting.options import Scale, check_options
from intensor.fitting.preparation import prepare, thinned
from intensor.fitting.references import (
    NOISE_RATIOS,
    Kind,
    Reference,
    least_error,
    make_predictor,
    try_references,
)
from intensor.fitting.scoring import MAE
from intensor.fitting.session import Session
from intensor.fitting.smooth_field import ROUGH, SMOOTH
from intensor.fitting.smooth_field import smooth as smooth_field
from intensor.model.baseline import fit_baseline
from intensor.model.predictor import INTERPOLATION, SMOOTH_FIELD
from intensor.model.transform import IDENTITY, TRANSFORMS, find_transform
from intensor.runtime.budget import Budget
from intensor.solver.result import Status
from intensor.storage.codec import read_tree, write_tree

SQRT = TRANSFORMS["sqrt"]
CUBIC = find_transform((np.cbrt, lambda fitted: fitted**3))


def noisy_curves(shape=(24, 8, 6), *, seed=0, share=0.5):
    """Return some cells of a tensor that is smooth along the first mode and in no other."""
    rng = np.random.default_rng(seed)
    at = np.arange(shape[0])[:, np.newaxis, np.newaxis] / 4.0
    truth = 3.0 + np.sin(at + rng.uniform(0.0, 6.0, (1, *shape[1:])))
    known = rng.random(shape) < share
    values = truth[known] + 0.02 * rng.standard_normal(known.sum())
    return problem(shape, np.argwhere(known), values)


def predictor_of(reference, data, *, weights=None, rough=False, budget=None):
    samples = samples_of(data, weights)
    return make_predictor(
        reference,
        prepare(samples, reference.scale),
        budget=budget or Budget(),
        threads=1,
        seed=0,
        rough=rough,
    )


def session_of(data, *, budget=None, **options):
    given = {"remainder": "auto", "threads": 1, "seed": 0, **options}
    return Session(
        samples_of(data).in_order(),
        check_options(**given),
        budget=budget or Budget(),
        journal=NO_JOURNAL,
    )


def tried_on(data, *, budget=None, **options):
    session = session_of(data, budget=budget, **options)
    held_out = splits_of(data, session.options)
    return try_references(session, held_out), held_out


def size_of(array):
    return float(np.sqrt(np.mean(array**2)))


def every_cell(shape):
    return np.argwhere(np.ones(shape))


# --- predictions against plain NumPy


@pytest.mark.parametrize("weighted", [False, True])
def test_the_mean_is_the_mean(weighted):
    data = noisy_curves()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(data.values)) if weighted else None
    found = predictor_of(Reference(kind=Kind.MEAN), data, weights=weights)
    expected = np.average(data.values, weights=weights)
    np.testing.assert_allclose(found.predict(every_cell(data.shape)), expected, rtol=1e-12)
    assert len(found.model) == 0


@pytest.mark.parametrize("transform", [IDENTITY, SQRT, CUBIC], ids=lambda one: one.name)
def test_main_effects_are_those_of_the_baseline(transform):
    data = noisy_curves()
    found = predictor_of(Reference(kind=Kind.MAIN_EFFECTS, transform=transform), data)
    fitted = transform.apply(data.values)
    baseline = fit_baseline(observe(data.coords, fitted, shape=data.shape))
    cells = every_cell(data.shape)
    expected = transform.undo(baseline.evaluate(tuple(cells.T)))
    np.testing.assert_allclose(found.predict(cells), expected, rtol=1e-12)
    assert found.remainder is None


def interpolated(data, mode):
    """Interpolate fibre by fibre; empty ones are left to the main effects."""
    observations = observe(data.coords, data.values, shape=data.shape)
    cells = every_cell(data.shape)
    field = fit_baseline(observations).evaluate(tuple(cells.T)).reshape(data.shape)
    means = np.full(data.shape, np.nan)
    means[tuple(column.astype(int) for column in observations.coords)] = observations.means
    lines, known = np.moveaxis(field, mode, -1), np.moveaxis(means, mode, -1)
    places = np.arange(data.shape[mode])
    for line in np.ndindex(lines.shape[:-1]):
        there = ~np.isnan(known[line])
        if there.any():
            lines[line] = np.interp(places, places[there], known[line][there])
    return np.maximum(field, 0.0).ravel()


@pytest.mark.parametrize("shape", [(24, 8, 6), (9, 7), (5, 1, 4, 3)], ids=str)
def test_interpolation_is_that_of_numpy_fibre_by_fibre(shape):
    data = noisy_curves(shape, share=0.4) if len(shape) == 3 else None
    rng = np.random.default_rng(2)
    if data is None:
        known = rng.random(shape) < 0.5
        data = problem(shape, np.argwhere(known), rng.uniform(0.0, 3.0, known.sum()))
    rows = np.append(np.arange(len(data.values)), [0, 0, 3])  # cells with several observations
    data = dataclasses.replace(
        data, coords=data.coords[rows], values=data.values[rows] + 0.1 * (np.arange(rows.size) % 2)
    )
    empty = dataclasses.replace(  # along every mode, some fibres have no observation
        data,
        coords=data.coords[(data.coords[:, :2] != 1).any(axis=1)],
        values=data.values[(data.coords[:, :2] != 1).any(axis=1)],
    )
    for one in (data, empty):
        for mode in range(len(shape)):
            found = predictor_of(Reference(kind=Kind.INTERPOLATION, mode=mode), one)
            assert found.remainder.method == INTERPOLATION
            np.testing.assert_allclose(
                found.predict(every_cell(shape)), interpolated(one, mode), rtol=1e-9, atol=1e-12
            )


def test_interpolation_repeats_the_ends_of_a_fibre():
    coords = np.array([[2, 0], [4, 0], [1, 1], [0, 2], [3, 2], [5, 2]])
    data = problem((6, 3), coords, np.array([1.0, 3.0, 7.0, 2.0, 5.0, 4.0]))
    found = predictor_of(Reference(kind=Kind.INTERPOLATION, mode=0), data)
    table = found.predict(every_cell((6, 3))).reshape(6, 3).T
    np.testing.assert_allclose(table[0], [1.0, 1.0, 1.0, 2.0, 3.0, 3.0], rtol=1e-12)
    np.testing.assert_allclose(table[1], 7.0, rtol=1e-12)
    np.testing.assert_allclose(table[2], [2.0, 3.0, 4.0, 5.0, 4.5, 4.0], rtol=1e-12)


@pytest.mark.parametrize("transform", [IDENTITY, SQRT, CUBIC], ids=lambda one: one.name)
def test_a_field_is_added_to_the_main_effects(transform):
    data = noisy_curves()
    reference = Reference(kind=Kind.FIELD, transform=transform, smoothness=SMOOTH, noise_ratio=4.0)
    found = predictor_of(reference, data)
    fitted = observe(data.coords, transform.apply(data.values), shape=data.shape)
    baseline = fit_baseline(fitted)
    left = fitted.means - baseline.evaluate(tuple(one.astype(int) for one in fitted.coords))
    cells = every_cell(data.shape)
    field = smooth_field(
        observe(data.coords, left, shape=data.shape, allow_negative=True),
        smoothness=SMOOTH,
        noise_ratio=4.0,
        budget=Budget(),
    ).field
    expected = transform.undo(baseline.evaluate(tuple(cells.T)) + field.ravel())
    np.testing.assert_allclose(found.predict(cells), expected, rtol=1e-7)
    assert found.remainder.method == SMOOTH_FIELD


def test_without_time_there_is_no_field_and_the_others_need_none():
    data = noisy_curves()
    for kind in Kind:
        reference = Reference(kind=kind, mode=0)
        found = predictor_of(reference, data, budget=Budget(0.0))
        assert (found is None) == (kind is Kind.FIELD)


def test_references_need_a_baseline():
    data = noisy_curves()
    prepared = prepare(samples_of(data), Scale(transform=IDENTITY, additive=False))
    with pytest.raises(ValueError, match="baseline"):
        make_predictor(
            Reference(kind=Kind.MEAN), prepared, budget=Budget(), threads=1, seed=0, rough=False
        )


def test_references_have_names_for_people():
    assert Reference(kind=Kind.MEAN).name == "mean"
    assert Reference(kind=Kind.MAIN_EFFECTS, transform=SQRT).name == "main effects of sqrt"
    assert Reference(kind=Kind.INTERPOLATION, mode=2).name == "interpolation along mode 2"
    assert Reference(kind=Kind.FIELD).name == "smooth field"


# --- which are tried


def test_the_best_reference_of_each_kind_is_tried_on_all_folds():
    data = noisy_curves()
    tried, held_out = tried_on(data, validation=3)
    assert [one.reference.kind for one in tried] == list(Kind)
    mean, effects, line, field = tried
    assert line.reference.mode == 0
    assert field.error < 0.7 * effects.error
    assert line.error < 0.7 * effects.error
    assert least_error(tried) == min(line.error, field.error)
    assert least_error([]) == np.inf
    assert [one.plain for one in tried] == [True, True, True, False]
    for one in tried:
        assert not one.cut
        assert (one.members, one.variance) == (1, 0.0)
        errors = [
            np.sqrt(np.mean((split.held.values - predicted) ** 2))
            for split, predicted in zip(held_out, one.predicted, strict=True)
        ]
        assert one.error == pytest.approx(np.exp(np.mean(np.log(errors))), rel=1e-12)
    for split, predicted in zip(held_out, mean.predicted, strict=True):
        np.testing.assert_allclose(predicted, split.training.values.mean(), rtol=1e-12)


def test_the_scoring_decides():
    tried, held_out = tried_on(noisy_curves(), scoring="mae", validation=0.2)
    for one in tried:
        assert one.error == pytest.approx(MAE.measure(held_out[0].held.values, one.predicted[0]))


def test_weights_count():
    data = noisy_curves()
    weights = np.random.default_rng(0).uniform(0.1, 3.0, len(data.values))
    session = session_of(data)
    held_out = splits_of(data, session.options, weights)
    (mean, *_) = try_references(session, held_out)
    errors = [
        np.sqrt(np.average((split.held.values - one) ** 2, weights=split.held.weights))
        for split, one in zip(held_out, mean.predicted, strict=True)
    ]
    assert mean.error == pytest.approx(np.exp(np.mean(np.log(errors))), rel=1e-12)


def test_options_of_a_field_are_chosen_on_held_out_cells():
    tried, _ = tried_on(noisy_curves(), validation=2)
    field = tried[-1].reference
    assert field.smoothness in (ROUGH, SMOOTH)
    assert field.noise_ratio in (1.0, *NOISE_RATIOS)
    assert field.rounds in (0, 1, 2)
    smoother, _ = tried_on(smooth((12, 11, 10), noise=0.01)[0], validation=2)
    assert smoother[-1].reference.smoothness == SMOOTH


@pytest.mark.parametrize("name", TRANSFORMS)
def test_the_best_of_the_scales_of_the_options_is_taken(name):
    rng = np.random.default_rng(0)
    coords = np.argwhere(rng.random((9, 8, 7)) < 0.6)
    sums = sum(rng.uniform(0.0, 2.0, n)[c] for n, c in zip((9, 8, 7), coords.T, strict=True))
    data = problem((9, 8, 7), coords, TRANSFORMS[name].undo(sums))
    tried, (split,) = tried_on(data, validation=0.3)
    found, errors = tried[1], {}
    for other, transform in TRANSFORMS.items():
        reference = Reference(kind=Kind.MAIN_EFFECTS, transform=transform)
        part = problem(data.shape, split.training.coords, split.training.values)
        predicted = predictor_of(reference, part).predict(split.held.coords)
        errors[other] = size_of(predicted - split.held.values)
    assert found.reference.transform is TRANSFORMS[min(errors, key=errors.get)]
    assert found.error == pytest.approx(min(errors.values()), rel=1e-12)
    only = tried_on(data, transform="none", validation=0.3)[0][1]
    assert only.reference.transform is IDENTITY
    assert only.error == pytest.approx(errors["none"], rel=1e-12)


def test_large_and_sparse_tensors_and_single_modes_have_no_lines_and_fields():
    rng = np.random.default_rng(0)
    plain = [Kind.MEAN, Kind.MAIN_EFFECTS]
    for shape in ((200, 150), (5000, 3), (40,)):
        coords = np.stack([rng.integers(0, length, 300) for length in shape], axis=1)
        tried, _ = tried_on(problem(shape, coords, rng.uniform(size=300)))
        assert [one.reference.kind for one in tried] == plain


def test_without_time_there_are_the_mean_and_main_effects():
    tried, _ = tried_on(noisy_curves(), budget=Budget(0.0))
    assert [one.reference.kind for one in tried] == [Kind.MEAN, Kind.MAIN_EFFECTS]


def test_a_field_that_there_is_no_time_for_is_passed_over(monkeypatch):
    monkeypatch.setattr(references, "smooth", lambda *_, **__: None)
    tried, _ = tried_on(noisy_curves())
    assert [one.reference.kind for one in tried] == list(Kind)[:3]


def test_many_held_out_rows_are_thinned_alike(monkeypatch):
    """Cells have as many columns as there are modes, which must not count."""
    monkeypatch.setattr(preparation, "MAX_KEPT_PREDICTIONS", 40)
    data = noisy_curves()
    tried, held_out = tried_on(data)
    assert len(held_out[0].held) > 40
    for one in tried:
        for split, predicted in zip(held_out, one.predicted, strict=True):
            assert predicted.shape == thinned(split.held.values).shape
    assert tried[-1].error < 0.7 * tried[0].error


# --- checkpoints


DATA = noisy_curves((12, 5, 4))
QUICK = {"effort": "quick", "exact": "off", "threads": 1, "validation": 0.3}


def fitted(*, stop=None, callback=None, **options):
    """Fit the data; the callback ends it after as many rounds as ``stop`` says."""
    seen = []

    def count(progress):
        seen.append(progress.stage)
        return stop is None or len(seen) < stop

    chosen = check_options(**QUICK | options)
    return fit(DATA.coords, DATA.values, chosen, shape=DATA.shape, callback=callback or count)


def figures(found):
    cells = every_cell(DATA.shape)
    return (
        found.predict(cells).tolist(),
        [(one.share, one.status, one.objective) for one in found.members],
        found.validation.references,
        found.validation.error,
        found.validation.spread,
    )


@functools.cache
def undisturbed(**options):
    return figures(fitted(**options))


@pytest.mark.parametrize(
    "transform", ["auto", (np.cbrt, lambda fitted: fitted**3)], ids=["auto", "custom"]
)
def test_references_are_restored_from_a_checkpoint(tmp_path, monkeypatch, transform):
    options = {"transform": transform, "checkpoint": tmp_path / "run.npz"}
    assert fitted(stop=1, **options).status is Status.STOPPED
    with monkeypatch.context() as patch:  # they are not tried again
        patch.setattr(references, "_Trials", None)
        found = figures(fitted(resume=True, **options))
    assert found == undisturbed(transform=transform)


def test_a_fit_that_is_killed_while_references_are_tried_can_be_resumed(tmp_path, monkeypatch):
    def kill(*_, **__):
        raise KeyboardInterrupt

    options = {"checkpoint": tmp_path / "run.npz"}
    with monkeypatch.context() as patch:
        patch.setattr(references, "smooth", kill)
        with pytest.raises(KeyboardInterrupt):
            fitted(**options)
    assert figures(fitted(resume=True, **options)) == undisturbed()


def test_a_fit_that_is_interrupted_while_references_are_tried_can_be_resumed(tmp_path, monkeypatch):
    def interrupt(*given, **options):
        signal.raise_signal(signal.SIGINT)
        return smooth_field(*given, **options)

    options = {"checkpoint": tmp_path / "run.npz"}
    with monkeypatch.context() as patch:
        patch.setattr(references, "smooth", interrupt)
        assert fitted(**options).status is Status.INTERRUPTED
    assert figures(fitted(resume=True, **options)) == undisturbed()


@pytest.mark.parametrize(
    ("name", "value"),
    [("kind", "MODE"), ("transform", "custom"), ("rounds", -1), ("noise_ratio", np.nan)],
)
def test_damaged_references_are_refused(tmp_path, name, value):
    path = tmp_path / "run.npz"
    fitted(stop=1, checkpoint=path)
    tree = read_tree(path).tree
    tree["content"]["entries"]["references"]["tried"][0][name] = value
    write_tree(path, tree)
    with pytest.raises(CheckpointError, match="is a damaged checkpoint"):
        fitted(checkpoint=path, resume=True)
