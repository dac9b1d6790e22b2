"""Every compiled kernel against its plain twin, bit for bit."""

import numpy as np
import pytest
from numba import njit

import naive as reference
from intensor.data.observations import observe
from intensor.kernels import cells as cpu
from intensor.kernels.bits import trailing_zeros
from intensor.oracles.contraction import PerCell, PerIndex, PerIndexRemembered
from intensor.problem.layout import cell_matrix, positions
from intensor.problem.vertex import mode_offsets, mode_slices, pack_vertices

SHAPES = [
    (1,),
    (7,),
    (3, 4),
    (9, 1),
    (2, 5, 3),
    (4, 1, 2, 3),
    (2, 3, 1, 2, 4),
    (300, 3),
]
CONTRACTIONS = [PerCell, PerIndex, PerIndexRemembered]


def random_cells(shape, n=80):
    rng = np.random.default_rng([n, *shape])
    coords = np.stack([rng.integers(0, length, n) for length in shape], axis=1)
    return observe(coords, rng.uniform(size=n), shape=shape), rng


def bits(array):
    """Return the float64 bits, so that 0.0 and -0.0 differ."""
    return np.ascontiguousarray(array).view(np.uint64).tolist()


def costs_of_many_sizes(rng, count):
    """Return costs over twelve orders of magnitude: any change of order shows in the bits."""
    return rng.standard_normal(count) * 10.0 ** rng.integers(-6, 6, count)


def by_reference(cells, mode, flags, costs):
    out = np.zeros(sum(cells.shape))
    reference.contract(positions(cells.coords, cells.shape), mode, flags, costs, out)
    return out[mode_slices(cells.shape)[mode]]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("density", [0.0, 0.5, 0.9, 1.0])
def test_contractions_agree_to_the_last_bit(shape, density):
    cells, rng = random_cells(shape)
    ways = [way(cells) for way in CONTRACTIONS]
    for _ in range(3):
        flags = (rng.uniform(size=sum(shape)) < density).astype(np.uint8)
        costs = costs_of_many_sizes(rng, cells.n_cells)
        for mode in range(len(shape)):
            expected = bits(by_reference(cells, mode, flags, costs))
            for way in ways:
                assert bits(way.index_costs(mode, flags, costs)) == expected, way


@pytest.mark.parametrize("way", CONTRACTIONS)
def test_a_contraction_is_what_it_says(way):
    # Against the definition, on the dense tensor, with whole numbers so that order is no matter.
    shape = (3, 4, 2)
    rng = np.random.default_rng(5)
    dense = rng.integers(-9, 10, shape).astype(float)
    coords = np.indices(shape).reshape(3, -1).T
    cells = observe(coords, np.ones(len(coords)))
    flags = rng.integers(0, 2, sum(shape), dtype=np.uint8)
    flags[[1, 4, 8]] = 1
    a, b, c = (flags[part].astype(float) for part in mode_slices(shape))
    contraction = way(cells)
    costs = dense.reshape(-1)
    np.testing.assert_array_equal(
        contraction.index_costs(0, flags, costs), np.einsum("ijk,j,k->i", dense, b, c)
    )
    np.testing.assert_array_equal(
        contraction.index_costs(1, flags, costs), np.einsum("ijk,i,k->j", dense, a, c)
    )
    np.testing.assert_array_equal(
        contraction.index_costs(2, flags, costs), np.einsum("ijk,i,j->k", dense, a, b)
    )


@pytest.mark.parametrize("way", CONTRACTIONS)
def test_a_mode_does_not_look_at_its_own_flags(way):
    cells, rng = random_cells((4, 5, 3))
    contraction = way(cells)
    costs = rng.standard_normal(cells.n_cells)
    flags = np.ones(12, dtype=np.uint8)
    before = contraction.index_costs(1, flags, costs).copy()
    assert before.any()
    flags[4:9] = 0
    np.testing.assert_array_equal(contraction.index_costs(1, flags, costs), before)
    flags[0] ^= 1
    assert not np.array_equal(contraction.index_costs(1, flags, costs), before)


