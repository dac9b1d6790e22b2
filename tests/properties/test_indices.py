"""Indices are names: relabelling them relabels the fit, and one that is never seen changes none."""

import numpy as np
from hypothesis import strategies as st

from forall import forall
from properties.optima import assert_same_fit, assert_same_optimum, problems, seeds


@forall(few=4, many=200, problem=problems(), seed=seeds)
def test_relabelling_indices(problem, seed):
    rng = np.random.default_rng(seed)
    raw = problem.raw
    columns = [
        rng.permutation(length)[column]
        for length, column in zip(raw.shape, raw.coords.T, strict=True)
    ]
    renamed = problem.changed(coords=np.stack(columns, axis=1))
    first, second = problem.optimum(), renamed.optimum()
    assert_same_optimum(problem, first, renamed, second)
    assert_same_fit(problem, first, renamed, second, cells=renamed.raw.coords)


@forall(few=4, many=200, problem=problems(), mode=st.integers(0, 4), place=st.integers(0, 4))
def test_an_index_that_is_never_seen(problem, mode, place):
    raw = problem.raw
    mode = min(mode, len(raw.shape) - 1)
    place = min(place, raw.shape[mode])
    shape, coords = list(raw.shape), raw.coords.copy()
    shape[mode] += 1
    coords[:, mode] += coords[:, mode] >= place
    longer = problem.changed(shape=tuple(shape), coords=coords)
    first, second = problem.optimum(), longer.optimum()
    assert_same_optimum(problem, first, longer, second)
    assert_same_fit(problem, first, longer, second, cells=coords)


@forall(few=4, many=150, problem=problems(), mode=st.integers(0, 4))
def test_two_indices_of_one_name_can_only_fit_worse(problem, mode):
    # Every model of the merged tensor is one of the other, with both indices on or off.
    raw = problem.raw
    mode = min(mode, len(raw.shape) - 1)
    coords = raw.coords.copy()
    coords[:, mode] = np.maximum(coords[:, mode] - 1, 0)
    merged = problem.changed(coords=coords)
    first, second = problem.optimum(), merged.optimum()
    assert first.bound <= second.objective * (1.0 + 1e-12) + 1e-300
