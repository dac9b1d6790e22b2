"""All exact oracles against all vertices: the same minimum, and bounds that hold exactly."""

import math
from fractions import Fraction

import numpy as np
import pytest

import zoo
from intensor.data.observations import observe
from intensor.oracles.base import Goal
from intensor.oracles.exact.branch_bound import BranchOracle
from intensor.oracles.exact.enumeration import EnumerationOracle
from intensor.oracles.mip import mip_solver
from intensor.oracles.mip.oracle import MipOracle
from intensor.oracles.trivial import vertex_cost
from mip_cases import MODULES
from small_pieces import small_branch, small_enumeration

OWN = [EnumerationOracle, BranchOracle]
# modes, longest length of one, how many problems
KINDS = [(1, 9, 12), (2, 6, 72), (3, 4, 72), (4, 3, 56), (5, 2, 12)]


def problem(modes, longest, seed):
    """Return some cells of a small tensor and costs of both signs, ties among them at times."""
    rng = np.random.default_rng([seed, modes])
    shape = tuple(rng.integers(1, longest + 1, modes).tolist())
    coords = np.indices(shape).reshape(modes, -1).T
    n = max(1, round(rng.uniform(0.4, 1.0) * len(coords)))
    cells = observe(rng.permutation(coords)[:n], np.ones(n), shape=shape)
    costs = rng.normal(size=n)
    if seed % 4 == 0:
        costs = rng.integers(-2, 3, n).astype(float)
    if seed % 4 == 1:
        costs *= 10.0 ** rng.integers(-3, 4, n)
    if n > 1:
        costs[:2] = abs(costs[0]) + 0.1, -abs(costs[1]) - 0.1  # no trivial case
    return cells, costs


def problems(every=1):
    """Return all problems, or one in ``every`` of each kind."""
    for modes, longest, count in KINDS:
        for number, seed in enumerate(range(0, count, every)):
            yield problem(modes, longest, seed + number % every)  # every way to draw costs


def exact_costs(costs, cells):
    """Return the cost of every vertex that differs from the others on the cells, exactly."""
    where = np.stack(cells.coords, axis=1).astype(int)
    scale = 2**1074
    numbers = np.array([int(Fraction(cost) * scale) for cost in costs.tolist()], dtype=object)
    totals = zoo.distinct_rows(cells.shape, where).astype(object) @ numbers
    return [Fraction(int(total), scale) for total in totals]


def check(answer, costs, cells, least=None, slack_units=0.0):
    """Assert that an answer is a vertex of least cost with a bound that holds and is tight.

    The bound may be looser by ``slack_units`` times the largest cost.
    """
    least = min(exact_costs(costs, cells)) if least is None else least
    slack = 1e-12 * abs(float(least)) + 1e-15 * math.fsum(np.abs(costs))
    assert answer.flags.shape == (sum(cells.shape),)
    assert set(answer.flags.tolist()) <= {0, 1}
    assert answer.value == vertex_cost(answer.flags, costs, cells)
    assert abs(answer.value - float(least)) <= slack
    assert Fraction(answer.bound) <= least
    assert answer.bound <= answer.value
    assert answer.value - answer.bound <= 2.0 * slack + slack_units * float(np.abs(costs).max())


def test_there_are_two_hundred_problems_and_few_are_trivial():
    cases = list(problems())
    assert sum(len(cells.shape) in {2, 3, 4} for cells, _ in cases) == 200
    assert sum(cells.n_cells == 1 for cells, _ in cases) < 20


@pytest.mark.parametrize("oracle", OWN)
def test_own_oracles_agree_with_brute_force(oracle):
    for number, (cells, costs) in enumerate(problems(every=8)):
        check(oracle(cells, threads=1 + number % 2).minimise(costs), costs, cells)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("oracle", OWN)
def test_own_oracles_agree_with_brute_force_on_all_problems(oracle, threads):
    for cells, costs in problems():
        check(oracle(cells, threads=threads).minimise(costs), costs, cells)


PIECES = {"piece_entries": 1, "wave": 2}
SMALL = [
    small_enumeration({"uncut_entries": 0, "longest_block": 2}, **PIECES),
    small_branch({"longest_block": 1}, PIECES, subtrees=2, wave=2),
]


@pytest.mark.parametrize("oracle", SMALL)
def test_own_oracles_agree_with_brute_force_piece_by_piece(oracle):
    for cells, costs in problems(every=8):
        check(oracle(cells, threads=1).minimise(costs), costs, cells)


@pytest.mark.slow
@pytest.mark.parametrize("oracle", SMALL)
def test_own_oracles_agree_with_brute_force_piece_by_piece_on_all_problems(oracle):
    for cells, costs in problems():
        check(oracle(cells, threads=1).minimise(costs), costs, cells)


