"""``verify`` recomputes what the definitions say, and its memory is bounded for every shape."""

import dataclasses
import itertools
import tracemalloc

import numpy as np
import pytest

import intensor
import zoo
from graded_cases import SHAPES, random_model
from intensor.certificate.recount import (
    Layout,
    additions_needed,
    cheapest_vertex,
    evaluate,
    group,
)
from intensor.model.model import build_model

MAX_BYTES = 64 << 20
"""Most bytes that a verification of the data below takes; products of sizes take gigabytes."""


def some_cells(rng, shape, n):
    return np.unique(np.stack([rng.integers(0, length, n) for length in shape], axis=1), axis=0)


def cheapest_of_all(shape, cells, costs):
    """Return the least cost of any vertex, vertex by vertex."""
    starts = np.concatenate(([0], np.cumsum(shape)[:-1]))
    every = np.array(list(itertools.product((0, 1), repeat=sum(shape))))
    return float((every[:, starts + cells].all(axis=2) * costs).sum(axis=1).min())


@pytest.mark.parametrize(
    "shape", [(1,), (5,), (4, 3), (1, 6), (2, 3, 2), (2, 2, 2, 2), (3, 1, 2, 1, 2), (1, 1, 1)]
)
def test_the_cheapest_vertex_is_the_cheapest_of_all(shape):
    rng = np.random.default_rng(len(shape))
    for n, at_once in itertools.product((1, 3, 12), (1, 7, 1 << 20)):
        cells = some_cells(rng, shape, n)
        costs = rng.normal(size=len(cells))
        found = cheapest_vertex(Layout.of(cells), costs, numbers_at_once=at_once)
        assert found == pytest.approx(cheapest_of_all(shape, cells, costs), abs=1e-12)


def test_indices_that_never_occur_are_not_tried():
    cells = np.array([[10**9, 0], [5, 7 * 10**8], [10**9, 7 * 10**8]])
    layout = Layout.of(cells)
    assert (layout.n_rows, layout.n_columns, layout.n_outer) == (2, 2, 0)
    assert cheapest_vertex(layout, np.array([-1.0, -2.0, 1.5])) == -2.0
    assert additions_needed(layout) < 100


def test_the_effort_grows_with_the_vertices_and_never_overflows():
    rng = np.random.default_rng(0)
    efforts = [additions_needed(Layout.of(some_cells(rng, (n, n, n), 500))) for n in (2, 4, 8)]
    assert efforts == sorted(efforts)
    assert efforts[0] < efforts[-1] / 1000
    assert additions_needed(Layout.of(rng.integers(0, 3, (50, 600)))) < np.inf


@pytest.mark.parametrize("shape", SHAPES)
def test_a_graded_model_is_evaluated_as_its_definition_says(shape):
    model = random_model(shape, signed=True)
    cells = np.argwhere(np.ones(shape))
    values, sizes = evaluate(model, cells)
    np.testing.assert_allclose(values, model.to_dense().reshape(-1), atol=1e-14)
    positive = dataclasses.replace(model, weights=np.abs(model.weights))
    np.testing.assert_allclose(sizes, positive.to_dense().reshape(-1), atol=1e-14)
    assert model.weights.min() < 0.0


def test_grouping_keeps_equal_values_equal():
    cells, values = np.zeros((49, 2), dtype=int), np.full(49, 0.1)
    data = group(cells, values, np.random.default_rng(0).uniform(0.1, 7.0, 49))
    assert data.within <= 1e-34
    assert data.means.tolist() == pytest.approx([0.1])
    assert data.shares.tolist() == pytest.approx([1.0])


def claimed(shape, coords, values, *, bound):
    """Return a result of one box with a witness and a bound, and what it is a result of."""
    flags = np.ones((1, sum(shape)), dtype=np.uint8)
    model = build_model(flags, np.array([0.5]), shape=shape, radius=1.0)
    result = intensor.solve([[0], [1]], [0.0, 1.0], radius=1.0)
    return dataclasses.replace(
        result,
        status=intensor.Status.STALLED,
        model=model,
        witness=model,
        objective=float(((values - 0.5) ** 2).mean()),
        bound=bound,
    )


SIZES = {
    "one mode": ((60_000,), 60_000),
    "one longer mode": ((500_000,), 100_000),
    "two modes": ((40_000, 12), 60_000),
    "two long modes": ((40_000, 30_000), 30_000),
    "three modes, the longest is long": ((50_000, 4, 3), 80_000),
    "a very long mode": ((3 * 10**6, 5), 20_000),
    "many observations of few cells": ((6, 5, 4), 120_000),
}


@pytest.mark.parametrize("name", zoo.mostly_slow(SIZES, telling=["two long modes"]))
def test_memory_is_bounded_whatever_the_shape(name):
    shape, n = SIZES[name]
    rng = np.random.default_rng(1)
    coords = np.stack([rng.integers(0, length, n) for length in shape], axis=1)
    if len(shape) == 1:
        coords = rng.permutation(shape[0])[:n, np.newaxis]
    values = rng.uniform(size=n)
    result = claimed(shape, coords, values, bound=0.5 * float(((values - 0.5) ** 2).mean()))
    tracemalloc.start()
    report = intensor.verify(result, coords, values)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MAX_BYTES
    passed = {check.name: check.passed for check in report.checks}
    assert passed["objective"]
    # One mode is fitted without error by a box per value, so half of this error is no bound.
    assert passed["bound"] is not True or len(shape) > 1


def test_a_free_bound_is_proven_where_trying_every_vertex_is_not_affordable():
    rng = np.random.default_rng(2)
    coords, values = rng.integers(0, 40, (4000, 3)), 0.9 + rng.uniform(size=4000)
    with pytest.warns(intensor.errors.RadiusWarning):
        result = intensor.solve(coords, values, shape=(40, 40, 40), radius=1.0, exact="off")
    assert result.bound_source == "free"
    assert result.witness is not None
    assert result.gap > 1e-3
    report = intensor.verify(result, coords, values)
    assert report.ok
    assert report.complete
    assert report.bound == pytest.approx(result.bound, rel=1e-9)
    boast = dataclasses.replace(result, bound=result.bound + 1e-6 * result.gap)
    assert intensor.verify(boast, coords, values).ok
    assert not intensor.verify(boast, coords, values).complete
