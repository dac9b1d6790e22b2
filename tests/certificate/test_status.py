"""The check of the status believes no name that the recomputed numbers do not deserve."""

import dataclasses

import numpy as np
import pytest

import intensor
import zoo
from intensor import Status
from intensor.certificate.proofs import Precision
from intensor.certificate.recount import Point, group
from intensor.certificate.status import check_status

DATA = zoo.noisy((5, 4, 3), 50, rep=3)
OPTIONS = {"shape": DATA.shape, "radius": 1.0}


def solved(values=DATA.values, **options):
    return intensor.solve(DATA.coords, values, **OPTIONS, **options)


def status_check(result, values=DATA.values, **changes):
    report = intensor.verify(dataclasses.replace(result, **changes), DATA.coords, values)
    return next(check for check in report.checks if check.name == "status")


def test_a_small_gap_may_be_called_optimal():
    result = solved(rtol=1e-5)
    assert result.status is Status.OPTIMAL
    assert status_check(result).passed is True


def test_a_gap_that_is_only_within_the_tolerance_may_not():
    result = solved(rtol=0.05, exact="off")
    assert result.status is Status.WITHIN_TOLERANCE
    assert result.gap > 0.01 * result.objective
    assert status_check(result).passed is True
    check = status_check(result, status=Status.OPTIMAL)
    assert check.passed is False
    assert "% of the objective" in check.message
    assert "too much for OPTIMAL" in check.message


def test_the_size_of_a_small_gap_is_that_of_the_documents():
    result = solved(rtol=1e-6)
    for share, passed in [(0.0099, True), (0.0101, False)]:
        claims = {"bound": (1.0 - share) * result.objective, "tolerance": 1.0}
        assert claims["bound"] < result.bound
        assert status_check(result, status=Status.OPTIMAL, **claims).passed is passed


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_an_exact_fit_is_optimal_without_a_useful_bound(scale):
    data = intensor.planted((5, 4, 4), 60)
    values = scale * data.values
    result = intensor.solve(data.coords, values, shape=data.shape, radius=scale, rtol=1e-9)
    assert result.status is Status.OPTIMAL
    assert result.bound <= 0.5 * result.objective or result.objective == 0.0
    assert intensor.verify(result, data.coords, values).ok


@pytest.mark.parametrize("status", [Status.OPTIMAL, Status.WITHIN_TOLERANCE])
def test_a_gap_above_the_tolerance_is_neither(status):
    result = solved(rtol=0.05, exact="off")
    check = status_check(result, status=status, tolerance=0.5 * result.gap)
    assert check.passed is False


def test_other_endings_claim_nothing():
    result = solved(rtol=0.05, exact="off")
    for status in set(Status) - {Status.OPTIMAL, Status.WITHIN_TOLERANCE}:
        assert status_check(result, status=status, tolerance=0.0).passed is True


def test_a_bound_that_was_not_rechecked_leaves_the_status_open():
    result = solved(rtol=1e-5)
    data = group(DATA.coords, DATA.values, np.ones(len(DATA.values)))
    precision = Precision(data, Point(result.model, data))
    assert check_status(result, result.objective, precision, proven=None).passed is None
    assert check_status(result, result.objective, precision, proven=True).passed is True
