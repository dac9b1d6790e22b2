"""Every bad cell, value and weight: the right error, and a message that helps."""

import math
import warnings

import numpy as np
import pytest

import intensor
from intensor import errors
from intensor.data.checks import (
    BadRow,
    check_coords,
    check_shape,
    check_values,
    check_weights,
    find_bad_value,
    find_bad_weight,
    raise_bad,
    warn_above_radius,
)
from intensor.options.ranges import LARGEST_MAGNITUDE
from naming import naming

GOOD = {
    "coords": [[0, 0], [1, 1], [0, 1], [1, 0]],
    "values": [1.0, 2.0, 0.0, 0.5],
    "shape": (2, 2),
    "radius": 3.0,
}


def solve(**changes):
    call = GOOD | changes
    return intensor.solve(call.pop("coords"), call.pop("values"), **call)


def test_the_good_call_is_good():
    # Every case below changes one thing in this call, so the error is about that thing.
    result = solve()
    assert result.status is intensor.Status.OPTIMAL
    assert result.model.shape == (2, 2)


BAD_COORDS = {
    "empty list": ([], errors.EmptyDataError, r"shape \(0,\).*at least one"),
    "no rows": (np.empty((0, 2), dtype=int), errors.EmptyDataError, r"\(0, 2\).*at least one"),
    "no columns": (np.empty((4, 0), dtype=int), errors.EmptyDataError, r"\(4, 0\).*at least one"),
    "flat": ([0, 1, 2, 3], errors.CoordinateError, r"1 dimension.*\(4,\).*expected an \(n, p\)"),
    "three-dimensional": (
        np.zeros((2, 2, 2), dtype=int),
        errors.CoordinateError,
        r"3 dimension.*\(2, 2, 2\).*expected an \(n, p\)",
    ),
    "scalar": (7, errors.CoordinateError, r"0 dimension.*expected an \(n, p\)"),
    "none": (None, errors.CoordinateError, r"0 dimension.*expected an \(n, p\)"),
    "ragged": (
        [[0, 0], [1], [0, 1], [1, 0]],
        errors.CoordinateError,
        "coords.*expected equal rows",
    ),
    "floats": (np.zeros((4, 2)), errors.CoordinateError, "float64.*expected integers"),
    "one fraction": (
        [[0, 0], [1, 1], [0, 0.5], [1, 0]],
        errors.CoordinateError,
        "float64.*expected integers",
    ),
    "booleans": (np.zeros((4, 2), dtype=bool), errors.CoordinateError, "bool.*expected integers"),
    "labels": ([["a", "b"]] * 4, errors.CoordinateError, "<U1.*expected integers.*encode labels"),
    "objects": ([[0, None]] * 4, errors.CoordinateError, "object.*expected integers"),
    "durations": (
        np.zeros((4, 2), dtype="m8[s]"),
        errors.CoordinateError,
        "timedelta64.*expected integers",
    ),
    "too many columns": (
        [[0, 0, 0]] * 4,
        errors.CoordinateError,
        r"3 column.*\(2, 2\) has 2 mode.*expected a column per mode",
    ),
    "too few columns": ([[0]] * 4, errors.CoordinateError, r"1 column.*\(2, 2\) has 2 mode"),
    "too large": (
        [[0, 0], [1, 1], [0, 2], [1, 0]],
        errors.CoordinateError,
        r"coords\[2, 1\] is 2; mode 1 allows indices from 0 to 1",
    ),
    "negative": (
        [[0, 0], [1, 1], [0, 1], [-1, 0]],
        errors.CoordinateError,
        r"coords\[3, 0\] is -1; mode 0 allows indices from 0 to 1",
    ),
    "masked": (
        np.ma.array(GOOD["coords"], mask=[[0, 0], [0, 0], [0, 0], [0, 1]]),
        errors.CoordinateError,
        "coords.*masked.*expected every entry to be data",
    ),
}


def test_bad_coordinates():
    for name, (coords, error, message) in BAD_COORDS.items():
        with naming(name):
            with pytest.raises(error, match=message) as caught:
                solve(coords=coords)
            assert type(caught.value) is error


def test_the_first_bad_coordinate_is_named():
    coords = [[0, 0], [1, 5], [0, 7], [1, -2]]
    with pytest.raises(errors.CoordinateError, match=r"coords\[1, 1\] is 5"):
        solve(coords=coords)


