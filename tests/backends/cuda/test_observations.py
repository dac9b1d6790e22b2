"""Observations collapsed on the device against those collapsed on the host."""

import numpy as np
import pytest

from intensor.backends.cuda import observations as module
from intensor.backends.cuda.device import array_module, simulated
from intensor.backends.cuda.observations import observe_on_device, upload
from intensor.data.observations import observe
from intensor.errors import (
    CoordinateError,
    NegativeValueError,
    SettingError,
    ShapeError,
    ValuesError,
)


def drawn(shape, n, seed=0):
    rng = np.random.default_rng([seed, n, *shape])
    coords = np.stack([rng.integers(0, length, n) for length in shape], axis=1)
    return coords, rng.uniform(size=n)


def check(there, here):
    found = there.host()
    assert found.shape == here.shape
    for ours, theirs in zip(found.coords, here.coords, strict=True):
        assert ours.dtype == theirs.dtype
        assert np.array_equal(ours, theirs)
    assert np.array_equal(found.counts, here.counts)
    np.testing.assert_allclose(found.means, here.means, rtol=1e-15)
    assert found.n == here.n
    assert found.within == pytest.approx(here.within, rel=1e-13, abs=1e-300)
    assert found.mean_square == pytest.approx(here.mean_square, rel=1e-13)
    assert there.n_cells == here.n_cells


@pytest.mark.parametrize(
    ("shape", "n"),
    [((5,), 40), ((4, 3), 1), ((300, 2, 3), 50), ((9, 9, 9), 60), ((2**20,) * 3, 30)],
)
def test_observations_are_those_of_the_host(shape, n):
    coords, values = drawn(shape, n)
    check(observe_on_device(coords, values, shape=shape), observe(coords, values, shape=shape))
    check(observe_on_device(coords, values), observe(coords, values))


def test_equal_values_have_no_variance():
    coords = np.zeros((60, 2), dtype=np.int64)
    there = observe_on_device(coords, np.full(60, 0.1))
    assert there.within == 0.0
    assert there.n_cells == 1


def test_collapsed_observations_can_be_uploaded():
    coords, values = drawn((4, 3, 5), 60)
    weights = np.random.default_rng(0).uniform(size=60)
    here = observe(coords, values, sample_weight=weights)
    check(upload(here), here)
    np.testing.assert_array_equal(upload(here).host().shares, here.shares)


class Afar(np.ndarray):
    """An array that looks as if it lay on a device."""

    __cuda_array_interface__ = None


def afar(array):
    return np.asarray(array).view(Afar) if simulated() else array_module().asarray(array)


def test_columns_on_the_device_stay_there():
    coords, values = drawn((5, 4), 50)
    columns = [afar(coords[:, mode].astype(np.uint8)) for mode in range(2)]
    here = observe(coords, values, shape=(5, 4))
    check(observe_on_device(columns, afar(values), shape=(5, 4)), here)
    check(observe_on_device(afar(coords), afar(values), shape=(5, 4)), here)
    check(observe_on_device(columns, afar(values)), observe(coords, values))


GOOD = [[0, 1], [1, 0]]
BAD = [
    ([[0, 1], [0, 5]], [1.0, 2.0], (2, 2), CoordinateError, "mode 1 go from 1 to 5.*from 0 to 1"),
    ([[0, 1], [-1, 0]], [1.0, 2.0], None, CoordinateError, "mode 0 go from -1"),
    (GOOD, [1.0, 2.0], (2, 2, 2), CoordinateError, "2 column"),
    (GOOD, [1.0], (2, 2), ValuesError, r"shape \(1,\); expected \(2,\)"),
    (GOOD, [1.0, np.nan], (2, 2), ValuesError, "NaN or infinite"),
    (GOOD, [1.0, -2.0], (2, 2), NegativeValueError, "down to -2.0"),
    ([[0.5, 1.0], [1.0, 0.0]], [1.0, 2.0], None, CoordinateError, "float64; expected integers"),
    ([0, 1], [1.0, 2.0], None, CoordinateError, "expected .n, p. integers"),
    (GOOD, [1.0, 2.0], (2, 0), ShapeError, "length 0"),
]


@pytest.mark.parametrize(("coords", "values", "shape", "error", "message"), BAD)
def test_bad_data_on_the_device_is_refused(coords, values, shape, error, message):
    with pytest.raises(error, match=message):
        observe_on_device(afar(coords), afar(values), shape=shape)


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(CoordinateError, match="of the same length"):
        observe_on_device([afar([0, 1]), afar([0])], afar([1.0, 2.0]))


def test_a_tensor_without_cell_numbers_is_refused():
    with pytest.raises(SettingError, match=r"more than 2.63 cells"):
        observe_on_device([[0] * 4], [1.0], shape=(2**20,) * 4)


def test_the_memory_needed_is_checked_first(monkeypatch):
    asked = []
    monkeypatch.setattr(module, "check_memory", lambda needed, what: asked.append((needed, what)))
    observe_on_device([[0, 1]], [1.0])
    assert asked == [(module.COLLAPSING_BYTES, "collapsing 1 observations")]
