"""Smooth fields against dense algebra, on fields that are known, and where nothing is smooth."""

import itertools
from functools import reduce

import numpy as np
import pytest

import intensor.fitting.kriging as kriging_module
from fitting_cases import Countdown
from intensor.data.observations import observe
from intensor.fitting.fields import FieldAlgebra, OutOfTimeError
from intensor.fitting.kriging import MIN_NOISE
from intensor.fitting.smooth_field import (
    DISTANCES,
    LENGTHS,
    MAX_FLOOR,
    ROUGH,
    SIGNAL_SHARES,
    SMOOTH,
    Correlations,
    Curve,
    fit_curves,
    matern,
    measure_correlations,
    smooth,
)
from intensor.model.baseline import fit_baseline
from intensor.model.predictor import SMOOTH_FIELD
from intensor.runtime.budget import Budget

SMOOTHNESSES = [ROUGH, SMOOTH]


def planted(shape=(24, 18, 6), lengths=(6.0, 3.0, None), *, smoothness=SMOOTH, seed=0, noise=0.1):
    """Return a Gaussian field, which of its cells are known, and noisy observations of those.

    A length of None stands for a mode without an order.
    """
    rng = np.random.default_rng(seed)
    field = rng.standard_normal(shape)
    for mode, (n, length) in enumerate(zip(shape, lengths, strict=True)):
        matrix = np.eye(n) if length is None else Curve(length, 0.0).matrix(n, smoothness)
        field = np.moveaxis(np.tensordot(np.linalg.cholesky(matrix), field, (1, mode)), 0, mode)
    known = rng.random(shape) < 0.5
    values = field[known] + noise * rng.standard_normal(known.sum())
    return field, known, values


def seen(known, values, **more):
    return observe(np.argwhere(known), values, shape=known.shape, allow_negative=True, **more)


def field_of(observations, smoothness=SMOOTH, **options):
    return smooth(observations, smoothness=smoothness, **{"budget": Budget(), **options}).field


def columns_of(observations):
    return tuple(column.astype(np.int64) for column in observations.coords)


def correlations_of(observations):
    targets = observations.means - observations.cell_shares() @ observations.means
    return measure_correlations(
        columns_of(observations), targets, observations.shape, FieldAlgebra(Budget())
    )


def size_of(array):
    return float(np.sqrt(np.mean(array**2)))


def apart(found, expected):
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


# --- the expected field


def field_by_dense_algebra(observations, smoothness, noise_ratio=1.0):
    """Return mean + K[:, seen] (K[seen, seen] + noise / weights)^-1 targets, on all cells."""
    shape, shares = observations.shape, observations.cell_shares()
    mean = shares @ observations.means
    targets = observations.means - mean
    variance = shares @ targets**2
    signal, curves = fit_curves(correlations_of(observations), smoothness)
    matrices = [
        curve.matrix(length, smoothness) for curve, length in zip(curves, shape, strict=True)
    ]
    covariance = signal * variance * reduce(np.kron, matrices)
    noise = max(noise_ratio * (1.0 - signal), MIN_NOISE) * variance
    at = np.ravel_multi_index(columns_of(observations), shape)
    among = covariance[np.ix_(at, at)] + np.diag(noise / (shares * len(at)))
    return mean + (covariance[:, at] @ np.linalg.solve(among, targets)).reshape(shape)


@pytest.mark.parametrize("smoothness", SMOOTHNESSES)
@pytest.mark.parametrize("shape", [(7, 6, 4), (12, 9), (4, 1, 5, 3)], ids=str)
def test_the_field_agrees_with_dense_algebra(shape, smoothness, monkeypatch):
    lengths = [3.0, *[None] * (len(shape) - 1)]
    _, known, values = planted(shape, lengths, smoothness=smoothness, noise=0.3)
    observations = seen(known, 5.0 + values)
    for ratio in (0.25, 1.0, 4.0):
        expected = field_by_dense_algebra(observations, smoothness, ratio) - 5.0
        options = {"smoothness": smoothness, "noise_ratio": ratio}
        found = smooth(observations, budget=Budget(), **options)
        assert found.method == SMOOTH_FIELD
        assert found.shape == shape
        assert apart(found.field - 5.0, expected) < 0.05
        # conjugate gradients see hidden cells last
        rough = field_of(observations, rough=True, **options) - 5.0
        assert apart(rough[known], expected[known]) < 0.01
        with monkeypatch.context() as patch:
            patch.setattr(kriging_module, "LAST_TOLERANCE", 1e-9)
            closely = field_of(observations, **options) - 5.0
            assert apart(closely, expected) < 1e-5


