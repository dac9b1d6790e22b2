"""Blends: shares that held-out cells choose, and fits whose predictions are such blends."""

import dataclasses
import json
import math
import zipfile

import numpy as np
import pytest

import intensor
import intensor.fitting.preparation as preparation
from fitting_cases import options_of, samples_of, smooth
from intensor.data.labels import Labels
from intensor.errors import ModelFileError
from intensor.fitting.blend import MAX_ERROR_RATIO, blend_walks, rank_walks
from intensor.fitting.fit import fit
from intensor.fitting.options import check_options
from intensor.fitting.path import GRADED_COLUMNS, PATH_COLUMNS, RadiusPath, Walk
from intensor.fitting.preparation import Split
from intensor.fitting.scoring import MAPE, RMSE
from intensor.report import render
from intensor.report.summary import describe_member, summarise
from report.cases import make_fit

DATA, CELLS, TRUTH = smooth()
SPLITS = [
    Split(
        samples_of(dataclasses.replace(DATA, coords=DATA.coords[~held], values=DATA.values[~held])),
        samples_of(dataclasses.replace(DATA, coords=DATA.coords[held], values=DATA.values[held])),
    )
    for held in (np.arange(len(DATA.values)) % 3 == part for part in range(2))
]


def walk_with(errors, *, scale=1.0, cut=False, scoring=RMSE):
    """Return a walk that errs on the held-out cells of each fold as said."""
    predicted = tuple(
        np.maximum(split.held.values + scale * error, 0.0)
        for split, error in zip(SPLITS, errors, strict=True)
    )
    measured = [
        scoring.measure(split.held.values, values)
        for split, values in zip(SPLITS, predicted, strict=True)
    ]
    columns = {name: np.ones(1) for name in (*PATH_COLUMNS, *GRADED_COLUMNS)}
    columns |= {"kriged": np.zeros(1, dtype=bool), "errors": np.array([np.mean(measured)])}
    path = RadiusPath(transform="none", baseline="none", metric=scoring.name, **columns)
    return Walk(options_of().scales[0], path, (), predicted, cut)


def noise(seed):
    rng = np.random.default_rng(seed)
    return [0.1 * rng.standard_normal(len(split.held)) for split in SPLITS]


def test_walks_that_err_in_different_cells_share_the_prediction():
    walks = [walk_with(noise(seed)) for seed in range(3)]
    found = blend_walks(walks, SPLITS, RMSE)
    assert found.shares.sum() == pytest.approx(1.0)
    assert found.shares.min() > 0.2
    assert found.error < 0.7 * min(one.path.error for one in walks)


def test_a_bad_walk_has_no_share():
    walks = [walk_with(noise(0)), walk_with(noise(1), scale=3.0)]
    assert walks[1].path.error > MAX_ERROR_RATIO * walks[0].path.error
    assert blend_walks(walks, SPLITS, RMSE).shares.tolist() == [1.0, 0.0]


def test_equal_walks_are_not_blended():
    same = walk_with(noise(0))
    assert sorted(blend_walks([same, same], SPLITS, RMSE).shares.tolist()) == [0.0, 1.0]


@pytest.mark.parametrize("which", [0, 1])
def test_a_walk_that_was_cut_is_not_blended(which):
    walks = [walk_with(noise(seed), cut=seed == which, scale=1.0 + 0.1 * seed) for seed in range(2)]
    assert blend_walks(walks, SPLITS, RMSE).shares.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("scoring", [RMSE, MAPE], ids=lambda one: one.name)
def test_the_blend_is_never_worse_than_the_best_walk(scoring):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        walks = [
            walk_with(noise(10 * seed + one), scale=rng.uniform(0.9, 1.1), scoring=scoring)
            for one in range(4)
        ]
        found = blend_walks(walks, SPLITS, scoring)
        best = walks[rank_walks(walks, SPLITS, scoring)[0]]
        assert found.error <= best.path.error * (1.0 + 1e-9)


def test_the_error_ranks_walks_and_that_of_roots_those_that_are_tied():
    low = [split.held.values < np.median(split.held.values) for split in SPLITS]
    small, large = [0.1 * one for one in low], [0.1 * ~one for one in low]
    for ratio, expected in ((1.01, [1, 0]), (1.5, [0, 1])):
        walks = [walk_with(small), walk_with(large, scale=ratio)]
        assert rank_walks(walks, SPLITS, RMSE) == expected


def test_a_small_difference_in_every_cell_is_no_tie():
    errors = noise(0)
    walks = [walk_with([scale * np.abs(one) for one in errors]) for scale in (1.05, 1.0)]
    assert rank_walks(walks, SPLITS, MAPE) == [1, 0]
    assert rank_walks(walks, SPLITS, RMSE) == [1, 0]


def test_a_blend_does_not_win_by_the_number_of_its_models_alone():
    rng = np.random.default_rng(3)
    shared = noise(20)
    spread = 0.12  # of one model, of which every walk averages two
    walks = []
    for _ in range(2):
        own = [spread * rng.standard_normal(len(split.held)) / math.sqrt(2.0) for split in SPLITS]
        walk = walk_with([one + other for one, other in zip(shared, own, strict=True)])
        walks.append(walk)
    assert blend_walks(walks, SPLITS, RMSE).shares.min() > 0.3
    told = [one._replace(members=2, variance=spread**2) for one in walks]
    assert blend_walks(told, SPLITS, RMSE).shares.min() < 0.2


# --- fits


def blended(**options):
    """Return a fit with a partner, with its coordinates and values."""
    first, coords, values = make_fit(**options)
    partner, _, _ = make_fit(radius=60.0, transform="sqrt", baseline="additive", max_iterations=50)
    partners = (dataclasses.replace(partner, share=0.25),)
    return dataclasses.replace(first, share=0.75, partners=partners), coords, values


