"""Scales as candidates: scouted on a sample or in a short time, and the best walked in full."""

from dataclasses import replace

import numpy as np
import pytest

from fitting_cases import CLEAN, DENSE, NOISY, checked, error_of, fitted, noisy_box, smooth
from intensor.fitting.blend import MAX_FIRST_RATIO
from intensor.fitting.options import Effort

SCOUT_500 = Effort(scouting_rows=500)


def additive_values(data):
    rng = np.random.default_rng(5)
    values = np.full(len(data.coords), 1.0)
    for mode, length in enumerate(data.shape):
        values += rng.uniform(size=length)[data.coords[:, mode]]
    return values


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ((4.0 * DENSE.values) ** 2, "sqrt"),
        (np.expm1(8.0 * DENSE.values), "log1p"),
        (DENSE.values, "none"),
    ],
    ids=["squares", "exponentials", "plain"],
)
def test_auto_takes_the_scale_that_the_values_were_made_in(values, name):
    found = fitted(DENSE, values=values, transform="auto")
    assert found.predictor.transform.name == name == found.path.transform
    paths = found.validation.paths
    assert [path.transform for path in paths] == ["none", "sqrt", "log1p"]
    assert found.path.error == min(path.error for path in paths)
    checked(found, DENSE, values)


@pytest.mark.parametrize(("additive", "name"), [(True, "additive"), (False, "none")])
def test_auto_takes_main_effects_if_there_are_some(additive, name):
    values = additive_values(CLEAN) if additive else CLEAN.values
    found = fitted(CLEAN, values=values, baseline="auto")
    assert found.path.baseline == name
    assert (found.predictor.baseline is not None) == found.model.signed == additive
    assert found.path.error == min(path.error for path in found.validation.paths)
    assert found.path.error < max(path.error for path in found.validation.paths)
    checked(found, CLEAN, values)


def test_a_given_radius_is_in_the_units_of_the_data():
    found = fitted(CLEAN, radius=1.0, transform="auto", validation=3)
    assert [path.radii.tolist() for path in found.validation.paths] == [[1.0]]
    assert found.predictor.transform.name == "none"
    assert found.radius == 1.0


@pytest.mark.parametrize("folds", [0.1, pytest.param(3, marks=pytest.mark.slow)])
def test_scales_of_many_observations_are_chosen_on_a_sample(folds):
    values = (4.0 * DENSE.values) ** 2
    found = fitted(DENSE, values=values, transform="auto", validation=folds, effort=SCOUT_500)
    paths = found.validation.paths
    assert [path.transform for path in paths] == ["none", "sqrt", "log1p", "sqrt"]
    assert [path.sampled for path in paths] == [True, True, True, False]
    assert min(path.error for path in paths[:3]) == paths[1].error
    assert found.validation.chosen == 3
    assert found.path is paths[3]
    assert found.radius == paths[3].radius
    assert found.predictor.transform.name == "sqrt"
    alone = fitted(DENSE, values=values, transform="sqrt", validation=folds, effort=SCOUT_500)
    assert found.path.errors.tolist() == alone.path.errors.tolist()
    checked(found, DENSE, values)


def test_a_second_scale_is_walked_if_it_is_not_clearly_worse():
    options = {"values": (4.0 * DENSE.values) ** 2, "transform": "auto"}
    lenient, strict = (replace(SCOUT_500, max_runner_up_ratio=ratio) for ratio in (100.0, 1.0))
    found = fitted(DENSE, effort=lenient, **options)
    paths = found.validation.paths
    assert [path.sampled for path in paths] == [True, True, True, False, False]
    foremost = sorted(paths[:3], key=lambda path: path.error)[:2]
    assert [path.transform for path in paths[3:]] == [path.transform for path in foremost]
    assert found.path.error == min(path.error for path in paths[3:])
    assert len(fitted(DENSE, effort=strict, **options).validation.paths) == 4


def test_a_single_scale_needs_no_sample():
    found = fitted(effort=Effort(scouting_rows=50))
    assert [path.sampled for path in found.validation.paths] == [False]


def test_boxes_fitted_to_a_sample_are_walked_again_if_kriging_does_not_help():
    data = noisy_box()
    found = fitted(data, remainder="auto", seed=1, n_radii=3, effort=Effort(max_boxed_rows=100))
    plain = fitted(data, seed=1, n_radii=3)
    assert found.path.remainder == "none"
    assert found.path.radii.tolist() == plain.path.radii.tolist()
    assert found.path.errors.tolist() == plain.path.errors.tolist()


@pytest.mark.needs_jit
@pytest.mark.slow
@pytest.mark.parametrize("remainder", ["none", "auto"])
def test_six_scales_share_the_time(remainder):
    data, cells, truth = smooth((14, 14, 14))
    options = {"transform": "auto", "baseline": "auto", "remainder": remainder}
    fitted(NOISY, n_radii=1, **options)  # so that nothing is compiled below
    found = fitted(data, time_limit=2.0, rtol=1e-9, **options)
    paths = found.validation.paths
    names = [(path.transform, path.baseline) for path in paths]
    assert len(set(names)) == 6
    if len(paths) > 6:  # all were scouted, and the best of them walked in full
        n_walked = len(paths) - 6
        assert [path.sampled for path in paths] == [True] * 6 + [False] * n_walked
        scouted = dict(zip(names[:6], (path.error for path in paths[:6]), strict=True))
        first, *others = (scouted[name] for name in names[6:])
        assert first <= MAX_FIRST_RATIO * min(scouted.values())
        assert all(error <= Effort().max_runner_up_ratio * first for error in others)
        assert len(set(names[6:])) == n_walked
        assert found.validation.chosen >= 6
    assert (found.path.remainder == "kriging") == (found.predictor.remainder is not None)
    assert error_of(found, cells, truth) < 0.5 * truth.std()
    checked(found, data)


def test_scouting_that_finishes_is_not_repeated():
    found = fitted(n_radii=2, transform="auto", baseline="auto", time_limit=60.0)
    alone = fitted(n_radii=2, transform="auto", baseline="auto")
    paths = found.validation.paths
    assert [path.sampled for path in paths] == [False] * 6
    for path, other in zip(paths, alone.validation.paths, strict=True):
        assert np.array_equal(path.errors, other.errors)
    assert found.validation.chosen == alone.validation.chosen
