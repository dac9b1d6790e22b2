"""Shares of terms add up, and entries multiply to what a term adds to a cell."""

import numpy as np
import pytest

from graded_cases import SHAPES, random_model
from intensor.model.entries import cell_entries, term_shares


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("signed", [False, True])
def test_entries_multiply_to_the_tensor(shape, signed):
    model = random_model(shape, signed=signed)
    counts = np.random.default_rng(1).integers(1, 5, sum(shape)).astype(float)
    for cell in np.argwhere(np.ones(shape)):
        values = model.weights * cell_entries(model, cell, counts).prod(axis=0)
        np.testing.assert_allclose(values.sum(), model.predict([cell])[0], rtol=0, atol=1e-14)


@pytest.mark.parametrize("shape", SHAPES)
def test_shares_are_those_of_the_mean_of_the_tensor(shape):
    model = random_model(shape)
    counts = np.random.default_rng(2).integers(0, 5, sum(shape)) + 0.5
    weights = np.array(1.0)
    for part in np.split(counts, np.cumsum(shape)[:-1]):
        weights = np.multiply.outer(weights, part / part.sum())
    shares = term_shares(model, counts)
    assert shares.sum() == pytest.approx(1.0, abs=1e-14)
    mean = (model.to_dense() * weights).sum()
    everywhere = np.full(len(shape), -1)
    for term, (share, weight) in enumerate(zip(shares, model.weights, strict=True)):
        added = weight * cell_entries(model, everywhere, counts)[:, term].prod()
        assert share == pytest.approx(added / mean, rel=1e-12)


def test_sizes_count_when_terms_are_signed():
    shape = (3, 4)
    model = random_model(shape, signed=True)
    assert (model.weights < 0.0).any()
    shares = term_shares(model)
    assert (shares > 0.0).all()
    assert shares.sum() == pytest.approx(1.0, abs=1e-14)


def test_terms_where_nothing_was_observed_have_no_share():
    model = random_model((3, 4))
    only_first = np.array([1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0])
    shares = term_shares(model, only_first)
    inside = [term.profiles[0][0] > 0.0 for term in model]
    assert ((shares > 0.0) == inside).all()
    assert term_shares(random_model((3, 4), boxes=0, graded=0)).size == 0