@pytest.mark.parametrize("weighted", [False, True])
def test_repeated_and_weighted_cells_agree_with_dense_algebra(weighted):
    _, known, values = planted((7, 6, 4), (3.0, None, None), noise=0.5)
    rng = np.random.default_rng(2)
    repeats = rng.integers(1, 6, len(values))
    if weighted:
        observations = seen(known, values, sample_weight=0.3 * repeats)
        assert observations.shares is not None
    else:
        rows = np.repeat(np.arange(len(values)), repeats)
        coords = np.argwhere(known)[rows]
        observations = observe(coords, values[rows], shape=known.shape, allow_negative=True)
    expected = field_by_dense_algebra(observations, SMOOTH)
    assert apart(field_of(observations), expected) < 2e-3
    assert apart(field_of(seen(known, values)), expected) > 1e-2  # weights do matter


def test_more_noise_is_followed_less():
    _, known, values = planted(noise=0.5)
    observations = seen(known, values)
    left = [
        size_of(field_of(observations, noise_ratio=ratio)[known] - values)
        for ratio in (0.25, 1.0, 4.0)
    ]
    assert left[0] < left[1] < left[2]


@pytest.mark.parametrize("smoothness", SMOOTHNESSES)
@pytest.mark.parametrize("rounds", [0, 1])
def test_hidden_cells_of_a_smooth_field_are_found(smoothness, rounds):
    truth, known, values = planted(smoothness=smoothness)
    observations = seen(known, values)
    effects = fit_baseline(observations).evaluate(tuple(np.argwhere(~known).T))
    hidden = truth[~known]
    error = size_of(field_of(observations, smoothness, rounds=rounds)[~known] - hidden)
    assert error < 0.55 * size_of(effects - hidden)
    assert error < 0.55 * size_of(hidden - hidden.mean())


def test_rounds_change_the_field_and_the_seed_decides_the_draw():
    _, known, values = planted()
    observations = seen(known, values)
    plain = field_of(observations)
    assert np.array_equal(plain, field_of(observations, seed=1))  # nothing is drawn
    first, again, other = (field_of(observations, rounds=1, seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert not np.array_equal(first, plain)


def test_the_number_of_threads_changes_nothing():
    _, known, values = planted()
    observations = seen(known, values)
    one, two = (field_of(observations, threads=n, rounds=1, max_piece=1000) for n in (1, 2))
    assert np.array_equal(one, two)


@pytest.mark.parametrize("scale", [2.0**-200, 1e-3, 2.0**200])
def test_the_field_grows_with_the_values(scale):
    _, known, values = planted((8, 7, 3))
    field = field_of(seen(known, values), rounds=1)
    assert apart(field_of(seen(known, scale * values), rounds=1) / scale, field) < 1e-6


def test_inputs_are_not_changed():
    _, known, values = planted((8, 7, 3))
    observations = seen(known, values)
    arrays = (*observations.coords, observations.counts, observations.means)
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    field_of(observations, rounds=1)
    assert all(map(np.array_equal, arrays, before))


# --- data with little to say


@pytest.mark.parametrize("value", [0.0, 3.3, 1e-20])
@pytest.mark.parametrize("deviation", [0.0, 1e-16, 1e-9])
def test_constant_targets_are_predicted_as_constant(value, deviation):
    rng = np.random.default_rng(0)
    known = rng.random((5, 4)) < 0.6
    values = value * (1.0 + deviation * rng.standard_normal(known.sum()))
    found = smooth(seen(known, values), smoothness=ROUGH, budget=Budget())
    assert found.method == SMOOTH_FIELD
    assert found.shape == (5, 4)
    np.testing.assert_allclose(found.field, value, rtol=max(100.0 * deviation, 1e-12))


@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (2, 3), (3, 1, 2)], ids=str)
@pytest.mark.parametrize("count", [1, 2])
def test_tiny_tensors_have_fields(shape, count):
    coords = np.argwhere(np.ones(shape))[:count]
    observations = observe(coords, np.arange(1.0, 1.0 + len(coords)), shape=shape)
    for rounds in (0, 1):
        found = field_of(observations, rounds=rounds)
        assert np.isfinite(found).all()
        assert found.shape == shape


def test_without_time_there_is_no_field():
    _, known, values = planted((8, 7, 3))
    observations = seen(known, values)
    interrupted = Budget()
    interrupted.interrupted = True
    for budget in (interrupted, Budget(0.0), *map(Countdown, (0, 1, 2, 5, 20))):
        assert smooth(observations, smoothness=ROUGH, rounds=1, budget=budget) is None
    assert smooth(observations, smoothness=ROUGH, budget=Budget(100.0)) is not None
    with pytest.raises(OutOfTimeError):
        measure_correlations(
            columns_of(observations),
            observations.means,
            observations.shape,
            FieldAlgebra(Budget(0.0)),
        )


