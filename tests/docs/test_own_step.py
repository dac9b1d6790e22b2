"""A step rule of your own: away steps and Frank-Wolfe steps among the active vertices."""

import numpy as np
import pytest

import intensor
from intensor.oracles.contraction import PerIndexRemembered
from intensor.solver.paper.engine import Blended
from intensor.solver.paper.iterate import Iterate
from intensor.solver.paper.rows import DenseRows
from intensor.solver.paper.steps import LocalStep
from intensor.solver.variants import VERSIONS


class AwayStep(LocalStep):
    """Towards the best active vertex or away from the worst, whichever falls faster at first."""

    def take(self, iterate: Iterate) -> None:
        active, products = iterate.active, iterate.products
        here = float(iterate.gradient @ iterate.x)
        best, worst = int(np.argmin(products)), int(np.argmax(products))
        if here - products[best] >= products[worst] - here:
            vertex, sign, longest = best, 1.0, 1.0
        else:
            weight = float(active.weights[worst])
            vertex, sign, longest = worst, -1.0, weight / (1.0 - weight)
        direction = sign * (active.rows.row(vertex) - iterate.x)
        descent = sign * (here - float(products[vertex]))
        step = iterate.objective.exact_step(descent, direction, longest)
        active.weights = (1.0 - sign * step) * active.weights
        active.weights[vertex] += sign * step
        if sign < 0.0 and step == longest:
            active.weights[vertex] = 0.0  # exactly, whatever rounding left
        active.drop_empty()
        iterate.move(iterate.x + step * direction)


@pytest.fixture
def away(monkeypatch):
    # Outside of a test: VERSIONS["away"] = Blended(AwayStep, DenseRows, PerIndexRemembered)
    monkeypatch.setitem(VERSIONS, "away", Blended(AwayStep, DenseRows, PerIndexRemembered))


@pytest.mark.usefixtures("away")
@pytest.mark.parametrize("noise", [pytest.param(0.0, marks=pytest.mark.slow), 0.1])
def test_a_version_with_its_own_step(noise):
    data = intensor.planted((5, 4, 4), 60, noise=noise)
    options = {"shape": data.shape, "radius": 1.0, "rtol": 1e-6}
    mine = intensor.solve(data.coords, data.values, version="away", **options)
    fast = intensor.solve(data.coords, data.values, **options)
    assert mine.status is intensor.Status.OPTIMAL
    assert mine.version == "away"
    assert mine.counters.local_steps > 0
    assert abs(mine.objective - fast.objective) <= mine.tolerance + fast.tolerance
    assert intensor.verify(mine, data.coords, data.values).ok


@pytest.mark.usefixtures("away")
def test_fits_know_it_too():
    data = intensor.planted((5, 4, 4), 60)
    completer = intensor.TensorCompleter(version="away", radius=1.0).fit(data.coords, data.values)
    assert completer.fit_.result.version == "away"
