"""Three ways to price the indices of a mode: the same bits, and those of the definition."""

import numpy as np
import pytest

import naive
import zoo
from intensor.data.observations import observe
from intensor.oracles.contraction import PerCell, PerIndexRemembered
from intensor.problem.layout import positions
from intensor.problem.vertex import mode_slices

WAYS = [PerCell, PerIndexRemembered]
all_ways = pytest.mark.parametrize("way", WAYS)


def some_cells(shape):
    rng = np.random.default_rng(shape)
    return zoo.random_cells(rng, shape, max(1, round(0.6 * np.prod(shape)))), rng


def bits(array):
    """Return the float64 bits, so that 0.0 and -0.0 differ."""
    return np.ascontiguousarray(array).view(np.uint64).tolist()


@all_ways
@pytest.mark.parametrize("shape", [*zoo.ORACLE_SHAPES, (300, 3)])
def test_a_way_and_the_naive_twin_agree_to_the_last_bit(way, shape):
    cells, rng = some_cells(shape)
    # costs over twelve orders of magnitude: any change of order shows in the bits
    costs = rng.standard_normal(cells.n_cells) * 10.0 ** rng.integers(-6, 6, cells.n_cells)
    rows = positions(cells.coords, cells.shape)
    contraction = way(cells)
    for density in (0.0, 0.5, 0.9, 1.0):
        flags = (rng.uniform(size=sum(shape)) < density).astype(np.uint8)
        for mode, part in enumerate(mode_slices(shape)):
            expected = np.zeros(sum(shape))
            naive.contract(rows, mode, flags, costs, expected)
            assert bits(contraction.index_costs(mode, flags, costs)) == bits(expected[part])


@all_ways
def test_a_full_tensor_is_contracted_with_the_flags_of_the_other_modes(way):
    cells, costs = zoo.full_tensor((3, 4, 2), integers=True)
    flags = np.array([1, 1, 0, 1, 0, 1, 1, 0, 1], dtype=np.uint8)
    a, b, c = (flags[part].astype(float) for part in mode_slices((3, 4, 2)))
    dense, contraction = costs.reshape(3, 4, 2), way(cells)
    for mode, expected in enumerate(
        (
            np.einsum("ijk,j,k->i", dense, b, c),
            np.einsum("ijk,i,k->j", dense, a, c),
            np.einsum("ijk,i,j->k", dense, a, b),
        )
    ):
        np.testing.assert_array_equal(contraction.index_costs(mode, flags, costs), expected)


@all_ways
def test_a_mode_does_not_look_at_its_own_flags(way):
    cells, rng = some_cells((4, 5, 3))
    contraction, costs = way(cells), rng.standard_normal(cells.n_cells)
    flags = np.ones(12, dtype=np.uint8)
    before = contraction.index_costs(1, flags, costs).copy()
    assert before.any()
    flags[4:9] = 0
    np.testing.assert_array_equal(contraction.index_costs(1, flags, costs), before)
    flags[0] ^= 1
    assert not np.array_equal(contraction.index_costs(1, flags, costs), before)


@all_ways
def test_indices_without_cells_cost_nothing(way):
    cells = observe([[0, 3], [4, 1]], [1.0, 1.0], shape=(6, 5))
    costs = way(cells).index_costs(0, np.ones(11, dtype=np.uint8), np.array([2.0, -3.0]))
    assert costs.tolist() == [2.0, 0.0, 0.0, 0.0, -3.0, 0.0]


@all_ways
@pytest.mark.parametrize("frozen", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_arguments_are_left_alone(way, frozen):
    # Kernels are compiled once more for arrays that nobody may write to.
    cells, rng = some_cells((3, 4))
    flags, costs = rng.integers(0, 2, 7, dtype=np.uint8), rng.standard_normal(cells.n_cells)
    before = flags.copy(), costs.copy()
    flags.flags.writeable = costs.flags.writeable = not frozen
    assert way(cells).index_costs(0, flags, costs).shape == (3,)
    np.testing.assert_array_equal(flags, before[0])
    np.testing.assert_array_equal(costs, before[1])
