"""Blends: shares that held-out cells choose, and fits whose predictions are such blends."""

import dataclasses
import json
import math
import zipfile
from typing import NamedTuple

import numpy as np
import pytest

import intensor
import intensor.fitting.blend as blend_module
import intensor.fitting.preparation as preparation
from fitting_cases import rows_of_cells, smooth
from intensor.data.labels import Labels
from intensor.errors import ModelFileError
from intensor.fitting.blend import (
    MAX_ERROR_RATIO,
    MAX_RISE_RATIO,
    MIN_SHARE,
    blend,
    rank,
    single,
)
from intensor.fitting.fit import fit
from intensor.fitting.options import check_options
from intensor.fitting.preparation import Split
from intensor.fitting.scoring import MAE, MAPE, RMSE, SCORINGS
from intensor.report import render
from intensor.report.summary import describe_member, summarise
from naming import naming
from report.cases import make_fit

DATA, CELLS, TRUTH = smooth()


class Candidate(NamedTuple):
    """All that a blend has to know of a candidate."""

    predicted: tuple
    error: float
    cut: bool = False
    members: int = 1
    variance: float = 0.0
    plain: bool = False


def held_out(values, *, weights=None, pieces=None):
    """Return a fold that holds out some values."""
    samples = rows_of_cells(np.zeros((len(values), 2), dtype=int), (1, 1))
    return Split(samples, dataclasses.replace(samples, values=values, weights=weights), pieces)


def drawn_values(seed=0, *, n=300, folds=2, spread=0.7):
    """Return values of a skewed distribution for some folds."""
    rng = np.random.default_rng([seed, 7])
    return [np.exp(spread * rng.standard_normal(n)) for _ in range(folds)]


VALUES = drawn_values()
SPLITS = [held_out(values) for values in VALUES]


def geometric_mean(errors):
    return float(np.exp(np.mean(np.log(np.maximum(errors, 1e-300)))))


def pooled(predicted, splits=SPLITS, scoring=RMSE):
    """Return the error of predictions of all folds, averaged as in a blend."""
    return geometric_mean(
        [
            scoring.measure(split.held.values, column, split.held.weights)
            for split, column in zip(splits, predicted, strict=True)
        ]
    )


def candidate(errors, *, splits=SPLITS, scoring=RMSE, **more):
    """Return a candidate that errs on the held-out cells of each fold as said."""
    predicted = tuple(
        np.maximum(split.held.values + error, 0.0)
        for split, error in zip(splits, errors, strict=True)
    )
    return Candidate(predicted, pooled(predicted, splits, scoring), **more)


def noise(seed, scale=0.1, splits=SPLITS):
    rng = np.random.default_rng(seed)
    return [scale * rng.standard_normal(len(split.held)) for split in splits]


def blended_error(found, candidates, splits=SPLITS, scoring=RMSE):
    """Return the pooled error of the predictions that shares make."""
    columns = zip(*(one.predicted for one in candidates), strict=True)
    return pooled([found.shares @ np.array(column) for column in columns], splits, scoring)


# --- shares


@pytest.mark.parametrize("scoring", SCORINGS.values(), ids=lambda one: one.name)
def test_shares_are_never_negative_and_add_up_to_one(scoring):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        candidates = [
            candidate(noise([seed, one], rng.uniform(0.05, 0.2)), scoring=scoring, plain=one == 3)
            for one in range(5)
        ]
        shares = blend(candidates, SPLITS, scoring).shares
        assert shares.shape == (5,)
        assert (shares[shares > 0.0] >= MIN_SHARE).all()
        assert (shares >= 0.0).all()
        assert shares.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("scoring", SCORINGS.values(), ids=lambda one: one.name)
def test_candidates_that_err_in_different_cells_share_the_prediction(scoring):
    candidates = [candidate(noise(seed), scoring=scoring) for seed in range(2)]
    found = blend(candidates, SPLITS, scoring)
    assert found.shares.min() > 0.3
    assert found.error < 0.8 * min(one.error for one in candidates)
    three = [*candidates, candidate(noise(2), scoring=scoring)]
    assert blend(three, SPLITS, scoring).shares.min() > 0.2


@pytest.mark.parametrize("scoring", SCORINGS.values(), ids=lambda one: one.name)
def test_a_useless_candidate_has_no_share(scoring):
    good, bad = candidate(noise(0), scoring=scoring), candidate(noise(1, 0.3), scoring=scoring)
    assert bad.error > MAX_ERROR_RATIO * good.error
    assert blend([good, bad], SPLITS, scoring).shares.tolist() == [1.0, 0.0]
    # one that adds noise to another is useless although it is nearly as good
    worse = [one + other for one, other in zip(noise(0), noise(1, 0.03), strict=True)]
    close = candidate(worse, scoring=scoring)
    assert close.error < 1.1 * good.error
    assert blend([close, good], SPLITS, scoring).shares.tolist() == [0.0, 1.0]


