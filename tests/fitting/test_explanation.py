"""An explanation adds up to the prediction, names its parts and takes a cell in any form."""

import dataclasses
import math
import warnings

import numpy as np
import pandas as pd
import pytest

import intensor
from graded_cases import graded_model_in
from intensor.data.labels import Labels, number_labels
from intensor.errors import (
    CoordinateError,
    LabelError,
    SettingError,
    UnseenIndexError,
    UnseenIndexWarning,
)
from report.cases import blended, make_fit, without_terms

FITS = {
    "boxes": make_fit,
    "graded": lambda: (graded_model_in(make_fit()[0]), *make_fit()[1:]),
    "everything": lambda: make_fit(
        radius=60.0, transform="sqrt", baseline="additive", remainder="kriging", max_iterations=50
    ),
}


@pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in FITS.items()])
def test_contributions_add_up_to_the_prediction(make):
    made, coords, _ = make()
    cells = np.concatenate((coords[:10], [[0, -1, 2], [-1, -1, -1]]))
    for cell, predicted in zip(cells, made.predict(cells, unseen="mean"), strict=True):
        found = made.explain(cell, unseen="mean")
        assert math.fsum(term.value for term in found.terms) == found.fitted
        fitted = made.predictor.fitted([cell], unseen="mean")[0]
        assert found.fitted == pytest.approx(fitted, rel=1e-12, abs=1e-12)
        assert found.prediction == pytest.approx(predicted, rel=1e-12, abs=1e-12)
        sizes = [abs(term.value) for term in found.terms]
        assert sizes == sorted(sizes, reverse=True)
        for term in found.terms:
            if term.weight is not None:
                assert term.value == pytest.approx(term.weight * math.prod(term.entries), rel=1e-14)


def test_kinds_and_names():
    made, *_ = FITS["everything"]()
    found = made.explain(["a1", "b2", "c3"])
    kinds = [term.kind for term in found.terms]
    assert {kind: kinds.count(kind) for kind in ("mean", "effect", "remainder")} == {
        "mean": 1,
        "effect": 3,
        "remainder": 1,
    }
    names = [term.name for term in found.terms]
    assert "effect of mode B b2" in names
    text = str(found)
    assert text.startswith("passengers of mode A a1, mode B b2, mode C c3: ")
    assert "sqrt of passengers, the sum" in text
    assert "The sqrt is undone" in text
    assert len(text.splitlines()) <= 16
    averaged = made.explain((0, -1, 1), unseen="mean").terms
    assert "effect of an average mode B" in [term.name for term in averaged]


def test_terms_are_numbered_as_in_the_frame():
    made = graded_model_in(make_fit()[0])
    for term in made.explain((0, 1, 2)).terms:
        known = list(made.model)[term.number]
        assert term.weight == known.weight
        assert term.kind == type(known).__name__.lower()
        entries = [profile[i] for profile, i in zip(known.profiles, (0, 1, 2), strict=True)]
        assert term.entries == tuple(entries)


def test_cells_in_all_forms():
    made, *_ = make_fit()
    wanted = made.explain((1, 2, 3))
    assert wanted.labels == ("a1", "b2", "c3")
    named = {"mode C": "c3", "mode A": "a1", "mode B": "b2"}
    table = pd.DataFrame([named])
    for cell in (
        named,
        ["a1", "b2", "c3"],
        np.array([1, 2, 3]),
        [[1, 2, 3]],
        np.array(["a1", "b2", "c3"], dtype=object),
        {name: [label] for name, label in named.items()},
        table,
    ):
        assert made.explain(cell) == wanted


def test_labels_that_are_numbers_need_a_mapping():
    labels = Labels(modes=("x", "y"), indices=(np.array([5, 6, 7]), np.arange(4)), value="v")
    made, *_ = make_fit((3, 4), 40, labels=labels)
    assert made.explain({"x": 6, "y": 0}).labels == ("6", "0")
    assert made.explain((1, 0)).labels == ("6", "0")


def test_the_frame_has_a_row_per_term():
    made, *_ = FITS["everything"]()
    found = made.explain((1, 2, 3))
    frame = found.to_frame()
    assert frame.num_rows == len(found.terms)
    assert math.fsum(frame["contribution"].to_pylist()) == found.fitted
    assert "entry of mode B" in frame.column_names
    assert frame["weight"].to_pylist() == [term.weight for term in found.terms]


@pytest.mark.filterwarnings("ignore::intensor.errors.EmptyModelWarning")
def test_a_model_without_terms():
    coords, values = np.argwhere(np.ones((3, 4))), np.full(12, 5.0)
    plain = {"transform": "none", "baseline": "none", "remainder": "none"}
    options = {"radius": 5.0, "max_iterations": 0, "exact": "off", **plain}
    made = intensor.TensorCompleter(**options).fit(coords, values).fit_
    found = made.explain((0, 0))
    assert (found.terms, found.fitted, found.prediction) == ((), 0.0, 0.0)
    assert found.to_frame().num_rows == 0
    assert "= 0  value, the sum" in str(found)


