"""Models with graded components, alone and beside boxes, against dense tensors built by hand."""

import dataclasses
import math

import numpy as np
import pytest

from graded_cases import SHAPES, by_hand, random_model, random_rows
from intensor import Box, Component, errors
from intensor.model.model import Model, build_model
from intensor.problem.component import Components
from intensor.problem.vertex import pack_vertices

KINDS = {"graded": (0, 5), "both": (3, 4), "boxes": (4, 0), "many": (70, 30)}


def built(shape, kind, **options):
    boxes, graded = KINDS[kind]
    rows, weights = random_rows(shape, boxes=boxes, graded=graded, **options)
    model = build_model(rows, weights, shape=shape, radius=1.0, signed=options.get("signed", False))
    return rows, weights, model


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_way_to_evaluate_agrees_with_outer_products(shape, kind):
    for signed in (False, True):
        rows, weights, model = built(shape, kind, signed=signed)
        expected = by_hand(rows, weights, shape)
        assert expected.any()
        close = {"rtol": 1e-12, "atol": 1e-14}
        np.testing.assert_allclose(model.to_dense(), expected, **close)
        cells = np.indices(shape).reshape(len(shape), -1).T
        np.testing.assert_allclose(model.predict(cells), expected.reshape(-1), **close)
        assert np.array_equal(model.evaluate(tuple(cells.T)), model.predict(cells))
        added = sum(by_hand([np.concatenate(t.profiles)], [t.weight], shape) for t in model)
        np.testing.assert_allclose(added, expected, **close)


def test_terms_are_sorted_within_their_kind():
    model = random_model((4, 5, 3), boxes=6, graded=7, signed=True)
    count = len(model.vertices)
    assert (count, len(model.components), len(model)) == (6, 7, 13)
    for part in (model.weights[:count], model.weights[count:]):
        assert (np.diff(np.abs(part)) <= 0.0).all()
    terms = list(model)
    assert [type(term) for term in terms] == [Box] * 6 + [Component] * 7
    assert [term.weight for term in terms] == model.weights.tolist()
    heaviest = [term.weight for term in model.heaviest(5)]
    assert heaviest == sorted(model.weights.tolist(), key=abs, reverse=True)[:5]
    assert len(model.heaviest(50)) == 13


def test_terms_know_their_profiles_and_indices():
    rows = np.array([[1, 0, 1, 1, 0], [0.5, 1, 0, 1, 0.25]])
    box, component = build_model(rows, np.array([0.5, 0.25]), shape=(2, 3), radius=1.0)
    assert [profile.tolist() for profile in box.profiles] == [[1, 0], [1, 1, 0]]
    assert [profile.tolist() for profile in component.profiles] == [[0.5, 1], [0, 1, 0.25]]
    assert [indices.tolist() for indices in component.indices] == [[0, 1], [1, 2]]
    assert box.shape == component.shape == (2, 3)


def test_zeros_and_ones_give_the_same_model_as_flags():
    for signed in (False, True):
        rows, weights = random_rows((4, 3, 5), boxes=30, graded=0, signed=signed)
        options = {"shape": (4, 3, 5), "radius": 1.0, "signed": signed}
        plain = build_model(rows.astype(np.uint8), weights, **options)
        model = build_model(rows, weights, **options)
        assert model == plain
        assert model.weights.tobytes() == plain.weights.tobytes()
        assert model.vertices.words.tobytes() == plain.vertices.words.tobytes()
        assert len(model.components) == 0


def test_the_largest_entry_of_every_vector_is_1():
    rows = np.array([[0.5, 0.25, 0.0, 0.5, 0.25]])
    model = build_model(rows, np.array([4.0]), shape=(2, 3), radius=4.0)
    assert model.components.rows().tolist() == [[1.0, 0.5, 0.0, 1.0, 0.5]]
    assert model.weights.tolist() == [1.0]
    again = build_model(model.components.rows(), model.weights, shape=(2, 3), radius=4.0)
    assert again == model


def test_scaled_boxes_become_boxes_and_are_merged_with_others():
    rows = np.array([[0.5, 0.0, 0.25, 0.25], [1.0, 0.0, 1.0, 1.0]])
    model = build_model(rows, np.array([0.8, 0.1]), shape=(2, 2), radius=1.0)
    assert len(model.components) == 0
    assert model.weights.tolist() == [0.1 + 0.8 * 0.125]


