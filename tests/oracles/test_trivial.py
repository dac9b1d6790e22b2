"""Easy answers, the free bound and the cost of a vertex."""

import math
from fractions import Fraction

import numpy as np
import pytest

from intensor.data.observations import observe
from intensor.oracles.trivial import sum_of_negative, trivial_answer, vertex_cost


def exact_sum(numbers):
    return sum(map(Fraction, numbers.tolist()))


@pytest.mark.parametrize("costs", [[0.0, 0.0], [0.0, 3.0], [1e-300, 2.0]])
def test_nothing_to_gain_is_the_empty_vertex(costs):
    answer = trivial_answer(np.array(costs), 5)
    assert answer.flags.tolist() == [0] * 5
    assert answer.flags.dtype == np.uint8
    assert (answer.value, answer.bound) == (0.0, 0.0)


def test_nothing_to_lose_is_the_full_vertex():
    costs = np.array([-1.0, 0.0, -0.25])
    answer = trivial_answer(costs, 4)
    assert answer.flags.tolist() == [1] * 4
    assert answer.value == -1.25
    assert answer.bound < answer.value
    assert answer.bound == pytest.approx(-1.25, rel=1e-15)


def test_mixed_signs_are_not_trivial():
    assert trivial_answer(np.array([-1e-300, 1e300]), 4) is None


def test_bounds_hold_in_exact_arithmetic():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        costs = rng.normal(size=50) * 10.0 ** rng.integers(-20, 20, size=50)
        assert Fraction(sum_of_negative(costs)) <= exact_sum(costs[costs < 0.0])
        answer = trivial_answer(-np.abs(costs), 3)
        assert Fraction(answer.bound) <= exact_sum(-np.abs(costs))


def test_free_bound_is_tight():
    costs = np.random.default_rng(0).normal(size=1000)
    assert sum_of_negative(costs) == pytest.approx(costs[costs < 0.0].sum(), rel=1e-13)


def test_a_plain_sum_would_not_be_a_bound():
    costs = np.array([-0.1] * 10)
    assert Fraction(math.fsum(costs)) > exact_sum(costs)
    assert Fraction(sum_of_negative(costs)) < exact_sum(costs)


def test_vertex_cost_sums_the_cells_where_all_modes_are_on():
    observations = observe([[0, 0], [0, 2], [1, 0], [1, 2]], [1.0] * 4, shape=(2, 3))
    costs = np.array([1.0, 10.0, 100.0, 1000.0])
    flags = np.array([1, 0, 1, 1, 1], dtype=np.uint8)
    assert vertex_cost(flags, costs, observations) == 11.0
    assert vertex_cost(np.zeros(5, dtype=np.uint8), costs, observations) == 0.0
    assert vertex_cost(np.ones(5, dtype=np.uint8), costs, observations) == 1111.0
