"""The Gram set against dense matrices, through additions, corrections and removals."""

import numpy as np
import pytest

from intensor.backends.cpu import CpuCells
from intensor.backends.packed_cells import pack_cells
from intensor.data.observations import observe
from intensor.problem.objective import build_objective
from intensor.problem.vertex import membership
from intensor.runtime.threads import Workers
from intensor.solver.fast.gram_set import GramSet, key
from intensor.solver.fast.tuning import TUNING

SHAPES = [(40,), (9, 8), (6, 5, 7), (4, 3, 5, 4)]


class Dense:
    """A Gram set beside everything it should know, computed from dense matrices."""

    def __init__(self, shape, *, n=300, seed=0, scale=1.0, signed=False, weighted=False):
        rng = np.random.default_rng([seed, n, *shape])
        coords = np.stack([rng.integers(0, length, n) for length in shape], axis=1)
        coords[: n // 6] = coords[: n // 60].repeat(10, axis=0)[: n // 6]
        weights = rng.uniform(0.1, 3.0, n) if weighted else None
        values = scale * rng.uniform(size=n)
        self.observations = observe(coords, values, shape=shape, sample_weight=weights)
        self.signed = signed
        self.objective = build_objective(self.observations, 1.0)
        self.cells = pack_cells(self.observations, 1.0)
        self.active = GramSet(CpuCells(self.cells, Workers(1)))
        self.rng = rng
        self.added = []

    def add(self, count):
        density = self.rng.uniform(0.3, 0.9, (count, 1))
        length = sum(self.observations.shape)
        flags = (self.rng.uniform(size=(count, length)) < density).astype(np.uint8)
        signs = self.rng.choice([1.0, -1.0], count) if self.signed else np.ones(count)
        fresh = {}
        for row, sign in zip(flags, signs, strict=True):
            if key(row, sign) not in self.active.known:
                fresh[key(row, sign)] = (row, sign)
        self.active.add(np.array([row for row, _ in fresh.values()]), signs_of(fresh))
        self.active.linearise()
        self.added.extend(fresh)

    def check(self, exact=1e-12):
        active, cells = self.active, self.cells
        shape = self.observations.shape
        members = np.array(
            [membership(row, self.observations.coords, shape) for row in active.flags], dtype=float
        ).reshape(active.count, cells.n_cells)
        members *= active.signs[:, np.newaxis]
        shares = self.objective.weights
        x = active.weights @ members
        gradient = self.objective.gradient(x)
        costs = np.empty(cells.n_cells)
        costs[cells.order] = active.cells.costs
        np.testing.assert_allclose(costs, gradient, rtol=0, atol=1e-15)
        assert active.value == pytest.approx(self.objective.value(x), rel=1e-12)
        assert active.product == pytest.approx(gradient @ x, rel=1e-12, abs=1e-14)
        gram = active._gram[: active.count, : active.count]
        np.testing.assert_allclose(gram, (members * shares) @ members.T, rtol=1e-13, atol=1e-16)
        slope = active.half_gradient[: active.count]
        np.testing.assert_allclose(slope, members @ gradient / 2.0, rtol=0, atol=exact)
        held = {key(*vertex) for vertex in zip(active.flags, active.signs, strict=True)}
        assert active.known == held
        assert len(held) == active.count == active.weights.size
        assert held <= set(self.added)
        assert active.count + active.drops == len(self.added)
        assert active.weights.min(initial=0.0) >= 0.0
        assert active.weights.sum() <= 1.0 + 1e-12


def signs_of(fresh):
    return np.array([sign for _, sign in fresh.values()])


@pytest.mark.parametrize("shape", SHAPES)
def test_everything_equals_the_dense_computation(shape):
    dense = Dense(shape)
    assert dense.cells.extra.shape[0] >= 3
    dense.check()
    for count in (1, 7, 60, 64, 70):
        dense.add(count)
        dense.check()
        before = dense.active.value
        dense.active.correct(1e-12)
        dense.check()
        assert dense.active.value < before or count == 1
    assert dense.active.count > 128 or dense.active.drops > 0


@pytest.mark.parametrize(
    ("shape", "weighted"), [((6, 5, 7), False), *((shape, True) for shape in SHAPES)]
)
def test_signs_and_weights(shape, weighted):
    dense = Dense(shape, signed=True, weighted=weighted)
    for count in (7, 60, 70):
        dense.add(count)
        dense.check()
        dense.active.correct(1e-12)
        dense.check()
    assert dense.active.signs.min() == -1.0
    assert dense.active.signs.max() == 1.0


@pytest.mark.parametrize("factor", [1.5, 0.6])
def test_another_radius(factor):
    dense = Dense((6, 5, 7), signed=True)
    dense.add(60)
    dense.active.correct(1e-12)
    before = dense.active.weights.copy()
    dense.active.rescale(factor)
    dense.objective = build_objective(dense.observations, factor)
    dense.check()
    np.testing.assert_allclose(dense.active.weights, before / max(factor, 1.0), rtol=1e-15)
    dense.active.correct(1e-13)
    dense.check()
    fresh = Dense((6, 5, 7), signed=True)
    fresh.add(60)
    fresh.active.rescale(factor)
    fresh.active.correct(1e-13)
    assert dense.active.value == pytest.approx(fresh.active.value, rel=1e-9)


def test_more_vertices_than_a_call_takes():
    dense = Dense((6, 5, 7))
    dense.add(300)
    assert dense.active.count > 256
    dense.check()
    dense.active.correct(1e-12)
    dense.check()


def test_the_zero_vertex_is_where_it_starts():
    dense = Dense((6, 5, 7))
    cells = dense.cells
    assert dense.active.count == 0
    start = float(cells.shares @ cells.targets**2) + cells.constant
    assert dense.active.value == pytest.approx(start, rel=1e-13)
    assert dense.active.product == 0.0


def test_what_a_vertex_is_does_not_matter():
    # The empty vertex and the full one are vertices like any others.
    dense = Dense((4, 5))
    for flags in (np.zeros((1, 9), dtype=np.uint8), np.ones((1, 9), dtype=np.uint8)):
        dense.active.add(flags, np.ones(1))
        dense.added.extend(row.tobytes() for row in flags)
    dense.active.linearise()
    dense.active.correct(1e-13)
    dense.check()
    mean = float(dense.objective.weights @ dense.objective.targets)
    assert dense.active.weights[1] == pytest.approx(mean, rel=1e-10)


def test_pruning_lets_the_oldest_unused_go():
    dense = Dense((6, 5, 7))
    for _ in range(8):
        dense.add(60)
        before = [row.tobytes() for row in dense.active.flags]
        size_before = dense.active.count
        dense.active.correct(1e-10)
        dense.check()
        active = dense.active
        used = active.master.size
        assert active.count <= used + max(TUNING.spare_vertices, used)
        after = [row.tobytes() for row in active.flags]
        gone = set(before) - active.known
        assert after == [key for key in before if key not in gone]
        assert len(gone) == size_before - active.count
        weightless = {row.tobytes() for row in active.flags[active.weights == 0.0]}
        position = {key: index for index, key in enumerate(before)}
        if gone:
            assert max(position[key] for key in gone) < min(position[key] for key in weightless)
    assert dense.active.drops > 0


def test_a_pruned_vertex_may_come_back():
    dense = Dense((6, 5, 7))
    dense.add(200)
    dense.active.correct(1e-10)
    gone = [name for name in dense.added if name not in dense.active.known]
    assert gone
    flags = np.array([np.frombuffer(name, dtype=np.uint8) for name in gone[:5]])
    dense.active.add(flags, np.ones(5))
    dense.active.linearise()
    dense.added.extend(gone[:5])
    dense.check()


@pytest.mark.parametrize("scale", [0.2, 8.0])
def test_the_weights_are_the_best_ones(scale):
    dense = Dense((6, 5, 7), scale=scale)
    dense.add(100)
    dense.active.correct(1e-13)
    active = dense.active
    slope = active.half_gradient[: active.count]
    price = max(0.0, -slope.min()) if active.master.full else 0.0
    assert active.master.full == (scale > 1.0)
    assert np.all(slope + price >= -1e-11)
    assert np.all(np.abs(slope + price)[active.weights > 0.0] <= 1e-11)


def test_near_a_perfect_fit_the_half_gradient_is_computed_anew():
    dense = Dense((6, 5, 7), n=120)
    dense.add(30)
    members = np.array(
        [membership(row, dense.observations.coords, (6, 5, 7)) for row in dense.active.flags]
    )
    target = (members[3] + members[8] + members[20]) / 4.0
    coords = np.stack(dense.observations.coords, axis=1)
    exact = Dense((6, 5, 7))
    exact.observations = observe(coords, target, shape=(6, 5, 7))
    exact.objective = build_objective(exact.observations, 1.0)
    exact.cells = pack_cells(exact.observations, 1.0)
    exact.active = GramSet(CpuCells(exact.cells, Workers(1)))
    exact.active.add(dense.active.flags, dense.active.signs)
    exact.added.extend(row.tobytes() for row in dense.active.flags)
    for _ in range(4):
        exact.active.linearise()
        exact.active.correct(exact.active.value / 1000)
    assert exact.active.value <= 1e-30
    exact.active.linearise()
    exact.check(exact=1e-17)