def test_equal_components_are_merged_and_empty_ones_dropped():
    rows = np.array(
        [
            [1.0, 0.5, 1.0, 0.5],
            [0.5, 0.25, 0.5, 0.25],  # the same, scaled
            [0.5, 1.0, 0.0, 0.0],  # empty in the second mode
            [1.0, 0.25, 1.0, 1.0],  # cancels with the next
            [1.0, 0.25, 1.0, 1.0],
            [1.0, 0.125, 1.0, -0.0],
            [1.0, 0.125, 1.0, 0.0],
        ]
    )
    weights = np.array([0.5, 0.4, 9.0, 0.3, -0.3, 0.125, 0.125])
    model = build_model(rows, weights, shape=(2, 2), radius=9.0, signed=True)
    assert model.weights.tolist() == [0.5 + 0.4 * 0.25, 0.25]
    assert model.components.rows().tolist() == [rows[0].tolist(), rows[6].tolist()]


@pytest.mark.parametrize("wrong", [1.5, 1.0 + 1e-15, -0.1, math.nan, math.inf])
def test_factors_outside_0_and_1_are_refused(wrong):
    rows = np.array([[1.0, 0.5, 1.0, wrong]])
    with pytest.raises(errors.ValuesError, match="not numbers from 0 to 1"):
        build_model(rows, np.ones(1), shape=(2, 2), radius=1.0)


def test_build_model_leaves_its_arguments_alone():
    rows, weights = np.full((2, 4), 0.5), np.array([0.5, 0.25])
    rows.flags.writeable = weights.flags.writeable = False
    model = build_model(rows, weights, shape=(2, 2), radius=1.0)
    assert model.weights.tolist() == [0.75 * 0.25]


def test_a_model_says_what_it_is():
    def text(boxes, graded):
        return repr(random_model((4, 5), boxes=boxes, graded=graded))

    assert "4 x 5: 3 boxes and 4 components, weights" in text(3, 4)
    assert ": 1 box and 1 component," in text(1, 1)
    assert ": 12 components," in text(0, 12)
    assert ": 2 boxes," in text(2, 0)


def test_the_gauge_is_the_sum_of_the_sizes():
    model = random_model((4, 5), signed=True)
    assert model.weights.min() < 0.0
    assert model.gauge == math.fsum(abs(weight) for weight in model.weights.tolist())


def test_models_are_equal_if_all_parts_are():
    model, same = random_model((4, 5)), random_model((4, 5))
    assert model == same
    assert hash(model) == hash(same)
    assert model != "model"
    factors = model.components.factors.copy()
    factors[-1, 0] *= 0.5
    changes = (
        {"radius": 2.0},
        {"signed": True},
        {"weights": model.weights * 0.5},
        {"vertices": pack_vertices(1 - model.vertices.flags(), (4, 5))},
        {"components": Components((4, 5), factors)},
        {"components": Components((4, 5), factors[:, 1:])},
    )
    for change in changes:
        assert dataclasses.replace(model, **change) != model, change
    assert random_model((5, 4)) != random_model((4, 5))


def test_a_model_without_components_needs_none():
    vertices = pack_vertices(np.ones((1, 5), np.uint8), (2, 3))
    bare = Model(radius=1.0, weights=np.ones(1), vertices=vertices)
    assert len(bare.components) == 0
    assert bare == build_model(vertices.flags(), np.ones(1), shape=(2, 3), radius=1.0)
    assert bare.predict([[1, 2]]).tolist() == [1.0]


def test_arrays_that_are_too_short_are_refused():
    model = random_model((4, 5), boxes=2, graded=3)
    short = dataclasses.replace(model, weights=model.weights[:-1])
    with pytest.raises(errors.ShapeError, match=r"2 boxes and 3 components has weights of shape"):
        short.predict([[0, 0]])
    few = Components((4, 5), model.components.factors[:-1].copy())
    with pytest.raises(errors.ShapeError, match=r"factors of shape \(8, 3\); expected \(9, 3\)"):
        dataclasses.replace(model, components=few).predict([[0, 0]])
