"""The table of a model adds up to its tensor again."""

import numpy as np
import pytest

from graded_cases import SHAPES, by_hand, random_model
from intensor.data.labels import Labels, number_labels
from intensor.errors import LabelError
from intensor.model.model import build_model

COLUMNS = ["component", "weight", "mode", "index", "label", "value"]


@pytest.mark.parametrize("counts", [(0, 4), (3, 4), (2, 0), (0, 0)])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_table_adds_up_to_the_tensor(shape, counts):
    model = random_model(shape, boxes=counts[0], graded=counts[1]) if any(counts) else empty(shape)
    frame = model.to_frame()
    assert frame.column_names == COLUMNS
    rows, weights = np.zeros((len(model), sum(shape))), np.zeros(len(model))
    starts = np.cumsum([0, *shape])
    for row in frame.to_pylist():
        mode = int(row["mode"].removeprefix("mode_"))
        assert row["label"] == str(row["index"])
        rows[row["component"], starts[mode] + row["index"]] = row["value"]
        weights[row["component"]] = row["weight"]
    assert 0.0 not in frame["value"].to_pylist()
    np.testing.assert_allclose(by_hand(rows, weights, shape), model.to_dense(), atol=1e-15)


def empty(shape):
    return build_model(np.empty((0, sum(shape))), np.empty(0), shape=shape, radius=1.0)


def test_labels_of_every_type_are_text():
    days = np.array(["2024-02-29", "1969-12-31"], dtype="M8[D]")
    names = np.array(["ann", 7, True], dtype=object)
    model = build_model(np.array([[1, 0.5, 0.5, 0, 1]]), np.ones(1), shape=(2, 3), radius=1.0)
    frame = model.to_frame(Labels(modes=("day", "who"), indices=(days, names)))
    assert frame["mode"].to_pylist() == ["day", "day", "who", "who"]
    assert frame["label"].to_pylist() == ["2024-02-29", "1969-12-31", "ann", "True"]
    assert frame["index"].to_pylist() == [0, 1, 0, 2]
    assert frame["value"].to_pylist() == [1.0, 0.5, 0.5, 1.0]


def test_labels_must_fit():
    with pytest.raises(LabelError, match=r"shape \(3, 2\), the model has \(2, 3\)"):
        empty((2, 3)).to_frame(number_labels((3, 2)))
