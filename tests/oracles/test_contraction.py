"""Three ways to price the indices of a mode: the same bits, and what the definition says."""

import numpy as np
import pytest

import naive
import zoo
from intensor.data.observations import observe
from intensor.oracles.contraction import PerCell, PerIndex, PerIndexRemembered
from intensor.problem.layout import positions
from intensor.problem.vertex import mode_slices
from strategies import sizes_of_all_kinds

CONTRACTIONS = [PerCell, PerIndex, PerIndexRemembered]


def random_cells(shape, n=80):
    rng = np.random.default_rng([n, *shape])
    coords = np.stack([rng.integers(0, length, n) for length in shape], axis=1)
    return observe(coords, rng.uniform(size=n), shape=shape), rng


def bits(array):
    """Return the float64 bits, so that 0.0 and -0.0 differ."""
    return np.ascontiguousarray(array).view(np.uint64).tolist()


@pytest.mark.parametrize("name", zoo.OBSERVED)
@pytest.mark.parametrize("density", [0.0, 0.5, 1.0])
def test_contractions_agree_to_the_last_bit(name, density):
    shape, coords, values, _ = zoo.observed(name)
    cells = observe(coords, values, shape=shape)
    ways = [way(cells) for way in CONTRACTIONS]
    rng = np.random.default_rng(0)
    for mode, part in enumerate(mode_slices(shape)):
        flags = (rng.uniform(size=sum(shape)) < density).astype(np.uint8)
        costs = sizes_of_all_kinds(rng, cells.n_cells)
        expected = np.zeros(sum(shape))
        naive.contract(positions(cells.coords, shape), mode, flags, costs, expected)
        for way in ways:
            assert bits(way.index_costs(mode, flags, costs)) == bits(expected[part]), way


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