def test_predictions_are_those_of_the_members_by_their_shares():
    made, coords, _ = blended()
    cells = np.concatenate((coords, [[0, -1, 2]]))
    first, second = (one.predictor.predict(cells, unseen="mean") for one in made.members)
    np.testing.assert_allclose(
        made.predict(cells, unseen="mean"), 0.75 * first + 0.25 * second, rtol=1e-13
    )
    assert repr(made).endswith(", 1 partner>")


def test_every_member_is_verified():
    made, coords, values = blended()
    report = made.verify(coords, values)
    assert report.ok, report
    names = [check.name for check in report.checks]
    assert "shares" in names
    assert sum(name.startswith("partner 1: ") for name in names) > 4
    partner = made.partners[0]
    lying = dataclasses.replace(partner.result, objective=partner.objective / 2.0)
    for broken in (
        dataclasses.replace(made, share=0.8),
        dataclasses.replace(
            made, share=1.25, partners=(dataclasses.replace(partner, share=-0.25),)
        ),
        dataclasses.replace(made, partners=(dataclasses.replace(partner, result=lying),)),
    ):
        assert not broken.verify(coords, values).ok


def test_a_blend_comes_back_from_a_file(tmp_path):
    made, coords, values = blended()
    made.save(tmp_path / "model.npz")
    back = intensor.load(tmp_path / "model.npz")
    assert np.array_equal(back.predict(coords), made.predict(coords))
    assert [one.share for one in back.members] == [0.75, 0.25]
    assert back.verify(coords, values).ok
    assert summarise(back) == summarise(made)


@pytest.mark.parametrize(
    "damage",
    [
        lambda header: header.update(share=0.8),
        lambda header: header.update(share=-0.75),
        lambda header: header["partners"][0].update(share=float("nan")),
        lambda header: header["partners"].pop(),
        lambda header: header["partners"][0].update(radius=-1.0),
        lambda header: header.update(partners=3),
    ],
)
def test_a_damaged_blend_is_refused(tmp_path, damage):
    made, *_ = blended()
    made.save(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz") as file:
        arrays = {name: file[name] for name in file.files}
    header = json.loads(arrays["header"].tobytes())
    damage(header)
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(tmp_path / "damaged.npz", **arrays)
    assert zipfile.is_zipfile(tmp_path / "damaged.npz")
    with pytest.raises(ModelFileError):
        intensor.load(tmp_path / "damaged.npz")


def test_an_explanation_adds_the_members_up():
    made, coords, _ = blended()
    for cell, predicted in zip(coords[:5], made.predict(coords[:5]), strict=True):
        found = made.explain(cell)
        assert found.prediction == pytest.approx(predicted, rel=1e-12)
        own = [one.own_prediction for one in (found, *found.partners)]
        assert found.prediction == pytest.approx(0.75 * own[0] + 0.25 * own[1], rel=1e-14)
        assert "25% of it is" in str(found)
        assert "by partner 1" in str(found)


def test_members_are_described():
    made, coords, values = blended()
    page = render(made, coords, values)
    assert "a blend of 2 fits" in page
    assert "The blend" in page
    assert describe_member(made.partners[0]).startswith("25%: ")
    assert "in their sqrt with a baseline" in describe_member(made.partners[0])
    assert summarise(made)["partners"][0]["transform"] == "sqrt"
    assert summarise(made)["share"] == 0.75


def test_scales_are_blended_by_default_and_not_when_solutions_are_counted():
    auto = {"transform": "auto", "baseline": "auto", "exact": "off"}
    found = fit(DATA.coords, DATA.values, check_options(**auto), shape=DATA.shape)
    assert found.partners
    assert found.validation.blended is not None
    assert math.fsum(one.share for one in found.members) == pytest.approx(1.0)
    assert max(one.share for one in found.members) == found.share
    assert {one.validation for one in found.partners} == {None}
    assert found.verify(DATA.coords, DATA.values).ok
    single = check_options(**auto, n_solutions=1, components="graded")
    assert not fit(DATA.coords, DATA.values, single, shape=DATA.shape).partners


def test_boxes_and_components_of_one_scale_become_one_model():
    data = intensor.planted((8, 8, 8), 300, noise=0.05, rep=4)
    values = np.maximum(data.values, 0.0)
    found = fit(data.coords, values, check_options(exact="off"), shape=data.shape)
    assert found.validation.blended is not None
    assert not found.partners
    assert len(found.model.vertices)
    assert len(found.model.components)
    assert found.share == 1.0
    assert found.model.gauge <= found.radius * (1.0 + 1e-9)
    assert found.verify(data.coords, values).ok
    proven = fit(data.coords, values, check_options(), shape=data.shape)
    assert proven.bound >= found.bound
    assert proven.verify(data.coords, values).ok


def test_labels_of_a_blend_are_those_of_the_fit():
    made, *_ = blended()
    assert all(isinstance(one.labels, Labels) for one in made.members)
    assert made.partners[0].labels.modes == made.labels.modes


def test_long_columns_of_predictions_are_thinned(monkeypatch):
    found = fit(DATA.coords, DATA.values, check_options(exact="off"), shape=DATA.shape)
    monkeypatch.setattr(preparation, "MAX_KEPT_PREDICTIONS", 10)
    assert preparation.thinned(np.arange(35.0)).tolist() == list(range(0, 35, 4))
    assert preparation.thinned(np.arange(10.0)).size == 10
    auto = check_options(transform="auto", exact="off")
    other = fit(DATA.coords, DATA.values, auto, shape=DATA.shape)
    assert other.validation.held_out == found.validation.held_out > 10
    assert other.verify(DATA.coords, DATA.values).ok
