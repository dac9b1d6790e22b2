"""The picture of the boxes colours the indices that they cover."""

import numpy as np
import pytest
from matplotlib.text import Text

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