def test_equal_candidates_are_not_blended():
    same = candidate(noise(0))
    assert sorted(blend([same, same], SPLITS, RMSE).shares.tolist()) == [0.0, 1.0]


def test_a_candidate_that_was_cut_off_has_no_share_beside_others():
    whole, cut = candidate(noise(0)), candidate(noise(1, 0.11), cut=True)
    assert blend([whole, cut], SPLITS, RMSE).shares.tolist() == [1.0, 0.0]
    assert blend([whole, cut._replace(cut=False)], SPLITS, RMSE).shares.min() > 0.2


@pytest.mark.parametrize("scoring", SCORINGS.values(), ids=lambda one: one.name)
def test_a_blend_is_no_worse_than_any_plain_candidate(scoring):
    for seed in range(12):
        splits = [held_out(values) for values in drawn_values(seed, spread=1.2, n=60)]
        rng = np.random.default_rng(seed)
        candidates = []
        for number in range(4):
            power, scale = rng.uniform(0.0, 1.5), rng.uniform(0.1, 0.3)
            errors = [
                scale * split.held.values**power * rng.standard_normal(60) for split in splits
            ]
            candidates.append(
                candidate(errors, splits=splits, scoring=scoring, plain=number % 2 == 1)
            )
        found = blend(candidates, splits, scoring)
        error = blended_error(found, candidates, splits, scoring)
        with naming(seed):
            assert error <= min(one.error for one in candidates if one.plain) * (1.0 + 1e-12)
            assert error <= MAX_RISE_RATIO * min(one.error for one in candidates)


def one_large_value():
    """Return two candidates whose errors no blend lowers.

    Both err in the one large value, which makes the RMSE. The first errs there a little more, and
    nowhere else, so that its roots are far better.
    """
    splits, first, second = [], [], []
    for values in drawn_values(3, spread=0.3):
        large = np.arange(values.size) == 7
        splits.append(held_out(np.where(large, 100.0, values)))
        first.append(np.where(large, 1.08, 0.0))
        second.append(np.where(large, 1.0, 0.005))
    return splits, first, second


@pytest.mark.parametrize("plain", [False, True])
def test_the_error_stays_near_the_least_whatever_the_score_says(plain):
    splits, first, second = one_large_value()
    candidates = [
        candidate(first, splits=splits),
        candidate(second, splits=splits, plain=plain),
    ]
    assert 1.05 < candidates[0].error / candidates[1].error < 1.1
    assert rank(candidates, splits, RMSE) == [0, 1]  # by its roots
    found = blend(candidates, splits, RMSE)
    limit = candidates[1].error * (1.0 if plain else MAX_RISE_RATIO)
    assert blended_error(found, candidates, splits) <= limit * (1.0 + 1e-12)


def test_small_shares_go_to_the_others(monkeypatch):
    candidates = [candidate(noise(seed, 0.1 + 0.01 * seed)) for seed in range(4)]
    before = blend(candidates, SPLITS, RMSE).shares
    monkeypatch.setattr(blend_module, "MIN_SHARE", 0.99 * before.max())
    after = blend(candidates, SPLITS, RMSE).shares
    assert np.count_nonzero(before) > np.count_nonzero(after) >= 1
    assert after.sum() == pytest.approx(1.0)


def test_a_single_candidate_has_it_all():
    only = candidate(noise(0))
    found = blend([only], SPLITS, RMSE)
    assert found.shares.tolist() == [1.0]
    assert found.error == pytest.approx(only.error, rel=1e-12)
    both = [candidate(noise(1)), only]
    chosen = single(both, SPLITS, RMSE, 1)
    assert chosen.shares.tolist() == [0.0, 1.0]
    assert chosen.error == pytest.approx(only.error, rel=1e-12)
    assert chosen.spread == pytest.approx(found.spread, rel=1e-12)


def test_perfect_candidates_are_blended_too():
    perfect = candidate([np.zeros(300)] * 2)
    found = blend([candidate(noise(0)), perfect], SPLITS, RMSE)
    assert found.shares.tolist() == [0.0, 1.0]
    assert found.error < 1e-200
    assert found.spread == 0.0


# --- ranks


def test_the_error_ranks_candidates_and_that_of_roots_those_that_are_tied():
    low = [values < np.median(values) for values in VALUES]
    small, large = [0.1 * one for one in low], [0.1 * ~one for one in low]
    for ratio, expected in ((1.01, [1, 0]), (1.5, [0, 1])):
        candidates = [candidate(small), candidate([ratio * one for one in large])]
        assert rank(candidates, SPLITS, RMSE) == expected