def test_negative_coordinates_without_a_shape():
    coords = [[0, 0], [1, -3], [0, 1], [1, 0]]
    with pytest.raises(errors.CoordinateError, match=r"coords\[1, 1\] is -3.*at least 0"):
        solve(coords=coords, shape=None)


def test_coordinates_beyond_int64():
    coords = np.array([[0, 2**63], [0, 0], [0, 1], [1, 0]], dtype=np.uint64)
    with pytest.raises(errors.ShapeError, match=r"9223372036854775809.*encode"):
        solve(coords=coords, shape=None)
    with pytest.raises(errors.CoordinateError, match=r"coords\[0, 1\] is 9223372036854775808"):
        solve(coords=coords)


BAD_VALUES = {
    "empty": ([], errors.ValuesError, r"shape \(0,\); expected \(4,\)"),
    "too short": ([1.0, 2.0], errors.ValuesError, r"shape \(2,\); expected \(4,\)"),
    "too long": ([1.0] * 5, errors.ValuesError, r"shape \(5,\); expected \(4,\)"),
    "a column": (np.ones((4, 1)), errors.ValuesError, r"shape \(4, 1\); expected \(4,\)"),
    "scalar": (1.0, errors.ValuesError, r"shape \(\); expected \(4,\)"),
    "none": (None, errors.ValuesError, r"shape \(\); expected \(4,\)"),
    "ragged": ([1.0, [2.0], 3.0, 0.0], errors.ValuesError, "values.*expected equal rows"),
    "strings": (["a", "b", "c", "d"], errors.ValuesError, "<U1.*expected real numbers"),
    "objects": ([1.0, None, 2.0, 0.0], errors.ValuesError, "object.*expected real numbers"),
    "complex": ([1.0, 2.0, 1j, 0.0], errors.ValuesError, "complex128.*expected real numbers"),
    "durations": (
        np.zeros(4, dtype="m8[s]"),
        errors.ValuesError,
        "timedelta64.*expected real numbers",
    ),
    "nan": (
        [1.0, math.nan, math.nan, 0.0],
        errors.ValuesError,
        r"values\[1\] is nan; expected a finite.*leave missing cells out",
    ),
    "inf": (
        [1.0, 2.0, math.inf, 0.0],
        errors.ValuesError,
        r"values\[2\] is inf; expected a finite",
    ),
    "-inf": ([-math.inf] * 4, errors.ValuesError, r"values\[0\] is -inf; expected a finite"),
    "beyond float64": (
        np.full(4, 1e30, dtype=np.longdouble) ** 11,
        errors.ValuesError,
        r"values\[0\] is inf; expected a finite",
    ),
    "squares overflow": (
        [1.0, 1e200, 0.0, 0.0],
        errors.ValuesError,
        r"values\[1\] is 1e\+200; expected at most 1e\+70 in size.*rescale",
    ),
    "negative": (
        [1.0, 2.0, -0.25, -9.0],
        errors.NegativeValueError,
        r"values\[2\] is -0\.25; expected values >= 0.*allow_negative=True",
    ),
    "masked": (
        np.ma.array([1.0, 2.0, 0.0, 9.0], mask=[0, 0, 0, 1]),
        errors.ValuesError,
        "values.*masked.*expected every entry to be data",
    ),
}

if np.finfo(np.longdouble).max == np.finfo(np.float64).max:
    del BAD_VALUES["beyond float64"]


def test_bad_values():
    for name, (values, error, message) in BAD_VALUES.items():
        with naming(name):
            with pytest.raises(error, match=message) as caught:
                solve(values=values)
            assert type(caught.value) is error


def test_negative_values_are_fitted_when_allowed():
    result = solve(values=[1.0, 2.0, -0.5, 0.5], allow_negative=True, tol=1e-9)
    # The best nonnegative tensor has 0 where the data is negative, and this radius reaches it.
    assert result.objective == pytest.approx(0.25 / 4, abs=1e-8)
    assert result.model.to_dense().min() >= 0.0


def test_allow_negative_still_refuses_what_is_not_a_number():
    with pytest.raises(errors.ValuesError, match=r"values\[0\] is nan"):
        solve(values=[math.nan, 2.0, -0.5, 0.5], allow_negative=True)


