"""Members without terms: verified, saved, explained, and left out where terms were asked for."""

import dataclasses
import functools
import math
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import intensor
from fitting_cases import problem, samples_of, smooth
from intensor.data.labels import number_labels
from intensor.fitting.fit import fit
from intensor.fitting.journal import NO_JOURNAL
from intensor.fitting.options import check_options
from intensor.fitting.references import Kind, Reference
from intensor.fitting.session import Session
from intensor.fitting.without_terms import fit_references
from intensor.model.predictor import INTERPOLATION, SMOOTH_FIELD
from intensor.model.transform import TRANSFORMS
from intensor.runtime.budget import Budget
from intensor.solver.result import Status


def rough_field(shape=(20, 8, 5), *, share=0.6, seed=0):
    """Return some cells of a tensor that wanders along the first mode: terms predict it badly."""
    rng = np.random.default_rng(seed)
    steps = rng.standard_normal(shape)
    truth = 8.0 + np.cumsum(steps, axis=0) / 2.0
    known = rng.random(shape) < share
    values = np.maximum(truth[known], 0.0)
    return problem(shape, np.argwhere(known), values)


DATA = rough_field()
CELLS = np.argwhere(np.ones(DATA.shape))
QUICK = {"effort": "quick", "exact": "off", "threads": 1, "validation": 0.2}


def fitted(data=DATA, **options):
    return fit(data.coords, data.values, check_options(**QUICK | options), shape=data.shape)


@functools.cache
def blended():
    """Return a fit with references among its members."""
    return fitted()


def without_terms(found):
    return [one for one in found.members if one.status is Status.NO_TERMS]


# --- whole fits


def test_references_with_a_share_are_partners_of_a_model_of_terms():
    found = blended()
    partners = without_terms(found)
    assert partners
    assert found.status is not Status.NO_TERMS
    assert all(len(one.model) == 0 for one in partners)
    assert math.fsum(one.share for one in found.members) == pytest.approx(1.0, abs=1e-12)
    assert min(one.share for one in found.members) >= 0.0
    shares = {one.name: one.share for one in found.validation.references}
    assert sorted(one.share for one in partners) == pytest.approx(
        sorted(share for share in shares.values() if share > 0.0)
    )
    assert found.validation.expected_error == found.validation.error
    assert 0.0 < found.validation.spread < found.validation.error
    mean = next(one for one in found.validation.references if one.name == "mean")
    assert mean.error == found.validation.error_of_mean
    assert found.validation.error < mean.error


def test_predictions_are_those_of_the_members_by_their_shares():
    found = blended()
    expected = sum(one.share * one.predictor.predict(CELLS) for one in found.members)
    np.testing.assert_allclose(found.predict(CELLS), expected, rtol=1e-12)


def test_a_fit_with_references_is_verified():
    found = blended()
    report = found.verify(DATA.coords, DATA.values)
    assert report.ok, report
    number = found.members.index(without_terms(found)[0])
    names = [check.name for check in report.checks]
    assert any(name.startswith(f"partner {number}: ") for name in names)
    partner = found.partners[number - 1]
    lying = dataclasses.replace(partner.result, objective=0.5 * partner.objective)
    partners = tuple(
        dataclasses.replace(one, result=lying) if one is partner else one for one in found.partners
    )
    assert not dataclasses.replace(found, partners=partners).verify(DATA.coords, DATA.values).ok


def test_a_fit_with_references_comes_back_from_a_file(tmp_path):
    found = blended()
    found.save(tmp_path / "model.npz")
    again = intensor.load(tmp_path / "model.npz")
    assert np.array_equal(again.predict(CELLS), found.predict(CELLS))
    assert [one.status for one in again.members] == [one.status for one in found.members]
    assert [one.share for one in again.members] == [one.share for one in found.members]
    methods = [one.predictor.remainder and one.predictor.remainder.method for one in found.members]
    assert methods == [
        one.predictor.remainder and one.predictor.remainder.method for one in again.members
    ]
    assert again.validation.references == found.validation.references
    assert (again.validation.error, again.validation.spread) == (
        found.validation.error,
        found.validation.spread,
    )
    assert again.verify(DATA.coords, DATA.values).ok


def test_an_explanation_adds_up_to_the_prediction():
    found = blended()
    for cell, predicted in zip(CELLS[::150], found.predict(CELLS[::150]), strict=True):
        said = found.explain(cell)
        assert said.prediction == pytest.approx(predicted, rel=1e-12)
        parts = zip((said, *said.partners), found.members, strict=True)
        assert sum(one.share * part.own_prediction for part, one in parts) == pytest.approx(
            predicted, rel=1e-12
        )
        for part, one in zip((said, *said.partners), found.members, strict=True):
            assert part.own_prediction == pytest.approx(
                float(one.predictor.predict(cell[np.newaxis])[0]), rel=1e-12
            )


