"""The algebra of models: sums of boxes, however they are written, evaluated, cut or compared."""

import functools
import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import strategies as st

from forall import forall
from intensor.model.arithmetic import nmse
from intensor.model.model import build_model
from intensor.problem.vertex import membership, mode_slices, pack_vertices
from strategies import random_flags, seeds, shapes


@dataclass
class Terms:
    """Boxes with weights, repeated, empty and weightless ones among them."""

    shape: tuple
    flags: np.ndarray
    weights: np.ndarray
    signed: bool

    def model(self, rows=slice(None), weights=None):
        chosen = self.weights[rows] if weights is None else weights
        radius = 1.0 + float(np.abs(self.weights).sum())
        return build_model(
            self.flags[rows], chosen, shape=self.shape, radius=radius, signed=self.signed
        )

    def dense(self):
        """Return the tensor as a sum of outer products, box by box and cell by cell."""
        found = np.zeros(self.shape)
        for row, weight in zip(self.flags, self.weights, strict=True):
            parts = [row[part].astype(float) for part in mode_slices(self.shape)]
            found += weight * functools.reduce(np.multiply.outer, parts)
        return found

    @property
    def slack(self):
        return 1e-13 * (1.0 + float(np.abs(self.weights).sum()))


@st.composite
def terms(draw):
    shape = draw(shapes(longest=4))
    count = draw(st.one_of(st.integers(0, 12), st.sampled_from([63, 64, 65, 130])))
    signed = draw(st.booleans())
    rng = np.random.default_rng(draw(seeds))
    flags = random_flags(rng, count, shape)
    if count:
        flags = flags[rng.integers(0, count, count)]  # some twice
    weights = rng.uniform(size=count) * 10.0 ** rng.integers(-3, 3, count)
    weights *= rng.uniform(size=count) < 0.9
    return Terms(
        shape, flags, weights * rng.choice((-1.0, 1.0), count) if signed else weights, signed
    )


def every_cell(shape):
    return np.indices(shape).reshape(len(shape), -1).T


@forall(few=8, many=500, some=terms())
def test_a_model_is_the_sum_of_its_boxes(some):
    model, dense = some.model(), some.dense()
    np.testing.assert_allclose(model.to_dense(), dense, rtol=0, atol=some.slack)
    cells = every_cell(some.shape)
    predicted = model.predict(cells)
    np.testing.assert_allclose(predicted, dense.reshape(-1), rtol=0, atol=some.slack)
    assert model.evaluate(tuple(cells.T)).tolist() == predicted.tolist()
    added = np.zeros(some.shape)
    for box in model:
        added[np.ix_(*box.indices)] += box.weight
    assert added.tolist() == model.to_dense().tolist()


@forall(few=8, many=500, some=terms())
def test_a_model_is_tidy(some):
    model = some.model()
    flags = model.vertices.flags()
    assert len({row.tobytes() for row in flags}) == len(flags) == len(model) == len(list(model))
    assert np.all(model.weights != 0.0)
    assert np.all(np.diff(np.abs(model.weights)) <= 0.0)
    assert all(indices.size for box in model for indices in box.indices)
    assert some.signed or np.all(model.weights > 0.0)
    again = build_model(
        flags, model.weights, shape=some.shape, radius=model.radius, signed=some.signed
    )
    assert again.weights.tolist() == model.weights.tolist()
    assert again.vertices.words.tolist() == model.vertices.words.tolist()


@forall(few=8, many=500, some=terms(), seed=seeds)
def test_the_order_of_terms_and_how_they_are_split_do_not_matter(some, seed):
    rng = np.random.default_rng(seed)
    count = len(some.weights)
    rows = np.concatenate((rng.permutation(count), rng.permutation(count)))
    halves = some.weights[rows] / 2.0
    split = some.model(rows, halves)
    np.testing.assert_allclose(split.to_dense(), some.dense(), rtol=0, atol=2.0 * some.slack)
    if not some.signed:
        assert len(split) == len(some.model())
        assert nmse_or_none(split, some.model()) in (None, pytest.approx(0.0, abs=1e-25))


@forall(few=8, many=500, some=terms(), factor=st.sampled_from([0.25, 2.0, 1024.0]))
def test_models_scale(some, factor):
    model, larger = some.model(), some.model(weights=factor * some.weights)
    assert larger.to_dense().tolist() == (factor * model.to_dense()).tolist()
    found = nmse_or_none(larger, model)
    assert found is None or found == pytest.approx((factor - 1.0) ** 2, rel=1e-9)


def nmse_or_none(model, truth):
    """Return the normalised error; None where the truth is zero and has none."""
    return nmse(model, truth) if np.any(truth.to_dense()) else None


@forall(few=8, many=500, some=terms(), seed=seeds)
def test_the_normalised_error_is_that_of_dense_tensors(some, seed):
    rng = np.random.default_rng(seed)
    count = len(some.weights)
    truth = some.model(rng.permutation(count)[: count - count // 3])
    model, wanted = some.model(), truth.to_dense()
    size = float((wanted**2).sum())
    if size < 1e-12 * (1.0 + float(some.weights @ some.weights)):
        return  # signed boxes that cancel: nothing to compare with
    error = float(((model.to_dense() - wanted) ** 2).sum())
    scale = float((np.abs(some.weights).sum() ** 2) * math.prod(some.shape))
    assert nmse(model, truth) == pytest.approx(error / size, rel=1e-9, abs=1e-13 * scale / size)
    assert nmse(truth, truth) == 0.0


@forall(few=8, many=500, some=terms())
def test_vertices_come_back_from_their_bits(some):
    vertices = pack_vertices(some.flags, some.shape)
    assert vertices.flags().tolist() == some.flags.tolist()
    cells = tuple(every_cell(some.shape).T)
    inside = np.zeros((len(some.flags), math.prod(some.shape)))
    for number, row in enumerate(some.flags):
        inside[number] = membership(row, cells, some.shape)
    assert vertices.overlaps(vertices).tolist() == (inside @ inside.T).tolist()
    for index in range(len(vertices)):
        for part, indices in zip(mode_slices(some.shape), vertices.box(index), strict=True):
            assert indices.tolist() == np.flatnonzero(some.flags[index, part]).tolist()
