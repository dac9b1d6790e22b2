"""Pricing and master in turn: the objective falls, efforts adapt, samples give a start."""

import numpy as np
import pytest

import zoo
from intensor.backends.select import open_cells
from intensor.data.observations import observe
from intensor.runtime.budget import Budget
from intensor.runtime.threads import Workers
from intensor.solver.fast.corrective import Corrective
from intensor.solver.fast.tuning import Effort, Tuning


def corrective(shape=(5, 5, 5), n=100, *, tolerance=1e-9, tuning=None, **options):
    data = zoo.noisy(shape, n, rep=0)
    cells = open_cells(observe(data.coords, data.values, shape=shape), 1.0, Workers(1))
    rng = np.random.default_rng(0)
    tuning = tuning or Tuning()
    return Corrective(cells, rng=rng, tolerance=tolerance, tuning=tuning, **options)


def rounds(solver, count):
    for _ in range(count):
        if solver.price(Budget()):
            solver.correct()
        yield solver.active.value


def test_the_objective_falls_until_the_hardest_look_fails():
    solver = corrective()
    values = list(rounds(solver, 60))
    assert np.all(np.diff(values) <= 1e-15)
    assert values[-1] < 0.5 * values[0]
    assert solver.failures > 0
    assert solver.altmin_runs > 60 * 32


def test_efforts_rise_when_nothing_is_found_and_fall_when_plenty_is():
    efforts = tuple(Effort(1, 8 * (1 + level), 2, 4) for level in range(3))
    solver = corrective(tuning=Tuning(efforts_few_cells=efforts))
    seen = []
    for found in (0, 0, 0, 0, 30, 30, 5, 0):
        solver._adapt(found)
        seen.append((solver._effort, solver.failures))
    assert seen == [(1, 0), (2, 0), (2, 1), (2, 2), (1, 0), (1, 0), (1, 0), (2, 0)]


@pytest.mark.parametrize("large", [False, True])
def test_a_sample_gives_a_start_only_where_there_are_many_cells(large):
    tuning = Tuning(large_cells=40 if large else 400, sample_cells_per_index=0)
    solver = corrective(n=200, tuning=tuning)
    empty = solver.active.value
    assert solver.start_from_sample(Budget()) == large
    assert (solver.active.count > 0) == large
    solver.correct()
    assert (solver.active.value < empty) == large


def test_a_larger_tolerance_lets_fewer_vertices_in():
    fine, rough = (corrective(tolerance=tolerance) for tolerance in (1e-9, 1e-2))
    for solver in (fine, rough):
        list(rounds(solver, 40))
    assert rough.active.master.size < fine.active.master.size
    assert fine.active.value <= rough.active.value <= fine.active.value + 1e-2


def test_another_radius_begins_with_the_vertices_it_has():
    solver = corrective()
    list(rounds(solver, 20))
    before, count = solver.active.value, solver.active.count
    solver.rescale(2.0, 1e-9)
    assert solver.active.count == count
    assert solver.active.value == pytest.approx(before / 4.0, rel=1e-9)
    assert solver.failures == 0
    assert list(rounds(solver, 5))[-1] <= before / 4.0 + 1e-15


class Clock(Budget):
    """A budget whose clock moves by a second whenever it is read, with some seconds left."""

    def __init__(self, remaining):
        super().__init__()
        self.readings, self.left = 0, remaining

    @property
    def elapsed(self):
        self.readings += 1
        return float(self.readings)

    @property
    def remaining(self):
        return self.left


@pytest.mark.parametrize(("left", "calls"), [(2.0, 2), (0.5, 1)])
def test_nothing_is_refined_in_less_time_than_the_last_refinement_took(left, calls, monkeypatch):
    solver = corrective()
    refine, made = solver._pricing.refine, []
    monkeypatch.setattr(
        solver._pricing, "refine", lambda *given: made.append(given) or refine(*given)
    )
    assert solver.price(Clock(10.0))  # it takes a second by that clock
    solver.correct()
    assert solver.price(Clock(left))
    assert len(made) == calls