def test_unseen_indices_are_predicted_by_all_members():
    found = blended()
    strange = np.array([[0, -1, 2], [-1, -1, -1], [3, 100, 0]])
    predicted = found.predict(strange, unseen="mean")
    assert np.isfinite(predicted).all()
    assert predicted[1] == pytest.approx(DATA.values.mean(), rel=0.2)


@pytest.mark.parametrize(
    "options", [{"remainder": "none"}, {"n_solutions": 2}, {"remainder": "kriging"}], ids=str
)
def test_no_reference_has_a_share_where_terms_were_asked_for(options):
    found = fitted(transform="none", baseline="none", components="graded", **options)
    assert not without_terms(found)
    assert len(found.model)
    assert found.share > 0.0
    references = found.validation.references
    assert {one.name for one in references} >= {"mean", "main effects"}
    assert {one.share for one in references} == {0.0}
    assert found.verify(DATA.coords, DATA.values).ok


def test_terms_have_it_all_where_they_predict_best():
    data, cells, truth = smooth((12, 11, 10), noise=0.1)
    found = fitted(data, transform="none", baseline="none", components="graded")
    assert found.share > 0.5
    assert len(found.model)
    error = np.sqrt(np.mean((found.predict(cells) - truth) ** 2))
    assert error < 0.2 * truth.std()


@pytest.mark.parametrize("seconds", [1e-3, 0.3])
def test_a_short_time_still_leaves_a_prediction(seconds):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", intensor.errors.IntensorWarning)
        found = fitted(time_limit=seconds)
    predicted = found.predict(CELLS)
    assert np.isfinite(predicted).all()
    assert math.fsum(one.share for one in found.members) == pytest.approx(1.0)
    assert found.status is not Status.NO_TERMS
    assert found.verify(DATA.coords, DATA.values).ok


# --- references fitted to all observations


def session_of(data=DATA, *, weights=None, budget=None):
    return Session(
        samples_of(data, weights).in_order(),
        check_options(**QUICK),
        budget=budget or Budget(),
        journal=NO_JOURNAL,
    )


EVERY = [
    Reference(kind=Kind.MEAN),
    Reference(kind=Kind.MAIN_EFFECTS, transform=TRANSFORMS["log1p"]),
    Reference(kind=Kind.INTERPOLATION, mode=0),
    Reference(kind=Kind.FIELD, transform=TRANSFORMS["sqrt"], rounds=1),
]


@pytest.mark.parametrize("weighted", [False, True])
def test_every_kind_of_reference_becomes_a_verified_fit(weighted):
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.5, 2.0, len(DATA.values)) if weighted else None
    labels = number_labels(DATA.shape)
    given = [(one, 0.1 * number) for number, one in enumerate(EVERY, start=1)]
    found = fit_references(session_of(weights=weights), given, labels)
    assert [one.share for one in found] == [share for _, share in given]
    methods = [one.predictor.remainder and one.predictor.remainder.method for one in found]
    assert methods == [None, None, INTERPOLATION, SMOOTH_FIELD]
    for one, (reference, _) in zip(found, given, strict=True):
        assert one.status is Status.NO_TERMS
        assert one.n == len(DATA.values)
        assert one.predictor.transform is reference.transform
        fitted_values = reference.transform.apply(DATA.values)
        left = fitted_values - one.predictor.baseline.evaluate(tuple(DATA.coords.T))
        assert one.objective == pytest.approx(np.average(left**2, weights=weights), rel=1e-12)
        assert one.bound <= one.objective
        report = one.verify(DATA.coords, DATA.values, sample_weight=weights)
        assert report.ok, report
    np.testing.assert_allclose(found[2].predict(DATA.coords), DATA.values, rtol=1e-9, atol=1e-9)


def test_references_that_there_is_no_time_for_are_left_out():
    given = [(one, 0.25) for one in EVERY]
    found = fit_references(session_of(budget=Budget(0.0)), given, number_labels(DATA.shape))
    kinds = [one.predictor.remainder and one.predictor.remainder.method for one in found]
    assert SMOOTH_FIELD not in kinds
    assert len(found) == 3
    assert fit_references(session_of(), [], number_labels(DATA.shape)) == []


def test_fields_are_rough_where_time_is_limited(monkeypatch):
    seen = []

    def note(reference, prepared, **given):
        seen.append(given["rough"])

    monkeypatch.setattr("intensor.fitting.without_terms.make_predictor", note)
    for budget in (Budget(), Budget(100.0)):
        session = session_of(budget=budget)
        assert fit_references(session, [(EVERY[0], 1.0)], SimpleNamespace()) == []
    assert seen == [False, True]
