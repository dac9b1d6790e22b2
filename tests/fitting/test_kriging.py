"""Kriging against the plain formula, on fields that are known, and where it is refused."""

import warnings
from functools import reduce
from types import SimpleNamespace

import numpy as np
import pytest

import intensor
import intensor.fitting.kriging as kriging_module
from fitting_cases import Countdown
from intensor.data.observations import observe
from intensor.fitting.fields import FieldAlgebra
from intensor.fitting.kriging import (
    FIRST_NOISE,
    MAX_CELLS,
    MAX_CELLS_PER_OBSERVED,
    MAX_MODE_LENGTH,
    ROUNDS,
    Kriging,
    can_krige,
    krige,
)
from intensor.model.model import build_model
from intensor.runtime.budget import Budget
from zoo import smooth_tensor


def columns_of(observations):
    return tuple(column.astype(np.int64) for column in observations.coords)


def drawn(shape=(5, 4, 3), seed=0, repeats=4):
    """Return a model, and noisy observations of half of its cells, some of them many times."""
    rng = np.random.default_rng(seed)
    flags = (rng.random((6, sum(shape))) < 0.6).astype(np.uint8)
    model = build_model(flags, np.linspace(1.0, 0.5, 6), shape=shape, radius=6.0)
    coords = np.argwhere(rng.random(shape) < 0.5)
    coords = np.repeat(coords, rng.integers(1, repeats + 1, len(coords)), axis=0)
    values = model.predict(coords) + rng.normal(0.0, 0.3, len(coords))
    return model, observe(coords, values, shape=shape, allow_negative=True)


def kriged(model, observations, **options):
    """Return the kriged field, after the rounds of boxes unless it is a rough one."""
    rounds = 0 if options.get("rough") else ROUNDS
    return krige(observations, model, **{"budget": Budget(), "rounds": rounds, **options}).field


def started(model, observations, seed=0):
    """Return the inside of ``krige`` before any round, with its mean."""
    shares = observations.cell_shares()
    mean = shares @ observations.means
    boxes = model.to_dense() - mean
    targets = observations.means - mean
    square = shares @ (boxes[columns_of(observations)] - targets) ** 2
    kriging = Kriging(
        boxes,
        columns_of(observations),
        targets=targets,
        weights=shares * observations.n_cells,
        noise=FIRST_NOISE * square,
        seed=seed,
        algebra=FieldAlgebra(Budget()),
    )
    return kriging, mean


def formula(kriging, observations, mean):
    """Return K[:, seen] (K[seen, seen] + noise / weights)^-1 targets, on all cells."""
    shape = observations.shape
    covariance = reduce(np.kron, [one.astype(np.float64) for one in kriging._covariances])
    seen = np.ravel_multi_index(columns_of(observations), shape)
    weights = observations.counts / observations.counts.mean()
    among = covariance[np.ix_(seen, seen)] + np.diag(kriging._noise / weights)
    targets = observations.means - mean
    return (covariance[:, seen] @ np.linalg.solve(among, targets)).reshape(shape)


def apart(found, expected):
    """Return how far two arrays are from each other, relative to their size."""
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


# --- against the formula


@pytest.mark.parametrize(
    ("shape", "rounds", "repeats"),
    [
        ((5, 4, 3), 0, 1),
        ((5, 4, 3), 0, 4),
        ((5, 4, 3), 1, 5),
        ((6, 7), 0, 5),
        ((6, 7), 3, 1),
        ((3, 1, 4, 2), 1, 4),
    ],
    ids=str,
)
def test_the_field_agrees_with_the_plain_formula(shape, rounds, repeats):
    model, observations = drawn(shape, repeats=repeats)
    kriging, mean = started(model, observations, seed=3)
    for _ in range(rounds):
        kriging.improve(tolerance=1e-6)  # as far as single precision allows
    expected = formula(kriging, observations, mean)
    assert apart(kriging.expected(), expected) < 1e-3
    field = kriged(model, observations, seed=3, rounds=rounds)
    assert apart(model.to_dense() + field, mean + expected) < 5e-3


