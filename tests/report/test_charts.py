"""Charts are inline SVG that belongs to the page: its colours, its fonts, unique ids."""

import dataclasses
import re
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest

from intensor.plots.text import clean, shorten
from intensor.report.charts import (
    MAX_NAME_LENGTH,
    MAX_POINTS,
    convergence_chart,
    error_chart,
    path_chart,
    scatter_chart,
)
from intensor.report.summary import compare
from report.cases import HOSTILE, make_fit


@pytest.fixture(scope="module")
def validated():
    made, coords, values = make_fit(radius="auto", transform="auto", n_solutions=2)
    return made, compare(made, coords, values)


@pytest.fixture(scope="module")
def charts(validated):
    made, comparison = validated
    return [
        convergence_chart(made),
        path_chart(made, made.validation),
        scatter_chart(comparison, value="passengers"),
        error_chart(comparison, value="passengers"),
    ]


def test_charts_are_named_and_stay_inside(charts):
    for chart in charts:
        root = ElementTree.fromstring(chart)
        assert root.get("role") == "img"
        assert root.get("aria-label") == root.find("title").text
        _, _, width, height = map(float, root.get("viewBox").split())
        points = [*root.iter("use"), *root.iter("text")]
        assert len(points) > 5
        for point in points:
            if "x" in point.attrib:
                assert 0.0 <= float(point.get("x")) <= width
                assert 0.0 <= float(point.get("y")) <= height


def test_ids_are_unique_and_every_reference_has_its_target(charts):
    text = "".join(charts)
    ids = re.findall(r' id="([^"]*)"', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="#|url\(#)([^")]*)', text)) <= set(ids)


def test_charts_use_the_colours_and_the_font_of_the_page(charts):
    text = "".join(charts)
    for name in ("blue", "orange", "ink", "soft", "card"):
        assert f"var(--{name})" in text
    assert re.search(r"DejaVu|font-family|<style|<metadata|xmlns|\$", text) is None
    assert set(re.findall(r"#[0-9a-f]{6}\b", text)) <= {"#cc79a7", "#56b4e9", "#e69f00"}


def test_points_of_a_path_have_tips(charts, validated):
    tips = [title.text for title in ElementTree.fromstring(charts[1]).iter("title")][1:]
    made, _ = validated
    assert len(tips) == sum(len(path) for path in made.validation.paths)
    steps = [path.graded for path in made.validation.paths for _ in range(len(path))]
    assert set(steps) == {True, False}
    for tip, graded in zip(tips, steps, strict=True):
        kind, noun = (", graded", "components") if graded else ("", "boxes")
        figures = rf".* baseline{kind}( \(first look\))?: radius [\d.]+, rmse [\d.]+, [\d.]+ {noun}"
        assert re.fullmatch(figures, tip), tip


def test_a_chart_is_the_same_whatever_the_user_has_set(charts, validated):
    made, _ = validated
    with matplotlib.rc_context({"font.size": 30, "text.color": "#ff0000", "svg.fonttype": "path"}):
        assert convergence_chart(made) == charts[0]
        assert matplotlib.rcParams["font.size"] == 30
        assert matplotlib.rcParams["svg.fonttype"] == "path"


@pytest.mark.parametrize(
    "value",
    [
        "</svg><b>\x00\x1b[31m漢字",
        *(pytest.param(HOSTILE[i], marks=pytest.mark.slow) for i in (0, 1, 2, 3, 6, 7, 8)),
    ],
)
def test_labels_are_text(validated, value):
    _, comparison = validated
    root = ElementTree.fromstring(scatter_chart(comparison, value=value))
    assert {element.tag for element in root.iter()} <= {
        *("svg", "title", "g", "defs", "path", "clipPath", "rect", "use", "text")
    }
    shown = [text.text for text in root.iter("text")]
    assert f"observed {shorten(clean(value), most=MAX_NAME_LENGTH)}" in shown


@pytest.mark.parametrize(
    "name",
    [
        "</svg><b>${7*7}$\\frac$\x07",
        *(pytest.param(HOSTILE[i], marks=pytest.mark.slow) for i in (2, 6, 7, 8)),
    ],
)
def test_names_in_a_model_file_are_text(validated, name):
    """A model file may claim that any scoring and any scale was used."""
    made, _ = validated
    path = dataclasses.replace(made.validation.path, transform=name)
    validation = dataclasses.replace(made.validation, metric=name, paths=(path,), chosen=0)
    root = ElementTree.fromstring(
        path_chart(dataclasses.replace(made, validation=validation), validation)
    )
    texts = [element.text for element in root.iter() if element.tag in ("text", "title")]
    assert f"held-out {shorten(clean(name), most=40)}" in texts
    assert not any(set("\x00\x07\x1b\u202e\ud800") & set(text) for text in texts)


def test_dollars_are_no_formula(validated):
    _, comparison = validated
    assert ">observed a$b$c<" in scatter_chart(comparison, value="a$b$c")


def test_many_observations_are_shaded(validated):
    _, comparison = validated
    values = np.random.default_rng(0).random(MAX_POINTS + 1)
    many = scatter_chart(
        dataclasses.replace(comparison, values=values, predicted=values), value="v"
    )
    assert "fill-opacity: 0.2" in many
    assert len(many) < 60_000


@pytest.mark.parametrize(
    "odds",
    [
        [1e308, -np.inf, 5e-324],
        *(pytest.param([odd], marks=pytest.mark.slow) for odd in (1e308, -np.inf, 5e-324)),
    ],
)
def test_traces_and_paths_of_any_numbers_are_drawn(validated, odds):
    made, _ = validated
    trace, validation, n = made.result.trace, made.validation, len(odds)
    first = [
        row._replace(objective=odd, bound=-odd, seconds=abs(odd))
        for row, odd in zip(trace, odds, strict=False)
    ]
    assert len(first) == n
    paths = tuple(
        dataclasses.replace(validation.path, errors=np.append(odd, validation.path.errors[1:]))
        for odd in odds
    )
    result = dataclasses.replace(made.result, trace=(*first, *trace[n:]))
    validation = dataclasses.replace(validation, paths=paths, chosen=0)
    made = dataclasses.replace(made, result=result, validation=validation)
    for chart in (convergence_chart(made), path_chart(made, validation)):
        root = ElementTree.fromstring(chart)
        drawn = [element.attrib for element in root.iter() if element is not root]
        assert re.search(r"\b(nan|inf)\b", str(drawn)) is None
