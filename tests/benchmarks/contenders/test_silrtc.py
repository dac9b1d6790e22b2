import dataclasses
import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.contenders import silrtc
from benchmarks.contenders.dense_algebra import (
    fold,
    from_factors,
    khatri_rao,
    known_cells,
    project,
    shrink,
    unfold,
)
from benchmarks.problems import Problem, from_dense


def low_multilinear_rank(shape, rank, rng):
    tensor = rng.random((rank,) * len(shape))
    for mode, length in enumerate(shape):
        tensor = np.moveaxis(np.tensordot(tensor, rng.random((rank, length)), (mode, 0)), -1, mode)
    return tensor


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    tensor = low_multilinear_rank((20, 20, 20), 2, rng)
    known = rng.random(tensor.shape) < 0.6
    return from_dense("multilinear rank 2", tensor, known, ~known)


def test_low_multilinear_rank_is_recovered(problem):
    done = silrtc.CONTENDER.complete(problem, 20.0, 0, 1)
    error = np.linalg.norm(done.predicted - problem.truth) / np.linalg.norm(problem.truth)
    assert error < 2e-2
    assert done.chosen.startswith("amount 1/")


def test_objective_never_rises_and_is_the_one_of_the_problem(problem):
    filled, known, _ = known_cells(problem)
    given = filled.copy()
    amount = 0.05 * silrtc.largest_singular_value(filled)
    run = silrtc.steps(filled, known, amount)
    found = []
    for _ in range(15):
        before = filled.copy()
        objective, moved = next(run)
        again = 0.0
        for mode in range(3):
            left, sizes, right = np.linalg.svd(unfold(before, mode), full_matrices=False)
            sizes = np.maximum(sizes - amount, 0.0)
            again += amount * sizes.sum()
            again += np.sum((unfold(filled, mode) - (left * sizes) @ right) ** 2) / 2.0
        assert objective == pytest.approx(again, rel=1e-9)
        assert moved == pytest.approx(np.linalg.norm(filled - before), rel=1e-9)
        found.append(objective)
    assert (np.diff(found) < 0.0).all()
    assert (filled[known] == given[known]).all()


def test_solution_does_not_depend_on_the_start(problem):
    filled, known, _ = known_cells(problem)
    amount = 0.1 * silrtc.largest_singular_value(filled)
    other = np.where(known, filled, 2.0)
    assert silrtc.solve(filled, known, amount=amount, deadline=math.inf)[0]
    assert silrtc.solve(other, known, amount=amount, deadline=math.inf)[0]
    assert np.linalg.norm(filled - other) < 1e-3 * np.linalg.norm(filled)


@pytest.mark.parametrize("shape", [(6, 40), (40, 6), (9, 9)])
def test_shrinkage_is_optimal(shape):
    rng = np.random.default_rng(1)
    matrix = rng.standard_normal(shape)
    amount = float(np.median(np.linalg.svd(matrix, compute_uv=False)))
    lowered, norm = shrink(matrix, amount)
    # (matrix - M) / amount is a subgradient of the trace norm at M: its spectral norm is at most
    # 1, and its product with M is the trace norm of M.
    subgradient = (matrix - lowered) / amount
    sizes = np.linalg.svd(lowered, compute_uv=False)
    assert np.linalg.norm(subgradient, 2) <= 1.0 + 1e-9
    assert np.vdot(subgradient, lowered) == pytest.approx(sizes.sum(), rel=1e-9)
    assert norm == pytest.approx(sizes.sum(), rel=1e-9)
    assert 0 < np.count_nonzero(sizes > 1e-9) < min(shape)


def test_shrinkage_to_nothing():
    lowered, norm = shrink(np.ones((3, 5)), 100.0)
    assert not lowered.any()
    assert norm == 0.0


def test_unfolding_is_undone_and_agrees_with_factors():
    rng = np.random.default_rng(2)
    for shape in ((3, 4, 5, 2), (2, 7, 3), (4, 3)):
        factors = [rng.random((length, 2)) for length in shape]
        tensor = from_factors(factors)
        cell = tuple(length - 1 for length in shape)
        by_hand = np.sum(np.prod([f[k] for f, k in zip(factors, cell, strict=True)], axis=0))
        assert tensor[cell] == pytest.approx(by_hand)
        noisy = tensor + rng.random(shape)
        for mode, factor in enumerate(factors):
            others = khatri_rao(factors[:mode] + factors[mode + 1 :])
            np.testing.assert_allclose(unfold(tensor, mode), factor @ others.T)
            np.testing.assert_array_equal(fold(unfold(noisy, mode), mode, shape), noisy)
            np.testing.assert_allclose(project(noisy, factors, mode), unfold(noisy, mode) @ others)


def test_repeated_cells_are_averaged():
    problem = Problem(
        name="twice",
        shape=(2, 2),
        coords=np.array([[0, 1], [1, 1], [0, 1]]),
        values=np.array([1.0, 5.0, 4.0]),
        asked=np.empty((0, 2), dtype=np.int64),
        truth=np.empty(0),
    )
    tensor, known, unit = known_cells(problem)
    np.testing.assert_allclose(tensor * unit, [[0.0, 2.5], [0.0, 5.0]])
    assert known.tolist() == [[False, True], [False, True]]
    assert np.mean(tensor[known] ** 2) == pytest.approx(1.0)


def test_known_cells_keep_their_mean_value(problem):
    twice = dataclasses.replace(
        problem,
        coords=np.concatenate([problem.coords, problem.coords[:1]]),
        values=np.concatenate([problem.values, problem.values[:1] + 2.0]),
        asked=problem.coords[:1],
        truth=problem.values[:1],
    )
    done = silrtc.CONTENDER.complete(twice, 5.0, 0, 1)
    assert done.predicted[0] == pytest.approx(problem.values[0] + 1.0)


def test_clock_ends_it(problem, monkeypatch):
    filled, known, _ = known_cells(problem)
    given = filled.copy()
    assert silrtc.solve(filled, known, amount=1e-3, deadline=-math.inf) == (False, 0)
    assert (filled == given).all()
    with pytest.raises(TimeoutError, match="no step within 0 s"):
        silrtc.CONTENDER.complete(problem, 0.0, 0, 1)
    # A clock that goes on by a second at each look: some steps, not all.
    ticks = itertools.count()
    clock = SimpleNamespace(perf_counter=lambda: float(next(ticks)))
    monkeypatch.setattr(silrtc, "time", clock)
    done = silrtc.CONTENDER.complete(problem, 40.0, 0, 1)
    assert "where time ended" in done.chosen
    assert np.isfinite(done.predicted).all()
    assert done.predicted.any()


def test_too_many_cells_are_refused(problem, monkeypatch):
    monkeypatch.setattr(silrtc, "MOST_CELLS", 7999)
    with pytest.raises(MemoryError, match="cells"):
        silrtc.CONTENDER.complete(problem, 1.0, 0, 1)
