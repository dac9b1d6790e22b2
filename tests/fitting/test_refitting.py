"""A refit repeats a fit on the same data, and fits other data in the same way."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

import intensor
from fitting_cases import EVERY_CELL, NOISY, WEIGHTS
from intensor.errors import (
    CoordinateError,
    LabelError,
    NegativeValueError,
    RadiusWarning,
    SettingError,
    ShapeError,
    ValuesError,
)
from intensor.fitting.fit import fit
from intensor.fitting.options import check_options
from intensor.solver.result import Status

WAYS = {
    "automatic": {"effort": "quick"},
    "another seed": {"effort": "quick", "seed": 5},
    "boxes": {"components": "boxes", "transform": "sqrt", "baseline": "none", "remainder": "none"},
    "kriged boxes": {
        "components": "boxes",
        "transform": "none",
        "baseline": "none",
        "remainder": "kriging",
    },
    "kriged averages": {
        "components": "graded",
        "transform": "none",
        "baseline": "additive",
        "remainder": "kriging",
        "effort": "quick",
    },
    "several boxes": {
        "components": "boxes",
        "transform": "none",
        "baseline": "additive",
        "remainder": "none",
        "n_solutions": 2,
    },
    "a given radius": {
        "radius": 0.8,
        "transform": "none",
        "baseline": "none",
        "remainder": "none",
        "tol": 1e-4,
    },
    "the paper's solver": {
        "version": 8,
        "radius": 0.8,
        "transform": "none",
        "baseline": "none",
        "remainder": "none",
        "rtol": 0.02,
    },
}


def fitted(values=NOISY.values, *, sample_weight=None, **options):
    return fit(
        NOISY.coords,
        values,
        check_options(**options),
        shape=NOISY.shape,
        sample_weight=sample_weight,
    )


@pytest.fixture(scope="module")
def automatic():
    return fitted(effort="quick")


def assert_same(found, other):
    assert [one.share for one in found.members] == [one.share for one in other.members]
    for one, two in zip(found.members, other.members, strict=True):
        assert one.model == two.model
        assert one.n_solutions == two.n_solutions
        assert one.result.tolerance == two.result.tolerance
    np.testing.assert_array_equal(found.predict(EVERY_CELL), other.predict(EVERY_CELL))


@pytest.mark.parametrize("options", WAYS.values(), ids=WAYS)
def test_the_same_data_gives_the_same_fit(options, tmp_path):
    found = fitted(**options)
    again = found.refit(NOISY.coords, NOISY.values)
    assert_same(again, found)
    assert again.verify(NOISY.coords, NOISY.values).ok
    found.save(tmp_path / "model.npz")
    assert_same(intensor.load(tmp_path / "model.npz").refit(NOISY.coords, NOISY.values), found)
    assert_same(again.refit(NOISY.coords, NOISY.values, threads=1), found)


def test_kriged_boxes_go_on_from_those_that_were_walked_to():
    found = fitted(**WAYS["kriged boxes"])
    (part,) = found.recipe.parts
    assert len(part.start) > 0
    without = dataclasses.replace(found.recipe, parts=(dataclasses.replace(part, start=None),))
    other = dataclasses.replace(found, recipe=without).refit(NOISY.coords, NOISY.values)
    assert np.abs(other.predict(EVERY_CELL) - found.predict(EVERY_CELL)).max() > 1e-6


def test_members_that_are_merged_are_merged_again():
    found = fitted(**WAYS["boxes"] | {"transform": "none"})
    (boxes,) = found.recipe.parts
    graded = dataclasses.replace(
        boxes,
        scale=dataclasses.replace(boxes.scale, graded=True),
        max_components=3,
        sweeps=8,
        share=0.5,
    )
    parts = (dataclasses.replace(boxes, share=0.5), graded)
    recipe = dataclasses.replace(found.recipe, parts=parts)
    merged = dataclasses.replace(found, recipe=recipe).refit(NOISY.coords, NOISY.values)
    assert merged.partners == ()
    assert len(merged.model.components) > 0
    assert len(merged.model.vertices) > 0
    assert len(merged.recipe.parts) == 2
    assert_same(merged.refit(NOISY.coords, NOISY.values), merged)


def test_weights_and_ranges_are_used():
    found = fitted(sample_weight=WEIGHTS, effort="quick", clip=(0.1, 0.4))
    again = found.refit(NOISY.coords, NOISY.values, sample_weight=WEIGHTS)
    assert_same(again, found)
    assert again.clip == (0.1, 0.4)


def test_nothing_is_chosen(automatic, monkeypatch):
    monkeypatch.setattr("intensor.fitting.fit.choose", None)
    stages = []
    again = automatic.refit(
        NOISY.coords, NOISY.values, callback=lambda now: stages.append(now.stage)
    )
    assert again.validation is None
    assert automatic.validation is not None
    assert stages
    assert {stage.split()[0] for stage in stages} == {"fit"}


def test_another_seed_is_another_fit(automatic):
    other = automatic.refit(NOISY.coords, NOISY.values, seed=1)
    assert other.recipe.seed == 1
    assert_same(other.refit(NOISY.coords, NOISY.values), other)


def test_other_values_are_fitted_in_the_same_way(automatic):
    other = automatic.refit(NOISY.coords, 0.5 * NOISY.values)
    assert other.radius == automatic.radius
    assert other.predictor.transform is automatic.predictor.transform
    assert other.verify(NOISY.coords, 0.5 * NOISY.values).ok
    assert not other.verify(NOISY.coords, NOISY.values).ok


def test_the_bound_may_be_proven_by_another_oracle():
    found = fitted(**WAYS["a given radius"], exact="off")
    proven = found.refit(NOISY.coords, NOISY.values, exact="enumeration")
    assert proven.bound > found.bound
    assert proven.recipe.exact == "enumeration"


def test_a_limit_ends_a_refit(automatic):
    stopped = automatic.refit(NOISY.coords, NOISY.values, callback=lambda _: False)
    assert stopped.status is Status.STOPPED


def test_functions_are_used_again():
    pair = (np.sqrt, np.square)
    found = fitted(transform=pair, **{"baseline": "none", "remainder": "none", "radius": 2.0})
    again = found.refit(NOISY.coords, NOISY.values)
    np.testing.assert_array_equal(again.predict(EVERY_CELL), found.predict(EVERY_CELL))
    assert again.predictor.transform is found.predictor.transform


def test_a_table_has_labels_of_its_own():
    rng = np.random.default_rng(0)
    first = pd.DataFrame(
        {
            "shop": rng.choice(list("abcd"), 60),
            "day": rng.integers(0, 5, 60),
            "sold": rng.random(60),
        }
    )
    found = intensor.fit(first, value="sold", effort="quick")
    again = found.refit(first)
    np.testing.assert_array_equal(again.predict(first), found.predict(first))
    second = first.assign(shop=first["shop"].replace({"a": "new"}))[["sold", "shop", "day"]]
    other = found.refit(second)
    assert other.labels.indices[0].tolist() == ["b", "c", "d", "new"]
    assert other.labels.modes == ("shop", "day")
    assert other.verify(second).ok


def test_long_modes_are_cut_down_again():
    coords = NOISY.coords * np.array([2000, 1, 1])
    options = {"components": "boxes", "transform": "none", "baseline": "none", "n_radii": 3}
    found = fit(coords, NOISY.values, check_options(**options))
    again = found.refit(coords, NOISY.values)
    assert again.shape == found.shape
    np.testing.assert_array_equal(again.predict(coords), found.predict(coords))


# What cannot be refitted


def test_a_fit_without_a_recipe_says_so(automatic):
    bare = dataclasses.replace(automatic, recipe=None)
    with pytest.raises(SettingError, match=r"model file of an earlier version"):
        bare.refit(NOISY.coords, NOISY.values)
    small = automatic.simplify(2, NOISY.coords, NOISY.values).fit
    with pytest.raises(SettingError, match="simplified"):
        small.refit(NOISY.coords, NOISY.values)


@pytest.mark.parametrize(
    ("data", "values", "error", "message"),
    [
        (NOISY.coords[:, :2], NOISY.values, ShapeError, "2 modes; expected the 3"),
        (NOISY.coords, -NOISY.values, NegativeValueError, "-"),
        (NOISY.coords, NOISY.values[:5], ValuesError, "5"),
        (NOISY.coords - 1, NOISY.values, CoordinateError, "-1"),
        (NOISY.coords, None, ShapeError, "2 modes; expected the 3"),
        (NOISY.coords.tolist(), None, SettingError, "without values"),
        ({"mode_0": [1], "value": [1.0]}, None, LabelError, "mode_1"),
        (NOISY.coords, "sold", SettingError, "the name of a column"),
    ],
)
def test_bad_observations_are_refused(automatic, data, values, error, message):
    with pytest.raises(error, match=message):
        automatic.refit(data, values)


@pytest.mark.parametrize(
    ("option", "value"),
    [("seed", -1), ("threads", 0), ("time_limit", 0.0), ("exact", "magic"), ("callback", 3)],
)
def test_bad_options_are_refused(automatic, option, value):
    with pytest.raises(SettingError, match=option):
        automatic.refit(NOISY.coords, NOISY.values, **{option: value})


def test_a_kriged_fit_of_a_sparse_tensor_is_refused():
    found = fitted(**WAYS["kriged boxes"])
    with pytest.raises(SettingError, match="fit these data anew"):
        found.refit(NOISY.coords * 200, NOISY.values)


def test_values_above_the_radius_are_warned_of():
    found = fitted(**WAYS["boxes"])
    with pytest.warns(RadiusWarning, match="above the radius"):
        found.refit(NOISY.coords, 100.0 * NOISY.values)