def integer_tensor(shape, seed):
    """Return a full tensor of integer costs: noise, or mostly boxes with little noise."""
    cells, costs = zoo.full_tensor(shape, seed=seed, integers=True)
    if seed % 2:  # what a fit leaves: much structure, little noise
        rng = np.random.default_rng([seed, *shape])
        for _ in range(6):
            box = np.ones(shape, dtype=np.int64)
            for mode, length in enumerate(shape):
                flags = rng.integers(0, 2, length)
                box *= flags.reshape([-1 if i == mode else 1 for i in range(len(shape))])
            costs = costs + rng.integers(-40, 41) * box.ravel()
    return cells, costs


@pytest.mark.parametrize("oracle", OWN)
@pytest.mark.parametrize(
    "shape",
    [
        (17, 18),
        (7, 8, 9),
        (4, 4, 5, 6),
        *(pytest.param(shape, marks=pytest.mark.slow) for shape in [(15, 40), (6, 6, 20)]),
    ],
)
def test_own_oracles_agree_with_brute_force_on_longer_modes(oracle, shape):
    for seed in range(2):
        cells, costs = integer_tensor(shape, seed)
        least = zoo.least_cost(costs, shape)
        answer = oracle(cells, threads=2).minimise(costs)
        check(answer, costs, cells, Fraction(least))
        assert answer.value == least


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
def test_solvers_agree_with_brute_force(name):
    pytest.importorskip(MODULES[name])
    solver = mip_solver(name)
    for cells, costs in problems():
        answer = MipOracle(cells, solver).minimise(costs)
        check(answer, costs, cells, slack_units=1e-4)


# --- rounding


SEEDS = [
    seed if seed in (0, 5, 10, 15) else pytest.param(seed, marks=pytest.mark.slow)
    for seed in range(32)
]
"""Each of four shapes and four kinds of sizes once, and all of their pairs among the slow tests."""


def adversarial(seed):
    """Return costs of very different sizes, which no sum of floats would get right."""
    rng = np.random.default_rng(seed)
    shape = [(3, 4), (3, 3, 2), (2, 3, 2, 2), (6,)][seed % 4]
    coords = np.indices(shape).reshape(len(shape), -1).T
    n = len(coords)
    cells = observe(coords, np.ones(n), shape=shape)
    signs = rng.permutation(np.where(np.arange(n) % 2, -1.0, 1.0))
    which = (seed // 4) % 4
    if which == 0:  # 1e-12 beside 1e6
        sizes = np.where(rng.uniform(size=n) < 0.5, 1e-12, 1e6)
    elif which == 1:  # anything from 1e-300 to 1e300
        sizes = 10.0 ** rng.uniform(-300, 300, n)
    elif which == 2:  # thirds that nearly cancel
        sizes = np.where(rng.uniform(size=n) < 0.5, 1.0, 1.0 / 3.0)
    else:  # nothing but subnormal numbers
        sizes = np.full(n, 1e-320)
    return cells, signs * sizes * rng.uniform(0.5, 1.0, n)


def goals(costs, least):
    """Return no goal, and goals in and out of reach, with costs of 32 bits and of 64."""
    total = math.fsum(np.abs(costs))
    yield None
    for pool in (1, 8):
        for cutoff in (0.5 * least, 1.5 * least, 1.0001 * least):
            for phi in (1e-15 * total, 1e-3 * total, 0.5 * total):
                yield Goal(product=cutoff + phi, phi=phi, pool=pool)


@pytest.mark.parametrize("oracle", OWN)
@pytest.mark.parametrize("seed", SEEDS)
def test_no_bound_is_above_the_exact_minimum(oracle, seed):
    cells, costs = adversarial(seed)
    least = min(exact_costs(costs, cells))
    size = math.fsum(np.abs(costs))
    for goal in goals(costs, float(least)):
        answer = oracle(cells, threads=1).minimise(costs, goal=goal)
        assert Fraction(answer.bound) <= least
        assert answer.value == vertex_cost(answer.flags, costs, cells)
        if goal is None:
            assert answer.value - float(least) <= 1e-14 * size
            assert float(least) - answer.bound <= 1e-14 * size


@pytest.mark.parametrize("seed", [0, 5, 10, 15])
def test_no_bound_of_a_solver_is_above_the_exact_minimum(seed):
    cells, costs = adversarial(seed)
    least = min(exact_costs(costs, cells))
    oracle = MipOracle(cells, mip_solver("highs"))
    answers = [oracle.minimise(costs, goal=goal) for goal in (None, Goal(product=0.0, phi=0.0))]
    for answer in answers:
        assert Fraction(answer.bound) <= least
    assert float(least) - answers[0].bound <= 1e-5 * float(np.abs(costs).max())
