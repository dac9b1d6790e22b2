"""The objective against its definition, and its lower bound against every vertex there is."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intensor.data.observations import observe
from intensor.problem.objective import Objective, build_objective
from intensor.problem.vertex import membership

RADII = [0.25, 1.0, 7.0]


def some(count):
    """Return this many seeds, of which two belong to the default tests."""
    return [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, count))]


def problem(seed, shape=(3, 2, 2), n=30, radius=1.0):
    rng = np.random.default_rng(seed)
    coords = np.stack([rng.integers(0, length, n) for length in shape], axis=1)
    values = radius * rng.uniform(0.0, 1.2, n)
    return coords, values, observe(coords, values, shape=shape)


def every_vertex(cells):
    """Return the distinct vertices on the cells, one row each."""
    patterns = itertools.product((0, 1), repeat=sum(cells.shape))
    flags = np.array(list(patterns), dtype=np.uint8)
    rows = np.stack([membership(row, cells.coords, cells.shape) for row in flags])
    return np.unique(rows, axis=0).astype(np.float64)


@pytest.mark.parametrize("radius", RADII)
def test_the_value_is_the_mean_squared_error(radius):
    coords, values, cells = problem(0, radius=radius)
    objective = build_objective(cells, radius)
    x = np.random.default_rng(1).uniform(size=cells.n_cells)
    number = {
        cell: i for i, cell in enumerate(zip(*(c.tolist() for c in cells.coords), strict=True))
    }
    fitted = radius * x[[number[tuple(cell)] for cell in coords.tolist()]]
    direct = np.mean((fitted - values) ** 2)
    assert objective.scale * objective.value(x) == pytest.approx(direct, rel=1e-12)
    assert objective.weights.sum() == pytest.approx(1.0, rel=1e-14)


def test_the_value_at_the_targets_is_the_constant():
    _, _, cells = problem(2)
    objective = build_objective(cells, 1.0)
    assert objective.value(objective.targets) == objective.constant > 0.0


@pytest.mark.parametrize(("seed", "radius"), list(enumerate(RADII)))
def test_the_gradient_is_that_of_the_value(seed, radius):
    _, _, cells = problem(seed, radius=radius)
    objective = build_objective(cells, radius)
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=cells.n_cells)
    gradient = objective.gradient(x)
    step = 1e-3  # central differences of a quadratic have no truncation error
    for cell in range(cells.n_cells):
        aside = np.zeros(cells.n_cells)
        aside[cell] = step
        slope = (objective.value(x + aside) - objective.value(x - aside)) / (2 * step)
        assert gradient[cell] == pytest.approx(slope, rel=1e-8, abs=1e-11)


@pytest.mark.parametrize("seed", some(20))
@pytest.mark.parametrize("longest", [1.0, 0.05, 3.0])
def test_the_exact_step_beats_every_other_step(seed, longest):
    _, _, cells = problem(seed)
    objective = build_objective(cells, 1.0)
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=cells.n_cells)
    direction = rng.integers(0, 2, cells.n_cells) - x
    descent = -float(objective.gradient(x) @ direction)
    step = objective.exact_step(descent, direction, longest)
    assert 0.0 <= step <= longest
    grid = np.linspace(0.0, longest, 2001)
    values = [objective.value(x + eta * direction) for eta in grid]
    assert objective.value(x + step * direction) <= min(values) + 1e-14
    assert abs(step - grid[int(np.argmin(values))]) <= longest / 2000


def test_all_kinds_of_exact_steps():
    objective = Objective(targets=np.array([1.0]), weights=np.array([1.0]), constant=0.0, scale=1.0)
    up, x = np.array([1.0]), np.array([0.0])
    descent = -float(objective.gradient(x) @ up)
    assert objective.exact_step(descent, up, 9.0) == 1.0  # inside
    assert objective.exact_step(descent, up, 0.25) == 0.25  # clipped
    assert objective.exact_step(-descent, -up, 9.0) == 0.0  # uphill
    assert objective.exact_step(0.0, np.array([0.0]), 9.0) == 0.0  # nowhere


@pytest.mark.parametrize("seed", some(6))
def test_the_lower_bound_is_below_everything_and_close(seed):
    _, _, cells = problem(seed)
    objective = build_objective(cells, 1.0)
    vertices = every_vertex(cells)
    rng = np.random.default_rng(seed)
    mixtures = rng.dirichlet(np.full(len(vertices), 0.02), size=2000) @ vertices
    least = min(objective.value(z) for z in np.concatenate((vertices, mixtures)))
    for x in (*mixtures[:5], np.zeros(cells.n_cells), 3.0 * mixtures[0] - 1.0):
        gradient = objective.gradient(x)
        cheapest = float((vertices @ gradient).min())
        bound = objective.lower_bound(gradient, cheapest)
        assert bound <= least
        # Never worse than the linearisation at x, but for rounding.
        linear = objective.value(x) - float(gradient @ x) + cheapest
        assert bound >= max(linear, objective.constant) - 1e-12


@pytest.mark.parametrize("seed", some(6))
def test_the_best_step_shrinks_the_gap_as_promised(seed):
    _, _, cells = problem(seed)
    objective = build_objective(cells, 1.0)
    vertices = every_vertex(cells)
    x = np.random.default_rng(seed).dirichlet(np.full(len(vertices), 0.02)) @ vertices
    gradient = objective.gradient(x)
    fit = objective.value(x) - objective.constant
    for share in (0.0, 0.01, 0.5, 1.0, 1.9, 2.0):  # of the fit, as the gap
        gap = share * fit
        cheapest = float(gradient @ x) - gap
        bound = objective.lower_bound(gradient, cheapest)
        shrunk = gap - gap**2 / (4.0 * fit)
        assert objective.value(x) - bound == pytest.approx(shrunk, abs=1e-13)
    # Beyond that the constant is all that is proven.
    bound = objective.lower_bound(gradient, float(gradient @ x) - 2.1 * fit)
    assert bound == pytest.approx(objective.constant, rel=1e-14)


def test_no_other_step_is_better():
    _, _, cells = problem(2)
    objective = build_objective(cells, 1.0)
    vertices = every_vertex(cells)
    x = np.random.default_rng(2).dirichlet(np.full(len(vertices), 0.02)) @ vertices
    gradient = objective.gradient(x)
    cheapest = float((vertices @ gradient).min())
    bound = objective.lower_bound(gradient, cheapest)
    for step in np.linspace(0.0, 3.0, 301):
        # The point y that has step * gradient as its gradient gives the same bound or less.
        y = objective.targets + step * (x - objective.targets)
        linear = objective.value(y) - step * float(gradient @ y) + step * cheapest
        assert linear <= bound + 1e-13


def test_the_lower_bound_is_tight_at_the_optimum():
    # Targets inside the polytope: the optimum is the constant.
    _, _, cells = problem(3)
    vertices = every_vertex(cells)
    mixture = np.random.default_rng(3).dirichlet(np.ones(len(vertices))) @ vertices
    objective = Objective(targets=mixture, weights=cells.counts / cells.n, constant=0.25, scale=1.0)
    bound = objective.lower_bound(objective.gradient(mixture), 0.0)
    assert 0.25 - 1e-14 <= bound <= 0.25


def exact_bound(objective, costs, vertices):
    """Return A and R of ``lower_bound`` for the given float costs in rational arithmetic."""
    slopes = [Fraction(float(c)) for c in costs]
    targets = [Fraction(float(t)) for t in objective.targets]
    weights = [Fraction(float(w)) for w in objective.weights]
    cheapest = min(
        sum((c for c, on in zip(slopes, row, strict=True) if on), Fraction(0)) for row in vertices
    )
    a = cheapest - sum(c * t for c, t in zip(slopes, targets, strict=True))
    r = sum(c * c / (4 * w) for c, w in zip(slopes, weights, strict=True))
    return a, r


def rounded_down(costs, vertices):
    """Return the least cost of the given float costs, exactly, then down to a float."""
    exact = min(
        sum((Fraction(float(c)) for c, on in zip(costs, row, strict=True) if on), Fraction(0))
        for row in vertices
    )
    number = float(exact)
    return number if Fraction(number) <= exact else math.nextafter(number, -math.inf)


VERTICES = list(itertools.product((0, 1), repeat=4))


def assert_bound_is_valid(targets, weights, x, constant):
    objective = Objective(
        targets=np.array(targets), weights=np.array(weights), constant=constant, scale=1.0
    )
    gradient = objective.gradient(np.array(x))
    cheapest = rounded_down(gradient, VERTICES)
    bound = objective.lower_bound(gradient, cheapest)
    a, r = exact_bound(objective, gradient, VERTICES)
    exact = Fraction(constant) + (a * a / (4 * r) if a > 0 and r > 0 else 0)
    assert Fraction(bound) <= exact
    # And not far below: the margin is rounding, not a way out.
    size = Fraction(float(np.abs(gradient * objective.targets).sum()) + abs(cheapest))
    less = a - size * Fraction(1, 10**14)
    if less > 0:
        exact = Fraction(constant) + less * less / (4 * r)
        assert Fraction(bound) >= exact * (1 - Fraction(1, 10**13))


magnitudes = st.one_of(
    st.just(0.0),
    st.floats(0.0, 2.0),
    st.sampled_from([1e-30, 1e-12, 1e-8, 1.0 + 2**-52, 1.0 - 2**-53, 1e6, 1e15, 1e30]),
)
four = st.lists(magnitudes, min_size=4, max_size=4)
shares = st.lists(st.floats(1e-12, 1.0), min_size=4, max_size=4)


counts = pytest.mark.parametrize("count", [40, pytest.param(300, marks=pytest.mark.slow)])


@counts
def test_the_lower_bound_survives_rounding(count):
    @settings(derandomize=True, database=None, max_examples=count)
    @given(targets=four, weights=shares, x=four, constant=magnitudes)
    def check(targets, weights, x, constant):
        assert_bound_is_valid(targets, weights, x, constant)

    check()


@counts
def test_the_lower_bound_survives_cancellation(count):
    # x a few units in the last place from the targets: everything cancels but the rounding.
    @settings(derandomize=True, database=None, max_examples=count)
    @given(
        targets=st.lists(st.floats(0.1, 1e6), min_size=4, max_size=4),
        weights=shares,
        ulps=st.lists(st.integers(-4, 4), min_size=4, max_size=4),
    )
    def check(targets, weights, ulps):
        x = [t + k * math.ulp(t) for t, k in zip(targets, ulps, strict=True)]
        assert_bound_is_valid(targets, weights, x, 0.0)

    check()


def test_without_the_margin_rounding_would_break_the_bound():
    # The property tests above can fail: leave the margins out and they do.
    rng = np.random.default_rng(0)
    broken = 0
    for _ in range(200):
        targets, x = rng.uniform(1.0, 2.0, size=4), rng.uniform(size=4)
        weights = rng.uniform(size=4)
        objective = Objective(targets=targets, weights=weights, constant=0.0, scale=1.0)
        gradient = objective.gradient(x)
        a = rounded_down(gradient, VERTICES) - math.fsum(gradient * targets)
        bare = a * a / (4.0 * math.fsum(gradient**2 / (4.0 * weights)))
        exact_a, exact_r = exact_bound(objective, gradient, VERTICES)
        broken += exact_a > 0 and Fraction(bare) > exact_a**2 / (4 * exact_r)
    assert broken > 0
