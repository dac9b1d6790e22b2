"""Cells in memory against dense matrices."""

import numpy as np
import pytest

import cells_cases
from cells_cases import SHAPES, Case
from intensor.backends.cpu import CpuCells
from intensor.backends.packed_cells import distinct, pack_cells
from intensor.runtime import threads
from intensor.runtime.threads import Workers


@pytest.fixture(params=[1, 2])
def make(request, monkeypatch):
    if request.param == 2:
        monkeypatch.setattr(threads, "BLOCK", 8)
    return lambda cells, radius: CpuCells(pack_cells(cells, radius), Workers(request.param))


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


def test_distinct_numbers_are_sorted():
    numbers = np.random.default_rng(0).integers(0, 50, 200)
    assert distinct(numbers.copy()).tolist() == np.unique(numbers).tolist()
    assert distinct(np.array([3])).tolist() == [3]