@pytest.mark.parametrize("scoring", SCORINGS.values(), ids=lambda one: one.name)
def test_a_small_difference_in_every_cell_is_no_tie(scoring):
    errors = [np.abs(one) for one in noise(0)]
    candidates = [
        candidate([scale * one for one in errors], scoring=scoring) for scale in (1.02, 1.0, 1.05)
    ]
    assert rank(candidates, SPLITS, scoring) == [1, 0, 2]


def test_a_blend_does_not_win_by_the_number_of_its_models_alone():
    rng = np.random.default_rng(3)
    shared = noise(20)
    spread = 0.12  # of one model, of which every candidate averages two
    candidates = []
    for _ in range(2):
        own = [spread * rng.standard_normal(300) / math.sqrt(2.0) for _ in SPLITS]
        candidates.append(candidate([one + two for one, two in zip(shared, own, strict=True)]))
    assert blend(candidates, SPLITS, RMSE).shares.min() > 0.3
    told = [one._replace(members=2, variance=spread**2) for one in candidates]
    assert blend(told, SPLITS, RMSE).shares.min() < 0.2


# --- the error that is reported


def test_the_error_of_a_fold_is_by_the_shares_that_other_folds_chose():
    """Each fold prefers one of two candidates, which is the wrong one for the other fold."""
    small, large = noise(0, 0.1), noise(1, 0.14)
    first = candidate([small[0], large[1]])
    second = candidate([large[0], small[1]])
    candidates = [first, second]
    found = blend(candidates, SPLITS, RMSE)
    fair = []
    for fold, other in ((0, 1), (1, 0)):
        alone = [
            Candidate((one.predicted[other],), one.error, plain=one.plain) for one in candidates
        ]
        shares = blend(alone, [SPLITS[other]], RMSE).shares
        predicted = shares @ np.array([one.predicted[fold] for one in candidates])
        fair.append(RMSE.measure(VALUES[fold], predicted))
    assert found.error == pytest.approx(geometric_mean(fair), rel=1e-12)
    own = blended_error(found, candidates)
    assert found.error > 1.02 * own
    # a single fold has no other one to choose by
    alone = [Candidate(one.predicted[:1], one.error) for one in candidates]
    only = blend(alone, SPLITS[:1], RMSE)
    predicted = only.shares @ np.array([one.predicted[0] for one in alone])
    assert only.error == pytest.approx(RMSE.measure(VALUES[0], predicted), rel=1e-12)


def cluster_spread(splits, predicted, scoring):
    """Return the standard error of the error, pieces being drawn at random."""
    losses, weights, names = [], [], []
    for fold, (split, column) in enumerate(zip(splits, predicted, strict=True)):
        values = split.held.values
        own = np.ones(values.size) if split.held.weights is None else split.held.weights
        pieces = np.arange(values.size) if split.pieces is None else split.pieces
        for row in range(values.size):
            if scoring is MAPE and values[row] == 0.0:
                continue
            apart = abs(values[row] - column[row])
            loss = {"rmse": apart**2, "mae": apart, "mape": apart / (values[row] or 1.0)}
            losses.append(loss[scoring.name])
            weights.append(own[row])
            names.append((fold, int(pieces[row])))
    mean = np.average(losses, weights=weights)
    total = 0.0
    for name in set(names):
        rows = [row for row, other in enumerate(names) if other == name]
        total += sum(weights[row] * (losses[row] - mean) for row in rows) ** 2
    return math.sqrt(total) / sum(weights) / mean  # as a share of the mean loss


@pytest.mark.parametrize("scoring", SCORINGS.values(), ids=lambda one: one.name)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("pieces", [1, 5])
def test_the_spread_counts_pieces(scoring, weighted, pieces):
    rng = np.random.default_rng(4)
    splits = [
        held_out(
            np.where(rng.random(60) < 0.2, 0.0, values),
            weights=rng.uniform(0.1, 3.0, 60) if weighted else None,
            pieces=None if pieces == 1 else rng.permutation(60) // pieces + 100,
        )
        for values in drawn_values(4, n=60)
    ]
    one = candidate(noise(5, splits=splits), splits=splits, scoring=scoring)
    found = single([one], splits, scoring, 0)
    assert found.error == pytest.approx(one.error, rel=1e-12)
    expected = cluster_spread(splits, one.predicted, scoring) * found.error
    assert found.spread == pytest.approx(expected / 2.0 if scoring is RMSE else expected, rel=1e-9)


