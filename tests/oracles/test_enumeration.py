"""Enumeration against a brute force over all vertices, and its bound against exact arithmetic."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from intensor.budget import Budget
from intensor.data.observations import observe
from intensor.oracles import enumeration as module
from intensor.oracles.base import Goal
from intensor.oracles.enumeration import EnumerationOracle, enumeration_work
from intensor.problem.vertex import membership

SHAPES = [
    (1,),
    (6,),
    (4, 5),
    (5, 4),
    (1, 7),
    (6, 1),
    (3, 4, 2),
    (2, 3, 4),
    (4, 2, 3),
    (1, 3, 1),
    (3, 3, 3),
    (2, 3, 2, 3),
    (3, 2, 2, 1),
]


def problem(shape, seed, share=0.7):
    rng = np.random.default_rng([seed, *shape])
    coords = np.indices(shape).reshape(len(shape), -1).T
    n = max(2, round(share * len(coords))) if len(coords) > 1 else 1
    chosen = rng.permutation(len(coords))[:n]
    cells = observe(coords[chosen], np.ones(n), shape=shape)
    costs = rng.standard_normal(n)
    if n > 1:
        costs[:2] = abs(costs[0]), -abs(costs[1])  # both signs: never a trivial case
    return cells, costs


def cost(flags, costs, cells):
    """Return the cost of a vertex in rational arithmetic."""
    inside = membership(flags, cells.coords, cells.shape)
    return sum((Fraction(float(c)) for c, on in zip(costs, inside, strict=True) if on), Fraction(0))


def brute_force(costs, cells):
    """Return the least cost of any vertex: all of them in floats, the best few exactly."""
    patterns = itertools.product((0, 1), repeat=sum(cells.shape))
    flags = np.array(list(patterns), dtype=np.uint8)
    inside = np.ones((len(flags), cells.n_cells), dtype=np.uint8)
    start = 0
    for length, column in zip(cells.shape, cells.coords, strict=True):
        inside &= flags[:, start : start + length][:, column]
        start += length
    rough = inside @ costs
    close = np.flatnonzero(rough <= rough.min() + 1e-9 * np.abs(costs).sum())
    distinct = {inside[row].tobytes(): row for row in close}
    return min(cost(flags[row], costs, cells) for row in distinct.values())


def check(answer, costs, cells):
    """Assert all that an exact answer promises."""
    least = brute_force(costs, cells)
    assert answer.flags.dtype == np.uint8
    assert answer.flags.shape == (sum(cells.shape),)
    assert answer.value == pytest.approx(float(cost(answer.flags, costs, cells)), rel=1e-15)
    size = float(np.abs(costs).sum())
    assert float(cost(answer.flags, costs, cells) - least) <= 1e-13 * size
    assert answer.proven
    assert Fraction(answer.bound) <= least
    assert answer.bound >= float(least) - 1e-9 * abs(float(least))
    assert answer.bound <= answer.value


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(4))
def test_against_brute_force(shape, seed):
    cells, costs = problem(shape, seed)
    check(EnumerationOracle(cells).minimise(costs), costs, cells)


@pytest.mark.parametrize("numbers", [1, 7, 40])
@pytest.mark.parametrize("shape", [(4, 5), (5, 4), (4, 2, 3), (2, 3, 2, 3)])
def test_in_pieces(shape, numbers, monkeypatch):
    cells, costs = problem(shape, 9)
    whole = EnumerationOracle(cells).minimise(costs)
    monkeypatch.setattr(module, "NUMBERS_AT_ONCE", numbers)
    oracle = EnumerationOracle(cells)
    pieces = list(oracle._tables(costs))
    assert len(pieces) > 1
    assert [first for first, _ in pieces] == sorted({first for first, _ in pieces})
    parts = oracle.minimise(costs)
    np.testing.assert_array_equal(parts.flags, whole.flags)
    assert parts.value == whole.value
    check(parts, costs, cells)


@pytest.mark.parametrize("shape", [(6,), (4, 5), (3, 3, 3), (2, 3, 2, 3)])
def test_ties_and_whole_numbers(shape):
    cells, _ = problem(shape, 0, share=1.0)
    for seed in range(5):
        costs = np.random.default_rng(seed).integers(-2, 3, cells.n_cells).astype(float)
        costs[:2] = 1.0, -1.0
        check(EnumerationOracle(cells).minimise(costs), costs, cells)


@pytest.mark.parametrize("seed", range(20))
def test_costs_of_all_sizes_keep_the_bound_below(seed):
    # Terms over 24 orders of magnitude that cancel: the bound must hold in exact arithmetic.
    cells, _ = problem((3, 4, 2), seed, share=1.0)
    rng = np.random.default_rng(seed)
    costs = rng.standard_normal(cells.n_cells) * 10.0 ** rng.integers(-12, 12, cells.n_cells)
    answer = EnumerationOracle(cells).minimise(costs)
    least = brute_force(costs, cells)
    assert Fraction(answer.bound) <= least
    assert answer.bound >= float(least) - 1e-13 * float(np.abs(costs).sum())


@pytest.mark.parametrize("shape", [(4, 5), (3, 3, 3), (2, 3, 2, 3)])
def test_a_spent_budget_leaves_a_valid_answer(shape, monkeypatch):
    monkeypatch.setattr(module, "NUMBERS_AT_ONCE", 1)
    cells, costs = problem(shape, 4)
    answer = EnumerationOracle(cells).minimise(costs, budget=Budget(0.0))
    least = brute_force(costs, cells)
    assert answer.proven
    assert Fraction(answer.bound) <= least
    assert answer.bound <= answer.value
    assert answer.value == pytest.approx(float(cost(answer.flags, costs, cells)), rel=1e-15)
    # It really stopped early: the first piece has the first fixed mode switched off.
    assert answer.value == 0.0 > float(least)


class Countdown(Budget):
    """A budget that is spent after so many questions."""

    __slots__ = ("left",)

    def __init__(self, questions):
        super().__init__()
        self.left = questions

    @property
    def spent(self):
        self.left -= 1
        return self.left < 0


def test_the_answer_gets_better_with_the_budget(monkeypatch):
    monkeypatch.setattr(module, "NUMBERS_AT_ONCE", 1)
    cells, costs = problem((4, 5), 4)
    least = brute_force(costs, cells)
    values = []
    for pieces in range(17):
        answer = EnumerationOracle(cells).minimise(costs, budget=Countdown(pieces))
        assert Fraction(answer.bound) <= least
        values.append(answer.value)
    assert values == sorted(values, reverse=True)
    assert values[0] == 0.0
    assert values[-1] == pytest.approx(float(least), rel=1e-12)


def test_enough_budget_changes_nothing():
    cells, costs = problem((3, 4, 2), 1)
    check(EnumerationOracle(cells).minimise(costs, budget=Budget(60.0)), costs, cells)


def test_goals_and_incumbents_make_no_difference():
    cells, costs = problem((3, 4, 2), 1)
    oracle = EnumerationOracle(cells)
    plain = oracle.minimise(costs)
    goal = Goal(product=0.0, phi=1e-9)
    other = oracle.minimise(costs, goal=goal, incumbent=np.ones(9, dtype=np.uint8))
    np.testing.assert_array_equal(other.flags, plain.flags)
    assert (other.value, other.bound) == (plain.value, plain.bound)


@pytest.mark.parametrize(("sign", "flag"), [(1.0, 0), (-1.0, 1)])
def test_costs_of_one_sign_need_no_search(sign, flag):
    cells, costs = problem((3, 4, 2), 1)
    costs = sign * np.abs(costs)
    answer = EnumerationOracle(cells).minimise(costs)
    assert answer.flags.tolist() == [flag] * 9
    assert answer.source == "trivial"
    check(answer, costs, cells)


def test_an_oracle_answers_again_and_again():
    cells, first = problem((4, 3, 2), 1)
    second = -first
    oracle = EnumerationOracle(cells)
    for costs in (first, second, first):
        check(oracle.minimise(costs), costs, cells)


def test_arguments_are_left_alone():
    cells, costs = problem((3, 4), 0)
    costs.flags.writeable = False
    check(EnumerationOracle(cells).minimise(costs), costs, cells)


def test_work_is_patterns_times_the_longest_mode():
    assert enumeration_work((10, 10, 10)) == 10 * 2**20
    assert enumeration_work((3, 50, 2)) == 50 * 2**5
    assert enumeration_work((8,)) == 8
    assert enumeration_work((5000, 5000)) == math.inf
