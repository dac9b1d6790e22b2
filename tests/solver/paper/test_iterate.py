"""The active set and the iterate: weights sum to 1, vertices are held once, x follows."""

import numpy as np
import pytest

import zoo
from intensor.data.observations import observe
from intensor.problem.objective import build_objective
from intensor.solver.paper.iterate import ActiveSet, Iterate
from intensor.solver.paper.rows import DenseRows, SparseRows

DATA = zoo.noisy((4, 3), 12, rep=0)
CELLS = observe(DATA.coords, DATA.values, shape=DATA.shape)
ONES = np.ones(7, dtype=np.uint8)
OTHER = np.array([1, 0, 1, 0, 1, 1, 0], dtype=np.uint8)


def active_set(rows=DenseRows):
    active = ActiveSet(CELLS, rows)
    for flags, share in ((ONES, 1.0), (OTHER, 0.25)):
        active.enter(flags, active.inside(flags), share)
    return active


@pytest.mark.parametrize("rows", [DenseRows, SparseRows])
def test_a_vertex_takes_its_share_of_all_weight(rows):
    active = active_set(rows)
    assert active.weights.tolist() == [0.75, 0.25]
    assert active.flags().tolist() == [ONES.tolist(), OTHER.tolist()]
    wanted = 0.75 + 0.25 * active.inside(OTHER)
    np.testing.assert_allclose(active.combine(), wanted)


def test_a_known_vertex_is_not_held_twice():
    active = active_set()
    active.enter(OTHER, active.inside(OTHER), 0.5)
    assert active.weights.tolist() == [0.375, 0.625]
    assert (len(active), active.changes) == (2, 2)


def test_vertices_without_weight_are_dropped():
    active = active_set()
    active.weights = np.array([1.0, -1e-18])
    active.drop_empty()
    assert (len(active), active.drops, active.changes) == (1, 1, 3)
    active.drop_empty()
    assert active.changes == 3
    active = active_set()
    active.collapse(1)
    assert active.flags().tolist() == [OTHER.tolist()]
    assert active.weights.tolist() == [1.0]


def test_an_iterate_starts_at_the_full_box_and_knows_its_derivatives():
    objective = build_objective(CELLS, 1.0)
    iterate = Iterate(CELLS, objective, DenseRows)
    assert iterate.x.tolist() == [1.0] * CELLS.n_cells
    iterate.linearise()
    assert iterate.products.tolist() == pytest.approx([iterate.gradient.sum()])
    assert iterate.value == objective.value(iterate.x)


def test_recombining_removes_the_drift():
    iterate = Iterate(CELLS, build_objective(CELLS, 1.0), DenseRows)
    iterate.active.weights = np.array([1.0 + 1e-9])
    iterate.move(iterate.x + 1e-6)
    iterate.recombine()
    assert iterate.active.weights.sum() == 1.0
    assert iterate.x.tolist() == [1.0] * CELLS.n_cells
