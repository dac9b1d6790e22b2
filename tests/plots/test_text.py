"""Labels become one safe line, numbers keep the digits they promise."""

import math

import numpy as np
import pytest

from intensor.plots.text import clean, count, number, percent, shorten


def test_number_keeps_the_digits_it_promises():
    rng = np.random.default_rng(0)
    superscripts = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
    for value in 10.0 ** rng.uniform(-40, 40, 200):
        text = number(value).replace(",", "").replace("\xa0", "")
        head, _, power = text.partition("\N{MULTIPLICATION SIGN}10")
        shown = float(head) * 10.0 ** int(power.translate(superscripts) or 0)
        assert shown == pytest.approx(value, rel=5e-4)


def test_extreme_numbers_stay_readable():
    assert number(math.nan) == "not a number"
    assert number(-math.inf) == "\N{MINUS SIGN}∞"
    assert count(10**15 - 1) == "999,999,999,999,999"
    assert percent(1e-12).startswith("<")


def test_labels_are_cleaned_but_not_maimed():
    family = "👩\N{ZERO WIDTH JOINER}👧"
    assert clean(family) == family
    assert clean("שלום") == "שלום"
    assert clean("a\nb\tc") == "a b c"
    assert clean("") == clean(" \n") == "(empty)"
    assert clean("\u202eabc\u2069") == "\ufffdabc\ufffd"
    assert len(shorten("x" * 100)) == 60