def test_long_modes_have_triangular_roots(monkeypatch):
    model, observations = drawn()
    kriging, _ = started(model, observations)
    expected = kriging.expected()
    monkeypatch.setattr(kriging_module, "MAX_EIGEN_LENGTH", 4)
    roots, variances = kriging._roots()
    assert [np.allclose(root, np.tril(root)) for root in roots] == [True, False, False]
    for root, covariance in zip(roots, kriging._covariances, strict=True):
        np.testing.assert_allclose(root @ root.T, covariance, rtol=1e-3, atol=1e-5)
    assert variances.shape == observations.shape
    assert apart(kriging.expected(), expected) < 1e-4


def test_tens_of_steps_are_enough_however_small_the_noise(monkeypatch):
    model, observations, _, _ = smooth()
    kriging, _ = started(model, observations)
    counted = []
    multiply = kriging._algebra.multiply
    monkeypatch.setattr(
        kriging._algebra, "multiply", lambda *given: counted.append(1) or multiply(*given)
    )
    for noise in (1e-2, 1e-4, 1e-6):
        counted.clear()
        kriging._noise = noise * kriging._noise
        kriging.expected()
        assert len(counted) < 2 * 150  # two products a step


def test_covariances_may_be_given():
    _, observations = drawn()
    rng = np.random.default_rng(4)
    roots = [rng.normal(0.0, 0.4, (n, n)) + np.eye(n) for n in observations.shape]
    given = [root @ root.T for root in roots]
    mean = observations.cell_shares() @ observations.means

    def kriging():
        return Kriging(
            np.zeros(observations.shape),
            columns_of(observations),
            covariances=list(given),
            targets=observations.means - mean,
            weights=observations.cell_shares() * observations.n_cells,
            noise=0.05,
            seed=0,
            algebra=FieldAlgebra(Budget()),
        )

    plain = kriging()
    assert all(map(np.array_equal, plain._covariances, given))
    expected = formula(plain, observations, mean)
    assert apart(plain.expected(), expected) < 1e-3
    improved = kriging()
    improved.improve()
    assert not any(map(np.array_equal, improved._covariances, given))
    assert apart(improved.expected(), formula(improved, observations, mean)) < 1e-3


def test_a_rough_expectation_takes_fewer_steps_and_is_less_close(monkeypatch):
    model, observations, _, _ = smooth()
    kriging, mean = started(model, observations)
    expected = formula(kriging, observations, mean)
    counted = []
    multiply = kriging._algebra.multiply
    monkeypatch.setattr(
        kriging._algebra, "multiply", lambda *given: counted.append(1) or multiply(*given)
    )
    close, steps = kriging.expected(), len(counted)
    counted.clear()
    rough = kriging.expected(rough=True)
    assert len(counted) < steps
    assert apart(close, expected) < apart(rough, expected) < 0.1
    monkeypatch.setattr(kriging_module, "MAX_ROUGH_STEPS", 3)
    counted.clear()
    kriging.expected(rough=True)
    assert len(counted) == 2 + 2 * 3  # two products a step, one before and one after


@pytest.mark.parametrize("mode", range(3))
def test_a_covariance_leaves_out_those_of_the_other_modes(mode):
    rng = np.random.default_rng(mode)
    field = rng.standard_normal((5, 4, 3)).astype(np.float32)
    roots = [np.tril(rng.normal(0.0, 0.3, (n, n))) + np.eye(n) for n in field.shape]
    others = [root @ root.T for other, root in enumerate(roots) if other != mode]
    slabs = np.moveaxis(field, mode, 0).reshape(field.shape[mode], -1).astype(np.float64)
    expected = slabs @ np.linalg.solve(np.kron(*others), slabs.T) / slabs.shape[1]
    kriging, _ = started(*drawn())
    assert apart(kriging._mode_covariance(field, roots, mode), expected) < 1e-4


def test_covariances_are_covariances():
    model, observations = drawn(seed=2)
    kriging, _ = started(model, observations)
    for _ in range(3):
        assert kriging._noise > 0.0
        for mode, covariance in enumerate(kriging._covariances):
            np.testing.assert_allclose(covariance, covariance.T, atol=1e-6)
            assert np.linalg.eigvalsh(covariance).min() > -1e-5 * np.trace(covariance)
            if mode:  # one of them has the size of the field, and only one
                assert np.trace(covariance) == pytest.approx(len(covariance), rel=1e-5)
        kriging.improve()


