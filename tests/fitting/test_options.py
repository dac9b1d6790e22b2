"""Options of a fit: what they become inside, and every way to be out of range."""

import numpy as np
import pytest

from intensor.errors import RadiusError, SettingError, UnknownVersionError
from intensor.fitting.options import (
    DEFAULT_RTOL,
    EFFORTS,
    MAX_RADII,
    Effort,
    RemainderMethod,
    check_options,
)
from intensor.fitting.scoring import MAE, RMSE
from naming import naming


def test_the_defaults_choose_everything():
    options = check_options()
    assert options.radius is None
    scales = [
        f"{transform}, {baseline}"
        for transform in ("none", "sqrt", "log1p")
        for baseline in ("none", "additive")
    ]
    assert [scale.name for scale in options.scales] == [*(f"{s}, graded" for s in scales), *scales]
    assert options.max_components is None
    assert (options.folds, options.share) == (None, 0.1)
    assert (options.n_solutions, options.scoring, options.n_radii) == (None, RMSE, 20)
    assert (options.version.name, options.exact.name) == ("fast", "auto")
    assert options.remainder is RemainderMethod.AUTO
    assert options.effort is EFFORTS["standard"]
    assert options.adaptive
    assert options.blends
    assert options.clip is None
    assert (options.solver.tol, options.solver.rtol) == (0.0, DEFAULT_RTOL)
    assert (options.solver.seed, options.solver.signed) == (0, False)


@pytest.mark.parametrize(
    ("given", "blends"),
    [
        ({}, True),
        ({"transform": "none", "baseline": "none"}, True),
        ({"remainder": "none"}, False),
        ({"remainder": "kriging"}, False),
        ({"n_solutions": 1}, False),
        ({"n_solutions": 4}, False),
    ],
    ids=str,
)
def test_references_may_have_a_share_unless_the_options_ask_for_terms(given, blends):
    assert check_options(**given).blends is blends


@pytest.mark.parametrize("name", EFFORTS)
def test_efforts_have_names(name):
    assert check_options(effort=name).effort is EFFORTS[name]
    assert EFFORTS[name].name == name
    assert list(EFFORTS) == ["quick", "standard", "thorough"]
    assert EFFORTS["standard"] == Effort()


def test_more_effort_is_more_work():
    """No count of work falls from one effort to the next, and many of them grow."""
    names = [
        "max_finalists",
        "max_companions",
        "members",
        "max_averaged",
        "max_components",
        "max_kriged_components",
        "scouted_folds",
        "graded_scouting_rows",
        "max_radius_steps",
        "max_polishing_steps",
        "max_folds",
        "max_rows_for_both",
    ]
    quick, standard, thorough = (
        [np.array(getattr(one, name)) for name in names] for one in EFFORTS.values()
    )
    for less, more in ((quick, standard), (standard, thorough)):
        assert all((one <= other).all() for one, other in zip(less, more, strict=True))
        assert sum((one < other).any() for one, other in zip(less, more, strict=True)) > 5
    counts = [
        (len(one.scouted_sizes), len(one.kriging_rounds), max(one.kriging_rounds))
        for one in EFFORTS.values()
    ]
    assert counts == sorted(counts)


@pytest.mark.parametrize(
    ("n", "expected"), [(1, 3), (1 << 15, 3), ((1 << 15) + 1, 2), (1 << 18, 2), ((1 << 18) + 1, 1)]
)
def test_counts_depend_on_the_number_of_observations(n, expected):
    assert Effort().by_size((3, 2, 1), n) == expected


def test_given_options_are_kept():
    options = check_options(
        radius=np.float32(2.5),
        n_solutions=3,
        validation=5,
        scoring="mae",
        n_radii=7,
        version=8,
        tol=1e-3,
        rtol=1e-5,
        max_iterations=9,
        time_limit=4,
        seed=11,
        threads=2,
        exact="off",
    )
    assert (options.radius, options.solver.radius) == (2.5, 2.5)
    assert (options.folds, options.share) == (5, 0.2)
    assert (options.n_solutions, options.scoring, options.n_radii) == (3, MAE, 7)
    assert (options.version.name, options.exact.name, options.adaptive) == (8, "off", False)
    solver = options.solver
    assert (solver.tol, solver.rtol, solver.max_iterations) == (1e-3, 1e-5, 9)
    assert (solver.time_limit, solver.seed, solver.threads) == (4.0, 11, 2)


