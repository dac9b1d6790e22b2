"""Transforms: there and back, and values that have no finite value in the fitted scale."""

import numpy as np
import pytest

from intensor.errors import SettingError, ValuesError
from intensor.model.transform import TRANSFORMS, Transform, find_transform

VALUES = np.array([0.0, 1e-12, 0.3, 1.0, 7.5, 1e6, 1e70])


@pytest.mark.parametrize("name", TRANSFORMS)
def test_there_and_back(name):
    transform = find_transform(name)
    assert transform.name == name
    np.testing.assert_allclose(transform.undo(transform.apply(VALUES)), VALUES, rtol=1e-13)


@pytest.mark.parametrize(
    ("name", "by_hand"),
    [
        ("none", [0.0, 3.0, 8.0]),
        ("sqrt", [0.0, 3.0**0.5, 8.0**0.5]),
        ("log1p", [0, 1.3863, 2.1972]),
    ],
)
def test_by_hand(name, by_hand):
    assert find_transform(name).apply(np.array([0.0, 3.0, 8.0])) == pytest.approx(by_hand, abs=1e-4)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_predictions_are_never_negative(name):
    undone = find_transform(name).undo(np.array([-1e9, -3.0, -1e-9, -0.0, 0.5]))
    assert undone[:4].tolist() == [0.0] * 4
    assert undone[4] > 0.0


@pytest.mark.parametrize("name", TRANSFORMS)
def test_predictions_are_monotone_and_finite(name):
    undone = find_transform(name).undo(np.array([-5.0, 0.0, 1.0, 30.0, 699.0, 1e69]))
    assert np.all(np.diff(undone) >= 0.0)
    assert np.all(np.isfinite(undone))


def test_what_would_overflow_is_brought_down():
    assert find_transform("log1p").undo(np.array([1e9]))[0] == np.expm1(700.0)
    assert find_transform("sqrt").undo(np.array([1e200]))[0] == pytest.approx(1e300)


@pytest.mark.parametrize("pair", [(np.cbrt, lambda z: z**3), [np.log, np.exp]])
def test_a_pair_of_functions(pair):
    transform = find_transform(pair)
    assert transform.name == "custom"
    values = np.array([0.5, 2.0, 9.0])
    np.testing.assert_allclose(transform.apply(values), pair[0](values))
    np.testing.assert_allclose(transform.undo(transform.apply(values)), values)


def test_functions_may_return_anything_like_an_array():
    transform = Transform(name="custom", forward=list, inverse=list)
    assert transform.apply(np.array([1.0, 2.0])).dtype == np.float64
    assert transform.undo(np.array([1.0, -2.0])).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("forward", [np.sum, lambda v: v[:1], lambda v: v[:, np.newaxis]])
def test_a_function_must_work_element_by_element(forward):
    transform = Transform(name="custom", forward=forward, inverse=np.exp)
    with pytest.raises(SettingError, match=r"turned \(3,\) values into .* element by element"):
        transform.apply(np.ones(3))


@pytest.mark.parametrize(
    ("forward", "shown"), [(np.log, "value 0.0 is -inf"), (lambda v: 0.0 / v, "value 0.0 is nan")]
)
def test_a_value_without_a_finite_transform_is_named(forward, shown):
    transform = Transform(name="custom", forward=forward, inverse=np.exp)
    with pytest.raises(ValuesError, match=f"custom transform of the {shown}; expected a finite"):
        transform.apply(np.array([1.0, 0.0, 2.0]))


def test_no_warning_escapes():
    assert TRANSFORMS["log1p"].undo(np.array([1e308])).size == 1
    with pytest.raises(ValuesError):
        TRANSFORMS["sqrt"].apply(np.array([-1.0]))


@pytest.mark.parametrize("option", ["cube", "", None, 3, (np.log,), (np.log, 2), (np.log,) * 3])
def test_what_is_no_transform(option):
    with pytest.raises(SettingError, match=r"transform is .*expected 'none', 'sqrt', 'log1p'"):
        find_transform(option)


@pytest.mark.parametrize("inverse", [np.sum, lambda z: z * np.nan])
def test_an_inverse_that_gives_no_predictions_is_refused(inverse):
    transform = Transform(name="custom", forward=np.positive, inverse=inverse)
    with pytest.raises((SettingError, ValuesError)):
        transform.undo(np.ones(3))