# --- correlations and curves


@pytest.mark.parametrize("shape", [(9, 5), (7, 4, 3), (70, 2), (3, 1, 4)], ids=str)
def test_correlations_equal_those_found_pair_by_pair(shape):
    rng = np.random.default_rng(3)
    known = rng.random(shape) < 0.5
    cells, targets = np.argwhere(known), rng.standard_normal(known.sum())
    found = measure_correlations(tuple(cells.T), targets, shape, FieldAlgebra(Budget()))
    variance = np.mean(targets**2)
    for mode, one in enumerate(found):
        products = {}
        for first, second in itertools.combinations(range(len(cells)), 2):
            if np.array_equal(np.delete(cells[first], mode), np.delete(cells[second], mode)):
                distance = abs(int(cells[first, mode] - cells[second, mode]))
                products.setdefault(distance, []).append(targets[first] * targets[second])
        assert one.length == shape[mode]
        assert one.distances.tolist() == [d for d in DISTANCES if d < shape[mode]]
        assert one.pairs.tolist() == [len(products.get(d, ())) for d in one.distances]
        expected = [np.mean(products[d]) / variance if d in products else 0 for d in one.distances]
        np.testing.assert_allclose(one.measured, expected, atol=1e-12)
        every = list(itertools.chain(*products.values()))
        assert one.overall == pytest.approx(np.mean(every) / variance if every else 0.0, abs=1e-12)


def test_matern_curves_fall_from_one():
    from scipy.special import gamma, kv  # noqa: PLC0415

    distances = np.linspace(1e-3, 8.0, 50)
    for smoothness in SMOOTHNESSES:
        found = matern(distances, smoothness)
        scaled = np.sqrt(2.0 * smoothness) * distances
        bessel = scaled**smoothness * kv(smoothness, scaled)
        np.testing.assert_allclose(found, bessel * 2.0 ** (1.0 - smoothness) / gamma(smoothness))
        assert matern(np.zeros(1), smoothness) == 1.0
        assert (np.diff(found) < 0.0).all()


@pytest.mark.parametrize("smoothness", SMOOTHNESSES)
def test_matrices_of_curves_are_correlation_matrices(smoothness):
    for length, floor, n in itertools.product(LENGTHS, (0.0, 0.5, MAX_FLOOR), (1, 2, 40)):
        matrix = Curve(length, floor).matrix(n, smoothness)
        assert np.array_equal(matrix, matrix.T)
        np.testing.assert_allclose(np.diag(matrix), 1.0)
        assert np.linalg.eigvalsh(matrix).min() > 0.0
        assert matrix.min() > floor * (1.0 - 1e-5)


@pytest.mark.parametrize("smoothness", SMOOTHNESSES)
@pytest.mark.parametrize("seed", range(3))
def test_curves_tell_the_planted_lengths_and_modes_without_an_order(smoothness, seed):
    _, known, values = planted((40, 24, 8), smoothness=smoothness, seed=seed)
    signal, curves = fit_curves(correlations_of(seen(known, values)), smoothness)
    assert 3.0 <= curves[0].length <= 12.0  # planted as 6
    assert 1.5 <= curves[1].length <= 6.0  # planted as 3
    assert curves[2].length == LENGTHS[0]
    assert signal in SIGNAL_SHARES
    assert signal >= 0.9  # planted as 0.99


def test_noise_is_no_signal():
    for noise, least, most in ((0.1, 0.95, 1.0), (1.0, 0.3, 0.7), (3.0, 0.0, 0.3)):
        _, known, values = planted((40, 24, 8), noise=noise)
        signal, _ = fit_curves(correlations_of(seen(known, values)), SMOOTH)
        assert least <= signal <= most


def test_indices_that_are_all_alike_have_a_floor():
    _, known, _ = planted((30, 12), (None, None))
    rng = np.random.default_rng(0)
    rows = 2.0 * np.repeat(rng.standard_normal((30, 1)), 12, axis=1)  # the same in all columns
    values = (rows + 0.7 * rng.standard_normal(known.shape))[known]
    _, (first, second) = fit_curves(correlations_of(seen(known, values)), ROUGH)
    assert first.length <= 1.0
    assert first.floor < 0.3
    assert second.floor > 0.7


def test_a_mode_without_pairs_fits_any_curve():
    alone = Correlations(np.empty(0), np.empty(0), np.empty(0), 0.0, 1)
    signal, (curve,) = fit_curves([alone], ROUGH)
    assert np.isfinite([signal, *curve]).all()
    assert curve.floor == 0.0
