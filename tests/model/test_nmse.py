"""The normalised error from boxes against the one from dense tensors."""

import numpy as np
import pytest

from intensor import errors, planted
from intensor.model.arithmetic import nmse
from intensor.model.model import build_model


def random_model(shape, seed, count=8):
    rng = np.random.default_rng(seed)
    flags = (rng.uniform(size=(count, sum(shape))) < 0.7).astype(np.uint8)
    return build_model(flags, rng.uniform(0.1, 1.0, count), shape=shape, radius=float(count))


@pytest.mark.parametrize("shape", [(7,), (4, 5), (3, 4, 2), (2, 3, 2, 3)])
def test_against_dense_tensors(shape):
    for counts in ((8, 8), (1, 5), (70, 3), (0, 4)):
        model = random_model(shape, 1, counts[0])
        truth = random_model(shape, 2, counts[1])
        dense, other = model.to_dense(), truth.to_dense()
        assert other.any()
        expected = ((dense - other) ** 2).sum() / (other**2).sum()
        assert nmse(model, truth) == pytest.approx(expected, rel=1e-11)


def test_a_model_without_boxes_is_all_wrong():
    truth = random_model((4, 5), 1)
    nothing = random_model((4, 5), 1, count=0)
    assert nmse(nothing, truth) == pytest.approx(1.0, rel=1e-14)


def test_the_error_is_relative_to_the_truth():
    shape = (3, 4)
    flags = np.ones((1, 7), dtype=np.uint8)
    one = build_model(flags, np.array([1.0]), shape=shape, radius=1.0)
    three = build_model(flags, np.array([3.0]), shape=shape, radius=3.0)
    assert nmse(three, one) == 4.0
    assert nmse(one, three) == pytest.approx(4.0 / 9.0, rel=1e-15)


@pytest.mark.parametrize("rep", range(10))
def test_equal_models_are_exactly_equal(rep):
    truth = planted((10, 9, 8), 10, rep).truth
    flags, weights = truth.vertices.flags(), truth.weights
    order = np.random.default_rng(rep).permutation(len(truth))
    same = build_model(flags[order], weights[order], shape=truth.shape, radius=5.0)
    assert nmse(same, truth) == 0.0


@pytest.mark.parametrize("rep", range(5))
def test_equal_tensors_from_other_boxes_are_nearly_equal(rep):
    # Cut every box in two along the first mode: other vertices, same tensor.
    truth = planted((6, 5, 4), 10, rep).truth
    flags = truth.vertices.flags()
    upper, lower = flags.copy(), flags.copy()
    upper[:, :3] = 0
    lower[:, 3:6] = 0
    cut = build_model(
        np.concatenate((upper, lower)), np.tile(truth.weights, 2), shape=truth.shape, radius=1.0
    )
    assert 0.0 <= nmse(cut, truth) <= 1e-14


def test_no_cell_is_visited():
    shape = (1000,) * 12
    truth = random_model(shape, 3, 4)
    twice = build_model(truth.vertices.flags(), 2.0 * truth.weights, shape=shape, radius=8.0)
    assert nmse(twice, truth) == pytest.approx(1.0, rel=1e-12)


def test_shapes_must_agree():
    with pytest.raises(errors.ShapeError, match=r"model has shape \(3, 4\), the truth \(4, 3\)"):
        nmse(random_model((3, 4), 0), random_model((4, 3), 0))


def test_a_truth_of_nothing_is_refused():
    with pytest.raises(errors.ShapeError, match=r"truth is zero everywhere.*not defined"):
        nmse(random_model((3, 4), 0), random_model((3, 4), 0, count=0))
