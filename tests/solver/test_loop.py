"""The loop: what it promises about stopping, counting and reporting."""

import os
import signal
import threading

import numpy as np
import pytest

import intensor
import zoo
from intensor import Status
from intensor.data.observations import observe
from intensor.runtime.budget import Budget
from intensor.solver.engine import State
from intensor.solver.loop import IDLE_LIMIT, drive, stop_reason
from intensor.solver.settings import Settings
from intensor.solver.variants import find_version

PAPER = {"version": 8, "radius": 1.0, "tol": 1e-4, "rtol": 0.0}


def solve(data, **options):
    return intensor.solve(data.coords, data.values, shape=data.shape, **{**PAPER, **options})


def planted(n=500, **options):
    return solve(intensor.planted((10, 10, 10), n), **options)


def test_result_is_consistent():
    result = planted()
    assert result.status is Status.WITHIN_TOLERANCE  # the paper's tolerance, with a bound of 0
    assert result.gap == result.objective - result.bound <= 1e-4
    assert result.counters.iterations == len(result.trace)
    local = sum(row.step == "local" for row in result.trace)
    assert result.counters.local_steps == local
    assert result.counters.exact_calls >= 1
    assert result.counters.altmin_runs >= result.counters.iterations - local - 1
    assert result.seconds.total == pytest.approx(result.seconds.setup + result.seconds.solve)
    assert result.trace[-1].objective == pytest.approx(result.objective, rel=1e-9)
    assert "WITHIN_TOLERANCE" in repr(result)


@pytest.mark.parametrize("version", zoo.mostly_slow([0, 2, 7, 10], telling=(0, 10)))
def test_objective_never_rises_without_momentum(version):
    objectives = [row.objective for row in planted(version=version, tol=1e-3).trace]
    assert np.all(np.diff(objectives) <= 1e-12)


def test_bound_never_falls_and_stays_below_the_optimum():
    data = zoo.noisy((4, 4, 3), 50, rep=1)
    optimum = zoo.optimum(data.shape, data.coords, data.values, 1.0)
    for version in (5, 8):
        result = solve(data, version=version, tol=1e-6)
        bounds = np.array([row.bound for row in result.trace])
        assert np.all(np.diff(bounds) >= 0.0)
        assert bounds.max() <= optimum + 1e-13


def test_iteration_limit():
    result = planted(max_iterations=7)
    assert result.status is Status.ITERATION_LIMIT
    assert result.counters.iterations == 7
    assert planted(max_iterations=0).counters.iterations == 0


def test_time_limit():
    data = intensor.planted((40, 40, 40), 4000, noise=0.2)
    result = solve(data, tol=1e-12, time_limit=0.3)
    assert result.status is Status.TIME_LIMIT
    assert intensor.verify(result, data.coords, data.values).ok


def test_callback_sees_every_iteration_and_can_stop():
    rows = []

    def watch(progress):
        rows.append(progress)
        return len(rows) < 5

    result = planted(callback=watch)
    assert result.status is Status.STOPPED
    assert tuple(rows) == result.trace
    assert len(rows) == 5


def test_a_callback_that_returns_nothing_does_not_stop():
    assert planted(callback=lambda progress: None).status is Status.WITHIN_TOLERANCE


def test_errors_of_the_callback_reach_the_caller():
    def fail(progress):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        planted(callback=fail)


def test_ctrl_c_returns_the_best_model_so_far():
    def press(progress):
        if progress.iteration == 10:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    result = planted(callback=press)
    assert result.status is Status.INTERRUPTED
    assert result.counters.iterations <= 12
    assert signal.getsignal(signal.SIGINT) is before
    data = intensor.planted((10, 10, 10), 500)
    assert intensor.verify(result, data.coords, data.values).ok


def test_ctrl_c_during_integer_programming():
    data = intensor.planted((12, 12, 12), 600, noise=0.3)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    result = solve(data, radius=1.5, tol=1e-12, exact="highs", time_limit=120.0)
    timer.join()
    assert result.status is Status.INTERRUPTED
    assert intensor.verify(result, data.coords, data.values).ok


def test_works_outside_the_main_thread():
    results = []
    worker = threading.Thread(target=lambda: results.append(planted()))
    worker.start()
    worker.join()
    assert results[0].status is Status.WITHIN_TOLERANCE


def test_without_an_exact_oracle_nothing_is_called_optimal():
    data = zoo.noisy((4, 4, 3), 50, rep=0)
    result = solve(data, tol=1e-7, exact="off")
    assert result.status is Status.STALLED
    assert result.gap > 1e-7
    optimum = zoo.optimum(data.shape, data.coords, data.values, 1.0)
    assert result.bound <= optimum


