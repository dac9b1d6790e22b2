"""The gauge norm: bounds that meet on small tensors and never cross."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

import intensor
import zoo
from intensor._gauge import _sum_from_below


def by_linear_programming(tensor):
    """Return the norm from the full linear program over all vertices."""
    coords = np.stack(np.unravel_index(np.arange(tensor.size), tensor.shape), axis=1)
    rows = zoo.distinct_rows(tensor.shape, coords)
    answer = linprog(np.ones(len(rows)), A_eq=rows.T, b_eq=tensor.reshape(-1), method="highs")
    assert answer.status == 0
    return answer.fun


@pytest.mark.parametrize("shape", [(3,), (3, 4), (2, 3, 3), (2, 2, 2, 2)])
@pytest.mark.parametrize("seed", zoo.mostly_slow([0, 1], telling=[0]))
def test_exact_on_small_tensors(shape, seed):
    tensor = np.random.default_rng(seed).integers(0, 4, size=shape).astype(float)
    tensor.flat[0] = 2.5
    norm = intensor.gauge_norm(tensor)
    truth = by_linear_programming(tensor)
    assert norm.lower <= truth * (1 + 1e-9)
    assert norm.upper >= truth * (1 - 1e-9)
    assert norm.gap <= 1e-6 * truth
    assert np.allclose(norm.model.to_dense(), tensor, rtol=0, atol=1e-12)
    assert norm.model.weights.sum() == pytest.approx(norm.upper, rel=1e-9)


def test_a_vertex_has_norm_one_and_scaling_scales():
    flags = np.array([1, 0, 1, 1, 1, 0, 0, 1], dtype=float)
    box = np.einsum("i,j,k->ijk", flags[:3], flags[3:6], flags[6:])
    for scale in (1.0, 7.5, 1e-6, 1e9):
        norm = intensor.gauge_norm(scale * box)
        assert norm.lower == pytest.approx(scale, rel=1e-7)
        assert norm.upper == pytest.approx(scale, rel=1e-7)


def test_disjoint_boxes_add_up():
    tensor = np.zeros((4, 4))
    tensor[:2, :2], tensor[2:, 2:] = 1.0, 3.0
    norm = intensor.gauge_norm(tensor)
    assert (norm.lower, norm.upper) == pytest.approx((4.0, 4.0))


@pytest.mark.parametrize("seed", zoo.mostly_slow(range(4), telling=[0]))
def test_between_largest_entry_and_rank_times_it(seed):
    rng = np.random.default_rng(seed)
    rank = 3
    factors = [rng.random((4, rank)) for _ in range(3)]
    tensor = np.einsum("ir,jr,kr->ijk", *factors)
    norm = intensor.gauge_norm(tensor)
    assert norm.lower <= norm.upper * (1 + 1e-12)
    assert norm.gap <= 1e-6 * norm.upper
    assert norm.upper >= tensor.max() * (1 - 1e-12)
    assert norm.lower <= rank * tensor.max() * (1 + 1e-9)


def test_rank_one_has_its_largest_entry_as_norm():
    rng = np.random.default_rng(9)
    tensor = np.einsum("i,j,k->ijk", rng.random(3), rng.random(4), rng.random(3))
    norm = intensor.gauge_norm(tensor)
    assert (norm.lower, norm.upper) == pytest.approx((tensor.max(), tensor.max()), rel=1e-6)


def test_planted_tensors_have_norm_at_most_one():
    truth = intensor.planted((5, 4, 4), 10, rep=3).truth
    norm = intensor.gauge_norm(truth.to_dense())
    assert norm.lower <= 1.0 + 1e-9
    assert norm.upper <= 1.0 + 1e-6


def test_bounds_survive_rounding():
    # The exact norm of a diagonal is its sum: every box inside the support is a single cell.
    for seed in range(6):
        rng = np.random.default_rng(seed)
        values = rng.random(6) * 10.0 ** rng.integers(-12, 7, 6)
        exact = sum(map(Fraction, values.tolist()))
        norm = intensor.gauge_norm(np.diag(values))
        assert Fraction(norm.lower) <= exact <= Fraction(norm.upper)


def test_a_sum_from_below_is_below():
    rng = np.random.default_rng(0)
    for _ in range(200):
        left, right = rng.standard_normal((2, 30)) * 10.0 ** rng.integers(-8, 8, (2, 30))
        right[-1] = -float(left[:-1] @ right[:-1]) / left[-1]  # all but cancels
        exact = sum(Fraction(a) * Fraction(b) for a, b in zip(left, right, strict=True))
        assert Fraction(_sum_from_below(left * right)) <= exact


def test_zero_tensor():
    norm = intensor.gauge_norm(np.zeros((2, 3)))
    assert (norm.lower, norm.upper, len(norm.model)) == (0.0, 0.0, 0)


def test_out_of_time_or_without_exact_oracle_the_bounds_are_still_bounds():
    tensor = np.random.default_rng(0).random((4, 4, 4))
    exact = intensor.gauge_norm(tensor)
    rough = intensor.gauge_norm(tensor, time_limit=1e-6)
    assert rough.lower <= exact.upper
    assert rough.upper >= exact.lower
    assert rough.rounds < exact.rounds
    assert np.allclose(rough.model.to_dense(), tensor, rtol=0, atol=1e-12)
    rough = intensor.gauge_norm(tensor, exact="off")
    assert tensor.max() * (1 - 1e-12) <= rough.lower <= exact.upper
    assert rough.upper >= exact.lower


@pytest.mark.parametrize("bad", [np.float64(3.0), np.zeros((0, 2)), [[1.0, -1.0]], [[np.nan]]])
def test_bad_tensors(bad):
    with pytest.raises(intensor.errors.InputError):
        intensor.gauge_norm(bad)


def test_a_tensor_whose_vertices_do_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr("intensor.runtime.memory.available_memory", lambda: 1 << 28)
    with pytest.raises(intensor.errors.MemoryLimitError, match="20000 cells and 20000 indices"):
        intensor.gauge_norm(np.ones(20_000))
