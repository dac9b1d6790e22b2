"""Local steps: they stay in the simplex, lower the objective, and end at the best weights."""

import numpy as np
import pytest

import naive_master
import zoo
from intensor.data.observations import observe
from intensor.problem.objective import build_objective
from intensor.solver.paper.iterate import Iterate
from intensor.solver.paper.rows import DenseRows
from intensor.solver.paper.steps import (
    AcceleratedDescent,
    PairwiseStep,
    SimplexDescent,
    project,
)

DATA = zoo.noisy((4, 3, 3), 36, rep=0)
CELLS = observe(DATA.coords, DATA.values, shape=DATA.shape)
STEPS = [SimplexDescent, PairwiseStep, AcceleratedDescent]


def crowded():
    """Return an iterate with six vertices of equal weight."""
    iterate = Iterate(CELLS, build_objective(CELLS, 1.0), DenseRows)
    rng = np.random.default_rng(0)
    for count in range(1, 6):
        flags = rng.integers(0, 2, sum(DATA.shape), dtype=np.uint8)
        iterate.active.enter(flags, iterate.active.inside(flags), 1.0 / (count + 1))
    iterate.recombine()
    return iterate


def best_value(iterate):
    """Return the least objective over weights of the active vertices that sum to 1."""
    columns = np.array([iterate.active.rows.row(i) for i in range(len(iterate.active))]).T
    root = np.sqrt(iterate.objective.weights)[:, np.newaxis]
    target = root[:, 0] * iterate.objective.targets
    # With the first vertex as origin, the others have weights of sum at most 1.
    origin = root[:, 0] * columns[:, 0]
    weights = naive_master.best_weights(
        root * columns[:, 1:] - origin[:, np.newaxis], target - origin
    )
    weights = np.append(1.0 - weights.sum(), weights)
    return iterate.objective.value(columns @ weights)


@pytest.mark.parametrize("step", STEPS)
def test_steps_reach_the_best_weights_of_the_simplex(step):
    iterate = crowded()
    best = best_value(iterate)
    rule, values = step(), [iterate.value]
    for _ in range(500):
        iterate.linearise()
        rule.take(iterate)
        assert iterate.active.weights.min() >= 0.0
        assert iterate.active.weights.sum() == pytest.approx(1.0, abs=1e-9)
        np.testing.assert_allclose(iterate.x, iterate.active.combine(), atol=1e-9)
        values.append(iterate.value)
    # Vertices that a step has dropped are gone: only a new one could improve on the rest.
    assert values[-1] == pytest.approx(best_value(iterate), abs=1e-6)
    assert best - 1e-12 <= values[-1] <= best + 1e-4
    if step is not AcceleratedDescent:  # whose momentum may overshoot
        assert np.all(np.diff(values) <= 1e-14)


def test_a_single_vertex_stays_where_it_is():
    iterate = Iterate(CELLS, build_objective(CELLS, 1.0), DenseRows)
    iterate.linearise()
    SimplexDescent().take(iterate)
    assert iterate.active.weights.tolist() == [1.0]


@pytest.mark.parametrize("step", STEPS)
def test_rules_say_what_they_remember(step):
    assert bool(step().capture()) == (step is AcceleratedDescent)


@pytest.mark.parametrize(
    ("point", "nearest"),
    [
        ([0.5, 0.5], [0.5, 0.5]),
        ([5.0, 0.0], [1.0, 0.0]),
        ([-3.0, -3.0], [0.5, 0.5]),
        ([0.75, 0.5, -1.0], [0.625, 0.375, 0.0]),
    ],
)
def test_the_nearest_point_of_the_simplex(point, nearest):
    assert project(np.array(point)).tolist() == pytest.approx(nearest)