BAD_SHAPES = {
    "a number": (4, "4; expected one positive integer per mode"),
    "a string": ("22", "'22'; expected one positive integer per mode"),
    "floats": ((2.0, 2.0), r"\(2\.0, 2\.0\); expected one positive integer per mode"),
    "nested": ([[2, 2]], "expected one positive integer per mode"),
    "empty": ((), "empty; expected one positive integer per mode"),
    "a zero": ((2, 0), "mode 1 has length 0.*at least one index"),
    "negative": ((-2, 2), "mode 0 has length -2.*at least one index"),
}


@pytest.mark.parametrize(("shape", "message"), BAD_SHAPES.values(), ids=BAD_SHAPES)
def test_bad_shapes(shape, message):
    with pytest.raises(errors.ShapeError, match=message):
        solve(shape=shape)


@pytest.mark.parametrize("size", [1.0 / LARGEST_MAGNITUDE, LARGEST_MAGNITUDE])
def test_the_most_extreme_data_allowed_is_solved(size):
    result = solve(values=[size, 0.0, 0.0, 0.0], radius=size, tol=0.0, rtol=1e-6)
    assert result.status is intensor.Status.OPTIMAL
    assert result.model.predict([[0, 0]])[0] == pytest.approx(size, rel=1e-2)


def test_values_above_the_radius_warn_at_the_call():
    with pytest.warns(errors.RadiusWarning, match="1 of 4 values.*radius 1.5.*largest 2") as caught:
        result = solve(radius=1.5)
    assert [warning.filename for warning in caught] == [__file__]
    assert result.model.predict([[1, 1]])[0] <= 1.5 * (1 + 1e-12)


def test_values_at_the_radius_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solve(radius=2.0)
        warn_above_radius(np.array([0.5, 2.0]), 2.0)


def test_data_is_judged_before_anything_is_fitted():
    calls = []
    with pytest.raises(errors.NegativeValueError):
        solve(values=[-1.0, 0.0, 0.0, 0.0], callback=calls.append)
    assert calls == []


def test_check_shape_takes_any_integers():
    lengths = check_shape(np.array([3, 4], dtype=np.int8))
    assert lengths == (3, 4)
    assert all(type(length) is int for length in lengths)
    assert check_shape(length for length in (2, 5)) == (2, 5)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.uint64])
def test_check_coords_takes_any_integers(kind):
    given = np.array([[1, 4], [3, 0]], dtype=kind)
    coords, shape = check_coords(given, None)
    assert coords.dtype == np.int64
    assert coords.tolist() == [[1, 4], [3, 0]]
    assert shape == (4, 5)
    assert check_coords(given, (300, 70000))[1] == (300, 70000)


@pytest.mark.parametrize("kind", [bool, np.int8, np.uint16, np.float16, np.float32])
def test_check_values_takes_any_real_numbers(kind):
    values = check_values(np.array([0, 1, 1], dtype=kind), 3, allow_negative=False)
    assert values.dtype == np.float64
    assert values.tolist() == [0.0, 1.0, 1.0]


def test_unmasked_masked_arrays_are_data():
    values = check_values(np.ma.array([0.5, 1.0]), 2, allow_negative=False)
    assert values.tolist() == [0.5, 1.0]


BAD_WEIGHTS = {
    "too few": ([1.0], errors.ValuesError, r"sample_weight has shape \(1,\); expected \(3,\)"),
    "a column": (np.ones((3, 1)), errors.ValuesError, r"shape \(3, 1\); expected \(3,\)"),
    "a number": (2.0, errors.ValuesError, r"shape \(\); expected \(3,\)"),
    "negative": ([1.0, -0.5, 1.0], errors.ValuesError, r"sample_weight\[1\] is -0.5; expected"),
    "nan": ([1.0, 1.0, np.nan], errors.ValuesError, r"sample_weight\[2\] is nan"),
    "infinite": ([np.inf, 1.0, 1.0], errors.ValuesError, r"sample_weight\[0\] is inf"),
    "huge": (
        [1.0, 10 * LARGEST_MAGNITUDE, 1.0],
        errors.ValuesError,
        r"sample_weight\[1\] is 1e\+71",
    ),
    "too uneven": (
        [1e49, 1e-302, 1e-151],
        errors.ValuesError,
        r"sample_weight\[1\] is 1e-302 and the largest is 1e\+49; expected .* 1e-100 times",
    ),
    "nearly even": ([1.0, 0.0, 9e-101], errors.ValuesError, r"sample_weight\[2\] is 9e-101"),
    "text": (["a", "b", "c"], errors.ValuesError, "dtype <U1; expected real numbers"),
    "complex": ([1j, 1, 1], errors.ValuesError, "complex128; expected real"),
    "masked": (np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]), errors.ValuesError, "masked"),
    "ragged": ([[1.0], [1.0, 2.0], [1.0]], errors.ValuesError, "sample_weight cannot be read"),
    "nothing": ([0.0, 0.0, 0.0], errors.EmptyDataError, "every sample_weight is zero"),
}


