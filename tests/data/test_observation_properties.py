"""What collapsing must keep, for any observations with any weights."""

import math
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from forall import forall
from intensor.data.observations import cell_numbers, observe
from strategies import any_weights, observations, seeds, whole_weights

weighted = observations(weights=any_weights)
counted = observations(weights=whole_weights)
either = st.one_of(observations(), weighted, counted)


def collapsed(raw, rows=slice(None), **changes):
    weights = None if raw.weights is None else raw.weights[rows]
    options = {"shape": raw.shape, "sample_weight": weights, **changes}
    return observe(raw.coords[rows], raw.values[rows], **options)


def assert_same(one, other, *, rtol=1e-12):
    """The same cells in the same order, with the same data but for rounding."""
    assert one.shape == other.shape
    for mine, theirs in zip(one.coords, other.coords, strict=True):
        assert mine.tolist() == theirs.tolist()
    np.testing.assert_allclose(one.cell_shares(), other.cell_shares(), rtol=rtol)
    size = math.sqrt(max(one.mean_square, other.mean_square))
    np.testing.assert_allclose(one.means, other.means, rtol=rtol, atol=rtol * size)
    np.testing.assert_allclose(one.mean_square, other.mean_square, rtol=rtol)
    np.testing.assert_allclose(one.within, other.within, rtol=1e-9, atol=rtol * size**2)


def importance(raw):
    return np.ones(len(raw)) if raw.weights is None else raw.weights


@forall(few=10, many=500, raw=either)
def test_sums_over_observations_are_sums_over_cells(raw):
    found, weights = collapsed(raw), importance(raw)
    shares = found.cell_shares()
    total = math.fsum(weights)
    assert math.isclose(math.fsum(shares), 1.0, rel_tol=1e-12)
    mean = math.fsum(weights * raw.values) / total
    assert math.isclose(math.fsum(shares * found.means), mean, rel_tol=1e-12, abs_tol=1e-300)
    square = math.fsum(weights * raw.values**2) / total
    assert math.isclose(found.mean_square, square, rel_tol=1e-12)
    # The mean square splits into the part within cells and the part between them.
    between = math.fsum(shares * found.means**2)
    assert found.within >= 0.0
    assert math.isclose(between + found.within, square, rel_tol=1e-11, abs_tol=1e-300)


@forall(few=10, many=500, raw=either)
def test_cells_are_distinct_in_order_and_those_that_count(raw):
    found = collapsed(raw)
    cells = list(zip(*(column.tolist() for column in found.coords), strict=True))
    kept = importance(raw) > 0.0
    assert cells == sorted({tuple(cell) for cell in raw.coords[kept].tolist()})
    assert found.n == found.counts.sum(dtype=int)
    assert np.all(found.counts > 0)


@forall(few=10, many=500, raw=either, seed=seeds)
def test_the_order_of_rows_does_not_matter(raw, seed):
    order = np.random.default_rng(seed).permutation(len(raw))
    assert_same(collapsed(raw), collapsed(raw, order))


@forall(few=10, many=500, raw=counted)
def test_an_integer_weight_is_as_many_rows(raw):
    rows = np.repeat(np.arange(len(raw)), raw.weights.astype(int))
    one, other = collapsed(raw), collapsed(raw, rows, sample_weight=None)
    assert_same(one, other)
    same = len(set(raw.weights[raw.weights > 0.0].tolist())) == 1  # all alike: they count as 1
    assert one.n == (np.count_nonzero(raw.weights) if same else other.n)
    assert same or one.counts.tolist() == other.counts.tolist()
    assert one.shares is None


@forall(few=10, many=500, raw=weighted, copies=st.integers(2, 5))
def test_splitting_a_row_into_lighter_ones_changes_nothing(raw, copies):
    rows = np.repeat(np.arange(len(raw)), copies)
    split = collapsed(raw, rows, sample_weight=raw.weights[rows] / copies)
    assert_same(collapsed(raw), split, rtol=1e-11)


@forall(few=10, many=500, raw=either, copies=st.integers(2, 5))
def test_doubling_all_rows_changes_nothing_but_the_counts(raw, copies):
    one, more = collapsed(raw), collapsed(raw, np.tile(np.arange(len(raw)), copies))
    assert_same(one, more)
    assert more.counts.tolist() == (copies * one.counts.astype(int)).tolist()


@forall(few=10, many=500, raw=weighted, factor=st.sampled_from([1e-40, 2.0**-20, 0.37, 3.0, 1e40]))
def test_only_ratios_of_weights_matter(raw, factor):
    scaled = collapsed(raw, sample_weight=raw.weights * factor)
    assert_same(collapsed(raw), scaled)


@forall(few=10, many=500, raw=either, exponent=st.integers(-40, 40))
def test_values_scale_exactly_by_powers_of_two(raw, exponent):
    # Numbers so small that their squares have fewer digits are rounded when they are scaled.
    values = np.where(np.abs(raw.values) < 1e-100, 0.0, raw.values)
    raw = replace(raw, values=values)
    factor = 2.0**exponent
    one = collapsed(raw)
    other = observe(raw.coords, factor * raw.values, shape=raw.shape, sample_weight=raw.weights)
    assert other.means.tolist() == (factor * one.means).tolist()
    assert other.within == factor**2 * one.within
    assert other.mean_square == factor**2 * one.mean_square


@forall(few=10, many=500, raw=either, seed=seeds)
def test_permuting_modes_permutes_cells(raw, seed):
    order = np.random.default_rng(seed).permutation(len(raw.shape))
    turned = observe(
        raw.coords[:, order],
        raw.values,
        shape=[raw.shape[mode] for mode in order],
        sample_weight=raw.weights,
    )
    one = collapsed(raw)
    back = np.stack([turned.coords[mode] for mode in np.argsort(order)], axis=1).astype(int)
    sorted_back = np.lexsort(back.T[::-1])
    assert back[sorted_back].tolist() == np.stack(one.coords, axis=1).tolist()
    assert turned.counts[sorted_back].tolist() == one.counts.tolist()
    np.testing.assert_allclose(turned.means[sorted_back], one.means, rtol=1e-12)


@forall(few=10, many=500, raw=observations())
def test_cell_numbers_are_equal_where_cells_are(raw):
    numbers = cell_numbers(raw.coords, raw.shape)
    cells = [tuple(cell) for cell in raw.coords.tolist()]
    ranks = {cell: rank for rank, cell in enumerate(sorted(set(cells)))}
    assert numbers.tolist() == [ranks[cell] for cell in cells]


@forall(few=10, many=500, raw=either, longer=st.sampled_from([1, 2**20, 2**28]))
def test_longer_modes_hold_the_same_cells(raw, longer):
    # Up to 2^112 cells: their numbers need more than one integer.
    found = collapsed(raw, shape=[length + longer for length in raw.shape])
    one = collapsed(raw)
    assert [c.tolist() for c in found.coords] == [c.tolist() for c in one.coords]
    assert_same(found, replace(one, shape=found.shape))
    numbers = cell_numbers(raw.coords, found.shape)
    assert numbers.tolist() == cell_numbers(raw.coords, raw.shape).tolist()
