"""The three ways to move weights, held against the conditions of optimality.

Columns are vertices on a few cells, zeros and ones; the objective is ``|Aw - t|^2`` over weights
that are nonnegative and sum to at most 1 (to 1 for the projection).
"""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from forall import forall
from intensor.kernels.pair_exchange import exchange
from intensor.solver.fast.master import Master
from intensor.solver.paper.steps import project
from strategies import seeds


@dataclass
class Case:
    """Columns and a target, with the weights that a master has found for them."""

    columns: np.ndarray
    target: np.ndarray

    def __post_init__(self):
        self.gram = self.columns.T @ self.columns
        self.size = 1.0 + float(self.target @ self.target)

    def value(self, weights):
        residual = self.columns @ weights - self.target
        return float(residual @ residual)

    def slope(self, weights):
        """Return the half-gradient."""
        return self.columns.T @ (self.columns @ weights - self.target)

    def gap(self, weights):
        """Return how much better any weights could be at first order: 0 at the optimum only."""
        slope = self.slope(weights)
        return 2.0 * float(slope @ weights - min(slope.min(initial=0.0), 0.0))


@st.composite
def cases(draw):
    rows, count = draw(st.integers(1, 10)), draw(st.integers(1, 24))
    cells = st.lists(st.booleans(), min_size=rows, max_size=rows)
    columns = np.array(draw(st.lists(cells, min_size=count, max_size=count)), dtype=float).T
    kind = draw(st.sampled_from(["any", "halves", "mixture", "far"]))
    rng = np.random.default_rng(draw(seeds))
    target = rng.uniform(size=rows)
    if kind == "halves":
        target = rng.integers(0, 4, rows) / 2.0
    elif kind == "mixture":  # a perfect fit exists
        target = columns @ (rng.dirichlet(np.ones(count)) * rng.choice([0.5, 1.0]))
    elif kind == "far":
        target = target * 100.0
    return Case(columns, target)


def check_simplex(weights):
    assert np.all(weights >= 0.0)
    assert weights.sum() <= 1.0 + 1e-12


@forall(few=30, many=1000, case=cases())
def test_the_master_meets_the_conditions_of_optimality(case):
    master = Master(case.columns.shape[1])
    values = [case.value(master.weights)]
    for _ in range(4):
        half = case.slope(master.weights)
        master.solve(case.gram, len(case.gram), half, tolerance=1e-13 * case.size)
        check_simplex(master.weights)
        np.testing.assert_allclose(half, case.slope(master.weights), rtol=0, atol=1e-9 * case.size)
        values.append(case.value(master.weights))
    assert np.all(np.diff(values) <= 1e-12 * case.size)
    assert case.gap(master.weights) <= 1e-9 * case.size
    used = set(master.support[: master.size].tolist())
    assert set(np.flatnonzero(master.weights).tolist()) <= used
    # A price on the sum only where there is nothing left, the same for all in use.
    slope = case.slope(master.weights)
    price = -min(slope.min(initial=0.0), 0.0)
    if price > 1e-8 * case.size:
        assert master.weights.sum() >= 1.0 - 1e-9
    assert np.all(np.abs(slope + price)[master.weights > 1e-3] <= 1e-6 * case.size)


@forall(few=30, many=1000, case=cases(), cuts=st.lists(st.integers(1, 24), max_size=4))
def test_the_master_takes_vertices_as_they_come(case, cuts):
    count = case.columns.shape[1]
    master = Master(count)
    before = case.value(master.weights)
    for last in [*sorted(min(cut, count) for cut in cuts), count, count, count]:
        half = case.slope(master.weights)
        master.solve(case.gram, last, half, tolerance=1e-13 * case.size)
        check_simplex(master.weights)
        assert not master.weights[last:].any()
        after = case.value(master.weights)
        assert after <= before + 1e-12 * case.size
        before = after
    assert case.gap(master.weights) <= 1e-9 * case.size


@forall(few=30, many=1000, case=cases(), seed=seeds, steps=st.integers(0, 40))
def test_exchanges_keep_to_the_simplex_and_never_go_up(case, seed, steps):
    rng = np.random.default_rng(seed)
    count = case.columns.shape[1]
    weights = rng.dirichlet(np.ones(count + 1))[:count] * (rng.uniform(size=count) < 0.7)
    before, half = case.value(weights), case.slope(weights)
    taken, apart = exchange(case.gram, count, 1e-12 * case.size, steps, half, weights)
    check_simplex(weights)
    assert 0 <= taken <= steps
    assert case.value(weights) <= before + 1e-12 * case.size
    np.testing.assert_allclose(half, case.slope(weights), rtol=0, atol=1e-10 * case.size)
    if taken < steps:
        assert apart <= 1e-12 * case.size
        assert case.gap(weights) <= 1e-9 * case.size


@forall(
    few=30,
    many=1000,
    point=st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20),
)
def test_the_projection_is_the_nearest_point_of_the_simplex(point):
    start = np.array(point)
    found = project(start)
    scale = 1.0 + float(np.abs(start).max())
    assert np.all(found >= 0.0)
    assert abs(found.sum() - 1.0) <= 1e-13 * scale * start.size
    # <start - found, z - found> <= 0 for all z: enough at the corners.
    across = start - found
    assert across.max() - across @ found <= 1e-10 * scale
    np.testing.assert_allclose(project(found), found, rtol=0, atol=1e-12 * scale)
