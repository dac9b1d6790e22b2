"""Labels become one safe line, numbers keep the digits they promise."""

import math

import numpy as np
import pytest

from intensor.plots.text import clean, count, number, percent, seconds, shorten


def typed(text):
    """Return a text in characters that a keyboard has, except superscripts."""
    return text.translate(
        str.maketrans("\N{NO-BREAK SPACE}\N{MULTIPLICATION SIGN}\N{MINUS SIGN}", " x-")
    )


def test_numbers_are_written_for_people():
    written = [typed(number(value)) for value in (1234.567, 0.5, 0.0, -2.0, 1.5e-7)]
    assert written == ["1,235", "0.5", "0", "-2", "1.5 x 10⁻⁷"]
    assert (count(59904), typed(count(10**30))) == ("59,904", "1 x 10³⁰")
    shares = (0.0, 1e-9, 0.0645, 0.99999, 1.0)
    written = [typed(percent(share)) for share in shares]
    assert written == ["0 %", "< 0.01 %", "6.45 %", "> 99.9 %", "100 %"]
    assert (typed(seconds(0.1234)), typed(seconds(200.0))) == ("0.12 s", "3 min 20 s")


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
    assert clean("a\x00b") == "a\ufffdb"
    assert clean(3) == "3"
    assert clean(np.datetime64("2013-01-01T00:00:00.000000000")) == "2013-01-01"
    assert clean("") == clean(" \n") == "(empty)"
    assert clean("\u202eabc\u2069") == "\ufffdabc\ufffd"
    assert len(shorten("x" * 100)) == 60
