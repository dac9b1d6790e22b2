"""Models against dense tensors built by hand."""

import dataclasses
import functools

import numpy as np
import pytest

from intensor import errors
from intensor.model import model as module
from intensor.model.model import Box, Model, build_model
from intensor.problem.vertex import pack_vertices

SHAPES = [(6,), (3, 4), (2, 5, 3), (3, 2, 1, 4), (2, 2, 3, 1, 2)]


def random_model(shape, count=12):
    rng = np.random.default_rng([count, *shape])
    flags = rng.integers(0, 2, (count, sum(shape)), dtype=np.uint8)
    flags[0, np.cumsum(shape) - 1] = 1  # at least one vertex that covers something
    weights = rng.uniform(0.1, 1.0, count)
    return flags, weights, build_model(flags, weights, shape=shape, radius=weights.sum())


def by_hand(flags, weights, shape):
    """Return the dense tensor as a sum of outer products."""
    dense = np.zeros(shape)
    for row, weight in zip(flags, weights, strict=True):
        parts = np.split(row.astype(float), np.cumsum(shape)[:-1])
        dense += weight * functools.reduce(np.multiply.outer, parts)
    return dense


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [1, 12, 100])
def test_predict_and_dense_agree_with_outer_products(shape, count):
    flags, weights, model = random_model(shape, count)
    expected = by_hand(flags, weights, shape)
    assert expected.any()
    np.testing.assert_allclose(model.to_dense(), expected, rtol=1e-13, atol=1e-15)
    cells = np.indices(shape).reshape(len(shape), -1).T
    np.testing.assert_allclose(model.predict(cells), expected.reshape(-1), rtol=1e-13, atol=1e-15)


def test_predict_takes_repeated_cells_in_any_order():
    flags, weights, model = random_model((3, 4))
    dense = by_hand(flags, weights, (3, 4))
    cells = [[2, 3], [0, 0], [2, 3], [1, 2]]
    np.testing.assert_allclose(
        model.predict(cells), [dense[tuple(cell)] for cell in cells], rtol=1e-13
    )


@pytest.mark.parametrize("kind", [np.uint8, np.int32, np.uint64])
def test_evaluate_takes_columns_of_any_type(kind):
    _, _, model = random_model((4, 5, 3), 70)
    cells = np.random.default_rng(0).integers(0, (4, 5, 3), (100, 3))
    columns = tuple(cells.astype(kind).T)
    np.testing.assert_array_equal(model.evaluate(columns), model.predict(cells))


@pytest.mark.parametrize("kind", [int, float, np.uint8])
def test_predicting_no_cell_gives_nothing(kind):
    _, _, model = random_model((3, 4))
    values = model.predict(np.empty((0, 2), dtype=kind))
    assert values.shape == (0,)
    assert values.dtype == np.float64


@pytest.mark.parametrize(
    ("cells", "error", "message"),
    [
        (
            [[0, 4]],
            errors.CoordinateError,
            r"coords\[0, 1\] is 4; mode 1 allows indices from 0 to 3",
        ),
        ([[-1, 0]], errors.CoordinateError, r"coords\[0, 0\] is -1"),
        ([[0.0, 1.0]], errors.CoordinateError, "float64; expected integers"),
        ([[0, 1, 2]], errors.CoordinateError, r"3 column.*\(3, 4\) has 2 mode"),
        ([0, 1], errors.CoordinateError, r"1 dimension.*expected an \(n, p\)"),
        ([[0, 1], [2]], errors.CoordinateError, "expected equal rows"),
        (np.empty((0, 3), dtype=int), errors.EmptyDataError, r"\(0, 3\)"),
    ],
)
def test_bad_cells_are_refused(cells, error, message):
    _, _, model = random_model((3, 4))
    with pytest.raises(error, match=message):
        model.predict(cells)


def test_to_dense_refuses_what_is_too_large():
    shape = (1000,) * 12
    model = build_model(
        np.ones((1, sum(shape)), dtype=np.uint8), np.ones(1), shape=shape, radius=1.0
    )
    with pytest.raises(errors.DenseTooLargeError, match=r"8\.00e\+36 bytes.*predict.*limit"):
        model.to_dense()
    assert model.predict([[999] * 12]).tolist() == [1.0]


def empty_model(shape):
    return build_model(np.zeros((0, sum(shape)), np.uint8), np.empty(0), shape=shape, radius=1.0)


def test_to_dense_refuses_far_more_than_fits():
    with pytest.raises(errors.DenseTooLargeError, match=r"8\.00e\+150 bytes"):
        empty_model((10**5,) * 30).to_dense()


def test_to_dense_refuses_more_axes_than_arrays_have():
    with pytest.raises(errors.DenseTooLargeError, match="33 modes"):
        empty_model((2,) * 33).to_dense(limit=10**30)


def test_the_limit_is_in_bytes():
    _, _, model = random_model((3, 4))
    assert model.to_dense(limit=96).shape == (3, 4)
    with pytest.raises(errors.DenseTooLargeError, match=r"96.*at most 95"):
        model.to_dense(limit=95)


def test_by_default_it_must_fit_twice_into_what_is_available(monkeypatch):
    _, _, model = random_model((3, 4))
    monkeypatch.setattr(module, "available_memory", lambda: 191)
    with pytest.raises(errors.DenseTooLargeError, match=r"at most 95 are allowed \(191 are avail"):
        model.to_dense()
    monkeypatch.setattr(module, "available_memory", lambda: 192)
    assert model.to_dense().shape == (3, 4)
    monkeypatch.setattr(module, "available_memory", lambda: None)  # not known: no refusal
    assert model.to_dense().shape == (3, 4)


