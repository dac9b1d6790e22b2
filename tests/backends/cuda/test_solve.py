"""Solves on the device against those on the host."""

import numpy as np
import pytest

import intensor
from intensor.backends.cuda.observations import observe_on_device
from intensor.errors import RadiusWarning, SettingError
from intensor.solver.fast.engine import Fast
from intensor.solver.fast.tuning import Effort, Tuning
from intensor.solver.variants import VERSIONS

SOLVES = [
    ((3, 2), 12, 0.1, {"signed": True, "exact": "off", "max_iterations": 4}),
    pytest.param(
        (3, 3, 2),
        30,
        0.1,
        {"signed": True, "exact": "off", "max_iterations": 3},
        marks=pytest.mark.slow,
    ),
    pytest.param((4, 3, 3), 50, 0.0, {}, marks=pytest.mark.slow),
    pytest.param((4, 3, 3), 40, 0.1, {"exact": "off"}, marks=pytest.mark.slow),
]


@pytest.fixture(autouse=True)
def _lightly(monkeypatch):
    """Look for vertices with a few short descents, on host and device: the simulator is slow."""
    tuning = Tuning(efforts_few_cells=(Effort(1, 8, 2, 6), Effort(1, 16, 4, 8)))
    monkeypatch.setitem(VERSIONS, "fast", Fast(tuning=tuning))


@pytest.mark.parametrize(("shape", "n", "noise", "options"), SOLVES)
def test_the_answer_is_that_of_the_host(shape, n, noise, options):
    data = intensor.planted(shape, n, noise=noise)
    options = {"shape": shape, "radius": 1.0, "tol": 1e-5, "max_iterations": 6, **options}
    here = intensor.solve(data.coords, data.values, **options)
    there = intensor.solve(data.coords, data.values, device="cuda", **options)
    assert there.status is here.status
    assert there.objective == pytest.approx(here.objective, rel=1e-9, abs=1e-15)
    assert there.bound == pytest.approx(here.bound, rel=1e-9, abs=1e-15)
    assert np.array_equal(there.model.vertices.flags(), here.model.vertices.flags())
    cells = np.argwhere(np.ones(shape))
    np.testing.assert_allclose(there.model.predict(cells), here.model.predict(cells), atol=1e-4)


@pytest.mark.parametrize(
    ("shape", "most", "rounds"),
    [((3, 2), 2, 4), pytest.param((4, 3, 3), 4, 8, marks=pytest.mark.slow)],
)
def test_the_graded_answer_is_that_of_the_host(monkeypatch, shape, most, rounds):
    efforts = (Effort(1, 8, 2, 6), Effort(1, 16, 4, 8))
    monkeypatch.setattr("intensor.solver.graded.engine.EFFORTS", efforts)
    data = intensor.planted(shape, 30, noise=0.1)
    options = {"shape": shape, "radius": 1.0, "exact": "off", "max_iterations": rounds}
    options |= {"components": "graded", "max_components": most}
    here = intensor.solve(data.coords, data.values, **options)
    there = intensor.solve(data.coords, data.values, device="cuda", **options)
    assert there.status is here.status
    assert there.objective == pytest.approx(here.objective, rel=1e-9, abs=1e-15)
    assert len(there.model) == len(here.model) > 0
    assert intensor.verify(there, data.coords, data.values).ok


@pytest.mark.slow
def test_a_bound_proven_on_the_device_can_be_verified():
    data = intensor.planted((3, 3, 2), 30, noise=0.1)
    result = intensor.solve(data.coords, data.values, radius=1.0, tol=1e-5, device="cuda")
    assert result.status is intensor.Status.OPTIMAL
    assert intensor.verify(result, data.coords, data.values).ok


def test_the_free_bound_is_proven_where_the_cells_are(monkeypatch):
    data = intensor.planted((6,), 12, noise=0.1)
    fetched = []
    monkeypatch.setattr(
        type(observe_on_device(data.coords, data.values)), "host", lambda cells: fetched.append(1)
    )
    values = data.values + 1.0
    with pytest.warns(RadiusWarning, match="values lie above the radius 0.4"):
        there = intensor.solve(data.coords, values, radius=0.4, device="cuda", exact="off")
    assert not fetched
    assert there.bound_source == "free"
    # All costs are negative at the optimum, the full box: the free bound is the optimum.
    best = float(np.mean((values - 0.4) ** 2))
    assert best * (1.0 - 1e-9) <= there.bound <= best
    assert there.objective == pytest.approx(best, rel=1e-12)
    assert there.status is intensor.Status.OPTIMAL


@pytest.mark.parametrize("version", [0, 8])
def test_the_versions_of_the_paper_stay_on_the_host(version):
    with pytest.raises(SettingError, match=f'needs version="fast"; got version={version}'):
        intensor.solve([[0, 0]], [1.0], radius=1.0, version=version, device="cuda")
