"""The table of a fit in notebooks."""

import dataclasses
import re

import numpy as np
import pandas as pd
import pytest

import intensor
from intensor.data.labels import Labels
from report.cases import blended, without_terms

TAGS = {"table", "tr", "th", "td", "br"}


@pytest.fixture(scope="module")
def fit():
    data = intensor.planted((6, 5, 4), 90, noise=0.05)
    completer = intensor.TensorCompleter(
        components="boxes",
        exact="off",
        n_radii=3,
        transform="sqrt",
        baseline="none",
        remainder="none",
        clip=(None, 0.9),
    )
    return completer.fit(data.coords, data.values).fit_


def test_the_table_says_what_was_chosen_and_proven(fit):
    page = fit._repr_html_()
    validation = fit.validation
    for text in (
        "mode_0 (6) x mode_1 (5) x mode_2 (4)",
        '<td style="text-align: left; vertical-align: top">90</td>',
        f"{len(fit.model)} boxes in their sqrt, radius {fit.radius:.4g}",
        f"RMSE {validation.expected_error:.4g} +- {validation.spread:.2g} on "
        f"{validation.held_out:.0f} held-out observations",
        f"references: mean {validation.error_of_mean:.4g}, main effects",
        "It is no worse on held-out cells than the mean, main effects",
        "predictions are clipped up to 0.9",
        fit.status.sentence,
        f"objective {fit.objective:.4g}, proven bound {fit.bound:.4g}",
    ):
        assert text in page
    assert set(re.findall(r"</?(\w+)", page)) <= TAGS
    assert "http" not in page


def test_a_fit_that_is_no_better_than_the_mean_says_so(fit):
    validation = dataclasses.replace(fit.validation, error=1e9)
    page = dataclasses.replace(fit, validation=validation)._repr_html_()
    assert "The fit predicts held-out cells no better than the mean, main effects" in page
    assert "no better" not in fit._repr_html_()
    plain = dataclasses.replace(fit, validation=None, clip=None)._repr_html_()
    assert "held-out" not in plain
    assert "clipped" not in plain


def test_every_member_of_a_blend_is_listed(fit):
    partner = dataclasses.replace(fit, share=0.25)
    page = dataclasses.replace(fit, share=0.75, partners=(partner,))._repr_html_()
    assert "75 %: " in page
    assert "25 %: " in page
    assert page.count("proven bound") == 2
    assert (
        "Each of 2 models of terms has a certificate of its own; together they have 100 %" in page
    )


def test_members_without_terms_have_no_radius_and_no_bound(fit):
    page = blended(fit, without_terms(fit, 0.25, method="smooth field"))._repr_html_()
    assert "25 %: a smooth field of their sqrt</td>" in page
    assert page.count("proven bound") == 1
    assert "a smooth field has 25 % and needs none." in page
    unread = blended(fit, without_terms(fit, 1.0))._repr_html_()
    assert "0 %: " in unread
    assert "The model of terms has no share in the prediction" in unread


def test_names_are_escaped_and_cut(fit):
    labels = Labels(
        modes=("<script>alert(1)</script>", "x" * 500, "c"), indices=fit.labels.indices, value="<b>"
    )
    page = dataclasses.replace(fit, labels=labels)._repr_html_()
    assert "<script" not in page
    assert "<b>" not in page
    assert "&lt;b&gt;" in page
    assert "x" * 50 not in page


def test_many_modes_are_not_all_listed():
    data = intensor.planted((2,) * 20, 40)
    found = intensor.TensorCompleter(radius=1.0, exact="off").fit(data.coords, data.values).fit_
    assert "and 8 more" in found._repr_html_()


def test_labels_of_a_table_are_named():
    table = pd.DataFrame({"city": ["a", "b"], "day": [1, 2], "trips": [1.0, 2.0]})
    page = intensor.fit(table, value="trips", radius=2.0)._repr_html_()
    assert "Fit of trips" in page
    assert "city (2) x day (2)" in page
    assert np.char.count(page, "<tr>") >= 5
