"""Pictures: every fit can be drawn, without a window, and what is drawn is what was fitted."""

import io
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

import intensor
from intensor import plots
from intensor.data.labels import Labels
from intensor.errors import MissingExtraError, SettingError
from intensor.fitting.fit import fit
from intensor.fitting.options import check_options
from report.cases import HOSTILE, hostile_labels, make_fit, without_trace


def drawn(picture):
    """Render a picture and return its figure."""
    figure = getattr(picture, "figure", None) or picture
    figure.savefig(io.BytesIO(), format="png", dpi=40)
    return figure


def texts(figure):
    return [text.get_text() for text in figure.findobj(Text)]


CASES = {
    "signed": lambda: make_fit(baseline="additive", radius=60.0, time_limit=2.0),
    "six modes": lambda: make_fit(shape=(2, 3, 2, 3, 2, 2)),
    "long mode": lambda: make_fit(shape=(3, 1000), n=3000, labels=_long(), time_limit=1.0),
    "hostile": lambda: make_fit(labels=hostile_labels(), radius="auto"),
    "zeros": lambda: _constant(0.0),
    "no box": lambda: _constant(5.0, max_iterations=0),
}


def _long():
    return Labels(modes=("a", "b"), indices=(np.arange(3), np.arange(1000) * 7), value="v")


def _constant(value, **words):
    coords, values = np.argwhere(np.ones((3, 4))), np.full(12, value)
    return fit(coords, values, check_options(radius=5.0, **words)), coords, values


@pytest.fixture(scope="module", params=CASES)
def case(request):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", intensor.errors.EmptyModelWarning)
        return CASES[request.param]()


@pytest.mark.filterwarnings("ignore:Glyph .* missing from")
def test_every_fit_can_be_drawn(case):
    made, coords, values = case
    drawn(plots.convergence(made))
    drawn(plots.boxes(made))
    drawn(plots.slices(made, coords, values))
    drawn(plots.residuals(made, coords, values))
    if made.validation is not None:
        drawn(plots.radius_path(made))


def test_one_mode_has_no_slices():
    made, coords, values = make_fit(shape=(7,), n=20)
    drawn(plots.boxes(made))
    drawn(plots.residuals(made, coords, values))
    with pytest.raises(SettingError, match="needs two modes"):
        plots.slices(made, coords, values)


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
    assert "no progress was recorded" in texts(drawn(plots.convergence(without_trace(made))))
    with pytest.raises(SettingError, match="expected a fit or a result"):
        plots.convergence(3)


def test_radius_path_marks_the_choice():
    made, *_ = make_fit(radius="auto", transform="auto")
    axes = plots.radius_path(made)
    lines = axes.get_lines()
    assert len(lines) == len(made.validation.paths) + 1
    assert lines[-1].get_xydata().tolist() == [[made.path.radius, made.path.error]]
    assert axes.get_ylabel() == "held-out rmse of passengers"
    with pytest.raises(SettingError, match="no path of radii"):
        plots.radius_path(make_fit()[0])


def test_boxes_colour_what_is_covered():
    made, *_ = make_fit()
    figure = plots.boxes(made, most=5)
    panels = figure.axes[:3]
    boxes = list(made.model)[:5]
    for mode, panel in enumerate(panels):
        opacity = np.asarray(panel.images[0].get_array())[:, :, 3]
        assert opacity.shape == (made.shape[mode], min(5, len(boxes)))
        for column, box in enumerate(boxes):
            assert np.flatnonzero(opacity[:, column]).tolist() == box.indices[mode].tolist()
    assert "a2" in texts(figure)
    with pytest.raises(SettingError, match="most"):
        plots.boxes(made, most=0)


