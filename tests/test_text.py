"""Reprs are one short line, and tables for notebooks hold nothing but escaped text."""

import dataclasses
from html.parser import HTMLParser

import numpy as np
import pytest

import intensor
from intensor._text import MAX_REPR_LENGTH, describe_shape, html_table, one_line
from intensor.data.labels import number_labels

DATA = intensor.planted((5, 4, 3), 60, noise=0.1)


class Reader(HTMLParser):
    """Collects the tags, the attributes and the text of a table."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.text = set(), set(), ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def fit():
    completer = intensor.TensorCompleter(
        components="boxes", exact="off", n_radii=2, transform="sqrt", baseline="additive"
    )
    return completer.fit(DATA.coords, DATA.values).fit_


def test_lines_are_short_and_printable():
    assert one_line("Fit 3 x 4") == "<Fit 3 x 4>"
    long = one_line("x" * 500)
    assert len(long) == MAX_REPR_LENGTH
    assert long.endswith("x...>")
    assert one_line("a\nb\x1b[31m") == "<a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}[31m>"


def test_long_shapes_are_cut():
    assert describe_shape((3, 4)) == "3 x 4"
    assert describe_shape((3,)) == "3"
    assert describe_shape((3, 4, 5, 6)) == "3 x 4 x 5 x 6"
    assert describe_shape((3, 4, 5, 6, 7)) == "3 x 4 x 5 x ... (5 modes)"


def test_reprs_are_one_short_line(fit):
    wide = intensor.planted((3,) * 30, 50)
    result = intensor.solve(wide.coords, wide.values, radius=1.0, exact="off", max_iterations=2)
    shown = {
        "Fit": [fit, dataclasses.replace(fit, partners=(fit, fit), share=0.2)],
        "Result": [fit.result, result],
        "Model": [fit.model, result.model],
        "Validation": [fit.validation],
        "RadiusPath": [fit.path],
        "Predictor": [fit.predictor],
        "Labels": [fit.labels, number_labels((10**6,) * 30), number_labels((2,), value="a\nb")],
        "Verification": [fit.verify(DATA.coords, DATA.values), fit.verify([[0, 0, 0]], [99.0])],
        "Planted": [DATA, wide],
        "Box": list(fit.model)[:2],
        "Explanation": [fit.explain((0, 0, 0))],
    }
    for name, objects in shown.items():
        for one in objects:
            text = repr(one)
            assert text.startswith(f"<{name}")
            assert text.endswith(">")
            assert len(text) <= MAX_REPR_LENGTH
            assert text.isprintable()
            assert "array(" not in text


def test_reprs_say_what_matters(fit):
    assert f"{fit.shape[0]} x 4 x 3: {fit.status}" in repr(fit)
    assert f"rmse {fit.validation.expected_error:.4g}" in repr(fit.validation)
    assert f"best {fit.radius:.4g}" in repr(fit.path)
    assert "sqrt transform, baseline" in repr(fit.predictor)
    assert repr(fit.labels) == "<Labels of value: mode_0 (5) x mode_1 (4) x mode_2 (3)>"
    good, bad = fit.verify(DATA.coords, DATA.values), fit.verify([[0, 0, 0]], [99.0])
    assert repr(good).startswith(f"<Verification ok: checks {len(good.checks)} passed, 0 failed")
    assert repr(bad).startswith("<Verification failed: ")
    component = intensor.Component(weight=2.0, profiles=(np.ones(3), np.ones(2)))
    assert repr(component) == "<Component of weight 2: 3 x 2>"
    box = intensor.Box(weight=0.5, indices=(np.arange(2), np.arange(3)), shape=(4, 5))
    assert repr(box) == "<Box of weight 0.5: 2 x 3 of 4 x 5 indices>"


def test_tables_escape_everything():
    page = html_table("<script>a", [("<b>", '"&<img src=x>'), ("left out", ""), ("two", "a\nb")])
    read = Reader(page)
    assert read.tags == {"table", "tr", "th", "td", "br"}
    assert read.attributes == {"style", "colspan"}
    assert '"&<img src=x>' in read.text
    assert "left out" not in read.text


def test_results_and_verifications_have_tables(fit):
    result = Reader(fit.result._repr_html_())
    assert fit.status.sentence in result.text
    assert f"gap {fit.gap:.3g}" in result.text
    verification = fit.verify(DATA.coords, DATA.values)
    checked = Reader(verification._repr_html_())
    assert checked.text.startswith("\nVerification: ok")
    for check in verification.checks:
        assert check.message in checked.text
    assert "FAIL" in Reader(fit.verify([[0, 0, 0]], [99.0])._repr_html_()).text