def test_auto_tries_every_transform_with_and_without_effects():
    options = check_options(transform="auto", baseline="auto", components="boxes")
    assert [scale.name for scale in options.scales] == [
        "none, none",
        "none, additive",
        "sqrt, none",
        "sqrt, additive",
        "log1p, none",
        "log1p, additive",
    ]
    one = {"components": "boxes", "baseline": "none"}
    names = [scale.name for scale in check_options(transform="auto", **one).scales]
    assert names == ["none, none", "sqrt, none", "log1p, none"]
    one = {"components": "boxes", "transform": "none"}
    names = [scale.name for scale in check_options(baseline="auto", **one).scales]
    assert names == ["none, none", "none, additive"]


@pytest.mark.parametrize("version", [0, 8])
def test_versions_without_negative_terms_leave_main_effects_out(version):
    names = [scale.name for scale in check_options(version=version).scales]
    assert names == ["none, none", "sqrt, none", "log1p, none"]
    assert check_options(version=version, transform="sqrt").scales[0].name == "sqrt, none"


def test_a_pair_of_functions_is_a_transform():
    cubic = (np.cbrt, lambda z: z**3)
    graded, scale = check_options(transform=cubic, baseline="additive").scales
    assert (graded.name, scale.name) == ("custom, additive, graded", "custom, additive")
    assert scale.transform.apply(np.array([8.0])) == pytest.approx([2.0])
    assert scale.transform.undo(np.array([2.0])) == pytest.approx([8.0])


@pytest.mark.parametrize("remainder", ["none", "kriging", "auto"])
@pytest.mark.parametrize("version", ["fast", 8])
def test_the_remainder_is_one_of_three(remainder, version):
    options = check_options(remainder=remainder, version=version)
    assert options.remainder is RemainderMethod(remainder)
    assert len(options.scales) == (12 if version == "fast" else 3)  # it is not part of a scale


@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        ({}, [True, False]),
        ({"components": "boxes"}, [False]),
        ({"components": "graded"}, [True]),
        ({"max_components": 3}, [True]),
        ({"radius": 2.0}, [False]),
        ({"radius": 2.0, "components": "graded"}, [True]),
        ({"radius": 2.0, "max_components": 3}, [True]),
        ({"version": 8}, [False]),
        ({"version": 8, "components": "boxes"}, [False]),
    ],
    ids=str,
)
def test_graded_components_are_tried_unless_the_options_ask_for_boxes(given, kinds):
    options = check_options(transform="none", baseline="none", **given)
    assert [scale.graded for scale in options.scales] == kinds
    assert options.max_components == given.get("max_components")


@pytest.mark.parametrize(
    "given",
    [
        {"components": "boxes", "max_components": 3},
        {"components": "graded", "version": 8},
        {"max_components": 3, "version": 8},
    ],
    ids=str,
)
def test_options_that_do_not_go_with_graded_components_are_refused(given):
    with pytest.raises(SettingError, match="needs"):
        check_options(**given)


@pytest.mark.parametrize("n_radii", [MAX_RADII, MAX_RADII + 1, 10**9])
def test_the_number_of_radii_has_a_limit(n_radii):
    assert check_options(n_radii=n_radii).n_radii == MAX_RADII


@pytest.mark.parametrize(
    ("given", "held"),
    [(0.5, (1, 0.5)), (2, (2, 0.5)), (np.int8(4), (4, 0.25)), ("auto", (None, 0.1))],
)
def test_validation_is_a_share_or_a_number_of_folds(given, held):
    options = check_options(validation=given)
    assert (options.folds, options.share) == held


