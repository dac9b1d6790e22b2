import dataclasses
import math
from unittest import mock

import numpy as np
import pytest

from benchmarks.contenders import tncp
from benchmarks.contenders.dense_algebra import from_factors, khatri_rao, known_cells, unfold
from benchmarks.problems import from_dense

SHAPE = (12, 11, 10)


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    tensor = from_factors([rng.random((length, 3)) for length in SHAPE])
    known = rng.random(SHAPE) < 0.4
    return from_dense("rank 3", tensor, known, ~known)


def test_exact_rank_is_recovered(problem):
    with mock.patch.multiple(tncp, RANKS=(3, 5), FIRST_RANK=5):
        done = tncp.CONTENDER.complete(problem, 20.0, 0, 1)
    error = np.linalg.norm(done.predicted - problem.truth) / np.linalg.norm(problem.truth)
    assert error < 1e-2
    assert done.chosen.startswith("lambda ")
    assert "rank " in done.chosen


def test_growing_penalty_ends_with_copies_equal_to_factors(problem):
    tensor, known, _ = known_cells(problem)
    state = tncp.solve(
        tensor, known, rank=5, strength=1.0, deadline=math.inf, rng=np.random.default_rng(1)
    )
    assert state.penalty > 100.0 * tncp.FIRST_PENALTY
    np.testing.assert_array_equal(state.filled[known], tensor[known])
    np.testing.assert_allclose(state.filled[~known], from_factors(state.factors)[~known])
    for factor, copy in zip(state.factors, state.copies, strict=True):
        assert np.linalg.norm(factor) > 1.0
        assert np.linalg.norm(factor - copy) <= tncp.TOLERANCE * np.linalg.norm(factor)


def test_fixed_point_is_stationary():
    """-Y_n is in alpha_n times the subdifferential of the trace norm at M_n = U_n, and Y_n is the
    gradient of the distance. The penalty must not grow for ever: it would stop the method before.
    """
    rng = np.random.default_rng(1)
    tensor = from_factors([rng.standard_normal((length, 2)) for length in (7, 6, 5)])
    known = rng.random(tensor.shape) < 0.7
    tensor = np.where(known, tensor, 0.0)
    changed = {"LAST_PENALTY": 2.0, "TOLERANCE": 1e-8, "MOST_STEPS": 3000}
    with mock.patch.multiple(tncp, **changed):
        state = tncp.solve(tensor, known, rank=3, strength=2.0, deadline=math.inf, rng=rng)
    assert state.apart <= 1e-8
    assert np.linalg.norm(state.filled) > 1.0
    distance = from_factors(state.factors) - state.filled
    for mode, (copy, dual) in enumerate(zip(state.copies, state.duals, strict=True)):
        nuclear = np.linalg.svd(copy, compute_uv=False).sum()
        assert np.linalg.norm(dual, 2) <= 1.0 / 3.0 + 1e-9
        assert -np.vdot(dual, copy) == pytest.approx(nuclear / 3.0, rel=1e-6)
        others = khatri_rao([f for k, f in enumerate(state.factors) if k != mode])
        gradient = 2.0 * unfold(distance, mode) @ others
        assert np.linalg.norm(gradient - dual) < 1e-3 * np.linalg.norm(dual)


def test_trace_norms_lower_the_rank(problem):
    tensor, known, _ = known_cells(problem)
    found = tncp.solve(
        tensor, known, rank=6, strength=1.0, deadline=math.inf, rng=np.random.default_rng(2)
    )
    assert [np.linalg.matrix_rank(copy, tol=1e-3) for copy in found.copies] == [3, 3, 3]
    weak = tncp.solve(
        tensor, known, rank=6, strength=1e-6, deadline=math.inf, rng=np.random.default_rng(2)
    )
    assert weak.apart <= tncp.TOLERANCE
    assert np.abs(from_factors(weak.factors)).max() < 1e-6


def test_first_block_minimises_the_augmented_problem(problem):
    tensor, known, _ = known_cells(problem)
    rng = np.random.default_rng(3)
    state = tncp.start(tensor, known, 4, rng)
    state.penalty = 0.3
    state.copies = [rng.random(factor.shape) for factor in state.factors]
    state.duals = [rng.random(factor.shape) for factor in state.factors]
    others, copy, dual = khatri_rao(state.factors[1:]), state.copies[0], state.duals[0].copy()
    wide = unfold(state.filled, 0).copy()
    tncp.step(state, ~known, 2.0)

    # Stacked least squares: rows of sqrt(lambda) B and of sqrt(eta) I.
    design = np.vstack([math.sqrt(2.0) * others, math.sqrt(0.3) * np.eye(4)])
    wanted = np.vstack([math.sqrt(2.0) * wide.T, math.sqrt(0.3) * (copy + dual / 0.3).T])
    by_lstsq = np.linalg.lstsq(design, wanted, rcond=None)[0].T
    np.testing.assert_allclose(state.factors[0], by_lstsq, rtol=0, atol=1e-9)
    # The dual takes the step of the method, with the penalty of before.
    moved = 0.3 * (state.copies[0] - state.factors[0])
    np.testing.assert_allclose(state.duals[0], dual + moved, rtol=0, atol=1e-12)
    assert state.penalty == pytest.approx(0.3 * tncp.GROWTH)


def test_known_cells_keep_their_mean_value(problem):
    twice = dataclasses.replace(
        problem,
        coords=np.concatenate([problem.coords, problem.coords[:1]]),
        values=np.concatenate([problem.values, problem.values[:1] + 2.0]),
        asked=problem.coords[:1],
        truth=problem.values[:1],
    )
    with mock.patch.multiple(tncp, RANKS=(3,), STRENGTHS=(1e3,), FIRST_RANK=3):
        done = tncp.CONTENDER.complete(twice, 5.0, 0, 1)
    assert done.predicted[0] == pytest.approx(problem.values[0] + 1.0)


def test_clock_ends_it(problem):
    tensor, known, _ = known_cells(problem)
    with mock.patch.object(tncp, "step", wraps=tncp.step) as counted:
        tncp.solve(
            tensor, known, rank=3, strength=1.0, deadline=-math.inf, rng=np.random.default_rng(4)
        )
    assert counted.call_count == 1
    done = tncp.CONTENDER.complete(problem, 0.0, 0, 1)
    assert np.isfinite(done.predicted).all()


def test_too_many_cells_are_refused(problem, monkeypatch):
    monkeypatch.setattr(tncp, "MOST_CELLS", math.prod(SHAPE) - 1)
    with pytest.raises(MemoryError, match="cells"):
        tncp.CONTENDER.complete(problem, 1.0, 0, 1)
