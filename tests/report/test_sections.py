"""The sections say what was proven, chosen, fitted and set."""

import dataclasses

import numpy as np
import pytest

from intensor._verify import Check, Verification
from intensor.plots.text import number
from intensor.report.sections import (
    certificate_section,
    convergence_section,
    quality_section,
    radius_section,
    settings_section,
)
from intensor.report.summary import compare
from report.cases import blended, make_fit, plain, with_errors, without_terms, without_trace


@pytest.fixture(scope="module")
def case():
    return make_fit()


@pytest.fixture(scope="module")
def validated():
    return make_fit(radius="auto", transform="auto", n_solutions=2)[0]


def test_checks_are_listed_with_their_outcome(case):
    made, comparison = case[0], compare(*case)
    checks = tuple(
        Check(name=f"check {name}", passed=passed, message="so it is")
        for name, passed in (("one", True), ("two", False), ("three", None))
    )
    for shown, verdict in (
        (checks, "not everything passed"),
        (checks[:1], "everything passed"),
        (checks[::2], "nothing failed, and what could not be checked is marked open"),
    ):
        found = Verification(objective=0.0, bound=0.0, checks=shown)
        text = plain(certificate_section(made, comparison, found))
        assert f": {verdict}." in text
        for check, outcome in zip(checks, ("✓ pass", "✗ fail", "? open"), strict=True):
            assert (f"{outcome} {check.name} : so it is" in text) == (check in shown)
    assert "not recomputed" in certificate_section(made, comparison, None)


def test_convergence_is_drawn_if_it_was_recorded(case, validated):
    assert "nothing to draw" in convergence_section(without_trace(case[0]))
    assert "first of 2 solutions" in plain(convergence_section(validated))


def test_validation_is_described(case, validated):
    text = plain(radius_section(validated))
    validation = validated.validation
    for path in validation.paths:
        assert plain(number(path.error)) in text
    assert text.count("✓ taken") == 1
    changed = f"from {number(validation.single)} to {number(validation.averaged)}"
    assert plain(changed) in text
    assert "The radius was given" in radius_section(case[0])


def test_the_fit_is_compared_with_references(validated, monkeypatch):
    monkeypatch.setattr("intensor.report.sections.path_chart", lambda *data: "")
    references = [("mean", 9.0, 0.0), ("<b>main effects", 4.0, 0.25)]

    def said(error):
        return radius_section(with_errors(validated, error, references, spread=0.5))

    text = plain(said(3.0))
    assert "RMSE 3 ± 0.5 on" in text
    assert "It is no worse on held-out cells than the mean and" in text
    assert "mean 9 none" in text
    assert "main effects 4 25 %" in text
    assert "&lt;b&gt;main" in said(3.0)
    assert "no better than the mean or" in plain(said(10.0))
    unknown = dataclasses.replace(validated.validation, references=(), error_of_mean=None)
    text = plain(radius_section(dataclasses.replace(validated, validation=unknown)))
    assert "without terms" not in text
    assert "no worse" not in text


def test_a_blend_is_listed_with_what_is_proven(case):
    made, comparison = case[0], compare(*case)
    blend = blended(
        made,
        without_terms(made, 0.25, method="interpolation"),
        without_terms(made, 0.125, method="smooth field"),
    )
    text = plain(radius_section(blend))
    assert "a blend of 3 members" in text
    assert "25 % interpolation of the values no terms, nothing to prove" in text
    assert text.count("nothing to prove") == 2
    covered = (
        "The certificate is about the model of terms, which has 62 % of the prediction; "
        "interpolation (25 %) and a smooth field (12 %) need none."
    )
    assert covered in plain(certificate_section(blend, comparison, None))
    unread = blended(made, without_terms(made, 1.0))
    assert "The first has no share; the rest of this page shows it" in plain(radius_section(unread))


def test_worst_observations_come_first(case):
    made, coords, values = case
    wrong = values.copy()
    wrong[17] = 1e5
    text = plain(quality_section(made, compare(made, coords, wrong)))
    assert "hexagon" not in text
    worst = text.split("Worst fitted observations")[1]
    labels = " ".join(column[0] for column in made.labels.decode(coords[17:18]))
    assert labels in worst.split("100,000")[1].split("\N{MINUS SIGN}")[0]


def test_hexagons_are_explained_only_where_there_are_any(case):
    made, coords, values = case
    many = compare(made, np.tile(coords, (4, 1)), np.tile(values, 4))
    assert "hexagon" in quality_section(made, many)  # and few have none, in the test above


def test_the_settings_are_listed(case):
    made, *_ = case
    text = plain(settings_section(made))
    shape = "shape 3 \N{MULTIPLICATION SIGN} 9"
    for line in ("transform none", "remainder none", "solver version fast", shape):
        assert line in text
    kriged, *_ = make_fit(remainder="kriging")
    assert "remainder kriging" in plain(settings_section(kriged))
