"""Rows are a bag with weights: only the cells, and how much of each value they have, matter."""

import numpy as np
from hypothesis import strategies as st

from forall import forall
from properties.optima import assert_same_fit, assert_same_optimum, problems, seeds


def rows(problem, chosen, weights=None):
    """Return the problem of some of its rows, in this order."""
    raw = problem.raw
    heavy = raw.weights if weights is None else weights
    return problem.changed(
        coords=raw.coords[chosen],
        values=raw.values[chosen],
        weights=None if heavy is None else heavy[chosen],
    )


def assert_same(problem, other):
    first, second = problem.optimum(), other.optimum()
    assert_same_optimum(problem, first, other, second)
    assert_same_fit(problem, first, other, second)


@forall(few=4, many=200, problem=problems(), seed=seeds)
def test_shuffling_rows(problem, seed):
    order = np.random.default_rng(seed).permutation(len(problem.raw))
    assert_same(problem, rows(problem, order))


@forall(few=4, many=200, problem=problems(), copies=st.integers(2, 4))
def test_repeating_all_rows(problem, copies):
    assert_same(problem, rows(problem, np.tile(np.arange(len(problem.raw)), copies)))


@forall(few=4, many=200, problem=problems(), seed=seeds)
def test_a_weight_of_two_is_two_rows(problem, seed):
    n = len(problem.raw)
    counts = np.random.default_rng(seed).integers(1, 4, n)
    heavy = rows(problem, np.arange(n), problem.importance * counts)
    split = rows(problem, np.repeat(np.arange(n), counts), problem.importance)
    assert_same(heavy, split)


@forall(few=4, many=150, problem=problems(), factor=st.sampled_from([0.01, 3.0, 1e6]))
def test_only_ratios_of_weights_matter(problem, factor):
    n = len(problem.raw)
    assert_same(problem, rows(problem, np.arange(n), factor * problem.importance))


@forall(few=4, many=150, problem=problems(), seed=seeds)
def test_rows_of_no_weight_are_not_there(problem, seed):
    rng = np.random.default_rng(seed)
    raw, more = problem.raw, 3
    extra = np.stack([rng.integers(0, length, more) for length in raw.shape], axis=1)
    idle = problem.changed(
        coords=np.vstack((raw.coords, extra)),
        values=np.append(raw.values, rng.uniform(0.0, 100.0, more)),
        weights=np.append(problem.importance, np.zeros(more)),
    )
    assert_same(problem, idle)


@forall(few=4, many=150, problem=problems())
def test_observations_of_a_cell_are_their_mean_and_a_constant(problem):
    raw, weights = problem.raw, problem.importance
    cells, place = np.unique(raw.coords, axis=0, return_inverse=True)
    place = place.reshape(-1)
    totals = np.bincount(place, weights)
    sums = np.bincount(place, weights * raw.values)
    kept = totals > 0.0
    means = sums[kept] / totals[kept]
    short = problem.changed(coords=cells[kept], values=means, weights=totals[kept])
    first, second = problem.optimum(), short.optimum()
    spread = raw.values - (sums / np.where(totals > 0.0, totals, 1.0))[place]
    within = float(np.average(spread**2, weights=weights))
    slack = 1e-12 * (first.objective + within)
    assert first.bound <= second.objective + within + slack
    assert second.bound + within <= first.objective + slack
    assert_same_fit(problem, first, short, second)
