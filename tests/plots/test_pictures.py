"""What holds for all pictures: any fit can be drawn, anywhere, without a window."""

import threading
import warnings

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

import intensor
from intensor import plots
from intensor.data.labels import Labels
from report.cases import HOSTILE, hostile_labels, make_fit, small_fit


def drawn(picture):
    """Draw a picture and return its figure."""
    figure = getattr(picture, "figure", None) or picture
    figure.draw_without_rendering()
    return figure


LONG = Labels(modes=("a", "b"), indices=(np.arange(3), np.arange(1000) * 7), value="v")
CASES = {
    "signed and hostile": lambda: make_fit(
        labels=hostile_labels(), baseline="additive", radius="auto", max_iterations=50
    ),
    "no box": lambda: small_fit(np.full(12, 5.0), radius=5.0, max_iterations=0),
}
MORE_CASES = {
    "signed": lambda: make_fit(baseline="additive", radius=60.0, time_limit=2.0),
    "hostile": lambda: make_fit(labels=hostile_labels(), radius="auto"),
    "six modes": lambda: make_fit(shape=(2, 3, 2, 3, 2, 2)),
    "long mode": lambda: make_fit(shape=(3, 1000), n=3000, labels=LONG, time_limit=1.0),
    "zeros": lambda: small_fit(np.zeros(12), radius=5.0),
}


@pytest.mark.filterwarnings("ignore:Glyph .* missing from")
@pytest.mark.parametrize(
    "make",
    [
        *(pytest.param(make, id=name) for name, make in CASES.items()),
        *(pytest.param(make, id=name, marks=pytest.mark.slow) for name, make in MORE_CASES.items()),
    ],
)
def test_every_fit_can_be_drawn(make):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", intensor.errors.EmptyModelWarning)
        made, coords, values = make()
    drawn(plots.convergence(made))
    drawn(plots.boxes(made))
    drawn(plots.components(made))
    drawn(plots.slices(made, coords, values))
    drawn(plots.residuals(made, coords, values))
    if made.validation is not None:
        drawn(plots.radius_path(made))


def test_given_axes_and_figures_are_used():
    made, coords, values = make_fit(radius="auto")
    axes = Figure(layout="constrained").subplots()
    assert plots.convergence(made, ax=axes) is axes
    assert plots.radius_path(made, ax=axes) is axes
    parts = Figure(figsize=(12, 12), layout="constrained").subfigures(2, 2)
    assert plots.components(made, n=2, figure=parts[1, 1]) is parts[1, 1]
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
    drawn(plots.components(made))
    assert not any(HOSTILE[4] in text.get_text() for text in figure.findobj(Text))


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
