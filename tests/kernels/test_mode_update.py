"""Updates of one mode: plain twins from ``naive_graded``, and the optimum of the convex problem."""

import numpy as np
import pytest
from scipy.optimize import minimize, nnls

import naive_graded
from intensor.kernels.mode_update import improve_mode, improve_within_caps

PASSES = 20


class Block:
    """A quadratic in (m, k) weights times factors, with a point to begin from."""

    def __init__(self, seed, *, m=5, k=3, weights=0.7, new=0, scale=1.0):
        rng = np.random.default_rng([seed, m, k])
        self.design = rng.standard_normal((m, k + 4, k))
        self.targets = scale * rng.standard_normal((m, k + 4))
        self.matrices = np.einsum("ina,inb->iab", self.design, self.design)
        self.units = rng.uniform(size=(m, k))
        self.units /= self.units.max(axis=0)
        shares = rng.uniform(0.2, 1.0, k) * (np.arange(k) < k - new)
        self.start = self.units * (weights * shares / max(shares.sum(), 1e-300))

    def value(self, factors):
        return float(np.sum((np.einsum("ina,ia->in", self.design, factors) - self.targets) ** 2))

    def slopes(self, factors):
        residuals = np.einsum("ina,ia->in", self.design, factors) - self.targets
        return np.einsum("ina,in->ia", self.design, residuals)

    def improved(self, kernel=improve_mode, *, price=0.0, passes=PASSES, start=None):
        """Return the improved factors, the next price and the fall."""
        factors, state = (self.start if start is None else start).copy(), np.full(2, np.nan)
        slopes = self.slopes(factors)
        kernel(self.matrices, slopes, price, passes, self.units, factors, state)
        return factors, *state

    def repeated(self, calls):
        factors, price = self.start, 0.0
        for _ in range(calls):
            factors, price, _ = self.improved(price=price, start=factors)
        return factors

    def unbounded_optimum(self):
        return sum(
            nnls(design, target)[1] ** 2
            for design, target in zip(self.design, self.targets, strict=True)
        )

    def optimum(self):
        """Return the least value within the radius, by a general solver: caps are variables."""
        m, k = self.start.shape

        def split(x):
            return x[: m * k].reshape(m, k), x[m * k :]

        found = minimize(
            lambda x: self.value(split(x)[0]),
            np.append(np.zeros(m * k), np.full(k, 0.9 / k)),
            jac=lambda x: np.append(2.0 * self.slopes(split(x)[0]), np.zeros(k)),
            bounds=[(0.0, None)] * (m * k + k),
            constraints=[
                {"type": "ineq", "fun": lambda x: 1.0 - split(x)[1].sum()},
                {"type": "ineq", "fun": lambda x: (split(x)[1] - split(x)[0]).ravel()},
            ],
            method="SLSQP",
            options={"maxiter": 1000, "ftol": 1e-10},
        )
        assert found.success, found.message
        return found.fun


BLOCKS = [
    {"m": 1, "k": 1},
    {"m": 4, "k": 3},
    {"m": 7, "k": 9, "scale": 0.1},
    {"m": 5, "k": 4, "new": 2},
    {"m": 3, "k": 2, "new": 2},
    {"m": 30, "k": 5, "scale": 20.0, "weights": 1.0},
]


@pytest.mark.parametrize("price", [0.0, 0.5, 40.0])
@pytest.mark.parametrize("options", BLOCKS)
def test_a_mode_is_improved_as_by_the_twin(options, price):
    for seed in range(3):
        for passes in (0, 1, 4):
            block = Block(seed, **options)
            ours = block.improved(price=price, passes=passes)
            theirs = block.improved(naive_graded.improve_mode, price=price, passes=passes)
            np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-7, atol=1e-9)
            np.testing.assert_allclose(ours[1:], theirs[1:], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("options", BLOCKS)
def test_indices_are_improved_as_by_the_twin(options):
    for seed in range(3):
        block = Block(seed, **options)
        caps = block.start.max(axis=0)
        found = []
        for kernel in (improve_within_caps, naive_graded.improve_within_caps):
            factors, slopes = block.start.copy(), block.slopes(block.start)
            fall = kernel(block.matrices, slopes, caps, 4, factors)
            assert fall == pytest.approx(block.value(block.start) - block.value(factors), rel=1e-9)
            assert (factors >= 0.0).all()
            assert (factors <= caps * (1.0 + 1e-12)).all()
            np.testing.assert_allclose(slopes, block.slopes(factors), rtol=1e-9, atol=1e-9)
            found.append(factors)
        np.testing.assert_allclose(found[0], found[1], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("price", [0.0, 0.5, 40.0])
@pytest.mark.parametrize("options", BLOCKS)
def test_the_fall_is_that_of_the_quadratic_and_the_caps_fit(options, price):
    for seed in range(6):
        block = Block(seed, **options)
        factors, next_price, fall = block.improved(price=price)
        assert fall >= 0.0
        before = block.value(block.start)
        assert fall == pytest.approx(before - block.value(factors), rel=1e-9, abs=1e-12 * before)
        assert (factors >= 0.0).all()
        assert factors.max(axis=0).sum() <= 1.0 + 1e-12
        assert next_price >= 0.0


def test_a_loose_radius_gives_nonnegative_least_squares():
    for seed in range(5):
        block = Block(seed, scale=0.01, weights=0.1)
        factors = block.repeated(10)
        assert factors.max(axis=0).sum() < 0.9, "the radius must not bind here"
        assert block.value(factors) == pytest.approx(block.unbounded_optimum(), rel=1e-6)


def test_a_tight_radius_gives_nearly_the_optimum_of_the_convex_problem():
    for seed in range(5):
        block = Block(seed, m=4, k=3, scale=3.0)
        least = block.optimum()
        assert least > 1.02 * block.unbounded_optimum(), "the radius must bind here"
        reached = block.value(block.repeated(10))
        assert least * (1.0 - 1e-6) <= reached <= (1.0 + 1e-4) * least


@pytest.mark.parametrize("new", [1, 2, 4])
def test_new_components_enter_when_a_conditional_gradient_step_gains(new):
    entered = 0
    for seed in range(20):
        block = Block(seed, k=4, new=new, weights=0.1)
        towards = np.where(np.arange(4) >= 4 - new, block.units / new, 0.0) - block.start
        gains = np.sum(block.slopes(block.start) * towards) < -1e-9
        factors, _, fall = block.improved(passes=0)
        assert (factors[:, 4 - new :].max(axis=0) > 0.0).all() == gains
        steps = np.linspace(0.0, 1.0, 1001)[:, np.newaxis, np.newaxis]
        best = min(block.value(point) for point in block.start + steps * towards)
        assert block.value(block.start) - fall <= best + 1e-12
        entered += gains
    assert 0 < entered < 20


def test_an_index_without_cells_stays_as_it_is():
    block = Block(0, m=4, k=3)
    block.design[2] = block.matrices[2] = 0.0
    factors, _, _ = block.improved(passes=1)
    assert np.isfinite(factors).all()
    caps = factors.max(axis=0)
    assert (factors[2] <= caps).all()
    assert (factors[2] > 0.0).any()
