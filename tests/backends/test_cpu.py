"""Cells in memory against dense matrices."""

import pytest
from hypothesis import strategies as st

import cells_cases
from cells_cases import SHAPES, Case, ComponentCase
from forall import forall
from intensor.backends.cpu import CpuCells
from intensor.backends.packed_cells import pack_cells
from intensor.runtime.threads import Workers
from strategies import shapes
from zoo import mostly_slow

one_shape = pytest.mark.parametrize("shape", mostly_slow(SHAPES, telling=[(3, 4, 2)]))


@pytest.fixture(params=[(1, None), (2, 8)], ids=["one block", "blocks on two threads"])
def make(request):
    threads, block_cells = request.param

    def make(observations, radius):
        packed = pack_cells(observations, radius)
        return CpuCells(packed, Workers(threads), block_cells=block_cells)

    return make


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", mostly_slow(SHAPES, telling=[(7,), (2, 3, 2, 3)]))
def test_sums_are_those_of_dense_matrices(make, shape, weighted):
    cells_cases.check_sums(Case(make, shape, weighted=weighted))


@pytest.mark.parametrize("negative", [False, True])
@one_shape
def test_a_descent_ends_where_no_mode_can_be_improved(make, shape, negative):
    cells_cases.check_descent(Case(make, shape), negative=negative)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("negative", [False, True])
@one_shape
def test_a_refinement_never_raises_the_objective(make, shape, negative, weighted):
    case = Case(make, shape, weighted=weighted, radius=0.7)
    cells_cases.check_refinement(case, negative=negative)


def test_cells_follow_a_change_of_the_radius(make):
    cells_cases.check_rescaling(make, (3, 4, 2))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("shape", "k"), [((9, 8), 3), ((5, 6, 4), 8), ((3, 4, 3, 2), 33), ((3, 2, 3, 2, 3), 1)]
)
def test_sums_at_components_do_not_depend_on_the_blocks(make, shape, k, weighted):
    case = ComponentCase(make, shape, k=k, n=300, weighted=weighted)
    cells_cases.check_components(case)
    cells_cases.check_normal_equations(case)


@forall(few=5, many=300, shape=shapes(longest=4), weighted=st.booleans(), n=st.integers(1, 90))
def test_sums_are_right_on_any_shape(shape, weighted, n):
    def make(observations, radius):
        return CpuCells(pack_cells(observations, radius), Workers(1))

    cells_cases.check_sums(Case(make, shape, n=n, weighted=weighted))