def test_check_weights_refuses():
    for name, (weights, error, message) in BAD_WEIGHTS.items():
        with naming(name), pytest.raises(error, match=message):
            check_weights(weights, 3)


@pytest.mark.parametrize("kind", [bool, np.int8, np.uint16, np.float32, np.float64])
def test_check_weights_takes_any_real_numbers(kind):
    given = np.array([1, 0, 1], dtype=kind)
    given.flags.writeable = False
    weights = check_weights(given, 3)
    assert weights.dtype == np.float64
    assert weights.tolist() == [1.0, 0.0, 1.0]
    assert not np.shares_memory(weights, given)


def test_check_weights_makes_equal_weights_one():
    assert check_weights([7.0, 7.0, 7.0], 3).tolist() == [1.0] * 3
    assert check_weights([0.3, 0.0, 0.3], 3).tolist() == [1.0, 0.0, 1.0]
    assert check_weights([2.0, 4.0, 0.0], 3).tolist() == [2.0, 4.0, 0.0]


def test_check_weights_scales_what_would_vanish_and_nothing_else():
    tiny = check_weights([3e-310, 1e-310, 0.0], 3)
    assert 0.5 <= tiny.max() < 1.0
    assert tiny[0] / tiny[1] == pytest.approx(3.0, rel=1e-12)
    assert tiny[2] == 0.0
    uneven = check_weights([1.0, 1e-100, 0.0], 3)
    assert uneven.tolist() == [1.0, 1e-100, 0.0]
    assert check_weights([LARGEST_MAGNITUDE, 1e-30, 1.0], 3).tolist() == [
        LARGEST_MAGNITUDE,
        1e-30,
        1.0,
    ]


# --- one check of values and one of weights, for all data


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (-1.0, errors.NegativeValueError, "is -1.0; expected values >= 0"),
        (np.inf, errors.ValuesError, "is inf; expected a finite number"),
        (-np.inf, errors.ValuesError, "is -inf; expected a finite number"),
        (1e71, errors.ValuesError, r"is 1e\+71; expected at most 1e\+70 in size \(rescale"),
    ],
)
def test_the_first_bad_value_is_found(value, error, text):
    problem = find_bad_value(np.array([0.0, np.nan, 1e70, value, -5.0]))
    assert problem.row == 3
    assert problem.error is error
    with pytest.raises(error, match=f"^number 3 {text}"):
        raise_bad(problem, lambda row: f"number {row}")


def test_good_values():
    values = np.array([0.0, 5e-324, 1e70, np.nan])
    assert find_bad_value(values) is None
    assert find_bad_value(-values, allow_negative=True) is None
    assert find_bad_value(np.empty(0)) is None
    raise_bad(None, str)


def test_missing_values_may_be_forbidden():
    problem = find_bad_value(np.array([1.0, np.nan]), allow_missing=False)
    assert problem.row == 1
    assert "leave missing cells out" in problem.text


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf, 1e71])
def test_the_first_bad_weight_is_found(weight):
    problem = find_bad_weight(np.array([0.0, weight, -2.0]))
    assert problem.row == 1
    assert problem.error is errors.ValuesError
    assert problem.text.startswith(f"is {weight}; expected a number >= 0")
    assert find_bad_weight(np.array([0.0, 1e70])) is None


def test_a_bad_row_carries_what_the_reader_needs():
    bad = BadRow(3, "is bad", errors.ValuesError).within(100, "the value")
    assert (bad.row, bad.text, bad.error) == (103, "the value is bad", errors.ValuesError)