def test_relative_tolerance():
    data = zoo.noisy((4, 4, 3), 50, rep=0)
    scaled = 1000.0 * data.values
    result = intensor.solve(
        data.coords, scaled, shape=data.shape, version=8, radius=1000.0, tol=0.0, rtol=1e-6
    )
    assert result.status is Status.OPTIMAL
    assert result.gap <= 1e-6 * np.mean(scaled**2)


def test_an_impossible_tolerance_ends_without_a_claim():
    data = zoo.noisy((4, 4, 3), 50, rep=5)
    result = solve(data, tol=0.0)
    assert result.status is Status.STALLED
    assert 0.0 <= result.gap <= 1e-12


def test_input_is_not_touched():
    data = zoo.noisy((4, 4), 14, rep=0)
    coords, values = data.coords.copy(), data.values.copy()
    intensor.solve(coords, values, shape=data.shape, radius=1.0)
    assert np.array_equal(coords, data.coords)
    assert np.array_equal(values, data.values)


@pytest.mark.parametrize(
    ("shape", "n"), [((1,), 1), ((7,), 5), ((1, 1, 1), 3), ((1, 9), 6), ((3, 1, 4, 1, 2), 12)]
)
def test_odd_shapes(shape, n):
    data = zoo.noisy(shape, n, rep=2)
    result = solve(data, radius=1.5, tol=1e-9)
    optimum = zoo.optimum(shape, data.coords, data.values, 1.5)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(optimum, abs=1e-8)


def test_more_cells_than_int64_can_count():
    data = intensor.planted((1000,) * 12, 400, n_vertices=3)
    result = solve(data)
    assert result.status is Status.WITHIN_TOLERANCE
    predicted = result.model.predict(data.coords)
    assert np.mean((predicted - data.values) ** 2) == pytest.approx(result.objective, rel=1e-6)


class Drifted:
    """An engine that can do no more, whose weights rounding has pushed above 1."""

    n_active = altmin_runs = drops = 0

    def __init__(self):
        self.state = State(value=0.5, bound=0.0, exhausted=True)

    def vertices(self):
        return np.array([[1, 1, 1, 1], [1, 0, 1, 1]], dtype=np.uint8), np.array([0.7, 0.3 + 1e-12])


def test_weights_that_rounding_has_pushed_above_the_radius_are_brought_back():
    cells = observe([[0, 0], [1, 1]], [5.0, 5.0])
    result = drive(
        Drifted(), cells, version=find_version(2), settings=Settings(radius=3.0), budget=Budget()
    )
    assert result.status is Status.STALLED
    assert result.model.weights.sum() <= 3.0 * (1.0 + 1e-15)
    assert result.objective == pytest.approx((2.0**2 + 2.9**2) / 2.0, rel=1e-11)


@pytest.mark.parametrize("version", [2, 7, "fast"])
def test_a_gap_that_is_rounding_alone_is_not_called_optimal_without_a_tolerance(version):
    # The fit is perfect in units of the radius, and an ulp away in those of the data.
    lossy = [k for k in range(1, 40) if 4.9 * (0.1 * k / 4.9) != 0.1 * k]
    assert len(lossy) > 3
    for k in lossy:
        found = intensor.solve([[0, 0]], [0.1 * k], radius=4.9, version=version, rtol=0.0)
        assert found.gap <= 1e-30
        assert found.gap <= 0.0 or found.status is not Status.OPTIMAL
        assert intensor.verify(found, [[0, 0]], [0.1 * k]).ok


# --- why a solve ends, and which reason wins

FAR = {"value": 1.0, "bound": 0.0}


def reason(state, *, budget=None, max_iterations=None):
    settings = Settings(radius=1.0, max_iterations=max_iterations)
    return stop_reason(state, settings, 0.1, budget or Budget())


def interrupted(seconds=None):
    budget = Budget(seconds)
    budget.interrupted = True
    return budget


@pytest.mark.parametrize(
    ("state", "limits", "status"),
    [
        (State(**FAR), {}, None),
        (State(value=0.6, bound=0.5), {}, Status.WITHIN_TOLERANCE),
        (State(**FAR), {"budget": Budget(0.0)}, Status.TIME_LIMIT),
        (State(**FAR), {"budget": interrupted(0.0)}, Status.INTERRUPTED),
        (State(**FAR, iterations=7), {"max_iterations": 7}, Status.ITERATION_LIMIT),
        (State(**FAR, iterations=6), {"max_iterations": 7}, None),
        (State(**FAR, exhausted=True), {}, Status.STALLED),
        (State(**FAR, idle=IDLE_LIMIT), {}, None),
        (State(**FAR, idle=IDLE_LIMIT + 1), {}, Status.STALLED),
        (State(**FAR, exhausted=True), {"budget": Budget(0.0)}, Status.TIME_LIMIT),
        (State(value=0.5, bound=0.5), {"budget": interrupted()}, Status.WITHIN_TOLERANCE),
    ],
)
def test_the_reason_to_stop(state, limits, status):
    assert reason(state, **limits) is status
