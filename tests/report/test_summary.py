"""The figures of a fit, and a fit compared with observations."""

import dataclasses
import json

import numpy as np
import pytest

from intensor.report.summary import (
    compare,
    describe_member,
    errors_of,
    fitted_name,
    proven_gap,
    summarise,
)
from intensor.solver.result import Status
from report.cases import blended, make_fit, with_bound, with_errors, without_terms


def test_a_summary_has_the_figures_of_the_fit():
    made, *_ = make_fit(radius="auto", transform="sqrt", baseline="none", remainder="none")
    figures = summarise(made)
    assert list(figures)[:5] == ["status", "message", "objective", "bound", "gap"]
    assert figures["objective"] == made.objective
    assert figures["relative_gap"] == made.gap / made.objective
    assert figures["cells"] == 108
    assert figures["transform"] == "sqrt"
    assert figures["baseline"] == figures["remainder"] == "none"
    assert figures["validation"]["paths"][0]["radii"] is made.path.radii
    assert figures["validation"]["error"] == made.validation.expected_error
    assert json.dumps(figures["modes"]) == '["mode A", "mode B", "mode C"]'
    assert summarise(make_fit()[0])["validation"] is None


def test_a_gap_below_0_from_rounding_counts_as_0():
    made, *_ = make_fit()
    result = dataclasses.replace(made.result, bound=made.objective * (1.0 + 1e-15))
    rounded = dataclasses.replace(made, result=result)
    assert summarise(rounded)["gap"] < 0.0
    assert proven_gap(rounded) == (0.0, 0.0)


def test_a_summary_says_where_the_bound_says_nothing():
    made, *_ = make_fit()
    for share, useful in [(0.0, False), (0.5, True)]:
        for status in (Status.STALLED, Status.WITHIN_TOLERANCE, Status.STOPPED):
            bounded = with_bound(made, share, status=status)
            assert summarise(bounded)["useful_bound"] is useful
            words = describe_member(bounded)
            assert ("no useful bound at this size" in words) is not useful
            assert ("gap" in words) is useful
    assert summarise(with_bound(made, 0.0, status=Status.OPTIMAL))["useful_bound"] is True


def test_members_without_terms_have_nothing_to_prove():
    made, *_ = make_fit()
    field = without_terms(made, 0.25, method="smooth field")
    assert describe_member(field) == (
        "25 %: a smooth field of the values (no terms, so nothing to prove)"
    )
    figures = summarise(blended(made, field))
    assert figures["share_of_terms"] == 0.75
    assert figures["partners"][0]["remainder"] == "smooth field"
    assert figures["partners"][0]["status"] == "NO_TERMS"
    assert figures["partners"][0]["description"] == "a smooth field of the values"


def test_a_fit_that_is_no_better_than_references_is_known_by_its_figures():
    made, *_ = make_fit(radius="auto", transform="sqrt", n_solutions=2)
    references = [("mean", 9.0, 0.0), ("interpolation along mode 1", 2.0, 0.0)]
    for error, names, simple in [
        (1.0, [], False),
        (3.0, ["interpolation along mode 1"], False),
        (10.0, ["mean", "interpolation along mode 1"], True),
    ]:
        figures = summarise(with_errors(made, error, references, spread=0.5))["validation"]
        assert (figures["error"], figures["spread"]) == (error, 0.5)
        assert figures["no_better_than"] == names
        assert figures["no_better_than_mean_or_main_effects"] is simple
        assert figures["references"][0] == {"name": "mean", "error": 9.0, "share": 0.0}


def test_observations_of_weight_0_do_not_count():
    made, coords, values = make_fit()
    wrong = values.copy()
    wrong[3] += 1000.0
    weights = np.ones(values.size)
    weights[3] = 0.0
    kept = np.arange(values.size) != 3
    expected = errors_of(made, coords[kept], values[kept], None)
    found = compare(made, coords, wrong, sample_weight=weights)
    assert (found.rmse, found.mae) == (expected["rmse"], expected["mae"])
    assert not found.weighted
    weights[5] = 2.0
    assert compare(made, coords, wrong, sample_weight=weights).weighted


def test_a_comparison_measures_the_fit():
    made, coords, values = make_fit()
    found = compare(made, coords, values)
    errors = made.predict(coords) - values
    assert found.rmse == pytest.approx(np.sqrt(np.mean(errors**2)))
    assert found.explained == pytest.approx(1.0 - np.mean(errors**2) / np.var(values))
    assert found.n_observed == len(np.unique(coords, axis=0))
    assert found.worst(2).tolist() == np.argsort(-np.abs(errors))[:2].tolist()
    assert found.agrees_with(made.objective)
    assert not compare(made, coords, values + 1.0).agrees_with(made.objective)
    assert compare(made, coords, np.full(values.size, 3.0)).explained is None


def test_the_fitted_quantity_has_a_name():
    assert fitted_name(make_fit()[0]) == "passengers"
    made, *_ = make_fit(transform="sqrt", baseline="additive", radius=60.0, time_limit=2.0)
    assert fitted_name(made) == "sqrt of passengers less the baseline"
