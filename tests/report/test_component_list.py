"""The section of the components: charts, and a table in words."""

import numpy as np

from graded_cases import graded_model_in
from intensor.plots.profiles import rank_terms
from intensor.plots.text import number, percent
from intensor.report.component_list import MAX_DRAWN, components_section, strongest_labels
from report.cases import HOSTILE, hostile_labels, make_fit, plain

NAMES = np.array([f"n{i}" for i in range(10)], dtype=object)


def words(profile):
    return plain(strongest_labels(np.asarray(profile, dtype=float), NAMES[: len(profile)]))


def test_strong_labels_are_named_in_words():
    assert words([1.0, 0.95, 0.9]) == "all 3 alike"
    assert words([0.2, 1.0, 0.6]) == "n1 , n2"
    assert words(np.linspace(0.5, 1.0, 10)).startswith("all 10, above all n9 , n8")
    assert words([1.0] * 8 + [0.0, 0.1]) == "all but n8 , n9"
    assert words([1.0, 0.9, 0.8, 0.7, 0.6, 0.1, 0.1, 0.1, 0.1, 0.1]).endswith("and 1 more")
    assert words([1.0]) == "all 1 alike"


def test_the_section_shows_charts_and_a_table():
    made = graded_model_in(make_fit()[0], boxes=2, graded=9)
    text = components_section(made)
    assert text.count("<svg") == MAX_DRAWN
    assert text.count("<tr>") == 1 + 11
    ranked = rank_terms(made.model, made.predictor.counts)
    for one in ranked:
        assert number(one.term.weight) in text
        assert percent(one.share) in text
    assert "(box)" in text
    assert f"The pictures show the first {MAX_DRAWN}" in plain(text)
    assert "The table lists all of them" in plain(text)


def test_signed_components_are_coloured():
    made, *_ = make_fit(baseline="additive", radius=60.0, max_iterations=50)
    made = graded_model_in(made)
    assert (made.model.weights < 0.0).any()
    text = components_section(made)
    assert 'class="bar minus"' in text
    assert "var(--orange)" in text
    assert "negative ones by their size" in text


def test_hostile_labels_are_inert():
    made, *_ = make_fit(labels=hostile_labels())
    text = components_section(graded_model_in(made))
    assert HOSTILE[0] not in text
    assert "<img" not in text