@pytest.mark.parametrize("scoring", [RMSE, MAE], ids=lambda one: one.name)
@pytest.mark.parametrize("together", [1, 8])
def test_the_spread_is_that_of_the_error_over_many_draws(scoring, together):
    """Cells of a piece share an error, so that pieces are what is drawn anew."""
    rng = np.random.default_rng(6)
    errors, spreads = [], []
    for _ in range(300):
        pieces = np.arange(160) // together
        own = np.repeat(rng.standard_normal(160 // together), together)
        split = held_out(np.full(160, 10.0), pieces=pieces)
        one = candidate([0.5 * own], splits=[split], scoring=scoring)
        found = single([one], [split], scoring, 0)
        errors.append(found.error)
        spreads.append(found.spread)
    assert np.mean(spreads) == pytest.approx(np.std(errors), rel=0.15)


def test_few_of_many_cells_are_enough(monkeypatch):
    candidates = [candidate(noise(seed)) for seed in range(2)]
    every = blend(candidates, SPLITS, RMSE)
    (fold, _) = blend_module._collect(candidates, SPLITS, 100)
    assert np.array_equal(fold.values, VALUES[0][::3])
    assert np.array_equal(fold.predicted[1], candidates[1].predicted[0][::3])
    assert np.array_equal(fold.pieces, np.arange(0, 300, 3))
    monkeypatch.setattr(preparation, "MAX_KEPT_PREDICTIONS", 100)
    thin = [
        one._replace(predicted=tuple(map(preparation.thinned, one.predicted))) for one in candidates
    ]
    some = blend(thin, SPLITS, RMSE)
    assert some.error == pytest.approx(every.error, rel=0.2)
    assert some.spread > 1.3 * every.spread


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
        assert "25 % of it is" in str(found)
        assert "by partner 1" in str(found)


def test_members_are_described():
    made, coords, values = blended()
    page = render(made, coords, values)
    assert "a blend of 2 members" in page
    assert "The blend" in page
    assert describe_member(made.partners[0]).startswith("25 %: ")
    assert "in their sqrt with a baseline" in describe_member(made.partners[0])
    assert summarise(made)["partners"][0]["transform"] == "sqrt"
    assert summarise(made)["share"] == 0.75


def test_scales_are_blended_by_default_and_not_when_solutions_are_counted():
    auto = {"effort": "quick", "exact": "off", "remainder": "none"}
    found = fit(DATA.coords, DATA.values, check_options(**auto), shape=DATA.shape)
    assert found.partners
    assert found.validation.blended is not None
    assert math.fsum(one.share for one in found.members) == pytest.approx(1.0)
    assert max(one.share for one in found.members) == found.share
    assert all(len(one.model) for one in found.members)
    assert {one.validation for one in found.partners} == {None}
    assert found.verify(DATA.coords, DATA.values).ok
    single = check_options(**auto, n_solutions=1, components="graded")
    assert not fit(DATA.coords, DATA.values, single, shape=DATA.shape).partners


def test_boxes_and_components_of_one_scale_become_one_model():
    data = intensor.planted((8, 8, 8), 300, noise=0.05, rep=4)
    values = np.maximum(data.values, 0.0)
    plain = {"transform": "none", "baseline": "none", "remainder": "none", "effort": "quick"}
    found = fit(data.coords, values, check_options(exact="off", **plain), shape=data.shape)
    assert found.validation.blended is not None
    assert not found.partners
    assert len(found.model.vertices)
    assert len(found.model.components)
    assert found.share == 1.0
    assert found.model.gauge <= found.radius * (1.0 + 1e-9)
    assert found.verify(data.coords, values).ok
    proven = fit(data.coords, values, check_options(**plain), shape=data.shape)
    assert proven.bound >= found.bound
    assert proven.verify(data.coords, values).ok


def test_labels_of_a_blend_are_those_of_the_fit():
    made, *_ = blended()
    assert all(isinstance(one.labels, Labels) for one in made.members)
    assert made.partners[0].labels.modes == made.labels.modes


def test_long_columns_of_predictions_are_thinned(monkeypatch):
    monkeypatch.setattr(preparation, "MAX_KEPT_PREDICTIONS", 10)
    assert preparation.thinned(np.arange(35.0)).tolist() == list(range(0, 35, 4))
    assert preparation.thinned(np.arange(10.0)).size == 10
    assert np.array_equal(preparation.thinned(np.ones((35, 3))), np.ones((9, 3)))
    quick = check_options(effort="quick", exact="off", validation=0.3)
    found = fit(DATA.coords, DATA.values, quick, shape=DATA.shape)
    assert found.validation.held_out > 10
    assert found.verify(DATA.coords, DATA.values).ok
