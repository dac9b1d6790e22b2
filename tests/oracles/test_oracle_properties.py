"""Oracles against all vertices there are, for any cells and costs.

Costs are integer multiples of a power of two, so that sums of them are exact and "equal" is equal;
one test has costs of all sizes, and rational arithmetic.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

import zoo
from forall import forall
from intensor.data.observations import observe
from intensor.oracles.alternating import AlternatingOracle, best_of_many
from intensor.oracles.base import Goal
from intensor.oracles.cascade import FreeBoundOracle
from intensor.oracles.contraction import PerCell, PerIndexRemembered
from intensor.oracles.exact.branch_bound import BranchOracle
from intensor.oracles.exact.enumeration import EnumerationOracle
from intensor.oracles.trivial import trivial_answer, vertex_cost
from strategies import seeds, shapes

OWN = (EnumerationOracle, BranchOracle)


@dataclass
class Case:
    """Cells of a small tensor with costs, and the cost of every vertex."""

    cells: object
    costs: np.ndarray

    def __post_init__(self):
        where = np.stack(self.cells.coords, axis=1).astype(int)
        self.every = zoo.distinct_rows(self.cells.shape, where).astype(float) @ self.costs
        self.least = float(self.every.min())

    def cost(self, flags):
        return vertex_cost(flags, self.costs, self.cells)


@st.composite
def cases(draw, shape=shapes(longest=5, indices=11)):  # noqa: B008  (a strategy is no state)
    lengths = draw(shape)
    cells = math.prod(lengths)
    numbers = draw(st.sets(st.integers(0, cells - 1), min_size=1, max_size=30))
    size = draw(st.sampled_from([1, 2, 9, 1000, 2**20]))
    exponent = draw(st.integers(-300, 300))
    n = len(numbers)
    integers = draw(st.lists(st.integers(-size, size), min_size=n, max_size=n))
    coords = np.stack(np.unravel_index(sorted(numbers), lengths), axis=1)
    observed = observe(coords, np.ones(n), shape=lengths)
    return Case(observed, np.ldexp(np.array(integers, dtype=float), exponent))


def check_vertex(answer, case):
    """What every answer must be: a vertex, with its cost."""
    assert answer.flags.shape == (sum(case.cells.shape),)
    assert set(answer.flags.tolist()) <= {0, 1}
    assert answer.value == case.cost(answer.flags)
    assert case.least <= answer.value <= 0.0


@forall(few=20, many=500, case=cases())
def test_own_oracles_find_the_least_and_prove_it(case):
    for oracle in OWN:
        answer = oracle(case.cells, threads=1).minimise(case.costs)
        check_vertex(answer, case)
        assert answer.value == case.least
        assert case.least * (1.0 + 1e-15) <= answer.bound <= case.least


def nothing_known(cells, costs, incumbent):
    """Stand in for a heuristic that has no luck: the empty vertex."""
    return np.zeros(sum(cells.shape), dtype=np.uint8), 0.0


@forall(few=20, many=500, case=cases(), pool=st.sampled_from([1, 2, 64]))
def test_searches_do_not_live_on_the_heuristic(case, pool):
    # On tensors this small the heuristic has the least vertex nearly always.
    slack = 1e-3 * float(np.abs(case.costs).sum())
    for oracle in OWN:
        exact = oracle(case.cells, threads=1, heuristic=nothing_known)
        answer = exact.minimise(case.costs)
        check_vertex(answer, case)
        assert answer.value == case.least
        assert case.least * (1.0 + 1e-15) <= answer.bound <= case.least
        goal = Goal(product=0.9 * case.least + slack, phi=slack, pool=pool)
        answer = exact.minimise(case.costs, goal=goal)
        assert answer.bound <= case.least
        assert answer.value <= 0.9 * case.least
        if pool > 1:  # looked for to the end, with costs rounded by a quarter of phi at most
            assert answer.value <= case.least + slack / 4.0
            assert answer.bound >= min(answer.value, 0.9 * case.least) - slack


@forall(few=20, many=500, case=cases(), seed=seeds)
def test_no_bound_is_above_the_least_of_costs_of_all_sizes(case, seed):
    rng = np.random.default_rng(seed)
    cells, n = case.cells, case.costs.size
    costs = rng.standard_normal(n) * 10.0 ** rng.uniform(-9.0, 9.0, n)
    if seed % 2:  # thirds that nearly cancel
        costs = rng.choice([-1.0, 1.0], n) * rng.choice([1.0, 1.0 / 3.0, 2.0 / 3.0], n)
    numbers = np.array([int(Fraction(cost) * 2**1074) for cost in costs.tolist()], dtype=object)
    where = np.stack(cells.coords, axis=1).astype(int)
    rows = zoo.distinct_rows(cells.shape, where).astype(object)
    least = Fraction(int(min(rows @ numbers)), 2**1074)
    size = math.fsum(np.abs(costs))
    phi = 1e-4 * size
    for oracle in OWN:
        for goal in (None, Goal(product=float(least) + 0.5 * phi, phi=phi, pool=8)):
            answer = oracle(cells, threads=1).minimise(costs, goal=goal)
            assert Fraction(answer.bound) <= least
            if goal is None:
                assert float(least) - answer.bound <= 1e-14 * size
                assert abs(answer.value - float(least)) <= 1e-14 * size


@forall(few=20, many=500, case=cases(), seed=seeds, share=st.floats(0.0, 1.0))
def test_goals_are_reached_or_out_of_reach(case, seed, share):
    rng = np.random.default_rng(seed)
    product = float(case.least * rng.uniform(-0.5, 1.5))
    phi = float(share * np.abs(case.costs).sum()) + 1e-300
    for oracle in OWN:
        goal = Goal(product=product, phi=phi, pool=8)
        answer = oracle(case.cells, threads=1).minimise(case.costs, goal=goal)
        check_vertex(answer, case)
        assert answer.bound <= case.least
        if product - case.least > phi * (1.0 + 1e-9):
            assert product - answer.value > phi
        else:  # there is none, and the bound says so, but for costs rounded by a quarter of phi
            assert product - answer.bound <= 1.25 * phi + 1e-9 * abs(product)
        for flags in () if answer.pool is None else answer.pool:
            assert case.cost(flags) >= answer.value


@forall(few=20, many=500, case=cases(), seed=seeds, runs=st.integers(1, 8))
def test_alternating_is_never_below_the_least_and_claims_nothing(case, seed, runs):
    shape, values = case.cells.shape, []
    for way in (PerCell, PerIndexRemembered):
        oracle = AlternatingOracle(
            way(case.cells), shape, rng=np.random.default_rng(seed), max_runs=runs
        )
        answer = oracle.minimise(case.costs)
        check_vertex(answer, case)
        assert answer.bound == -math.inf
        assert oracle.runs == runs
        values.append(answer.value)
    assert len(set(values)) == 1


@forall(few=20, many=500, case=cases(), seed=seeds)
def test_a_descent_ends_where_no_mode_can_be_improved_alone(case, seed):
    shape = case.cells.shape
    rng = np.random.default_rng(seed)
    oracle = AlternatingOracle(PerIndexRemembered(case.cells), shape, rng=rng)
    start = rng.integers(0, 2, sum(shape), dtype=np.uint8)
    answer = oracle.descend(start, case.costs)
    assert answer.value == case.cost(answer.flags) <= min(0.0, case.cost(start))
    for position in range(sum(shape)):
        other = answer.flags.copy()
        other[position] ^= 1
        assert case.cost(other) >= answer.value


@forall(few=20, many=500, case=cases(), seed=seeds)
def test_the_best_of_many_is_no_worse_than_what_it_was_given(case, seed):
    rng = np.random.default_rng(seed)
    known = rng.integers(0, 2, sum(case.cells.shape), dtype=np.uint8)
    before = known.copy()
    flags, value = best_of_many(case.cells, case.costs, known)
    assert known.tolist() == before.tolist()
    assert value == case.cost(flags)
    assert case.least <= value <= min(0.0, case.cost(known))


@forall(few=20, many=500, case=cases())
def test_without_a_search_bounds_hold_and_easy_answers_are_right(case):
    answer = FreeBoundOracle(case.cells).minimise(case.costs)
    check_vertex(answer, case)
    assert answer.bound <= case.least
    easy = trivial_answer(case.costs, sum(case.cells.shape))
    assert (easy is None) == (case.costs.min() < 0.0 < case.costs.max())
    if easy is not None:
        assert easy.value == case.least


@forall(few=15, many=500, case=cases(), seed=seeds, oracle=st.sampled_from(OWN))
def test_relabelling_does_not_move_the_least(case, seed, oracle):
    rng = np.random.default_rng(seed)
    cells = case.cells
    order = rng.permutation(len(cells.shape))
    columns = [rng.permutation(n)[c] for n, c in zip(cells.shape, cells.coords, strict=True)]
    coords = np.stack([columns[mode] for mode in order], axis=1)
    shape = tuple(cells.shape[mode] for mode in order)
    turned = observe(coords, np.ones(len(coords)), shape=shape)
    order = np.lexsort(coords.T[::-1])
    answer = oracle(turned, threads=1).minimise(case.costs[order])
    assert answer.value == case.least
