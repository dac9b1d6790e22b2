"""The top of the page says what was fitted, how it ended, and the key figures."""

import dataclasses

import pytest

from intensor._verify import Check, Verification
from intensor.plots.text import number
from intensor.report.overview import headline, key_figures, status_notice
from intensor.report.summary import compare, summarise
from report.cases import make_fit, plain


@pytest.fixture(scope="module")
def case():
    made, coords, values = make_fit()
    return made, summarise(made), compare(made, coords, values)


def test_the_headline_names_the_data_and_the_gap(case):
    made, _, comparison = case
    text = plain(headline(*case))
    assert text.startswith(f"{len(made.model)} boxes describe 80 observations of passengers")
    assert f"{comparison.n_observed} of the 108 cells of mode A" in text
    result = dataclasses.replace(made.result, bound=made.objective * (1.0 + 1e-15))
    rounded = dataclasses.replace(made, result=result)
    assert "gap 0 (0 %)" in plain(headline(rounded, summarise(rounded), comparison))


def test_the_certificate_is_said_to_be_that_before_kriging():
    for remainder in ("none", "kriging"):
        made, coords, values = make_fit(remainder=remainder)
        comparison = compare(made, coords, values)
        text = plain(headline(made, summarise(made), comparison))
        before = " before kriging" if remainder == "kriging" else ""
        assert f"Mean squared error{before} {plain(number(made.objective))}" in text
        assert ("boxes and a kriged remainder describe" in text) == (remainder == "kriging")
        assert comparison.agrees_with(made.objective)


def test_a_failed_certificate_is_a_warning(case):
    checks = (Check(name="check two", passed=False, message="no"),)
    failed = Verification(objective=0.0, bound=0.0, checks=checks)
    text = plain(status_notice(*case, failed))
    assert "The certificate did not hold. These checks failed: check two." in text
    assert "did not hold" not in status_notice(*case, None)
    assert case[0].status.sentence in text


def test_other_data_is_a_warning():
    made, coords, values = make_fit()
    other = compare(made, coords, values * 1.5)
    assert "Other data than the fit's" in plain(status_notice(made, summarise(made), other, None))
    same = compare(made, coords, values)
    assert "Other data" not in status_notice(made, summarise(made), same, None)


def test_key_figures_are_shown_with_those_of_the_caller(case):
    text = plain(key_figures(*case, {"Held-out <RMSE>": 4.875}))
    assert f"RMSE {plain(number(case[2].rmse))} in units of passengers" in text
    assert "Held-out &lt;RMSE&gt; 4.875" in text
    assert "Variance explained" in text
    assert "in units of passengers , weighted" in plain(
        key_figures(case[0], case[1], dataclasses.replace(case[2], weighted=True), None)
    )
