"""Unique cells against a plain dictionary, on random data and on shapes beyond 2^63 cells."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from forall import forall
from intensor import errors
from intensor.data.observations import Observations, cell_numbers, observe, standard_order
from intensor.runtime.threads import Workers


def by_dict(coords, values):
    """Group values by cell with a dictionary, cells in lexicographic order."""
    groups = {}
    for cell, value in zip(coords, values, strict=True):
        groups.setdefault(tuple(int(index) for index in cell), []).append(float(value))
    return dict(sorted(groups.items()))


def cells_of(found):
    return list(zip(*(column.tolist() for column in found.coords), strict=True))


def exact_within(groups):
    """Return the variance within cells in rational arithmetic."""
    total, n = Fraction(0), 0
    for values in groups.values():
        numbers = [Fraction(value) for value in values]
        mean = sum(numbers) / len(numbers)
        total += sum((number - mean) ** 2 for number in numbers)
        n += len(numbers)
    return total / n


def assert_matches(found, coords, values):
    groups = by_dict(coords, values)
    assert cells_of(found) == list(groups)
    assert found.counts.tolist() == [len(group) for group in groups.values()]
    means = [math.fsum(group) / len(group) for group in groups.values()]
    largest = max(abs(value) for value in values)
    np.testing.assert_allclose(found.means, means, rtol=1e-14, atol=1e-15 * largest)
    square = math.fsum(value**2 for value in values) / len(values)
    assert found.mean_square == pytest.approx(square, rel=1e-13)
    assert found.within == pytest.approx(float(exact_within(groups)), rel=1e-9, abs=1e-15 * square)
    assert found.n == len(values) == found.counts.sum()
    assert found.n_cells == len(groups)


SHAPES = [(4,), (3, 4), (5, 1, 3), (2, 3, 2, 2), (1, 1), (300, 2), (2,) * 8]


@pytest.mark.parametrize("shape", SHAPES)
def test_against_a_dictionary(shape):
    for n in (1, 2, 60):
        rng = np.random.default_rng([n, *shape])
        coords = np.stack([rng.integers(0, length, n) for length in shape], axis=1)
        values = rng.uniform(0.0, 10.0, n)
        found = observe(coords, values, shape=shape)
        assert found.shape == shape
        assert_matches(found, coords, values)


@st.composite
def raw_observations(draw):
    shape = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    cell = st.tuples(*(st.integers(0, length - 1) for length in shape))
    value = st.one_of(st.just(0.0), st.floats(1e-3, 1e3))
    rows = draw(st.lists(st.tuples(cell, value), min_size=1, max_size=30))
    return tuple(shape), [row[0] for row in rows], [row[1] for row in rows]


@forall(few=10, many=150, raw=raw_observations())
def test_any_observations_match_the_dictionary(raw):
    shape, coords, values = raw
    assert_matches(observe(coords, values, shape=shape), coords, values)


@forall(few=10, many=100, raw=raw_observations())
def test_the_objective_splits_into_cells_and_a_constant(raw):
    # The reason for collapsing: sum (y - z)^2 / n = sum counts (mean - z)^2 / n + within.
    shape, coords, values = raw
    found = observe(coords, values, shape=shape)
    z = np.random.default_rng(0).uniform(0.0, 5.0, shape)
    direct = np.mean((np.array(values) - z[tuple(np.array(coords).T)]) ** 2)
    residual = found.means - z[found.coords]
    collapsed = (found.counts * residual**2).sum() / found.n + found.within
    assert collapsed == pytest.approx(direct, rel=1e-12, abs=1e-12)


@forall(few=10, many=100, raw=raw_observations())
def test_observing_the_means_again_changes_nothing(raw):
    shape, coords, values = raw
    first = observe(coords, values, shape=shape)
    again = observe(np.stack(first.coords, axis=1), first.means, shape=shape)
    assert cells_of(again) == cells_of(first)
    assert again.counts.tolist() == [1] * first.n_cells
    np.testing.assert_array_equal(again.means, first.means)
    assert again.within == 0.0


def test_all_in_one_cell():
    found = observe([[2, 1]] * 4, [1.0, 3.0, 5.0, 7.0])
    assert (found.shape, found.n, found.n_cells) == ((3, 2), 4, 1)
    assert (found.means.tolist(), found.within, found.mean_square) == ([4.0], 5.0, 21.0)


@pytest.mark.parametrize("count", [2, 3, 15, 29, 32, 1000])
def test_equal_values_vary_by_exactly_nothing(count):
    # The bound of a solve starts at the variance within cells: rounding must not lift it.
    rng = np.random.default_rng(count)
    for value in rng.uniform(0.0, 1e6, 20):
        found = observe(np.zeros((count, 2), dtype=int), np.full(count, value))
        assert found.means[0] == value
        assert found.within == 0.0


@pytest.mark.parametrize("scale", [1e-60, 1e8, 1e60])
def test_the_variance_survives_scale_and_offset(scale):
    rng = np.random.default_rng(1)
    coords = rng.integers(0, 2, (40, 2))
    values = scale * (1.0 + 1e-6 * rng.uniform(size=40))
    found = observe(coords, values)
    expected = exact_within(by_dict(coords, values))
    assert found.within == pytest.approx(float(expected), rel=1e-6)


@pytest.mark.parametrize(
    ("length", "kind"),
    [
        (1, np.uint8),
        (255, np.uint8),
        (256, np.uint8),
        (257, np.uint16),
        (65536, np.uint16),
        (65537, np.uint32),
        (2**31 - 6, np.uint32),
    ],
)
def test_each_mode_has_the_smallest_type(length, kind):
    coords = [[0, length - 1, 1], [2, 0, 0], [1, length // 2, 1]]
    found = observe(coords, [1.0, 2.0, 3.0], shape=(3, length, 2))
    assert [column.dtype for column in found.coords] == [np.uint8, kind, np.uint8]
    assert cells_of(found) == sorted(tuple(cell) for cell in coords)


@pytest.mark.parametrize("lowest", [0, 990])
def test_a_shape_with_more_than_2_to_the_63_cells(lowest):
    shape = (1000,) * 12
    assert math.prod(shape) > 2**63
    rng = np.random.default_rng(lowest)
    distinct = rng.integers(lowest, 1000, (400, 12))
    # Near twins differ in one mode only, also across the border between two folded keys.
    twins = distinct[:12].copy()
    twins[np.arange(12), np.arange(12)] = lowest + (twins[np.arange(12), np.arange(12)] + 1) % 10
    pool = np.concatenate((distinct, twins))
    coords = pool[rng.integers(0, len(pool), 3000)]
    values = rng.uniform(size=3000)
    found = observe(coords, values, shape=shape)
    assert found.n_cells < 3000
    assert_matches(found, coords, values)


@pytest.mark.parametrize(
    "shape",
    [
        (2**29, 2**29, 2**5),  # 2^63 cells: one too many for one key
        (2**29, 2**29, 2**5 - 1),
        (2**30, 2**29, 3, 3),
        (3, 2**29, 2**30, 2**28),
        (2, 2**29, 2**29, 2**29),
    ],
)
def test_cells_are_told_apart_at_the_edge_of_int64(shape):
    corners = (
        np.array(np.meshgrid(*[(0, length - 1) for length in shape])).reshape(len(shape), -1).T
    )
    coords = np.concatenate((corners, corners[::-1]))
    values = np.arange(len(coords), dtype=float)
    assert_matches(observe(coords, values, shape=shape), coords, values)


def test_the_shape_is_the_smallest_that_holds_the_data():
    found = observe([[4, 0, 2], [1, 0, 6]], [1.0, 2.0])
    assert found.shape == (5, 1, 7)
    assert observe([[4, 0, 2]], [1.0], shape=(9, 9, 9)).shape == (9, 9, 9)


def test_negative_values_only_on_demand():
    with pytest.raises(errors.NegativeValueError, match=r"values\[1\] is -2"):
        observe([[0], [1]], [1.0, -2.0])
    assert observe([[0], [1]], [1.0, -2.0], allow_negative=True).means.tolist() == [1.0, -2.0]


@pytest.mark.parametrize("layout", ["C", "F"])
@pytest.mark.parametrize(
    "writeable",
    # Numba compiles the kernels once more for arrays that it must not write to.
    [True, pytest.param(False, marks=pytest.mark.slow)],
)
def test_what_was_passed_in_is_left_alone(layout, writeable):
    coords = np.array([[3, 1], [0, 2], [3, 1]], order=layout)
    values = np.array([1.0, 2.0, 5.0])
    coords.flags.writeable = values.flags.writeable = writeable
    found = observe(coords, values)
    assert found.means.tolist() == [2.0, 3.0]
    assert coords.tolist() == [[3, 1], [0, 2], [3, 1]]
    assert values.tolist() == [1.0, 2.0, 5.0]
    assert not any(np.shares_memory(coords, column) for column in found.coords)
    assert not np.shares_memory(values, found.means)


def test_observations_are_frozen():
    found = observe([[0]], [1.0])
    assert isinstance(found, Observations)
    with pytest.raises(AttributeError):
        found.n = 3


# --- sample weights


def drawn(n=60, shape=(4, 3, 2)):
    rng = np.random.default_rng(n)
    coords = np.stack([rng.integers(0, length, n) for length in shape], axis=1)
    return coords, rng.uniform(0.0, 10.0, n)


def test_other_weights_against_a_dictionary():
    coords, values = drawn()
    weights = np.random.default_rng(0).uniform(0.1, 3.0, 60)
    found = observe(coords, values, sample_weight=weights)
    total = math.fsum(weights)
    rows = {}
    for row, cell in enumerate(coords.tolist()):
        rows.setdefault(tuple(cell), []).append(row)
    within = 0.0
    for number, cell in enumerate(sorted(rows)):
        mine = rows[cell]
        mean = np.average(values[mine], weights=weights[mine])
        within += math.fsum(weights[mine] * (values[mine] - mean) ** 2)
        assert found.means[number] == pytest.approx(mean, rel=1e-13)
        assert found.cell_shares()[number] == pytest.approx(math.fsum(weights[mine]) / total)
        assert found.counts[number] == len(mine)
    assert cells_of(found) == sorted(rows)
    assert found.n == 60
    assert found.within == pytest.approx(within / total, rel=1e-10)
    assert found.mean_square == pytest.approx(np.average(values**2, weights=weights))
    assert found.cell_shares().sum() == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize("weight", [1, 5, 0.1, 1e-70, 1e69, True])
def test_equal_weights_are_none(weight):
    coords, values = drawn()
    found = observe(coords, values, sample_weight=np.full(60, weight))
    plain = observe(coords, values)
    assert found.counts.tolist() == plain.counts.tolist()
    assert found.means.tolist() == plain.means.tolist()
    assert found.within == pytest.approx(plain.within, rel=1e-12)
    assert found.shares is None


def test_a_weight_of_zero_leaves_a_row_out_but_not_its_index():
    coords, values = [[0, 0], [3, 1], [0, 0]], [1.0, 1e9, 3.0]
    found = observe(coords, values, sample_weight=[2.0, 0.0, 2.0])
    assert cells_of(found) == [(0, 0)]
    assert found.means.tolist() == [2.0]
    assert (found.n, found.shape, found.mean_square) == (2, (4, 2), 5.0)


def test_weights_beyond_counting_become_shares():
    found = observe([[0], [1]], [1.0, 2.0], sample_weight=[2.0**60, 2.0**61])
    np.testing.assert_allclose(found.cell_shares(), [1 / 3, 2 / 3])
    assert found.counts.tolist() == [1, 1]
    assert found.shares is not None


@pytest.mark.parametrize("count", [2, 3, 29, 1000])
def test_equal_values_with_weights_hardly_vary(count):
    weights = np.random.default_rng(count).uniform(0.1, 5.0, count)
    found = observe(np.zeros((count, 2), dtype=int), np.full(count, 0.1), sample_weight=weights)
    assert found.means[0] == pytest.approx(0.1, rel=1e-15)
    assert found.within <= 1e-32


def test_cell_numbers_are_those_of_the_sorted_cells():
    coords, values = drawn()
    numbers = cell_numbers(coords, (4, 3, 2))
    found = observe(coords, values, shape=(4, 3, 2))
    listed = np.stack(found.coords, axis=1)
    assert np.array_equal(listed[numbers], coords)
    assert numbers.max() + 1 == found.n_cells
    long = np.array([[2**30, 2**30, 5], [0, 0, 0], [2**30, 2**30, 5]])
    assert cell_numbers(long, (2**30 + 1, 2**30 + 1, 2**10)).tolist() == [1, 0, 1]


# --- the order of observations and threads


def test_observations_are_in_order_of_value_then_weight():
    values = np.array([2.0, 1.0, 2.0, 1.0, 2.0, 0.5])
    weights = np.array([3.0, 1.0, 1.0, 1.0, 2.0, 9.0])
    cells = np.array([[0], [0], [0], [0], [0], [1]])
    assert standard_order(cells, (2,), values, weights).tolist() == [1, 3, 2, 4, 0, 5]
    assert standard_order(np.zeros_like(cells), (1,), values).tolist() == [5, 1, 3, 0, 2, 4]


@pytest.mark.parametrize("weighted", [False, True])
def test_neither_order_nor_threads_change_a_bit(weighted):
    rng = np.random.default_rng(0)
    n = 140_000  # enough for several blocks of cells
    cells, values = rng.integers(0, 70_000, (n, 1)), rng.random(n)
    weights = rng.integers(1, 5, n) / 3.0 if weighted else None
    values *= 10.0 ** rng.integers(-8, 9, n)
    mixed = rng.permutation(n)
    one = observe(cells, values, sample_weight=weights)
    also = None if weights is None else weights[mixed]
    other = observe(cells[mixed], values[mixed], sample_weight=also, workers=Workers(3))
    for name in ("counts", "shares", "means"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert (one.within, one.mean_square) == (other.within, other.mean_square)


@pytest.mark.parametrize("weighted", [False, True])
def test_every_cell_against_plain_sums(weighted):
    rng = np.random.default_rng(0)
    cells, values = rng.integers(0, 60, (400, 1)), rng.random(400)
    weights = rng.integers(1, 5, 400) / 3.0 if weighted else np.ones(400)
    found = observe(cells, values, sample_weight=weights if weighted else None)
    total = math.fsum(weights)
    deviation = square = 0.0
    for number, index in enumerate(found.coords[0].tolist()):
        own = cells[:, 0] == index
        mean = math.fsum(weights[own] * values[own]) / math.fsum(weights[own])
        assert found.counts[number] == own.sum()
        share = math.fsum(weights[own]) / total
        assert found.cell_shares()[number] == pytest.approx(share, rel=2e-15)
        assert found.means[number] == pytest.approx(mean, rel=1e-15)
        deviation += math.fsum(weights[own] * (values[own] - mean) ** 2)
        square += math.fsum(weights[own] * values[own] ** 2)
    assert found.within == pytest.approx(deviation / total, rel=1e-13)
    assert found.mean_square == pytest.approx(square / total, rel=1e-13)
