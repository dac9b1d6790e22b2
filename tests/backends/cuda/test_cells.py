"""Cells on a device against dense matrices; in the CUDA simulator by default."""

from dataclasses import replace

import numpy as np
import pytest

import cells_cases
from cells_cases import Case, ComponentCase
from intensor.backends.cpu import CpuCells
from intensor.backends.cuda import components
from intensor.backends.cuda.cells import CudaCells
from intensor.backends.cuda.observations import upload
from intensor.backends.packed_cells import pack_cells
from intensor.data.observations import observe
from intensor.runtime.threads import Workers

slow = pytest.mark.slow  # the simulator runs every thread in Python


def make(observations, radius):
    return CudaCells(upload(observations), radius, Workers(1))


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((3, 4, 2), {"weighted": True, "n": 40}),
        pytest.param((7,), {}, marks=slow),
        pytest.param((3, 4, 2), {"repeats": False}, marks=slow),
        pytest.param((2, 3, 2, 3), {"radius": 0.6}, marks=slow),
    ],
)
def test_sums_are_those_of_dense_matrices(shape, options):
    cells_cases.check_sums(Case(make, shape, **options))


@slow
def test_there_may_be_more_words_than_a_kernel_takes_at_once():
    case = Case(make, (3, 4), n=30, k=200)
    error, _ = case.totals
    assert error + case.cells.constant == pytest.approx(case.objective.value(case.x), rel=1e-12)


@slow
def test_vertices_beyond_the_count_are_ignored():
    case = Case(make, (3, 4), n=30, k=70)
    for count in (1, 8, 64, 67):
        weights = np.where(np.arange(128) < count, case.weights, 0.0)
        error, _ = case.cells.evaluate(case.words, count, weights)
        x = weights[:70] @ case.members
        assert error + case.cells.constant == pytest.approx(case.objective.value(x), rel=1e-12)


def test_a_cell_may_have_thousands_of_observations():
    observations = observe(np.argwhere(np.ones((2, 2))), np.ones(4))
    counts = np.array([4997, 1, 1, 1], dtype=np.uint16)
    observations = replace(observations, counts=counts, n=5000)
    gram = np.empty((64, 64))
    words = np.full((4, 1), 1, dtype=np.uint64)
    make(observations, 1.0).add(words, 0, 1, gram)
    assert gram[0, 0] == pytest.approx(1.0)


@pytest.mark.parametrize("negative", [False, pytest.param(True, marks=slow)])
def test_a_descent_ends_where_no_mode_can_be_improved(negative):
    cells_cases.check_descent(Case(make, (3, 4, 2), n=60), negative=negative)


@pytest.mark.parametrize("negative", [pytest.param(False, marks=slow), True])
@pytest.mark.parametrize("weighted", [pytest.param(False, marks=slow), True])
def test_a_refinement_never_raises_the_objective(negative, weighted):
    case = Case(make, (3, 4, 2), n=60, radius=0.7, weighted=weighted)
    cells_cases.check_refinement(case, negative=negative)


@slow
def test_cells_follow_a_change_of_the_radius():
    cells_cases.check_rescaling(make, (3, 4), n=40)


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((4, 5, 3), {"k": 3, "weighted": True}),
        ((3, 2, 3, 2), {"k": 9}),
        ((7, 8), {"k": 1}),
        pytest.param((3, 2), {"k": 33, "n": 12}, marks=slow),
        pytest.param((2, 3, 2, 3, 2), {"k": 8, "weighted": True}, marks=slow),
        pytest.param((4, 5, 3), {"k": 8, "n": 300}, marks=slow),
    ],
)
def test_sums_at_components_are_those_of_cells_in_memory(shape, options, monkeypatch):
    monkeypatch.setattr(components, "MIN_CHUNK", 8)  # several chunks of one index
    case = ComponentCase(make, shape, **{"n": 60, **options})
    cells_cases.check_components(case)
    cells_cases.check_normal_equations(case)


def test_normal_equations_follow_a_change_of_the_radius():
    case = ComponentCase(make, (4, 5), k=2, n=30)
    cells_cases.check_normal_equations(case, modes=[1])
    for cells in (case.cells, case.here):
        cells.rescale(0.7)
    cells_cases.check_normal_equations(case, modes=[1])


def test_an_index_has_the_same_bits_in_any_range():
    case = ComponentCase(make, (4, 5), k=2, n=30)
    every = case.cells.normal_equations(1, case.factors, case.weights, 0, 5)
    some = case.cells.normal_equations(1, case.factors, case.weights, 2, 4)
    np.testing.assert_array_equal(every.matrices[2:4], some.matrices)
    np.testing.assert_array_equal(every.slopes[2:4], some.slopes)


@pytest.mark.parametrize("max_host_sample", [0, 1 << 18])
@pytest.mark.parametrize(
    "options",
    [
        {"repeats": False},
        pytest.param({}, marks=slow),
        pytest.param({"weighted": True}, marks=slow),
    ],
    ids=str,
)
def test_samples_are_those_of_the_host(max_host_sample, options):
    def make(observations, radius):
        data = upload(observations)
        return CudaCells(data, radius, Workers(1), max_host_sample=max_host_sample)

    case = Case(make, (3, 4, 3), n=80, **options)
    there = case.cells.sample(30, np.random.default_rng(3))
    here = CpuCells(pack_cells(case.observations, 1.0), Workers(1))
    here = here.sample(30, np.random.default_rng(3))
    assert isinstance(there, CudaCells if max_host_sample == 0 else CpuCells)
    assert there.n_cells == here.n_cells < case.cells.n_cells
    assert there.constant == pytest.approx(here.constant)
    totals = [cells.evaluate(case.words, 70, case.weights) for cells in (there, here)]
    assert totals[0] == pytest.approx(totals[1], rel=1e-12)


def test_an_index_may_return_within_a_stretch_of_cells():
    # Mode 1 goes 0 (7 cells), 1 (one cell), 0 (8 cells) through the 16 cells of a stretch.
    third = np.arange(8)
    parts = [(0, 0, third[:7]), (0, 1, third[:1]), (1, 0, third)]
    coords = np.concatenate([[(a, b, c) for c in some] for a, b, some in parts])
    cells = make(observe(coords, np.arange(1.0, 17.0), shape=(2, 2, 8)), 1.0)
    cells.evaluate(np.zeros((12, 1), dtype=np.uint64), 1, np.zeros(64))
    lanes = np.full(12, 1, dtype=np.uint64)
    sums = cells.mode_sums(lanes, np.uint64(1), 1)[:, 0]
    gradient = -2.0 * np.arange(1.0, 17.0) / 16.0
    assert sums.tolist() == pytest.approx([gradient.sum() - gradient[7], gradient[7]])