def test_slices_show_the_fullest_slice_and_leave_missing_cells_blank():
    made, coords, values = make_fit(shape=(4, 5, 3), n=25)
    figure = plots.slices(made, coords, values)
    left, right = (np.ma.asarray(axes.images[0].get_array()) for axes in figure.axes[:2])
    cells = np.unique(coords, axis=0)
    best = int(np.argmax(np.bincount(cells[:, 2])))
    seen = {tuple(cell[:2]) for cell in cells.tolist() if cell[2] == best}
    assert {tuple(place) for place in np.argwhere(~np.ma.getmaskarray(left)).tolist()} == seen
    i, j = next(iter(seen))
    inside = np.all(coords == (i, j, best), axis=1)
    assert left[i, j] == pytest.approx(values[inside].mean())
    assert right[3, 1] == pytest.approx(made.predict([[3, 1, best]], unseen="mean")[0])
    assert figure.axes[0].images[0].get_clim() == figure.axes[1].images[0].get_clim()
    assert figure.get_suptitle() == f"mode C = c{best}"


def test_slices_of_other_modes():
    made, coords, values = make_fit(shape=(4, 5, 3), n=25)
    figure = plots.slices(made, coords, values, modes=(2, 0), fixed={1: 4})
    assert figure.axes[1].images[0].get_array().shape == (3, 4)
    assert figure.axes[0].get_ylabel() == "mode C"
    predicted = made.predict([[1, 4, 2]], unseen="mean")[0]
    assert figure.axes[1].images[0].get_array()[2, 1] == pytest.approx(predicted)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"modes": (0, 0)}, "two different"),
        ({"modes": (0, 9)}, "from 0 to 2"),
        ({"modes": ("a", 1)}, "two numbers"),
        ({"modes": (0,)}, "two numbers"),
        ({"fixed": {0: 1}}, r"each of \[2\]"),
        ({"fixed": {2: 99}}, "expected 0 to 3"),
    ],
)
def test_slices_say_what_is_wrong(words, message):
    made, coords, values = make_fit()
    with pytest.raises(SettingError, match=message):
        plots.slices(made, coords, values, **words)


def test_residuals_count_all_observations():
    made, coords, values = make_fit(n=3000)
    figure = plots.residuals(made, coords, values)
    bars = next(axes for axes in figure.axes if axes.patches)
    assert sum(bar.get_height() for bar in bars.patches) == 3000
    assert figure.axes[0].get_xlabel() == "observed passengers"
    few = plots.residuals(made, coords[:50], values[:50])
    assert len(few.axes[0].collections[0].get_offsets()) == 50


def test_given_axes_and_figures_are_used():
    made, coords, values = make_fit(radius="auto")
    figure = Figure(layout="constrained")
    axes = figure.subplots()
    assert plots.convergence(made, ax=axes) is axes
    parts = Figure(figsize=(12, 12), layout="constrained").subfigures(2, 2)
    assert plots.boxes(made, figure=parts[0, 0]) is parts[0, 0]
    assert plots.slices(made, coords, values, figure=parts[0, 1]) is parts[0, 1]
    assert plots.residuals(made, coords, values, figure=parts[1, 0]) is parts[1, 0]


def test_labels_are_plain_text():
    labels = hostile_labels((3, 9, 4))
    labels = Labels(modes=("$\\frac$", "b", "c"), indices=labels.indices, value="cost in $ or $")
    made, coords, values = make_fit(labels=labels)
    figure = drawn(plots.residuals(made, coords, values))
    assert figure.axes[0].get_xlabel() == r"observed cost in \$ or \$"
    drawn(plots.boxes(made))
    assert not any(HOSTILE[4] in text for text in texts(figure))


def test_pictures_can_be_made_in_threads():
    made, coords, values = make_fit()
    failures = []

    def draw():
        try:
            drawn(plots.residuals(made, coords, values))
        except Exception as problem:
            failures.append(problem)

    threads = [threading.Thread(target=draw) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch):
    made, coords, values = make_fit()
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    for draw in (
        lambda: plots.convergence(made),
        lambda: plots.boxes(made),
        lambda: plots.slices(made, coords, values),
        lambda: plots.residuals(made, coords, values),
    ):
        with pytest.raises(MissingExtraError, match=r"pip install 'intensor\[plots\]'"):
            draw()


def test_neither_the_package_nor_a_report_imports_matplotlib():
    code = "import sys, intensor.plots, intensor.report; print('matplotlib' in sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "False"
    assert intensor.plots is plots