def test_negative_sums_are_predicted_as_zero():
    made, *_ = make_fit(baseline="additive", radius=60.0, max_iterations=50)
    low = dataclasses.replace(made.predictor.baseline, mean=-1e3)
    predictor = dataclasses.replace(made.predictor, baseline=low)
    found = dataclasses.replace(made, predictor=predictor).explain((0, 0, 0))
    assert found.fitted < 0.0 == found.prediction
    assert "since it is never below 0" in str(found)


def test_a_clipped_prediction_says_so():
    made, *_ = make_fit()
    cells = [(0, 0, 0), (1, 2, 3)]
    low, high = sorted(float(made.predict([cell])[0]) for cell in cells)
    assert low < high
    bounded = dataclasses.replace(made, clip=(None, (low + high) / 2))
    for cell in cells:
        found = bounded.explain(cell)
        assert found.prediction == pytest.approx(bounded.predict([cell])[0], rel=1e-12)
        assert found.clipped == (found.own_prediction > found.prediction)
        assert ("clips its predictions" in str(found)) == found.clipped
    assert {bounded.explain(cell).clipped for cell in cells} == {True, False}


def test_unseen_labels_are_averaged_and_announced():
    made, *_ = make_fit()
    cell = {"mode A": "a1", "mode B": "new", "mode C": "c3"}
    with pytest.warns(UnseenIndexWarning, match="'new' in column 'mode B'") as caught:
        found = made.explain(cell, unseen="warn")
    assert caught[0].filename == __file__
    assert found.labels == ("a1", "new", "c3")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert made.explain(cell).prediction == found.prediction, "the mean is the default"
    with pytest.raises(UnseenIndexError):
        made.explain(cell, unseen="error")
    with pytest.raises(UnseenIndexError, match="index 70 of mode 1"):
        made.explain((0, 70, 0), unseen="error")
    assert made.explain((0, 70, -1), unseen="mean").labels == ("a0", "number 70", "(unknown)")


def test_labels_cannot_control_a_terminal():
    labels = Labels(
        modes=("x", "y"),
        indices=(np.array(["a\x1b[31m", "b\nc", "d"], dtype=object), np.arange(4)),
        value="v\r",
    )
    made, *_ = make_fit((3, 4), 40, labels=labels)
    text = str(made.explain((0, 0))) + str(made.explain((1, 0)))
    assert not set("\x1b\r") & set(text)
    assert "b\N{REPLACEMENT CHARACTER}c" in text


def test_other_cells_are_refused():
    made, coords, _ = make_fit()
    with pytest.raises(CoordinateError, match="expected one cell"):
        made.explain(coords[:2])
    with pytest.raises(LabelError, match="has 2 entries; expected one per mode"):
        made.explain(["a1", "b2"])
    with pytest.raises(LabelError, match="mode C"):
        made.explain({"mode A": "a1", "mode B": "b2"})
    with pytest.raises(CoordinateError):
        made.explain(7)
    with pytest.raises(SettingError):
        made.explain((0, 0, 0), unseen="maybe")


def test_modes_of_the_same_name_need_positions():
    numbered = number_labels((3, 4))
    labels = Labels(modes=("x", "x"), indices=numbered.indices, value="v")
    made, *_ = make_fit((3, 4), 40, labels=labels)
    assert made.explain((1, 2)).labels == ("1", "2")
    with pytest.raises(LabelError, match="same name"):
        made.explain(("1", "2"))


def test_partners_without_terms_say_what_they_predict_by():
    made, *_ = make_fit()
    blend = blended(
        made,
        without_terms(made, 0.25, method="smooth field"),
        without_terms(made, 0.25),
    )
    found = blend.explain((1, 2, 3))
    assert [one.method for one in (found, *found.partners)] == ["", "a smooth field", "the mean"]
    text = str(found)
    assert f"  50 % of it is {found.own_prediction:.6g}, the sum of" in text
    assert "  25 % of it is 1, by partner 1, a smooth field: passengers" in text
    assert "  25 % of it is 0, by partner 2, the mean: passengers" in text
    assert found.prediction == pytest.approx(0.5 * found.own_prediction + 0.25)


def test_a_model_of_terms_without_a_share_is_explained_all_the_same():
    made, *_ = make_fit()
    found = blended(made, without_terms(made, 1.0, method="interpolation")).explain((1, 2, 3))
    assert found.prediction == 1.0
    assert (
        "The model of terms has no share in the prediction; it is kept to be read. It predicts "
        f"{found.own_prediction:.6g}, the sum of"
    ) in str(found)
    assert "  100 % of it is 1, by partner 1, interpolation: passengers" in str(found)
