"""The paper's instances, bit for bit, against slow loops that draw one number at a time."""

import tracemalloc

import numpy as np
import pytest

import intensor
import zoo
from intensor import errors


def slow(shape, n, rep, n_vertices=10):
    """Follow the recipe of DESIGN.md, section 2, one scalar draw after the other."""
    rng = np.random.default_rng(rep)
    weights = np.array([rng.uniform() for _ in range(n_vertices)])
    weights = weights / weights.sum()
    vertices = []
    for _ in range(n_vertices):
        draws = [rng.uniform() for _ in range(sum(shape))]
        parts, start = [], 0
        for length in shape:
            parts.append([draw < 0.5 for draw in draws[start : start + length]])
            start += length
        vertices.append(parts)
    coords = [[int(rng.integers(0, length)) for length in shape] for _ in range(n)]
    values = []
    for cell in coords:
        value = 0.0
        for weight, parts in zip(weights, vertices, strict=True):
            if all(part[index] for part, index in zip(parts, cell, strict=True)):
                value += weight
        values.append(value)
    return np.array(coords), np.array(values), weights, rng


def test_the_first_numbers_of_the_paper():
    data = intensor.planted((10, 10, 10), 500, 0)
    flat = data.coords @ [100, 10, 1]
    assert flat[:7].tolist() == [813, 377, 746, 571, 372, 291, 981]
    assert data.values[:5].round(8).tolist() == [0.0, 0.11019513, 0.0, 0.0, 0.11019513]
    assert data.coords.shape == (500, 3)
    assert data.values.shape == (500,)
    assert data.shape == (10, 10, 10)


@pytest.mark.parametrize(
    ("shape", "n", "rep"),
    [
        ((10, 10, 10), 200, 0),
        ((10, 10, 10), 200, 49),
        ((3, 7, 2), 150, 1),
        ((1, 5, 1, 4), 60, 2),
        ((300, 2, 7000), 40, 3),
        ((6,), 30, 4),
        ((2,) * 9, 40, 5),
    ],
)
def test_every_bit_is_that_of_the_slow_recipe(shape, n, rep):
    data = intensor.planted(shape, n, rep)
    coords, values, _, _ = slow(shape, n, rep)
    np.testing.assert_array_equal(data.coords, coords)
    np.testing.assert_array_equal(data.values, values)
    np.testing.assert_allclose(data.truth.predict(coords), values, rtol=0, atol=1e-15)


@pytest.mark.parametrize("n_vertices", [1, 3, 70])
def test_the_number_of_vertices_is_free(n_vertices):
    data = intensor.planted((6, 5, 4), 120, 7, n_vertices=n_vertices)
    coords, values, _, _ = slow((6, 5, 4), 120, 7, n_vertices)
    np.testing.assert_array_equal(data.coords, coords)
    np.testing.assert_array_equal(data.values, values)
    assert len(data.truth) <= n_vertices


@pytest.mark.parametrize("rep", zoo.mostly_slow(range(5), telling=[0]))
def test_values_are_those_of_the_truth(rep):
    data = intensor.planted((6, 5, 4), 300, rep)
    np.testing.assert_allclose(data.truth.predict(data.coords), data.values, rtol=0, atol=1e-15)
    dense = data.truth.to_dense()
    np.testing.assert_allclose(dense[tuple(data.coords.T)], data.values, rtol=0, atol=1e-15)
    assert data.values.any()
    assert data.truth.radius == 1.0
    assert data.truth.weights.sum() <= 1.0 + 1e-15


def test_noise_is_drawn_last_and_clipped_at_zero():
    shape, n, rep, noise = (5, 6, 7), 400, 3, 0.3
    clean = intensor.planted(shape, n, rep)
    noisy = intensor.planted(shape, n, rep, noise=noise)
    _, values, _, rng = slow(shape, n, rep)
    expected = values + noise * np.array([rng.standard_normal() for _ in range(n)])
    assert (expected < 0.0).any()
    np.testing.assert_array_equal(noisy.coords, clean.coords)
    np.testing.assert_array_equal(noisy.values, np.maximum(expected, 0.0))
    assert intensor.nmse(noisy.truth, clean.truth) == 0.0


def test_the_same_seed_gives_the_same_instance_and_another_a_different_one():
    first, again, other = (intensor.planted((5, 5), 50, rep, noise=0.1) for rep in (0, 0, 1))
    np.testing.assert_array_equal(first.values, again.values)
    np.testing.assert_array_equal(first.coords, again.coords)
    assert not np.array_equal(first.coords, other.coords)


def test_ten_million_cells_without_a_dense_tensor():
    shape, n = (10,) * 7, 2 * 10**5
    dense_bytes = 8 * 10**7
    tracemalloc.start()
    try:
        data = intensor.planted(shape, n)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    given_back = data.coords.nbytes + data.values.nbytes
    assert peak - given_back < dense_bytes / 4
    assert data.coords.min(axis=0).tolist() == [0] * 7
    assert data.coords.max(axis=0).tolist() == [9] * 7
    some = slice(0, n, 9973)
    np.testing.assert_allclose(
        data.truth.predict(data.coords[some]), data.values[some], rtol=0, atol=1e-15
    )


def test_more_cells_than_can_be_counted():
    data = intensor.planted((1000,) * 12, 300, 2, n_vertices=3)
    coords, values, _, _ = slow((1000,) * 12, 300, 2, 3)
    np.testing.assert_array_equal(data.coords, coords)
    np.testing.assert_array_equal(data.values, values)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"shape": (3, 0)}, errors.ShapeError, "mode 1 has length 0"),
        ({"shape": 3}, errors.ShapeError, "3; expected one positive integer per mode"),
        ({"n": 0}, errors.SettingError, "n is 0; expected a finite number >= 1"),
        ({"n": 2.5}, errors.SettingError, r"n is 2\.5; expected an integer >= 1"),
        ({"rep": -1}, errors.SettingError, "rep is -1; expected a finite number >= 0"),
        ({"rep": "0"}, errors.SettingError, "rep is '0'; expected an integer >= 0"),
        ({"n_vertices": 0}, errors.SettingError, "n_vertices is 0; expected"),
        ({"noise": -0.1}, errors.SettingError, r"noise is -0\.1; expected"),
        ({"noise": float("nan")}, errors.SettingError, "noise is nan; expected"),
    ],
)
def test_bad_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        intensor.planted(**({"shape": (3, 3), "n": 5} | arguments))
