"""The picture of the boxes colours the indices that they cover."""

import numpy as np
import pytest
from matplotlib.text import Text

from graded_cases import graded_model_in
from intensor import plots
from intensor.errors import SettingError
from report.cases import make_fit


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
    assert "a2" in [text.get_text() for text in figure.findobj(Text)]
    with pytest.raises(SettingError, match="most"):
        plots.boxes(made, most=0)


def test_components_are_as_opaque_as_their_entries():
    made, *_ = make_fit()
    made = graded_model_in(made)
    figure = plots.boxes(made, most=5)
    for mode, panel in enumerate(figure.axes[:3]):
        opacity = np.asarray(panel.images[0].get_array())[:, :, 3]
        profiles = [term.profiles[mode] for term in made.model.heaviest(5)]
        np.testing.assert_allclose(opacity, np.sqrt(profiles).T, atol=1e-12)
    assert "weight of the component (5 heaviest of 7)" in figure.axes[2].get_xlabel()
