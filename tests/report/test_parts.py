"""The parts of a page: axes, labels of boxes, escaping and colours."""

import dataclasses
import math
import re

import numpy as np
import pytest

from intensor.report.axis import make_axis, wants_log
from intensor.report.boxes import describe
from intensor.report.numbers import count, number, percent
from intensor.report.series import MOST_POINTS, convergence_series
from intensor.report.style import STYLE
from intensor.report.text import clean, escape, shorten
from report.cases import make_fit


def plain(text):
    return re.sub("<[^>]*>", "", text)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize(
    "values", [[0.0, 5e-324], [1e-300, 1e-320], [1.7e308, -1.7e308, 1.0], [np.inf, np.nan], []]
)
def test_axes_of_numbers_at_the_ends_have_ticks_too(values, log):
    axis = make_axis(values, log=log)
    assert axis.ticks()
    assert all(0.0 <= axis.place(value) <= 1.0 for value in values)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize(
    ("low", "high"),
    [(0.0, 1.0), (3.0, 3.0), (1e-28, 1e4), (1e-60, 2e-60), (5e59, 6e60), (0.97, 1.02), (17, 9300)],
)
def test_axes_hold_their_numbers_and_have_ticks(low, high, log):
    axis = make_axis([low, high], log=log)
    places = [axis.place(value) for value in (low, high)]
    assert all(0.0 <= place <= 1.0 for place in places)
    assert places == sorted(places)
    if low < high and (low > 0.0 or not log):
        assert 0.0 < places[0] < places[1] < 1.0
    ticks = axis.ticks()
    assert 1 <= len(ticks) <= 12
    assert len({text for _, text in ticks}) == len(ticks)
    assert all(axis.low * (1 - 1e-6) <= value <= axis.high * (1 + 1e-6) for value, _ in ticks)
    assert all(len(text) <= 9 for _, text in ticks)


def test_ticks_say_what_they_stand_for():
    for value, text in make_axis([0.0, 940.0], zero=True).ticks():
        assert float(text.replace(",", "")) == pytest.approx(value)
    axis = make_axis([0.0, 7.3e6], zero=True)
    assert axis.power == 6
    for value, text in axis.ticks():
        assert float(text) * 1e6 == pytest.approx(value)
    assert make_axis([-3.0, 3.0]).ticks()[0][1].startswith("\N{MINUS SIGN}")


def test_numbers_below_a_logarithmic_axis_stand_at_its_bottom():
    axis = make_axis([0.0, 1e-3, 10.0], log=True)
    assert axis.place(0.0) == 0.0
    assert axis.place(1e-3) > 0.0
    assert wants_log([0.0, 1.0, 100.0])
    assert not wants_log([0.0, 5.0, 7.0])
    assert not wants_log([])


def test_number_keeps_the_digits_it_promises():
    rng = np.random.default_rng(0)
    for value in 10.0 ** rng.uniform(-40, 40, 200):
        text = number(value).replace(",", "").replace("\xa0", "")
        superscripts = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
        head, _, power = text.partition("\N{MULTIPLICATION SIGN}10")
        assert float(head) * 10.0 ** int(power.translate(superscripts) or 0) == pytest.approx(
            value, rel=5e-4
        )
    assert number(math.nan) == "not a number"
    assert number(-math.inf) == "\N{MINUS SIGN}∞"
    assert count(10**15 - 1) == "999,999,999,999,999"
    assert percent(1e-12).startswith("<")


def test_boxes_are_told_by_their_labels():
    names = np.array([f"n{i}" for i in range(20)], dtype=object)
    months = np.arange(1, 13)
    assert plain(describe(np.arange(20), names)) == "all 20"
    assert plain(describe(np.arange(1, 20), names)) == "all but n0"
    assert plain(describe(np.array([2, 5]), names)) == "n2, n5"
    assert plain(describe(np.array([0, 1, 2, 6, 7]), months)) == "1\N{EN DASH}3, 7, 8"
    long = describe(np.arange(0, 20, 2), names)
    short, full = re.fullmatch("<details><summary>(.*)</summary>(.*)</details>", long).groups()
    assert plain(short) == "n0, n2, n4, n6, n8, n10 and 4 more"
    assert plain(full) == ", ".join(f"n{i}" for i in range(0, 20, 2))
    assert plain(describe(np.arange(0, 20, 2), names, room=10)) == plain(short)
    steps = np.array([10, 20, 30, 40])
    assert plain(describe(np.array([0, 1, 2]), steps)) == "10, 20, 30"


def test_labels_are_cleaned_but_not_maimed():
    family = "👩\N{ZERO WIDTH JOINER}👧"
    assert clean(family) == family
    assert clean("שלום") == "שלום"
    assert clean("a\nb\tc") == "a b c"
    assert clean("") == clean(" \n") == "(empty)"
    assert clean("\u202eabc\u2069") == "\ufffdabc\ufffd"
    assert escape("<&\"'>") == "&lt;&amp;&quot;&#x27;&gt;"
    assert len(shorten("x" * 100)) == 60
    assert escape("&" * 100) == "&amp;" * 59 + "…"


def luminance(colour):
    parts = [int(colour[place : place + 2], 16) / 255.0 for place in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_stands_out_from_its_ground_in_every_theme():
    themes = re.findall(r":root\{([^}]*)\}", STYLE)
    assert len(themes) == 3  # light, dark, print
    for theme in themes:
        colours = {
            name: value if len(value) == 7 else "#" + "".join(2 * digit for digit in value[1:])
            for name, value in re.findall(r"--(\w+):(#\w+)", theme)
        }
        for ground in ("page", "card"):
            for ink in ("ink", "soft", "blue", "orange", "green", "red", "amber"):
                light, dark = sorted((luminance(colours[ground]), luminance(colours[ink])))[::-1]
                assert (light + 0.05) / (dark + 0.05) >= 4.5, (theme, ground, ink)


def test_long_traces_are_thinned_and_keep_their_ends():
    result = make_fit()[0].result
    row = result.trace[-1]
    trace = tuple(
        row._replace(iteration=i, seconds=1.0 + 0.1 * i, objective=1e6 / (i + 1))
        for i in range(5000)
    )
    series = convergence_series(_with_trace(result, trace))
    assert len(series) <= MOST_POINTS
    assert series.times[0] == 0.0
    assert series.times[-1] == pytest.approx(499.9)
    assert series.objective[-1] == 200.0
    assert series.log
    still = convergence_series(_with_trace(result, tuple(r._replace(seconds=2.0) for r in trace)))
    assert still.unit == "iterations"
    assert still.times[-1] == 4999.0


def _with_trace(result, trace):
    return dataclasses.replace(result, trace=trace)
