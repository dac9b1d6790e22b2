"""Axes, ticks and labels that all pictures share."""

import numpy as np
import pytest

from intensor.plots.drawing import (
    drawable,
    label_indices,
    new_axes,
    plain_label,
    set_log_scale,
    value_range,
    wants_log,
)


def log_ticks(low, high):
    """Return (value, text) of the visible ticks of a logarithmic axis over a range."""
    ax = new_axes(None)
    ax.plot([0.0, 1.0], [low, high])
    set_log_scale(ax.yaxis)
    ax.figure.draw_without_rendering()
    bottom, top = ax.get_ylim()
    ticks = zip(ax.get_yticks(), ax.yaxis.get_ticklabels(), strict=True)
    return [(value, text.get_text()) for value, text in ticks if bottom <= value <= top]


@pytest.mark.parametrize(
    ("low", "high"),
    [
        *((1e-60, 2e-60), (0.97, 1.02), (1e-200, 1e200)),
        *(
            pytest.param(*ends, marks=pytest.mark.slow)
            for ends in ((1e-28, 1e4), (5e59, 6e60), (17.0, 9300.0))
        ),
    ],
)
def test_log_axes_have_a_handful_of_ticks_in_plain_text(low, high):
    ticks = log_ticks(low, high)
    assert 2 <= len(ticks) <= 12
    texts = [text for _, text in ticks]
    assert len(set(texts)) == len(texts)
    assert not any("$" in text for text in texts)  # no formula: text stays text
    assert all(0 < len(text) <= 14 for text in texts)


def test_log_ticks_say_what_they_stand_for():
    ticks = log_ticks(17.0, 9300.0)
    assert [text for _, text in ticks] == ["30", "100", "300", "1,000", "3,000", "10,000"]
    assert [value for value, _ in ticks] == pytest.approx([30, 100, 300, 1000, 3000, 10000])
    assert "10⁻²⁰" in [text for _, text in log_ticks(1e-28, 1e4)]


def test_numbers_that_no_axis_can_show_are_left_out():
    values = np.array([1.0, 5e-324, 1e308, -1e308, np.inf, np.nan])
    assert np.array_equal(
        drawable(values), [1.0, 0.0, np.nan, np.nan, np.nan, np.nan], equal_nan=True
    )


@pytest.mark.parametrize("value", [0.0, 5.0, -3.0, 4e-60, 1e60])
def test_equal_values_have_a_range_too(value):
    low, high = value_range(np.array([value, np.nan, value * (1.0 + 1e-15)]))
    assert low < value < high
    assert value_range(np.array([1.0, np.nan, 2.0])) == (1.0, 2.0)
    assert value_range(np.array([np.nan])) == (-0.5, 0.5)


def test_only_wide_ranges_are_logarithmic():
    assert wants_log([0.0, 1.0, 100.0])
    assert not wants_log([0.0, 5.0, 7.0])
    assert not wants_log([])
    assert not wants_log([np.nan, np.inf, -1.0])


def test_labels_are_never_formulas():
    assert plain_label("cost in $ or $") == r"cost in \$ or \$"
    assert plain_label("x" * 100).endswith("…")


def test_long_modes_show_some_of_their_labels():
    for size, n_shown in ((5, 5), (1000, 7)):
        ax = new_axes(None)
        label_indices(ax.xaxis, np.arange(size) * 7)
        ticks = [text.get_text() for text in ax.get_xticklabels()]
        assert len(ticks) == n_shown
        assert ticks[0] == "0"
        assert ticks[-1] == str((size - 1) * 7)
    label_indices(ax.yaxis, np.array(["a long label"] * 9))
    assert ax.get_yticklabels()[0].get_rotation() == 0.0
    label_indices(ax.xaxis, np.array(["a long label"] * 9))
    assert ax.get_xticklabels()[0].get_rotation() == 90.0