def test_indices_that_boxes_treat_alike_are_alike():
    rng = np.random.default_rng(0)
    flags = (rng.random((8, 24)) < 0.5).astype(np.uint8)
    flags[:, 1] = flags[:, 0]
    flags[:, 2] = 1 - flags[:, 0]
    model = build_model(flags, np.ones(8), shape=(8, 8, 8), radius=8.0)
    coords = np.argwhere(rng.random((8, 8, 8)) < 0.8)
    values = model.predict(coords) + rng.normal(0.0, 0.1, len(coords))
    observations = observe(coords, values, shape=(8, 8, 8), allow_negative=True)
    first = started(model, observations)[0]._covariances[0]
    scale = np.sqrt(np.diag(first))
    alike = first / np.outer(scale, scale)
    assert alike[0, 1] > 0.9
    assert alike[0, 2] < 0.5


# --- on tensors that are known


def smooth(shape=(12, 10, 8), *, noise=0.1, seed=0):
    """Return a sum of outer products of smooth curves, half of its cells seen, and boxes."""
    rng = np.random.default_rng(seed)
    truth = smooth_tensor(shape, rng)
    known = rng.random(shape) < 0.5
    values = truth[known] + noise * rng.standard_normal(known.sum())
    coords = np.argwhere(known)
    options = {"shape": shape, "radius": 1.2 * truth.max(), "exact": "off", "rtol": 1e-2}
    model = intensor.solve(coords, np.maximum(values, 0.0), **options).model
    return model, observe(coords, values, shape=shape, allow_negative=True), truth, known


def size_of(array):
    return float(np.sqrt(np.mean(array**2)))


@pytest.mark.parametrize("seed", range(2))
def test_hidden_cells_of_a_smooth_tensor_are_found(seed):
    model, observations, truth, known = smooth(seed=seed)
    boxes = size_of((model.to_dense() - truth)[~known])
    for rounds in (0, ROUNDS):
        field = kriged(model, observations, rounds=rounds)
        assert size_of((model.to_dense() + field - truth)[~known]) < 0.75 * boxes


@pytest.mark.parametrize(
    ("noise", "repeats"),
    [
        (0.3, 4),
        (0.6, 1),
        pytest.param(0.3, 1, marks=pytest.mark.slow),
        pytest.param(0.6, 4, marks=pytest.mark.slow),
    ],
)
def test_the_noise_is_found(noise, repeats):
    model, _, truth, known = smooth((16, 14, 12), noise=0.1)
    rng = np.random.default_rng(7)
    counts = rng.integers(1, repeats + 1, known.sum())
    rows = np.repeat(np.arange(known.sum()), counts)
    values = truth[known][rows] + noise * rng.standard_normal(rows.size)
    seen = observe(np.argwhere(known)[rows], values, shape=known.shape, allow_negative=True)
    kriging, _ = started(model, seen)
    for _ in range(4):
        kriging.improve()
    of_one = kriging._noise * counts.mean()  # the average cell has the weight 1
    assert 0.5 * noise**2 < of_one < 2.0 * noise**2


# --- weights, sizes, the order of things


@pytest.mark.parametrize("rounds", [0, ROUNDS])
def test_a_cell_observed_often_is_followed_closely(rounds):
    model, observations, _, known = smooth(noise=0.5)
    coords, values = np.argwhere(known), observations.means.copy()
    values[7] += 3.0
    left = []
    for count in (1, 100):
        rows = np.concatenate((np.full(count - 1, 7), np.arange(len(coords))))
        seen = observe(coords[rows], values[rows], shape=known.shape, allow_negative=True)
        found = model.to_dense() + kriged(model, seen, rounds=rounds)
        left.append(abs(found[tuple(coords[7])] - values[7]))
    assert left[1] < 0.5 * left[0]


def test_weights_are_repetitions():
    model, observations = drawn(repeats=3)
    rows = np.repeat(np.arange(observations.n_cells), observations.counts)
    coords = np.stack(columns_of(observations), axis=1)
    options = {"shape": observations.shape, "allow_negative": True}
    weights = 0.37 * observations.counts
    weighted = observe(coords, observations.means, sample_weight=weights, **options)
    repeated = observe(coords[rows], observations.means[rows], **options)
    assert weighted.shares is not None
    assert apart(kriged(model, weighted), kriged(model, repeated)) < 1e-3
    plain = observe(coords, observations.means, **options)
    assert apart(kriged(model, plain), kriged(model, repeated)) > 1e-2