BAD = {
    "radius as text": ({"radius": "large"}, SettingError, "'large'.*positive number or 'auto'"),
    "radius zero": ({"radius": 0.0}, RadiusError, "radius is 0.0.*positive"),
    "radius nan": ({"radius": float("nan")}, RadiusError, "radius is nan"),
    "radius true": ({"radius": True}, RadiusError, "radius is True"),
    "radius none": ({"radius": None}, RadiusError, "radius is None"),
    "transform unknown": ({"transform": "cube"}, SettingError, "'cube'.*'sqrt'.*'auto'.*pair"),
    "transform half": ({"transform": (np.sqrt,)}, SettingError, "transform is.*pair"),
    "transform of numbers": ({"transform": (1, 2)}, SettingError, r"transform is \(1, 2\)"),
    "transform none": ({"transform": None}, SettingError, "transform is None"),
    "baseline": ({"baseline": "mean"}, SettingError, "baseline is 'mean'; expected 'none'"),
    "remainder": (
        {"remainder": "krige"},
        SettingError,
        "remainder is 'krige'; expected 'none', 'kriging' or 'auto'",
    ),
    "remainder none": ({"remainder": None}, SettingError, "remainder is None"),
    "remainder true": ({"remainder": True}, SettingError, "remainder is True"),
    "solutions": ({"n_solutions": 0}, SettingError, "n_solutions is 0"),
    "half solutions": ({"n_solutions": 1.5}, SettingError, "n_solutions is 1.5.*integer"),
    "one fold": ({"validation": 1}, SettingError, "validation is 1; expected at least 2 folds"),
    "no folds": ({"validation": 0}, SettingError, "validation is 0"),
    "share of nothing": ({"validation": 0.0}, SettingError, "validation is 0.0.*share"),
    "share of all": ({"validation": 1.0}, SettingError, "validation is 1.0.*share"),
    "share nan": ({"validation": float("nan")}, SettingError, "validation is nan"),
    "validation true": ({"validation": True}, SettingError, "validation is True.*share"),
    "validation as text": ({"validation": "5"}, SettingError, "validation is '5'"),
    "scoring": (
        {"scoring": "r2"},
        SettingError,
        "'r2'; expected 'rmse', 'mae' or 'mape'",
    ),
    "radii": ({"n_radii": 0}, SettingError, "n_radii is 0"),
    "half radii": ({"n_radii": 2.0}, SettingError, "n_radii is 2.0.*integer"),
    "version": ({"version": 11}, UnknownVersionError, "version is 11"),
    "effects in a version": (
        {"version": 3, "baseline": "additive"},
        SettingError,
        'additive baseline needs version="fast"; got 3',
    ),
    "effort": (
        {"effort": "high"},
        SettingError,
        "effort is 'high'; expected 'quick', 'standard' or 'thorough'",
    ),
    "effort as a number": ({"effort": 2}, SettingError, "effort is 2"),
    "tol": ({"tol": -1e-9}, SettingError, "tol is"),
    "rtol": ({"rtol": -1.0}, SettingError, "rtol is -1"),
    "rtol as text": ({"rtol": "small"}, SettingError, "rtol is 'small'"),
    "iterations": ({"max_iterations": -1}, SettingError, "max_iterations is -1"),
    "time": ({"time_limit": 0}, SettingError, "time_limit is 0"),
    "seed": ({"seed": -1}, SettingError, "seed is -1"),
    "threads": ({"threads": 0}, SettingError, "threads is 0"),
    "device": ({"device": "tpu"}, SettingError, "device is 'tpu'; expected one of 'cpu'"),
    "version on a device": (
        {"device": "cuda", "version": 3},
        SettingError,
        'CUDA device needs version="fast"; got 3',
    ),
}


def test_every_bad_option_is_named():
    for name, (given, error, message) in BAD.items():
        with naming(name), pytest.raises(error, match=message):
            check_options(**given)


def test_an_unknown_oracle_is_refused_before_any_work():
    with pytest.raises(SettingError, match="exact is 'bogus'"):
        check_options(exact="bogus")
