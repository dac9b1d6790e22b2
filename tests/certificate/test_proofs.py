"""Feasibility and bounds, check by check; test_forgeries has forged results."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import intensor
import zoo
from intensor.certificate.proofs import (
    MAX_WEIGHT_SUM,
    Precision,
    as_number,
    check_bound,
    feasibility,
    readable,
)
from intensor.certificate.recount import Point, group
from intensor.model.model import build_model

DATA = zoo.noisy((4, 3, 3), 60, rep=3)


@pytest.fixture(scope="module")
def result():
    return intensor.solve(DATA.coords, DATA.values, shape=DATA.shape, radius=1.0, rtol=1e-6)


@pytest.fixture(scope="module")
def grouped():
    return group(DATA.coords, DATA.values, np.ones(60))


@pytest.mark.parametrize(
    ("claim", "number"),
    [(1, 1.0), (2.5, 2.5), (Fraction(1, 4), 0.25), (10**400, math.inf), (-(10**400), -math.inf)],
)
def test_real_numbers_are_taken_as_they_are(claim, number):
    assert as_number(claim) == number


@pytest.mark.parametrize("claim", [None, "1.0", True, 1j, [1.0]])
def test_what_is_not_a_real_number_is_none(claim):
    assert math.isnan(as_number(claim))


def failed(model):
    return {check.name for check in feasibility("model", model) if not check.passed}


def test_what_makes_a_model_infeasible_is_named(result):
    model = result.model
    assert failed(model) == set()
    assert failed(replace(model, weights=-model.weights)) == {"model weights"}
    assert failed(replace(model, radius=0.5 * model.weights.sum())) == {"model radius"}
    assert failed(replace(model, weights=model.weights[:-1])) == {"model vertices"}
    assert "model weights" in failed(replace(model, weights=np.nan * model.weights))
    assert failed(replace(model, radius=math.inf)) == {"model radius"}


def test_models_are_readable_up_to_weights_whose_squares_overflow(result):
    model = result.model
    assert readable(replace(model, weights=1e9 * model.weights))
    assert not readable(replace(model, weights=1e10 * MAX_WEIGHT_SUM * model.weights))


def outcome(result, grouped, *, effort=1e9, ceiling=None):
    precision = Precision(grouped, Point(result.model, grouped))
    ceiling = result.objective if ceiling is None else ceiling
    return check_bound(result, grouped, precision, ceiling=ceiling, effort=effort)


def test_a_proven_bound_is_proven_again(result, grouped):
    bound, check = outcome(result, grouped)
    assert check.passed
    assert result.bound * (1.0 - 1e-9) <= bound <= result.objective
    assert "trying every vertex" in check.message


@pytest.mark.parametrize(
    ("changes", "options", "passed", "message"),
    [
        ({"bound": 0.0}, {}, True, "variance within cells"),
        ({"bound": math.nan}, {}, False, "is no number"),
        ({"bound": 1.0}, {}, False, "above the objective of a feasible model"),
        ({"witness": None}, {}, False, "without a witness"),
        ({"witness": "me"}, {}, False, "the witness is a str"),
        ({}, {"effort": 0.0}, None, "raise effort to allow more"),
    ],
)
def test_claims_that_cannot_be_proven_say_why(result, grouped, changes, options, passed, message):
    _, check = outcome(replace(result, **changes), grouped, **options)
    assert check.passed is passed
    assert message in check.message


def test_a_witness_of_another_polytope_proves_nothing(result, grouped):
    flags = np.ones((1, 8), dtype=np.uint8)
    other = build_model(flags, np.ones(1), shape=(4, 4), radius=1.0)
    for witness, message in (
        (other, "has shape"),
        (replace(result.witness, radius=2.0), "has radius 2.0"),
        (replace(result.witness, weights=9.0 * result.witness.weights), "not near the polytope"),
    ):
        _, check = outcome(replace(result, witness=witness), grouped)
        assert check.passed is False
        assert message in check.message