@pytest.mark.parametrize("scale", [2.0**-200, 1e-3, 7.0, 2.0**200])
def test_the_field_grows_with_the_values(scale):
    model, observations = drawn(repeats=1)
    coords = np.stack(columns_of(observations), axis=1)
    scaled = observe(
        coords, scale * observations.means, shape=observations.shape, allow_negative=True
    )
    flags, radius = model.vertices.flags(), scale * model.radius
    larger = build_model(flags, scale * model.weights, shape=model.shape, radius=radius)
    field = kriged(model, observations)
    assert field.dtype == np.float64
    assert apart(kriged(larger, scaled) / scale, field) < 1e-4


NOTHING = {
    "no boxes": (np.zeros((0, 7)), np.empty(0)),
    "a box of everything": (np.ones((1, 7)), np.array([2.0])),
}


@pytest.mark.parametrize("name", NOTHING)
def test_observed_cells_tell_indices_apart_if_boxes_do_not(name):
    flags, weights = NOTHING[name]
    model = build_model(flags.astype(np.uint8), weights, shape=(4, 3), radius=2.0)
    values = np.repeat(np.arange(4.0), 3) + np.tile([0.0, 0.1, -0.1], 4)  # rows differ
    coords = np.argwhere(np.ones((4, 3)))
    observations = observe(coords, values, shape=(4, 3), allow_negative=True)
    errors = [  # the draws of a seed decide in so small a tensor
        size_of((model.to_dense() + kriged(model, observations, seed=seed)).ravel() - values)
        for seed in range(15)
    ]
    assert np.median(errors) < 0.5 * values.std()


def test_boxes_that_explain_everything_leave_no_remainder():
    model, observations = drawn()
    coords = np.stack(columns_of(observations), axis=1)
    exact = observe(coords, model.predict(coords), shape=model.shape)
    assert not kriged(model, exact).any()
    zeros = observe(coords, np.zeros(len(coords)), shape=model.shape)
    assert np.array_equal(kriged(model, zeros), -model.to_dense())


def flags_by_mode(model):
    return np.split(model.vertices.flags(), np.cumsum(model.shape)[:-1], axis=1)


def test_indices_may_come_in_any_order():
    model, observations = drawn((6, 5, 4))
    rng = np.random.default_rng(3)
    orders = [rng.permutation(length) for length in observations.shape]
    rows = np.repeat(np.arange(observations.n_cells), observations.counts)
    coords = np.stack([o[c] for o, c in zip(orders, observations.coords, strict=True)], axis=1)
    options = {"shape": observations.shape, "allow_negative": True}
    other = observe(coords[rows], observations.means[rows], **options)
    flags = np.hstack(
        [part[:, np.argsort(o)] for part, o in zip(flags_by_mode(model), orders, strict=True)]
    )
    turned = build_model(flags, model.weights, shape=model.shape, radius=model.radius)
    found = kriged(turned, other, rounds=0)[np.ix_(*orders)]
    assert apart(found, kriged(model, observations, rounds=0)) < 1e-2


@pytest.mark.parametrize("order", [(1, 2, 0), (2, 1, 0)], ids=str)
def test_modes_may_come_in_any_order(order):
    model, observations, _, _ = smooth()
    coords = np.stack(columns_of(observations), axis=1)[:, order]
    shape = tuple(model.shape[mode] for mode in order)
    parts = flags_by_mode(model)
    flags = np.hstack([parts[mode] for mode in order])
    turned = build_model(flags, model.weights, shape=shape, radius=model.radius)
    other = observe(coords, observations.means, shape=shape, allow_negative=True)
    field = kriged(model, observations, rounds=0).transpose(order)
    assert apart(kriged(turned, other, rounds=0), field) < 0.1  # covariances nearly agree