@pytest.mark.parametrize("way", CONTRACTIONS)
def test_indices_without_cells_cost_nothing(way):
    cells = observe([[0, 3], [4, 1]], [1.0, 1.0], shape=(6, 5))
    costs = way(cells).index_costs(0, np.ones(11, dtype=np.uint8), np.array([2.0, -3.0]))
    assert costs.tolist() == [2.0, 0.0, 0.0, 0.0, -3.0, 0.0]


@pytest.mark.parametrize("way", CONTRACTIONS)
def test_contractions_leave_their_arguments_alone(way):
    cells, rng = random_cells((3, 4))
    flags, costs = rng.integers(0, 2, 7, dtype=np.uint8), rng.standard_normal(cells.n_cells)
    flags.flags.writeable = costs.flags.writeable = False
    assert way(cells).index_costs(0, flags, costs).shape == (3,)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mode", [0, -1])
def test_the_compiled_contraction_fills_all_of_its_output(shape, mode):
    mode %= len(shape)
    cells, rng = random_cells(shape)
    column = cells.coords[mode]
    order = np.argsort(column, kind="stable").astype(np.int32)
    starts = np.searchsorted(column[order], np.arange(shape[mode] + 1))
    flags = rng.integers(0, 2, sum(shape), dtype=np.uint8)
    costs = costs_of_many_sizes(rng, cells.n_cells)
    out = np.full(shape[mode], np.nan)
    matrix, offsets = cell_matrix(cells.coords, shape), mode_offsets(shape)
    cpu.contract_by_index(matrix, offsets, order, starts, mode, flags, costs, out)
    assert bits(out) == bits(by_reference(cells, mode, flags, costs))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 150])
def test_predictions_agree_to_the_last_bit(shape, count):
    cells, rng = random_cells(shape, 40)
    flags = (rng.uniform(size=(count, sum(shape))) < 0.7).astype(np.uint8)
    weights = costs_of_many_sizes(rng, count)
    words = pack_vertices(flags, shape).words
    rows = positions(cells.coords, shape)
    ours, theirs = np.full(len(rows), np.nan), np.full(len(rows), np.nan)
    matrix = cell_matrix(cells.coords, shape).astype(np.int64)
    cpu.predict(words, weights, matrix, mode_offsets(shape), ours)
    reference.predict(words, weights, rows, theirs)
    assert bits(ours) == bits(theirs)
    slices = mode_slices(shape)
    for cell, value in enumerate(theirs[:10]):
        inside = np.ones(count, dtype=bool)
        for mode, part in enumerate(slices):
            inside &= flags[:, part][:, cells.coords[mode][cell]] == 1
        assert value == pytest.approx(weights[inside].sum(), rel=1e-9, abs=1e-9)


def test_predictions_of_no_cell():
    words = pack_vertices(np.ones((2, 5), dtype=np.uint8), (2, 3)).words
    out = np.empty(0)
    cpu.predict(words, np.ones(2), np.empty((0, 2), dtype=np.int64), np.array([0, 2, 4]), out)
    reference.predict(words, np.ones(2), np.empty((0, 2), dtype=np.int64), out)
    assert out.size == 0


def test_positions_are_indices_plus_offsets():
    cells = observe([[0, 4, 1], [2, 0, 0]], [1.0, 1.0], shape=(3, 5, 2))
    rows = positions(cells.coords, cells.shape)
    assert rows.dtype == np.uint8
    assert rows.tolist() == [[0, 7, 9], [2, 3, 8]]


def test_positions_do_not_wrap_in_small_types():
    # uint8 indices of a late mode: their positions are beyond 255.
    cells = observe([[299, 2], [0, 1]], [1.0, 1.0], shape=(300, 3))
    assert cells.coords[1].dtype == np.uint8
    assert positions(cells.coords, cells.shape).tolist() == [[0, 301], [299, 302]]


def test_positions_grow_when_they_must():
    long = (2**31, 4)
    column = (np.array([2**31 - 1], dtype=np.uint32), np.array([3], dtype=np.uint8))
    rows = positions(column, long)
    assert rows.dtype == np.uint32
    assert rows.tolist() == [[2**31 - 1, 2**31 + 3]]


def test_trailing_zeros_of_every_bit():
    @njit
    def lowest(word):
        return trailing_zeros(word)

    for bit in range(64):
        assert lowest(np.uint64(1 << bit)) == bit
        assert lowest(np.uint64((2**64 - 1) ^ ((1 << bit) - 1))) == bit
