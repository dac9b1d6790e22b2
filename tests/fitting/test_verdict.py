"""How good a fit is, in words."""

import dataclasses
import math

import pytest

from intensor.fitting.verdict import (
    describe_coverage,
    describe_error,
    find_unbeaten,
    is_no_better,
    judge,
    kind_of,
    list_references,
    percent,
)
from report.cases import blended, make_fit, with_errors, without_terms

NAMES = ("mean", "main effects", "interpolation along mode 1", "smooth field")


@pytest.fixture(scope="module")
def made():
    return make_fit(radius="auto", transform="sqrt", n_solutions=2)[0]


def errors(made, error, *others, **changes):
    """Return a validation with an error, and those of the first references."""
    rows = [(name, one, 0.0) for name, one in zip(NAMES, others, strict=False)]
    return with_errors(made, error, rows, **changes).validation


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"spread": 1.14, "held_out": 6333.0, "folds": 2}, "RMSE 26.9 +- 1.1 on 6333 held-out "
         "observations in each of 2 folds"),
        ({"spread": None, "held_out": 1.0, "folds": 1}, "RMSE 26.9 on 1 held-out observation"),
        ({"spread": 0.0, "held_out": 12.0, "folds": 1}, "RMSE 26.9 on 12 held-out observations"),
        ({"metric": "pinball", "spread": None, "held_out": 12.0, "folds": 1}, "pinball 26.9 on 12 "
         "held-out observations"),
    ],
)  # fmt: skip
def test_an_error_has_its_spread_and_its_cells(made, changes, said):
    assert describe_error(errors(made, 26.9, 30.0, **changes)) == said


def test_an_error_that_is_not_finite_is_a_dash(made):
    found = errors(made, math.inf, 30.0, spread=None, held_out=3.0, folds=1)
    assert describe_error(found) == "RMSE - on 3 held-out observations"


@pytest.mark.parametrize(
    ("error", "others", "unbeaten", "noted"),
    [
        (1.0, (4.0, 3.0, 2.0, 0.5), [], False),  # a smooth field is no simple predictor
        (2.5, (4.0, 3.0, 2.0, 0.5), [NAMES[2]], False),
        (3.0, (4.0, 3.0, 3.5, 5.0), [NAMES[1]], True),  # equal is no better
        (5.0, (4.0, 3.0, 6.0, 5.0), [*NAMES[:2]], True),
        (5.0, (4.0,), ["mean"], True),
    ],
)
def test_simple_predictors_that_are_as_good_are_found(made, error, others, unbeaten, noted):
    found = errors(made, error, *others)
    assert find_unbeaten(found) == unbeaten
    assert is_no_better(found) is noted
    sentence = judge(found)
    assert sentence.startswith("The fit predicts" if unbeaten else "It is no worse")
    for name in unbeaten or NAMES[: len(others)][:3]:
        assert name in sentence
    assert "smooth field" not in sentence


def test_files_that_know_the_mean_alone_are_compared_with_it(made):
    old = dataclasses.replace(made.validation, references=(), error=2.0, error_of_mean=3.0)
    assert [tuple(one) for one in list_references(old)] == [("mean", 3.0, 0.0)]
    assert judge(old) == "It is no worse on held-out cells than the mean."
    unknown = dataclasses.replace(old, error_of_mean=None)
    assert list_references(unknown) == ()
    assert judge(unknown) == ""
    assert not is_no_better(unknown)


def test_a_certificate_covers_models_of_terms():
    fit, *_ = make_fit()
    assert describe_coverage(fit) == ""
    kriged, *_ = make_fit(remainder="kriging")
    assert describe_coverage(kriged) == (
        "The certificate is about the model of terms, before kriging is added."
    )
    assert describe_coverage(blended(kriged, without_terms(fit, 0.35))) == (
        "The certificate is about the model of terms, before kriging is added, which has 65 % of "
        "the prediction; the mean has 35 % and needs none."
    )
    other = dataclasses.replace(fit, share=0.25)
    assert describe_coverage(blended(fit, other)) == (
        "Each of 2 models of terms has a certificate of its own; together they have 100 % of the "
        "prediction."
    )


def test_an_unused_model_of_terms_is_kept_to_be_read():
    fit, *_ = make_fit()
    assert describe_coverage(blended(fit, without_terms(fit, 1.0, method="interpolation"))) == (
        "The model of terms has no share in the prediction; it is kept to be read, and the "
        "certificate is about it alone."
    )


def test_members_without_terms_have_names():
    fit, *_ = make_fit(baseline="additive", radius=100.0, remainder="none")
    mean = without_terms(fit, 0.5)
    assert kind_of(mean) == "the mean"
    effects = dataclasses.replace(mean.predictor, baseline=fit.predictor.baseline)
    effects = dataclasses.replace(mean, predictor=effects)
    assert kind_of(effects) == "main effects"
    assert describe_coverage(blended(fit, effects)).endswith(
        "main effects have 50 % and need none."
    )
    assert kind_of(without_terms(fit, 0.5, method="smooth field")) == "a smooth field"
    assert kind_of(without_terms(fit, 0.5, method="interpolation")) == "interpolation"


def test_small_shares_are_not_nothing():
    assert [percent(one) for one in (0.0, 0.001, 0.05, 0.652, 1.0)] == [
        "0 %",
        "less than 1 %",
        "5 %",
        "65 %",
        "100 %",
    ]


def test_the_repr_of_a_validation_has_the_expected_error(made):
    found = errors(made, 26.9, 86.2, spread=1.14, held_out=6333.0, folds=2)
    text = "<Validation: rmse 26.9 +- 1.1, of the mean 86.2, 6333 held out, folds: 2, paths: "
    assert repr(found).startswith(text)
