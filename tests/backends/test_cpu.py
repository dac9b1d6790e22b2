"""Cells in memory against dense matrices."""

import pytest
from hypothesis import strategies as st

import cells_cases
from cells_cases import SHAPES, Case
from forall import forall
from intensor.backends.cpu import CpuCells
from intensor.backends.packed_cells import pack_cells
from intensor.runtime.threads import Workers
from strategies import shapes


@pytest.fixture(params=[(1, None), (2, 8)], ids=["one block", "blocks on two threads"])
def make(request):
    threads, block_cells = request.param

    def make(observations, radius):
        packed = pack_cells(observations, radius)
        return CpuCells(packed, Workers(threads), block_cells=block_cells)

    return make


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_sums(make, shape, weighted):
    cells_cases.check_sums(Case(make, shape, weighted=weighted))


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_descent(make, shape, negative):
    cells_cases.check_descent(Case(make, shape), negative=negative)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_refinement(make, shape, negative, weighted):
    case = Case(make, shape, weighted=weighted, radius=0.7)
    cells_cases.check_refinement(case, negative=negative)


def test_another_radius(make):
    case, other = Case(make, (3, 4, 2)), Case(make, (3, 4, 2), radius=1.5)
    case.cells.rescale(1.5)
    assert case.cells.evaluate(case.words, 70, case.weights) == pytest.approx(other.totals)
    assert case.cells.constant == pytest.approx(other.cells.constant)


@forall(few=10, many=300, shape=shapes(longest=4), weighted=st.booleans(), n=st.integers(1, 90))
def test_sums_on_any_shape(shape, weighted, n):
    def make(observations, radius):
        return CpuCells(pack_cells(observations, radius), Workers(1))

    cells_cases.check_sums(Case(make, shape, n=n, weighted=weighted))
