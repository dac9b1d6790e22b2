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
from report.cases import make_fit, plain, without_trace


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


def test_the_fit_is_compared_with_the_mean(validated, monkeypatch):
    monkeypatch.setattr("intensor.report.sections.path_chart", lambda *data: "")
    error, sentence = validated.path.error, "The mean of all other observations has an error of"

    def said(error_of_mean):
        validation = dataclasses.replace(validated.validation, error_of_mean=error_of_mean)
        return plain(radius_section(dataclasses.replace(validated, validation=validation)))

    assert f"{sentence} {plain(number(2.0 * error))}. All" in said(2.0 * error)
    assert f"{sentence} {plain(number(0.5 * error))}, so the fit predicts no" in said(0.5 * error)
    assert sentence not in said(None)


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