def test_the_seed_decides_the_draw():
    model, observations, truth, known = smooth()
    first, again, other = (kriged(model, observations, seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert size_of((first - other)[~known]) < 0.3 * size_of(truth - truth.mean())


def test_inputs_are_not_changed():
    model, observations = drawn()
    arrays = (*observations.coords, observations.counts, observations.means, model.weights)
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    kriged(model, observations)
    assert all(map(np.array_equal, arrays, before))


@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (2, 3)], ids=str)
@pytest.mark.parametrize("count", [1, 2])
def test_tiny_tensors_can_be_kriged(shape, count):
    coords = np.argwhere(np.ones(shape))[:count]
    flags = np.ones((1, sum(shape)), dtype=np.uint8)
    flags[0, -1] = 0
    model = build_model(flags, np.ones(1), shape=shape, radius=2.0)
    values = np.arange(1.0, len(coords) + 1) + 0.5
    assert np.isfinite(kriged(model, observe(coords, values, shape=shape))).all()


def test_without_time_there_is_no_remainder():
    model, observations = drawn()
    interrupted = Budget()
    interrupted.interrupted = True
    assert krige(observations, model, budget=interrupted) is None
    assert krige(observations, model, budget=Budget(0.0)) is None
    assert krige(observations, model, budget=Budget(100.0)) is not None


@pytest.mark.parametrize("n_checks", [0, 1, 2, 5, 20, 60])
def test_kriging_ends_wherever_the_time_runs_out(n_checks):
    model, observations = drawn()
    assert krige(observations, model, budget=Countdown(n_checks)) is None


def test_the_number_of_threads_changes_nothing():
    model, observations, _, _ = smooth()
    one, two, five = (
        kriged(model, observations, threads=threads, max_piece=1000) for threads in (1, 2, 5)
    )
    assert np.array_equal(one, two)
    assert np.array_equal(one, five)
    assert apart(one, kriged(model, observations)) < 1e-3


# --- data that is constant, or nearly so


@pytest.mark.parametrize("deviation", [0.0, 1e-16, 1e-14, 1e-12, 1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize(("name", "value"), [("no boxes", 3.3), ("a box of everything", 1e-20)])
def test_constant_data_is_predicted_as_constant(name, value, deviation):
    flags, weights = NOTHING[name]
    shape = (3, 4)
    model = build_model(flags.astype(np.uint8), value * weights / 2.0, shape=shape, radius=value)
    rng = np.random.default_rng(0)
    coords = np.argwhere(rng.random(shape) < 0.7)
    values = value * (1.0 + deviation * rng.standard_normal(len(coords)))
    field = kriged(model, observe(coords, values, shape=shape))
    found = model.to_dense() + field
    np.testing.assert_allclose(found, value, rtol=max(10.0 * deviation, 1e-8))


@pytest.mark.parametrize("radius", [1.0, 3.3, 10.0])
def test_a_constant_table_is_completed(radius):
    coords = np.argwhere(np.ones((6, 7)))[::2][:20]
    completer = intensor.TensorCompleter(radius=radius, remainder="kriging")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", intensor.errors.RadiusWarning)
        completer.fit(coords, np.full(20, 3.3))
    np.testing.assert_allclose(completer.predict([[0, 1], [3, 3]]), 3.3, rtol=1e-9)


# --- what is small and dense enough


FITS = {
    "sparse but not too sparse": ((32, 32), 32, True),
    "too sparse": ((32, 32), 31, False),
    "one mode": ((64,), 64, False),
    "as long as can be": ((MAX_MODE_LENGTH, 2), MAX_MODE_LENGTH, True),
    "too long": ((MAX_MODE_LENGTH + 1, 2), MAX_MODE_LENGTH, False),
    "as many cells as can be": ((2048, 2048), 2048 * 2048 // 32, True),
    "too many cells": ((2048, 2049), 2048 * 2049 // 16, False),
    "more cells than an integer holds": ((2048,) * 6, 100, False),
}


@pytest.mark.parametrize("name", FITS)
def test_only_small_and_dense_tensors_can_be_kriged(name):
    shape, n_cells, fits = FITS[name]
    assert (MAX_CELLS_PER_OBSERVED, MAX_CELLS) == (32.0, 2048 * 2048)
    assert can_krige(SimpleNamespace(shape=shape, n_cells=n_cells)) is fits


def test_repeats_do_not_make_a_tensor_dense():
    assert not can_krige(observe(np.zeros((1000, 2), dtype=int), np.ones(1000), shape=(32, 32)))
