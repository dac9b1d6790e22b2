"""Modes have no order: permuting them, or adding one of length 1, permutes the fit."""

import numpy as np
from hypothesis import strategies as st

from forall import forall
from properties.optima import assert_same_fit, assert_same_optimum, problems, seeds


@forall(few=4, many=200, problem=problems(), seed=seeds)
def test_permuting_modes(problem, seed):
    order = np.random.default_rng(seed).permutation(len(problem.raw.shape))
    turned = problem.changed(
        shape=tuple(problem.raw.shape[mode] for mode in order),
        coords=problem.raw.coords[:, order],
    )
    first, second = problem.optimum(), turned.optimum()
    assert_same_optimum(problem, first, turned, second)
    assert_same_fit(problem, first, turned, second, cells=turned.raw.coords)


@forall(few=4, many=150, problem=problems(), place=st.integers(0, 5))
def test_a_mode_of_length_1_is_no_mode(problem, place):
    raw = problem.raw
    place = min(place, len(raw.shape))
    wider = problem.changed(
        shape=(*raw.shape[:place], 1, *raw.shape[place:]),
        coords=np.insert(raw.coords, place, 0, axis=1),
    )
    first, second = problem.optimum(), wider.optimum()
    assert_same_optimum(problem, first, wider, second)
    assert_same_fit(problem, first, wider, second, cells=wider.raw.coords)


@forall(few=4, many=150, problem=problems(), mode=st.integers(0, 4))
def test_a_mode_given_twice_is_one_mode(problem, mode):
    # Boxes may choose differently in the two copies, but only the diagonal is observed: what
    # they cover there is where both copies are on, a box again.
    raw = problem.raw
    mode = min(mode, len(raw.shape) - 1)
    if sum(raw.shape) + raw.shape[mode] > 14:
        return
    doubled = problem.changed(
        shape=(*raw.shape, raw.shape[mode]),
        coords=np.column_stack((raw.coords, raw.coords[:, mode])),
    )
    first, second = problem.optimum(), doubled.optimum()
    assert_same_optimum(problem, first, doubled, second)
    assert_same_fit(problem, first, doubled, second, cells=doubled.raw.coords)
