"""Values out of range raise the right error, with a message that helps."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import intensor
from intensor import errors
from intensor.options.ranges import (
    HeldOut,
    check_at_least,
    check_callable,
    check_clip,
    check_memory,
    check_positive,
    check_radius,
    check_radius_or_auto,
    check_rtol_or_auto,
    check_validation,
    default_memory_limit,
)

GOOD = {
    "coords": [[0, 0], [1, 1], [0, 1], [1, 0]],
    "values": [1.0, 2.0, 0.0, 0.5],
    "shape": (2, 2),
    "radius": 3.0,
}


def solve(**changes):
    call = GOOD | changes
    return intensor.solve(call.pop("coords"), call.pop("values"), **call)


BAD_RADII = {
    "zero": (0, "is 0.*positive finite"),
    "negative": (-1.5, r"is -1\.5.*positive finite"),
    "nan": (math.nan, "is nan.*positive finite"),
    "inf": (math.inf, "is inf.*positive finite"),
    "huge integer": (10**400, "is inf.*positive finite"),
    "square overflows": (1e200, r"is 1e\+200; expected a number from 1e-70 to 1e\+70"),
    "square underflows": (1e-200, r"is 1e-200; expected a number from 1e-70 to 1e\+70"),
    "string": ("1.0", r"is '1\.0'; expected a positive number"),
    "bool": (True, "is True; expected a positive number"),
    "numpy bool": (np.True_, "True.*expected a positive number"),
    "none": (None, "is None; expected a positive number"),
    "complex": (1 + 1j, r"is \(1\+1j\); expected a positive number"),
    "array": (np.array([1.0]), "expected a positive number"),
}


def test_bad_radii_are_refused():
    for radius, message in BAD_RADII.values():
        with pytest.raises(errors.RadiusError, match=message):
            solve(radius=radius)


def test_any_real_number_is_a_radius():
    for radius in (3, 3.0, np.float32(3), np.int64(3), Fraction(3)):
        assert solve(radius=radius, exact="off").model.radius == 3.0


def test_a_decimal_is_no_radius():
    with pytest.raises(errors.RadiusError, match=r"Decimal\('3'\); expected a positive number"):
        check_radius(Decimal(3))


def test_unknown_versions_are_refused():
    message = r"version is .*expected one of 0, 1, .*10"
    for version in (-1, 11, "8", "fastest", None, 2.5, [8], {}):
        with pytest.raises(errors.UnknownVersionError, match=message):
            solve(version=version)


NOT_A_TOLERANCE = [
    (-1e-9, "-1e-09.*finite number >= 0"),
    (math.nan, "nan.*finite number >= 0"),
    (math.inf, "inf.*finite number >= 0"),
    (10**400, "inf.*finite number >= 0"),
    ("1e-4", "'1e-4'.*a number >= 0"),
    (None, "None.*a number >= 0"),
    (True, "True.*a number >= 0"),
    (1j, "1j.*a number >= 0"),
]

NOT_A_COUNT = [
    (-1, "-1.*>= 0"),
    (2.0, r"2\.0.*an integer >= 0"),
    ("3", "'3'.*an integer >= 0"),
    (False, "False.*an integer >= 0"),
    (math.nan, "nan.*an integer >= 0"),
]

NOT_A_TIME = [
    (0, "0; expected a positive number of seconds, or None"),
    (-2.0, r"-2\.0; expected a positive number of seconds"),
    (math.nan, "nan; expected a positive number of seconds"),
    ("1 h", "'1 h'; expected a positive number of seconds"),
    (True, "True; expected a positive number of seconds"),
]

NOT_AN_ORACLE = [
    (choice, f"{choice!r}; expected one of 'auto', 'enumeration', 'branch', .*'off'")
    for choice in ("cplex", "", "AUTO", None, 1)
]

BAD_SETTINGS = {
    "tol": NOT_A_TOLERANCE,
    "rtol": NOT_A_TOLERANCE,
    "max_iterations": NOT_A_COUNT,
    "seed": [*NOT_A_COUNT, (None, "None.*an integer >= 0")],
    "time_limit": NOT_A_TIME,
    "exact": NOT_AN_ORACLE,
}


@pytest.mark.parametrize("name", BAD_SETTINGS)
def test_bad_settings_are_refused(name):
    for value, message in BAD_SETTINGS[name]:
        with pytest.raises(errors.SettingError, match=f"^{name} is {message}"):
            solve(**{name: value})


def test_settings_at_the_edge_are_fine():
    for setting in (
        {"tol": 0},
        {"rtol": np.float32(0.5)},
        {"max_iterations": np.int64(2)},
        {"max_iterations": 10**400},
        {"seed": 10**30},
        {"time_limit": math.inf},
        {"time_limit": 10**400},
    ):
        assert isinstance(solve(**setting), intensor.Result)


def test_enumeration_says_when_a_tensor_is_too_large():
    coords = np.repeat(np.arange(100)[:, np.newaxis], 3, axis=1)
    with pytest.raises(errors.SettingError, match=r"enumeration.*\(100, 100, 100\); use exact"):
        solve(coords=coords, values=coords[:, 0] / 100.0, shape=None, exact="enumeration")
    found = solve(coords=coords[::99], values=[1.0, 0.0], shape=None, exact="enumeration")
    assert found.status is intensor.Status.OPTIMAL  # the others do not occur


def test_check_at_least_converts():
    assert check_at_least("x", np.int64(3), 1, integer=True) == 3
    assert type(check_at_least("x", np.int64(3), 1, integer=True)) is int
    assert type(check_at_least("x", 3, 1)) is float
    with pytest.raises(errors.SettingError, match="x is 0; expected a finite number >= 1"):
        check_at_least("x", 0, 1, integer=True)


def test_check_positive_converts():
    assert check_positive("x", Fraction(1, 2)) == 0.5
    assert check_positive("x", 10**400) == math.inf


def test_auto_leaves_the_choice_to_validation():
    assert check_radius_or_auto("radius", "auto") is None
    assert check_radius_or_auto("radius", 2) == 2.0
    assert check_rtol_or_auto("rtol", "auto") is None
    assert check_rtol_or_auto("rtol", 0) == 0.0
    assert check_validation("validation", 0.25) == HeldOut(1, 0.25)
    assert check_validation("validation", 5) == HeldOut(5, 0.2)
    assert check_validation("validation", "auto") == HeldOut(None, 0.1)


def test_amounts_of_memory_are_read():
    sizes = {1000: 1000, "2 KiB": 2048, "2kb": 2000, " 1.5GiB ": 3 << 29, "3 T": 3 * 10**12}
    assert {limit: check_memory("memory_limit", limit) for limit in sizes} == sizes


def test_what_is_no_amount_of_memory_is_refused():
    message = r"^memory_limit is .*, or text like '4 GiB'$"
    for limit in ("much", "", "0", -1, True, "1.2.3 GiB", "4 PiB", 1j):
        with pytest.raises(errors.SettingError, match=message):
            check_memory("memory_limit", limit)


def test_an_unknown_memory_limit_is_4_gib(monkeypatch):
    assert default_memory_limit() > 1 << 20
    monkeypatch.delattr("os.sysconf")
    assert default_memory_limit() == 4 << 30


def test_functions_are_checked():
    assert check_callable("callback", print) is print
    with pytest.raises(errors.SettingError, match="callback is 3; expected a function of one Prog"):
        check_callable("callback", 3)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((1, 5), (1.0, 5.0)),
        ([np.float32(0.5), None], (0.5, None)),
        ((None, np.int64(3)), (None, 3.0)),
        (np.array([-1.0, 2.0]), (-1.0, 2.0)),
        ((None, None), None),
    ],
)
def test_a_range_to_clip_to(given, expected):
    assert check_clip("clip", given) == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (5, "clip is 5; expected a pair"),
        ("15", "clip is '15'; expected a pair"),
        ((1,), "expected a pair"),
        ((1, 2, 3), "expected a pair"),
        ((5, 1), r"clip is \(5, 1\); expected the low end below the high end"),
        ((1, 1), "low end below"),
        ((0, np.inf), "finite"),
        ((np.nan, 1), "finite"),
        (("1", 2), "finite"),
        ((True, 2), "finite"),
        ((None, 0), "high end above 0"),
        ((-3, -1), "high end above 0"),
    ],
)
def test_ranges_that_cannot_be(given, message):
    with pytest.raises(errors.SettingError, match=message):
        check_clip("clip", given)
