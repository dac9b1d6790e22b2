"""Pictures of errors count every observation once."""

import numpy as np

from intensor import plots
from intensor.plots.accuracy import MAX_POINTS, draw_error_counts, draw_scatter
from intensor.plots.drawing import new_axes
from report.cases import make_fit


def test_residuals_count_all_observations():
    made, coords, values = make_fit(n=3000)
    figure = plots.residuals(made, coords, values)
    bars = next(axes for axes in figure.axes if axes.patches)
    assert sum(bar.get_height() for bar in bars.patches) == 3000
    assert figure.axes[0].get_xlabel() == "observed passengers"
    few = plots.residuals(made, coords[:50], values[:50])
    assert len(few.axes[0].collections[0].get_offsets()) == 50


def test_many_observations_are_counted_in_hexagons():
    observed = np.random.default_rng(0).random(MAX_POINTS + 1)
    hexagons = draw_scatter(new_axes(None), observed, observed, value="v")
    assert hexagons.get_array().sum() == observed.size
    assert draw_scatter(new_axes(None), observed[1:], observed[1:], value="v") is None


def test_counts_of_many_errors_are_logarithmic():
    for size, name in ((10, "observations"), (11, "observations, log scale")):
        ax = new_axes(None)
        draw_error_counts(ax, np.linspace(-2.0, 1.0, size), value="v")
        assert ax.get_ylabel() == name
        assert ax.get_xlabel() == "predicted minus observed v"
