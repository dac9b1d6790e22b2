"""All exact oracles against all vertices: the same minimum, and bounds that hold exactly."""

import math
from fractions import Fraction

import numpy as np
import pytest

from intensor.data.observations import observe
from intensor.oracles.base import Goal
from intensor.oracles.exact import branch_bound, enumeration, plan
from intensor.oracles.exact.branch_bound import BranchOracle
from intensor.oracles.exact.enumeration import EnumerationOracle
from intensor.oracles.mip import mip_solver
from intensor.oracles.mip.oracle import MipOracle
from intensor.oracles.trivial import vertex_cost
from zoo import distinct_rows

OWN = [EnumerationOracle, BranchOracle]
MODULES = {"highs": "highspy", "scip": "pyscipopt", "gurobi": "gurobipy"}
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


def problems():
    for modes, longest, count in KINDS:
        for seed in range(count):
            yield problem(modes, longest, seed)


def exact_costs(costs, cells):
    """Return the cost of every vertex that differs from the others on the cells, exactly."""
    where = np.stack(cells.coords, axis=1).astype(int)
    scale = 2**1074
    numbers = np.array([int(Fraction(cost) * scale) for cost in costs.tolist()], dtype=object)
    totals = distinct_rows(cells.shape, where).astype(object) @ numbers
    return [Fraction(int(total), scale) for total in totals]


def check(answer, costs, cells, least=None, room=0.0):
    """Assert that an answer is a vertex of least cost with a bound that holds and is tight.

    The bound may be looser by ``room``, in units of the largest cost.
    """
    least = min(exact_costs(costs, cells)) if least is None else least
    slack = 1e-12 * abs(float(least)) + 1e-15 * math.fsum(np.abs(costs))
    assert answer.flags.shape == (sum(cells.shape),)
    assert set(answer.flags.tolist()) <= {0, 1}
    assert answer.value == vertex_cost(answer.flags, costs, cells)
    assert abs(answer.value - float(least)) <= slack
    assert Fraction(answer.bound) <= least
    assert answer.bound <= answer.value
    assert answer.value - answer.bound <= 2.0 * slack + room * float(np.abs(costs).max())


def test_there_are_two_hundred_problems_and_few_are_trivial():
    cases = list(problems())
    assert sum(len(cells.shape) in {2, 3, 4} for cells, _ in cases) == 200
    assert sum(cells.n_cells == 1 for cells, _ in cases) < 20


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("oracle", OWN)
def test_own_oracles_agree_with_brute_force(oracle, threads):
    for cells, costs in problems():
        check(oracle(cells, threads=threads).minimise(costs), costs, cells)


@pytest.fixture
def small_pieces(monkeypatch):
    """Make plans cut even small problems into blocks, pieces and subtrees."""
    monkeypatch.setattr(plan, "FEW", 0)
    monkeypatch.setattr(plan, "SHORT_BLOCK", 2)
    monkeypatch.setattr(plan, "LONG_BLOCK", 1)
    monkeypatch.setattr(enumeration, "PIECE", 1)
    monkeypatch.setattr(enumeration, "WAVE", 2)
    monkeypatch.setattr(branch_bound, "SUBTREES", 2)
    monkeypatch.setattr(branch_bound, "WAVE", 2)


@pytest.mark.parametrize("oracle", OWN)
def test_own_oracles_agree_with_brute_force_piece_by_piece(oracle, small_pieces):
    for cells, costs in problems():
        check(oracle(cells, threads=1).minimise(costs), costs, cells)


def whole_numbers(shape, seed):
    """Return a full tensor of whole costs and their minimum, by all patterns of most modes."""
    rng = np.random.default_rng([seed, *shape])
    tensor = rng.integers(-50, 51, shape)
    if seed % 2:  # what a fit leaves: much structure, little noise
        for _ in range(6):
            box = np.ones(shape, dtype=np.int64)
            for mode, length in enumerate(shape):
                flags = rng.integers(0, 2, length)
                box *= flags.reshape([-1 if i == mode else 1 for i in range(len(shape))])
            tensor = tensor + rng.integers(-40, 41) * box
    sums = tensor
    for length in shape[:-1]:
        patterns = (np.arange(1 << length)[:, np.newaxis] >> np.arange(length)) & 1
        sums = np.tensordot(sums, patterns, axes=(0, 1))
    least = np.minimum(sums, 0).sum(axis=0).min()  # the last mode has moved to the front
    coords = np.indices(shape).reshape(len(shape), -1).T
    cells = observe(coords, np.ones(len(coords)), shape=shape)
    return cells, tensor.ravel().astype(float), Fraction(int(least))


@pytest.mark.parametrize("oracle", OWN)
@pytest.mark.parametrize("shape", [(17, 18), (15, 40), (7, 8, 9), (6, 6, 20), (4, 4, 5, 6)])
def test_own_oracles_agree_with_brute_force_on_longer_modes(oracle, shape):
    for seed in range(4):
        cells, costs, least = whole_numbers(shape, seed)
        answer = oracle(cells, threads=2).minimise(costs)
        check(answer, costs, cells, least)
        assert answer.value == float(least)


@pytest.mark.parametrize("name", MODULES)
def test_solvers_agree_with_brute_force(name):
    pytest.importorskip(MODULES[name])
    solver = mip_solver(name)
    for cells, costs in problems():
        answer = MipOracle(cells, solver).minimise(costs)
        check(answer, costs, cells, room=1e-4)


# --- rounding


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
    """Return no goal, and goals in and out of reach, with room for 32 bits and without."""
    total = math.fsum(np.abs(costs))
    yield None
    for pool in (1, 8):
        for cutoff in (0.5 * least, 1.5 * least, 1.0001 * least):
            for phi in (1e-15 * total, 1e-3 * total, 0.5 * total):
                yield Goal(product=cutoff + phi, phi=phi, pool=pool)


@pytest.mark.parametrize("oracle", OWN)
@pytest.mark.parametrize("seed", range(32))
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


@pytest.mark.parametrize("seed", range(16))
def test_no_bound_of_a_solver_is_above_the_exact_minimum(seed):
    cells, costs = adversarial(seed)
    least = min(exact_costs(costs, cells))
    oracle = MipOracle(cells, mip_solver("highs"))
    answers = [oracle.minimise(costs, goal=goal) for goal in (None, Goal(product=0.0, phi=0.0))]
    for answer in answers:
        assert Fraction(answer.bound) <= least
    assert float(least) - answers[0].bound <= 1e-5 * float(np.abs(costs).max())
