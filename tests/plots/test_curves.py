"""Convergence and radius path show what was solved."""

import dataclasses

import numpy as np
import pytest
from matplotlib.text import Text

from intensor import plots
from intensor.errors import SettingError
from intensor.plots.curves import MAX_CURVE_POINTS, convergence_series
from intensor.solver.result import Status
from report.cases import make_fit, with_bound, without_trace


def test_convergence_shows_the_trace_of_fits_and_results():
    made, *_ = make_fit()
    trace = made.result.trace
    for source in (made, made.result):
        axes = plots.convergence(source)
        objective, bound = axes.get_lines()
        assert objective.get_label() == "objective"
        assert np.array_equal(objective.get_ydata(), [row.objective for row in trace])
        assert bound.get_label() == "proven bound"
        low, high = axes.get_ylim()
        assert low < trace[-1].objective
        assert trace[0].objective < high


def test_convergence_without_a_trace_says_so():
    figure = plots.convergence(without_trace(make_fit()[0])).figure
    assert "no progress was recorded" in [text.get_text() for text in figure.findobj(Text)]


def test_the_title_shows_the_gap_or_says_that_the_bound_is_useless():
    made = make_fit()[0]
    for share, words in [(0.0, "no useful bound at this size"), (0.5, ", gap ")]:
        title = plots.convergence(with_bound(made, share, status=Status.STALLED)).get_title()
        assert title.startswith("STALLED: objective")
        assert words in title


def test_convergence_refuses_what_is_not_a_result():
    with pytest.raises(SettingError, match="expected a fit or a result"):
        plots.convergence(3)


def test_long_traces_are_thinned_and_keep_their_ends():
    result = make_fit()[0].result
    row = result.trace[-1]
    trace = tuple(
        row._replace(iteration=i, seconds=1.0 + 0.1 * i, objective=1e6 / (i + 1))
        for i in range(5000)
    )
    series = convergence_series(dataclasses.replace(result, trace=trace))
    assert len(series) <= MAX_CURVE_POINTS
    assert series.times[0] == 0.0
    assert series.times[-1] == pytest.approx(499.9)
    assert series.objective[-1] == 200.0
    assert series.log
    still = tuple(row._replace(seconds=2.0) for row in trace)
    series = convergence_series(dataclasses.replace(result, trace=still))
    assert series.unit == "iterations"
    assert series.times[-1] == 4999.0


def test_radius_path_marks_the_choice():
    made, *_ = make_fit(radius="auto", transform="auto")
    axes = plots.radius_path(made)
    lines = axes.get_lines()
    assert len(lines) == len(made.validation.paths) + 1
    assert lines[-1].get_xydata().tolist() == [[made.path.radius, made.path.error]]
    assert axes.get_ylabel() == "held-out rmse of passengers"
    assert axes.get_title().startswith(f"RMSE {made.validation.expected_error:.4g} +- ")
    training = next(other for other in axes.figure.axes if other is not axes)
    assert training.get_lines()[0].get_ydata().tolist() == made.path.objectives.tolist()


def test_radius_path_does_not_zoom_into_rounding():
    made, *_ = make_fit(radius="auto")
    path = made.validation.path
    errors = 3.2 * (1.0 + 1e-15 * np.arange(len(path)))
    paths = (dataclasses.replace(path, errors=errors),)
    validation = dataclasses.replace(made.validation, paths=paths, chosen=0)
    axes = plots.radius_path(dataclasses.replace(made, validation=validation))
    assert axes.get_ylim() == pytest.approx((1.6, 4.8))


def test_radius_path_needs_a_validated_radius():
    with pytest.raises(SettingError, match="no path of radii"):
        plots.radius_path(make_fit()[0])
