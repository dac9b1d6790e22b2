"""Boxes are described by a few of their labels."""

import re

import numpy as np

from intensor.report.boxes import boxes_table, describe_labels, effects_table
from report.cases import make_fit

NAMES = np.array([f"n{i}" for i in range(20)], dtype=object)


def plain(text):
    return re.sub("<[^>]*>", "", text)


def test_boxes_are_described_by_their_labels():
    months = np.arange(1, 13)
    assert plain(describe_labels(np.arange(20), NAMES)) == "all 20"
    assert plain(describe_labels(np.arange(1, 20), NAMES)) == "all but n0"
    assert plain(describe_labels(np.array([2, 5]), NAMES)) == "n2, n5"
    assert plain(describe_labels(np.array([0, 1, 2, 6, 7]), months)) == "1\N{EN DASH}3, 7, 8"
    steps = np.array([10, 20, 30, 40])
    assert plain(describe_labels(np.array([0, 1, 2]), steps)) == "10, 20, 30"


def test_long_lists_are_folded_or_left_out():
    even = np.arange(0, 20, 2)
    long = describe_labels(even, NAMES)
    short, full = re.fullmatch("<details><summary>(.*)</summary>(.*)</details>", long).groups()
    assert plain(short) == "n0, n2, n4, n6, n8, n10 and 4 more"
    assert plain(full) == ", ".join(f"n{i}" for i in range(0, 20, 2))
    assert plain(describe_labels(even, NAMES, budget=10)) == plain(short)


def test_boxes_and_effects_are_listed():
    made, *_ = make_fit(baseline="additive", radius=60.0, time_limit=2.0)
    heaviest = boxes_table(made)
    assert heaviest.count("<tr>") == 1 + min(12, len(made.model))
    assert ('class="bar minus"' in heaviest) == bool((made.model.weights[:12] < 0.0).any())
    effects = made.predictor.baseline.effects[:3]
    assert f"a{int(np.argmin(effects))}" in effects_table(made).split("mode A")[1]
    assert effects_table(make_fit()[0]) == ""
    assert "12 heaviest of" in boxes_table(make_fit()[0])
