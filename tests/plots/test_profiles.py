"""The picture of the components shows their profiles, weights and shares, the largest first."""

import numpy as np
import pytest
from matplotlib.text import Text

from graded_cases import graded_model_in, random_model
from intensor import plots
from intensor.data.labels import Labels, number_labels
from intensor.errors import LabelError, SettingError
from intensor.plots.profiles import MAX_POINTS, draw_profile, rank_terms
from report.cases import make_fit


def graded(**options):
    return graded_model_in(make_fit()[0], **options)


def test_terms_are_ranked_by_their_shares():
    made = graded()
    ranked = rank_terms(made.model, made.predictor.counts)
    shares = [one.share for one in ranked]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1.0, abs=1e-12)
    assert sorted(one.number for one in ranked) == list(range(len(made.model)))
    assert {one.kind for one in ranked} == {"box", "component"}
    for one in ranked:
        assert one.term.weight == made.model.weights[one.number]


def test_bars_are_as_high_as_the_entries():
    made = graded()
    figure = plots.components(made, n=5)
    ranked = rank_terms(made.model, made.predictor.counts)[:5]
    assert len(figure.axes) == 5 * 3
    for row, one in enumerate(ranked):
        for mode, profile in enumerate(one.term.profiles):
            panel = figure.axes[3 * row + mode]
            heights = [patch.get_height() for patch in panel.patches]
            np.testing.assert_allclose(heights, profile)
    texts = [text.get_text() for text in figure.findobj(Text)]
    assert "mode B" in texts
    assert "b8" in texts
    assert any(text.startswith(f"{ranked[0].kind} {ranked[0].number}\nweight") for text in texts)


def test_results_and_models_are_drawn_with_numbers_or_given_labels():
    made = graded()
    for source in (made.result, made.model):
        texts = [text.get_text() for text in plots.components(source).findobj(Text)]
        assert "a0" not in texts
        texts = [text.get_text() for text in plots.components(source, made.labels).findobj(Text)]
        assert "a0" in texts


def test_ordered_and_long_modes_have_lines():
    axes = plots.components(random_model((5,))).axes[0]
    assert len(axes.get_lines()) == 1  # numbers that rise
    names = np.array([f"n{i}" for i in range(500)], dtype=object)
    profile = np.zeros(500)
    profile[[7, 400]] = 0.5, 1.0
    axes.clear()
    draw_profile(axes, profile, names, negative=False)
    (line,) = axes.get_lines()
    assert line.get_xdata().size == MAX_POINTS
    assert axes.get_title(loc="right") == "n400, n7"
    axes.clear()
    draw_profile(axes, profile[:4] + 0.5, np.array([3, 1, 2, 4]), negative=True)
    assert len(axes.patches) == 4  # numbers in any order


def test_dates_have_lines():
    days = np.array(["2020-01-01", "2020-01-02", "2020-01-05"], dtype="datetime64[D]")
    labels = Labels(modes=("day",), indices=(days,), value="v")
    axes = plots.components(random_model((3,)), labels).axes[0]
    assert len(axes.get_lines()) == 1


def test_a_model_without_terms_can_be_drawn():
    figure = plots.components(random_model((3, 4), boxes=0, graded=0))
    figure.draw_without_rendering()


def test_what_cannot_be_drawn_is_refused():
    model = random_model((3, 4))
    with pytest.raises(SettingError, match="n is 0"):
        plots.components(model, n=0)
    with pytest.raises(LabelError, match="shape"):
        plots.components(model, number_labels((4, 3)))
    with pytest.raises(SettingError, match="expected a fit, a result of solve or a model"):
        plots.components([1.0])
