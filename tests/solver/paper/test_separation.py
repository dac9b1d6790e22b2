"""Weak separation: the heuristic first, the exact oracle when it fails, and phi halves."""

import numpy as np
import pytest

import zoo
from intensor.data.observations import observe
from intensor.oracles.alternating import AlternatingOracle
from intensor.oracles.contraction import PerIndexRemembered
from intensor.oracles.exact.enumeration import EnumerationOracle
from intensor.problem.objective import build_objective
from intensor.runtime.budget import Budget
from intensor.solver.paper.iterate import Iterate
from intensor.solver.paper.rows import DenseRows
from intensor.solver.paper.separation import WeakSeparation
from intensor.solver.state import State

DATA = zoo.noisy((4, 3, 3), 36, rep=0)
CELLS = observe(DATA.coords, DATA.values, shape=DATA.shape)


class Counting(EnumerationOracle):
    """The enumeration, and how often it was asked."""

    calls = 0

    def minimise(self, costs, **options):
        self.calls += 1
        return super().minimise(costs, **options)


@pytest.fixture
def parts():
    heuristic = AlternatingOracle(
        PerIndexRemembered(CELLS), CELLS.shape, rng=np.random.default_rng(0)
    )
    exact = Counting(CELLS)
    iterate = Iterate(CELLS, build_objective(CELLS, 1.0), DenseRows)
    state = State(value=iterate.value, bound=CELLS.within)
    return WeakSeparation(heuristic, exact), iterate, state, exact


def test_bounds_rise_towards_the_optimum_and_the_objective_falls(parts):
    separation, iterate, state, exact = parts
    optimum = zoo.optimum(DATA.shape, DATA.coords, DATA.values, 1.0)
    values, bounds, phis = [], [], []
    for _ in range(400):
        iterate.linearise()
        separation.take(iterate, state, Budget())
        values.append(iterate.value)
        bounds.append(state.bound)
        phis.append(state.phi)
    assert np.all(np.diff(values) <= 1e-14)
    assert np.all(np.diff(bounds) >= 0.0)
    assert np.all(np.diff(phis) <= 0.0)
    assert bounds[-1] <= optimum + 1e-12 <= values[-1] + 2e-12
    assert values[-1] - bounds[-1] < 0.1 * (values[0] - bounds[0])
    assert exact.calls == state.exact_calls < 400
    assert bounds[-1] > CELLS.within
    assert state.witness.source == "enumeration"


def test_the_first_call_is_exact_and_halves_what_is_asked_for(parts):
    separation, iterate, state, exact = parts
    iterate.linearise()
    separation.take(iterate, state, Budget())
    assert exact.calls == state.exact_calls == 1
    assert 0.0 < state.phi < state.gain
    assert len(iterate.active) == 2
