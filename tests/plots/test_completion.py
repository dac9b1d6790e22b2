"""Slices show observed cells as they are and missing ones blank, beside the completed slice."""

import numpy as np
import pytest

from intensor import plots
from intensor.errors import SettingError
from report.cases import make_fit


@pytest.fixture(scope="module")
def small():
    return make_fit(shape=(4, 5, 3), n=25)


def test_slices_show_the_fullest_slice_and_leave_missing_cells_blank(small):
    made, coords, values = small
    figure = plots.slices(made, coords, values)
    left, right = (np.ma.asarray(axes.images[0].get_array()) for axes in figure.axes[:2])
    cells = np.unique(coords, axis=0)
    best = int(np.argmax(np.bincount(cells[:, 2])))
    seen = {tuple(cell[:2]) for cell in cells.tolist() if cell[2] == best}
    assert {tuple(cell) for cell in np.argwhere(~np.ma.getmaskarray(left)).tolist()} == seen
    i, j = next(iter(seen))
    inside = np.all(coords == (i, j, best), axis=1)
    assert left[i, j] == pytest.approx(values[inside].mean())
    assert right[3, 1] == pytest.approx(made.predict([[3, 1, best]], unseen="mean")[0])
    assert figure.axes[0].images[0].get_clim() == figure.axes[1].images[0].get_clim()
    assert figure.axes[0].get_title() == f"observed ({len(seen)} cells)"
    assert figure.get_suptitle() == f"mode C = c{best}"


def test_slices_may_show_other_modes(small):
    made, coords, values = small
    figure = plots.slices(made, coords, values, modes=(2, 0), fixed={1: 4})
    assert figure.axes[1].images[0].get_array().shape == (3, 4)
    assert figure.axes[0].get_ylabel() == "mode C"
    predicted = made.predict([[1, 4, 2]], unseen="mean")[0]
    assert figure.axes[1].images[0].get_array()[2, 1] == pytest.approx(predicted)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"modes": (0, 0)}, "two different"),
        ({"modes": (0, 9)}, "from 0 to 2"),
        ({"modes": ("a", 1)}, "two numbers"),
        ({"modes": (0,)}, "two numbers"),
        ({"fixed": {0: 1}}, r"each of \[2\]"),
        ({"fixed": {2: 99}}, "expected 0 to 2"),
    ],
)
def test_slices_say_what_is_wrong(small, options, message):
    with pytest.raises(SettingError, match=message):
        plots.slices(*small, **options)


def test_a_slice_needs_two_modes():
    with pytest.raises(SettingError, match="needs two modes"):
        plots.slices(*make_fit(shape=(7,), n=20))