def test_equal_vertices_are_merged():
    flags = np.array([[1, 0, 1, 1], [0, 1, 1, 0], [1, 0, 1, 1]], dtype=np.uint8)
    model = build_model(flags, np.array([0.25, 0.3, 0.5]), shape=(2, 2), radius=2.0)
    assert model.weights.tolist() == [0.75, 0.3]
    np.testing.assert_array_equal(model.vertices.flags(), flags[:2])
    assert model.radius == 2.0


def test_empty_terms_are_dropped():
    flags = np.array(
        [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 1], [0, 1, 1, 0], [1, 1, 1, 1], [1, 1, 1, 1]],
        dtype=np.uint8,
    )
    weights = np.array([0.1, 0.2, 0.0, 0.4, 0.5, -0.5])
    model = build_model(flags, weights, shape=(2, 2), radius=1.0)
    assert model.weights.tolist() == [0.4]  # the others cover nothing, weigh nothing, or cancel
    assert model.vertices.flags().tolist() == [[0, 1, 1, 0]]


def test_the_largest_weight_comes_first_and_ties_keep_their_order():
    flags = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 1]], dtype=np.uint8)
    model = build_model(flags, np.array([0.2, 0.2, 0.6]), shape=(2, 1), radius=1.0)
    assert model.weights.tolist() == [0.6, 0.2, 0.2]
    assert model.vertices.flags().tolist() == [[1, 1, 1], [1, 0, 1], [0, 1, 1]]


@pytest.mark.parametrize("shape", SHAPES)
def test_tidying_keeps_the_tensor(shape):
    rng = np.random.default_rng(shape)
    flags = rng.integers(0, 2, (5, sum(shape)), dtype=np.uint8)[rng.integers(0, 5, 40)]
    weights = rng.uniform(size=40) * rng.integers(0, 2, 40)
    model = build_model(flags, weights, shape=shape, radius=40.0)
    assert len(model) <= 5
    assert (np.diff(model.weights) <= 0.0).all()
    assert (model.weights > 0.0).all()
    np.testing.assert_allclose(model.to_dense(), by_hand(flags, weights, shape), atol=1e-13)


def test_build_model_leaves_its_arguments_alone():
    flags, weights = np.ones((2, 4), dtype=np.uint8), np.array([0.5, 0.25])
    flags.flags.writeable = weights.flags.writeable = False
    assert build_model(flags, weights, shape=(2, 2), radius=1.0).weights.tolist() == [0.75]


@pytest.mark.parametrize("count", [0, 3])
def test_a_model_of_nothing_predicts_zero(count):
    flags = np.zeros((count, 5), dtype=np.uint8)
    model = build_model(flags, np.ones(count), shape=(2, 3), radius=1.0)
    assert len(model) == 0
    assert list(model) == []
    assert model.predict([[0, 0], [1, 2]]).tolist() == [0.0, 0.0]
    assert not model.to_dense().any()
    assert model.to_dense().shape == (2, 3)


def test_flags_must_fit_the_shape():
    with pytest.raises(errors.CoordinateError, match=r"4 flags; shape \(2, 3\) needs 5"):
        build_model(np.ones((1, 4), dtype=np.uint8), np.ones(1), shape=(2, 3), radius=1.0)


@pytest.mark.parametrize("shape", SHAPES)
def test_boxes_add_up_to_the_model(shape):
    _, _, model = random_model(shape, 70)
    dense = np.zeros(shape)
    boxes = list(model)
    assert len(boxes) == len(model)
    assert [box.weight for box in boxes] == model.weights.tolist()
    for box in boxes:
        assert isinstance(box, Box)
        assert all(indices.size for indices in box.indices)
        dense[np.ix_(*box.indices)] += box.weight
    np.testing.assert_allclose(dense, model.to_dense(), rtol=1e-15)


def test_a_model_says_what_it_is():
    flags = np.array([[1, 1, 1, 0, 1], [1, 0, 1, 1, 1]], dtype=np.uint8)
    model = build_model(flags, np.array([0.5, 0.25]), shape=(2, 3), radius=1.0)
    assert repr(model) == "<Model 2 x 3: 2 boxes, weights sum to 0.75>"
    assert model.shape == (2, 3)


def test_a_model_is_frozen():
    model = Model(
        radius=1.0, weights=np.ones(1), vertices=pack_vertices(np.ones((1, 2), np.uint8), (2,))
    )
    with pytest.raises(AttributeError):
        model.radius = 2.0


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_model_has_as_many_weights_as_boxes(count):
    flags = np.array([[1, 1, 0, 1], [0, 1, 1, 1]], dtype=np.uint8)
    model = build_model(flags, np.array([0.5, 0.25]), shape=(2, 2), radius=1.0)
    broken = dataclasses.replace(model, weights=np.ones(count))
    with pytest.raises(errors.ShapeError, match=rf"2 boxes has weights of shape \({count},\)"):
        broken.predict([[0, 0]])


def test_a_model_has_a_word_for_every_index():
    flags = np.array([[1, 1, 0, 1]], dtype=np.uint8)
    model = build_model(flags, np.ones(1), shape=(2, 2), radius=1.0)
    short = dataclasses.replace(model.vertices, words=model.vertices.words[:-1])
    broken = dataclasses.replace(model, vertices=short)
    with pytest.raises(errors.ShapeError, match=r"words of shape \(3, 1\); expected .* \(4, 1\)"):
        broken.evaluate((np.zeros(1, dtype=int), np.zeros(1, dtype=int)))
